/**
 * Providers that differ, over one real daemon: one that lags, has no mempool, serves another chain,
 * is down, lies or is at its quota. Answers come late, and never wrong. Skipped, with the command
 * that brings the daemon, where it is not there.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../lab/kit/processes.ts";
import { missing } from "../../lab/utxo-node/daemon.ts";
import type { Trouble } from "../../lab/utxo-node/front.ts";
import { anchorOf, openWallet, type Wallet } from "./utxo-wallet.ts";

const why = missing("bitcoin");
const confirmations = 2;

describe.skipIf(why !== null)("two providers over one bitcoind", () => {
  if (why !== null) {
    process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
    it.skip(why, () => undefined);
    return;
  }
  let wallet: Wallet;
  const suffer = (trouble: Trouble, at = 1): void => wallet.testNetwork.fronts[at]?.suffer(trouble);
  const state = () => wallet.sender.chainState(wallet.owner.address);
  const code = (expected: string) => expect.objectContaining({ code: expected });

  beforeAll(async () => {
    wallet = await openWallet("bitcoin", confirmations);
    await wallet.fund(6);
  });
  afterEach(() => {
    for (const at of [0, 1]) suffer({}, at);
  });
  afterAll(() => wallet?.close());

  /** A payment to the account itself by others would need their keys: its own change serves. */
  async function spendOne() {
    const target = { destination: wallet.other, amountUnits: 1_000_000n };
    const signed = await wallet.first(target);
    await wallet.sender.broadcast(signed.raw);
    return { signed, target };
  }

  it("one that lags holds the final block back, and a coin that only the other one has is not used", async () => {
    const before = await state();
    const { signed } = await spendOne();
    await wallet.mine(confirmations);
    suffer({ lagBlocks: confirmations });
    const held = await state();
    expect(held.finalNumber).toBe(before.finalNumber);
    expect(held.coins?.some(({ id }) => id.startsWith(signed.txHash))).toBe(false);
    suffer({});
    const after = await state();
    expect(after.finalNumber).toBe(before.finalNumber + confirmations);
    expect(after.coins?.filter(({ id }) => id.startsWith(signed.txHash)).length).toBeGreaterThan(0);
  });

  it("one that does not know a spend in the mempool gives the coin back to nobody", async () => {
    const { signed, target } = await spendOne();
    suffer({ hasNoMempool: true });
    const spent = (signed.txParams.coins ?? "").split(":").slice(0, 2).join(":");
    expect((await state()).coins?.some(({ id }) => id === spent)).toBe(false);
    await wallet.mine(1);
    suffer({ lagBlocks: 1 });
    expect((await state()).coins?.some(({ id }) => id === spent)).toBe(false);
    // In the chain of one node only, the payment has no place yet.
    const asked = [{ slot: "0", txHashes: [signed.txHash] }];
    expect(await wallet.sender.locations("", asked)).toEqual([
      { location: null, isDoubtful: true },
    ]);
    await wallet.mine(confirmations);
    suffer({ lagBlocks: confirmations + 1 });
    const attempts = [{ txHash: signed.txHash, isCancel: false }];
    expect(await wallet.sender.chainOutcome(wallet.payment(target), attempts)).toBeNull();
    suffer({});
    expect(await wallet.sender.chainOutcome(wallet.payment(target), attempts)).toMatchObject({
      outcome: "paid",
    });
  });

  it("one that lags says so by its silence: a balance waits for it, and is right then", async () => {
    const { number } = await wallet.watcher.finalTip();
    suffer({ lagBlocks: confirmations + 3 });
    await expect(wallet.watcher.balance(wallet.owner.address, "", number)).rejects.toEqual(
      code("NODE_NO_BLOCK"),
    );
    suffer({});
    expect(await wallet.watcher.balance(wallet.owner.address, "", number)).toBe(
      (await state()).balances.get(""),
    );
  });

  it.each<[string, Trouble]>([
    [
      "says another amount of a coin",
      { paths: /utxo$/, lie: (body) => body.replace(/"value":(\d+)/g, '"value":1$1') },
    ],
    [
      "puts a coin into another block",
      { paths: /utxo$/, lie: (body) => body.replace(/"block_hash":"./g, '"block_hash":"a') },
    ],
    [
      "lists no coin, and says that each is spent",
      { paths: /utxo$|outspend/, lie: (body) => (body.startsWith("[") ? "[]" : spentBody) },
    ],
  ])("one that %s leaves no coin to be used", async (_, trouble) => {
    suffer(trouble);
    expect(await state()).toMatchObject({ coins: [] });
    suffer({});
    expect((await state()).coins?.length).toBeGreaterThan(0);
  });

  it("both that say another amount are found out by the transaction that made the coin", async () => {
    const more: Trouble = {
      paths: /utxo$/,
      lie: (body) => body.replace(/"value":(\d+)/g, '"value":1$1'),
    };
    suffer(more, 0);
    suffer(more, 1);
    expect(await state()).toMatchObject({ coins: [] });
  });

  it("one that names another hash of the final block leaves no final block", async () => {
    suffer({ paths: /block-height\/[1-9]/, lie: () => "cd".repeat(32) });
    await expect(wallet.sender.chainState(wallet.owner.address)).rejects.toEqual(
      code("NODE_DISAGREE"),
    );
    await expect(wallet.watcher.finalTip()).rejects.toEqual(code("NODE_DISAGREE"));
    suffer({});
    expect((await wallet.watcher.finalTip()).number).toBeGreaterThan(0);
  });

  it("one that says that a payment is in a block has no word in its end", async () => {
    const { signed, target } = await spendOne();
    const { number, hash } = await wallet.watcher.finalTip();
    const said = JSON.stringify({ confirmed: true, block_height: number, block_hash: hash });
    suffer({ paths: /status$/, lie: () => said });
    const attempts = [{ txHash: signed.txHash, isCancel: false }];
    expect(await wallet.sender.chainOutcome(wallet.payment(target), attempts)).toBeNull();
    const verdict = await wallet.watcher
      .pass({ number, hash })
      .judge(wallet.payment(target), [signed.txHash]);
    expect(verdict).toMatchObject({ kind: "confirming" });
    suffer({});
    await wallet.mine(confirmations);
    expect(await wallet.sender.chainOutcome(wallet.payment(target), attempts)).toMatchObject({
      outcome: "paid",
    });
  });

  it("one that says that a foreign transaction spent the anchor ends nothing", async () => {
    const target = { destination: wallet.other, amountUnits: 1_000_000n };
    const waiting = await wallet.first(target);
    const { signed } = await spendOne();
    await wallet.mine(confirmations);
    const anchor = (waiting.txParams.coins ?? "").split(",")[0] ?? "";
    const final = await wallet.watcher.finalTip();
    const unspent = (await state()).coins?.[0]?.id ?? "";
    const said = JSON.stringify({
      spent: true,
      txid: signed.txHash,
      vin: 0,
      status: { confirmed: true, block_height: final.number, block_hash: final.hash },
    });
    const lie: Trouble = { paths: /outspend/, lie: () => said };
    suffer(lie);
    const judge = (pin: string) =>
      wallet.watcher.pass(final).judge(wallet.payment(target), [waiting.txHash], pin);
    const outcome = (pin: string) =>
      wallet.sender.chainOutcome(wallet.payment(target), [
        { txHash: waiting.txHash, isCancel: false, pin },
      ]);
    expect([await judge(unspent), await outcome(unspent)]).toEqual([{ kind: "waiting" }, null]);
    // Even both: the transaction that they name does not spend that coin.
    suffer(lie, 0);
    expect([await judge(unspent), await outcome(unspent)]).toEqual([{ kind: "waiting" }, null]);
    expect(await wallet.sender.spentBy([unspent])).toEqual([null]);
    for (const at of [0, 1]) suffer({}, at);
    expect(await judge(anchor)).toMatchObject({ kind: "failed", code: "chain_slot_consumed" });
    expect(await outcome(anchor)).toEqual({
      outcome: "conflicted",
      txHash: waiting.txHash,
      block: 0,
    });
    const [txHash = "", output = ""] = anchor.split(":");
    expect(await wallet.sender.spentBy([`${txHash}:${output}`, unspent])).toEqual([
      signed.txHash,
      null,
    ]);
  });

  it("one that serves another chain, or is down, leaves too few for what money depends on", async () => {
    const nodes = wallet.open(wallet.testNetwork.urls);
    suffer({ isOtherChain: true });
    expect((await nodes.tip()).number).toBeGreaterThan(0);
    await expect(nodes.chainState(wallet.owner.address)).rejects.toEqual(code("NODE_WRONG_CHAIN"));
    expect(wallet.logged.at(-1)).toMatchObject({
      event: "node-wrong-chain",
      expected: wallet.network.reference,
    });
    nodes.close();
    const others = wallet.open(wallet.testNetwork.urls);
    suffer({ isCut: true });
    await expect(others.chainState(wallet.owner.address)).rejects.toEqual(code("NODE_UNREACHABLE"));
    expect((await others.tip()).number).toBeGreaterThan(0);
    others.close();
  });

  it("both at their quota are asked again, once they want to be", async () => {
    const busy: Trouble = { status: 429, words: "Too Many Requests", retryAfterS: 1, times: 2 };
    suffer(busy, 0);
    suffer(busy, 1);
    const startedMs = performance.now();
    expect((await state()).coins?.length).toBeGreaterThan(0);
    expect(performance.now() - startedMs).toBeGreaterThan(900);
  });

  it("a broadcast that one swallows reaches the chain by the other", async () => {
    const target = { destination: wallet.other, amountUnits: 1_000_000n };
    const signed = await wallet.first(target);
    suffer({ swallows: true }, 0);
    expect(await wallet.sender.broadcast(signed.raw)).toMatchObject({ standing: "taken" });
    for (let tries = 0; tries < 50; tries += 1) {
      if ((await wallet.testNetwork.node.ask<string[]>("getrawmempool")).includes(signed.txHash))
        return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("the daemon did not get the payment");
  });
});

describe.skipIf(why !== null)("three providers over one bitcoind", () => {
  let wallet: Wallet;
  const suffer = (at: number, trouble: Trouble): void =>
    wallet.testNetwork.fronts[at]?.suffer(trouble);
  const hasCoin = async (id: string): Promise<boolean> => {
    const { coins } = await wallet.sender.chainState(wallet.owner.address);
    return coins?.some((coin) => coin.id === id) === true;
  };
  const target = () => ({ destination: wallet.other, amountUnits: 1_000_000n });

  beforeAll(async () => {
    wallet = await openWallet("bitcoin", confirmations, [{}, {}, {}]);
    await wallet.fund(4);
  });
  afterEach(() => {
    for (const at of [0, 1, 2]) suffer(at, {});
  });
  afterAll(() => wallet?.close());

  it("a coin that one of them has seen as spent is not used; one that it does not know yet is", async () => {
    const signed = await wallet.first(target());
    const coin = anchorOf(signed);
    expect(await hasCoin(coin)).toBe(true);
    await wallet.sender.broadcast(signed.raw);
    for (const at of [0, 1]) suffer(at, { hasNoMempool: true });
    expect(await hasCoin(coin)).toBe(false);
    suffer(2, { hasNoMempool: true });
    expect(await hasCoin(coin)).toBe(true);
    // Without an answer the coin waits.
    suffer(2, { paths: /outspend/, status: 500 });
    expect(await hasCoin(coin)).toBe(false);
    for (const at of [0, 1, 2]) suffer(at, {});
    await wallet.mine(confirmations);
    // The node that failed is not asked for a second.
    const change = await until("the change is a coin", 10_000, async () => {
      const { coins } = await wallet.sender.chainState(wallet.owner.address);
      return coins?.find(({ id }) => id.startsWith(signed.txHash))?.id;
    });
    suffer(2, { lagBlocks: confirmations });
    expect(await hasCoin(change)).toBe(true);
  });

  it("one that names another spend of the anchor does not hold back what two agree on", async () => {
    const lost = target();
    const waiting = await wallet.first(lost);
    const spender = await wallet.next(target(), [waiting]);
    await wallet.sender.broadcast(spender.raw);
    await wallet.mine(confirmations);
    const final = await wallet.watcher.finalTip();
    const place = { confirmed: true, block_height: final.number, block_hash: final.hash };
    suffer(0, {
      paths: /outspend/,
      lie: () => JSON.stringify({ spent: true, txid: "ab".repeat(32), vin: 0, status: place }),
    });
    const judge = () =>
      wallet.watcher.pass(final).judge(wallet.payment(lost), [waiting.txHash], anchorOf(waiting));
    expect(await judge()).toMatchObject({
      kind: "failed",
      code: "chain_slot_consumed",
      final: { txHash: spender.txHash },
    });
  });
});

const spentBody = JSON.stringify({
  spent: true,
  txid: "ab".repeat(32),
  vin: 0,
  status: { confirmed: false },
});
