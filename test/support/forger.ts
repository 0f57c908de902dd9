/**
 * An attacker who may write the ledger's folder while crypto is down, and knows the format: lines
 * with right numbers, times and hashes, closed in one of the ways that need no encKey, or, as a
 * twin, by the wallet's own key.
 */
import { encodeRecord, formatWrittenLines } from "../../agent/ledger/codec.ts";
import type { LedgerRecord, RecordBody } from "../../agent/ledger/records.ts";
import type { LedgerSeal } from "../../agent/ledger/seal.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { outsidersSeal, testSeal } from "../../lab/kit/ledger-seal.ts";

/** How a forged line is closed. */
export const closings = [
  "a MAC of zeros",
  "a MAC of another key",
  "the wallet's own MAC of another line",
] as const;
type Closing = (typeof closings)[number] | "the wallet's own key";

export const firstSegment = "00000001.jsonl";

export function linesIn(disk: MemoryDisk, file = firstSegment): string[] {
  return Buffer.from(disk.files.get(file) ?? [])
    .toString()
    .trimEnd()
    .split("\n");
}

export function withLines(
  disk: MemoryDisk,
  lines: readonly string[],
  file = firstSegment,
): MemoryDisk {
  return MemoryDisk.of([...disk.files, [file, Buffer.from(`${lines.join("\n")}\n`)] as const]);
}

/**
 * The same folder with these records after the lines that are kept, each as a write of its own or
 * all as one.
 */
export function forge(
  disk: MemoryDisk,
  bodies: readonly RecordBody[],
  closing: Closing,
  { file = firstSegment, kept = linesIn(disk, file).length, isOne = false } = {},
): MemoryDisk {
  const lines = linesIn(disk, file).slice(0, kept);
  const before = JSON.parse(lines.at(-1) ?? "") as LedgerRecord;
  const genuine =
    lines
      .map(macIn)
      .filter((mac) => mac !== "")
      .at(-1) ?? "";
  let place = { seq: before.seq + 1, prev: before.hash, at: before.at };
  const seal = sealOf(closing);
  const texts: string[] = [];
  for (const [index, body] of bodies.entries()) {
    const { record, text } = encodeRecord(body, place, seal);
    texts.push(text);
    place = { seq: record.seq + 1, prev: record.hash, at: record.at };
    if (isOne && index < bodies.length - 1) continue;
    const write = formatWrittenLines(texts.splice(0), record.hash, seal).trimEnd().split("\n");
    lines.push(...write.slice(0, -1), closed(write.at(-1) ?? "", genuine, closing));
  }
  return withLines(disk, lines, file);
}

function sealOf(closing: Closing): LedgerSeal {
  return closing === "a MAC of another key" ? outsidersSeal : testSeal;
}

function closed(line: string, genuine: string, closing: Closing): string {
  const open = line.slice(0, line.lastIndexOf('"mac":"') + '"mac":"'.length);
  if (closing === "a MAC of zeros") return `${open}${"0".repeat(64)}"}`;
  return closing === "the wallet's own MAC of another line" ? `${open}${genuine}"}` : line;
}

function macIn(line: string): string {
  return (JSON.parse(line) as { readonly mac?: string }).mac ?? "";
}
