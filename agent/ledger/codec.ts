/**
 * Writes a record as a line: numbered, linked to the line before, closed by the record's hash. The
 * last line of a write has the seal's MAC of its hash, and so of every line before. Reads such
 * lines strictly. Touches no disk. docs/ledger.md section 2 describes the bytes; fields.ts checks
 * the fields of each kind.
 */
import { createHash } from "node:crypto";
import { AgentError, invariant } from "../../base/fault.ts";
import { type JsonValue, parseJson } from "../../base/json.ts";
import { tagLengthMax } from "../../protocol/fields.ts";
import { txParamForm, txParamLengthMax, txParamName, txParamsMax } from "../socket/limits.ts";
import { approverMax } from "../socket/verbs.ts";
import type { LedgerRecord, RecordBody, RecordKind } from "./records.ts";
import { type LedgerSeal, sealContextOfRecord } from "./seal.ts";

/*
 * The fields that each kind of record must have, no more and no less. Checked on writing as well as
 * on reading, so a record that could not be read back is never written. Plain predicates are used
 * because protocol's readers cost more than the rest of a record together.
 */

type Check = (value: JsonValue | undefined) => boolean;
type Body<K extends RecordKind> = Extract<RecordBody, { kind: K }>;
/** A check that takes an absent value makes its field optional. */
type Checks<K extends RecordKind> = { readonly [F in Exclude<keyof Body<K>, "kind">]-?: Check };

/**
 * The longest text of one field, in UTF-16 units; a job comes in a frame of 64 KiB with its quotes
 * escaped.
 */
const textMax = 32_768;
/** The most attempts in one RELEASED record. */
const listMax = 4096;

const decimalMax = 78;
/** The digests of up to 64 signatures, as hex. */
const digestsForm = /^(?:[0-9a-f]{64}){1,64}$/;
/**
 * The most files of each kind in one CHECKPOINT or RECOVERED record: far above the number from a
 * year of signing.
 */
const namedFilesMax = 2_048;
/** The most foreign transactions in one PAUSED record. */
const foreignMax = 16;
/** The most coins in one MANUAL_REPLACEMENT record: one of each attempt. */
const coinsMax = 32;
/** The most limit groups in one POLICY record: currencies with their sweeps and top-ups. */
const limitsMax = 768;

const isHash: Check = hex(32);
const isTime: Check = (value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
const isOrdinal: Check = (value) => isTime(value) && (value as number) >= 1;
const isId: Check = hex(16);
const isVisible: Check = text(1, 128, /^[\x21-\x7e]+$/);
const isTag: Check = text(1, tagLengthMax, /^[\x20-\x7e]+$/);
const isOptionalVisible: Check = text(0, 128, /^[\x21-\x7e]*$/);
const isTagIfAny: Check = (value) => value === undefined || isTag(value);
const isCode: Check = text(0, 64, /^[A-Z0-9_]*$/);
const isDecimal: Check = text(1, decimalMax, /^(?:0|[1-9][0-9]*)$/);
const isTxParam: Check = text(1, txParamLengthMax, txParamForm);
const isDigests: Check = text(64, 4096, digestsForm);
const isTxParams: Check = (value) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const own = Object.entries(value);
  return (
    own.length <= txParamsMax &&
    own.every(([name, value]) => txParamName.test(name) && isTxParam(value))
  );
};
/** In the family's own spelling. */
const isSlot: Check = text(1, 160, /^[\x21-\x7e]+$/);
const isCoin: Check = text(1, 160, txParamForm);
const isBoolean: Check = (value) => typeof value === "boolean";
const isPayload: Check = text(2, textMax, /^(?:0x)?(?:[0-9a-f]{2})+$/);
const isTxHash: Check = text(0, 130, /^[0-9A-Za-z]*$/);
const isHashText: Check = text(1, 130, /^[0-9A-Za-z]+$/);
const isName: Check = text(1, approverMax, /^[\x21-\x7e]+$/);
const isOptionalName: Check = text(0, approverMax, /^[\x21-\x7e]*$/);
const isDetail: Check = anyText(0, 4096, "");
const isHead: Check = fields({ seq: isTime, hash: isHash });
const isAttempt: Check = fields({ transactionId: isId, attempt: isOrdinal });
const isNamedFiles: Check = listOf({ file: isVisible, root: isHash }, namedFilesMax);
const isLimit: Check = text(1, 1024, /^[\x20-\x7e]+$/);
const isLimits: Check = (value) =>
  Array.isArray(value) && value.length <= limitsMax && value.every(isLimit);
