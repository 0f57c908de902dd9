/**
 * Spells a command of this program as it is typed on this machine: the short command of an
 * installed agent sets AUTOWITHDRAW_STATE.
 */

import { commandOfEnd, type PlaceholderValues, type StateEnd } from "../base/state-end.ts";

/** The line of a state's end, as it is typed on this machine. */
export function commandOfStateEnd(end: StateEnd, names: PlaceholderValues = {}): string {
  return typedCommand(commandOfEnd(end, names).replace(/^autowithdraw /, ""));
}

/** `words` are the command with its arguments: `approve ID`. */
export function typedCommand(
  words: string,
  installedState: string | undefined = process.env.AUTOWITHDRAW_STATE,
): string {
  return `${(installedState ?? "") === "" ? "node autowithdraw.js" : "autowithdraw"} ${words}`;
}
