/**
 * Transactions of other people, as blocks and nodes have them: with SegWit data of any length, and
 * with Litecoin's flag 8. Scripts are views of the given bytes. Pure. Sources: BIP-141, BIP-144;
 * Litecoin Core, transaction.h (UnserializeTransaction).
 */
import { ByteReader, joinBytes } from "./bytes.ts";
import type { SegwitStack } from "./raw-transaction.ts";
import { txHashOf } from "./raw-transaction.ts";

export interface ChainInput {
  /** The spent coin: id of its transaction, a colon, and the output's number. */
  readonly outpoint: string;
  readonly stack: SegwitStack;
}

export interface ChainOutput {
  readonly units: bigint; // sat
  readonly script: Uint8Array;
}

export interface ChainTransaction {
  readonly txHash: string;
  readonly inputs: readonly ChainInput[];
  readonly outputs: readonly ChainOutput[];
  readonly isReward: boolean; // the first transaction of a block, whose coins come from nothing
  readonly isExtension: boolean; // Litecoin's last one of a block, which pays out of its extension
  readonly hasStacks: boolean;
  readonly body: Uint8Array; // its bytes without SegWit data, whose hash is the id
  readonly whole: Uint8Array; // its bytes with SegWit data, without flag 8
}

const flags = { segwit: 1, extension: 8 } as const;
const outpointBytes = 36;
const inputBytesMin = outpointBytes + 5;
const outputBytesMin = 9;
const noTransaction = "0".repeat(64);
const noOutput = 0xffffffff;
/** Marker and flag of a transaction with SegWit data. */
const segwitMark = Uint8Array.of(0, flags.segwit);

/** Reads sizes up to 2^32-1, which stand in blocks, in their shortest form. */
export class TransactionByteReader extends ByteReader {
  size(): number {
    const first = this.byte();
    if (first < 0xfd) return first;
    const size = first === 0xfd ? this.#uint16() : first === 0xfe ? this.uint32() : 0;
    if (size >= (first === 0xfd ? 0xfd : 0x10000)) return size;
    this.fail();
    return 0;
  }

  /** A number of items that take `itemBytes` at least; more than `left` can hold is a fault. */
  items(itemBytes: number, left: number): number {
    const count = this.size();
    if (count * itemBytes <= left) return count;
    this.fail();
    return 0;
  }

  #uint16(): number {
    const [low, high] = this.take(2);
    return (low ?? 0) + (high ?? 0) * 0x100;
  }
}

/** Reads one transaction; null if the bytes are not exactly one. */
export function readWholeTransaction(bytes: Uint8Array): ChainTransaction | null {
  const reader = new TransactionByteReader(bytes);
  const transaction = readTransaction(reader, bytes);
  return reader.isWhole ? transaction : null;
}

/**
 * Reads the transaction at the reader's place in `bytes`; null for a fault. The caller checks the
 * reader in the end.
 */
export function readTransaction(
  reader: TransactionByteReader,
  bytes: Uint8Array,
): ChainTransaction | null {
  const left = (): number => bytes.length - reader.at;
  const start = reader.at;
  const version = reader.take(4);
  const isMarked = bytes[reader.at] === 0;
  const flag = isMarked ? (reader.take(2)[1] ?? 0) : 0;
  if (isMarked && (flag === 0 || (flag & ~(flags.segwit | flags.extension)) !== 0)) return null;
  const bodyStart = reader.at;
  const outpoints = times(reader.items(inputBytesMin, left()), () => readOutpoint(reader));
  const outputs = times(reader.items(outputBytesMin, left()), () => ({
    units: reader.uint64(),
    script: reader.take(reader.size()),
  }));
  const bodyEnd = reader.at;
  const hasStacks = (flag & flags.segwit) !== 0;
  const stacks = hasStacks
    ? outpoints.map(() => times(reader.items(1, left()), () => reader.take(reader.size())))
    : [];
  const stacksEnd = reader.at;
  const isExtension = (flag & flags.extension) !== 0;
  // One byte says that no data of the extension follows here: a block has it behind its
  // transactions.
  if (isExtension && reader.byte() !== 0) return null;
  const lockTime = reader.take(4);
  if (lockTime.length !== 4 || outpoints.length === 0 || outputs.length === 0) return null;
  const body = joinBytes([version, bytes.subarray(bodyStart, bodyEnd), lockTime]);
  const whole =
    hasStacks && !isExtension
      ? bytes.subarray(start, reader.at)
      : hasStacks
        ? joinBytes([version, segwitMark, bytes.subarray(bodyStart, stacksEnd), lockTime])
        : body;
  const [first, ...others] = outpoints;
  return {
    txHash: txHashOf(body),
    inputs: outpoints.map(({ txHash, output }, at) => ({
      outpoint: `${txHash}:${output}`,
      stack: stacks[at] ?? [],
    })),
    outputs,
    isReward: others.length === 0 && first?.txHash === noTransaction && first.output === noOutput,
    isExtension,
    hasStacks,
    body,
    whole,
  };
}

function readOutpoint(reader: TransactionByteReader): {
  readonly txHash: string;
  readonly output: number;
} {
  const txHash = Buffer.from(reader.take(32)).reverse().toString("hex");
  const output = reader.uint32();
  reader.take(reader.size());
  reader.take(4); // the sequence
  return { txHash, output };
}

function times<T>(count: number, read: () => T): T[] {
  return Array.from({ length: count }, read);
}
