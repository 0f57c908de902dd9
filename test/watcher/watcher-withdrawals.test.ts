/**
 * The end of a withdrawal by its transactions on chain, and the number of withdrawals that share
 * the questions of one pass.
 */
import { describe, expect, it } from "vitest";
import { hashOf } from "../../lab/kit/fake-chain.ts";
import { askWithdrawal, pairAgent, receiver } from "../../lab/kit/gateway-database.ts";
import { until } from "../support/until.ts";
import {
  addAttempt,
  attemptTxHash,
  audit,
  chain,
  clock,
  configOf,
  counting,
  db,
  eachTestItsChain,
  eth,
  keys,
  network,
  nodes,
  outsider,
  passes,
  payment,
  row,
  signedWithdrawal,
  start,
  token,
  tokenPayment,
  told,
  watch,
  watcher,
} from "../support/watched-chain.ts";

eachTestItsChain();

describe("a withdrawal on chain", () => {
  it("is confirming in a block and completed at finality, with hash, fee and block", async () => {
    const id = signedWithdrawal(0);
    await start();
    const block = chain.mine(payment(id, 0));
    await until(() => row(id).stage === "confirming");
    expect(row(id)).toMatchObject({ status: 0, txHash: attemptTxHash(id), finalBlock: null });
    expect(watcher!.confirmations(id)).toBe(1);
    chain.mine();
    await until(() => watcher!.confirmations(id) === 2);
    expect(row(id).status).toBe(0);
    chain.mine();
    await until(() => row(id).status === 1);
    expect(row(id)).toMatchObject({
      stage: "completed",
      code: "",
      txHash: attemptTxHash(id),
      feeUnits: "210000",
      finalBlock: block,
    });
    expect(told).toEqual([id, id]);
    expect(watcher!.confirmations(id)).toBeNull();
    expect(audit()).toEqual([]);
  });

  it("of a token is completed by exactly one transfer of the exact amount", async () => {
    const id = signedWithdrawal(0, { currency: "usd", units: "5000000" });
    await start();
    chain.mine(tokenPayment(id, 0, [{ to: receiver, units: 5_000_000n }]));
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
  });

  it.each([
    [
      "a fee on transfer",
      [
        { to: receiver, units: 4_950_000n },
        { to: outsider, units: 50_000n },
      ],
    ],
    [
      "a second transfer beside the right one",
      [
        { to: receiver, units: 5_000_000n },
        { to: outsider, units: 1n },
      ],
    ],
    ["no transfer at all", []],
    ["another receiver", [{ to: outsider, units: 5_000_000n }]],
  ])("of a token with %s stays pending, stuck, with an alarm", async (_name, transfers) => {
    const id = signedWithdrawal(0, { currency: "usd", units: "5000000" });
    await start();
    chain.mine(tokenPayment(id, 0, transfers));
    chain.mineEmpty(2);
    await until(() => row(id).stage === "stuck");
    expect(row(id).status).toBe(0);
    expect(audit()).toEqual(["alarm CURRENCY_MOVES_OTHERWISE", "alarm WATCHER_CONTENT_DIFFERS"]);
  });

  it.each([
    ["another amount", { value: eth - 1n }],
    ["another receiver", { to: outsider }],
    ["another sender", { from: outsider }],
    ["another nonce", { nonce: 9 }],
  ])("with %s than asked for is never completed", async (_name, change) => {
    const id = signedWithdrawal(0);
    await start();
    chain.mine(payment(id, 0, change));
    chain.mineEmpty(2);
    await until(() => row(id).stage === "stuck");
    expect(row(id)).toMatchObject({ status: 0, stage: "stuck" });
  });

  it("fails when its revert is final, and not before", async () => {
    const id = signedWithdrawal(0);
    await start();
    const block = chain.mine(payment(id, 0, { status: 0 }));
    await until(() => row(id).stage === "confirming");
    chain.mineEmpty(2);
    await until(() => row(id).status === 2);
    expect(row(id)).toMatchObject({
      stage: "failed",
      code: "chain_reverted",
      feeUnits: "210000",
      finalBlock: block,
    });
  });

  it.each([
    ["alike", {}],
    ["another amount for the same receiver", { value: eth - 1n }],
  ])(
    "is not completed by a transaction of another withdrawal that took its place, %s",
    async (_name, change) => {
      const [id, other] = [signedWithdrawal(0), signedWithdrawal(1)];
      await start();
      chain.mine(payment(id, 0, { hash: attemptTxHash(other), ...change }));
      chain.mineEmpty(2);
      await until(() => row(id).status === 2);
      expect(row(id)).toMatchObject({
        stage: "failed",
        code: "chain_slot_consumed",
        txHash: attemptTxHash(other),
      });
      expect(audit()).toContain("alarm WATCHER_PAYMENT_FAILED consumed");
    },
  );

  it("is completed by an equal transaction in its place that is nobody's", async () => {
    const id = signedWithdrawal(0);
    await start();
    chain.mine(payment(id, 0, { hash: hashOf("a forgotten attempt") }));
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
    expect(row(id)).toMatchObject({ stage: "completed", txHash: hashOf("a forgotten attempt") });
  });

  it("fails as cancelled, without an alarm, when an attempt of its own paid nothing to the account itself", async () => {
    const id = signedWithdrawal(0);
    addAttempt(id, 2, 0);
    await start();
    const { from } = payment(id, 0);
    const block = chain.mine(payment(id, 0, { hash: attemptTxHash(id, 2), to: from, value: 0n }));
    chain.mineEmpty(2);
    await until(() => row(id).status === 2);
    expect(row(id)).toMatchObject({
      stage: "failed",
      code: "cancelled",
      txHash: attemptTxHash(id, 2),
      finalBlock: block,
    });
    expect(audit()).toEqual([]);
  });

  it("is for an operator when an attempt of its own paid the account itself something", async () => {
    const id = signedWithdrawal(0);
    await start();
    const { from } = payment(id, 0);
    chain.mine(payment(id, 0, { to: from, value: 1n }));
    chain.mineEmpty(2);
    await until(() => row(id).stage === "stuck");
    expect(row(id).status).toBe(0);
  });

  it("goes back when its block vanishes, and completes by the attempt that stands at the end", async () => {
    const id = signedWithdrawal(0, { stage: "broadcast" });
    addAttempt(id, 2, 0);
    await start();
    chain.mine(payment(id, 0, { status: 0 }));
    await until(() => row(id).stage === "confirming");
    chain.dropBlocks(1);
    chain.mineEmpty(2);
    await until(() => row(id).stage === "broadcast");
    chain.mine(payment(id, 0, { hash: attemptTxHash(id, 2) }));
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
    expect(row(id).txHash).toBe(attemptTxHash(id, 2));
  });

  it("stays pending permanently while nothing is known of it", async () => {
    const id = signedWithdrawal(0);
    await start();
    clock.nowMs = 50_000_000;
    chain.mineEmpty(10);
    await passes();
    expect(row(id)).toMatchObject({ status: 0, stage: "signed" });
  });

  it("is paid by an attempt that the gateway does not know when that pays exactly this", async () => {
    const id = signedWithdrawal(0);
    await start();
    chain.mine(payment(id, 0, { hash: hashOf("malleated") }));
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
    expect(row(id).txHash).toBe(hashOf("malleated"));
  });

  it.each([
    [
      "a plain payment to somebody else",
      "eth",
      { to: outsider, value: 1n },
      2,
      "chain_slot_consumed",
    ],
    [
      "a payment to a contract, which may have passed it on",
      "eth",
      { to: token, value: 1n },
      0,
      "",
    ],
    ["a revert", "eth", { status: 0 as const }, 2, "chain_slot_consumed"],
    ["a part of the payment", "eth", { value: 1n }, 0, ""],
    [
      "a call that might have paid from inside",
      "eth",
      { to: outsider, value: 0n, input: "0x1234" },
      0,
      "",
    ],
    [
      "a call without a transfer to the receiver",
      "usd",
      { to: outsider, value: 0n, input: "0x1234" },
      2,
      "chain_slot_consumed",
    ],
  ])("whose nonce was used by %s ends accordingly", async (_name, id, change, status, code) => {
    const withdrawal = signedWithdrawal(0, { currency: id });
    chain.contracts.add(token);
    await start();
    chain.mine(payment(withdrawal, 0, { hash: hashOf("foreign"), ...change }));
    chain.mineEmpty(3);
    await until(() => row(withdrawal).stage === (status === 2 ? "failed" : "stuck"));
    expect(row(withdrawal)).toMatchObject({ status, code });
    expect(audit()).toContain(
      status === 2
        ? "alarm WATCHER_PAYMENT_FAILED consumed"
        : "alarm WATCHER_SLOT_CONSUMED foreign",
    );
  });

  it.each([
    ["before the block and removed in it", -1, 0, "stuck"],
    ["in the block and removed in the next", 0, 1, "stuck"],
    ["in the next block", 1, 9, "failed"],
    ["long before and removed in the block before", -2, -1, "failed"],
  ])(
    "whose nonce paid an address that was delegated %s is judged by the code of that time",
    async (_name, set, cleared, stage) => {
      const withdrawal = signedWithdrawal(0);
      await start();
      const block = chain.top + 1;
      chain.delegations.push({ address: outsider, set: block + set, cleared: block + cleared });
      chain.mine(payment(withdrawal, 0, { hash: hashOf("foreign"), to: outsider, value: 1n }));
      chain.mineEmpty(12);
      await until(() => row(withdrawal).stage === "stuck" || row(withdrawal).status !== 0);
      expect(row(withdrawal)).toMatchObject({ stage, status: stage === "failed" ? 2 : 0 });
    },
  );

  it.each([1, 2])(
    "whose nonce paid an address is never failed when one of %i nodes does not know the code of that time",
    async (count) => {
      const withdrawal = signedWithdrawal(0);
      await start(count);
      nodes[count - 1]!.isPruned = true;
      chain.mine(payment(withdrawal, 0, { hash: hashOf("foreign"), to: outsider, value: 1n }));
      chain.mineEmpty(3);
      await until(() => row(withdrawal).stage === "stuck");
      expect(row(withdrawal).status).toBe(0);
      expect(audit()).toContain("alarm WATCHER_SLOT_CONSUMED foreign");
      chain.mineEmpty(2);
      await until(() => watcher!.ready());
      expect(row(withdrawal)).toMatchObject({ status: 0, stage: "stuck" });
    },
  );

  it.each([
    ["paid exactly this", {}, { status: 1, stage: "completed", code: "" }],
    [
      "paid somebody else",
      { to: outsider, value: 1n },
      { status: 2, stage: "failed", code: "chain_slot_consumed" },
    ],
  ])(
    "that gets its nonce after a transaction with it was read ends by that one, which %s",
    async (_name, change, end) => {
      await start();
      chain.mine(payment("", 0, { hash: hashOf("forgotten"), ...change }));
      chain.mineEmpty(3);
      await until(() => db.store.database.all("SELECT txHash FROM outgoing").length === 1);
      const id = signedWithdrawal(0);
      chain.mine();
      await until(() => row(id).status !== 0);
      expect(row(id)).toMatchObject({ ...end, txHash: hashOf("forgotten") });
    },
  );

  it("is asked about once a block, however many orders come, and those with the block after", async () => {
    const id = signedWithdrawal(0);
    await start();
    const receipts: string[] = [];
    nodes[0]!.lie = counting((method, params, honest) => {
      if (method === "eth_getTransactionReceipt") receipts.push(String(params[0]));
      return honest;
    });
    chain.mine(payment(id, 0));
    await until(() => row(id).stage === "confirming");
    await passes(2);
    receipts.length = 0;
    const later = [1, 2, 3].map((number) => signedWithdrawal(number));
    await passes(4);
    expect(receipts).toEqual([]);
    chain.mine(...later.map((one, at) => payment(one, at + 1)));
    await until(() => later.every((one) => row(one).stage === "confirming"));
    for (const one of [id, ...later])
      expect(receipts.filter((hash) => hash === attemptTxHash(one))).toHaveLength(1);
    // Where no block comes, all are asked about again after a while.
    receipts.length = 0;
    clock.nowMs += 15_000;
    await until(() => [id, ...later].every((one) => receipts.includes(attemptTxHash(one))));
  });

  it("whose nonce was used before the gateway looked is stuck, and not failed", async () => {
    chain.mine({ hash: hashOf("before"), from: keys.hotWalletAddress, nonce: 0, to: outsider });
    chain.mineEmpty(3);
    await start();
    const id = signedWithdrawal(0);
    chain.mine();
    await until(() => row(id).stage === "stuck");
    expect(row(id).status).toBe(0);
    expect(audit()).toEqual(["alarm WATCHER_SLOT_CONSUMED foreign"]);
  });
});

