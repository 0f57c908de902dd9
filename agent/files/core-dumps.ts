/**
 * Keeps this process's memory out of core dumps. Touches its own entry in /proc. Source: core(5).
 */
import { readFileSync, writeFileSync } from "node:fs";

/**
 * Excludes every memory mapping, which also works if the core pattern is a pipe and ignores the
 * size limit. False if the system does not allow it. May be repeated without harm.
 */
export function emptyCoreDumps(): boolean {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
    return Number.parseInt(readFileSync("/proc/self/coredump_filter", "utf8"), 16) === 0;
  } catch {
    return false;
  }
}
