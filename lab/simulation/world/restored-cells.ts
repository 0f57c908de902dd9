/** The ten cells of the world `both-restored`: families, with and without a recovery. Pure. */
import type { SimulatedFamily } from "./plan.ts";

const families = ["evm", "tron", "bitcoinregtest", "litecoinregtest", "xrp"] as const;

export interface RestoredCell {
  readonly family: SimulatedFamily;
  /** People know that both sides are of before, and carry out a recovery. */
  readonly isRecovered: boolean;
}

/** The cell of a seed by its place in the world, from 1: ten in a row have each of the ten. */
export function restoredCell(place: number): RestoredCell {
  const at = place - 1;
  const family = families[at % families.length] as SimulatedFamily;
  return { family, isRecovered: Math.floor(at / families.length) % 2 === 1 };
}
