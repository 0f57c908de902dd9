/**
 * Finds the problems that keep a status from "everything works", each with the line to type. Pure:
 * asks no process.
 */
import { describeGatewayNodes } from "../../agent/config/nodes-of-gateway.ts";
import type { CourierStatus, SignerStatus, WithdrawalState } from "../../agent/socket/verbs.ts";
import { agentStateEnds } from "../../agent/state-ends.ts";
import { codes } from "../../base/codes.ts";
import { expiryExclusionOf, saySlot } from "../../chains/families.ts";
import { commandOfStateEnd } from "../command-hint.ts";
import type { ConfigOnDisk } from "../machine.ts";
import { momentText } from "../terminal.ts";
import { errorCodeIn, linkRemedy, remedyForDetail } from "./remedies.ts";
import { stopProblems } from "./stop-problems.ts";

/*
 * Orders and accounts that wait for the gateway's word on a coin, a first slot or the order itself,
 * or for an operator's, each with what ends the wait. Pure.
 */

/** As `Problem` of problems.ts. */
interface NamingProblem {
  readonly code: string;
  readonly what: string;
  readonly hint: string;
  readonly isWarning: boolean;
}

/** Waits of orders for the gateway's word or the nodes' coins, with what ends them. */
const orderWaits = [
  ["ACCOUNT_PIN_UNNAMED", "the gateway's nodes name a coin that they can spend"],
  ["ACCOUNT_COIN_SPENT", "nodes show a coin that no closed payment here has spent"],
  ["WITHDRAWAL_UNCLEARED", "the gateway says that nothing on the chain pays them already"],
] as const;

/** An account for which nothing waits yet is a warning. */
function namingProblems({
  waiting,
  unbegun = [],
}: Pick<CourierStatus, "waiting" | "unbegun">): readonly NamingProblem[] {
  const ofOrders = orderWaits.flatMap(([code, until]): readonly NamingProblem[] => {
    const { length } = waiting.filter(({ why }) => why.includes(code));
    const what = `${length} wait until ${until} (${code})`;
    return length === 0 ? [] : [{ code, what, hint: codes[code].advice, isWarning: false }];
  });
  const ofAccounts = unbegun.map(({ chain, why }): NamingProblem => {
    const { length } = waiting.filter((one) => one.why.includes(why));
    const own = why.startsWith("ACCOUNT_FIRST_SLOT")
      ? "ACCOUNT_FIRST_SLOT"
      : "ACCOUNT_FIRST_UNNAMED";
    const ends =
      own === "ACCOUNT_FIRST_SLOT"
        ? "an operator says where it begins"
        : "the gateway's nodes name its next slot";
    const what = `the account of ${chain} begins when ${ends}, and ${length} wait for it (${own})`;
    return {
      code: own,
      what,
      hint: commandOfStateEnd(agentStateEnds.courier.firstSlot, { CHAIN: chain }),
      isWarning: length === 0,
    };
  });
  return [...ofOrders, ...ofAccounts];
}

/**
 * `what` is a sentence in lower case; `hint` the line to type, "" if only time helps. A warning
 * does not change the exit code.
 */
export interface Problem {
  readonly code: string; // of base/codes.ts
  readonly what: string;
  readonly hint: string;
  readonly isWarning: boolean;
}

/** Facts in addition to the status itself. */
export interface StatusContext {
  readonly nowMs: number; // Unix milliseconds
  readonly isUnderUnits: boolean;
  readonly config: ConfigOnDisk;
}

/** The courier sends its view every few seconds. An older view means that it has stopped. */
const courierWordMsMax = 60_000;
/** After this time a healthy courier has connected and has asked its nodes. */
export const courierStartMs = 15_000;
/** A warning comes below this multiple of the least free space. */
const roomWarned = 4;

class Findings {
  readonly problems: Problem[] = [];

  found(code: string, what: string, hint: string, isWarning = false): void {
    this.problems.push({ code, what, hint, isWarning });
  }
}

/** Empty when everything works. */
export function problemsOf(status: SignerStatus, seen: StatusContext): readonly Problem[] {
  const findings = new Findings();
  signerProblems(status, findings);
  stuckProblem(status, findings);
  manualReplaceProblem(status, findings);
  noRoomProblem(status, findings);
  unreachableProblem(status, findings);
  nodesProblem(status, findings);
  roomProblems(status, findings);
  configProblems(status, seen, findings);
  const { courier } = status;
  if (!status.courierConnected || courier === null) courierProblem(status, seen, findings);
  if (courier !== null) outsideProblems(courier, seen, findings);
  return findings.problems;
}

