/** `withdrawals` and `show`: what was asked of this agent and what became of it. Nothing is shortened. */

import type { StateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/verdict.ts";
import type { LedgerLine, SignerStatus, VersionView, WaitView, WithdrawalView } from "../agent/socket/verbs.ts";
import { nativeDecimal } from "../chains/evm/network.ts";
import { formatAmount } from "../protocol/amount.ts";
import { AgentError } from "../protocol/fault.ts";
import { askOperator } from "./operator.ts";
import { type Outlook, outlookOf } from "./outlook.ts";
import { fields, moment, momentHere, type Terminal, table, wrapped } from "./terminal.ts";

const limitMax = 1000;
const nowWidth = 62;

/** @public */
export interface ListOptions {
  readonly open?: boolean | undefined;
  readonly limit: number;
  readonly json?: boolean | undefined;
}

/** What each state means to a person. */
const stateWords: Readonly<Record<WithdrawalView["state"], string>> = {
  held: "held: waits for approve or refuse",
  approved: "approved: nothing is bound or signed yet",
  intent: "intent: its nonce is bound, not yet signed",
  signed: "signed: the gateway has not confirmed yet, nothing left this machine",
  released: "released: may be on its way to the chain",
  broadcast: "broadcast: nodes have it",
  included: "included: in a block, not final yet",
  paid: "paid: final on chain",
  reverted: "reverted: final on chain, nothing was paid",
  lost: "lost: another transaction used its nonce",
  refused: "refused: nothing was ever signed",
  expired: "expired: nothing was ever signed",
  quarantined: "quarantined: its nonce is bound from before a recovery; only watched, and sent again on approve",
  settled: "settled: a recovery found that the gateway does not call it open any more; nothing waits here",
};

/**
 * An id as the gateway and `withdrawals` show it, whole.
 * @throws AgentError COMMAND_USAGE
 * @public
 */
export function transactionIdFrom(text: string): string {
  if (/^[0-9a-f]{32}$/.test(text)) return text;
  throw new AgentError("COMMAND_USAGE", "none", `${JSON.stringify(text.slice(0, 80))} is not a transactionId: 32 hex digits`, {
    hint: "copy it whole from what withdrawals prints",
  });
}

/**
 * @throws AgentError COMMAND_USAGE
 * @public
 */
export function limitFrom(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= limitMax) return limit;
  throw new AgentError("COMMAND_USAGE", "none", `--limit must be a whole number from 1 to ${limitMax}`);
}

/** @public */
export async function listWithdrawals(state: StateFolder, options: ListOptions, terminal: Terminal): Promise<number> {
  const { withdrawals } = await askOperator(state, "list", { openOnly: options.open === true, limit: options.limit });
  if (options.json === true) {
    terminal.out(`${JSON.stringify({ ok: true, withdrawals })}\n`);
    return exitCodes.fine;
  }
  if (withdrawals.length === 0) {
    terminal.out(options.open === true ? "no open withdrawals\n" : "no withdrawals yet\n");
    return exitCodes.fine;
  }
  const rows = withdrawals.map((one) => [
    one.transactionId,
    one.state,
    `${one.amount} ${one.currency}`,
    one.address === "" ? "(none yet)" : one.address,
    one.nonce || "-",
    moment(one.changedAt),
    one.orderId,
  ]);
  terminal.out(
    `${table(["transactionId", "state", "amount", "address", "nonce", "changed", "orderId"], rows, terminal.columns)}\n`,
  );
  if (withdrawals.length === options.limit) terminal.out(`\nthe newest ${options.limit}; more with --limit\n`);
  return exitCodes.fine;
}

/** @public */
export async function showWithdrawal(
  state: StateFolder,
  transactionId: string,
  isJson: boolean,
  terminal: Terminal,
): Promise<number> {
  const { withdrawal, history, wait } = await askOperator(state, "show", { transactionId });
  if (isJson) terminal.out(`${JSON.stringify({ ok: true, withdrawal, history, wait })}\n`);
  else {
    const now = nowWords(outlookOf(withdrawal, await statusIfAny(state), terminal.now()));
    const { columns } = terminal;
    terminal.out(`${describe(withdrawal, wait)}${now}${versionsOf(withdrawal, columns)}${historyOf(history, columns)}`);
  }
  return exitCodes.fine;
}

/** A status that cannot be had leaves the withdrawal's own words. */
async function statusIfAny(state: StateFolder): Promise<SignerStatus | null> {
  try {
    return (await askOperator(state, "status", {})).status;
  } catch (error) {
    if (error instanceof AgentError) return null;
    throw error;
  }
}

