/** Courier and gateway that lie with one mind about coins and first slots. Touches nothing. */
import { Random } from "../kernel/random.ts";
import type { Plan } from "./plan.ts";

/** In one run of so many they do, by a chance of its own. */
const bothLieOf = 3;
const bothLieFrom = 78_000_000_000;

export function bothLie<P extends Pick<Plan, "rates" | "rules" | "unnamed">>(
  plan: P,
  seed: number,
): P {
  const random = new Random(seed + bothLieFrom);
  if (random.below("both lie", bothLieOf) > 0) return plan;
  const hostileCourier = random.between("the courier lies how often", 2_000, 8_000);
  return { ...plan, unnamed: "both", rules: "", rates: { ...plan.rates, hostileCourier } };
}

/**
 * A coin is looked for while each hour passes at a leap: the time between two looks counts up to an
 * hour, on both sides. First come the hours in which a payment may be on its way.
 */
export const almostHourMs = 59 * 60_000;
export const watchedMs = 16_000;
export const hoursMax = 36;
