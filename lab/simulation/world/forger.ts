/**
 * Somebody who may write the ledger's folder while `crypto` is down, and knows the format but no
 * key: a line with the right number, time and hashes, closed in a way that lies open to them. The
 * start must name it; an operator takes it away again.
 */
import { encodeRecord } from "../../../agent/ledger/codec.ts";
import type { LedgerRecord, RecordBody } from "../../../agent/ledger/records.ts";
import { LedgerSeal } from "../../../agent/ledger/seal.ts";
import { AgentError } from "../../../base/fault.ts";
import { Violation } from "../invariants/violation.ts";
import { bytesOf, type Drive } from "../kernel/drive.ts";
import { kernel, note } from "../kernel/kernel.ts";

/** A key that everybody can make. */
const everybodys = new LedgerSeal(new Uint8Array(32));
const closings = ["no MAC", "a MAC of another key", "the MAC of the line before"] as const;
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
  file.now = { writes: [Buffer.concat([genuine, forged])], count: 1 };
  try {
    open();
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "LEDGER_FORGED") throw error;
    file.now = now;
    return;
  }
  throw new Violation("nothing is done on what another wrote", `${name} was opened`);
}

function forgedAfter(genuine: Buffer): Buffer | null {
  const text = genuine.toString("utf8");
  const last = text.trimEnd().split("\n").at(-1) ?? "";
  let before: LedgerRecord & { readonly mac: string };
  try {
    before = JSON.parse(text.endsWith("\n") ? last : "") as typeof before;
  } catch {
    return null; // A torn end: anybody who forges has nothing to go on from.
  }
  const { random } = kernel;
  const place = { seq: before.seq + 1, prev: before.hash, at: before.at };
  const { line } = encodeRecord(random.pick("what is forged", bodies), place, everybodys);
  const closing = random.pick("how it is closed", closings);
  note("somebody writes into the ledger", closing);
  const open = line.slice(0, line.lastIndexOf('"mac":"') + '"mac":"'.length);
  if (closing === "a MAC of another key") return Buffer.from(line);
  return Buffer.from(`${open}${closing === "no MAC" ? "0".repeat(64) : before.mac}"}\n`);
}