function nowWords({ verdict, why, what }: Outlook): string {
  const lines = [...wrapped(`${verdict}: ${why}`, nowWidth), ...(what === "" ? [] : wrapped(`do: ${what}`, nowWidth))];
  return `${lines.map((line, at) => `  ${(at === 0 ? "now" : "").padEnd(16)}${line}`).join("\n")}\n`;
}

/**
 * Every field of a withdrawal that a decision could hang on, whole; `wait` is null for one that waits for nobody.
 * @public
 */
export function describe(one: WithdrawalView, wait: WaitView | null): string {
  const rows: (readonly [string, string])[] = [
    ["transactionId", one.transactionId],
    ["orderId", one.orderId],
    ["state", `${stateWords[one.state]}${one.code === "" ? "" : ` (${one.code})`}`],
    ["amount", `${one.amount} ${one.currency}`],
    ["base units", `${one.amountUnits} (${one.decimal} decimals)`],
    ["to address", one.address || (wait?.confirmed?.address ?? "") || "none yet: give it with --address"],
    ...destinationRows(wait),
    ["chain", `${one.chain} (${one.network})`],
    ["token", one.contract === "" ? "the chain's own coin" : one.contract],
    ["mode", one.mode],
    ["requested", momentHere(one.requestedAt)],
    ["changed", momentHere(one.changedAt)],
    ["expires", expiresWords(one)],
  ];
  rows.push(...waitRows(one, wait));
  if (one.account !== "") rows.push(["paid from", one.account]);
  if (one.tag !== "") rows.push(["tag", one.tag]);
  if (one.nonce !== "") rows.push(["nonce", one.nonce]);
  return `${fields(rows)}\n`;
}

/** The address that this one could be taken for stands right under it, whole. */
function destinationRows(wait: WaitView | null): readonly (readonly [string, string])[] {
  const likeness = wait?.likeness ?? null;
  if (likeness !== null) {
    return [
      ["LOOKS LIKE", likeness.address],
      ["was paid", `${likeness.amount} ${likeness.currency} at ${moment(likeness.at)}`],
      ["", "to address was never paid"],
    ];
  }
  return wait?.isNew === true ? [["", "never paid before"]] : [];
}

/** Whose yes is there or wanted, and when policy decides without one. */
function waitRows({ expiresAt }: WithdrawalView, wait: WaitView | null): readonly (readonly [string, string])[] {
  if (wait === null) return [];
  const rows: (readonly [string, string])[] = [];
  if (wait.until > 0)
    rows.push([
      "delay ends",
      wait.until > expiresAt
        ? `${moment(wait.until)}, after it expires: only a person's approve lets it be paid`
        : `${moment(wait.until)}: policy decides then by itself; approve or refuse decides before`,
    ]);
  if (wait.confirmed !== null)
    rows.push([
      "approved",
      `1 of 2, by ${wait.confirmed.approver} (claimed: the socket does not prove names) at ${moment(wait.confirmed.at)}`,
    ]);
  else if (wait.needsTwo) rows.push(["approved", "0 of 2: two people must approve it, each under their own name"]);
  return rows;
}

/** Time ends nothing that is bound, nor what a recovery holds; but what ran out meanwhile can no longer be approved. */
function expiresWords({ state, code, expiresAt }: WithdrawalView): string {
  if (state === "quarantined") return "never: its nonce is bound";
  const isOfRecovery = state === "held" && (code === "RECOVERY_HOLD" || code === "RECOVERY_SETTLED");
  return isOfRecovery
    ? `not by itself; can be approved until ${momentHere(expiresAt)}, refused also after it`
    : momentHere(expiresAt);
}

function versionsOf({ versions }: WithdrawalView, columns: number | undefined): string {
  if (versions.length === 0) return "";
  const rows = versions.map((one) => [String(one.version), one.txHash, feeMaxOf(one), moment(one.signedAt)]);
  return `\n${table(["version", "txHash", "highest fee", "signed"], rows, columns)}\n`;
}

/** The most a version can cost: gas limit times price, in the chain's own coin (EIP-1559). */
function feeMaxOf({ gasLimit, maxFeePerGas }: VersionView): string {
  return formatAmount(BigInt(gasLimit) * BigInt(maxFeePerGas), nativeDecimal);
}

function historyOf(history: readonly LedgerLine[], columns: number | undefined): string {
  if (history.length === 0) return "";
  const rows = history.map((line) => [String(line.seq), moment(line.at), line.kind, line.detail]);
  return `\n${table(["record", "at", "kind", "detail"], rows, columns)}\n`;
}