const isReleased: Check = (value) =>
  Array.isArray(value) && value.length <= listMax && value.every(isAttempt);

const checks: { readonly [K in RecordKind]: Checks<K> } = {
  PAIRED: {
    agent: hex(8),
    merchant: isVisible,
    wallet: isId,
    ledgerEpoch: isOrdinal,
    gatewayKey: isHash,
  },
  ADOPTED: { network: isVisible, account: isVisible, slot: isSlot },
  REQUESTED: {
    transactionId: isId,
    sequence: isOrdinal,
    jobHash: isHash,
    job: anyText(2, textMax, "{"),
    signature: hex(64),
  },
  REPEATED: { transactionId: isId, sequence: isOrdinal, jobHash: isHash, code: isCode },
  APPROVED: {
    transactionId: isId,
    by: oneOf("policy", "operator"),
    approver: isOptionalName,
    chain: isVisible,
    network: isVisible,
    contract: isOptionalVisible,
    address: isVisible,
    tag: isTagIfAny,
    amountUnits: isDecimal,
  },
  HELD: { transactionId: isId, code: isCode },
  CONFIRMED: { transactionId: isId, approver: isName, digest: isHash, address: isVisible },
  REFUSED: {
    transactionId: isId,
    by: oneOf("policy", "operator", "courier", "shop"),
    approver: isOptionalName,
    code: isCode,
  },
  EXPIRED: { transactionId: isId },
  INTENT: {
    transactionId: isId,
    attempt: isOrdinal,
    network: isVisible,
    account: isVisible,
    slot: isSlot,
    contract: isOptionalVisible,
    address: isVisible,
    tag: isTagIfAny,
    amountUnits: isDecimal,
    txParams: isTxParams,
    feeMax: isDecimal,
    digest: isDigests,
    unsigned: isPayload,
  },
  SIGNED: {
    transactionId: isId,
    attempt: isOrdinal,
    digest: isDigests,
    txHash: isTxHash,
    raw: isPayload,
  },
  RELEASED: { acked: isHead, released: isReleased },
  OBSERVED: {
    transactionId: isId,
    stage: oneOf("broadcast", "included", "final", "void"),
    outcome: oneOf("", "paid", "reverted", "conflicted", "cancelled", "moved"),
    txHash: isTxHash,
    block: isTime,
  },
  ENDED: { ended: (value) => Array.isArray(value) && value.length <= listMax && value.every(isId) },
  VOID: {
    txHashes: (value) => Array.isArray(value) && value.length <= listMax && value.every(isHashText),
  },
  MANUAL_REPLACEMENT: {
    transactionId: isId,
    act: oneOf("replace", "cancel", "end"),
    approver: isName,
    isFirstYes: (value) => value === undefined || value === true,
    coins: (value) =>
      value === undefined ||
      (Array.isArray(value) && value.length <= coinsMax && value.every(isCoin)),
  },
  UNSEEN: { transactionId: isId, watchedMs: isTime, chainMs: isTime },
  PAUSED: {
    paused: isBoolean,
    approver: isName,
    network: (value) => value === undefined || isVisible(value),
    currency: (value) => value === undefined || isVisible(value),
    txHashes: (value) =>
      value === undefined ||
      (Array.isArray(value) && value.length <= foreignMax && value.every(isHashText)),
  },
  COIN_FREED: { network: isVisible, coin: isCoin, approver: isName },
  CEILING: { ceiling: isOrdinal },
  REPORTED: { acked: isHead },
  ALARM: { code: isCode, detail: isDetail },
  LOCKED: { code: isCode, detail: isDetail },
  RECOVERY_FINISHED: { issuedBefore: isTime },
  POLICY: { digest: isHash, path: isDetail, limits: isLimits },
  CHECKPOINT: { file: isVisible, sha256: isHash, closed: isNamedFiles, paid: isNamedFiles },
  RECOVERED: {
    file: isVisible,
    sha256: isHash,
    closed: isNamedFiles,
    paid: isNamedFiles,
    order: isHash,
    ledgerEpoch: isOrdinal,
    bothRestored: isBoolean,
    held: isHead,
    sequence: isTime,
    jobHash: isHash,
  },
};

