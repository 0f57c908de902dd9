/** `status`: whether everything works, and if not, what does not; in one screen of plain words. */
import { exitCodes } from "../agent/launcher/verdict.ts";
import type { CourierStatus, SignerStatus } from "../agent/socket/verbs.ts";
import type { StateFolder } from "../agent/state-folder.ts";
import { nativeDecimal } from "../chains/evm/network.ts";
import { formatAmount } from "../protocol/amount.ts";
import { type Code, codes } from "../protocol/codes.ts";
import { AgentError } from "../protocol/fault.ts";
import { askOperator } from "./operator.ts";
import { fields, moment, type Terminal } from "./terminal.ts";

const watchMs = 2_000;
/** The courier tells what it sees every few seconds; older than this, it has stopped. */
const courierWordMsMax = 60_000;
const clearScreen = "\u001b[H\u001b[2J";

/** @public */
export interface StatusOptions {
  readonly watch?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** `hint` is what to do about it, "" when nothing but time helps. */
interface Problem {
  readonly what: string;
  readonly hint: string;
}

/** What keeps a status from being 0; empty when everything works. */
function problemsOf(status: SignerStatus, nowMs: number): readonly Problem[] {
  const problems: Problem[] = [];
  const found = (what: string, hint: string): void => void problems.push({ what, hint });
  if (status.locked !== "") found(`the signer is locked (${status.locked}): ${status.lockedDetail}`, remedyIn(status.locked));
  if (status.recovery !== "") found(recoveryWords[status.recovery] ?? status.recovery, remedyIn(status.recovery));
  if (!status.ledgerWritable)
    found("the ledger cannot be written", "check the disk's free space and health, then start crypto again");
  const { courier } = status;
  if (!status.courierConnected) found("the courier does not run", "look at what crypto printed last");
  if (courier === null) found("the courier has not said yet what it sees", "");
  else problems.push(...outsideProblems(courier, nowMs));
  return problems;
}

const recoveryWords: Readonly<Record<string, string>> = {
  RECOVERY_OFFERED: "the gateway offers a recovery (RECOVERY_OFFERED): nothing is signed until a person carries it out",
  RECOVERY_HOLD: "this agent is in recovery (RECOVERY_HOLD): every withdrawal is held for a person",
};

function outsideProblems(courier: CourierStatus, nowMs: number): readonly Problem[] {
  const problems: Problem[] = [];
  const found = (what: string, hint: string): void => void problems.push({ what, hint });
  if (nowMs - courier.at > courierWordMsMax)
    found(`the courier last said what it sees at ${moment(courier.at)}`, "look at what crypto printed last");
  if (courier.link !== "up") found(`the link to the gateway is down: ${courier.linkDetail}`, linkRemedy(courier.linkDetail));
  for (const { chain, ok, isAsking, detail } of courier.chains)
    if (!ok && !isAsking) found(`no node of ${chain} can be used: ${detail}`, remedyIn(detail));
  for (const [code, why] of standstills) {
    const { length } = courier.waiting.filter((one) => one.why === code);
    if (length > 0) found(`approved and not signed (${code}): ${length}, ${why}`, remedyIn(code));
  }
  return problems;
}

/** Unlike what waits for fees or funds, these wait for a person, and everything new of the account with them. */
const standstills = [
  ["ACCOUNT_BEHIND", "the chain has seen more transactions than the ledger"],
  ["ACCOUNT_WAITS", "behind a lower nonce that is quarantined"],
] as const;

/** What a close code of the gateway asks of a person (docs/protocol.md section 4.3); the others mend themselves. */
const closeRemedies: Readonly<Record<string, string>> = {
  4001: "the gateway has released this agent, or does not know it: ask its operator; if another server took its place, stop crypto here",
  4003: "the gateway has a newer epoch: another copy of this agent was paired or recovered; end one of the two (docs/recovering.md)",
  4004: "the gateway has locked this agent: its operator sees why in agents; then docs/recovering.md",
  4009: "the gateway's database lacks what this agent knows: ask its operator whether a backup was restored (docs/recovering.md)",
};

function linkRemedy(detail: string): string {
  const closed = /^LINK_ENDED: closed by the gateway, (\d{4})\b/.exec(detail)?.[1] ?? "";
  // What the signer did not take says more than that it did not.
  return closeRemedies[closed] ?? remedyIn(detail.replace(/^LINK_REFUSED: (?=[A-Z])/, ""));
}

/** What the table says to do about the code that `detail` begins with; "" when it begins with none, or nothing is to be done. */
function remedyIn(detail: string): string {
  const code = /^[A-Z][A-Z0-9_]*/.exec(detail)?.[0] ?? "";
  const remedy = Object.hasOwn(codes, code) ? codes[code as Code][4] : "";
  return /^none\b/.test(remedy) ? "" : remedy;
}

/** 0 everything works, 1 something does not, 4 locked or in recovery. */
export function exitCodeOf(status: SignerStatus, problems: readonly Problem[]): number {
  if (status.locked !== "" || status.recovery !== "") return exitCodes.locked;
  return problems.length === 0 ? exitCodes.fine : exitCodes.no;
}

/** @public */
export async function showStatus(state: StateFolder, options: StatusOptions, terminal: Terminal): Promise<number> {
  if (options.watch !== true) return show(await ask(state), options, terminal);
  for (;;) {
    try {
      const status = await ask(state);
      if (options.json !== true && terminal.isInteractive) terminal.out(clearScreen);
      show(status, options, terminal);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code === "STATE_NOT_PAIRED") throw error;
      const line = options.json === true ? `${JSON.stringify({ ok: false, code: error.code })}\n` : `${error.message}\n`;
      terminal.out(options.json !== true && terminal.isInteractive ? clearScreen + line : line);
    }
    if (!(await terminal.sleep(watchMs))) return exitCodes.fine;
  }
}

