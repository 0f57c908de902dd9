/**
 * Writes a record as a line: numbered, linked to the line before, closed by the record's hash and
 * by the seal's MAC of the hash. Reads such lines strictly. Touches no disk. docs/ledger.md section
 * 2 describes the bytes; fields.ts checks the fields of each kind.
 */
import { createHash } from "node:crypto";
import { AgentError, invariant } from "../../base/fault.ts";
import { type JsonValue, parseJson } from "../../base/json.ts";
import { isHash, isKnownKind, isOrdinal, isTime, listMax, problemOf, textMax } from "./fields.ts";
import type { LedgerRecord, RecordBody } from "./records.ts";
import { type LedgerSeal, recordLocation } from "./seal.ts";

/** The longest line with its newline: room for a RELEASED record with a full list. */
export const lineBytesMax = 524_288;

/** The start of every line, by which a reader looks for lines after a damaged one. */
export const lineStart = Buffer.from('{"seq":');
/** The start of the closing fields, and the end of the bytes that the hash covers. */
export const hashStart = Buffer.from(',"hash":"');
const macStart = Buffer.from('","mac":"');
const hashAt = hashStart.length;
const macAt = hashAt + 64 + macStart.length;
/** `,"hash":"` ‖ 64 digits ‖ `","mac":"` ‖ 64 digits ‖ `"}` */
export const closingBytes = macAt + 64 + 2;

const domain = "autowithdraw/2 ledger\n";
const jsonLimits = { bytesMax: lineBytesMax, stringBytesMax: 3 * textMax, itemsMax: listMax, depthMax: 4 } as const;

/** A record and its line. */
export interface EncodedRecord {
  readonly record: LedgerRecord;
  readonly line: string; // with its newline
  readonly bytes: number; // length of the line as UTF-8
}

/** Numbers, links and closes one record. A body that could not be read back is a bug. */
export function encodeRecord(
  body: RecordBody,
  place: { readonly seq: number; readonly prev: string; readonly at: number },
  seal: LedgerSeal,
): EncodedRecord {
  invariant(isKnownKind(body.kind), "a record has a known kind");
  const problem = problemOf(body as unknown as Readonly<Record<string, JsonValue>>, 0);
  invariant(problem === null, `a ${body.kind} record could not be read back: ${problem}`);
  // The kind comes before its fields, in whatever order the caller wrote them.
  const written = body.kind === "SIGNED" ? { ...body, raw: boxed(body.raw, place.seq, seal) } : body;
  const text = JSON.stringify(written);
  const fields = text.startsWith('{"kind":') ? text : JSON.stringify(kindFirst(written));
  const covered = `{"seq":${place.seq},"prev":"${place.prev}","at":${place.at},${fields.slice(1, -1)}`;
  const hashed = domain + covered;
  const own = createHash("sha256").update(hashed).digest("hex");
  const line = `${covered},"hash":"${own}","mac":"${seal.macOf(own)}"}\n`;
  // Measured on `hashed`, which the hash has already joined into one piece of memory.
  const bytes = Buffer.byteLength(hashed) - domain.length + closingBytes + 1;
  invariant(bytes <= lineBytesMax, "a record fits into one line");
  // Spreading first would cost more than the hash: the engine's fast path is a spread into a
  // literal that already has fields.
  return { record: { seq: place.seq, prev: place.prev, at: place.at, ...body, hash: own }, line, bytes };
}

function kindFirst({ kind, ...fields }: RecordBody): object {
  return { kind, ...fields };
}

/**
 * Puts signed bytes into a box for the file, so that a reader of the ledger cannot send the bytes
 * before their release.
 */
function boxed(raw: string, seq: number, seal: LedgerSeal): string {
  const { prefix, digits } = partsOf(raw);
  return prefix + Buffer.from(seal.box(recordLocation(seq), Buffer.from(digits, "hex"))).toString("hex");
}

function partsOf(raw: string): { readonly prefix: string; readonly digits: string } {
  return raw.startsWith("0x") ? { prefix: "0x", digits: raw.slice(2) } : { prefix: "", digits: raw };
}

/**
 * True if the bytes (without newline) are closed by their own hash. That proves neither their place
 * in the ledger nor their author.
 */
