/**
 * Outgoing transactions of the account without an explanation, next to the withdrawals that a
 * recovery holds. Nothing is shortened.
 */
import type {
  OutgoingView,
  RecoveryAccountView,
  RecoveryPlan,
} from "../agent/socket/recovery-plan.ts";
import type { OperatorView, SignerStatus } from "../agent/socket/verbs.ts";
import { familyOf } from "../chains/families.ts";
import { farthestSlot, slotWord } from "../chains/several-networks.ts";
import { tableLines } from "./terminal.ts";

/** Final transactions of the account that no withdrawal explains. */
export function outgoingTable(
  outgoing: readonly OutgoingView[],
  columns: number | undefined,
): string {
  const rows = outgoing.map((one) => [
    ...[
      one.network,
      one.slot,
      String(one.block),
      one.receiver,
      one.contract || "the native coin",
      one.units,
      one.txHash,
    ],
  ]);
  return `${tableLines(["network", slotWord(outgoing.map(({ network }) => network)), "block", "paid to", "token", "base units", "txHash"], rows, columns)}\n`;
}

/** The outgoing transactions that may have paid the withdrawal above them; "" for none. */
export function outgoingWordsOf(
  outgoing: readonly OutgoingView[],
  columns: number | undefined,
): string {
  return outgoing.length === 0
    ? ""
    : `\none of these may have paid it:\n${outgoingTable(outgoing, columns)}`;
}

/**
 * The outgoing transactions that may have paid a withdrawal. `isCompared` is false if the hold is
 * over, or its state is unknown, so an empty list proves nothing.
 */
export interface OutgoingComparison {
  readonly outgoing: readonly OutgoingView[];
  readonly isCompared: boolean;
}

/**
 * True if the signer still holds every withdrawal to compare it with the reported outgoing
 * transactions.
 */
export function isHoldingWithdrawals(status: Pick<SignerStatus, "recovery"> | null): boolean {
  return status?.recovery === "RECOVERY_HOLD";
}

/**
 * The state on chain for a waiting withdrawal, if transactions are listed or a recovery holds it;
 * else "".
 */
export function chainComparisonWords(
  { code, network }: Pick<OperatorView, "code" | "network">,
  { outgoing, isCompared }: OutgoingComparison,
): string {
  if (outgoing.length > 0)
    return `the chain shows ${countOf(outgoing)} that may have paid it, below`;
  if (code !== "RECOVERY_HOLD") return "";
  if (!isCompared)
    return "its outgoing transactions are listed no more: look for its receiver in a block explorer";
  // An account with a later payment signs nothing on a chain that counts, and is recovered again.
  return familyOf(network).slots.isCounted
    ? "no outgoing transaction on the chain matches"
    : "no outgoing transaction matched when the recovery was ordered, and a later one is in no list: look for its receiver in a block explorer";
}

/** The same as a first action; "" for nothing. */
export function compareActionWords(
  one: Pick<OperatorView, "code" | "network">,
  compared: OutgoingComparison,
): string {
  const { outgoing } = compared;
  if (outgoing.length === 1)
    return "first compare it with the outgoing transaction below, which may have paid it; then ";
  if (outgoing.length > 1)
    return `first compare it with the ${countOf(outgoing)} below: one of them may have paid it; then `;
  const words = chainComparisonWords(one, compared);
  const isSure = compared.isCompared && familyOf(one.network).slots.isCounted;
  return words === "" ? "" : `${words}; ${isSure ? "" : "then "}`;
}

function countOf(outgoing: readonly OutgoingView[]): string {
  return outgoing.length === 1
    ? "1 outgoing transaction"
    : `${outgoing.length} outgoing transactions`;
}

/**
 * The list under the accounts of a plan: the transactions that both sides forgot, apart from those
 * that only the gateway reported.
 */
export function outgoingTextOfPlan(
  { accounts, outgoing }: RecoveryPlan,
  columns: number | undefined,
): string {
  const firstOf = new Map(accounts.map((one) => [one.network, firstUnknownOf(one)]));
  const isForgotten = ({ network, slot }: OutgoingView): boolean => {
    const first = firstOf.get(network);
    // On a chain without account nonce, no slot shows which side knew the transaction.
    return first === undefined || slot === "" || familyOf(network).slots.compare(slot, first) >= 0;
  };
  const under = (heading: string, some: readonly OutgoingView[]): string =>
    some.length === 0 ? "" : `\n${heading}:\n${outgoingTable(some, columns)}`;
  const forgotten = under("paid on the chain, known to neither side", outgoing.filter(isForgotten));
  const others = outgoing.filter((one) => !isForgotten(one));
  return `${forgotten}${under("paid on the chain, not known to the gateway", others)}`;
}

/**
 * Transactions without an explanation on either side, which may have paid something that both sides
 * forgot. "" for none.
 */
export function describeUnknownTransactions({
  accounts,
  uncounted,
  bothRestored,
  outgoing,
}: RecoveryPlan): string {
  const lines = accounts.map((account) => {
    const { network, chainCount } = account;
    const first = firstUnknownOf(account);
    const { between, compare, say } = familyOf(network).slots;
    // The hot wallet's account stands first; a swept address is counted when its sweep begins.
    if (uncounted.includes(network))
      return accounts.find((one) => one.network === network) === account
        ? uncountedWords(network, say(account.next))
        : "";
    const unknown = chainCount === "" ? 0n : between(first, chainCount);
    if (unknown === 0n) return "";
    const many = unknown === 1n ? "transaction" : "transactions";
    const listed = outgoing.filter(
      (one) => one.network === network && compare(one.slot, first) >= 0,
    ).length;
    const what = bothRestored
      ? comparedWords(BigInt(listed), unknown)
      : "both were rolled back, add --both-restored (docs/recovering.md)";
    return `WARNING: ${unknown} ${many} on ${network}, from ${say(first)} on, known to neither side: ${what}\n`;
  });
  return lines.join("");
}

function uncountedWords(network: string, next: string): string {
  return `WARNING: nobody has counted the transactions on ${network}: payments go on at ${next}. If the chain is further, crypto locks once more when a node answers again (CHAIN_SLOT_FOREIGN), and the next recovery counts\n`;
}

function comparedWords(listed: bigint, unknown: bigint): string {
  if (listed >= unknown) return "listed below; compare each held withdrawal with them";
  return `${listed} listed below, look the others up in a block explorer; compare each held withdrawal with all of them`;
}

/** The first slot that neither ledger nor gateway assigned. */
function firstUnknownOf({ network, ledgerNext, gatewayNext }: RecoveryAccountView): string {
  const { least } = familyOf(network).slots;
  return farthestSlot(network, [ledgerNext || least, gatewayNext || least]);
}

/** The facts for an operator before the hold ends: from then on, policy pays every request. */
export function unmatchedOutgoingWords(
  outgoing: readonly OutgoingView[],
  held: number,
  columns: number | undefined,
): string {
  const count = `outgoing transactions matched to no order: ${outgoing.length}\n`;
  const late =
    held === 0
      ? ""
      : `withdrawals still held: ${held}; after a yes show lists no outgoing transactions beside them any more\n`;
  if (outgoing.length === 0) return `${count}${late}\n`;
  return `${count}${late}${outgoingTable(outgoing, columns)}${unmatchedWarning}\n`;
}

const unmatchedWarning = `WARNING: the chain shows them as paid, and no order that the shop has asked for since was refused or waits for
them. Answer no until it has asked for everything it misses: policy pays what is asked for after a yes.
`;