async function ask(state: StateFolder): Promise<SignerStatus> {
  return (await askOperator(state, "status", {})).status;
}

function show(status: SignerStatus, options: StatusOptions, terminal: Terminal): number {
  const problems = problemsOf(status, terminal.now());
  const exitCode = exitCodeOf(status, problems);
  if (options.json === true) terminal.out(`${JSON.stringify({ ok: exitCode === exitCodes.fine, problems, status })}\n`);
  else
    terminal.out(
      `${headline(exitCode, status)}\n\n${fields([["now", moment(terminal.now())], ...rowsOf(status)])}\n${listed(problems)}`,
    );
  return exitCode;
}

function headline(exitCode: number, { recovery }: SignerStatus): string {
  if (exitCode === exitCodes.fine) return "everything works";
  if (recovery === "RECOVERY_OFFERED") return "RECOVERY OFFERED: nothing is signed until a person has carried it out";
  if (recovery !== "") return "RECOVERY: nothing is paid without a person's approve";
  return exitCode === exitCodes.locked ? "LOCKED: nothing is signed until a person has looked" : "NOT WELL";
}

function listed(problems: readonly Problem[]): string {
  if (problems.length === 0) return "";
  const lines = problems.map(({ what, hint }) => `  - ${what}\n${hint === "" ? "" : `    hint: ${hint}\n`}`);
  return `\nwhat is wrong:\n${lines.join("")}`;
}

function rowsOf(status: SignerStatus): readonly (readonly [string, string])[] {
  const rows: (readonly [string, string])[] = [
    ["agent", `${status.agent}, epoch ${status.epoch}, wallet ${status.wallet}`],
    ["running", `since ${moment(status.startedAt)}`],
    ["keys", `unlocked, encKey from ${encKeyPlaces[status.encKeyFrom] ?? status.encKeyFrom}`],
    ["isolation", status.isolation],
    [
      "ledger",
      `${status.ledgerWritable ? "writable" : "NOT WRITABLE"}, ${status.head.seq} records, the gateway has ${heldByGateway(status)}`,
    ],
    ["gateway", gatewayWords(status)],
  ];
  for (const account of status.accounts) rows.push(["account", `${account.address} on ${account.chain} (${account.network})`]);
  for (const chain of status.courier?.chains ?? []) {
    const balance =
      chain.nativeBalance === ""
        ? "balance unknown"
        : `${formatAmount(BigInt(chain.nativeBalance), nativeDecimal)} of its own coin`;
    rows.push([chain.chain, chain.isAsking ? "asking its nodes" : `${chain.ok ? "ok" : "NOT OK"}, ${chain.detail}, ${balance}`]);
  }
  rows.push(["withdrawals", countsOf(status)]);
  const medianUs = status.courier?.durableMedianUs ?? 0;
  if (medianUs > 0)
    rows.push(["speed", `${(medianUs / 1000).toFixed(1)} ms from a job's arrival to its signature on disk, median`]);
  for (const { transactionId, why } of status.courier?.waiting ?? []) rows.push(["waiting", `${transactionId}: ${why}`]);
  for (const { currency, has, wanted } of status.courier?.lowFunds ?? [])
    rows.push(["LOW FUNDS", `${has} ${currency}, less than ${wanted}`]);
  if (status.courier?.notify?.ok === false) rows.push(["notify", `NOBODY IS TOLD: ${status.courier.notify.detail}`]);
  return rows;
}

/** A ledger that is behind has forgotten what was acknowledged; then the lock's own words have the number. */
function heldByGateway({ locked, lockedDetail, acked }: SignerStatus): string {
  const told = locked === "" ? null : /^the gateway holds record (\d+)\b/.exec(lockedDetail);
  return told?.[1] ?? String(acked);
}

const encKeyPlaces: Readonly<Record<string, string>> = {
  credential: "a systemd credential",
  file: "a file or descriptor",
  terminal: "the terminal",
  config: "config.json",
};

function gatewayWords({ courier, greeted }: SignerStatus): string {
  if (courier === null) return "not known yet";
  const link = courier.link === "up" ? "link up" : "LINK DOWN";
  const detail = courier.linkDetail === "" ? "" : `, ${courier.linkDetail}`;
  return `${link}${detail}${greeted ? "" : ", not greeted in this run"}`;
}

function countsOf({ counts }: SignerStatus): string {
  const words = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`);
  return words.length === 0 ? "none yet" : words.join(", ");
}