export function closesItself(line: Uint8Array): boolean {
  const end = line.length - closingBytes;
  if (end <= lineStart.length || line.length >= lineBytesMax) return false;
  const closing = Buffer.from(line.buffer, line.byteOffset + end, closingBytes);
  if (!closing.subarray(0, hashAt).equals(hashStart) || !closing.subarray(hashAt + 64, macAt).equals(macStart)) return false;
  if (closing[closingBytes - 2] !== 0x22 || closing[closingBytes - 1] !== 0x7d) return false;
  if (!/^[0-9a-f]{64}$/.test(closing.toString("latin1", macAt, macAt + 64))) return false;
  const own = createHash("sha256").update(domain).update(line.subarray(0, end)).digest("hex");
  return closing.toString("latin1", hashAt, hashAt + 64) === own;
}

/**
 * Returns the hash in a line (without newline) whose closing fields are in their place; checks
 * nothing.
 */
export function hashIn(line: Uint8Array): string {
  return digitsAt(line, hashAt);
}

function isClosedBy(seal: LedgerSeal, line: Uint8Array): boolean {
  return seal.closes(digitsAt(line, hashAt), digitsAt(line, macAt));
}

/** Returns 64 digits of a line's closing fields, or fewer if the line is too short. */
function digitsAt(line: Uint8Array, offset: number): string {
  const at = Math.max(0, line.length - closingBytes + offset);
  return Buffer.from(line.buffer, line.byteOffset, line.length).toString("latin1", at, at + 64);
}

/**
 * Reads a line (without newline) whose hash is right. With a seal, the line's MAC is checked as
 * well and signed bytes are taken out of the box; without a seal they stay boxed.
 * @throws AgentError LEDGER_FORGED for a line that this wallet's signer did not write; LEDGER_NEWER
 * for an unknown kind or shape with a right hash, because a newer program wrote it; LEDGER_DAMAGED
 * for a line of no version.
 */
export function decodeRecord(line: Uint8Array, where: Location, seal: LedgerSeal | null): LedgerRecord {
  if (seal !== null && !isClosedBy(seal, line)) throw forged("this wallet's signer did not write the line", where);
  let value: JsonValue;
  try {
    value = parseJson(line, jsonLimits);
  } catch (cause) {
    throw damaged("a line whose hash is right is not a record", where, cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw damaged("a line is not a record", where);
  const fields = value as Readonly<Record<string, JsonValue>>;
  if (!isOrdinal(fields.seq) || !isHash(fields.prev) || !isTime(fields.at) || !isHash(fields.hash) || !isHash(fields.mac)) {
    throw damaged("a line does not say its place", where);
  }
  if (!isKnownKind(fields.kind)) {
    throw new AgentError("LEDGER_NEWER", "none", "the ledger has a kind of record this version does not know", where);
  }
  const problem = problemOf(fields, chainFields);
  if (problem !== null) {
    const message = `a ${fields.kind} record has a shape this version does not know: ${problem}`;
    throw new AgentError("LEDGER_NEWER", "none", message, where);
  }
  const { mac: _mac, ...record } = fields;
  const read = record as unknown as LedgerRecord;
  return seal === null ? read : unboxed(read, seal, where);
}

/** Returns a record with its signed bytes out of their box. @throws AgentError LEDGER_FORGED */
export function unboxed(record: LedgerRecord, seal: LedgerSeal, where: Location): LedgerRecord {
  if (record.kind !== "SIGNED") return record;
  const { prefix, digits } = partsOf(record.raw);
  const bytes = seal.open(recordLocation(record.seq), Buffer.from(digits, "hex"));
  if (bytes === null) throw forged("the signed bytes do not open", where);
  return { ...record, raw: prefix + Buffer.from(bytes).toString("hex") };
}

/** seq, prev, at, hash, mac */
const chainFields = 5;

/** A line of a file, counted from 1. */
export type Location = { readonly file: string; readonly line: number };

/** Returns the fault for a ledger with content that its own signer did not write. */
export function forged(problem: string, where: { readonly file: string; readonly line?: number }): AgentError {
  return new AgentError("LEDGER_FORGED", "none", `${locationOf(where)}: ${problem}`, { ...where });
}

/** Returns the fault for a ledger that is not as it was written. */
export function damaged(problem: string, where: { readonly file: string; readonly line?: number }, cause?: unknown): AgentError {
  return new AgentError("LEDGER_DAMAGED", "none", `${locationOf(where)}: ${problem}`, { ...where }, { cause });
}

function locationOf({ file, line }: { readonly file: string; readonly line?: number }): string {
  return line === undefined ? file : `${file} line ${line}`;
}
