/**
 * Payments of XRP, and cancels, as bytes: build, describe back only from the bytes, digest, attach
 * a signature. Offline: no network, no disk, no private key. `describe` refuses bytes that it
 * cannot explain to the last byte. The bytes name no network: numbers up to 1024 stand in no field.
 * Sources: xrpl.org, "Payment", "AccountSet", "Transaction common fields", "Cryptographic keys".
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { isCanonicalSignature, recoverPublicKey } from "../curve/recover.ts";
import type {
  AccountSlot,
  Description,
  DescriptionResult,
  FamilyTransactions,
  Payment,
  RecordedFields,
  TxParams,
} from "../family.ts";
import { publicKeyOf } from "./account.ts";
import { addressOfHash, compressPoint, hashOfAddress, parseAddress } from "./address.ts";
import { readTag } from "./deposit-tag.ts";
import { figuresOf, txParamsOf } from "./fees.ts";
import { hash160, sha512Half } from "./hash.ts";
import { chainIdOf } from "./network.ts";

/*
 * The bytes of a payment of XRP, and of an AccountSet that changes nothing, as the ledger writes
 * them: fields in the order of their codes, each behind its code. Written, and read back strictly.
 * Pure. Source: xrpl.org, "Binary format".
 */

/** Addresses as 20 bytes, amounts in drops. An AccountSet has no `paid`. */
export interface PaymentFields {
  readonly account: Uint8Array;
  readonly sequence: bigint;
  readonly lastLedger: bigint;
  readonly feeDrops: bigint;
  readonly signingKey: Uint8Array; // 33 bytes
  readonly paid: {
    readonly destination: Uint8Array;
    readonly tag: bigint | null;
    readonly drops: bigint;
  } | null;
}

/** TransactionType: 0 pays, 3 sets nothing and uses the sequence up. */
const types = { payment: 0n, accountSet: 3n } as const;
/** The only flag, tfFullyCanonicalSig. */
const flags = 0x8000_0000n;
/** An amount of XRP: the bit that says "not negative", and 62 bits of drops. */
const positive = 1n << 62n;

/** A field: its code, its number of bytes, and whether its length stands before it. */
interface Layout {
  readonly code: readonly number[];
  readonly bytes: number;
  readonly isSized?: true;
}

const uint32 = (...code: readonly number[]): Layout => ({ code, bytes: 4 });
const amount = (code: number): Layout => ({ code: [code], bytes: 8 });
const layouts = {
  type: { code: [0x12], bytes: 2 },
  flags: uint32(0x22),
  sequence: uint32(0x24),
  tag: uint32(0x2e),
  lastLedger: uint32(0x20, 0x1b),
  drops: amount(0x61),
  feeDrops: amount(0x68),
  signingKey: { code: [0x73], bytes: 33, isSized: true },
  account: { code: [0x81], bytes: 20, isSized: true },
  destination: { code: [0x83], bytes: 20, isSized: true },
} as const satisfies Readonly<Record<string, Layout>>;
const signatureCode = 0x74;

/**
 * The bytes without a signature, or with one in DER. The fields must fit their numbers of bytes.
 */
export function encodeFields(
  fields: PaymentFields,
  signature: Uint8Array | null = null,
): Uint8Array {
  const { paid } = fields;
  const sized =
    signature === null ? [] : [Uint8Array.of(signatureCode, signature.length), signature];
  return Uint8Array.from(
    Buffer.concat([
      number(layouts.type, paid === null ? types.accountSet : types.payment),
      number(layouts.flags, flags),
      number(layouts.sequence, fields.sequence),
      ...(paid === null || paid.tag === null ? [] : [number(layouts.tag, paid.tag)]),
      number(layouts.lastLedger, fields.lastLedger),
      ...(paid === null ? [] : [number(layouts.drops, positive | paid.drops)]),
      number(layouts.feeDrops, positive | fields.feeDrops),
      field(layouts.signingKey, fields.signingKey),
      ...sized,
      field(layouts.account, fields.account),
      ...(paid === null ? [] : [field(layouts.destination, paid.destination)]),
    ]),
  );
}

