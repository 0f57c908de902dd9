/**
 * The reader of raw blocks: the network's first block as it is known everywhere, blocks that
 * another library writes, and every change to them refused.
 */
import * as bitcoinjs from "bitcoinjs-lib";
import { describe, expect, it } from "vitest";
import { readBlock } from "../../chains/utxo/block.ts";
import { readWholeTransaction } from "../../chains/utxo/chain-transaction.ts";
import { bytes, seed } from "../support/evm-values.ts";
import { Values } from "./utxo-values.ts";

const firstBlock =
  "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c0101000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000";
const firstHash = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
const segwit = bytes("6a24aa21a9ed");

const values = new Values(seed);

/** A payment of others, with SegWit data where `stackBytes` is above zero. */
function payment(stackBytes: number): bitcoinjs.Transaction {
  const tx = new bitcoinjs.Transaction();
  tx.version = 2;
  tx.addInput(values.bytes(32), values.random.below(5), 0xfffffffd);
  tx.addOutput(values.script("p2wpkh"), BigInt(1_000 + values.random.below(1_000_000)));
  tx.addOutput(values.script("p2tr"), 546n);
  if (stackBytes > 0) tx.setWitness(0, [values.bytes(71), values.bytes(stackBytes)]);
  return tx;
}

function reward(): bitcoinjs.Transaction {
  const tx = new bitcoinjs.Transaction();
  tx.addInput(new Uint8Array(32), 0xffffffff, 0xffffffff, Uint8Array.of(1, 7));
  tx.addOutput(values.script("p2wpkh"), 5_000_000_000n);
  return tx;
}

/** A block of these payments, as the other library makes it. */
function blockOf(
  payments: readonly bitcoinjs.Transaction[],
  isCovered = true,
): { readonly raw: Uint8Array; readonly hash: string } {
  const block = new bitcoinjs.Block();
  const first = reward();
  if (isCovered) {
    first.setWitness(0, [new Uint8Array(32)]);
    // The output is not yet there when the tree is made, and the tree does not have the reward.
    first.addOutput(Uint8Array.of(...segwit, ...new Uint8Array(32)), 0n);
    block.transactions = [first, ...payments];
    const covers = bitcoinjs.Block.calculateMerkleRoot(block.transactions, true);
    first.outs[1]!.script = Uint8Array.of(...segwit, ...covers);
  }
  block.transactions = [first, ...payments];
  block.prevHash = values.bytes(32);
  block.merkleRoot = bitcoinjs.Block.calculateMerkleRoot(block.transactions);
  block.timestamp = 1_700_000_000;
  block.bits = 0x207fffff;
  return { raw: block.toBuffer(), hash: block.getId() };
}

describe("a raw block", () => {
  it("the first one of the main network reads as it is known", () => {
    const read = readBlock(bytes(firstBlock), firstHash);
    if (!read.ok) throw new Error(read.problem);
    const { block } = read;
    expect(block).toMatchObject({
      hash: firstHash,
      parentHash: "0".repeat(64),
      timestampMs: 1_231_006_505_000,
    });
    expect(block.transactions).toMatchObject([
      {
        txHash: "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
        isReward: true,
      },
    ]);
    expect(block.transactions[0]?.outputs[0]?.units).toBe(5_000_000_000n);
  });

  it.each([0, 1, 2, 5, 12])("of the other library reads alike with %d payments", (count) => {
    const payments = Array.from({ length: count }, (_, at) => payment(at % 2 === 0 ? 33 : 0));
    const { raw, hash } = blockOf(payments, count > 0);
    const read = readBlock(raw, hash);
    if (!read.ok) throw new Error(read.problem);
    const other = bitcoinjs.Block.fromBuffer(raw);
    expect(read.block.transactions.map(({ txHash }) => txHash)).toEqual(
      other.transactions!.map((tx) => tx.getId()),
    );
    const shown = read.block.transactions.slice(1).map(({ inputs, outputs }) => ({
      coins: inputs.map(({ outpoint }) => outpoint),
      stacks: inputs.map(({ stack }) => stack.map((one) => Buffer.from(one).toString("hex"))),
      outputs: outputs.map(
        ({ units, script }) => `${units} ${Buffer.from(script).toString("hex")}`,
      ),
    }));
    expect(shown).toEqual(
      payments.map(({ ins, outs }) => ({
        coins: ins.map(
          ({ hash: id, index }) => `${Buffer.from(id).reverse().toString("hex")}:${index}`,
        ),
        stacks: ins.map(({ witness: stack }) =>
          stack.map((one) => Buffer.from(one).toString("hex")),
        ),
        outputs: outs.map(({ value, script }) => `${value} ${Buffer.from(script).toString("hex")}`),
      })),
    );
  });

  it("with SegWit data longer than 65,535 bytes reads, and so does such a transaction alone", () => {
    const long = payment(200_000);
    const { raw, hash } = blockOf([long]);
    expect(readBlock(raw, hash)).toMatchObject({ ok: true });
    expect(readWholeTransaction(long.toBuffer())?.txHash).toBe(long.getId());
    expect(readWholeTransaction(long.toBuffer())?.body.length).toBeLessThan(200);
    expect(readWholeTransaction(Buffer.concat([long.toBuffer(), Buffer.alloc(1)]))).toBeNull();
  });

  it("with one bit changed anywhere is refused", () => {
    const { raw, hash } = blockOf([payment(33), payment(0), payment(33)]);
    expect(readBlock(raw, hash)).toMatchObject({ ok: true });
    for (let at = 0; at < raw.length; at += 1) {
      const changed = Uint8Array.from(raw);
      changed[at]! ^= 1 << values.random.below(8);
      if (readBlock(changed, hash).ok) expect.unreachable(`byte ${at}`);
    }
  });

  it("cut anywhere, or with a byte more, is refused", () => {
    const { raw, hash } = blockOf([payment(33), payment(0)]);
    for (let length = 0; length < raw.length; length += 1)
      expect(readBlock(raw.subarray(0, length), hash).ok).toBe(false);
    expect(readBlock(Uint8Array.of(...raw, 0), hash)).toEqual({
      ok: false,
      problem: "bytes are left behind its transactions",
    });
  });

  it("that repeats its last payments has the same root, and is refused", () => {
    const payments = [payment(0), payment(0)];
    const { raw, hash } = blockOf(payments, false);
    const last = payments[1]!.toBuffer();
    const repeated = Uint8Array.from(Buffer.concat([raw, last]));
    repeated[80] = 4;
    expect(readBlock(raw, hash)).toMatchObject({ ok: true });
    expect(readBlock(repeated, hash)).toEqual({ ok: false, problem: "its transactions repeat" });
  });

  it("whose SegWit data nothing covers is refused", () => {
    const { raw, hash } = blockOf([payment(33)], false);
    expect(readBlock(raw, hash)).toEqual({ ok: false, problem: "nothing covers its SegWit data" });
  });

  it("without a reward, or with two, is refused", () => {
    const block = new bitcoinjs.Block();
    for (const [transactions, problem] of [
      [[payment(0)], "its first transaction is no reward"],
      [[reward(), reward()], "it has a second reward"],
    ] as const) {
      block.transactions = [...transactions];
      block.prevHash = new Uint8Array(32);
      block.merkleRoot = bitcoinjs.Block.calculateMerkleRoot(block.transactions);
      expect(readBlock(block.toBuffer(), block.getId())).toEqual({ ok: false, problem });
    }
  });
});