/** The ledger may be ahead by this time, the largest error of a clock that stays unnoticed. */
const ledgerAheadMsMax = 600_000;

function clockProblems({ clockAheadMs, ledgerAheadMs }: SignerStatus, findings: Findings): void {
  if (clockAheadMs > 0)
    findings.found(
      "CLOCK_AHEAD",
      `this clock and the gateway's are ${spanOf(clockAheadMs)} ahead of the newest block: nothing is decided or signed, orders wait`,
      codes.CLOCK_AHEAD.advice,
    );
  if (ledgerAheadMs > ledgerAheadMsMax)
    findings.found(
      "LEDGER_AHEAD",
      `ledger time is ${spanOf(ledgerAheadMs)} ahead of this clock and stands: an order that ends before then waits at the gateway`,
      `where this clock is right: ${codes.LEDGER_AHEAD.advice}`,
    );
}

/** For the operator: hours above two hours, else minutes. */
function spanOf(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes >= 120 ? `${Math.round(minutes / 60)} hours` : `${minutes} minutes`;
}

/** Signer and courier are started together, and the courier is the slower one. */
function courierProblem(
  { startedAt, courierConnected }: SignerStatus,
  seen: StatusContext,
  findings: Findings,
): void {
  const what = courierConnected
    ? "the courier has not said yet what it sees"
    : "the courier does not run";
  const log = logHint("autowithdraw-courier", seen);
  if (seen.nowMs - startedAt >= courierStartMs) findings.found("DOCTOR_COURIER_AWAY", what, log);
  else
    findings.found(
      "DOCTOR_COURIER_AWAY",
      `crypto has just started: ${what}`,
      `ask again in ten seconds; then: ${log}`,
    );
}

function signerProblems(status: SignerStatus, findings: Findings): void {
  if (status.locked !== "")
    findings.found(
      status.locked,
      `the signer is locked (${status.locked}): ${status.lockedDetail}`,
      remedyForDetail(status.locked),
    );
  for (const { code, what, hint } of stopProblems(status)) findings.found(code, what, hint);
  if (status.recovery !== "")
    findings.found(
      status.recovery,
      recoveryWords[status.recovery] ?? status.recovery,
      remedyForDetail(status.recovery),
    );
  if (status.isResyncing)
    findings.found(
      "HUB_DATABASE_BEHIND",
      "the gateway was rolled back and is sent again what it lost; nothing new is signed meanwhile",
      "wait: this ends by itself",
    );
  clockProblems(status, findings);
  if (/^level 0:.*\broot\b/.test(status.isolation))
    findings.found(
      "DOCTOR_ISOLATION",
      "the signer runs as root, so nothing holds the keys apart from anything else here",
      "run it by its systemd units, or as a user of its own: docs/operations.md, section 5",
    );
}

/**
 * The line to type depends on the state. A withdrawal without a signature waits for a cause that
 * another line here names, and so does each one while its chain is not read: no attempt helps then.
 */
function stuckProblem({ stuck, courier }: SignerStatus, findings: Findings): void {
  if (stuck === null) return;
  const {
    transactionId,
    state,
    network,
    slot,
    since,
    afterMinutes,
    isCancelling,
    chain: name,
  } = stuck;
  const chain = courier?.chains.find(({ chain: known }) => known === name);
  const isStanding = chain !== undefined && !chain.ok && !chain.isAsking && state !== "quarantined";
  const forFees =
    courier?.waiting.some(
      (one) => one.transactionId === transactionId && one.why.startsWith("fee "),
    ) === true;
  const place =
    slot === "" ? state : `${state}, ${saySlot(network, slot)}${isCancelling ? ", cancelled" : ""}`;
  findings.found(
    "WITHDRAWAL_STUCK",
    `withdrawal ${transactionId} (${place}) waits since ${momentText(since)}, longer than ${afterMinutes} minutes`,
    isStanding
      ? `wait: ${name} is not read now, as another line here says, and it goes on by itself; ${commandOfStateEnd(agentStateEnds.signer.stuck, { ID: transactionId })}`
      : expiryExclusionOf(network) !== null && state !== "quarantined"
        ? `${commandOfStateEnd(agentStateEnds.signer.stuck, { ID: transactionId })}: it says until when this one waits`
        : forFees && state !== "quarantined"
          ? `no attempt within its limits reaches a block now: wait for lower fees, or raise maxFee, then ${commandOfStateEnd(agentStateEnds.withdrawals.released, { ID: transactionId })}`
          : stuckHint(transactionId, state, isCancelling),
  );
}

