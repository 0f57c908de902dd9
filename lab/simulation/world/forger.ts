/**
 * Somebody who may write the ledger's folder while `crypto` is down, and knows the format but no
 * key: lines with the right numbers, times and hashes, closed in a way that lies open to them. The
 * start must name the last; an operator takes them away again. Lines without any MAC look like a
 * write that a power cut stopped: those must be cut.
 */
import { encodeRecord, formatWrittenLines } from "../../../agent/ledger/codec.ts";
import type { LedgerRecord, RecordBody } from "../../../agent/ledger/records.ts";
import { LedgerSeal } from "../../../agent/ledger/seal.ts";
import { AgentError } from "../../../base/fault.ts";
import { Violation } from "../invariants/violation.ts";
import { bytesOf, type Drive } from "../kernel/drive.ts";
import { kernel, note } from "../kernel/kernel.ts";

/** A key that everybody can make. */
const everybodys = new LedgerSeal(new Uint8Array(32));
const closings = [
  "no MAC",
  "a MAC of zeros",
  "a MAC of another key",
  "the MAC of the line before",
] as const;
const bodies: readonly RecordBody[] = [
  { kind: "PAUSED", paused: true, approver: "eve" },
  { kind: "LOCKED", code: "LEDGER_FORKED", detail: "" },
  { kind: "ALARM", code: "CLOCK_SKEW", detail: "" },
];

/**
 * Opens the ledger with a forged end; `open` is the product's own. Nothing happens if no whole
 * record is there to go on from.
 */
export function meetForgery(drive: Drive, open: () => unknown): void {
  const name =
    [...drive.entries.keys()]
      .filter((each) => each.endsWith(".jsonl"))
      .sort()
      .at(-1) ?? "";
  const file = drive.entries.get(name);
  const genuine = file === undefined ? Buffer.alloc(0) : bytesOf(file.now);
  const forged = forgedAfter(genuine);
  if (file === undefined || forged === null) return;
  const { now } = file;
  file.now = { writes: [Buffer.concat([genuine, forged.bytes])], count: 1 };
  try {
    open();
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "LEDGER_FORGED") throw error;
    file.now = now;
    return;
  }
  const isCut = forged.isUnclosed && bytesOf(file.now).equals(genuine);
  if (!isCut) throw new Violation("nothing is done on what another wrote", `${name} was opened`);
}

function forgedAfter(
  genuine: Buffer,
): { readonly bytes: Buffer; readonly isUnclosed: boolean } | null {
  const text = genuine.toString("utf8");
  const line = text.trimEnd().split("\n").at(-1) ?? "";
  let before: LedgerRecord & { readonly mac?: string };
  try {
    before = JSON.parse(text.endsWith("\n") ? line : "") as typeof before;
  } catch {
    return null; // A torn end: anybody who forges has nothing to go on from.
  }
  if (before.mac === undefined) return null; // The same: the last write has no end.
  const { random } = kernel;
  const closing = random.pick("how it is closed", closings);
  note("somebody writes into the ledger", closing);
  const texts: string[] = [];
  let last: LedgerRecord = before;
  for (let count = 1 + random.below("forged lines", 3); count > 0; count--) {
    const place = { seq: last.seq + 1, prev: last.hash, at: last.at };
    const { record, text } = encodeRecord(random.pick("what is forged", bodies), place, everybodys);
    texts.push(text);
    last = record;
  }
  const lines = formatWrittenLines(texts, last.hash, everybodys);
  const open = lines.slice(0, lines.lastIndexOf('","mac":"'));
  if (closing === "no MAC") return { bytes: Buffer.from(`${open}"}\n`), isUnclosed: true };
  if (closing === "a MAC of another key") return { bytes: Buffer.from(lines), isUnclosed: false };
  const mac = closing === "a MAC of zeros" ? "0".repeat(64) : before.mac;
  return { bytes: Buffer.from(`${open}","mac":"${mac}"}\n`), isUnclosed: false };
}
