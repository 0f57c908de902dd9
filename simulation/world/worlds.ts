/**
 * Worlds beside the one that chance draws: in each, one trouble is there in every run and for
 * longer. A world is a range of seeds, so that a seed alone tells a run again. Touches nothing.
 */
import type { Chance } from "../kernel/chance.ts";
import type { FaultKind, Plan, Rates } from "./plan.ts";

/** The seed before the first of each world. */
export const worlds = { "lying-node": 1_000_000_000 } as const;

/** @public */
export type WorldName = keyof typeof worlds;

const seedsMax = 100_000_000;
/** Troubles that pass by themselves, and that a person has no part in. */
const passing: ReadonlySet<FaultKind> = new Set([
  ...(["signerDies", "courierDies", "gatewayDies", "lineCut", "lineSlow", "slowDisk"] as const),
  ...(["nodeErrors", "nodeHides", "nodeLags", "nodeSlow", "poolForgets", "reorganisation"] as const),
  ...(["blocksSkip", "feeSpikes", "minerStale"] as const),
]);

type Drawn = Omit<Plan, "isForged">;

/** The plan that chance drew, as it is in the world of its seed. */
export function inWorld(plan: Drawn, seed: number, chance: Chance): Drawn {
  const from = worlds["lying-node"];
  if (seed <= from || seed > from + seedsMax) return plan;
  const rates = Object.fromEntries(
    Object.entries(plan.rates).map(([kind, rate]) => [kind, passing.has(kind as FaultKind) ? rate : 0]),
  ) as Rates;
  return {
    ...plan,
    rates: { ...rates, nodeLies: chance.between("how often the node lies", 2_000, 10_000) },
    ...{ nodes: 2, rescue: false, takeover: false, oldBackup: "" },
    // Long enough for a second and a third version under the lies.
    faultsMs: chance.between("the node lies for", 20, 240) * 500,
  };
}
