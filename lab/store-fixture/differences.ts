/**
 * Answers that this tree gives otherwise than the tree that made the fixture, each on purpose. A
 * row names its questions by their beginning, and says which change did it. The new answers stand
 * in test/store-fixture/answers-since.json, which `answers.js FOLDER FILE` writes.
 */
export interface Difference {
  /** The questions that begin so, as answers.json spells them. */
  readonly questions: string;
  /** The change, and its commit. */
  readonly reason: string;
}

export const differences: readonly Difference[] = [];