function stuckHint(id: string, state: WithdrawalState, isCancelling: boolean): string {
  if (state === "quarantined")
    return `${commandOfStateEnd(agentStateEnds.withdrawals.quarantined, { ID: id })}, or cancel in its place`;
  if (state === "approved" || state === "intent" || state === "signed")
    return commandOfStateEnd(agentStateEnds.signer.stuck, { ID: id });
  const again = commandOfStateEnd(agentStateEnds.withdrawals.released, { ID: id });
  return isCancelling
    ? `to raise the cancel's fee, which pays nothing else: ${again}`
    : `${again}, or cancel in its place`;
}

function manualReplaceProblem({ manualReplace }: SignerStatus, findings: Findings): void {
  if (manualReplace === undefined) return;
  const { transactionId, network, slot, attempts } = manualReplace;
  const made = attempts === 1 ? "its attempt is void" : `its ${attempts} attempts are void`;
  findings.found(
    "WITHDRAWAL_WAITS_FOR_OPERATOR",
    `withdrawal ${transactionId} (${saySlot(network, slot)}) is not paid and ${made}: an operator decides on another one`,
    `${commandOfStateEnd(agentStateEnds.signer.allVoid, { ID: transactionId })}, or cancel in its place`,
  );
}

/** The withdrawal goes on by itself when the window has room. */
function noRoomProblem({ noRoom }: SignerStatus, findings: Findings): void {
  if (noRoom === undefined) return;
  const { transactionId, network, slot, attempts, code } = noRoom;
  const made = attempts === 1 ? "its attempt is void" : `its ${attempts} attempts are void`;
  const span = code === "POLICY_ABOVE_HOUR" ? "hour" : "day";
  findings.found(
    "WITHDRAWAL_WAITS_FOR_LIMIT",
    `withdrawal ${transactionId} (${saySlot(network, slot)}) is not paid and ${made}: another one waits for the limit of the ${span}`,
    remedyForDetail("WITHDRAWAL_WAITS_FOR_LIMIT"),
    true,
  );
}

/** A warning, because it takes the place of no other. */
function unreachableProblem({ unreachable }: SignerStatus, findings: Findings): void {
  if (unreachable === undefined) return;
  const { transactionId, network, slot, count, code, left } = unreachable;
  const by = commandOfStateEnd(agentStateEnds.signer.unreachable, { ID: transactionId });
  const remedy = left === "" ? by : `${by}, which is too early now: ${left}`;
  const others =
    count === 1
      ? ""
      : `, as of ${count} ${code === "SWEEP_UNREACHABLE" ? "sweeps" : "withdrawals"}`;
  if (code !== "SWEEP_UNREACHABLE") {
    const what = {
      COIN_UNKNOWN: `no node of the gateway shows the coin of withdrawal ${transactionId}${others}: no block takes it`,
      SLOT_UNREACHABLE: `no ledger takes withdrawal ${transactionId} (${saySlot(network, slot)})${others}: its account began above it`,
    }[code];
    // Nothing goes on by itself once both sides have shown it.
    findings.found(code, what, remedy, left !== "");
    return;
  }
  const what = `the chain cannot reach the slot of sweep ${transactionId} (${saySlot(network, slot)})${others}`;
  findings.found("SWEEP_UNREACHABLE", what, remedy, true);
}

function nodesProblem({ nodesOfGateway }: SignerStatus, findings: Findings): void {
  for (const name of nodesOfGateway)
    findings.found(
      "AGENT_NODES_OF_GATEWAY",
      describeGatewayNodes(name),
      remedyForDetail("AGENT_NODES_OF_GATEWAY"),
      true,
    );
}

const recoveryWords: Readonly<Record<string, string>> = {
  RECOVERY_OFFERED:
    "the gateway offers a recovery (RECOVERY_OFFERED): nothing is signed until an operator carries it out",
  RECOVERY_HOLD:
    "ledger and gateway both were rolled back (RECOVERY_HOLD): every withdrawal is held for an operator",
};

