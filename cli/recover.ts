/**
 * `recover`: shows the ledger that the gateway's order would begin here and, after a yes bound to
 * exactly this plan, begins it. With `--both-restored` if the gateway was restored too, until
 * `--finish`. With `--new-ledger` begins a locked ledger if the old one is gone or unreadable.
 */

import { join } from "node:path";
import { keystoreName } from "../agent/files/keystore-name.ts";
import { becomeOwner } from "../agent/files/owner.ts";
import { isThere, type StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import { lockWaitMs, takeLock } from "../agent/launcher/lock.ts";
import { unpairedFault } from "../agent/launcher/paired.ts";
import type { RecoveryPlan, RecoveryWithdrawalView } from "../agent/socket/verbs.ts";
import { AgentError } from "../base/fault.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { slotWord } from "../chains/several-networks.ts";
import type { AgentLedgerHead } from "../protocol/messages.ts";
import { type EncKeyOptions, encKeyInUse } from "./enc-key.ts";
import { askOperator } from "./operator.ts";
import {
  describeUnknownTransactions,
  outgoingTextOfPlan,
  unmatchedOutgoingWords,
} from "./outgoing-transactions.ts";
import { beginLedger } from "./pair/children.ts";
import { readProgress } from "./pair/progress.ts";
import { fieldLines, momentText, type Terminal, tableLines, withProgress } from "./terminal.ts";

export interface RecoverOptions extends EncKeyOptions {
  readonly yes?: string | undefined;
  readonly bothRestored?: boolean | undefined;
  readonly uncounted?: readonly string[] | undefined; // names of chains
  readonly finish?: boolean | undefined;
  readonly newLedger?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * @throws AgentError with the signer's code for a no; COMMAND_USAGE, COMMAND_DECLINED,
 * COMMAND_DAEMON_AWAY, STATE_*
 */
export async function runRecover(
  state: StateFolder,
  options: RecoverOptions,
  terminal: Terminal,
): Promise<number> {
  if (options.newLedger === true && options.finish === true) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "--new-ledger and --finish are two steps, one at the beginning and one at the end",
    );
  }
  if (options.newLedger === true) return newLedger(state, options, terminal);
  return options.finish === true
    ? finish(state, options, terminal)
    : carryOut(state, options, terminal);
}

async function carryOut(
  state: StateFolder,
  options: RecoverOptions,
  terminal: Terminal,
): Promise<number> {
  const bothRestored = options.bothRestored === true;
  const { uncounted = [] } = options;
  const asking = askOperator(state, "recover", {
    digest: "",
    bothRestored,
    ...(uncounted.length === 0 ? {} : { uncounted }),
  });
  const { plan } = await withProgress(
    terminal,
    "holding ledger and order against each other",
    asking,
  );
  if (options.json !== true) terminal.out(describe(plan, terminal.columns));
  if (options.yes === undefined && !terminal.isInteractive) {
    const message = "recover asks for a yes on a terminal, and this is none";
    const hint = `look at all of it, then give --yes ${plan.digest}`;
    if (options.json !== true) throw new AgentError("COMMAND_USAGE", "none", message, { hint });
    // The plan to which a script would say yes, in its one line; nothing is done yet.
    terminal.out(
      `${formatTerminalSafeJson({ ok: false, code: "COMMAND_USAGE", message, hint, done: false, plan })}\n`,
    );
    return exitCodes.configuration;
  }
  const digest = options.yes ?? plan.digest;
  if (digest !== plan.digest) {
    throw new AgentError(
      "RECOVERY_NONE",
      "none",
      "what --yes names is not what the order would do now",
    );
  }
  if (
    options.yes === undefined &&
    !(await terminal.confirm("open the new ledger exactly so? (yes/no) "))
  ) {
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
  }
  const done = await withProgress(
    terminal,
    "opening the ledger",
    askOperator(state, "recover", { digest, bothRestored }),
  );
  if (options.json === true)
    terminal.out(`${formatTerminalSafeJson({ ok: true, done: true, plan: done.plan })}\n`);
  else {
    terminal.out(
      `\nopened, epoch ${plan.newLedgerEpoch}. ${bothRestored ? heldWords(slotOf(plan)) : goesOnWords(slotOf(plan))}\n`,
    );
  }
  return exitCodes.fine;
}

