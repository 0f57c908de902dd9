/** One repair, and the test that misses it. Only types. */

export interface Repair {
  /** Lower-case words with hyphens, unique. */
  readonly name: string;
  /** The fault that stood here, in one sentence. */
  readonly fault: string;
  /** File of the product, from the project's root, in which `find` stands exactly once. */
  readonly file: string;
  readonly find: string;
  /** The text that takes the mend out: the file still compiles. */
  readonly replace: string;
  /** Test file, from the project's root. */
  readonly test: string;
  /** Whole or partial title of a test of that file that fails without the mend. */
  readonly title: string;
}