function roomProblems(status: SignerStatus, findings: Findings): void {
  const { freeBytes, freeBytesMin, ledgerWritable, ledgerReadOnly } = status;
  const free = `${bytesWords(freeBytes)} free on the ledger's disk`;
  if (ledgerReadOnly === true)
    findings.found(
      "LEDGER_READ_ONLY",
      codes.LEDGER_READ_ONLY.meaning,
      codes.LEDGER_READ_ONLY.advice,
    );
  else if (freeBytes >= 0 && freeBytes < freeBytesMin)
    findings.found(
      "LEDGER_DISK_FULL",
      `${free}, and below ${bytesWords(freeBytesMin)} nothing new is signed`,
      "free space there; work goes on by itself",
    );
  else if (!ledgerWritable)
    findings.found(
      "LEDGER_POISONED",
      "the ledger cannot be written",
      "check the disk's free space and health",
    );
  else if (freeBytes >= 0 && freeBytes < freeBytesMin * roomWarned)
    findings.found(
      "DOCTOR_DISK_LOW",
      `${free}: below ${bytesWords(freeBytesMin)} nothing new is signed`,
      "free space there, or give the state folder a larger disk",
      true,
    );
}

function configProblems(
  { config, courier }: SignerStatus,
  { config: disk, isUnderUnits }: StatusContext,
  findings: Findings,
): void {
  const reload = isUnderUnits
    ? "systemctl reload crypto"
    : "stop crypto and start it again: until then the old limits hold";
  const found = (words: string): void =>
    findings.found(
      "DOCTOR_CONFIG_OTHER",
      `${config.path} ${words}, so it is not what the signer goes by`,
      reload,
    );
  if (disk.is === "read" && disk.digest !== config.digest)
    found("was changed after the signer read it");
  if (disk.is === "closed" && disk.changedAtMs > config.readAt)
    found("was changed after the signer read it");
  if (disk.is === "invalid")
    findings.found(
      disk.code,
      `${disk.message}: the signer goes on by what it read before`,
      `${disk.hint}; then: ${reload}`,
    );
  if (disk.is === "gone")
    findings.found(
      "CONFIG_MISSING",
      `${config.path} is not there any more: the next start will fail`,
      "bring it back, or name the right one with --config when crypto is started",
    );
  if (courier !== null && courier.configDigest !== config.digest)
    findings.found(
      "DOCTOR_CONFIG_COURIER",
      "the courier goes by another config.json than the signer",
      isUnderUnits ? "systemctl restart autowithdraw.target" : "stop crypto and start it again",
    );
}

