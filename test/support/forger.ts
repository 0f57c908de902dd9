/**
 * An attacker who may write the ledger's folder while crypto is down, and knows the format: lines
 * with right numbers, times and hashes, closed in one of the ways that need no encKey, or, as a
 * twin, by the wallet's own key.
 */
import { encodeRecord } from "../../agent/ledger/codec.ts";
import type { LedgerRecord, RecordBody } from "../../agent/ledger/records.ts";
import type { LedgerSeal } from "../../agent/ledger/seal.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { outsidersSeal, testSeal } from "../../lab/kit/ledger-seal.ts";

/** How a forged line is closed. */
export const closings = ["no MAC", "a MAC of another key", "the wallet's own MAC of another line"] as const;
type Closing = (typeof closings)[number] | "the wallet's own key";

export const firstSegment = "00000001.jsonl";

export function linesIn(disk: MemoryDisk, file = firstSegment): string[] {
  return Buffer.from(disk.files.get(file) ?? [])
    .toString()
    .trimEnd()
    .split("\n");
}

export function withLines(disk: MemoryDisk, lines: readonly string[], file = firstSegment): MemoryDisk {
  return MemoryDisk.of([...disk.files, [file, Buffer.from(`${lines.join("\n")}\n`)] as const]);
}

/** The same folder with these records after the lines that are kept. */
export function forge(
  disk: MemoryDisk,
  bodies: readonly RecordBody[],
  closing: Closing,
  { file = firstSegment, kept = linesIn(disk, file).length } = {},
): MemoryDisk {
  const lines = linesIn(disk, file).slice(0, kept);
  const last = lines.at(-1) ?? "";
  const before = JSON.parse(last) as LedgerRecord;
  let place = { seq: before.seq + 1, prev: before.hash, at: before.at };
  for (const body of bodies) {
    const { record, line } = encodeRecord(body, place, sealOf(closing));
    lines.push(closed(line.trimEnd(), macIn(last), closing));
    place = { seq: record.seq + 1, prev: record.hash, at: record.at };
  }
  return withLines(disk, lines, file);
}

function sealOf(closing: Closing): LedgerSeal {
  return closing === "a MAC of another key" ? outsidersSeal : testSeal;
}

function closed(line: string, genuine: string, closing: Closing): string {
  const open = line.slice(0, line.lastIndexOf('"mac":"') + '"mac":"'.length);
  if (closing === "no MAC") return `${open}${"0".repeat(64)}"}`;
  return closing === "the wallet's own MAC of another line" ? `${open}${genuine}"}` : line;
}

function macIn(line: string): string {
  return (JSON.parse(line) as { readonly mac: string }).mac;
}
