/**
 * One record as one line: numbered, chained and closed by its own hash; and the strict way back. Nothing here touches a disk.
 * The line's bytes are docs/ledger.md section 2; what each kind carries is checked by fields.ts.
 */
import { createHash } from "node:crypto";
import { AgentError, invariant } from "../../protocol/fault.ts";
import { type JsonValue, parseJson } from "../../protocol/json.ts";
import { isHash, isKnownKind, isOrdinal, isTime, listMax, problemOf, textMax } from "./fields.ts";
import type { LedgerRecord, RecordBody } from "./records.ts";

/** Longest line, its newline included: room for a RELEASED record with every place in its list taken. */
export const lineBytesMax = 524_288;

/** Every line begins so; what follows a damaged line is searched for it. */
export const lineStart = Buffer.from('{"seq":');
/** Begins the last field, and ends what the hash covers. */
export const hashStart = Buffer.from(',"hash":"');
/** `,"hash":"` ‖ 64 digits ‖ `"}` */
export const closingBytes = hashStart.length + 64 + 2;

const domain = "autowithdraw/1 ledger\n";
const jsonLimits = { bytesMax: lineBytesMax, stringBytesMax: 3 * textMax, itemsMax: listMax, depthMax: 4 } as const;

/** A record and its line. */
export interface EncodedRecord {
  readonly record: LedgerRecord;
  readonly line: string; // its newline included
  readonly bytes: number; // of the line as UTF-8
}

/** Numbers, chains and closes one record. A body that could not be read back is a bug. */
export function encodeRecord(
  body: RecordBody,
  place: { readonly seq: number; readonly prev: string; readonly at: number },
): EncodedRecord {
  invariant(isKnownKind(body.kind), "a record has a known kind");
  const problem = problemOf(body as unknown as Readonly<Record<string, JsonValue>>, 0);
  invariant(problem === null, `a ${body.kind} record could not be read back: ${problem}`);
  // The kind stands before its fields whatever order the caller wrote them in.
  const text = JSON.stringify(body);
  const fields = text.startsWith('{"kind":') ? text : JSON.stringify(kindFirst(body));
  const covered = `{"seq":${place.seq},"prev":"${place.prev}","at":${place.at},${fields.slice(1, -1)}`;
  const hashed = domain + covered;
  const own = createHash("sha256").update(hashed).digest("hex");
  const line = `${covered},"hash":"${own}"}\n`;
  // Of the text that lies in one piece since it was hashed.
  const bytes = Buffer.byteLength(hashed) - domain.length + closingBytes + 1;
  invariant(bytes <= lineBytesMax, "a record fits into one line");
  // Spreading first would cost more than hashing: the engine's fast path is a spread into a started literal.
  return { record: { seq: place.seq, prev: place.prev, at: place.at, ...body, hash: own }, line, bytes };
}

function kindFirst({ kind, ...fields }: RecordBody): object {
  return { kind, ...fields };
}

/** True when the bytes (without newline) are closed by their own hash. Says nothing about their place in the chain. */
export function closesItself(line: Uint8Array): boolean {
  const end = line.length - closingBytes;
  if (end <= lineStart.length || line.length >= lineBytesMax) return false;
  const closing = Buffer.from(line.buffer, line.byteOffset + end, closingBytes);
  if (!closing.subarray(0, hashStart.length).equals(hashStart)) return false;
  if (closing[closingBytes - 2] !== 0x22 || closing[closingBytes - 1] !== 0x7d) return false;
  const own = createHash("sha256").update(domain).update(line.subarray(0, end)).digest("hex");
  return closing.toString("latin1", hashStart.length, hashStart.length + 64) === own;
}

/**
 * Reads a line (without newline) whose hash was found right.
 * @throws AgentError LEDGER_NEWER for a kind or shape this version does not know (its hash is right, so a program wrote it so);
 * LEDGER_DAMAGED for a line no version writes.
 */
export function decodeRecord(line: Uint8Array, where: { readonly file: string; readonly line: number }): LedgerRecord {
  let value: JsonValue;
  try {
    value = parseJson(line, jsonLimits);
  } catch (cause) {
    throw damaged("a line whose hash is right is not a record", where, cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw damaged("a line is not a record", where);
  const fields = value as Readonly<Record<string, JsonValue>>;
  if (!isOrdinal(fields.seq) || !isHash(fields.prev) || !isTime(fields.at) || !isHash(fields.hash)) {
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
  return fields as unknown as LedgerRecord;
}

/** seq, prev, at, hash */
const chainFields = 4;

/** The fault for a ledger that is not what was written. */
export function damaged(problem: string, where: { readonly file: string; readonly line?: number }, cause?: unknown): AgentError {
  const place = where.line === undefined ? where.file : `${where.file} line ${where.line}`;
  return new AgentError("LEDGER_DAMAGED", "none", `${place}: ${problem}`, { ...where }, { cause });
}