/** Reads bytes without a signature; null for all that `encodeFields` does not write. */
export function decodeFields(bytes: Uint8Array): PaymentFields | null {
  const reader = new FieldReader(bytes);
  const isPayment = reader.number(layouts.type) === types.payment;
  reader.number(layouts.flags);
  const sequence = reader.number(layouts.sequence);
  const tag = isPayment && reader.isNext(layouts.tag) ? reader.number(layouts.tag) : null;
  const lastLedger = reader.number(layouts.lastLedger);
  const drops = isPayment ? reader.number(layouts.drops) & ~positive : 0n;
  const feeDrops = reader.number(layouts.feeDrops) & ~positive;
  const signingKey = reader.field(layouts.signingKey);
  const account = reader.field(layouts.account);
  const paid = isPayment ? { destination: reader.field(layouts.destination), tag, drops } : null;
  const fields = { account, sequence, lastLedger, feeDrops, signingKey, paid };
  // Other flags, another type, a sign or a byte too many: all of it makes other bytes.
  return reader.isBroken || Buffer.compare(encodeFields(fields), bytes) !== 0 ? null : fields;
}

function number(layout: Layout, value: bigint): Uint8Array {
  return field(layout, Buffer.from(value.toString(16).padStart(2 * layout.bytes, "0"), "hex"));
}

function field({ code, bytes, isSized }: Layout, value: Uint8Array): Uint8Array {
  return Uint8Array.of(...code, ...(isSized ? [bytes] : []), ...value);
}

/** Reads fields from the front. After the first fault everything reads as nothing. */
class FieldReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  isBroken = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  isNext({ code }: Layout): boolean {
    return code.every((byte, place) => this.#bytes[this.#at + place] === byte);
  }

  field(layout: Layout): Uint8Array {
    const start = this.#at + layout.code.length + (layout.isSized ? 1 : 0);
    if (this.isBroken || !this.isNext(layout) || start + layout.bytes > this.#bytes.length) {
      this.isBroken = true;
      return new Uint8Array(layout.bytes);
    }
    this.#at = start + layout.bytes;
    return this.#bytes.slice(start, this.#at);
  }

  number(layout: Layout): bigint {
    return BigInt(`0x${Buffer.from(this.field(layout)).toString("hex")}`);
  }
}

/** Stand before the fields in a digest, and before the signed bytes in a transaction's id. */
const prefixes = { sign: Buffer.from("STX\0"), id: Buffer.from("TXN\0") } as const;
const word32Max = 0xffff_ffffn;
/** All XRP that there ever was, in drops. */
const dropsMax = 10n ** 17n;
const der = { sequence: 0x30, integer: 0x02 } as const;

export const xrpTransactions: FamilyTransactions = {
  build,
  describe: (unsigned, told) => described(unsigned, told, false),
  cancels: {
    build: (place, txParams) => bytesOf(place, null, txParams),
    describe: (unsigned, told) => described(unsigned, told, true),
  },
  digests: (unsigned) => [digestOf(unsigned)],
  attach,
};

/** @throws TRANSACTION_FIELD, TRANSACTION_SENDER, JSON_SHAPE (parameters), or ADDRESS_* */
function build(
  { contract, destination, tag, amountUnits, ...place }: Payment,
  txParams: TxParams,
): Uint8Array {
  if (contract !== "")
    throw faultOf(refuse("TRANSACTION_FIELD", "only XRP is paid here, no issued token"));
  if (tag !== "" && readTag(tag) === null)
    throw faultOf(refuse("TRANSACTION_FIELD", "tag is no number of 32 bits"));
  const paid = {
    destination: hashOrThrow(destination),
    tag: tag === "" ? null : BigInt(tag),
    drops: amountUnits,
  };
  return bytesOf(place, paid, txParams);
}

function bytesOf(
  { network, account, slot }: AccountSlot,
  paid: PaymentFields["paid"],
  txParams: TxParams,
): Uint8Array {
  const hash = hashOrThrow(account);
  const signingKey = publicKeyOf(account);
  if (signingKey === undefined)
    throw new AgentError("TRANSACTION_SENDER", "none", "the account's key is not known", {
      account,
    });
  const fields: PaymentFields = {
    account: hash,
    sequence: BigInt(slot),
    signingKey,
    paid,
    ...figuresOf(txParams),
  };
  const refusal = refusalOf(network, fields);
  if (refusal !== null) throw faultOf(refusal);
  return encodeFields(fields);
}

/**
 * Refuses with TRANSACTION_TYPE (other bytes), TRANSACTION_FIELD, TRANSACTION_SENDER or ADDRESS_*.
 */
