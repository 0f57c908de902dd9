/**
 * `withdrawals` and `show`: the requests to this agent, and their results. Nothing is shortened.
 */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import {
  type AttemptView,
  type LedgerLine,
  type OperatorView,
  type SignerStatus,
  type WaitView,
  withdrawalsListMax,
} from "../agent/socket/verbs.ts";
import { AgentError } from "../base/fault.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { slotWord } from "../chains/several-networks.ts";
import { amountWords, feeMaxWords, modeMark, nativeCoinWords } from "./amounts.ts";
import type { Diagnosis } from "./decision-diagnosis.ts";
import { diagnosisOf } from "./diagnosis.ts";
import { askOperator } from "./operator.ts";
import {
  chainComparisonWords,
  isHoldingWithdrawals,
  type OutgoingComparison,
  outgoingWordsOf,
} from "./outgoing-transactions.ts";
import {
  fieldLines,
  momentHere,
  momentText,
  type Terminal,
  tableLines,
  wrapText,
} from "./terminal.ts";

const nowWidth = 62;

export interface ListOptions {
  readonly open?: boolean | undefined;
  readonly order?: string | undefined;
  readonly address?: string | undefined;
  readonly since?: number | undefined; // ms since 1970
  readonly until?: number | undefined;
  readonly limit: number;
  readonly json?: boolean | undefined;
}

/** The meaning of each state for an operator. */
const stateWords = (slot: string): Readonly<Record<OperatorView["state"], string>> => ({
  held: "held: waits for approve or refuse",
  approved: "approved: nothing is assigned or signed yet",
  intent: `intent: its ${slot} is assigned, not yet signed`,
  signed: "signed: the gateway has not confirmed yet, nothing left this machine",
  released: "released: may be on its way to the chain",
  broadcast: "broadcast: nodes took it",
  included: "included: in a block, not final yet",
  paid: "paid: final on chain",
  reverted: "reverted: final on chain, nothing was paid",
  conflicted: `conflicted: another transaction used its ${slot}`,
  refused: "refused: nothing was ever signed",
  expired: "expired: nothing was ever signed",
  quarantined: `quarantined: it has its ${slot}; only watched until approve or cancel`,
  moved: "moved: final, and not exactly the payment",
  cancelled: `cancelled: a payment of nothing to oneself used its ${slot}; nothing was paid`,
});

/** On a chain with exclusion by expiry, a withdrawal may expire after it was signed. */
function wordsOf({ state, network, attempts, code }: OperatorView): string {
  if (state === "expired" && code === "SWEEP_UNREACHABLE")
    return "expired: an operator ended it, and the chain could not reach it";
  if (state === "expired" && code === "COIN_UNKNOWN")
    return "expired: an operator ended it, and no node showed the coin that it spends";
  if (state === "expired" && code === "SLOT_UNREACHABLE")
    return `expired: an operator ended it, and its account began above its ${slotWord([network])}`;
  if (state === "expired" && attempts.length > 0)
    return "expired: all that was signed is void, and nothing was paid";
  return stateWords(slotWord([network]))[state];
}

/**
 * Reads a complete id as the gateway and `withdrawals` show it.
 * @throws AgentError COMMAND_USAGE
 */
export function transactionIdFrom(text: string): string {
  if (/^[0-9a-f]{32}$/.test(text)) return text;
  throw new AgentError(
    "COMMAND_USAGE",
    "none",
    `${JSON.stringify(text.slice(0, 80))} is not a transactionId: 32 hex digits`,
    {
      hint: "copy it whole from what withdrawals prints",
    },
  );
}

/**
 * @throws AgentError COMMAND_USAGE
 */
export function limitFrom(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= withdrawalsListMax) return limit;
  throw new AgentError(
    "COMMAND_USAGE",
    "none",
    `--limit must be a whole number from 1 to ${withdrawalsListMax}`,
  );
}

