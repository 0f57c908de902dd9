/**
 * The one rule for "paid": pure functions from a final, proven transaction to its effect on a
 * payment. A transaction in the chain cannot fail, and each attempt of a payment spends the anchor,
 * so one final transaction that spends it ends the payment. Source: docs/architecture.md, section 2
 * (truth).
 */
import type { EndingTransaction, Judgement, WantedPayment } from "../nodes.ts";
import { parseAddress } from "./address.ts";
import type { ChainOutput } from "./chain-transaction.ts";
import type { UtxoNetwork } from "./network.ts";

export type PaymentToJudge = Pick<WantedPayment, "destination" | "amountUnits" | "isFeeInside"> & {
  readonly account: string;
};

/**
 * - paid: one output is exactly the payment, perhaps less the fee, all others are change
 * - cancelled: all outputs go back to the account
 * - moved: it pays something to the receiver, and is not the payment
 * - other: it pays only others
 */
export type TransactionEffect = "paid" | "cancelled" | "moved" | "other";

export function transactionEffectOf(
  { account, destination, amountUnits, isFeeInside = false }: PaymentToJudge,
  { outputs, feeUnits }: { readonly outputs: readonly ChainOutput[]; readonly feeUnits: bigint },
  network: UtxoNetwork,
): TransactionEffect {
  const [own, wanted] = [scriptOf(account, network), scriptOf(destination, network)];
  const others = outputs.filter(({ script }) => !isSame(script, own));
  if (others.length === 0) return "cancelled";
  const [first, ...more] = others;
  const units = isFeeInside ? amountUnits - feeUnits : amountUnits;
  if (
    first !== undefined &&
    more.length === 0 &&
    isSame(first.script, wanted) &&
    first.units === units
  )
    return "paid";
  return others.some(({ script }) => isSame(script, wanted)) ? "moved" : "other";
}

/** Judges a withdrawal by the final transaction that is one of its attempts. */
export function judgeByFinalAttempt(
  effect: TransactionEffect,
  isOwn: boolean,
  final: EndingTransaction,
): Judgement {
  if (isOwn && effect === "paid") return { kind: "completed", final };
  if (isOwn && effect === "cancelled") return { kind: "failed", code: "cancelled", final };
  const detail = `${final.txHash} is final and is not exactly the payment that was asked for`;
  return {
    kind: "stuck",
    code: "WATCHER_CONTENT_DIFFERS",
    detail,
    final: isOwn ? final : null,
    isContracts: false,
  };
}

/** Judges a withdrawal by the final transaction that spent the anchor and is no known attempt. */
export function judgeForeignSpender(
  effect: TransactionEffect,
  anchor: string,
  final: EndingTransaction,
): Judgement {
  if (effect === "paid") return { kind: "completed", final };
  if (effect !== "moved") return { kind: "failed", code: "chain_slot_consumed", final };
  const detail = `${final.txHash} spent the coin ${anchor} and may have paid something to the receiver`;
  return { kind: "stuck", code: "WATCHER_SLOT_CONSUMED", detail, by: final };
}

/** Null for a text that is no address of the network. */
function scriptOf(address: string, network: UtxoNetwork): Uint8Array | null {
  const parsed = parseAddress(address, network);
  return parsed.ok ? parsed.script : null;
}

function isSame(a: Uint8Array, b: Uint8Array | null): boolean {
  return b !== null && Buffer.compare(a, b) === 0;
}
