/**
 * Judges this machine's clock by the chains. A chain whose blocks come at its usual pace has a time
 * of its own; the clock is wrong if all of them say so, each by more than its blocks explain. The
 * time between two looks is taken from a clock that nobody sets, so that a clock which is set wrong
 * is seen at once, and not with the next block. Pure: all times are passed in. Source: the bounds
 * of a block's own time, Bitcoin Core's validation (two hours into the future, the median of eleven
 * blocks into the past).
 */

/** How far a chain's own times may be from the truth, in milliseconds. */
export interface ClockBounds {
  readonly aheadMs: number; // the clock may show so much more than the newest block
  readonly behindMs: number; // and so much less
}

/** The newest block that a chain showed when it last rose at its usual pace. */
export interface ClockSample {
  readonly atMs: number; // its own time, Unix milliseconds
  readonly seenMs: number; // monotonic
}

/** The newest block of a chain, and its sample; null before each. */
export interface ChainClock {
  readonly last: (ClockSample & { readonly number: number }) | null;
  readonly sample: ClockSample | null;
}

export const unseenClock: ChainClock = { last: null, sample: null };

export type ClockState =
  | { readonly kind: "right" }
  | {
      readonly kind: "ahead" | "behind";
      readonly ownMs: number; // the time that the clock shows
      readonly chainMs: number; // the time by the chain that differs least
    };

export const rightClock: ClockState = { kind: "right" };

const secondMs = 1_000;
const hourMs = 3_600 * secondMs;

/**
 * Times of blocks that only have to be about right may be hours away; other chains' are seconds
 * away.
 */
export function boundsOf(blockTimes: "rising" | "about", blockMs: number): ClockBounds {
  if (blockTimes === "about") return { aheadMs: 3 * hourMs, behindMs: 3 * hourMs };
  return { aheadMs: 120 * secondMs + blockMs, behindMs: 60 * secondMs };
}

/** A chain rises as fast as this many times its pace, and a server that catches up rises faster. */
const paceMost = 3;

/**
 * Takes the newest block. `atMs` is its own time, 0 for none; a lower block than the last one, and
 * one without a time, change nothing.
 */
export function noteHead(
  clock: ChainClock,
  head: { readonly number: number; readonly atMs: number },
  blockMs: number,
  seenMs: number,
): ChainClock {
  const { last, sample } = clock;
  if (head.atMs === 0 || (last !== null && head.number <= last.number)) return clock;
  const next = { number: head.number, atMs: head.atMs, seenMs };
  if (last === null) return { last: next, sample };
  const isAtPace = head.atMs - last.atMs <= paceMost * (seenMs - last.seenMs + blockMs);
  return { last: next, sample: isAtPace ? { atMs: head.atMs, seenMs } : null };
}

/**
 * Judges the clock by every chain that has a sample. Without one nothing is known, and the clock
 * counts as right.
 */
export function judgeClock(
  chains: readonly { readonly clock: ChainClock; readonly bounds: ClockBounds }[],
  now: { readonly ownMs: number; readonly monotonicMs: number },
): ClockState {
  const offsets = chains.flatMap(({ clock: { sample }, bounds }) => {
    if (sample === null) return [];
    const chainMs = sample.atMs + (now.monotonicMs - sample.seenMs);
    return [{ chainMs, bounds, offsetMs: now.ownMs - chainMs }];
  });
  if (offsets.length === 0) return rightClock;
  const nearest = offsets.reduce((best, one) =>
    Math.abs(one.offsetMs) < Math.abs(best.offsetMs) ? one : best,
  );
  const wrong = { ownMs: now.ownMs, chainMs: nearest.chainMs };
  if (offsets.every(({ offsetMs, bounds }) => offsetMs > bounds.aheadMs))
    return { kind: "ahead", ...wrong };
  if (offsets.every(({ offsetMs, bounds }) => offsetMs < -bounds.behindMs))
    return { kind: "behind", ...wrong };
  return rightClock;
}

/** A sentence for operators and for the public; "" for a clock that is right. */
export function clockWords(state: ClockState): string {
  if (state.kind === "right") return "";
  const [own, chain] = [state.ownMs, state.chainMs].map((ms) => new Date(ms).toISOString());
  return `this machine's clock shows ${own}, and every chain that is read says ${chain}: nothing ends by time`;
}
