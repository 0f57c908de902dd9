/** Payments to an issued address, and the cursor that reads every block exactly once. */
import { describe, expect, it } from "vitest";
import { type FakeTransaction, hashOf, type Lie } from "../../lab/kit/fake-chain.ts";
import { until } from "../support/until.ts";
import {
  audit,
  chain,
  clock,
  counting,
  db,
  eachTestItsChain,
  eth,
  nodes,
  outsider,
  passes,
  payments,
  request,
  row,
  start,
  usd,
  usdPayment,
  watcher,
} from "../support/watched-chain.ts";

eachTestItsChain();

describe("a deposit on chain", () => {
  it("is seen, confirming, and completed at finality", async () => {
    const { id, address } = request(0);
    await start();
    chain.mine({ hash: hashOf("a"), from: outsider, to: address, value: eth / 2n });
    await until(() => row(id).stage === "seen");
    const block = chain.mine({ hash: hashOf("b"), from: outsider, to: address, value: eth / 2n });
    await until(() => row(id).stage === "confirming");
    chain.mine();
    await until(() => row(id).receivedUnits === `${eth / 2n}`);
    expect(row(id)).toMatchObject({ status: 0, stage: "confirming" });
    chain.mine();
    await until(() => row(id).status === 1);
    const completed = {
      stage: "completed",
      receivedUnits: `${eth}`,
      txHash: hashOf("b"),
      finalBlock: block,
    };
    expect(row(id)).toMatchObject(completed);
  });

  it("has the confirmations of its newest payment until the payment is final, and none by another coin", async () => {
    const [{ id, address }, other] = [request(0), request(1)];
    await start();
    expect(watcher!.confirmations(id)).toBeNull();
    chain.mine(
      { hash: hashOf("a"), from: outsider, to: address, value: eth / 4n },
      usdPayment("coin", other.address, 5_000_000n),
    );
    await until(() => watcher!.confirmations(id) === 1);
    chain.mine({ hash: hashOf("b"), from: outsider, to: address, value: eth / 4n });
    await until(() => row(id).stage === "seen" && payments().length === 3);
    expect(watcher!.confirmations(id)).toBe(1);
    chain.mine();
    await until(() => watcher!.confirmations(id) === 2);
    expect(watcher!.confirmations(other.id)).toBeNull();
    chain.mineEmpty(2);
    await until(() => row(id).receivedUnits === `${eth / 2n}`);
    expect(watcher!.confirmations(id)).toBeNull();
  });

  it("of a token counts each transfer of the configured contract, several in one transaction, more than asked", async () => {
    const { id, address } = request(0, usd);
    await start();
    const other: FakeTransaction = {
      hash: hashOf("lookalike"),
      from: outsider,
      to: outsider,
      transfers: [{ contract: outsider, from: outsider, to: address, units: 9_000_000n }],
    };
    chain.mine(other, usdPayment("a", address, 2_000_000n, 2_500_000n));
    chain.mineEmpty(2);
    await until(() => row(id).stage === "partial");
    expect(row(id).receivedUnits).toBe("4500000");
    chain.mine(usdPayment("b", address, 1_000_000n, 0n));
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
    expect(row(id).receivedUnits).toBe("5500000");
    expect(payments().map((one) => one.units)).toEqual(["2000000", "2500000", "1000000"]);
  });

  it("that reverted or vanished is not counted", async () => {
    const { id, address } = request(0);
    await start();
    chain.mine({ hash: hashOf("reverted"), from: outsider, to: address, value: eth, status: 0 });
    chain.mine({ hash: hashOf("vanishing"), from: outsider, to: address, value: eth });
    await until(() => row(id).stage === "confirming");
    expect(payments()).toHaveLength(1);
    chain.dropBlocks(1);
    chain.mineEmpty(2);
    await until(() => row(id).stage === "waiting");
    expect(payments()).toEqual([]);
    chain.mine({ hash: hashOf("vanishing"), from: outsider, to: address, value: eth });
    chain.mineEmpty(2);
    await until(() => row(id).status === 1);
    expect(payments()).toHaveLength(1);
  });

  it("re-mined at another place counts once", async () => {
    const { id, address } = request(0, usd);
    await start();
    chain.mine(usdPayment("noise", outsider, 1n), usdPayment("a", address, 3_000_000n));
    await until(() => row(id).stage === "seen");
    chain.dropBlocks(1);
    chain.mine(usdPayment("a", address, 3_000_000n));
    chain.mineEmpty(4);
    await until(() => row(id).stage === "partial");
    expect(row(id).receivedUnits).toBe("3000000");
    expect(payments()).toHaveLength(1);
  });

  it("sent by a contract is found by the balance, once", async () => {
    const { id, address } = request(0);
    const second = request(1);
    await start();
    chain.mine({ hash: hashOf("a"), from: outsider, to: address, value: eth / 4n });
    chain.coins.push(
      { block: 7, address, units: eth / 4n },
      { block: 7, address: second.address, units: eth },
    );
    chain.mineEmpty(3);
    await until(() => row(second.id).status === 1);
    await until(() => row(id).receivedUnits === `${eth / 2n}`);
    expect(row(second.id).txHash).toBe("");
    chain.mineEmpty(3);
    await passes();
    expect(row(id)).toMatchObject({
      status: 0,
      stage: "partial",
      receivedUnits: `${eth / 2n}`,
    });
    expect(payments().filter((one) => one.txHash.startsWith("internal:"))).toHaveLength(2);
  });

  it("expires only when nothing of it is still confirming, and keeps what comes late", async () => {
    const waiting = request(0, { ...usd, expiresAt: 10_000 });
    const confirming = request(1, { expiresAt: 10_000 });
    await start();
    chain.mine({ hash: hashOf("a"), from: outsider, to: confirming.address, value: eth });
    await until(() => row(confirming.id).stage === "confirming");
    clock.nowMs = 10_000;
    await until(() => row(waiting.id).status === 2);
    expect(row(waiting.id)).toMatchObject({ stage: "expired", code: "deposit_expired" });
    expect(row(confirming.id).status).toBe(0);
    chain.mine(usdPayment("late", waiting.address, 5_000_000n));
    chain.mineEmpty(2);
    await until(() => row(confirming.id).status === 1);
    await until(() => row(waiting.id).receivedUnits === "5000000");
    expect(row(waiting.id)).toMatchObject({ status: 2, stage: "expired", late: 1 });
    expect(row(confirming.id).late).toBe(0);
  });

  it("does not expire while the chain cannot be read", async () => {
    const { id } = request(0, { ...usd, expiresAt: 10_000 });
    await start();
    nodes[0]!.isDown = true;
    clock.nowMs = 20_000;
    await until(() => !watcher!.ready());
    expect(row(id).status).toBe(0);
    nodes[0]!.isDown = false;
    await until(() => row(id).status === 2);
  });

  it("in another currency than asked is recorded and counts for nothing", async () => {
    const { id, address } = request(0);
    await start();
    chain.mine(usdPayment("a", address, 70_000n));
    chain.mineEmpty(2);
    await until(() => payments().some((one) => one.final === 1));
    expect(payments()[0]).toMatchObject({ currency: "usd", transactionId: id });
    expect(row(id)).toMatchObject({ stage: "waiting", receivedUnits: "0" });
  });
});