export async function listWithdrawals(
  state: StateFolder,
  options: ListOptions,
  terminal: Terminal,
): Promise<number> {
  const { open, limit, order, address, since, until } = options;
  const filter = Object.fromEntries(
    Object.entries({ order, address, since, until }).filter(([, value]) => value !== undefined),
  );
  const { withdrawals } = await askOperator(state, "list", {
    openOnly: open === true,
    limit,
    ...filter,
  });
  if (options.json === true) {
    terminal.out(`${formatTerminalSafeJson({ ok: true, withdrawals })}\n`);
    return exitCodes.fine;
  }
  if (withdrawals.length === 0) {
    const isFiltered = Object.keys(filter).length > 0;
    terminal.out(
      isFiltered
        ? "no such withdrawals\n"
        : open === true
          ? "no open withdrawals\n"
          : "no withdrawals yet\n",
    );
    return exitCodes.fine;
  }
  const rows = withdrawals.map((one) => [
    one.transactionId,
    stateCell(one),
    `${amountWords(one)}${modeMark(one)}`,
    one.address || (one.state === "held" ? "(none yet)" : "(none)"),
    one.slot || "-",
    momentText(one.changedAt),
    one.orderId,
  ]);
  terminal.out(
    `${tableLines(["transactionId", "state", "amount", "address", slotWord(withdrawals.map(({ network }) => network)), "changed", "orderId"], rows, terminal.columns)}\n`,
  );
  // A pipe gets records alone, one a line.
  if (withdrawals.length === limit)
    terminal.err(`the newest ${limit}; more with --limit, older ones with --until\n`);
  return exitCodes.fine;
}

/** A cancel does not end a withdrawal at once, and the state does not show it. */
function stateCell({ state, isCancelling, attempts }: OperatorView): string {
  const isCancelled = isCancelling === true || attempts.some(({ isCancel }) => isCancel === true);
  const isElsewise = ["paid", "reverted", "conflicted", "cancelled", "moved"].includes(state);
  return isCancelled && !isElsewise ? `${state}, cancelled by an operator` : state;
}

export async function showWithdrawal(
  state: StateFolder,
  transactionId: string,
  isJson: boolean,
  terminal: Terminal,
): Promise<number> {
  const { withdrawal, history, wait, outgoing } = await askOperator(state, "show", {
    transactionId,
  });
  if (isJson)
    terminal.out(`${formatTerminalSafeJson({ ok: true, withdrawal, history, wait, outgoing })}\n`);
  else {
    const status = await statusIfAny(state);
    const now = nowWords(
      diagnosisOf({ one: withdrawal, history, outgoing, status, nowMs: terminal.now() }),
    );
    const compared = { outgoing, isCompared: isHoldingWithdrawals(status) };
    const { columns } = terminal;
    terminal.out(
      `${describeWithdrawal(withdrawal, wait, compared)}${now}${outgoingWordsOf(outgoing, columns)}${attemptsOf(withdrawal, columns)}${historyOf(history, columns)}`,
    );
  }
  return exitCodes.fine;
}

/** If there is no status, the withdrawal's own words stay. */
export async function statusIfAny(state: StateFolder): Promise<SignerStatus | null> {
  try {
    return (await askOperator(state, "status", {})).status;
  } catch (error) {
    if (error instanceof AgentError) return null;
    throw error;
  }
}

function nowWords({ verdict, why, what }: Diagnosis): string {
  const lines = [
    ...wrapText(`${verdict}: ${why}`, nowWidth),
    ...(what === "" ? [] : wrapText(`do: ${what}`, nowWidth)),
  ];
  return `${lines.map((line, at) => `  ${(at === 0 ? "now" : "").padEnd(16)}${line}`).join("\n")}\n`;
}

/**
 * Every field of a withdrawal on which a decision could depend, complete. `wait` is null for a
 * withdrawal that waits for no operator.
 */
export function describeWithdrawal(
  one: OperatorView,
  wait: WaitView | null,
  compared: OutgoingComparison = { outgoing: [], isCompared: false },
): string {
  const rows: (readonly [string, string])[] = [
    ["transactionId", one.transactionId],
    ["orderId", one.orderId],
    ["state", `${wordsOf(one)}${one.code === "" ? "" : ` (${one.code})`}`],
    ["amount", amountWords(one)],
    ["base units", `${one.amountUnits} (${one.decimal} decimals)`],
    ["to address", one.address || (wait?.confirmed?.address ?? "") || noAddress(one)],
    ...destinationRows(wait, isWaiting(one) ? chainComparisonWords(one, compared) : ""),
    ["chain", `${one.chain} (${one.network})`],
    ["token", one.contract === "" ? nativeCoinWords : one.contract],
    ["mode", one.mode],
    ["requested", momentHere(one.requestedAt)],
    ["changed", momentHere(one.changedAt)],
    ["expires", expiresWords(one)],
  ];
  rows.push(...waitRows(one, wait));
  if (one.account !== "") rows.push(["paid from", one.account]);
  if (one.tag !== "") rows.push(["tag", one.tag]);
  if (one.slot !== "") rows.push([slotWord([one.network]), one.slot]);
  return `${fieldLines(rows)}\n`;
}