const checksOf = new Map(
  Object.entries(checks).map(([kind, each]) => [
    kind,
    Object.entries(each as Record<string, Check>),
  ]),
);

function isKnownKind(kind: JsonValue | undefined): kind is RecordKind {
  return typeof kind === "string" && checksOf.has(kind);
}

/**
 * Returns the problem of a record of a known kind with `others` fields besides its kind and its
 * own; null if it is sound.
 */
function problemOf(record: Readonly<Record<string, JsonValue>>, others: number): string | null {
  const own = checksOf.get(record.kind as RecordKind) ?? [];
  let absent = 0;
  for (const [field, check] of own) {
    if (!check(record[field])) return field;
    if (record[field] === undefined) absent += 1;
  }
  let count = 0;
  for (const _ in record) count += 1;
  return count === own.length - absent + 1 + others ? null : "another field";
}

/** `pattern` must match visible ASCII only. */
function text(min: number, max: number, pattern: RegExp): Check {
  return (value) =>
    typeof value === "string" && value.length >= min && value.length <= max && pattern.test(value);
}

function anyText(min: number, max: number, start: string): Check {
  return (value) =>
    typeof value === "string" &&
    value.length >= min &&
    value.length <= max &&
    value.startsWith(start) &&
    isWellFormed(value);
}

function hex(bytes: number): Check {
  const pattern = new RegExp(`^[0-9a-f]{${bytes * 2}}$`);
  return (value) => typeof value === "string" && pattern.test(value);
}

function oneOf(...literals: readonly string[]): Check {
  return (value) => typeof value === "string" && literals.includes(value);
}

function listOf(shape: Readonly<Record<string, Check>>, most: number): Check {
  const each = fields(shape);
  return (value) => Array.isArray(value) && value.length <= most && value.every(each);
}

function fields(shape: Readonly<Record<string, Check>>): Check {
  const own = Object.entries(shape);
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    const record = value as Readonly<Record<string, JsonValue>>;
    return (
      Object.keys(record).length === own.length &&
      own.every(([field, check]) => check(record[field]))
    );
  };
}

/**
 * True without an unpaired surrogate, which has no UTF-8 and would be read back as another
 * character.
 */
function isWellFormed(value: string): boolean {
  return !/[\ud800-\udfff]/u.test(value);
}

/** The longest line with its newline: room for a RELEASED record with a full list. */
export const lineBytesMax = 524_288;

/** The start of every line, by which a reader looks for lines after a damaged one. */
export const lineStart = Buffer.from('{"seq":');
/** The start of the closing fields, and the end of the bytes that the hash covers. */
export const closingStart = Buffer.from(',"hash":"');
const macStart = Buffer.from('","mac":"');
const hexDigits = 64;
const lineEnd = '"}\n';
/** `","mac":"` ‖ 64 digits: how much longer a line with a MAC is. */
export const macFieldLength = macStart.length + hexDigits;
/** Each form of closing fields: `,"hash":"` ‖ 64 digits ‖ `"}`, and the same with a MAC. */
export const closingLengths = [
  closingStart.length + hexDigits + 2,
  closingStart.length + hexDigits + macFieldLength + 2,
] as const;

