/**
 * The nodes of Bitcoin and Litecoin, by fronts with the Esplora API over the real daemons:
 * payments, replacements, cancels, foreign spends of the anchor, and the look at one node. Skipped,
 * with the command that brings the daemons, where they are not there.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { valuesIn } from "../../base/result.ts";
import { examineUtxo } from "../../chains/utxo/node-probe.ts";
import { missing, type NodeName } from "../../lab/utxo-node/daemon.ts";
import { anchorOf, openWallet, type Signed, type Wallet } from "./utxo-wallet.ts";

const confirmations = 2;

describe.each<[NodeName]>([["bitcoin"], ["litecoin"]])("payments by providers over %sd", (name) => {
  const why = missing(name);
  if (why !== null) {
    process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
    it.skip(why, () => undefined);
    return;
  }
  const isReplaced = name === "bitcoin";
  let wallet: Wallet;

  beforeAll(async () => {
    wallet = await openWallet(name, confirmations);
    await wallet.fund(20);
  });
  afterAll(() => wallet?.close());

  const outcomeOf = (
    attempts: readonly Signed[],
    target: { destination: string; amountUnits: bigint },
  ) =>
    wallet.sender.chainOutcome(
      wallet.payment(target),
      attempts.map(({ txHash, target: paid }) => ({ txHash, isCancel: paid === null })),
    );
  const judged = async (
    attempts: readonly Signed[],
    target: { destination: string; amountUnits: bigint },
    pin = "",
  ) => {
    const final = await wallet.watcher.finalTip();
    const hashes = attempts.map(({ txHash }) => txHash);
    return wallet.watcher.pass(final).judge(wallet.payment(target), hashes, pin);
  };
  /** Mines bytes that no mempool takes. */
  const mineRaw = (raw: string): Promise<unknown> =>
    wallet.testNetwork.node.ask("generateblock", wallet.other, [raw]);
  const feeOf = ({ txParams }: Signed): bigint => BigInt(txParams.feeSat ?? "0");
  const freshTarget = () => ({ destination: wallet.other, amountUnits: 1_000_000n });

  it("the nodes of the coin name final coins that the chain takes, and their sum as the balance", async () => {
    const { number, finalNumber, coins, balances, feeMarket } = await wallet.sender.chainState(
      wallet.owner.address,
    );
    expect(finalNumber).toBe(number - confirmations + 1);
    expect(coins).toHaveLength(20);
    expect(balances.get("")).toBe((coins ?? []).reduce((sum, { units }) => sum + units, 0n));
    expect(feeMarket).toEqual({ satPerKvB: 1000n });
  });

  it("the nodes of the coin take a payment, which is in a block, and final by its depth", async () => {
    const target = freshTarget();
    const signed = await wallet.first(target);
    expect(await wallet.sender.broadcast(signed.raw)).toMatchObject({
      standing: "taken",
      meaning: "",
    });
    expect(await wallet.sender.broadcast(`0x${signed.raw}`)).toMatchObject({
      standing: "taken",
      meaning: "",
    });
    expect(await judged([signed], target)).toEqual({ kind: "waiting" });
    const before = await wallet.sender.chainState(wallet.owner.address);
    expect(before.coins?.some(({ id }) => id === anchorOf(signed))).toBe(false); // spent in the mempool
    const [blockHash = ""] = await wallet.mine(1);
    const { number: block } = await wallet.sender.tip();
    expect(await wallet.sender.holds(block, blockHash)).toBe(true);
    expect(await wallet.sender.holds(block - 1, blockHash)).toBe(false);
    expect(await wallet.sender.holds(block + 1, blockHash)).toBe(false);
    expect(await wallet.sender.locations("", [{ slot: "0", txHashes: [signed.txHash] }])).toEqual([
      { location: { txHash: signed.txHash, block, blockHash }, isDoubtful: false },
    ]);
    expect(await outcomeOf([signed], target)).toBeNull();
    expect(await judged([signed], target)).toEqual({
      kind: "confirming",
      txHash: signed.txHash,
      block,
    });
    await wallet.mine(1);
    expect(await wallet.sender.broadcast(signed.raw)).toMatchObject({ meaning: "known" });
    expect(await outcomeOf([signed], target)).toEqual({
      outcome: "paid",
      txHash: signed.txHash,
      block,
    });
    const final = { txHash: signed.txHash, block, feeUnits: feeOf(signed) };
    expect(await judged([signed], target)).toEqual({ kind: "completed", final });
    // The change has become coins of the account.
    const after = await wallet.sender.chainState(wallet.owner.address);
    expect(after.coins?.filter(({ id }) => id.startsWith(signed.txHash))).toHaveLength(1);
  });

  it("the nodes of the coin judge the payment of another amount or receiver as one that differs", async () => {
    const target = freshTarget();
    const signed = await wallet.first(target);
    await wallet.sender.broadcast(signed.raw);
    await wallet.mine(confirmations);
    expect(await judged([signed], target)).toMatchObject({ kind: "completed" });
    const differs = { kind: "stuck", code: "WATCHER_CONTENT_DIFFERS" };
    expect(await judged([signed], { ...target, amountUnits: 999_999n })).toMatchObject(differs);
    expect(await judged([signed], { ...target, destination: wallet.other })).toMatchObject(differs);
  });

  it("the nodes of the coin judge a payment with coins of another account as one that differs", async () => {
    const { coins } = await wallet.market();
    const [coin] = coins;
    const amountUnits = (coin?.units ?? 0n) - 5_000n;
    const target = { destination: wallet.other, amountUnits };
    const signed = await wallet.sign(
      { coins: `${coin?.id}:${coin?.units}`, changeSat: "0", feeSat: "5000" },
      target,
    );
    await wallet.sender.broadcast(signed.raw);
    await wallet.mine(confirmations);
    const final = await wallet.watcher.finalTip();
    const judge = (account: string) =>
      wallet.watcher.pass(final).judge({ ...wallet.payment(target), account }, [signed.txHash]);
    expect(await judge(wallet.other)).toMatchObject({
      kind: "stuck",
      code: "WATCHER_CONTENT_DIFFERS",
    });
    expect(await judge(wallet.owner.address)).toMatchObject({
      kind: "completed",
      final: { feeUnits: 5_000n },
    });
  });

  it("the nodes of the coin take a replacement and a cancel as the coin's rows say; one of all attempts ends the payment", async () => {
    const target = freshTarget();
    const attempts = [await wallet.first(target)];
    expect(await wallet.sender.broadcast(attempts[0]!.raw)).toMatchObject({ standing: "taken" });
    for (const wanted of [target, null]) {
      const signed = await wallet.next(wanted, attempts);
      attempts.push(signed);
      const answer = await wallet.sender.broadcast(signed.raw);
      if (isReplaced) expect(answer).toMatchObject({ standing: "taken", meaning: "" });
      else expect(answer).toMatchObject({ standing: "doubtful", text: "txn-mempool-conflict" });
    }
    if (isReplaced) {
      const low = await wallet.sender.broadcast(attempts[1]!.raw);
      expect(low).toMatchObject({ meaning: "price" });
      await wallet.mine(1);
    } else await mineRaw(attempts[2]!.raw);
    const { number: block } = await wallet.sender.tip();
    expect(await wallet.sender.broadcast(attempts[0]!.raw)).toMatchObject({ meaning: "slot-used" });
    expect(await outcomeOf(attempts, target)).toBeNull();
    await wallet.mine(1);
    const { txHash } = attempts[2]!;
    expect(await outcomeOf(attempts, target)).toEqual({ outcome: "cancelled", txHash, block });
    const final = { txHash, block, feeUnits: feeOf(attempts[2]!) };
    expect(await judged(attempts, target)).toEqual({ kind: "failed", code: "cancelled", final });
  });

  it("the nodes of the coin judge by the anchor where a foreign transaction spends it, and only once that is final", async () => {
    const cases = [
      [null, { kind: "failed", code: "chain_slot_consumed" }],
      [
        { destination: wallet.other, amountUnits: 5_000_000n },
        { kind: "failed", code: "chain_slot_consumed" },
      ],
      ["same receiver", { kind: "stuck", code: "WATCHER_SLOT_CONSUMED" }],
      ["same payment", { kind: "completed" }],
    ] as const;
    for (const [foreign, verdict] of cases) {
      const target = freshTarget();
      const lost = await wallet.first(target);
      const pin = anchorOf(lost);
      const { destination, amountUnits } = target;
      const paid =
        foreign === "same receiver"
          ? { destination, amountUnits: amountUnits - 1n }
          : foreign === "same payment"
            ? target
            : foreign;
      const spender = await wallet.next(paid, [lost]);
      await wallet.sender.broadcast(spender.raw);
      await wallet.mine(1);
      expect(await judged([lost], target, `${pin}:1`)).toEqual({ kind: "waiting" });
      await wallet.mine(1);
      expect(await judged([lost], target, `${pin}:1`)).toMatchObject(verdict);
      // Nobody knows the coins of an attempt that no node has.
      expect(await judged([lost], target)).toEqual({ kind: "waiting" });
    }
  });

  it("the nodes of the coin find the foreign spends as the account's outgoing transactions, with the receiver", async () => {
    const target = freshTarget();
    const paid = await wallet.first(target);
    await wallet.sender.broadcast(paid.raw);
    await wallet.mine(1);
    const cancel = await wallet.next(null, [await wallet.first(freshTarget())]);
    await wallet.sender.broadcast(cancel.raw);
    await wallet.mine(1);
    const { number } = await wallet.watcher.tip();
    const blocks = await Promise.all(
      [number - 1, number].map((at) => wallet.watcher.block(at, true)),
    );
    const { address: account } = wallet.owner;
    const shared = { account, slot: "", tag: "", contract: "" };
    expect((await wallet.watcher.outgoing(blocks, new Set([wallet.other, account]))).found).toEqual(
      [
        {
          ...shared,
          ...{
            txHash: paid.txHash,
            block: number - 1,
            receiver: target.destination,
            amountUnits: target.amountUnits,
          },
          content: [anchorOf(paid)],
        },
        {
          ...shared,
          txHash: cancel.txHash,
          block: number,
          receiver: account,
          amountUnits: 0n,
          content: [anchorOf(cancel)],
        },
      ],
    );
    expect((await wallet.watcher.outgoing(blocks, new Set([wallet.other]))).found).toEqual([]);
  });

  it("the nodes of the coin refuse dust before it is signed, and say what a payment costs", async () => {
    const dust = isReplaced ? 294n : 2_940n;
    const payment = { contract: "", tag: "", destination: wallet.other, amountUnits: dust };
    expect(await wallet.sender.computeLimit("", payment)).toEqual({ ok: true, computeLimit: 1n });
    expect(await wallet.watcher.cost("", payment)).toMatchObject({ ok: true, feeUnits: 361n });
    // A sweep spends every coin of its address: 68 bytes each at 1 sat, and half as much again.
    const receiver = wallet.other;
    await wallet.mine(10, receiver);
    expect(await wallet.watcher.cost(receiver, payment)).toMatchObject({
      ok: true,
      feeUnits: 361n + 8n * 102n,
    });
    await wallet.mine(54, receiver);
    const full = await wallet.watcher.cost(receiver, payment);
    expect(full).toMatchObject({ ok: true, feeUnits: 361n + 62n * 102n });
    // A transaction spends at most 64 coins, so one more changes nothing: the largest go first.
    await wallet.mine(1, receiver);
    expect(await wallet.watcher.cost(receiver, payment)).toEqual(full);
    const less = { ...payment, amountUnits: dust - 1n };
    expect(await wallet.sender.computeLimit("", less)).toMatchObject({
      ok: false,
      code: "NODE_WOULD_REVERT",
    });
    expect(await wallet.watcher.cost("", less)).toMatchObject({
      ok: false,
      code: "NODE_WOULD_REVERT",
    });
  });

  it("the nodes of the coin tell balances and use of addresses at a block, and the time of a block", async () => {
    const { number } = await wallet.watcher.finalTip();
    const { address } = wallet.owner;
    const { balances } = await wallet.sender.chainState(address);
    const unused = wallet.other;
    const questions = [address, unused].map((account) => ({ account, contract: "" }));
    expect(valuesIn(await wallet.watcher.balances(questions, number))).toEqual([
      balances.get(""),
      0n,
    ]);
    expect(valuesIn(await wallet.watcher.wereUsed([address, unused], number))).toEqual([
      true,
      false,
    ]);
    await expect(wallet.watcher.balance(address, "", number + confirmations)).rejects.toMatchObject(
      { code: "NODE_NO_BLOCK" },
    );
    const { time } = await wallet.testNetwork.node.ask<{ time: number }>(
      "getblock",
      (await wallet.watcher.block(5, true)).hash,
    );
    expect(await wallet.watcher.timestamp(5)).toBe(time);
  });

  it("the nodes of the coin count a payment on its way in no balance before it is final, and its coins are free no longer", async () => {
    const { address } = wallet.owner;
    await wallet.mine(confirmations);
    const seen = async (): Promise<readonly (bigint | undefined)[]> => {
      const { number } = await wallet.watcher.finalTip();
      const { balances } = await wallet.sender.chainState(address);
      return [await wallet.watcher.balance(address, "", number), balances.get("")];
    };
    const [before = 0n] = await seen();
    const coinsBefore = (await wallet.sender.chainState(address)).coins?.length ?? 0;
    const target = freshTarget();
    const signed = await wallet.first(target);
    expect(await wallet.sender.broadcast(signed.raw)).toMatchObject({ standing: "taken" });
    expect(await seen()).toEqual([before, before]);
    expect((await wallet.sender.chainState(address)).coins?.length).toBeLessThan(coinsBefore);
    for (let block = 1; block < confirmations; block += 1) {
      await wallet.mine(1);
      expect(await seen()).toEqual([before, before]);
    }
    await wallet.mine(1);
    const after = before - target.amountUnits - feeOf(signed);
    expect(await seen()).toEqual([after, after]);
  });

  it("the nodes of the coin give complete blocks", async () => {
    const { number } = await wallet.sender.tip();
    for (let at = 0; at <= number; at += 1) {
      const block = await wallet.watcher.block(at, true);
      const { tx } = await wallet.testNetwork.node.ask<{ tx: string[] }>("getblock", block.hash, 1);
      const { transactions } = block.content as { transactions: { txHash: string }[] };
      expect(transactions.map(({ txHash }) => txHash)).toEqual(tx);
    }
  });

  it("the nodes of the coin show in a look that one node answers all, and which block it has", async () => {
    const [url = ""] = wallet.testNetwork.urls;
    const { number, hash } = await wallet.sender.tip();
    const question = { url, network: wallet.network, timeoutMs: 20_000 };
    expect(await examineUtxo(question).look([])).toMatchObject({
      url: new URL(url).origin,
      code: "",
      block: number,
      lacks: [],
      tokens: [],
    });
    expect(await examineUtxo(question).hashAt(number)).toBe(hash);
    expect(await examineUtxo(question).hashAt(number + 1)).toBe("");
    wallet.testNetwork.fronts[0]?.suffer({
      status: 404,
      words: "Page not found",
      paths: /\/(raw|utxo)$/,
    });
    const lacks = (await examineUtxo(question).look([])).lacks.map(({ question: lack }) => lack);
    expect(lacks).toEqual(["the coins of an address", "a block's bytes"]);
    wallet.testNetwork.fronts[0]?.suffer({ isOtherChain: true });
    expect(await examineUtxo(question).look([])).toMatchObject({
      code: "NODE_WRONG_CHAIN",
      block: 0,
    });
    wallet.testNetwork.fronts[0]?.suffer({});
  });
});