/** For example "64 MiB"; "unknown room" for -1. */
export function bytesWords(bytes: number): string {
  if (bytes < 0) return "unknown room";
  const mib = bytes / 1_048_576;
  return mib < 1024 ? `${Math.floor(mib)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

/** The hint to read the log: by journalctl under the units, else on the terminal of crypto. */
export function logHint(
  unit: "autowithdraw-courier" | "autowithdraw-signer",
  { isUnderUnits }: Pick<StatusContext, "isUnderUnits">,
): string {
  return isUnderUnits ? `journalctl -u ${unit} -n 20` : "look at what crypto printed last";
}

function outsideProblems(courier: CourierStatus, seen: StatusContext, findings: Findings): void {
  if (seen.nowMs - courier.at > courierWordMsMax)
    findings.found(
      "DOCTOR_COURIER_AWAY",
      `the courier last said what it sees at ${momentText(courier.at)}`,
      logHint("autowithdraw-courier", seen),
    );
  const { link, linkDetail } = courier;
  if (link !== "up")
    findings.found(
      errorCodeIn(linkDetail) || "LINK_SOCKET",
      `the link to the gateway is down: ${linkDetail}`,
      linkRemedy(linkDetail),
    );
  else if (linkDetail.startsWith("LEDGER_"))
    findings.found(
      errorCodeIn(linkDetail),
      `orders wait at the gateway: ${linkDetail}`,
      remedyForDetail(linkDetail),
    );
  for (const chain of courier.chains) chainProblems(chain, findings);
  for (const [code, why] of standstills) {
    const { length } = courier.waiting.filter((one) => one.why === code);
    if (length > 0)
      findings.found(
        code,
        `approved and not signed (${code}): ${length}, ${why}`,
        remedyForDetail(code),
      );
  }
  for (const { currency, why } of courier.outOfService)
    findings.found(
      "CHECK_DECIMALS",
      `${currency} is out of service, and nothing of it is signed: ${why}`,
      remedyForDetail("CHECK_DECIMALS"),
    );
  for (const { code, what, hint, isWarning } of namingProblems(courier))
    findings.found(code, what, hint, isWarning);
  moneyProblems(courier, findings);
  declinedProblems(courier, findings);
  if (courier.notify?.ok === false)
    findings.found(
      "COURIER_NOTIFY",
      `nobody is told of what happens: ${courier.notify.detail}`,
      remedyForDetail("COURIER_NOTIFY"),
    );
}

/** One bad node while the others are enough is a warning: after one more, payments would wait. */
function chainProblems(
  { chain, ok, isAsking, detail, nodes, delays = [] }: CourierStatus["chains"][number],
  findings: Findings,
): void {
  if (isAsking) return;
  for (const delay of delays)
    findings.found(errorCodeIn(delay), wordsAfterCode(delay), remedyForDetail(delay), true);
  if (!ok)
    findings.found(
      errorCodeIn(detail) || "NODE_UNREACHABLE",
      chainWords(chain, detail),
      remedyForDetail(detail),
    );
  // The sentence about the chain already names some of them.
  for (const { url, detail: why } of nodes.filter(
    (node) => node.since > 0 && (ok || !detail.includes(node.url)),
  ))
    findings.found(
      errorCodeIn(why) || "NODE_UNREACHABLE",
      `node ${url} of ${chain} ${wordsAfterCode(why)}`,
      remedyForDetail(why),
      true,
    );
}

/** The problem of a chain as a sentence without a code. `detail` as in the status. */
export function chainWords(chain: string, detail: string): string {
  const words = wordsAfterCode(detail);
  if (words.includes(` chain ${chain} `)) return words;
  return `too few nodes of ${chain} can be used: ${words === "" ? detail : words}`;
}

const wordsAfterCode = (detail: string): string => detail.replace(/^[A-Z][A-Z0-9_]*(?:: |$)/, "");

/**
 * Withdrawals that wait for funds or for lower fees, currencies below their threshold, and a hot
 * wallet without the coin for fees.
 */
function moneyProblems({ waiting, lowFunds, chains }: CourierStatus, findings: Findings): void {
  const forFunds = waiting.filter(({ why }) => why.startsWith("funds")).length;
  if (forFunds > 0)
    findings.found(
      "COURIER_FUNDS",
      `${forFunds} wait for funds of the hot wallet`,
      remedyForDetail("COURIER_FUNDS"),
    );
  const forFees = waiting.filter(({ why }) => why.startsWith("fee "));
  for (const code of new Set(forFees.map(({ why }) => errorCodeIn(why.slice("fee ".length)))))
    findings.found(code, `${forFees.length} wait for lower fees (${code})`, remedyForDetail(code));
  for (const chain of chains.filter(({ nativeBalance }) => nativeBalance === "0"))
    findings.found(
      "COURIER_FUNDS",
      `the hot wallet of ${chain.chain} holds no native coin, so it can pay no fee`,
      remedyForDetail("COURIER_FUNDS"),
      true,
    );
  for (const { currency, has, wanted } of lowFunds)
    findings.found(
      "COURIER_FUNDS",
      `low funds: ${has} ${currency}, less than notify.lowFunds wants (${wanted})`,
      remedyForDetail("COURIER_FUNDS"),
    );
}

/** Bytes that every node refused are in no mempool. They need another setting or another node. */
function declinedProblems({ waiting }: CourierStatus, findings: Findings): void {
  const declined = waiting.flatMap(({ transactionId, why }) => {
    const words = nodeTextOfUntakenOffer(why);
    return words === "" ? [] : [{ transactionId, words }];
  });
  for (const words of new Set(declined.map((one) => one.words))) {
    const [first, ...others] = declined.filter((one) => one.words === words);
    const more = others.length === 0 ? "" : ` and ${others.length} others`;
    const what = `withdrawal ${first?.transactionId}${more}: offered, and no node took it: ${words}`;
    findings.found("COURIER_DECLINED", what, remedyForDetail("COURIER_DECLINED"));
  }
}

/** The node's text in the reason of a withdrawal that no node took; "" for any other reason. */
export function nodeTextOfUntakenOffer(why: string): string {
  return /^offered, no node took it: (.*)$/s.exec(why)?.[1] ?? "";
}

/** Reasons that wait for an operator and stop every new withdrawal of an account or a currency. */
const standstills = [
  ["ACCOUNT_BEHIND", "the chain has seen more transactions than the ledger"],
  ["ACCOUNT_WAITS", "behind a lower slot that is quarantined"],
  ["COURIER_TOKEN_REFUSES", "the token's contract refuses every transfer of the hot wallet"],
  ["LEDGER_DISK_FULL", "until the ledger's disk has room"],
  ["LEDGER_POISONED", "until the ledger can be written"],
  ["LEDGER_READ_ONLY", "until the ledger's disk is writable again"],
] as const;
