/** Hunts mutants of the journal: each is played until a history goes apart. */
import type { JournalMutant } from "./mutants.ts";
import { loadPatched } from "./patched.ts";

/** `seed` of the first history that went apart, and how many it took; null: the mutant is alive. */
export interface HuntedMutant {
  readonly name: string;
  readonly seed: number | null;
  readonly histories: number;
  readonly line: string; // the first figure that differs; "" for one that is alive
}

/** Plays at most `most` histories, from a seed on. */
export async function huntMutant(
  { name, file, find, replace }: JournalMutant,
  { from, most }: { readonly from: number; readonly most: number },
): Promise<HuntedMutant> {
  const run = await loadPatched({ file, find, replace });
  const found = await run.findFailure({ from, most });
  return found === null
    ? { name, seed: null, histories: most, line: "" }
    : {
        ...{ name, seed: found.seed, histories: found.seed - from + 1 },
        line: found.lines[0]?.split("\n", 1)[0] ?? "",
      };
}
