/**
 * Reads a signed transaction back before a byte reaches a node: every field, the signature and the
 * id. Shares no code with the builder of the transaction: a small reader of the binary format
 * stands here, OpenSSL checks the signature, and `ethers` hashes. The bytes name no network, so
 * none is compared. Sources: the ledger's documentation of its binary format, of base58 and of
 * cryptographic keys; BIP-66 (DER); SEC 2 (secp256k1); RFC 5480 (a public key in DER).
 */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { ExpectedAttempt, IndependentReading } from "../nodes.ts";

type Ethers = Pick<typeof import("ethers"), "ripemd160" | "sha256" | "sha512">;

/** A field's name, and the text for its value. */
type Fields = ReadonlyMap<string, string>;

/** By type and code. The reader knows only the fields of a payment and of a cancel. */
const names: Readonly<Record<string, string>> = {
  "1.2": "type",
  "2.2": "flags",
  "2.4": "sequence",
  "2.14": "tag",
  "2.27": "last ledger",
  "6.1": "amount",
  "6.8": "fee",
  "7.3": "public key",
  "7.4": "signature",
  "8.1": "account",
  "8.3": "receiver",
};
const types = { payment: "0", accountSet: "3" } as const;
/** Only the bit that old servers want, by which a signature must be canonical. */
const flags = `${0x8000_0000}`;
const alphabet = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz";
const order = 0xffff_ffff_ffff_ffff_ffff_ffff_ffff_fffe_baae_dce6_af48_a03b_bfd2_5e8c_d036_4141n;
const positiveBit = 1n << 62n;
const hashBytes = 32;
/** In front of 33 bytes of a point: the algorithm and the curve, as RFC 5480 writes them. */
const keyHead = Buffer.from("3036301006072a8648ce3d020106052b8104000a032200", "hex");

let loading: Promise<Ethers> | null = null;

/** In the interface's form. */
export const readAttemptBack: IndependentReading = async (raw, said) => {
  loading ??= import("ethers");
  return compare(await loading, Buffer.from(raw.replace(/^0x/, ""), "hex"), said);
};

function compare(
  ethers: Ethers,
  bytes: Buffer,
  { payment, txParams, txHash, isCancel }: ExpectedAttempt,
): string {
  const { fields, unsigned } = read(bytes);
  const { account, slot, contract, destination, tag, amountUnits } = payment;
  const addressOf = (name: string): string => addressIn(ethers, fields.get(name));
  const key = fields.get("public key") ?? "";
  const owner = ownerOf(ethers, key);
  const checks: readonly (readonly [what: string, said: unknown, expected: unknown])[] = [
    ["token", "none", contract || "none"],
    ["type", fields.get("type"), isCancel ? types.accountSet : types.payment],
    ["flags", fields.get("flags"), flags],
    ["account", addressOf("account"), account],
    ["sequence", fields.get("sequence"), slot],
    ["receiver", addressOf("receiver"), isCancel ? "none" : destination],
    ["tag", fields.get("tag") ?? "none", isCancel ? "none" : tag || "none"],
    ["amount", fields.get("amount") ?? "none", isCancel ? "none" : `${amountUnits}`],
    ["fee", fields.get("fee"), txParams?.feeDrops],
    ["last ledger", fields.get("last ledger"), txParams?.lastLedger],
    ["owner of the key", owner.address, account],
    ["key of the signature", signerOf(unsigned, fields.get("signature") ?? "", owner), key],
    ["id", half(ethers, "TXN\0", bytes).toUpperCase(), txHash],
  ];
  const wrong = checks.find(([, said, expected]) => said !== expected);
  return wrong === undefined ? "" : `${wrong[0]} reads as ${wrong[1]}, not ${wrong[2]}`;
}

/**
 * All fields, and the bytes without the signature. @throws for bytes that are no such transaction
 */
function read(bytes: Buffer): { readonly fields: Fields; readonly unsigned: Buffer } {
  const fields = new Map<string, string>();
  const kept: Buffer[] = [];
  let before = 0;
  for (let at = 0; at < bytes.length; ) {
    const { type, code, next } = headerAt(bytes, at);
    const name = names[`${type}.${code}`];
    const rank = type * 256 + code;
    if (name === undefined) throw new Error(`a field ${type}.${code} that no payment has`);
    if (rank <= before) throw new Error("the fields are not in their order");
    const { value, end } = valueAt(bytes, next, type);
    fields.set(name, value);
    if (name !== "signature") kept.push(bytes.subarray(at, end));
    before = rank;
    at = end;
  }
  return { fields, unsigned: Buffer.concat(kept) };
}

