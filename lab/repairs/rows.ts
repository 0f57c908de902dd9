/**
 * Each repair with the test that holds it and the patch that takes it out again. A repair whose
 * test stays green without it is no repair that anybody would miss.
 */

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

export const repairs: readonly Repair[] = [
  {
    name: "output-without-a-reader",
    fault: "A line of the log or of a command, written after its reader had gone, ended the process.",
    file: "base/unread-output.ts",
    find: 'if (error.code !== "EPIPE") throw error;',
    replace: 'if (error.code !== "") throw error;',
    test: "test/cli/terminal.test.ts",
    title: "output that no reader is left for is dropped",
  },
];