function described(
  unsigned: Uint8Array,
  { network }: RecordedFields,
  isCancel: boolean,
): DescriptionResult {
  const fields = decodeFields(unsigned);
  if (fields === null)
    return refuse("TRANSACTION_TYPE", "not the one form of a payment or a cancel");
  const { paid, sequence, feeDrops } = fields;
  if ((paid === null) !== isCancel)
    return refuse("TRANSACTION_TYPE", isCancel ? "it is no cancel" : "it is no payment");
  const account = addressOfHash(fields.account);
  const destination = paid === null ? account : addressOfHash(paid.destination);
  for (const address of [account, destination]) {
    const parsed = parseAddress(address);
    if (!parsed.ok) return parsed;
  }
  const refusal = refusalOf(network, fields);
  if (refusal !== null) return refusal;
  const description: Description = {
    network,
    account,
    slot: `${sequence}`,
    contract: "",
    destination,
    tag: `${paid?.tag ?? ""}`,
    amountUnits: paid?.drops ?? 0n,
    txParams: txParamsOf(fields),
    feeMaxUnits: feeDrops,
  };
  return { ok: true, description };
}

function digestOf(unsigned: Uint8Array): Uint8Array {
  return sha512Half(prefixes.sign, unsigned);
}

/**
 * Attaches r(32) ‖ s(32) ‖ y parity(1), made by the key in the bytes, which must be the account's.
 * @returns the transaction, and its id as 64 hex digits in upper case
 * @throws TRANSACTION_TYPE, TRANSACTION_SIGNATURE, TRANSACTION_SENDER
 */
function attach(
  unsigned: Uint8Array,
  signatures: readonly Uint8Array[],
  account: string,
): ReturnType<FamilyTransactions["attach"]> {
  const fields = decodeFields(unsigned);
  if (fields === null) throw faultOf(refuse("TRANSACTION_TYPE"));
  const [signature = new Uint8Array(0)] = signatures;
  const [pair, parity] = [signature.subarray(0, 64), signature[64]];
  const isWhole =
    signatures.length === 1 && signature.length === 65 && (parity === 0 || parity === 1);
  if (!isWhole || !isCanonicalSignature(pair))
    throw new AgentError(
      "TRANSACTION_SIGNATURE",
      "none",
      "not one signature r ‖ s with s in the lower half, and a parity",
    );
  const point = recoverPublicKey(digestOf(unsigned), pair, parity);
  const isOwn =
    addressOfHash(fields.account) === account && isSame(hash160(fields.signingKey), fields.account);
  if (!isOwn || point === null || !isSame(compressPoint(point), fields.signingKey))
    throw new AgentError(
      "TRANSACTION_SENDER",
      "none",
      "the signature was not made by the account's key",
      { account },
    );
  const raw = encodeFields(fields, derOf(pair));
  return { raw, txHash: Buffer.from(sha512Half(prefixes.id, raw)).toString("hex").toUpperCase() };
}

/** A signature r(32) ‖ s(32) in DER. */
function derOf(pair: Uint8Array): Uint8Array {
  const integers = [...integerOf(pair.subarray(0, 32)), ...integerOf(pair.subarray(32))];
  return Uint8Array.of(der.sequence, integers.length, ...integers);
}

/** The shortest form; a zero keeps a high first bit from being a sign. */
function integerOf(bytes: Uint8Array): readonly number[] {
  const shortest = bytes.subarray(bytes.findIndex((byte) => byte !== 0));
  const padded = (shortest[0] ?? 0) >= 0x80 ? [0, ...shortest] : [...shortest];
  return [der.integer, padded.length, ...padded];
}

function refusalOf(
  network: string,
  { account, sequence, lastLedger, feeDrops, signingKey, paid }: PaymentFields,
): Refusal | null {
  if (chainIdOf(network) === null)
    return refuse("TRANSACTION_FIELD", "the network is of another family");
  if (!isSame(hash160(signingKey), account))
    return refuse("TRANSACTION_SENDER", "the key in the bytes is not the account's");
  const bounds: readonly (readonly [name: string, value: bigint, max: bigint])[] = [
    ["sequence", sequence, word32Max],
    ["lastLedger", lastLedger, word32Max],
    ["feeDrops", feeDrops, dropsMax],
    ["amountUnits", paid?.drops ?? 1n, dropsMax],
  ];
  for (const [name, value, max] of bounds) {
    if (value < 1n || value > max) return refuse("TRANSACTION_FIELD", `${name} is out of range`);
  }
  // The chain refuses XRP from an account to itself.
  return paid !== null && isSame(paid.destination, account)
    ? refuse("TRANSACTION_FIELD", "it pays the sender itself")
    : null;
}

function hashOrThrow(text: string): Uint8Array {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw faultOf(parsed);
  return hashOfAddress(parsed.address);
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function faultOf(refusal: Refusal): AgentError {
  return new AgentError(refusal.code, "none", refusal.detail ?? refusal.code);
}