async function finish(
  state: StateFolder,
  options: RecoverOptions,
  terminal: Terminal,
): Promise<number> {
  const { status } = await askOperator(state, "status", {});
  if (status.recovery === "RECOVERY_OFFERED") {
    const words = "the recovery was only offered: nothing is carried out yet that could be ended";
    throw new AgentError("RECOVERY_OFFERED", "none", words);
  }
  assertNames(status.agent, options.yes);
  if (options.json !== true && status.recovery !== "") {
    const { outgoing, held } = await askOperator(state, "finish", { isLook: true });
    terminal.out(unmatchedOutgoingWords(outgoing, held, terminal.columns));
  }
  if (options.yes === undefined && status.recovery !== "") {
    if (!terminal.isInteractive) {
      throw new AgentError(
        "COMMAND_USAGE",
        "none",
        "recover --finish asks for a yes on a terminal, and this is none",
        {
          hint: `give --yes ${status.agent}`,
        },
      );
    }
    if (!(await terminal.confirm("let policy approve new withdrawals by itself again? (yes/no) ")))
      throw new AgentError(
        "COMMAND_DECLINED",
        "none",
        "not answered with yes: nothing was changed",
      );
  }
  const { held, quarantined, outgoing } = await askOperator(state, "finish", {});
  if (options.json === true)
    terminal.out(`${formatTerminalSafeJson({ ok: true, held, quarantined, outgoing })}\n`);
  else {
    const what =
      status.recovery === "" ? "nothing was held by a recovery" : "policy decides by itself again";
    terminal.out(
      `${what}; waiting for approve or refuse: ${held}; quarantined, for approve or their end on the chain: ${quarantined}\n`,
    );
  }
  return exitCodes.fine;
}

/** A yes on the command line must name the agent. */
function assertNames(agent: string, yes: string | undefined): void {
  if (yes === undefined || yes === agent) return;
  throw new AgentError("COMMAND_USAGE", "none", `--yes must name this agent, ${agent}`);
}

/** The new ledger is locked before any process can read it; the process with the keys begins it. */
async function newLedger(
  state: StateFolder,
  options: RecoverOptions,
  terminal: Terminal,
): Promise<number> {
  const progress = readProgress(state);
  if (progress === null || progress.granted === null) {
    throw unpairedFault(state);
  }
  const { agent } = progress.granted;
  assertNames(agent, options.yes);
  if (options.json !== true) terminal.out(newLedgerWords);
  if (options.yes === undefined) {
    if (!terminal.isInteractive) {
      throw new AgentError(
        "COMMAND_USAGE",
        "none",
        "recover --new-ledger asks for a yes on a terminal, and this is none",
        {
          hint: `read docs/recovering.md, then give --yes ${agent}`,
        },
      );
    }
    if (!(await terminal.confirm("begin a new, locked ledger? (yes/no) ")))
      throw new AgentError(
        "COMMAND_DECLINED",
        "none",
        "not answered with yes: nothing was changed",
      );
  }
  if (!isThere(join(state.signer, keystoreName))) throw unpairedFault(state);
  const encKey = await encKeyInUse(options, terminal);
  // The signer could not read files that root made here.
  becomeOwner(state.signer);
  const lock = await takeLock(state.signer, lockWaitMs);
  try {
    const task = { signer: state.signer, pairing: progress, isRedone: true, nowMs: terminal.now() };
    const { aside } = await beginLedger(terminal, task, encKey.bytes);
    if (options.json === true)
      terminal.out(`${formatTerminalSafeJson({ ok: true, agent, aside })}\n`);
    else {
      if (aside !== "") terminal.out(`the old ledger is kept in ${aside}\n`);
      terminal.out(
        `a new ledger is there, locked. Next: start crypto, have the gateway run agents recover ${agent}, then recover.\n`,
      );
    }
    return exitCodes.fine;
  } finally {
    encKey.bytes.fill(0);
    lock.release();
  }
}

const newLedgerWords = `This begins a ledger that knows of no payment. Everything it must know comes from the gateway's database.
Use it only when the ledger is gone or cannot be read, or contradicts the gateway, and no backup of it is newer than
the last payment; and never when the gateway's database was itself restored from a backup.

`;

/** The term for the slots of a plan. */
const slotOf = ({ accounts }: RecoveryPlan): string =>
  slotWord(accounts.map(({ network }) => network));

const goesOnWords = (slot: string): string =>
  `What had no ${slot} comes again by itself; status shows when all of it is done.`;

const heldWords = (
  slot: string,
): string => `Every withdrawal without a ${slot} is held now. For each of them: show ID, compare it with the outgoing transactions
that stand there, then approve ID or refuse ID; then recover --finish.`;

// The order does not name these withdrawals; they come as jobs.
const gatewaysWords = (slot: string): string =>
  `from the gateway whatever else it has open without a ${slot}`;

