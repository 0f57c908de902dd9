/**
 * Deposits and reorganisations by fronts over a real bitcoind: several outputs of one transaction,
 * change, rewards of blocks, and chains that lose up to six blocks. Skipped, with the command that
 * brings the daemon, where it is not there.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DetectedPayment, WatchedBlock } from "../../chains/nodes.ts";
import { createUtxoWatcher } from "../../chains/utxo/node-watcher.ts";
import { encodeTransaction, txHashOf } from "../../chains/utxo/raw-transaction.ts";
import { digestsOf, encodeSignature } from "../../chains/utxo/transaction.ts";
import { missing } from "../../lab/utxo-node/daemon.ts";
import { type Account, scriptOf, signAll } from "./utxo-values.ts";
import { openWallet, type Wallet } from "./utxo-wallet.ts";

const why = missing("bitcoin");
const depthMax = 6;

/** A book of watched addresses. */
class Book {
  readonly #all = new Set<string>();
  get size(): number {
    return this.#all.size;
  }
  has(address: string): boolean {
    return this.#all.has(address);
  }
  all(): Iterable<string> {
    return this.#all;
  }
  add(address: string): string {
    this.#all.add(address);
    return address;
  }
}

describe.skipIf(why !== null)("deposits by providers over bitcoind", () => {
  if (why !== null) {
    process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
    it.skip(why, () => undefined);
    return;
  }
  let wallet: Wallet;
  const confirmations = depthMax + 1;

  beforeAll(async () => {
    wallet = await openWallet("bitcoin", confirmations);
    await wallet.fund(30);
  });
  afterAll(() => wallet?.close());

  /** A transaction of an account's largest coin with these outputs, in sat; the rest is the fee. */
  async function paying(
    outputs: readonly (readonly [address: string, units: bigint])[],
    account: Account = wallet.owner,
  ) {
    const { coins } = await wallet.market(account);
    const coin = [...coins].sort((a, b) => Number(b.units - a.units))[0]!;
    const [txHash = "", output] = coin.id.split(":");
    const inputs = [
      { txHash, output: Number(output), script: new Uint8Array(0), sequence: 0xfffffffd },
    ];
    const paid = outputs.map(([address, units]) => ({
      units,
      script: scriptOf(address, wallet.network),
    }));
    const transaction = { version: 2, inputs, outputs: paid, lockTime: 0 };
    const digests = digestsOf({
      transaction,
      coins: [{ units: coin.units, script: account.script }],
    });
    const [signature = new Uint8Array(0)] = signAll(digests as Uint8Array[], account.key);
    const stack = [encodeSignature(signature.subarray(0, 64)), secp256k1.getPublicKey(account.key)];
    const raw = Buffer.from(encodeTransaction(transaction, [stack])).toString("hex");
    await wallet.testNetwork.node.ask("sendrawtransaction", raw, 0);
    return { txHash: txHashOf(encodeTransaction(transaction)), units: coin.units };
  }

  const tipBlock = async (): Promise<WatchedBlock> =>
    wallet.watcher.block((await wallet.watcher.tip()).number, true);
  const found = async (
    blocks: readonly WatchedBlock[],
    book: Book,
    isAgreed = true,
  ): Promise<readonly DetectedPayment[]> =>
    wallet.watcher.payments(blocks, [""], book, isAgreed).then(({ found }) => found);

  it("several outputs of one transaction are several payments, each named by its own number", async () => {
    const book = new Book();
    const [one, two] = [book.add(wallet.other), book.add(wallet.other)];
    const { txHash, units } = await paying([
      [one, 50_000n],
      [wallet.other, 60_000n],
      [two, 70_000n],
      [one, 80_000n],
      [wallet.owner.address, wallet.network.dustSatPerKvB + 5_000_000n],
      [wallet.values.destination(wallet.network, "p2tr"), 90_000n],
    ]);
    expect(units).toBeGreaterThan(5_353_000n);
    await wallet.mine(1);
    const block = await tipBlock();
    const named = { txHash, contract: "", block: block.number, blockHash: block.hash };
    const all = [
      { ...named, index: 0, address: one, amountUnits: 50_000n },
      { ...named, index: 2, address: two, amountUnits: 70_000n },
      { ...named, index: 3, address: one, amountUnits: 80_000n },
    ];
    expect(await found([block], book)).toEqual(all);
    expect(await found([await wallet.watcher.block(block.number, false)], book, false)).toEqual(
      all,
    );
    expect((await wallet.watcher.payments([block], ["some token"], book, true)).found).toEqual([]);
    expect(await found([block], new Book())).toEqual([]);
  });

  it("an output of every kind of address is found", async () => {
    const book = new Book();
    const kinds = ["p2pkh", "p2sh", "p2wpkh", "p2wsh", "p2tr"] as const;
    const outputs = kinds.map(
      (kind, at) =>
        [book.add(wallet.values.destination(wallet.network, kind)), 10_000n + BigInt(at)] as const,
    );
    await paying(outputs);
    await wallet.mine(1);
    expect((await found([await tipBlock()], book)).map(({ amountUnits }) => amountUnits)).toEqual(
      outputs.map(([, units]) => units),
    );
  });

  it("a coin that a long transaction made is no coin to pay with, is named once, and is a payment all the same", async () => {
    const book = new Book();
    const deposit = wallet.values.account(wallet.network);
    book.add(deposit.address);
    const fill = (count: number) =>
      Array.from({ length: count }, () => [wallet.other, 1_000n] as const);
    const long = await paying([[deposit.address, 500_000n], ...fill(2_000)]);
    await wallet.mine(1);
    expect(await found([await tipBlock()], book)).toMatchObject([
      { txHash: long.txHash, amountUnits: 500_000n },
    ]);
    const short = await paying([[deposit.address, 400_000n], ...fill(1_500)]);
    await wallet.mine(confirmations);
    for (let times = 0; times < 2; times += 1) {
      const { coins, balances } = await wallet.sender.chainState(deposit.address);
      expect(coins).toEqual([{ id: `${short.txHash}:0`, units: 400_000n }]);
      expect(balances.get("")).toBe(900_000n);
    }
    const named = wallet.logged.filter(({ event }) => event === "coin-unused");
    expect(named).toMatchObject([
      { txHash: long.txHash, address: deposit.address, amount: "500000" },
    ]);
    const { number } = await wallet.watcher.finalTip();
    expect(await wallet.watcher.balance(deposit.address, "", number)).toBe(900_000n);
  });

  it("an output back to an address that the transaction spends from is change and no payment", async () => {
    const book = new Book();
    const deposit = wallet.values.account(wallet.network);
    book.add(deposit.address);
    await paying([[deposit.address, 900_000n]]);
    await wallet.mine(confirmations);
    const { number } = await wallet.watcher.finalTip();
    expect(await found([await wallet.watcher.block(number, true)], book)).toMatchObject([
      { amountUnits: 900_000n },
    ]);
    expect(await wallet.watcher.balance(deposit.address, "", number)).toBe(900_000n);
    const { txHash } = await paying(
      [
        [deposit.address, 800_000n],
        [wallet.other, 90_000n],
      ],
      deposit,
    );
    await wallet.mine(1);
    const block = await tipBlock();
    expect(await found([block], book)).toEqual([]);
    // The same outputs by another sender are a payment.
    await paying([
      [deposit.address, 800_000n],
      [wallet.other, 90_000n],
    ]);
    await wallet.mine(1);
    expect(await found([await tipBlock()], book)).toMatchObject([{ amountUnits: 800_000n }]);
    expect(
      (await wallet.watcher.outgoing([block], new Set([deposit.address]))).found,
    ).toMatchObject([{ txHash, amountUnits: 90_000n }]);
  });

  it("the reward of a block is a payment of the block 100 later, for a watcher that read the block and for a new one", async () => {
    const book = new Book();
    const miner = wallet.values.account(wallet.network);
    book.add(miner.address);
    const [hash = ""] = await wallet.mine(1, miner.address);
    const rewarded = await tipBlock();
    expect(rewarded.hash).toBe(hash);
    expect(await found([rewarded], book)).toEqual([]);
    expect(await found([rewarded], book, false)).toEqual([]);
    await wallet.mine(99 + confirmations);
    const blocks = await Promise.all(
      [99, 100, 101].map((after) => wallet.watcher.block(rewarded.number + after, true)),
    );
    const { tx } = await wallet.testNetwork.node.ask<{ tx: string[] }>("getblock", hash, 1);
    const named = { txHash: tx[0], index: 0, address: miner.address, contract: "" };
    const payments = await found(blocks, book);
    expect(payments).toMatchObject([
      { ...named, block: rewarded.number + 100, blockHash: blocks[1]?.hash },
    ]);
    const { urls } = wallet.testNetwork;
    const fresh = createUtxoWatcher({
      urls,
      network: wallet.network,
      confirmations,
      log: wallet.log,
    });
    expect((await fresh.payments(blocks, [""], book, true)).found).toEqual(payments);
    fresh.close();
    // Nothing may spend it before, so no balance has it.
    const units = payments[0]?.amountUnits;
    expect(await wallet.watcher.balance(miner.address, "", rewarded.number + 98)).toBe(0n);
    expect(await wallet.watcher.balance(miner.address, "", rewarded.number + 99)).toBe(units);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    "a chain that loses %d blocks has called nothing in them final, and shows no deposit of theirs",
    async (depth) => {
      const { node } = wallet.testNetwork;
      const book = new Book();
      const target = { destination: book.add(wallet.other), amountUnits: 700_000n + BigInt(depth) };
      const signed = await wallet.first(target);
      expect(await wallet.sender.broadcast(signed.raw)).toMatchObject({ standing: "taken" });
      const lost = await wallet.mine(depth);
      const head = await wallet.watcher.tip();
      const first = head.number - depth + 1;
      const blocks = await Promise.all(
        lost.map((_, at) => wallet.watcher.block(first + at, false)),
      );
      expect((await found(blocks, book, false)).map(({ amountUnits }) => amountUnits)).toEqual([
        target.amountUnits,
      ]);
      const attempts = [{ txHash: signed.txHash, isCancel: false }];
      const judged = async () => {
        const final = await wallet.watcher.finalTip();
        const verdict = await wallet.watcher
          .pass(final)
          .judge(wallet.payment(target), [signed.txHash]);
        return {
          verdict,
          outcome: await wallet.sender.chainOutcome(wallet.payment(target), attempts),
        };
      };
      expect(await judged()).toMatchObject({
        verdict: { kind: "confirming", block: first },
        outcome: null,
      });
      expect((await wallet.watcher.finalTip()).number).toBeLessThan(first);
      await node.ask("invalidateblock", lost[0]);
      for (let made = 0; made <= depth; made += 1)
        await node.ask("generateblock", wallet.other, []);
      // The watcher finds the change by a block whose parent is not the one before.
      const next = await wallet.watcher.block(head.number + 1, false);
      expect(next.parentHash).not.toBe(blocks.at(-1)?.hash);
      const renewed = await Promise.all(
        lost.map((_, at) => wallet.watcher.block(first + at, false)),
      );
      expect(await found(renewed, book, false)).toEqual([]);
      expect(await wallet.sender.locations("", [{ slot: "0", txHashes: [signed.txHash] }])).toEqual(
        [{ location: null, isDoubtful: false }],
      );
      expect(await judged()).toEqual({ verdict: { kind: "waiting" }, outcome: null });
      // The mempool has the payment again, and the new chain takes it.
      await wallet.sender.broadcast(signed.raw);
      await wallet.mine(depthMax);
      expect(await judged()).toMatchObject({ verdict: { kind: "confirming" }, outcome: null });
      await wallet.mine(1);
      const block = head.number + 2;
      expect(await judged()).toMatchObject({
        verdict: { kind: "completed", final: { txHash: signed.txHash, block } },
        outcome: { outcome: "paid", block },
      });
      expect(await found([await wallet.watcher.block(block, true)], book)).toMatchObject([
        { amountUnits: target.amountUnits },
      ]);
    },
    30_000,
  );
});
