/** CPU time as the kernel counts it: every thread, user and system together. */
import { readdirSync, readFileSync } from "node:fs";

/**
 * Microseconds that the process has run so far; 0 for one that is gone. Source: Linux schedstat,
 * first field, nanoseconds.
 */
export function cpuUsOf(pid: number): number {
  let nanoseconds = 0;
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number(
        readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0],
      );
    }
  } catch {
    // A thread, or all of it, ended meanwhile: what it had used is nobody's any more.
  }
  return nanoseconds / 1000;
}

/** Microseconds of this process for one turn of an act, over so many turns. */
export function cpuUsOfEach(times: number, act: () => unknown): number {
  for (let at = 0; at < times; at += 1) act(); // compiled before it counts
  const before = process.cpuUsage();
  for (let at = 0; at < times; at += 1) act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}
