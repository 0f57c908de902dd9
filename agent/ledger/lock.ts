/**
 * The signer's own look at the state folder's lock, which its launcher took and handed down as an
 * open descriptor: the kernel drops it when the last holder dies, so there is no stale lock.
 * Sources: flock(2), proc_pid_fdinfo(5).
 */
import { fstatSync, readFileSync, statSync } from "node:fs";
import { AgentError } from "../../protocol/fault.ts";

/**
 * Checks that descriptor `fd` is the file at `path` and that an exclusive lock is held on it. Where
 * the kernel does not show locks, being the same file must do.
 * @throws AgentError LEDGER_UNLOCKED
 * @public
 */
export function assertStateLocked(fd: number, path: string): void {
  try {
    const held = fstatSync(fd);
    const named = statSync(path);
    if (held.dev !== named.dev || held.ino !== named.ino) throw unlocked(path, "another file was handed down");
  } catch (cause) {
    throw cause instanceof AgentError ? cause : unlocked(path, "no lock was handed down", cause);
  }
  const info = fdInfo(fd);
  if (info !== null && !/^lock:\s.*FLOCK\s+ADVISORY\s+WRITE/m.test(info))
    throw unlocked(path, "the file handed down is not locked");
}

function fdInfo(fd: number): string | null {
  try {
    return readFileSync(`/proc/self/fdinfo/${fd}`, "utf8");
  } catch {
    return null;
  }
}

function unlocked(path: string, reason: string, cause?: unknown): AgentError {
  return new AgentError(
    "LEDGER_UNLOCKED",
    "none",
    `the state folder's lock ${path} is not held: ${reason}`,
    { reason },
    { cause },
  );
}