const noSlotWords = `no slot was ever given out, as far as ledger, gateway and chain have said. When status does not show
the chain's block yet, wait for it and look again before you say yes`;

function describe(plan: RecoveryPlan, columns: number | undefined): string {
  const slot = slotOf(plan);
  const rows: (readonly [string, string])[] = [
    ["order", `made ${momentText(plan.at)}, ${plan.order}`],
    ["epoch", `${plan.ledgerEpoch} becomes ${plan.newLedgerEpoch}`],
    ["lock", plan.locked === "" ? "none" : `${plan.locked}: ${plan.lockedDetail}`],
    ["this ledger", headWords(plan.head)],
    ["the gateway's", plan.gatewayHead === null ? "nothing" : headWords(plan.gatewayHead)],
    [
      "rolled back",
      plan.bothRestored ? `both: what has no ${slot} is held for an operator` : rolledBack(plan),
    ],
    [
      `keep their ${slot}`,
      plan.kept === 0 ? "none" : `${plan.kept}, signed again on it as far as policy says yes`,
    ],
    [
      "come again",
      `${plan.left} from this ledger, as far as the gateway has them; ${gatewaysWords(slot)}`,
    ],
  ];
  return `${fieldLines(rows)}\n\n${accountsOf(plan, columns)}${withdrawalsOf(plan, columns)}${unknownSumsOf(plan, columns)}${outgoingTextOfPlan(plan, columns)}\ndigest ${plan.digest}\n`;
}

function rolledBack({ isHere, gatewayHead }: RecoveryPlan): string {
  if (gatewayHead === null)
    return "not known: the gateway holds nothing of this ledger, and is told what there is";
  return isHere
    ? "not this ledger: the gateway is told what it lacks"
    : "this ledger; if the gateway was restored too, add --both-restored";
}

function headWords({ seq, hash }: AgentLedgerHead): string {
  return `record ${seq}, ${hash}`;
}

function accountsOf(plan: RecoveryPlan, columns: number | undefined): string {
  const { accounts } = plan;
  if (accounts.length === 0) return `${noSlotWords}\n\n`;
  const or = (text: string): string => text || "-";
  const rows = accounts.map((one) => [
    ...[
      one.network,
      one.account,
      or(one.ledgerNext),
      or(one.gatewayNext),
      or(one.chainCount),
      one.next,
    ],
  ]);
  const heading = [
    "network",
    "account",
    "ledger next",
    "gateway next",
    "chain count",
    `next ${slotOf(plan)}`,
  ];
  return `${tableLines(heading, rows, columns)}\n${describeUnknownTransactions(plan)}\n`;
}

function withdrawalsOf(plan: RecoveryPlan, columns: number | undefined): string {
  const { withdrawals, kept } = plan;
  if (withdrawals.length === 0) return `no withdrawal keeps a ${slotOf(plan)}\n`;
  const rows = withdrawals.map(rowOf);
  const rest = kept - withdrawals.length;
  const more = rest > 0 ? `and ${rest} more\n` : "";
  const heading = [
    "transactionId",
    "here",
    "how it ends",
    slotOf(plan),
    "amount",
    "address",
    "orderId",
    "txHashes",
  ];
  return `${tableLines(heading, rows, columns)}\n${more}`;
}

/** Sums of unknown withdrawals. Only the gateway reports them, so they stand next to the limits. */
function unknownSumsOf({ unknown }: RecoveryPlan, columns: number | undefined): string {
  if (unknown.length === 0) return "";
  const or = (text: string): string => text || "none";
  const rows = unknown.map((one) => [
    ...[
      one.limitGroup,
      String(one.count),
      one.amount,
      or(one.maxPerHour),
      or(one.maxPerDay),
      String(one.above),
    ],
  ]);
  const heading = [
    "unknown here",
    "withdrawals",
    "amount",
    "limit an hour",
    "limit a day",
    "need an operator",
  ];
  return `\n${tableLines(heading, rows, columns)}\n`;
}

function rowOf(one: RecoveryWithdrawalView): readonly string[] {
  const hashes = one.txHashes.join(" ") || "unsigned";
  const amount = `${one.amount} ${one.currency}`;
  return [
    one.transactionId,
    one.here || "unknown",
    one.isContested
      ? "the chain decides"
      : one.code === ""
        ? "signed again"
        : `waits for an operator: ${one.code}`,
    one.slot,
    amount,
    one.address || "-",
    one.orderId,
    hashes,
  ];
}
