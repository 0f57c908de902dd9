/**
 * Hot wallets with many coins over one real daemon, by two providers that list at most 500 coins of
 * an address, as Blockstream's program and mempool.space's do: 10, 400, 501 and 3,000 coins,
 * hundreds of transactions, and a mempool that hides them. Skipped, with the command that brings
 * the daemon, where it is not there.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Coin } from "../../chains/family.ts";
import { mergingLimits } from "../../chains/utxo/fees.ts";
import {
  encodeTransaction,
  type TransactionOutput,
  txHashOf,
} from "../../chains/utxo/raw-transaction.ts";
import { digestsOf, encodeSignature } from "../../chains/utxo/transaction.ts";
import { figuresOf } from "../../chains/utxo/tx-params.ts";
import { missing } from "../../lab/utxo-node/daemon.ts";
import { type Account, scriptOf, signAll } from "./utxo-values.ts";
import { openWallet, type Wallet } from "./utxo-wallet.ts";

const why = missing("bitcoin");
const confirmations = 2;
const feeSat = 200_000n;
const outputsMost = 1_000;

describe.skipIf(why !== null)("an account with many coins, by two providers over bitcoind", () => {
  if (why !== null) {
    process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
    it.skip(why, () => undefined);
    return;
  }
  let wallet: Wallet;
  let payer: Account;
  let purse: Coin[] = []; // of the payer
  const state = () => wallet.sender.chainState(wallet.owner.address);
  const script = () => scriptOf(wallet.owner.address, wallet.network);

  beforeAll(async () => {
    wallet = await openWallet("bitcoin", confirmations, [{}, { program: "mempool" }]);
    payer = wallet.values.account(wallet.network);
    await wallet.mine(20, payer.address);
    await wallet.mine(100 + confirmations);
    const { unspents } = await wallet.testNetwork.node.ask<{
      unspents: { txid: string; vout: number; amount: number }[];
    }>("scantxoutset", ...["start", [`addr(${payer.address})`]]);
    purse = unspents.map(({ txid, vout, amount }) => ({
      id: `${txid}:${vout}`,
      units: BigInt(Math.round(amount * 1e8)),
    }));
  });
  afterAll(() => wallet?.close());

  /** A transaction of the payer, sent to the daemon, with the rest as its last output. */
  async function pay(outputs: readonly TransactionOutput[]): Promise<string> {
    const needed = outputs.reduce((sum, { units }) => sum + units, 0n) + feeSat;
    const coin = purse.find(({ units }) => units > needed + 1_000n) as Coin;
    purse = purse.filter(({ id }) => id !== coin.id);
    const [txHash = "", output] = coin.id.split(":");
    const rest = coin.units - needed;
    const transaction = {
      ...{ version: 2, lockTime: 0 },
      inputs: [{ txHash, output: Number(output), script: new Uint8Array(0), sequence: 0xfffffffd }],
      outputs: [...outputs, { units: rest, script: payer.script }],
    };
    const digests = digestsOf({
      transaction,
      coins: [{ units: coin.units, script: payer.script }],
    });
    const [signature] = signAll([digests[0] as Uint8Array], payer.key);
    const stack = [
      encodeSignature((signature as Uint8Array).subarray(0, 64)),
      secp256k1.getPublicKey(payer.key),
    ] as const;
    const made = txHashOf(encodeTransaction(transaction));
    await wallet.testNetwork.node.ask(
      "sendrawtransaction",
      Buffer.from(encodeTransaction(transaction, [stack])).toString("hex"),
    );
    purse.push({ id: `${made}:${outputs.length}`, units: rest });
    return made;
  }

  /** So many coins of so much for the hot wallet, by transactions that are short enough. */
  async function give(count: number, units: bigint): Promise<void> {
    for (let left = count; left > 0; left -= outputsMost)
      await pay(
        Array.from({ length: Math.min(left, outputsMost) }, () => ({ units, script: script() })),
      );
    await wallet.mine(confirmations);
  }

  async function trueSat(owner = wallet.owner): Promise<bigint> {
    const { total_amount } = await wallet.testNetwork.node.ask<{ total_amount: number }>(
      "scantxoutset",
      "start",
      [`addr(${owner.address})`],
    );
    return BigInt(Math.round(total_amount * 1e8));
  }

  /** Pays, and every figure is the chain's: the balance of both sides, and the cost of a sweep. */
  async function works(): Promise<void> {
    const before = await state();
    const { number } = await wallet.watcher.finalTip();
    const sat = await trueSat();
    expect(before.balances.get("")).toBe(sat);
    expect(await wallet.watcher.balance(wallet.owner.address, "", number)).toBe(sat);
    const target = { destination: wallet.other, amountUnits: 40_000n };
    const cost = await wallet.watcher.cost(wallet.owner.address, {
      ...target,
      contract: "",
      tag: "",
    });
    expect(cost).toMatchObject({ ok: true });
    const signed = await wallet.first(target);
    expect(await wallet.sender.broadcast(signed.raw)).toMatchObject({ standing: "taken" });
    const spent = figuresOf(signed.txParams).coins.map(({ id }) => id);
    const isMerged = (before.coins?.length ?? 0) > mergingLimits.coinsMin;
    expect(spent).toHaveLength(isMerged ? 1 + mergingLimits.coinsMost : 1);
    // On its way it changes no balance, and its coins pay nothing else.
    const between = await state();
    expect(between.balances.get("")).toBe(sat);
    expect(between.coins?.some(({ id }) => spent.includes(id))).toBe(false);
    await wallet.mine(confirmations);
    const attempts = [{ txHash: signed.txHash, isCancel: false }];
    expect(await wallet.sender.chainOutcome(wallet.payment(target), attempts)).toMatchObject({
      outcome: "paid",
    });
    const { feeSat: fee } = figuresOf(signed.txParams);
    expect((await state()).balances.get("")).toBe(sat - 40_000n - fee);
  }

  it("an account pays with 10 coins, with 400, with 501 and with 3,000", async () => {
    let given = 0;
    for (const count of [10, 400, 501, 3_000]) {
      await give(count - given, 50_000n);
      given = count;
      await works();
    }
  });

  it("an account with many coins offers the largest coins, and the smallest that are worth their fee", async () => {
    await pay([
      { units: 5_000_000n, script: script() },
      ...Array.from({ length: 5 }, () => ({ units: 330n, script: script() })),
    ]);
    await wallet.mine(confirmations);
    const sizes = (await state()).coins?.map(({ units }) => units) ?? [];
    expect(sizes).toHaveLength(500);
    expect(sizes[0]).toBe(5_000_000n);
    expect(sizes.filter((units) => units === 330n)).toHaveLength(5);
    for (const front of wallet.testNetwork.fronts)
      front.options = { ...front.options, rates: { 3: 5 } };
    const dear = (await state()).coins?.map(({ units }) => units) ?? [];
    expect(dear).toHaveLength(500);
    expect(dear).not.toContain(330n);
    for (const front of wallet.testNetwork.fronts) front.options = { ...front.options, rates: {} };
  });

  it("an account with many coins reads hundreds of transactions once, and then only the newest of them", async () => {
    await pay(Array.from({ length: 300 }, () => ({ units: 300_000n, script: payer.script })));
    await wallet.mine(1);
    const { tx } = await wallet.testNetwork.node.ask<{ tx: string[] }>(
      "getblock",
      await wallet.testNetwork.node.ask<string>("getbestblockhash"),
    );
    const coins = Array.from({ length: 300 }, (_, at) => ({
      id: `${tx[1]}:${at}`,
      units: 300_000n,
    }));
    purse.unshift(...coins);
    for (let made = 0; made < 300; made += 1) await pay([{ units: 60_000n, script: script() }]);
    await wallet.mine(confirmations);
    const asked = () => wallet.testNetwork.fronts.map(({ counts }) => counts.get("address") ?? 0);
    const fresh = wallet.open(wallet.testNetwork.urls);
    const sat = await trueSat();
    const before = asked();
    expect((await fresh.chainState(wallet.owner.address)).balances.get("")).toBe(sat);
    const first = asked().map((count, at) => count - (before[at] ?? 0));
    for (const count of first) expect(count).toBeGreaterThan(12);
    const then = asked();
    expect((await fresh.chainState(wallet.owner.address)).balances.get("")).toBe(sat);
    for (const [at, count] of asked().entries()) expect(count - (then[at] ?? 0)).toBeLessThan(9);
    fresh.close();
    await works();
  });

  it.each([
    ["many", () => wallet.owner],
    ["few", () => wallet.values.account(wallet.network)],
  ])(
    "a mempool with more transactions than a node shows hides no payment of an account with %s coins",
    async (_, open) => {
      const owner = open();
      await pay(Array.from({ length: 9 }, () => ({ units: 200_000n, script: owner.script })));
      await wallet.mine(confirmations);
      const sat = await trueSat(owner);
      for (let made = 0; made < 60; made += 1) await pay([{ units: 1_000n, script: owner.script }]);
      await wallet.sender.chainState(owner.address);
      // The oldest are shown first, so this one is not among them.
      const signed = await wallet.first({ destination: wallet.other, amountUnits: 40_000n }, owner);
      await wallet.sender.broadcast(signed.raw);
      const spent = figuresOf(signed.txParams).coins.map(({ id }) => id);
      const { balances, coins = [] } = await wallet.sender.chainState(owner.address);
      expect(balances.get("")).toBe(sat);
      const { number } = await wallet.watcher.finalTip();
      expect(await wallet.watcher.balance(owner.address, "", number)).toBe(sat);
      expect(coins.length).toBeGreaterThan(7);
      expect(coins.some(({ id }) => spent.includes(id))).toBe(false);
      await wallet.mine(confirmations);
      expect((await wallet.sender.chainState(owner.address)).balances.get("")).toBe(
        await trueSat(owner),
      );
    },
    120_000,
  );

  it("a block that leaves the chain takes its coins along", async () => {
    const before = await state();
    await give(3, 70_000n);
    const { node } = wallet.testNetwork;
    const height = await node.ask<number>("getblockcount");
    await node.ask("invalidateblock", await node.ask<string>("getblockhash", height - 1));
    await node.ask("generateblock", wallet.other, []);
    await wallet.mine(0);
    for (let made = 0; made < confirmations; made += 1)
      await node.ask("generateblock", wallet.other, []);
    expect((await state()).balances.get("")).toBe(before.balances.get(""));
    await wallet.mine(confirmations);
    await works();
  });
});