describe("many withdrawals", () => {
  it("of one agent take no pass whole: each is bounded, and another agent's is looked at in every one", async () => {
    for (let number = 0; number < 60; number += 1) {
      const id = signedWithdrawal(number);
      db.store.write(() => {
        for (let attempt = 2; attempt <= 25; attempt += 1) addAttempt(id, attempt, number);
      });
    }
    const other = pairAgent(db.store, "b", outsider);
    const theirs = askWithdrawal(db.store, other.id, 999, { stage: "signed" });
    const sql = "INSERT INTO signatures VALUES (?, 1, ?, ?, ?, '0', ?, '21000', 1, 0, '', NULL, 0)";
    db.store.database.run(sql, theirs, other.id, network, outsider, attemptTxHash(theirs));
    const receipts: string[] = [];
    nodes[0]!.lie = counting((method, params, honest) => {
      if (method === "eth_getTransactionReceipt") receipts.push(String(params[0]));
      // By their count, the payments may be in a block, so each attempt is asked for.
      return method === "eth_getTransactionCount" && params[1] === "latest" ? "0xffff" : honest;
    });
    watch(configOf([nodes[0]!.url], 3), 60_000);
    await until(() => watcher!.ready());
    expect(receipts.length).toBeGreaterThan(1000);
    expect(receipts.length).toBeLessThanOrEqual(1024);
    expect(receipts).toContain(attemptTxHash(theirs));
    await watcher!.close();
    await start();
    await until(() => new Set(receipts).size === 60 * 20 + 1);
    chain.mine(payment(theirs, 0, { from: outsider }), payment("3b".padStart(32, "0"), 59));
    chain.mineEmpty(2);
    await until(() => row(theirs).status === 1 && row("3b".padStart(32, "0")).status === 1);
  });

  it("that are in no block by the account's count are not asked for, and those of a block in one question", async () => {
    const ids = Array.from({ length: 14 }, (_, number) => signedWithdrawal(number));
    const [early, late] = [ids.slice(0, 9), ids.slice(9)];
    const asked: string[] = [];
    nodes[0]!.lie = counting((method, params, honest) => {
      if (method === "eth_getTransactionReceipt") asked.push(String(params[0]));
      if (method === "eth_getBlockReceipts") asked.push("block");
      return honest;
    });
    chain.mine(...early.map((id, number) => payment(id, number)));
    chain.mineEmpty(2);
    await start();
    await until(() => early.every((id) => row(id).status === 1));
    chain.mineEmpty(1);
    await passes();
    expect(asked).toEqual([attemptTxHash(ids[0] as string), "block"]);
    chain.mine(...late.map((id, at) => payment(id, 9 + at)));
    chain.mineEmpty(2);
    await until(() => ids.every((id) => row(id).status === 1));
  });
});
