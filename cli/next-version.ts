/**
 * Where versions end by waiting: whether those of a withdrawal are dead, and whether the courier or
 * a person has the next one made. Touches nothing; the signer judges again by itself.
 */
import type { LedgerLine, SignerStatus, WithdrawalView } from "../agent/socket/verbs.ts";
import { parseAmount } from "../protocol/amount.ts";
import { isInternal } from "../protocol/job-mode.ts";

/** So many the courier may have made (agent/signer/acts/replace.ts). */
const courierVersionsMax = 14;

/**
 * Another version is made by the courier; by a person, since the amount is above resignAbove or
 * many versions are made; by one of both, where nobody has said the limits; by nobody any more.
 */
export type NextMaker = "courier" | "above" | "many" | "unknown" | "nobody";

interface Judged {
  readonly one: WithdrawalView;
  readonly status: Pick<SignerStatus, "limits"> | null;
  readonly nowMs: number; // Unix milliseconds
}

export function nextMakerOf({ one, status, nowMs }: Judged): NextMaker {
  if (nowMs > one.expiresAt) return "nobody";
  if (one.versions.length >= courierVersionsMax) return "many";
  // No sum is a person's where money only moves inside the wallet.
  if (isInternal(one.mode)) return "courier";
  const limit = status?.limits.find(({ currency }) => currency === one.currency);
  if (limit === undefined || one.amountUnits === "") return "unknown";
  if (limit.resignAbove === "") return "courier";
  const most = parseAmount(limit.resignAbove, one.decimal);
  if (!most.ok && most.code !== "AMOUNT_ZERO") return "unknown";
  return BigInt(one.amountUnits) > (most.ok ? most.units : 0n) ? "above" : "courier";
}

/** Something was signed, and gateway and courier have both called all of it dead. */
export function isDead({ versions }: WithdrawalView): boolean {
  return versions.length > 0 && versions.every(({ dead }) => dead === "both");
}

/** Whether a person has ordered the version after the newest one. */
export function isPersonsWordGiven(history: readonly LedgerLine[]): boolean {
  const newest = history.filter(({ kind }) => kind === "UNSTUCK" || kind === "INTENT").at(-1);
  return newest?.kind === "UNSTUCK" && newest.detail.startsWith("replace ");
}