const domain = "autowithdraw/2 ledger\n";
const jsonLimits = {
  bytesMax: lineBytesMax,
  stringBytesMax: 3 * textMax,
  itemsMax: listMax,
  depthMax: 4,
} as const;

/** A record and its line, of which `formatWrittenLines` makes a write. */
export interface EncodedRecord {
  readonly record: LedgerRecord;
  readonly text: string; // up to the digits of its hash
  readonly bytes: number; // length of the line as UTF-8, with its newline, without a MAC
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
  const written =
    body.kind === "SIGNED" ? { ...body, raw: boxed(body.raw, place.seq, seal) } : body;
  const text = JSON.stringify(written);
  const fields = text.startsWith('{"kind":') ? text : JSON.stringify(kindFirst(written));
  const covered = `{"seq":${place.seq},"prev":"${place.prev}","at":${place.at},${fields.slice(1, -1)}`;
  const hashed = domain + covered;
  const own = createHash("sha256").update(hashed).digest("hex");
  // Measured on `hashed`, which the hash has already joined into one piece of memory.
  const bytes = Buffer.byteLength(hashed) - domain.length + closingLengths[0] + 1;
  invariant(bytes + macFieldLength <= lineBytesMax, "a record fits into one line");
  // Spreading first would cost more than the hash: the engine's fast path is a spread into a
  // literal that already has fields.
  return {
    record: { seq: place.seq, prev: place.prev, at: place.at, ...body, hash: own },
    text: `${covered},"hash":"${own}`,
    bytes,
  };
}

/** Returns the lines of one write. The last has the MAC, which covers all of them. */
export function formatWrittenLines(
  texts: readonly string[],
  lastHash: string,
  seal: LedgerSeal,
): string {
  return `${texts.join(lineEnd)}","mac":"${seal.macOf(lastHash)}${lineEnd}`;
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
  return (
    prefix +
    Buffer.from(seal.box(sealContextOfRecord(seq), Buffer.from(digits, "hex"))).toString("hex")
  );
}

function partsOf(raw: string): { readonly prefix: string; readonly digits: string } {
  return raw.startsWith("0x")
    ? { prefix: "0x", digits: raw.slice(2) }
    : { prefix: "", digits: raw };
}

/** The closing fields of a line. */
export interface LineClosing {
  readonly hash: string;
  readonly mac: string; // empty unless the line is the last of its write
}

/**
 * Returns the closing fields of a line (without newline), null if it has none in their place.
 * Checks neither hash nor MAC.
 */
export function readLineClosing(line: Uint8Array): LineClosing | null {
  const end = line.length - hexDigits - 2;
  if (end <= closingStart.length + lineStart.length || line.length >= lineBytesMax) return null;
  const text = Buffer.from(line.buffer, line.byteOffset, line.length);
  if (text[line.length - 2] !== 0x22 || text[line.length - 1] !== 0x7d) return null;
  const isSealed = text.subarray(end - macStart.length, end).equals(macStart);
  const hashAt = isSealed ? end - macFieldLength : end;
  if (!text.subarray(hashAt - closingStart.length, hashAt).equals(closingStart)) return null;
  const hash = text.toString("latin1", hashAt, hashAt + hexDigits);
  const mac = isSealed ? text.toString("latin1", end, end + hexDigits) : "";
  return isHash(hash) && (mac === "" || isHash(mac)) ? { hash, mac } : null;
}

/**
 * Returns the closing fields of bytes (without newline) that are closed by their own hash, null for
 * any others. That proves neither their place in the ledger nor their author.
 */
export function verifiedClosingOf(line: Uint8Array): LineClosing | null {
  const closing = readLineClosing(line);
  if (closing === null) return null;
  const covered = line.subarray(0, line.length - closingLengths[closing.mac === "" ? 0 : 1]);
  return createHash("sha256").update(domain).update(covered).digest("hex") === closing.hash
    ? closing
    : null;
}

