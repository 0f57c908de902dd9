/**
 * `recover`: shows what the gateway's recovery order would do to this agent's ledger and, after a yes bound to exactly that, does it;
 * with `--finish` ends a recovery; with `--new-ledger` begins a ledger anew, locked, where the old one is gone or cannot be read.
 */
import { renameSync } from "node:fs";
import { join } from "node:path";
import { becomeOwner } from "../agent/files/owner.ts";
import { isThere, makePrivateFolder, type StateFolder } from "../agent/files/state-folder.ts";
import { lockWaitMs, takeLock } from "../agent/launcher/lock.ts";
import { unpaired } from "../agent/launcher/paired.ts";
import { exitCodes } from "../agent/launcher/verdict.ts";
import { ledgerDisk } from "../agent/ledger/disk.ts";
import { createLockedLedger } from "../agent/ledger/ledger.ts";
import type { RecoveryAccountView, RecoveryPlan, RecoveryWithdrawalView } from "../agent/socket/verbs.ts";
import { AgentError, namingFile } from "../protocol/fault.ts";
import type { Head } from "../protocol/messages.ts";
import { askOperator } from "./operator.ts";
import { readProgress } from "./pair/progress.ts";
import { fields, moment, type Terminal, table, withProgress } from "./terminal.ts";

/** @public */
export interface RecoverOptions {
  readonly yes?: string | undefined;
  readonly finish?: boolean | undefined;
  readonly newLedger?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * @throws AgentError with the signer's code for a no; COMMAND_USAGE, COMMAND_DECLINED, COMMAND_DAEMON_AWAY, STATE_*
 * @public
 */
export async function recover(state: StateFolder, options: RecoverOptions, terminal: Terminal): Promise<number> {
  if (options.newLedger === true && options.finish === true) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "--new-ledger and --finish are two steps, one at the beginning and one at the end",
    );
  }
  if (options.newLedger === true) return newLedger(state, options, terminal);
  return options.finish === true ? finish(state, options, terminal) : carryOut(state, options, terminal);
}

async function carryOut(state: StateFolder, options: RecoverOptions, terminal: Terminal): Promise<number> {
  const asking = askOperator(state, "recover", { digest: "" });
  const { plan } = await withProgress(terminal, "holding ledger and order against each other", asking);
  if (options.json !== true) terminal.out(describe(plan, terminal.columns));
  if (options.yes === undefined && !terminal.isInteractive) {
    const message = "recover asks for a yes on a terminal, and this is none";
    const hint = `look at all of it, then give --yes ${plan.digest}`;
    if (options.json !== true) throw new AgentError("COMMAND_USAGE", "none", message, { hint });
    // What a script would say yes to, in its one line; nothing is done yet.
    terminal.out(`${JSON.stringify({ ok: false, code: "COMMAND_USAGE", message, hint, done: false, plan })}\n`);
    return exitCodes.configuration;
  }
  const digest = options.yes ?? plan.digest;
  if (digest !== plan.digest) {
    throw new AgentError("RECOVERY_CHANGED", "none", "what --yes names is not what the order would do now");
  }
  if (options.yes === undefined && !(await terminal.confirm("recover the ledger exactly so? (yes/no) "))) {
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
  }
  const done = await withProgress(terminal, "recovering", askOperator(state, "recover", { digest }));
  if (options.json === true) terminal.out(`${JSON.stringify({ ok: true, done: true, plan: done.plan })}\n`);
  else {
    terminal.out(`\nrecovered, epoch ${plan.newEpoch}. Nothing is signed or sent without a person's yes now:\n`);
    terminal.out("  withdrawals --open, show ID, approve ID or refuse ID; then recover --finish\n");
  }
  return exitCodes.fine;
}

