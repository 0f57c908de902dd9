/**
 * The signer's own check of the state folder's lock, which its launcher took and passed on as an
 * open descriptor. The kernel drops the lock when the last holder dies, so no lock is stale.
 * Sources: flock(2), proc_pid_fdinfo(5).
 */
import { fstatSync, readFileSync, statSync } from "node:fs";
import { AgentError } from "../../base/fault.ts";

/**
 * Checks that descriptor `fd` is the file at `path` and has an exclusive lock. If the kernel does
 * not show locks, the same file is enough.
 * @throws AgentError LEDGER_UNLOCKED
 */
export function assertStateLocked(fd: number, path: string): void {
  try {
    const held = fstatSync(fd);
    const named = statSync(path);
    if (held.dev !== named.dev || held.ino !== named.ino)
      throw unlocked(path, "another file was handed down");
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
