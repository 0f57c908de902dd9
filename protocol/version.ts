/**
 * The version of this program, as its people and its peers are told it. A test holds it to
 * package.json.
 */

/** @public */
export const version = "0.1.0";

/**
 * What `--version` prints, in all programs.
 * @public
 */
export const programVersion = `autowithdraw ${version}`;