async function finish(state: StateFolder, options: RecoverOptions, terminal: Terminal): Promise<number> {
  const { status } = await askOperator(state, "status", {});
  if (status.recovery === "RECOVERY_OFFERED") {
    const words = "the recovery was only offered: nothing is carried out yet that could be ended";
    throw new AgentError("RECOVERY_OFFERED", "none", words);
  }
  if (options.yes === undefined && status.recovery !== "") {
    if (!terminal.isInteractive) {
      throw new AgentError("COMMAND_USAGE", "none", "recover --finish asks for a yes on a terminal, and this is none", {
        hint: `give --yes ${status.agent}`,
      });
    }
    if (!(await terminal.confirm("let policy approve new withdrawals by itself again? (yes/no) ")))
      throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
  }
  assertNames(status.agent, options.yes);
  const { held, quarantined } = await askOperator(state, "finish", {});
  if (options.json === true) terminal.out(`${JSON.stringify({ ok: true, held, quarantined })}\n`);
  else {
    const what = status.recovery === "" ? "no recovery is under way" : "the recovery has ended";
    terminal.out(
      `${what}; waiting for approve or refuse: ${held}; quarantined, for approve or their end on the chain: ${quarantined}\n`,
    );
  }
  return exitCodes.fine;
}

/** A yes given on the command line names what it is for. */
function assertNames(agent: string, yes: string | undefined): void {
  if (yes === undefined || yes === agent) return;
  throw new AgentError("COMMAND_USAGE", "none", `--yes must name this agent, ${agent}`);
}

/** Nothing is deleted: what was there stays beside the new one. The new ledger is locked before anything can read it. */
async function newLedger(state: StateFolder, options: RecoverOptions, terminal: Terminal): Promise<number> {
  const progress = readProgress(state);
  if (progress === null || progress.granted === null) {
    throw unpaired(state);
  }
  const { agent, merchant, epoch, gatewayKey } = progress.granted;
  assertNames(agent, options.yes);
  if (options.json !== true) terminal.out(newLedgerWords);
  if (options.yes === undefined) {
    if (!terminal.isInteractive) {
      throw new AgentError("COMMAND_USAGE", "none", "recover --new-ledger asks for a yes on a terminal, and this is none", {
        hint: `read docs/recovering.md, then give --yes ${agent}`,
      });
    }
    if (!(await terminal.confirm("begin a new, locked ledger? (yes/no) ")))
      throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
  }
  // What root made here the signer could not read.
  becomeOwner(state.signer);
  const lock = await takeLock(state.signer, lockWaitMs);
  try {
    const folder = join(state.signer, "ledger");
    const aside = setAside(folder, terminal.now());
    const first = { kind: "PAIRED", agent, merchant, wallet: progress.wallet.wallet, epoch, gatewayKey } as const;
    makePrivateFolder(state.signer);
    namingFile(folder, () => createLockedLedger(ledgerDisk(folder), first));
    if (options.json === true) terminal.out(`${JSON.stringify({ ok: true, agent, aside })}\n`);
    else {
      if (aside !== "") terminal.out(`the old ledger is kept in ${aside}\n`);
      terminal.out(
        `a new ledger is there, locked. Next: start crypto, have the gateway run agents recover ${agent}, then recover.\n`,
      );
    }
    return exitCodes.fine;
  } finally {
    lock.release();
  }
}

function setAside(folder: string, nowMs: number): string {
  if (!isThere(folder)) return "";
  const aside = `${folder}-aside-${new Date(nowMs).toISOString().replaceAll(/[^0-9]/g, "")}`;
  renameSync(folder, aside);
  return aside;
}

const newLedgerWords = `This begins a ledger that knows of no payment. Everything it must know comes from the gateway's database.
Use it only when the ledger is gone or cannot be read, or contradicts the gateway, and no backup of it is newer than
the last payment; and never when the gateway's database was itself restored from a backup.

`;

const noNonceWords = `no nonce was ever given out, as far as ledger, gateway and chain have said. When status does not show
the chain's block yet, wait for it and look again before you say yes`;

const unfinishedWords =
  "WARNING: the recovery before this one was never finished; what it warned of holds on: see docs/recovering.md";

function describe(plan: RecoveryPlan, columns: number | undefined): string {
  const rows: (readonly [string, string])[] = [
    ["order", `made ${moment(plan.at)}, ${plan.order}`],
    ["epoch", `${plan.epoch} becomes ${plan.newEpoch}`],
    ["lock", plan.locked === "" ? "none" : `${plan.locked}: ${plan.lockedDetail}`],
    ["this ledger", headWords(plan.head)],
    ["the gateway's", plan.gatewayHead === null ? "nothing" : headWords(plan.gatewayHead)],
    ["who went back", whoWentBack(plan)],
    ["jobs", `newest here ${plan.jobs.here}, at the gateway ${plan.jobs.gateway}`],
    ["withdrawals", countsOf(plan)],
    ["told again", `${plan.restated} facts`],
  ];
  return `${fields(rows)}\n\n${accountsOf(plan.accounts, columns)}${unfinishedOf(plan)}${withdrawalsOf(plan, columns)}\ndigest ${plan.digest}\n`;
}

