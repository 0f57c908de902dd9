/** A gateway that says of coins and first slots what it likes, while it lies. */
import type { AnswerSightingsQuestion } from "../../../gateway/sightings/sightings.ts";
import { type SightedCoin, sightedPerQuestionMax } from "../../../protocol/sightings.ts";
import { kernel } from "../kernel/kernel.ts";
import type { Plan } from "./plan.ts";

/** The slot that both liars state, so far below the account's first. */
export const statedBelow = 3;

/** What the gateway says of coins and first slots, and when. */
export interface Lies {
  readonly isTime: () => boolean; // for faults
  readonly plan: Pick<Plan, "unnamed" | "firstNonce">;
  /** The coins that the courier was told to name. */
  readonly madeUp: () => readonly SightedCoin[];
}

/** Silence, a yes to whatever is asked, or the truth. */
export function perhapsFalse(
  honest: AnswerSightingsQuestion,
  { isTime, plan, madeUp }: Lies,
): AnswerSightingsQuestion {
  const isLiar = plan.unnamed === "gateway" || plan.unnamed === "both";
  return async (agent, asked) => {
    const lie = isLiar && isTime() ? kernel.random.below("the gateway's word", 3) : 2;
    if (lie === 2) return honest(agent, asked);
    const isAgreed = plan.unnamed === "both";
    const slot = `${isAgreed ? plan.firstNonce - statedBelow : kernel.random.below("the gateway's slot", 12)}`;
    const isUnused = isAgreed || kernel.random.below("it calls it unused", 2) === 0;
    const next = asked.accounts.map((account) => ({ ...account, slot, isUnused }));
    return lie === 0
      ? null
      : {
          coins: [...asked.coins, ...(isAgreed ? madeUp() : [])].slice(0, sightedPerQuestionMax),
          next,
        };
  };
}
