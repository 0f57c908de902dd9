/**
 * The limits held against signed bytes, and against nobody's record of them: at every moment the
 * sum of what a block can still take is within the limit of each window. The caller reads the
 * bytes with code that is not ours.
 */

/** One signed transaction. Times are milliseconds since 1970. */
export interface SignedBytes {
  readonly units: bigint;
  readonly signedAt: number;
  /** No block takes it after this; null where a slot excludes, and any block may. */
  readonly validUntilMs: number | null;
  /** A block takes one of all transactions of a slot; "" where no slot excludes. */
  readonly slot: string;
}

/** Base units; null where there is no limit. */
export interface ByteLimits {
  readonly perHour: bigint | null;
  readonly perDay: bigint;
}

const hourMs = 3_600_000;
const dayMs = 86_400_000;

/**
 * The largest sum of bytes that can be paid at one moment, and of all that were signed within one
 * window. Base units.
 */
interface MostPayable {
  readonly atOnce: bigint;
  readonly inHour: bigint;
  readonly inDay: bigint;
}

/** The sums are largest at the moment of a signature, so only those moments are looked at. */
export function mostPayable(signed: readonly SignedBytes[]): MostPayable {
  const most = { atOnce: 0n, inHour: 0n, inDay: 0n };
  const begun = new Map<string, number>();
  for (const { slot, signedAt } of signed)
    begun.set(slot, Math.min(begun.get(slot) ?? signedAt, signedAt));
  // A signer that was away may sign bytes after their own end: these never lift a later window.
  const countedFrom = ({ slot, signedAt, validUntilMs }: SignedBytes): number =>
    slot === "" ? Math.min(signedAt, validUntilMs ?? signedAt) : (begun.get(slot) ?? signedAt);
  for (const nowMs of new Set(signed.map(({ signedAt }) => signedAt))) {
    const before = signed.filter((one) => one.signedAt <= nowMs);
    const within = (spanMs: number): readonly SignedBytes[] =>
      before.filter((one) => countedFrom(one) > nowMs - spanMs);
    const ending = before.filter(
      ({ validUntilMs }) => validUntilMs !== null && validUntilMs >= nowMs,
    );
    most.atOnce = larger(most.atOnce, sumOf(ending));
    most.inHour = larger(most.inHour, sumOf(within(hourMs)));
    most.inDay = larger(most.inDay, sumOf(within(dayMs)));
  }
  return most;
}

/**
 * Throws where bytes that can be paid at one moment are above a limit. On a chain whose slots
 * exclude, the dearest bytes of a slot count from its first signature for the length of the window.
 * On a chain whose attempts end by expiry, gateway and courier together can give a limit back once
 * within a window.
 */
export function payableWithin(
  signed: readonly SignedBytes[],
  { perHour, perDay }: ByteLimits,
): void {
  const must = (condition: boolean, invariant: string): void => {
    if (!condition) throw new Error(invariant);
  };
  const most = mostPayable(signed);
  const times = signed.some(({ validUntilMs }) => validUntilMs !== null) ? 2n : 1n;
  must(
    most.atOnce <= perDay && (perHour === null || most.atOnce <= perHour),
    "the sum that can be paid at once is within each limit",
  );
  must(
    perHour === null || most.inHour <= times * perHour,
    "the sum signed in an hour is within its limit",
  );
  must(most.inDay <= times * perDay, "the sum signed in a day is within its limit");
}

/** The dearest attempt of a slot counts. */
function sumOf(signed: readonly SignedBytes[]): bigint {
  const bySlot = new Map<string, bigint>();
  let sum = 0n;
  for (const { slot, units } of signed) {
    if (slot === "") sum += units;
    else bySlot.set(slot, larger(bySlot.get(slot) ?? 0n, units));
  }
  for (const units of bySlot.values()) sum += units;
  return sum;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
