/** Transactions as the stand-in for rippled reads them from a blob. */
import { codecs, type Json, sha512Half } from "./codecs.ts";

export interface ReadTransaction {
  readonly hash: string; // 64 capital hex digits
  readonly blob: string; // capital hex digits
  readonly fields: Json; // as the codec shows them
  readonly type: string;
  readonly account: string;
  readonly sequence: number;
  readonly feeDrops: bigint | null; // null for a fee that is no number of drops
  readonly lastLedger: number | null;
  readonly flags: number; // without tfFullyCanonicalSig
}

/** A blob that rippled does not take for a transaction, in its own words. */
export class UnreadableBlobError extends Error {
  override readonly name = "UnreadableBlobError";
}

/** "TXN" and a zero byte. */
const idPrefix = "54584E00";
const fullyCanonical = 0x8000_0000;
const required = ["TransactionType", "Account", "Fee", "SigningPubKey", "Sequence"] as const;

/**
 * @throws UnreadableBlobError for other bytes than a transaction's, or a signature that is not its
 * key's
 */
export function readBlob(text: unknown): ReadTransaction {
  if (typeof text !== "string" || !/^(?:[0-9a-fA-F]{2})+$/.test(text))
    throw new UnreadableBlobError("invalid blob");
  const blob = text.toUpperCase();
  const fields = decoded(blob);
  for (const name of required) {
    if (fields[name] === undefined)
      throw new UnreadableBlobError(`Field '${name}' is required but missing.`);
  }
  if (fields.TransactionType === "Payment") {
    for (const name of ["Destination", "Amount"])
      if (fields[name] === undefined)
        throw new UnreadableBlobError(`Field '${name}' is required but missing.`);
  }
  if (!isSigned(fields)) throw new UnreadableBlobError("fails local checks: Invalid signature.");
  return readFields(fields, blob);
}

/** The stand-in's own view of fields whose bytes are already judged. */
export function readFields(fields: Json, blob: string): ReadTransaction {
  return {
    hash: sha512Half(idPrefix, blob),
    blob,
    fields,
    type: String(fields.TransactionType),
    account: String(fields.Account),
    sequence: Number(fields.Sequence),
    feeDrops: dropsOf(fields.Fee),
    lastLedger: typeof fields.LastLedgerSequence === "number" ? fields.LastLedgerSequence : null,
    flags: withoutCanonical(Number(fields.Flags ?? 0)),
  };
}

/** Drops of an amount of XRP; null for an issued token, and for less than nothing. */
export function dropsOf(amount: unknown): bigint | null {
  return typeof amount === "string" && /^\d+$/.test(amount) ? BigInt(amount) : null;
}

function withoutCanonical(flags: number): number {
  return flags >= fullyCanonical ? flags - fullyCanonical : flags;
}

/** rippled takes a transaction in its one canonical form alone. */
function decoded(blob: string): Json {
  const { binary } = codecs();
  let fields: Json;
  try {
    fields = binary.decode(blob) as Json;
    if (binary.encode(fields) === blob) return fields;
  } catch (error) {
    throw new UnreadableBlobError(
      error instanceof Error ? error.message : "the blob could not be read",
    );
  }
  throw new UnreadableBlobError("the blob is not in canonical form");
}

function isSigned(fields: Json): boolean {
  const { binary, keys } = codecs();
  const { TxnSignature: signature, SigningPubKey: key } = fields;
  if (typeof signature !== "string" || typeof key !== "string") return false;
  try {
    return keys.verify(binary.encodeForSigning(fields), signature, key);
  } catch {
    return false;
  }
}
