/**
 * Reads a signed transaction back before a byte reaches a node: every field, the signature and the
 * id. Shares no code with the builder of the transaction: a small reader of the binary format
 * stands here, and `ethers` hashes and checks the signature. The bytes name no network, so none is
 * compared. Sources: the ledger's documentation of its binary format, of base58 and of
 * cryptographic keys; BIP-66 (DER).
 */
import type { IndependentReading, Said } from "../nodes.ts";

type Ethers = Pick<typeof import("ethers"), "ripemd160" | "sha256" | "sha512" | "SigningKey">;

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

let loading: Promise<Ethers> | null = null;

/** In the interface's form. */
export const readBack: IndependentReading = async (raw, said) => {
  loading ??= import("ethers");
  return compare(await loading, Buffer.from(raw.replace(/^0x/, ""), "hex"), said);
};

function compare(
  ethers: Ethers,
  bytes: Buffer,
  { payment, txParams, txHash, isCancel }: Said,
): string {
  const { fields, unsigned } = read(bytes);
  const { account, slot, contract, destination, tag, amountUnits } = payment;
  const addressOf = (name: string): string => addressIn(ethers, fields.get(name));
  const key = fields.get("public key") ?? "";
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
    ["owner of the key", addressOfKey(ethers, key), account],
    ["key of the signature", signerOf(ethers, unsigned, fields.get("signature") ?? ""), key],
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

/** The public key that made the signature over these bytes, "none" for a signature of no form. */
function signerOf(ethers: Ethers, unsigned: Buffer, signature: string): string {
  const pair = pairIn(Buffer.from(signature, "hex"));
  if (pair === null) return "none";
  const digest = `0x${half(ethers, "STX\0", unsigned)}`;
  const [r, s] = pair.map((one) => `0x${one.toString(16).padStart(hashBytes * 2, "0")}`) as [
    string,
    string,
  ];
  const keys = ([27, 28] as const).flatMap((v) => {
    try {
      return [
        ethers.SigningKey.computePublicKey(
          ethers.SigningKey.recoverPublicKey(digest, { r, s, v }),
          true,
        ).slice(2),
      ];
    } catch {
      return []; // no point of the curve has this r
    }
  });
  const named = keyIn(unsigned);
  return keys.find((one) => one === named) ?? keys[0] ?? "none";
}

function keyIn(unsigned: Buffer): string {
  return read(unsigned).fields.get("public key") ?? "";
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

function addressOfKey(ethers: Ethers, key: string): string {
  return addressIn(ethers, ethers.ripemd160(ethers.sha256(`0x${key}`)).slice(2));
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
