/**
 * The unsigned bytes: a PSBT of version 0 with the transaction, and with amount and script of each
 * coin, because a signature covers both (BIP-143) and the transaction names neither. No other field
 * is allowed. A PSBT is no larger than a form of our own, and every other program of the chain can
 * show it. The previous transactions are left out: `build` has checked them. Pure. Source: BIP-174.
 */
import { ByteReader, joinBytes, withLength } from "./bytes.ts";
import {
  decodeTransaction,
  encodeOutput,
  encodeTransaction,
  type RawTransaction,
  readOutput,
  type TransactionOutput,
} from "./raw-transaction.ts";

/** A transaction, and the coin of each input. */
export interface UnsignedTransaction {
  readonly transaction: RawTransaction;
  readonly coins: readonly TransactionOutput[];
}

const start = Uint8Array.from(Buffer.from("70736274ff", "hex"));
/** A key of one byte behind its length, and the end of a map. */
const key = { transaction: Uint8Array.of(1, 0x00), coin: Uint8Array.of(1, 0x01) } as const;
const end = Uint8Array.of(0);
/** The longest that `build` makes has fewer than 6,000 bytes. */
const bytesMax = 8_192;

export function encodeUnsigned({ transaction, coins }: UnsignedTransaction): Uint8Array {
  return joinBytes([
    ...[start, key.transaction, withLength(encodeTransaction(transaction)), end],
    ...coins.flatMap((coin) => [key.coin, withLength(encodeOutput(coin)), end]),
    ...transaction.outputs.map(() => end),
  ]);
}

/** Reads the bytes back; null unless `encodeUnsigned` makes exactly them. */
export function decodeUnsigned(bytes: Uint8Array): UnsignedTransaction | null {
  if (bytes.length > bytesMax) return null;
  const reader = new ByteReader(bytes);
  reader.take(start.length + key.transaction.length);
  const decoded = decodeTransaction(reader.sized());
  if (decoded === null) return null;
  const { transaction } = decoded;
  const coins = transaction.inputs.map(() => {
    reader.take(end.length + key.coin.length + 1);
    return readOutput(reader);
  });
  const unsigned = { transaction, coins };
  return Buffer.compare(encodeUnsigned(unsigned), bytes) === 0 ? unsigned : null;
}
