/**
 * The fields that each kind of record must have, no more and no less. Checked on writing as well as
 * on reading, so a record that could not be read back is never written. Plain predicates are used
 * because protocol's readers cost more than the rest of a record together.
 */
import type { JsonValue } from "../../base/json.ts";
import { tagLengthMax } from "../../protocol/fields.ts";
import { txParamForm, txParamLengthMax, txParamName, txParamsMax } from "../socket/limits.ts";
import { approverMax } from "../socket/verbs.ts";
import type { RecordBody, RecordKind } from "./records.ts";

type Check = (value: JsonValue | undefined) => boolean;
type Body<K extends RecordKind> = Extract<RecordBody, { kind: K }>;
/** A check that takes an absent value makes its field optional. */
type Checks<K extends RecordKind> = { readonly [F in Exclude<keyof Body<K>, "kind">]-?: Check };

/**
 * The longest text of one field, in UTF-16 units; a job comes in a frame of 64 KiB with its quotes
 * escaped.
 */
export const textMax = 32_768;
/** The most attempts in one RELEASED record. */
export const listMax = 4096;

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

export const isHash: Check = hex(32);
export const isTime: Check = (value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
export const isOrdinal: Check = (value) => isTime(value) && (value as number) >= 1;
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

export function isKnownKind(kind: JsonValue | undefined): kind is RecordKind {
  return typeof kind === "string" && checksOf.has(kind);
}

/**
 * Returns the problem of a record of a known kind with `others` fields besides its kind and its
 * own; null if it is sound.
 */
export function problemOf(
  record: Readonly<Record<string, JsonValue>>,
  others: number,
): string | null {
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
