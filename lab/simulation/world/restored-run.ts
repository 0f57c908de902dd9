/** The figures of one run of the world `both-restored`. Pure. */
import { type RestoredCell, restoredCell } from "./restored-cells.ts";
import { isIn, worlds } from "./worlds.ts";

/** A run of the world `both-restored`, as its table has it. */
export interface RestoredRun extends RestoredCell {
  readonly restores: number; // of ledger and database together
  readonly hidden: number; // transactions that no node showed
  readonly waited: number; // orders for which a person had to decide
  readonly left: number; // orders that the run left to one
}

/** Null for a seed of another world. */
export function restoredRunOf(
  seed: number,
  { restores, hidden }: Pick<RestoredRun, "restores" | "hidden">,
  { waited, left }: { readonly waited: ReadonlySet<string>; readonly left: ReadonlySet<string> },
): RestoredRun | null {
  if (!isIn("both-restored", seed)) return null;
  return {
    ...restoredCell(seed - worlds["both-restored"]),
    restores,
    hidden,
    waited: waited.size,
    left: left.size,
  };
}
