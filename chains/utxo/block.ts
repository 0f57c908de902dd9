/**
 * A raw block, proven by its hash alone: the hash covers the header, the header's root covers the
 * transactions without their SegWit data, and an output of the first transaction covers that data.
 * So the bytes may come from one node, where enough nodes agree on the hash. The proof of work is
 * not checked. Pure. Sources: BIP-141 ("Commitment structure"); merkle.cpp of Bitcoin Core on
 * CVE-2012-2459; Litecoin Core, block.h (MWEB data behind the transactions).
 */
import {
  type ChainOutput,
  type ChainTransaction,
  readTransaction,
  TransactionByteReader,
} from "./chain-transaction.ts";
import { sha256Twice } from "./hash.ts";

export interface Block {
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampMs: number; // by the header, Unix milliseconds
  readonly transactions: readonly ChainTransaction[];
  readonly weight: number; // bytes that it keeps in memory
}

export type ParsedBlock =
  | { readonly ok: true; readonly block: Block }
  | { readonly ok: false; readonly problem: string };

/** The most bytes of a block: 4,000,000 by weight, and room for Litecoin's extension. */
export const blockBytesMax = 8_000_000;
const headerBytes = 80;
/** No transaction has fewer. */
const transactionBytesMin = 60;
/** An inner node of the tree has as many bytes, so a transaction of this length could be one. */
const nodeBytes = 64;
/** OP_RETURN, a push of 36 bytes, and the mark of the output that covers the SegWit data. */
const commitmentStart = Uint8Array.of(0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed);
const hashBytes = 32;
/** Memory of an object of a parsed transaction beside its bytes, roughly. */
const objectBytes = 400;

/** Reads a block with this hash (64 hex digits). */
export function readBlock(bytes: Uint8Array, hash: string): ParsedBlock {
  const no = (problem: string): ParsedBlock => ({ ok: false, problem });
  if (bytes.length > blockBytesMax) return no(`more than ${blockBytesMax} bytes`);
  if (bytes.length < headerBytes) return no("shorter than a header");
  const header = Buffer.from(bytes.buffer, bytes.byteOffset, headerBytes);
  if (reversedHex(sha256Twice(header)) !== hash) return no("its header has another hash");
  const body = bytes.subarray(headerBytes);
  const reader = new TransactionByteReader(body);
  const count = reader.items(transactionBytesMin, body.length);
  const transactions: ChainTransaction[] = [];
  for (let at = 0; at < count; at += 1) {
    const transaction = readTransaction(reader, body);
    if (transaction === null) return no(`transaction ${at} cannot be read`);
    transactions.push(transaction);
  }
  const problem = problemOf(header, transactions);
  if (problem !== "") return no(problem);
  // Behind an extension's transaction stands the extension's own block, which pays no address.
  const isExtended = transactions.at(-1)?.isExtension === true;
  if (!isExtended && reader.at !== body.length) return no("bytes are left behind its transactions");
  const parts = transactions.reduce(
    (sum, { inputs, outputs }) => sum + 1 + inputs.length + outputs.length,
    0,
  );
  const weight = bytes.length * 2 + parts * objectBytes;
  const parentHash = reversedHex(header.subarray(4, 36));
  return {
    ok: true,
    block: { hash, parentHash, timestampMs: header.readUInt32LE(68) * 1000, transactions, weight },
  };
}

function problemOf(header: Buffer, transactions: readonly ChainTransaction[]): string {
  const [reward, ...others] = transactions;
  if (reward === undefined || !reward.isReward) return "its first transaction is no reward";
  if (others.some(({ isReward }) => isReward)) return "it has a second reward";
  if (transactions.some(({ body }) => body.length === nodeBytes))
    return "a transaction has the length of an inner node";
  const root = rootOf(transactions.map(({ txHash }) => Buffer.from(txHash, "hex").reverse()));
  if (root === null) return "its transactions repeat";
  if (!root.equals(header.subarray(36, 68))) return "its transactions are not those of the header";
  if (!transactions.some(({ hasStacks }) => hasStacks)) return "";
  const committed = commitmentIn(reward.outputs);
  const [reserved, ...more] = reward.inputs[0]?.stack ?? [];
  if (committed === null || reserved?.length !== hashBytes || more.length > 0)
    return "nothing covers its SegWit data";
  const wholes = [
    Buffer.alloc(hashBytes),
    ...others.map(({ whole }) => Buffer.from(sha256Twice(whole))),
  ];
  const wholeRoot = rootOf(wholes);
  const covers = wholeRoot === null ? null : sha256Twice(Buffer.concat([wholeRoot, reserved]));
  return covers !== null && Buffer.compare(covers, committed) === 0
    ? ""
    : "its SegWit data is not that of its first transaction";
}

/** The hash in the last output with the mark; null without one. */
function commitmentIn(outputs: readonly ChainOutput[]): Uint8Array | null {
  const start = commitmentStart.length;
  const found = outputs.filter(
    ({ script }) =>
      script.length >= start + hashBytes &&
      Buffer.compare(script.subarray(0, start), commitmentStart) === 0,
  );
  return found.at(-1)?.script.subarray(start, start + hashBytes) ?? null;
}

/**
 * The root of the tree over hashes. The chain takes the last of an odd row twice, so another list
 * has the same root: null for a list that repeats a pair.
 */
function rootOf(hashes: readonly Buffer[]): Buffer | null {
  let row = [...hashes];
  while (row.length > 1) {
    const next: Buffer[] = [];
    for (let at = 0; at < row.length; at += 2) {
      const left = row[at] as Buffer;
      const right = row[at + 1];
      if (right !== undefined && left.equals(right)) return null;
      next.push(Buffer.from(sha256Twice(Buffer.concat([left, right ?? left]))));
    }
    row = next;
  }
  return row[0] ?? null;
}

function reversedHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).reverse().toString("hex");
}