/** Both numbers below 16 stand in one byte; a larger one follows in a byte of its own. */
function headerAt(
  bytes: Buffer,
  at: number,
): { readonly type: number; readonly code: number; readonly next: number } {
  const first = bytes.readUInt8(at);
  const [high, low] = [first >> 4, first & 15];
  if (high === 0) throw new Error("a field of a type that no payment has");
  const code = low === 0 ? bytes.readUInt8(at + 1) : low;
  if (low === 0 && code < 16) throw new Error("a field's code is not in its shortest form");
  return { type: high, code, next: at + (low === 0 ? 2 : 1) };
}

/** Numbers in decimal, bytes in hex. */
function valueAt(
  bytes: Buffer,
  at: number,
  type: number,
): { readonly value: string; readonly end: number } {
  if (type === 1) return { value: `${bytes.readUInt16BE(at)}`, end: at + 2 };
  if (type === 2) return { value: `${bytes.readUInt32BE(at)}`, end: at + 4 };
  if (type === 6) {
    const amount = bytes.readBigUInt64BE(at);
    if (amount >> 62n !== 1n) throw new Error("an amount that is none of drops");
    return { value: `${amount - positiveBit}`, end: at + 8 };
  }
  const length = bytes.readUInt8(at);
  const end = at + 1 + length;
  if (length > 192 || end > bytes.length) throw new Error("a field is cut off");
  if (type === 8 && length !== 20) throw new Error("an account has 20 bytes");
  return { value: bytes.toString("hex", at + 1, end), end };
}

function half({ sha512 }: Ethers, prefix: string, bytes: Buffer): string {
  const digest = sha512(Buffer.concat([Buffer.from(prefix, "latin1"), bytes]));
  return digest.slice(2, 2 + hashBytes * 2);
}

interface Owner {
  readonly key: string; // hex
  readonly address: string;
  readonly publicKey: KeyObject | null; // null for no point of the curve
}

const ownersMax = 16;
const owners = new Map<string, Owner>();

/**
 * All payments of an account show the same key, and reading one costs half as much as checking a
 * signature, so the last ones are kept.
 */
function ownerOf(ethers: Ethers, key: string): Owner {
  const known = owners.get(key);
  if (known !== undefined) return known;
  const hash = ethers.ripemd160(ethers.sha256(`0x${key}`)).slice(2);
  const owner = { key, address: addressIn(ethers, hash), publicKey: publicKeyOf(key) };
  if (owners.size >= ownersMax) owners.clear();
  owners.set(key, owner);
  return owner;
}

function publicKeyOf(key: string): KeyObject | null {
  try {
    return createPublicKey({
      key: Buffer.concat([keyHead, Buffer.from(key, "hex")]),
      format: "der",
      type: "spki",
    });
  } catch {
    return null;
  }
}

/**
 * The key, if it made the signature over these bytes; "another" if it did not, "none" for a
 * signature or a key of no form. The ledger signs the first half of a SHA-512, and ECDSA takes of a
 * longer hash the leftmost bits, as many as the curve's order has (SEC 1, section 4.1.4).
 */
function signerOf(unsigned: Buffer, signature: string, { key, publicKey }: Owner): string {
  const der = Buffer.from(signature, "hex");
  if (publicKey === null || pairIn(der) === null) return "none";
  return verify("sha512", Buffer.concat([Buffer.from("STX\0", "latin1"), unsigned]), publicKey, der)
    ? key
    : "another";
}

/** DER with s in the lower half: anybody could turn another one into a second id. */
function pairIn(der: Buffer): readonly [r: bigint, s: bigint] | null {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return null;
  const first = integerAt(der, 2);
  const second = first === null ? null : integerAt(der, first.end);
  if (first === null || second === null || second.end !== der.length) return null;
  return second.value > order / 2n ? null : [first.value, second.value];
}

function integerAt(
  der: Buffer,
  at: number,
): { readonly value: bigint; readonly end: number } | null {
  const length = der[at + 1] ?? 0;
  const end = at + 2 + length;
  if (der[at] !== 2 || length === 0 || length > hashBytes + 1 || end > der.length) return null;
  const digits = der.subarray(at + 2, end);
  const [head = 0, next = 0] = digits;
  const isShortest = head < 0x80 && (head !== 0 || next >= 0x80);
  const value = BigInt(`0x${digits.toString("hex")}`);
  return isShortest && value > 0n && value < order ? { value, end } : null;
}

/** The classic address of 20 bytes; "none" without them. */
function addressIn({ sha256 }: Ethers, hash: string | undefined): string {
  if (hash === undefined) return "none";
  const payload = `00${hash}`;
  const checksum = sha256(sha256(`0x${payload}`)).slice(2, 10);
  return base58(Buffer.from(payload + checksum, "hex"));
}

function base58(bytes: Buffer): string {
  let text = "";
  for (let rest = BigInt(`0x${bytes.toString("hex")}`); rest > 0n; rest /= 58n)
    text = alphabet.charAt(Number(rest % 58n)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return alphabet.charAt(0).repeat(zeros) + text;
}
