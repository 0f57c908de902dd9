/**
 * The bytes of a block of a chain of coins: header, first transaction and root, without proof of
 * work. Pure. Sources: BIP-141; the block header in Bitcoin's developer reference.
 */
import { type CoinTransaction, readCoinRaw, reversed, twice } from "./coin-raw.ts";

const zeros = "0".repeat(64);

/** A block's bytes, before its own hash is known. */
export interface BlockBytes {
  readonly header: Buffer;
  readonly reward: CoinTransaction;
  readonly transactions: readonly CoinTransaction[]; // without the reward
}

/**
 * A block of these transactions. `mark` makes its first transaction another than that of every
 * other block; `script` gets the reward's `units`, where that is named.
 */
export function writeBlock(
  { parentHash, timestamp }: { readonly parentHash: string; readonly timestamp: number }, // seconds
  mark: string,
  transactions: readonly CoinTransaction[],
  paid?: { readonly units: bigint; readonly script: string },
): BlockBytes {
  const reward = rewardOf(mark, transactions, paid);
  const root = rootOf([reward, ...transactions].map(({ hash }) => reversed(hash)));
  const header = Buffer.alloc(80);
  header.write(reversed(parentHash), 4, "hex");
  header.write(root, 36, "hex");
  header.writeUInt32LE(timestamp, 68);
  return { header, reward, transactions };
}

export function blockHash({ header }: BlockBytes): string {
  return reversed(twice(header).toString("hex"));
}

/** The bytes of a whole block, as its nodes show them. */
export function blockBytes({ header, reward, transactions }: BlockBytes): Buffer {
  const count = Buffer.from([transactions.length + 1]);
  return Buffer.concat([
    header,
    count,
    ...[reward, ...transactions].map(({ raw }) => Buffer.from(raw, "hex")),
  ]);
}

/** The first transaction of a block, which covers the SegWit data of the others. BIP-141 */
function rewardOf(
  mark: string,
  transactions: readonly CoinTransaction[],
  paid?: { readonly units: bigint; readonly script: string },
): CoinTransaction {
  const wholes = transactions.map(({ raw }) => twice(Buffer.from(raw, "hex")).toString("hex"));
  const covered = Buffer.from(rootOf([zeros, ...wholes]) + zeros, "hex");
  const text = Buffer.from(mark).toString("hex");
  const input = `01${zeros}ffffffff${byte(text.length / 2)}${text}ffffffff`;
  const outputs = [
    outputOf(0n, `6a24aa21a9ed${twice(covered).toString("hex")}`),
    ...(paid === undefined ? [] : [outputOf(paid.units, paid.script)]),
  ];
  const raw = `020000000001${input}${byte(outputs.length)}${outputs.join("")}0120${zeros}00000000`;
  return readCoinRaw(raw) as CoinTransaction;
}

function outputOf(units: bigint, script: string): string {
  const value = Buffer.alloc(8);
  value.writeBigUInt64LE(units);
  return `${value.toString("hex")}${byte(script.length / 2)}${script}`;
}

function byte(value: number): string {
  return Buffer.from([value]).toString("hex");
}

function rootOf(hashes: readonly string[]): string {
  let row = [...hashes];
  while (row.length > 1) {
    row = row.flatMap((left, at) => {
      return at % 2 === 1
        ? []
        : [twice(Buffer.from(left + (row[at + 1] ?? left), "hex")).toString("hex")];
    });
  }
  return row[0] ?? zeros;
}