describe("the cursor", () => {
  it("goes on where it stood after a restart, whatever was paid meanwhile, and for addresses issued before it was set", async () => {
    const first = request(0, { createdAt: 1_003_000 + 20 * 60_000 });
    await start();
    await watcher!.close();
    chain.mineEmpty(100);
    const block = chain.mine({ hash: hashOf("a"), from: outsider, to: first.address, value: eth });
    chain.mineEmpty(100);
    db.reopen();
    await start();
    await until(() => row(first.id).status === 1);
    expect(row(first.id).finalBlock).toBe(block);
  });

  it("starts before the oldest request when the chain was away until now", async () => {
    chain.mineEmpty(3000);
    // The fake chain makes a block each second from second 1000; skew of clocks is taken as fifteen
    // minutes.
    const { id, address } = request(0, { ...usd, createdAt: 3_950_000 });
    chain.mine(usdPayment("a", address, 5_000_000n));
    chain.mineEmpty(5);
    clock.nowMs = 4_008_000;
    await start();
    await until(() => row(id).status === 1);
  });

  it("does not move over a block whose receipts cannot be had", async () => {
    const { id, address } = request(0);
    await start();
    nodes[0]!.lie = counting((method, _params, honest) =>
      method === "eth_getTransactionReceipt" ? null : honest,
    );
    const block = chain.mine({ hash: hashOf("a"), from: outsider, to: address, value: eth });
    chain.mineEmpty(3);
    await until(() => !watcher!.ready());
    await passes(4);
    expect(
      db.store.database.get<{ block: number }>("SELECT block FROM cursors")!.block,
    ).toBeLessThan(block);
    nodes[0]!.lie = counting();
    await until(() => row(id).status === 1);
  });

  it("waits while a receipt belongs to another block than the payment", async () => {
    const { id, address } = request(0);
    await start();
    const elsewhere: Lie = (method, _params, honest) =>
      method === "eth_getTransactionReceipt"
        ? { ...(honest as object), blockHash: hashOf("elsewhere") }
        : honest;
    nodes[0]!.lie = counting(elsewhere);
    chain.mine({ hash: hashOf("a"), from: outsider, to: address, value: eth });
    await until(() => watcher!.chainStatus()[0]!.detail.startsWith("NODE_DISAGREE"));
    expect(payments()).toEqual([]);
    nodes[0]!.lie = counting();
    await until(() => row(id).stage === "confirming");
  });

  it("waits while a transfer belongs to another block than the one read", async () => {
    const { id, address } = request(0, usd);
    await start();
    const elsewhere: Lie = (method, _params, honest) =>
      method === "eth_getLogs"
        ? (honest as object[]).map((log) => ({ ...log, blockHash: hashOf("elsewhere") }))
        : honest;
    nodes[0]!.lie = counting(elsewhere);
    chain.mine(usdPayment("a", address, 5_000_000n));
    await until(() => watcher!.chainStatus()[0]!.detail.startsWith("NODE_DISAGREE"));
    expect(payments()).toEqual([]);
    nodes[0]!.lie = counting();
    await until(() => row(id).stage === "confirming");
  });

  it("raises an alarm where a final block does not show a payment that was seen in it, and none where it does", async () => {
    const [{ id, address }, shown] = [request(0, usd), request(1, usd)];
    await start();
    chain.mine(usdPayment("a", address, 5_000_000n));
    chain.mine(usdPayment("b", shown.address, 5_000_000n));
    await until(() => row(id).stage === "confirming" && row(shown.id).stage === "confirming");
    const hides = (text: unknown): boolean =>
      JSON.stringify(text).includes(address.slice(2).toLowerCase());
    const leavesOut: Lie = (method, _params, honest) => {
      if (method === "eth_getBlockByNumber")
        return { ...(honest as object), logsBloom: `0x${"0".repeat(512)}` };
      return method === "eth_getLogs" ? (honest as object[]).filter((log) => !hides(log)) : honest;
    };
    nodes[0]!.lie = counting(leavesOut);
    chain.mineEmpty(4);
    await until(() => row(shown.id).status === 1);
    expect(payments().map(({ transactionId }) => transactionId)).toEqual([shown.id]);
    expect(audit()).toEqual(["alarm WATCHER_PAYMENT_GONE"]);
  });

  it.each([
    [
      "in other decimals than configured",
      `0x${"12".padStart(64, "0")}`,
      "WATCHER_DECIMALS: the contract of usd has 18 decimals, not 6",
    ],
    ["in no decimals at all", "0x", "NODE_ANSWER"],
  ])(
    "of a token that counts %s waits for the contract, and nothing else waits with it",
    async (_title, lie, reason) => {
      const coin = request(0);
      const dollars = request(1, usd);
      nodes[0]!.lie = counting((method, _params, honest) => (method === "eth_call" ? lie : honest));
      await start(1, 1);
      expect(watcher!.outOfService().get("usd")).toContain(reason);
      chain.mine(
        { hash: hashOf("a"), from: outsider, to: coin.address, value: eth },
        usdPayment("b", dollars.address, 5_000_000n),
      );
      await until(() => row(coin.id).status === 1);
      clock.nowMs += 10 * 86_400_000;
      await passes();
      expect(row(dollars.id)).toMatchObject({
        status: 0,
        stage: "waiting",
        receivedUnits: "0",
      });
      nodes[0]!.lie = counting();
      clock.nowMs += 3_000;
      await until(() => row(dollars.id).status === 1);
      expect(row(dollars.id)).toMatchObject({ stage: "completed", receivedUnits: "5000000" });
      expect(watcher!.outOfService().size).toBe(0);
    },
  );

  it("a payment in a token out of service is credited by the next run, which finds the token in service", async () => {
    const { id, address } = request(0, usd);
    nodes[0]!.lie = counting((method, _params, honest) => (method === "eth_call" ? "0x" : honest));
    await start(1, 1);
    chain.mine(usdPayment("a", address, 5_000_000n));
    await until(() => payments().some(({ final }) => final === 1));
    expect(row(id)).toMatchObject({ status: 0, receivedUnits: "0" });
    await watcher!.close();
    nodes[0]!.lie = counting();
    await start(1, 1);
    await until(() => row(id).status === 1);
    expect(row(id)).toMatchObject({ stage: "completed", receivedUnits: "5000000" });
  });

  it("goes back with an alarm when a final block left the chain, and credits nothing twice", async () => {
    const { id, address } = request(0, usd);
    await start(1, 1);
    chain.mine(usdPayment("a", address, 3_000_000n));
    await until(() => row(id).stage === "partial");
    chain.dropBlocks(1);
    chain.mine(usdPayment("noise", outsider, 1n), usdPayment("a", address, 3_000_000n));
    chain.mine(usdPayment("b", address, 1_000_000n));
    await until(() => row(id).receivedUnits === "4000000");
    expect(audit()).toEqual([
      "alarm WATCHER_FINAL_REORG payment",
      "alarm WATCHER_FINAL_REORG chain",
    ]);
    expect(payments()).toHaveLength(2);
  });

  it("the cursor's blocks above the final one are read once there is an address to find in them, and from the final one on", async () => {
    const read = new Set<number>();
    nodes[0]!.lie = counting((method, params, honest) => {
      const [block, isWhole] = params as readonly [string, boolean];
      if (method === "eth_getBlockByNumber" && isWhole && block.startsWith("0x"))
        read.add(Number(block));
      return honest;
    });
    // Without a hot wallet, whose payments are looked for in every block.
    db.store.database.run("UPDATE agents SET networks = '[]'");
    await start();
    await passes();
    const head = chain.mine();
    await passes();
    // Three confirmations: the newest two blocks are not final.
    expect([...read].filter((block) => block >= head - 1)).toEqual([]);
    const { id, address } = request(0);
    chain.mine({ hash: hashOf("a"), from: outsider, to: address, value: eth / 2n });
    await until(() => row(id).stage === "seen");
    expect([...read]).toEqual(expect.arrayContaining([head, head + 1]));
  });
});