function whoWentBack({ isGatewayBehind, isOnlyUnheard, gatewayHead, accounts, restated }: RecoveryPlan): string {
  if (gatewayHead === null) return "not known: the gateway holds nothing of this ledger, and is told what there is";
  if (isOnlyUnheard && unknownOf(accounts) !== "") return "perhaps both, to before what the warning below counts";
  if (isOnlyUnheard) return "neither, as far as they tell: the gateway has all that it confirmed";
  if (isGatewayBehind) return "the gateway: it is told again what it lost";
  if (restated === 0) return "this ledger: the gateway tells it";
  return "this ledger, or the gateway to before an earlier recovery: each tells the other";
}

function countsOf({ held, quarantined, settled, imported }: RecoveryPlan): string {
  return `${held} held, ${quarantined} quarantined on their nonce, ${settled} settled; ${imported} of them forgotten here`;
}

function headWords({ seq, hash }: Head): string {
  return `record ${seq}, ${hash}`;
}

function accountsOf(accounts: readonly RecoveryAccountView[], columns: number | undefined): string {
  if (accounts.length === 0) return `${noNonceWords}\n\n`;
  const or = (text: string): string => text || "-";
  const rows = accounts.map((one) => [
    ...[one.network, one.account, or(one.ledgerNext), or(one.gatewayNext), or(one.chainCount), one.next],
  ]);
  const heading = ["network", "account", "ledger next", "gateway next", "chain count", "next nonce"];
  return `${table(heading, rows, columns)}\n${unknownOf(accounts)}\n`;
}

/** Nonces that nobody here accounts for: somebody paid something that both sides forgot, at once or one after the other. */
function unknownOf(accounts: readonly RecoveryAccountView[]): string {
  return accounts.map((one) => `${unseenOf(one)}${passedOf(one)}`).join("");
}

function unseenOf({ network, ledgerNext, gatewayNext, chainCount }: RecoveryAccountView): string {
  const known = [ledgerNext, gatewayNext].map((text) => BigInt(text || "0")).sort((a, b) => (a < b ? 1 : -1));
  const most = known[0] ?? 0n;
  const unknown = BigInt(chainCount || "0") - most;
  if (unknown <= 0n) return "";
  const many = unknown === 1n ? "transaction" : "transactions";
  return `WARNING: ${unknown} ${many} on ${network}, from nonce ${most} on, known to neither side: see docs/recovering.md\n`;
}

function passedOf({ network, passed, passedFrom }: RecoveryAccountView): string {
  if (passed === 0) return "";
  const many = passed === 1 ? "nonce" : "nonces";
  return `WARNING: up to ${passed} ${many} on ${network}, from ${passedFrom} on, known to neither side any more: see docs/recovering.md\n`;
}

/** A nonce given out since takes what it warned of out of the counts above, though nobody has said that it was looked into. */
function unfinishedOf({ isUnfinished }: RecoveryPlan): string {
  return isUnfinished ? `${unfinishedWords}\n\n` : "";
}

function withdrawalsOf({ withdrawals, held, quarantined, settled }: RecoveryPlan, columns: number | undefined): string {
  if (withdrawals.length === 0) return "no withdrawal is open\n";
  const rows = withdrawals.map(rowOf);
  const rest = held + quarantined + settled - withdrawals.length;
  const more = rest > 0 ? `and ${rest} more\n` : "";
  const heading = ["transactionId", "here", "becomes", "nonce", "amount", "address", "orderId", "txHashes"];
  return `${table(heading, rows, columns)}\n${more}`;
}

function rowOf(one: RecoveryWithdrawalView): readonly string[] {
  const hashes = one.txHashes.map((hash) => hash || "unsigned").join(" ");
  const amount = `${one.amount} ${one.currency}`;
  return [
    one.transactionId,
    one.here || "unknown",
    one.becomes,
    one.nonce || "-",
    amount,
    one.address || "-",
    one.orderId,
    hashes,
  ];
}
