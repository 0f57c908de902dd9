/**
 * How grave a problem is, for the tables of problems of agent and gateway
 * (agent/problems/table.ts, gateway/problems/table.ts) and for their alerts. Pure.
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

/** True if `one` is graver than `other`. */
export function isGraver(one: Gravity, other: Gravity): boolean {
  return leastFirst.indexOf(one) > leastFirst.indexOf(other);
}