function noAddress({ state }: OperatorView): string {
  return state === "held" ? "none yet: give it with --address" : "none";
}

function isWaiting({ state }: OperatorView): boolean {
  return state === "held" || state === "quarantined";
}

/**
 * Rows of the destination. An address that it resembles stands right under it, complete. A ledger
 * restored from a backup may have forgotten a payment: `chain` then has the state on chain, ""
 * without a recovery.
 */
function destinationRows(
  wait: WaitView | null,
  chain: string,
): readonly (readonly [string, string])[] {
  const likeness = wait?.likeness ?? null;
  const unpaid =
    likeness !== null
      ? "to address was never paid"
      : wait?.isNew === true
        ? "never paid before"
        : "";
  const forgotten = unpaid === "" ? chain : `not paid according to this ledger; ${chain}`;
  const words = chain === "" ? unpaid : forgotten;
  const rows: readonly (readonly [string, string])[] = words === "" ? [] : [["", words]];
  if (likeness === null) return rows;
  return [
    ["LOOKS LIKE", likeness.address],
    ["was paid", `${likeness.amount} ${likeness.currency} at ${momentText(likeness.at)}`],
    ...rows,
  ];
}

/**
 * The operators who have approved or must approve, and the time when policy decides without them.
 */
function waitRows(
  { expiresAt }: OperatorView,
  wait: WaitView | null,
): readonly (readonly [string, string])[] {
  if (wait === null) return [];
  const rows: (readonly [string, string])[] = [];
  if (wait.until > 0)
    rows.push([
      "delay ends",
      wait.until > expiresAt
        ? `${momentText(wait.until)}, after it expires: only an operator's approve lets it be paid`
        : `${momentText(wait.until)}: policy decides then by itself; approve or refuse decides before`,
    ]);
  if (wait.confirmed !== null)
    rows.push([
      "approved",
      `1 of 2, by ${wait.confirmed.approver} (claimed: the socket does not prove names) at ${momentText(wait.confirmed.at)}`,
    ]);
  else if (wait.needsTwo)
    rows.push(["approved", "0 of 2: two operators must approve it, each under their own name"]);
  return rows;
}

/**
 * A slot or a hold by a recovery does not end with time. But a withdrawal that expired meanwhile
 * can no longer be approved.
 */
function expiresWords({ state, code, network, expiresAt }: OperatorView): string {
  if (state === "quarantined") return `never: its ${slotWord([network])} is bound`;
  const isOfRecovery = state === "held" && code === "RECOVERY_HOLD";
  return isOfRecovery
    ? `not by itself; can be approved until ${momentHere(expiresAt)}, refused also after it`
    : momentHere(expiresAt);
}

function attemptsOf({ network, attempts }: OperatorView, columns: number | undefined): string {
  if (attempts.length === 0) return "";
  const waits = attempts.some(({ validUntilMs }) => validUntilMs !== undefined);
  const rows = attempts.map((one) => [
    `${one.attempt}${one.isCancel === true ? " cancel" : ""}`,
    one.txHash,
    feeMaxWords(one, network),
    momentText(one.signedAt),
    ...(waits ? [endOf(one)] : []),
  ]);
  return `\n${tableLines(["attempt", "txHash", "highest fee", "signed", ...(waits ? ["ends"] : [])], rows, columns)}\n`;
}

/**
 * The chain time after which no block takes the attempt, and the parties that have called it void.
 */
function endOf({ validUntilMs = 0, voidBy }: AttemptView): string {
  if (voidBy === "both") return "void";
  return `${momentText(validUntilMs)}${voidBy === undefined ? "" : `, void by the ${voidBy} alone`}`;
}

function historyOf(history: readonly LedgerLine[], columns: number | undefined): string {
  if (history.length === 0) return "";
  const rows = history.map((line) => [
    String(line.seq),
    momentText(line.at),
    line.kind,
    line.detail,
  ]);
  return `\n${tableLines(["record", "at", "kind", "detail"], rows, columns)}\n`;
}
