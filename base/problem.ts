/**
 * The part that the tables of problems of agent and gateway share (agent/problems/table.ts,
 * gateway/problems/table.ts): how grave a problem is, the words of a row, and the room on a disk.
 * Pure.
 */
import { dangerOf } from "./causes.ts";

/**
 * warning: all works, and an operator looks when there is time. broken: something does not work,
 * and no money is in danger. wake: money may leave wrongly, so somebody is woken.
 */
export type Gravity = "warning" | "broken" | "wake";

const leastFirst: readonly Gravity[] = ["warning", "broken", "wake"];

/** The gravity in words, as an alert's message begins with it. */
export const gravityWords: Readonly<Record<Gravity, string>> = {
  warning: "warning",
  broken: "does not work",
  wake: "wake somebody",
};

/** The gravity of a lock or an alarm, by the danger of its code and cause (causes.ts). */
export function gravityOfCode(code: string, cause = ""): Gravity {
  return dangerOf(code, cause) === "work" ? "broken" : "wake";
}

/** The gravity of a problem as `status` shows it. */
export interface ShownGravity {
  readonly gravity: Gravity;
  readonly isWarning: boolean; // the exit code of `status` stays as it is
}

export const showGravity = (gravity: Gravity): ShownGravity => ({
  gravity,
  isWarning: gravity === "warning",
});

/** True if `one` is graver than `other`. */
export function isGraver(one: Gravity, other: Gravity): boolean {
  return leastFirst.indexOf(one) > leastFirst.indexOf(other);
}

/**
 * A value of a row, or its maker from the thing that has the problem and from all that is judged.
 */
export type Wording<T, Judged, V> = V | ((one: T, judged: Judged) => V);

/** The value of a row for one thing. */
export function readWording<T, Judged, V extends string | object>(
  value: Wording<T, Judged, V>,
  one: T,
  judged: Judged,
): V {
  return typeof value === "function" ? value(one, judged) : value;
}

/** Operators are warned below this multiple of the least room, while there is time to make room. */
export const roomWarningFactor = 4;

/**
 * The room on a disk, in bytes, beside the least that the program needs; "enough" also while it is
 * unknown (null).
 */
export function roomLeft(
  freeBytes: number | null,
  leastBytes: number,
): "enough" | "little" | "none" {
  if (freeBytes === null || freeBytes >= leastBytes * roomWarningFactor) return "enough";
  return freeBytes < leastBytes ? "none" : "little";
}
