/**
 * Spells a command of this program as it is typed on this machine: the short command of an
 * installed agent sets AUTOWITHDRAW_STATE.
 */

import { lineOf, type Names, type StateEnd } from "../base/state-end.ts";

/** The line of a state's end, as it is typed on this machine. */
export function typedEnd(end: StateEnd, names: Names = {}): string {
  return typedCommand(lineOf(end, names).replace(/^autowithdraw /, ""));
}

/** `words` are the command with its arguments: `approve ID`. */
export function typedCommand(
  words: string,
  installedState: string | undefined = process.env.AUTOWITHDRAW_STATE,
): string {
  return `${(installedState ?? "") === "" ? "node autowithdraw.js" : "autowithdraw"} ${words}`;
}
