/**
 * A mutant is one mistake that somebody could make in the protocol's code, as a patch of behaviour.
 * The simulator runs a tree with the patch and must find an invariant that no longer holds. Touches
 * nothing.
 */

import type { Plan } from "../world/plan.ts";
import type { WorldName } from "../world/worlds.ts";

/** `find` stands exactly once in `file` (from the project's root) and is replaced by `replace`. */
export interface Mutant {
  readonly name: string; // words with hyphens, once in all chapters
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly invariant: string; // its effect, and the promise that it breaks
  /**
   * The plans on which it can show; all unless told. Seeds with another plan are passed over and
   * not counted.
   */
  readonly when?: (plan: Plan) => boolean;
  /** The world in which it is looked for; the one that chance draws unless told. */
  readonly world?: WorldName;
}
