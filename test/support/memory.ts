/**
 * Looks for byte patterns in a running process's writable memory (Linux /proc/PID/mem): stricter
 * than a heap snapshot.
 */
import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** The patterns found, by name. The reader needs the right to trace the process. */
export function findInMemory(pid: number, patterns: Readonly<Record<string, Buffer>>): string[] {
  return Object.keys(countInMemory(pid, patterns));
}

/**
 * How often each pattern is there; those that are not are left out. One across two readings of a
 * region is missed by neither.
 */
export function countInMemory(
  pid: number,
  patterns: Readonly<Record<string, Buffer>>,
): Record<string, number> {
  const found: Record<string, number> = {};
  const file = openSync(`/proc/${pid}/mem`, "r");
  const chunkBytes = 8 * 1024 * 1024;
  const overlapBytes = Math.max(...Object.values(patterns).map((pattern) => pattern.length));
  const chunk = Buffer.alloc(chunkBytes + overlapBytes);
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
      const region = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
      if (region === null) continue;
      const end = BigInt(`0x${region[2]}`);
      for (let at = BigInt(`0x${region[1]}`); at < end; at += BigInt(chunkBytes)) {
        const wanted = Number(end - at > BigInt(chunk.length) ? BigInt(chunk.length) : end - at);
        let got = 0;
        try {
          got = readSync(file, chunk, 0, wanted, at);
        } catch {
          break; // a region that cannot be read, such as one already unmapped
        }
        const view = chunk.subarray(0, got);
        for (const [name, pattern] of Object.entries(patterns)) {
          for (
            let place = view.indexOf(pattern);
            place >= 0 && place < chunkBytes;
            place = view.indexOf(pattern, place + 1)
          ) {
            found[name] = (found[name] ?? 0) + 1;
          }
        }
      }
    }
  } finally {
    closeSync(file);
  }
  return found;
}
