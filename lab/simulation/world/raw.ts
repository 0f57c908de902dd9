/**
 * Signed type-2 transactions read by code that shares nothing with the code that builds them: what
 * the simulated chain, and every invariant about what left the signer, goes by. Source: EIP-1559,
 * EIP-2718; Yellow Paper appendix B (RLP).
 */
import { keccak_256 } from "@noble/hashes/sha3";
import { recover } from "../fakes/curve.ts";

export interface SignedTransaction {
  readonly hash: string;
  readonly from: string; // lower case
  readonly chainId: number;
  readonly nonce: number;
  readonly tipWei: bigint;
  readonly feeMaxWei: bigint; // per gas
  readonly gasLimit: bigint;
  readonly to: string; // lower case
  readonly valueWei: bigint;
  readonly data: string;
  /**
   * Its payment: the receiver with its tag (lower case), the contract ("" native) and base units;
   * null when it is no plain payment.
   */
  readonly payment: Payment | null;
  /**
   * The last block that may take it, by the simulated chain's numbers; absent where it has none.
   */
  readonly lastBlock?: number;
}

interface Payment {
  readonly contract: string;
  readonly receiver: string;
  readonly units: bigint;
}

interface PayloadSpan {
  readonly start: number; // the payload's
  readonly end: number;
}

const known = new Map<string, SignedTransaction | null>();
const knownMax = 2_000;

/** Null for bytes that are no signed transaction of type 2. The same bytes are read once. */
export function readRaw(raw: string): SignedTransaction | null {
  const before = known.get(raw);
  if (before !== undefined) return before;
  const read = decode(Buffer.from(raw.slice(2), "hex"));
  if (known.size >= knownMax) known.clear();
  known.set(raw, read);
  return read;
}

/** It pays nothing, to its own account. */
export function isCancel({ from, to, valueWei, data }: SignedTransaction): boolean {
  return to === from && valueWei === 0n && data === "0x";
}

function itemAt(bytes: Buffer, at: number): PayloadSpan {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return { start: at, end: at + 1 };
  const isList = first >= 0xc0;
  const short = first - (isList ? 0xc0 : 0x80);
  if (short <= 55) return { start: at + 1, end: at + 1 + short };
  const size = bytes.readUIntBE(at + 1, short - 55);
  return { start: at + 1 + short - 55, end: at + 1 + short - 55 + size };
}

function decode(bytes: Buffer): SignedTransaction | null {
  if (bytes[0] !== 2) return null;
  const list = itemAt(bytes, 1);
  const items: PayloadSpan[] = [];
  for (let at = list.start; at < list.end; at = (items.at(-1) as PayloadSpan).end)
    items.push(itemAt(bytes, at));
  if (items.length !== 12 || list.end !== bytes.length) return null;
  const hex = (index: number): string =>
    bytes.toString("hex", items[index]?.start, items[index]?.end);
  const integer = (index: number): bigint => BigInt(`0x${hex(index) || "0"}`);
  const signature = Buffer.from(hex(10).padStart(64, "0") + hex(11).padStart(64, "0"), "hex");
  const signed = bytes.subarray(list.start, (items[8] as PayloadSpan).end);
  const digest = keccak_256(Buffer.concat([Uint8Array.of(2), listHeader(signed.length), signed]));
  const publicKey = recover(digest, signature, integer(9) === 0n ? 0 : 1);
  if (publicKey === null) return null;
  const to = `0x${hex(5)}`;
  const data = hex(7);
  const valueWei = integer(6);
  return {
    hash: `0x${Buffer.from(keccak_256(bytes)).toString("hex")}`,
    from: `0x${Buffer.from(keccak_256(publicKey.subarray(1)).subarray(12)).toString("hex")}`,
    ...{
      chainId: Number(integer(0)),
      nonce: Number(integer(1)),
      tipWei: integer(2),
      feeMaxWei: integer(3),
      gasLimit: integer(4),
    },
    ...{ to, valueWei, data: `0x${data}`, payment: paymentOf(to, valueWei, data) },
  };
}

function paymentOf(to: string, valueWei: bigint, data: string): Payment | null {
  if (data === "") return { contract: "", receiver: to, units: valueWei };
  if (valueWei !== 0n || !data.startsWith("a9059cbb") || data.length !== 136) return null;
  return {
    contract: to,
    receiver: `0x${data.slice(32, 72)}`,
    units: BigInt(`0x${data.slice(72)}`),
  };
}

function listHeader(size: number): Buffer {
  if (size <= 55) return Buffer.from([0xc0 + size]);
  return size < 256 ? Buffer.from([0xf8, size]) : Buffer.from([0xf9, size >> 8, size & 0xff]);
}
