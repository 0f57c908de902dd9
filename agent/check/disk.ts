/** Checks that the ledger's disk takes writes, which the signer needs. Writes nothing. */
import { join } from "node:path";
import { type Finding, finding } from "../../base/finding.ts";
import type { StateFolder } from "../files/state-folder.ts";
import { isReadOnly } from "../ledger/disk.ts";

/** A finding for a file system that is mounted read-only. */
export function checkDisk({ signer }: StateFolder, isClosed: (path: string) => boolean = isReadOnly): readonly Finding[] {
  const folder = join(signer, "ledger");
  return isClosed(folder)
    ? [finding("LEDGER_READ_ONLY", "error", `the disk of ${folder} is read-only: nothing would be signed`)]
    : [];
}
