/** Checks that the ledger's disk takes writes, which the signer needs. Writes nothing. */
import { statfsSync } from "node:fs";
import { join } from "node:path";
import { type Finding, newFinding } from "../../base/finding.ts";
import type { StateFolder } from "../files/state-folder.ts";
import { isReadOnly } from "../ledger/disk.ts";
import { roomBytesDefault } from "../ledger/options.ts";

/**
 * A finding for a file system that is mounted read-only, or has too little room to begin anything.
 */
export function checkDisk(
  { signer }: StateFolder,
  isClosed: (path: string) => boolean = isReadOnly,
): readonly Finding[] {
  const folder = join(signer, "ledger");
  if (isClosed(folder))
    return [
      newFinding(
        "LEDGER_READ_ONLY",
        "error",
        `the disk of ${folder} is read-only: nothing would be signed`,
      ),
    ];
  const free = freeBytesOf(folder);
  if (free === null || free >= roomBytesDefault) return [];
  const words = `${Math.floor(free / 1024 / 1024)} MiB are free on the disk of ${folder}: nothing new would be begun`;
  return [newFinding("LEDGER_DISK_FULL", "error", words)];
}

/** Null if the system cannot tell, such as for a folder that is not there. */
function freeBytesOf(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
