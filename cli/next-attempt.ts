/**
 * For chains with exclusion by expiry: says if the attempts of a withdrawal are void, and if the
 * courier or an operator starts the next one. Touches nothing; the signer judges again itself.
 */
import type { LedgerLine, OperatorView, SignerStatus } from "../agent/socket/verbs.ts";
import { parseAmount } from "../protocol/amount.ts";
import { isInternal } from "../protocol/job-mode.ts";

/** Most attempts that the courier may start, as in agent/socket/limits.ts. */
const courierAttemptsMax = 14;

/**
 * The party that starts the next attempt. `above` and `many`: an operator, because the amount is
 * above manualReplaceAbove or many attempts exist. `unknown`: the courier or an operator, because
 * the limits are unknown.
 */
export type NextMaker = "courier" | "above" | "many" | "unknown" | "nobody";

interface NextAttemptSource {
  readonly one: OperatorView;
  readonly status: Pick<SignerStatus, "limits"> | null;
  readonly nowMs: number; // Unix milliseconds
}

export function nextMakerOf({ one, status, nowMs }: NextAttemptSource): NextMaker {
  if (nowMs > one.expiresAt) return "nobody";
  if (one.attempts.length >= courierAttemptsMax) return "many";
  // No amount needs an operator if money only moves inside the wallet.
  if (isInternal(one.mode)) return "courier";
  const limit = status?.limits.find(({ currency }) => currency === one.currency);
  if (limit === undefined || one.amountUnits === "") return "unknown";
  if (limit.manualReplaceAbove === "") return "courier";
  const most = parseAmount(limit.manualReplaceAbove, one.decimal);
  if (!most.ok && most.code !== "AMOUNT_ZERO") return "unknown";
  return BigInt(one.amountUnits) > (most.ok ? most.units : 0n) ? "above" : "courier";
}

/** True if something was signed, and both gateway and courier have called all of it void. */
export function isVoid({ attempts }: OperatorView): boolean {
  return attempts.length > 0 && attempts.every(({ voidBy }) => voidBy === "both");
}

/** True if an operator has ordered the attempt after the newest one. */
export function isOperatorsWordGiven(history: readonly LedgerLine[]): boolean {
  const newest = history
    .filter(({ kind }) => kind === "MANUAL_REPLACEMENT" || kind === "INTENT")
    .at(-1);
  return newest?.kind === "MANUAL_REPLACEMENT" && newest.detail.startsWith("replace ");
}
