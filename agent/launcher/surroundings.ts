/**
 * What a launcher looks at around itself: whose folder it runs on, and whether the terminal it was
 * started in is still there.
 */
import { closeSync, constants, openSync, statSync } from "node:fs";

/**
 * A warning for root at a folder of somebody else, "" when there is none: what root makes there its
 * owner could not read.
 * @public
 */
export function foreignFolderWarning(folder: string, userId: number): string {
  if (userId !== 0) return "";
  const owner = statSync(folder, { throwIfNoEntry: false })?.uid ?? 0;
  if (owner === 0) return "";
  return `WARNING: this runs as root, and ${folder} belongs to user ${owner}: what is written there now, that user's service cannot read. hint: stop this, and start it with: systemctl start autowithdraw.target`;
}

/**
 * Whether this process has lost the terminal it had: the hangup then came from its window being
 * closed, not from a person who wants the configuration read again.
 * @public
 */
export function terminalIsGone(hadTerminal: boolean): boolean {
  if (!hadTerminal) return false;
  try {
    closeSync(openSync("/dev/tty", constants.O_RDONLY | constants.O_NONBLOCK));
    return false;
  } catch {
    return true;
  }
}
