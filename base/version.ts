/**
 * The version of this program, as its operators and its peers see it. A test compares it with
 * package.json.
 */

export const version = "0.1.0";

/** The line that `--version` prints in all programs. */
export const programVersion = `autowithdraw ${version}`;
