/**
 * One record as one line: numbered, chained and closed by its own hash; and the strict way back. Nothing here touches a disk.
 * The line's bytes are docs/ledger.md section 2; what each kind carries is records.ts.
 */
import { createHash } from "node:crypto";
import { AgentError, invariant } from "../../../protocol/fault.ts";
import { type JsonValue, parseJson } from "../../../protocol/json.ts";
import { hex, integer, list, object, oneOf, type Reader, string } from "../../../protocol/shape.ts";
import type { LedgerRecord, RecordBody, RecordKind } from "./records.ts";

/** Longest line, its newline included: room for a RELEASED record with every place in its list taken. */
export const lineBytesMax = 524_288;

/** Every line begins so; what follows a damaged line is searched for it. */
export const lineStart = Buffer.from('{"seq":');
/** Begins the last field, and ends what the hash covers. */
export const hashStart = Buffer.from(',"hash":"');
/** `,"hash":"` ‖ 64 digits ‖ `"}` */
export const closingBytes = hashStart.length + 64 + 2;

const domain = "autowithdraw/1 ledger\n";
/** Longest text of one field, in UTF-16 units; a job comes in a frame of 64 KiB with its quotes escaped. */
const textMax = 32_768;
const jsonLimits = { bytesMax: lineBytesMax, stringBytesMax: 3 * textMax, itemsMax: 4096, depthMax: 4 } as const;

const id = hex(16);
const hash = hex(32);
const count = integer();
const ordinal = integer({ min: 1 });
const visible = string({ min: 1, max: 128, pattern: /^[\x21-\x7e]+$/ });
const optionalVisible = string({ max: 128, pattern: /^[\x21-\x7e]*$/ });
const code = string({ max: 64, pattern: /^[A-Z0-9_]*$/ });
const decimal = string({ min: 1, max: 78, pattern: /^(?:0|[1-9][0-9]*)$/ });
const payload = string({ min: 2, max: textMax, pattern: /^(?:0x)?(?:[0-9a-f]{2})+$/ });
const txHash = string({ max: 130, pattern: /^[0-9A-Za-z]*$/ });
const detail = string({ max: 4096 });
const stage = oneOf("broadcast", "included", "final");
const outcome = oneOf("", "paid", "reverted", "lost");
const head = object({ seq: count, hash });
const kindOf = <const K extends RecordKind>(kind: K): Reader<K> => oneOf(kind) as Reader<K>;

