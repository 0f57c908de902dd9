/**
 * Facts about a launcher's environment: the owner of its folder, and if the terminal in which it
 * was started still exists.
 */
import { closeSync, constants, openSync, statSync } from "node:fs";

/**
 * A warning for root at a folder of another user, "" if none applies: the owner could not read
 * files that root makes there.
 */
export function foreignFolderWarning(folder: string, userId: number): string {
  if (userId !== 0) return "";
  const owner = statSync(folder, { throwIfNoEntry: false })?.uid ?? 0;
  if (owner === 0) return "";
  return `WARNING: this runs as root, and ${folder} belongs to user ${owner}: what is written there now, that user's service cannot read. hint: stop this, and start it with: systemctl start autowithdraw.target`;
}

/**
 * True if this process has lost its terminal. Then the hangup came because the window was closed,
 * not because an operator wants the configuration read again.
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
