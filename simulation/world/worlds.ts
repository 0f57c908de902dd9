/**
 * Worlds beside the one that chance draws: in each, one trouble is there in every run and for
 * longer. A world is a range of seeds, so that a seed alone tells a run again. Touches nothing.
 */
import type { Chance } from "../kernel/chance.ts";
import type { DepositOrder, FaultKind, Plan, Rates } from "./plan.ts";

/** The seed before the first of each world. */
export const worlds = { "lying-node": 1_000_000_000, sweeps: 2_000_000_000, "same-epoch": 3_000_000_000 } as const;

/** @public */
export type WorldName = keyof typeof worlds;

const seedsMax = 100_000_000;
/** Troubles that pass by themselves without a person, and hide nothing for long. */
const brief: readonly FaultKind[] = [
  ...(["signerDies", "courierDies", "gatewayDies", "lineCut", "lineSlow", "slowDisk"] as const),
  ...(["nodeErrors", "nodeSlow", "reorganisation", "feeSpikes", "minerStale"] as const),
];
const passing: readonly FaultKind[] = [...brief, "nodeHides", "nodeLags", "poolForgets", "blocksSkip"];

type Drawn = Omit<Plan, "isForged" | "isPutBackAgain">;

function isIn(world: WorldName, seed: number): boolean {
  const from = worlds[world];
  return seed > from && seed <= from + seedsMax;
}

/** The plan that chance drew, as it is in the world of its seed. */
export function inWorld(drawn: Drawn, seed: number, chance: Chance): Omit<Plan, "isForged"> {
  const plan = { ...drawn, isPutBackAgain: false };
  if (isIn("lying-node", seed)) return lyingNode(plan, chance);
  if (isIn("sweeps", seed)) return withDeposits(plan, chance);
  return isIn("same-epoch", seed) ? sameEpoch(plan, chance) : plan;
}

function lyingNode<P extends Drawn>(plan: P, chance: Chance): P {
  return {
    ...plan,
    rates: { ...limitedTo(plan.rates, passing), nodeLies: chance.between("how often the node lies", 2_000, 10_000) },
    ...{ nodes: 2, rescue: false, takeover: false, oldBackup: "" },
    // Long enough for a second and a third version under the lies.
    faultsMs: chance.between("the node lies for", 20, 240) * 500,
  };
}

/**
 * Ledger and database are put back together, and the database alone once more when that was
 * recovered: it counts to the epoch of that recovery a second time.
 */
function sameEpoch<P extends Drawn>(plan: P, chance: Chance): P & { readonly isPutBackAgain: true } {
  return {
    ...plan,
    rates: { ...limitedTo(plan.rates, brief), bothRestored: chance.between("how soon both are put back", 800, 3_000) },
    ...{ rescue: true, takeover: false, oldBackup: "", rules: "", isPutBackAgain: true },
    faultsMs: chance.between("long enough for two recoveries", 120, 240) * 500,
  };
}

function limitedTo(rates: Rates, kinds: readonly FaultKind[]): Rates {
  return Object.fromEntries(
    Object.entries(rates).map(([kind, rate]) => [kind, kinds.includes(kind as FaultKind) ? rate : 0]),
  ) as Rates;
}

/**
 * Deposits that are swept, beside a few withdrawals: whoever is paid in pays out of the same
 * account. No price rises above what a sweep may cost, since one that is refused waits for an hour.
 */
function withDeposits<P extends Drawn>(plan: P, chance: Chance): P {
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
    rates: { ...limitedTo(plan.rates, passing), feeSpikes: 0 },
    ...{ rescue: false, takeover: false, oldBackup: "", rules: "", policy: "wide", refusing: "", helps: 0 },
    ...{ deposits, faultsMs },
  };
}
