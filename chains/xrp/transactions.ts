/**
 * Payments of XRP, and cancels, as bytes: build, describe back only from the bytes, digest, attach
 * a signature. Offline: no network, no disk, no private key. `describe` refuses bytes that it
 * cannot explain to the last byte. The bytes name no network: numbers up to 1024 stand in no field.
 * Sources: xrpl.org, "Payment", "AccountSet", "Transaction common fields", "Cryptographic keys".
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import { isCanonicalSignature, recoverPublicKey } from "../curve/recover.ts";
import type {
  Description,
  DescriptionResult,
  Payment,
  Place,
  RecordedFields,
  Transactions,
  TxParams,
} from "../family.ts";
import { publicKeyOf } from "./account.ts";
import { addressOfHash, compressPoint, hashOfAddress, parseAddress } from "./address.ts";
import { readTag } from "./deposit-tag.ts";
import { figuresOf, txParamsOf } from "./fees.ts";
import { hash160, sha512Half } from "./hash.ts";
import { chainIdOf } from "./network.ts";
import { decodeFields, encodeFields, type Fields } from "./serialized.ts";

/** Stand before the fields in a digest, and before the signed bytes in a transaction's id. */
const prefixes = { sign: Buffer.from("STX\0"), id: Buffer.from("TXN\0") } as const;
const word32Max = 0xffff_ffffn;
/** All XRP that there ever was, in drops. */
const dropsMax = 10n ** 17n;
const der = { sequence: 0x30, integer: 0x02 } as const;

export const xrpTransactions: Transactions = {
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
  { network, account, slot }: Place,
  paid: Fields["paid"],
  txParams: TxParams,
): Uint8Array {
  const hash = hashOrThrow(account);
  const signingKey = publicKeyOf(account);
  if (signingKey === undefined)
    throw new AgentError("TRANSACTION_SENDER", "none", "the account's key is not known", {
      account,
    });
  const fields: Fields = {
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
): ReturnType<Transactions["attach"]> {
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
  { account, sequence, lastLedger, feeDrops, signingKey, paid }: Fields,
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
