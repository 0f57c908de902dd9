/**
 * Worlds beside the one that chance draws: in each, one trouble is there in every run and for
 * longer. A world is a range of seeds, so that a seed alone tells a run again. Touches nothing.
 */
import type { Chance } from "../kernel/chance.ts";
import type { DepositOrder, FaultKind, Plan, Rates } from "./plan.ts";

/** The seed before the first of each world. */
export const worlds = { "lying-node": 1_000_000_000, sweeps: 2_000_000_000 } as const;

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

function isIn(world: WorldName, seed: number): boolean {
  const from = worlds[world];
  return seed > from && seed <= from + seedsMax;
}

/** The plan that chance drew, as it is in the world of its seed. */
export function inWorld(plan: Drawn, seed: number, chance: Chance): Drawn {
  if (isIn("sweeps", seed)) return withDeposits(plan, chance);
  if (!isIn("lying-node", seed)) return plan;
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

/**
 * Deposits that are swept, beside a few withdrawals: whoever is paid in pays out of the same
 * account. No price rises above what a sweep may cost, since one that is refused waits for an hour.
 */
function withDeposits(plan: Drawn, chance: Chance): Drawn {
  const { feeSpikes: _dear, ...others } = plan.rates;
  const rates = Object.fromEntries(
    Object.entries(others).map(([kind, rate]) => [kind, passing.has(kind as FaultKind) ? rate : 0]),
  ) as Rates;
  const faultsMs = chance.between("faults last among sweeps", 20, 60) * 500;
  const count = chance.between("deposits", 1, 3);
  const deposits = Array.from({ length: count }, (_, index): DepositOrder => {
    const currency = chance.pick("deposited", ["eth", "usdt", "usdt"] as const);
    const amount = `0.${6 + index}`;
    return {
      ...{ orderId: `deposit-${index + 1}`, currency, amount, units: BigInt(6 + index) * 10n ** (currency === "eth" ? 17n : 5n) },
      atMs: 500 + chance.below("deposit at", Math.floor(faultsMs / 2)),
      // The rest comes while the sweep of the first part is on its way, or after it.
      moreMs: chance.below("more comes", 3) === 0 ? chance.between("more comes after", 10, 60) * 500 : 0,
    };
  });
  return {
    ...plan,
    rates: { ...rates, feeSpikes: 0 },
    ...{ rescue: false, takeover: false, oldBackup: "", rules: "", policy: "wide", refusing: "", helps: 0 },
    ...{ deposits, faultsMs },
  };
}