/** Returns the number of a line and the hash that it continues; null if it does not begin so. */
export function readLinePlace(
  line: Uint8Array,
): { readonly seq: number; readonly prev: string } | null {
  const start = Buffer.from(line.buffer, line.byteOffset, Math.min(line.length, 128)).toString(
    "latin1",
  );
  const match = /^\{"seq":([1-9]\d{0,15}),"prev":"([0-9a-f]{64})",/.exec(start);
  return match === null ? null : { seq: Number(match[1]), prev: match[2] ?? "" };
}

/**
 * Reads a line (without newline) whose hash is right and which the caller has proved to be covered
 * by a MAC. With a seal, signed bytes are taken out of the box; without a seal they stay boxed.
 * @throws AgentError LEDGER_FORGED for a box that this wallet's signer did not make; LEDGER_NEWER
 * for an unknown kind or shape with a right hash, because a newer program wrote it; LEDGER_DAMAGED
 * for a line of no version.
 */
export function decodeRecord(
  line: Uint8Array,
  where: Location,
  seal: LedgerSeal | null,
): LedgerRecord {
  let value: JsonValue;
  try {
    value = parseJson(line, jsonLimits);
  } catch (cause) {
    throw damagedFault("a line whose hash is right is not a record", where, cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw damagedFault("a line is not a record", where);
  const fields = value as Readonly<Record<string, JsonValue>>;
  if (
    !isOrdinal(fields.seq) ||
    !isHash(fields.prev) ||
    !isTime(fields.at) ||
    !isHash(fields.hash)
  ) {
    throw damagedFault("a line does not say its place", where);
  }
  if (!isKnownKind(fields.kind)) {
    throw new AgentError(
      "LEDGER_NEWER",
      "none",
      "the ledger has a kind of record this version does not know",
      where,
    );
  }
  const { mac, ...record } = fields;
  if (mac !== undefined && !isHash(mac)) throw damagedFault("a line does not say its place", where);
  const problem = problemOf(record, chainFields);
  if (problem !== null) {
    const message = `a ${fields.kind} record has a shape this version does not know: ${problem}`;
    throw new AgentError("LEDGER_NEWER", "none", message, where);
  }
  const read = record as unknown as LedgerRecord;
  return seal === null ? read : unsealRecordBytes(read, seal, where);
}

/** Returns a record with its signed bytes out of their box. @throws AgentError LEDGER_FORGED */
export function unsealRecordBytes(
  record: LedgerRecord,
  seal: LedgerSeal,
  where: Location,
): LedgerRecord {
  if (record.kind !== "SIGNED") return record;
  const { prefix, digits } = partsOf(record.raw);
  const bytes = seal.open(sealContextOfRecord(record.seq), Buffer.from(digits, "hex"));
  if (bytes === null) throw forgedFault("the signed bytes do not open", where);
  return { ...record, raw: prefix + Buffer.from(bytes).toString("hex") };
}

/** seq, prev, at, hash */
const chainFields = 4;

/** A line of a file, counted from 1. */
export type Location = { readonly file: string; readonly line: number };

/** The problem of a line whose MAC is not this wallet's. */
export const foreignLineReason = "this wallet's signer did not write the line";

/** Returns the fault for a ledger with content that its own signer did not write. */
export function forgedFault(
  problem: string,
  where: { readonly file: string; readonly line?: number },
): AgentError {
  return new AgentError("LEDGER_FORGED", "none", `${locationOf(where)}: ${problem}`, { ...where });
}

/** Returns the fault for a ledger that is not as it was written. */
export function damagedFault(
  problem: string,
  where: { readonly file: string; readonly line?: number },
  cause?: unknown,
): AgentError {
  return new AgentError(
    "LEDGER_DAMAGED",
    "none",
    `${locationOf(where)}: ${problem}`,
    { ...where },
    { cause },
  );
}

function locationOf({ file, line }: { readonly file: string; readonly line?: number }): string {
  return line === undefined ? file : `${file} line ${line}`;
}
