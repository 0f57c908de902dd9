/**
 * Policy's state apart from the judgement: the used parts of limits for an operator, the text of a
 * checkpoint, and the first sums of a recovered ledger. Touches nothing.
 */
import { attemptsMax } from "../../../protocol/payloads.ts";
import type { Policy, PolicySnapshot } from "../policy/policy.ts";
import {
  attemptKey,
  countUnitsAgainstLimit,
  type LimitSums,
  largerOf,
  type SumsEntries,
} from "../policy/sums.ts";
import type { SlidingWindow } from "../policy/window.ts";

/** Used parts of limits, base units; fees in those of the fee coin. */
export interface LimitUse {
  readonly hourUnits: bigint;
  readonly dayUnits: bigint;
  readonly feesUnits: bigint;
}

/** Returns the larger of approved and assigned at `nowMs`, as they count against the limits. */
export function limitUseAt({ sums, rules }: Policy, currency: string, nowMs: number): LimitUse {
  const limits = rules.limits.get(currency);
  const { hour, day, hourAssigned, dayAssigned, fees } = sums.of(currency);
  return {
    hourUnits: largerOf(
      hour.sumAt(nowMs),
      countUnitsAgainstLimit(hourAssigned, limits?.maxPerHourUnits, nowMs),
    ),
    dayUnits: largerOf(
      day.sumAt(nowMs),
      countUnitsAgainstLimit(dayAssigned, limits?.maxPerDayUnits, nowMs),
    ),
    feesUnits: countUnitsAgainstLimit(fees, limits?.maxFeePerDayUnits, nowMs),
  };
}

/** Returns policy's state for a checkpoint, as of ledger time. */
export function policySnapshot(policy: Policy, nowMs: number): PolicySnapshot {
  return {
    approvals: [...policy.approvals()].map(
      ({ transactionId, seq, currency, chain, network, contract, address, tag, amountUnits }) => [
        transactionId,
        seq,
        currency,
        chain,
        network,
        contract,
        address,
        amountUnits.toString(),
        ...(tag === "" ? ([] as const) : ([tag] as const)),
      ],
    ),
    windows: sumsEntries(policy.sums, nowMs),
    paid: policy.paid.entries(),
  };
}

/**
 * Returns the entries that still count at `nowMs`, for a checkpoint; currencies in order of name.
 */
export function sumsEntries(sums: LimitSums, nowMs: number): SumsEntries {
  return [...sums.all()]
    .map(
      ([currency, { hour, day, fees, hourAssigned, dayAssigned }]) =>
        [
          currency,
          hour.entriesAt(nowMs),
          day.entriesAt(nowMs),
          fees.entriesAt(nowMs),
          hourAssigned.entriesAt(nowMs),
          dayAssigned.entriesAt(nowMs),
        ] as const,
    )
    .filter(([, , day, fees]) => day.length + fees.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** An amount that a recovered ledger counts. Base units; fees in those of the fee coin. */
interface Amount {
  readonly id: string; // of a withdrawal, or a name that stands for a forgotten day
  readonly currency: string;
  readonly units: bigint;
  readonly feesUnits: bigint;
}

/**
 * Counts an amount from `atMs` on, without regard to any limit. An amount that counts already stays
 * as it is.
 */
export function countAssigned(
  sums: LimitSums,
  { id, currency, units, feesUnits }: Amount,
  atMs: number,
): void {
  const { hour, day, hourAssigned, dayAssigned, fees } = sums.of(currency);
  for (const window of [hour, day, hourAssigned, dayAssigned])
    countAtLeast(window, id, units, atMs);
  countAtLeast(fees, id, feesUnits, atMs);
}

/**
 * Forgets the key of an amount whose withdrawal is over on both sides: the amount counts on, and
 * nothing changes it any more. A repeat is harmless.
 */
export function settleSums(sums: LimitSums, currency: string, key: string): void {
  for (const window of Object.values(sums.of(currency)) as readonly SlidingWindow[])
    window.settle(key);
}

/** Removes a withdrawal that a recovered ledger leaves out: nothing of it was ever released. */
export function forgetAmounts(sums: LimitSums, id: string, currency: string): void {
  for (const window of Object.values(sums.of(currency)) as readonly SlidingWindow[])
    for (const key of keysOf(id)) window.remove(key);
}

/** Returns the assigned amounts and the fees of the day, without the withdrawals in `open`. */
export function sumAssignedWithout(
  sums: LimitSums,
  currency: string,
  open: Iterable<string>,
  nowMs: number,
): { readonly units: bigint; readonly feesUnits: bigint } {
  const { dayAssigned, fees } = sums.of(currency);
  let units = dayAssigned.sumAt(nowMs);
  let feesUnits = fees.sumAt(nowMs);
  for (const key of [...open].flatMap(keysOf)) {
    units -= dayAssigned.unitsOf(key, nowMs);
    feesUnits -= fees.unitsOf(key, nowMs);
  }
  return { units, feesUnits };
}

/** Returns every key under which a withdrawal may count. */
function keysOf(transactionId: string): readonly string[] {
  return Array.from({ length: attemptsMax }, (_, index) => attemptKey(transactionId, index + 1));
}

/**
 * Makes an id count for at least `units` from `atMs` on; an id that counts for so much already
 * stays as it is.
 */
function countAtLeast(window: SlidingWindow, id: string, units: bigint, atMs: number): void {
  if (window.unitsOf(id, atMs) >= units) return;
  window.replace(id, atMs, units);
}