/** What each kind must carry, no more and no less. Used when writing as well: what cannot be read back is never written. */
const readers: { readonly [K in RecordKind]: Reader<Extract<RecordBody, { kind: K }>> } = {
  PAIRED: object({
    kind: kindOf("PAIRED"),
    agent: hex(8),
    merchant: visible,
    wallet: id,
    epoch: ordinal,
    gatewayKey: hash,
  }),
  ADOPTED: object({ kind: kindOf("ADOPTED"), network: visible, account: visible, nonce: decimal }),
  REQUESTED: object({
    kind: kindOf("REQUESTED"),
    transactionId: id,
    sequence: ordinal,
    jobHash: hash,
    job: string({ min: 2, max: textMax }),
  }),
  REPEATED: object({ kind: kindOf("REPEATED"), transactionId: id, sequence: ordinal, jobHash: hash, code }),
  APPROVED: object({
    kind: kindOf("APPROVED"),
    transactionId: id,
    by: oneOf("policy", "operator"),
    chain: visible,
    network: visible,
    contract: optionalVisible,
    address: visible,
    amountUnits: decimal,
  }),
  HELD: object({ kind: kindOf("HELD"), transactionId: id, code }),
  REFUSED: object({ kind: kindOf("REFUSED"), transactionId: id, by: oneOf("policy", "operator", "courier"), code }),
  EXPIRED: object({ kind: kindOf("EXPIRED"), transactionId: id }),
  INTENT: object({
    kind: kindOf("INTENT"),
    transactionId: id,
    version: ordinal,
    network: visible,
    account: visible,
    nonce: decimal,
    contract: optionalVisible,
    address: visible,
    amountUnits: decimal,
    gasLimit: decimal,
    maxFeePerGas: decimal,
    maxPriorityFeePerGas: decimal,
    digest: hash,
    unsigned: payload,
  }),
  SIGNED: object({ kind: kindOf("SIGNED"), transactionId: id, version: ordinal, digest: hash, txHash, raw: payload }),
  RELEASED: object({
    kind: kindOf("RELEASED"),
    acked: head,
    released: list(object({ transactionId: id, version: ordinal }), jsonLimits.itemsMax),
  }),
  OBSERVED: object({ kind: kindOf("OBSERVED"), transactionId: id, stage, outcome, txHash, block: count }),
  REPORTED: object({ kind: kindOf("REPORTED"), acked: head }),
  ALARM: object({ kind: kindOf("ALARM"), code, detail }),
  LOCKED: object({ kind: kindOf("LOCKED"), code, detail }),
  CHECKPOINT: object({ kind: kindOf("CHECKPOINT"), file: visible, sha256: hash }),
};

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
  assertBody(body);
  // The kind stands before its fields whatever order the caller wrote them in.
  const text = JSON.stringify(body);
  const fields = text.startsWith('{"kind":') ? text : JSON.stringify(kindFirst(body));
  const covered = `{"seq":${place.seq},"prev":"${place.prev}","at":${place.at},${fields.slice(1, -1)}`;
  const own = createHash("sha256")
    .update(domain + covered)
    .digest("hex");
  const line = `${covered},"hash":"${own}"}\n`;
  const bytes = Buffer.byteLength(line);
  invariant(bytes <= lineBytesMax, "a record fits into one line");
  return { record: { ...body, seq: place.seq, prev: place.prev, at: place.at, hash: own }, line, bytes };
}

function kindFirst({ kind, ...fields }: RecordBody): object {
  return { kind, ...fields };
}

function assertBody(body: RecordBody): void {
  const reader: Reader<unknown> | undefined = readers[body.kind];
  invariant(reader !== undefined, "a record has a known kind");
  try {
    reader(body as unknown as JsonValue, body.kind);
  } catch (cause) {
    invariant(false, `a record that could not be read back: ${cause instanceof Error ? cause.message : ""}`);
  }
}

/** True when the bytes (without newline) are closed by their own hash. Says nothing about their place in the chain. */
export function closesItself(line: Uint8Array): boolean {
  const end = line.length - closingBytes;
  if (end <= lineStart.length || line.length >= lineBytesMax) return false;
  const closing = Buffer.from(line.buffer, line.byteOffset + end, closingBytes);
  if (
    !closing.subarray(0, hashStart.length).equals(hashStart) ||
    closing[closingBytes - 2] !== 0x22 ||
    closing[closingBytes - 1] !== 0x7d
  ) {
    return false;
  }
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
  const { seq, prev, at, hash: own, ...rest } = value as Readonly<Record<string, JsonValue>>;
  const reader = readers[rest.kind as RecordKind] as Reader<RecordBody> | undefined;
  if (typeof rest.kind !== "string" || !Object.hasOwn(readers, rest.kind) || reader === undefined) {
    throw new AgentError("LEDGER_NEWER", "none", "the ledger has a kind of record this version does not know", where);
  }
  try {
    const body = reader(rest, rest.kind);
    return {
      ...body,
      seq: ordinal(seq ?? null, "seq"),
      prev: hash(prev ?? null, "prev"),
      at: count(at ?? null, "at"),
      hash: own as string,
    };
  } catch (cause) {
    throw new AgentError("LEDGER_NEWER", "none", `a ${rest.kind} record has a shape this version does not know`, where, {
      cause,
    });
  }
}

/** The fault for a ledger that is not what was written. */
export function damaged(problem: string, where: { readonly file: string; readonly line?: number }, cause?: unknown): AgentError {
  const place = where.line === undefined ? where.file : `${where.file} line ${where.line}`;
  return new AgentError("LEDGER_DAMAGED", "none", `${place}: ${problem}`, { ...where }, { cause });
}
