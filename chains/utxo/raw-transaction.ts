/**
 * Transactions as the chain writes them, and their ids. The id is the hash of the bytes without
 * SegWit data, so no signature changes it. Strict: each bound is checked, and no byte may be left.
 * Pure. Sources: BIP-141, BIP-144; for flag 8 Litecoin Core's transaction.h.
 */
import { ByteReader, compactSize, joinBytes, prependLength, uint32, uint64 } from "./bytes.ts";
import { sha256Twice } from "./hash.ts";

/** A coin as a transaction names it: the transaction that made it, and the output's number. */
export interface Outpoint {
  readonly txHash: string; // 64 hex digits, lower case
  readonly output: number; // 0 … 2^32-1
}

export interface TransactionInput extends Outpoint {
  readonly script: Uint8Array; // empty for a SegWit coin
  readonly sequence: number;
}

export interface TransactionOutput {
  readonly units: bigint; // sat
  readonly script: Uint8Array;
}

export interface RawTransaction {
  readonly version: number; // 0 … 2^32-1
  readonly inputs: readonly TransactionInput[];
  readonly outputs: readonly TransactionOutput[];
  readonly lockTime: number;
}

/** Signatures and keys of one input, behind the transaction's body. */
export type SegwitStack = readonly Uint8Array[];

const outpointBytes = 36;
/** The least bytes of an input (outpoint, length of the script, sequence) and of an output. */
const inputBytesMin = outpointBytes + 5;
const outputBytesMin = 9;
const flags = { segwit: 1, extension: 8 } as const;

/** The bytes of a transaction; with `stacks`, one for each input, in the form with SegWit data. */
export function encodeTransaction(
  { version, inputs, outputs, lockTime }: RawTransaction,
  stacks?: readonly SegwitStack[],
): Uint8Array {
  const isSegwit = stacks !== undefined;
  return joinBytes([
    uint32(version),
    isSegwit ? Uint8Array.of(0, flags.segwit) : new Uint8Array(0),
    compactSize(inputs.length),
    ...inputs.flatMap((input) => [
      outpointOf(input),
      prependLength(input.script),
      uint32(input.sequence),
    ]),
    compactSize(outputs.length),
    ...outputs.map(encodeOutput),
    ...(stacks ?? []).flatMap((stack) => [compactSize(stack.length), ...stack.map(prependLength)]),
    uint32(lockTime),
  ]);
}

/** Reads a transaction, with or without SegWit data; null if the bytes are not exactly one. */
export function decodeTransaction(
  bytes: Uint8Array,
): { readonly transaction: RawTransaction; readonly txHash: string } | null {
  const reader = new ByteReader(bytes);
  const version = reader.uint32();
  const isMarked = bytes[reader.at] === 0;
  const flag = isMarked ? (reader.take(2)[1] ?? 0) : 0;
  if (isMarked && (flag === 0 || (flag & ~(flags.segwit | flags.extension)) !== 0)) return null;
  const bodyStart = reader.at;
  const inputs = times(reader.count(inputBytesMin), () => readInput(reader));
  const outputs = times(reader.count(outputBytesMin), () => readOutput(reader));
  const bodyEnd = reader.at;
  if ((flag & flags.segwit) !== 0)
    for (const _ of inputs) times(reader.count(1), () => reader.sized());
  // Litecoin's last transaction of a block: one byte says that no data of its extension follows.
  if ((flag & flags.extension) !== 0 && reader.byte() !== 0) reader.fail();
  const lockTime = reader.uint32();
  if (!reader.isWhole || inputs.length === 0 || outputs.length === 0) return null;
  const body = joinBytes([
    bytes.subarray(0, 4),
    bytes.subarray(bodyStart, bodyEnd),
    uint32(lockTime),
  ]);
  return { transaction: { version, inputs, outputs, lockTime }, txHash: txHashOf(body) };
}

/** The id of a transaction by its bytes without SegWit data: 64 hex digits in lower case. */
export function txHashOf(body: Uint8Array): string {
  return Buffer.from(sha256Twice(body)).reverse().toString("hex");
}

/** A coin's 36 bytes; the id stands there in the other direction. */
export function outpointOf({ txHash, output }: Outpoint): Uint8Array {
  return joinBytes([Buffer.from(txHash, "hex").reverse(), uint32(output)]);
}

export function encodeOutput({ units, script }: TransactionOutput): Uint8Array {
  return joinBytes([uint64(units), prependLength(script)]);
}

/** Reads an output, which stands alone in other places than a transaction, too. */
export function readOutput(reader: ByteReader): TransactionOutput {
  const units = reader.uint64();
  return { units, script: reader.sized().slice() };
}

function readInput(reader: ByteReader): TransactionInput {
  const txHash = Buffer.from(reader.take(32)).reverse().toString("hex");
  const output = reader.uint32();
  return { txHash, output, script: reader.sized().slice(), sequence: reader.uint32() };
}

function times<T>(count: number, read: () => T): T[] {
  return Array.from({ length: count }, read);
}
