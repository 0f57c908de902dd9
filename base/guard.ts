/**
 * Tables of guards: rows in order, of which the first whose condition holds decides. The order is
 * the meaning, and a test reads the rows by their names. Pure.
 */

/** A name that says what is the case, the condition, and the answer that it leads to. */
export type Guard<Case, Answer> = readonly [
  name: string,
  holds: (given: Case) => boolean | undefined,
  answer: (given: Case) => Answer,
];

/** Returns the answer of the first row that holds; null if none does. */
export function answerOfFirstGuard<Case, Answer>(
  guards: readonly Guard<Case, Answer>[],
  given: Case,
): Answer | null {
  const found = guards.find(([, holds]) => holds(given));
  return found === undefined ? null : found[2](given);
}
