/**
 * An order waits while the reader of its chain is behind, and while a payment of its wallet that
 * nothing explains looks like its own. The test writes the watcher's rows; the whole way with real
 * processes that were both restored is in test/system/both-restored-process.test.ts.
 */
import { describe, expect, it } from "vitest";
import { adviceOf, dangerOf } from "../../base/causes.ts";
import { assignPayment, type OutgoingPaymentJudge } from "../../gateway/operator/assigning.ts";
import { releaseOrder } from "../../gateway/operator/releasing.ts";
import { problemsOf } from "../../gateway/operator/status-problems.ts";
import { showWithdrawal } from "../../gateway/operator/withdrawals.ts";
import { countsOf } from "../../gateway/store/counts.ts";
import { keepCatchUpTrouble, markWalletChainRead } from "../../gateway/store/levels.ts";
import {
  forgetUnexplainedOutgoing,
  keepUnexplainedOutgoing,
  type UnexplainedOutgoingRow,
} from "../../gateway/store/outgoing-holds.ts";
import { keepOutgoing } from "../../gateway/store/outgoing-transactions.ts";
import type { JobRow } from "../../gateway/store/rows.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { placeWaitingJobs } from "../../gateway/withdrawals/placing.ts";
import { receiver, usdtContract } from "../../lab/kit/gateway-server.ts";
import {
  agentRow,
  auto,
  countOf,
  db,
  eachTestItsGateway,
  ether,
  gateway,
  manual,
  ready,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

const network = "eip155:31337";
const run = "this run";
const hashOf = (n: number): string => `0x${n.toString(16).padStart(64, "0")}`;
const hotWallet = (): string =>
  row("")?.payer ?? (JSON.parse(agentRow().accounts) as { id: string }[])[0]?.id ?? "";
const operator = () => ({ ...gateway.operator, run });

/** The gateway runs, its agent has caught up, and its chain is read up to the head. */
async function running(isLevel = true): Promise<void> {
  await ready();
  Object.assign(gateway.service, { run });
  db().run("UPDATE agents SET caughtUp = ?", run);
  if (isLevel) markWalletChainRead(db(), { network, account: hotWallet() }, run);
}

/** A payment that left the wallet and that no signature explains, of what `auto` orders. */
function foreign(txHash: string, change: Partial<UnexplainedOutgoingRow> = {}): void {
  const paid = { receiver, tag: "", contract: "", units: `${ether}` };
  const place = {
    network,
    account: hotWallet(),
    txHash,
    block: 9 as number | null,
    final: 1 as const,
  };
  keepUnexplainedOutgoing(db(), { ...place, ...paid, ...change }, 0);
}

const pass = (): void => placeWaitingJobs({ ...gateway.service, run });
const jobOf = (id: string) => db().get<JobRow>("SELECT * FROM jobs WHERE transactionId = ?", id);
const isPlaced = (id: string): boolean => (jobOf(id)?.sequence ?? 0) > 0;
const alarms = () =>
  db()
    .all<{ subject: string }>("SELECT subject FROM audit WHERE act = 'alarm ORDER_PAID_BEFORE'")
    .map(({ subject }) => subject);
const released = (id: string, txHash: string, isNoOrders = false) =>
  releaseOrder(operator(), id, { txHash, reason: "the receiver says so", isNoOrders });
const made = async (orderId: string, change: object = {}): Promise<string> =>
  (await auto({ orderId, ...change })).body.transactionId;

describe("an order", () => {
  it("gets no place before the reader of its wallet's chain is level in this run, and gets it after the next pass", async () => {
    await running(false);
    markWalletChainRead(db(), { network, account: hotWallet() }, "an earlier run");
    const id = await made("w-1");
    pass();
    expect(isPlaced(id)).toBe(false);
    expect(row(id)).toMatchObject({ stage: "queued", code: "" });
    expect(showWithdrawal(operator(), id)).toMatchObject({
      unread: expect.stringMatching(/not read up to its newest block/),
    });
    keepCatchUpTrouble(
      db(),
      { network, account: hotWallet() },
      "the mempool cannot be read: NODE_TIMEOUT",
    );
    pass();
    expect(isPlaced(id)).toBe(false);
    expect(showWithdrawal(operator(), id)).toMatchObject({
      unread: expect.stringMatching(/NODE_TIMEOUT/),
    });
    markWalletChainRead(db(), { network, account: hotWallet() }, run);
    const woken: string[] = [];
    gateway.service.signals.on("job", ({ agent }) => woken.push(agent));
    pass();
    expect([isPlaced(id), woken]).toEqual([true, [agentRow().id]]);
    expect(showWithdrawal(operator(), id)).toMatchObject({ unread: "", holders: [] });
    expect(isPlaced(await made("w-2"))).toBe(true);
  });

  it("that asks for what its wallet paid already is held with an alarm, whatever is known of the block; one that differs goes on", async () => {
    await running();
    const differ: readonly Partial<UnexplainedOutgoingRow>[] = [
      { receiver: "0x000000000000000000000000000000000000dEaD" },
      { units: `${ether + 1n}` },
      { contract: "0x5FbDB2315678afecb367f032d93F642f64180aa3" },
      { tag: "7" },
      { network: "eip155:1" },
      { account: "0x000000000000000000000000000000000000dEaD" },
    ];
    for (const [at, change] of differ.entries()) foreign(hashOf(100 + at), change);
    expect(isPlaced(await made("differs"))).toBe(true);
    for (const [at, seen] of ([{}, { final: 0 }, { final: 0, block: null }] as const).entries()) {
      foreign(hashOf(at + 1), seen);
      const id = await made(`held-${at}`);
      expect(row(id)).toMatchObject({
        status: 0,
        stage: "awaiting_operator",
        code: "RECOVERY_HOLD",
      });
      expect([isPlaced(id), alarms()]).toEqual([false, [id]]);
      pass();
      expect([isPlaced(id), alarms()]).toEqual([false, [id]]);
      expect(showWithdrawal(operator(), id)).toMatchObject({
        holders: [{ txHash: hashOf(at + 1) }],
      });
      expect(released(id, hashOf(at + 1), true)).toMatchObject({ ok: true, holders: [] });
      pass();
      expect([isPlaced(id), row(id)]).toMatchObject([true, { stage: "queued", code: "" }]);
      db().run("DELETE FROM openAlarms");
      db().run("DELETE FROM audit");
    }
    expect([dangerOf("ORDER_PAID_BEFORE"), adviceOf("ORDER_PAID_BEFORE")]).toEqual([
      "work",
      expect.stringMatching(/release/),
    ]);
  });

  it("that waited for its agent is held at its place as well, and freed when a signature explains the payment", async () => {
    await running();
    db().run("UPDATE agents SET caughtUp = ''");
    const [first, other] = [await made("w-1"), await made("w-2", { amount: "2" })];
    foreign(hashOf(1));
    db().run("UPDATE agents SET caughtUp = ?", run);
    pass();
    expect([isPlaced(first), isPlaced(other), row(first)?.stage]).toEqual([
      false,
      true,
      "awaiting_operator",
    ]);
    const signature = {
      transactionId: other,
      attempt: 1,
      agent: agentRow().id,
      network,
      account: hotWallet(),
      slot: "1",
    };
    const rest = {
      txHash: hashOf(1),
      feeMax: "1",
      seq: 1,
      validUntilMs: 0,
      pin: "",
      cancel: 0 as const,
    };
    gateway.service.store.write((database) => insertSignature(database, { ...signature, ...rest }));
    pass();
    expect([isPlaced(first), row(first)]).toMatchObject([true, { stage: "queued", code: "" }]);
  });

  it("two of one content are both held by one payment: it completes the one that it paid, and the other goes on", async () => {
    await running();
    foreign(hashOf(1));
    const [one, two] = [await made("w-1"), await made("w-2")];
    expect([row(one)?.stage, row(two)?.stage]).toEqual(["awaiting_operator", "awaiting_operator"]);
    const outgoing = {
      network,
      account: hotWallet(),
      slot: "1",
      txHash: hashOf(1),
      block: 9,
      untold: 0 as const,
    };
    const paid = { receiver, tag: "", contract: "", units: `${ether}` };
    gateway.service.store.write((database) => keepOutgoing(database, { ...outgoing, ...paid }));
    const final = { txHash: hashOf(1), block: 9, feeUnits: 21_000n };
    const judge: OutgoingPaymentJudge = async () => ({ kind: "completed", final });
    const assigned = await assignPayment(
      operator(),
      gateway.service.config,
      one,
      { txHash: hashOf(1), reason: "paid" },
      judge,
    );
    expect(assigned).toMatchObject({ ok: true, row: { status: 1 } });
    pass();
    expect([isPlaced(one), isPlaced(two)]).toEqual([false, true]);
    expect(row(one)).toMatchObject({ status: 1, txHash: hashOf(1), code: "" });
    expect(countOf("recalls")).toBe(0);
  });

  it.each([
    ["its amount", { currency: "eth", amount: "1" }, "", `${ether}`],
    ["the fee of a token", { currency: "usdt", amount: "5" }, usdtContract, "5000000"],
  ])(
    "is held when its payment took %s from its wallet, and completed by it; one that differs is refused",
    async (_, order, contract, units) => {
      await running();
      gateway.fund("eth", 1n);
      const other = { ...order, address: "0x90F79bf6EB2c4f870365E785982E1f101E93b906" };
      const ask = async (orderId: string, change: object) => {
        const { status, body } = await auto({ orderId, ...change });
        return [status, body.code ?? body.stage];
      };
      const refused = [400, "balance_insufficient"];
      expect([await ask("w-1", order), await ask("w-2", other)]).toEqual([refused, refused]);
      foreign(hashOf(1), { contract, units });
      expect([await ask("w-1", order), await ask("w-2", other)]).toEqual([
        [200, "awaiting_operator"],
        refused,
      ]);
      const id = db().get<{ id: string }>("SELECT id FROM transfers")?.id ?? "";
      expect([isPlaced(id), alarms()]).toEqual([false, [id]]);
      const seen = { txHash: hashOf(1), slot: "1", block: 9, untold: 0 as const };
      const outgoing = { network, account: hotWallet(), ...seen };
      const paid = { receiver, tag: "", contract, units };
      gateway.service.store.write((database) => keepOutgoing(database, { ...outgoing, ...paid }));
      const final = { txHash: hashOf(1), block: 9, feeUnits: 21_000n };
      const named = { txHash: hashOf(1), reason: "paid" };
      const judge: OutgoingPaymentJudge = async () => ({ kind: "completed", final });
      await assignPayment(operator(), gateway.service.config, id, named, judge);
      expect(row(id)).toMatchObject({ status: 1, txHash: hashOf(1) });
      expect(await ask("w-3", order)).toEqual(refused);
    },
  );

  it("is released from each payment by itself, once for it alone, and by a payment of no order for all that come", async () => {
    await running();
    foreign(hashOf(1));
    foreign(hashOf(2));
    const id = await made("w-1");
    expect(released(id, hashOf(1))).toMatchObject({ ok: true, holders: [{ txHash: hashOf(2) }] });
    pass();
    expect(isPlaced(id)).toBe(false);
    expect(released(id, hashOf(1))).toMatchObject({ ok: true }); // twice is harmless
    expect(released(id, hashOf(2).toUpperCase().replace("X", "x"))).toMatchObject({
      ok: true,
      holders: [],
    });
    pass();
    expect(isPlaced(id)).toBe(true);
    const next = await made("w-2");
    expect(row(next)?.stage).toBe("awaiting_operator");
    expect(released(next, hashOf(1), true).ok && released(next, hashOf(2), true).ok).toBe(true);
    expect(isPlaced(await made("w-3"))).toBe(true);
    const acts = db().all<{ detail: string }>(
      "SELECT detail FROM audit WHERE act = 'order released' AND subject = ?",
      id,
    );
    expect(acts[0]?.detail).toBe(`${hashOf(1)} paid another: the receiver says so`);
  });

  it("is released from nothing that does not hold it", async () => {
    await running();
    foreign(hashOf(1));
    foreign(hashOf(2), { units: "7" });
    const id = await made("w-1");
    expect(released("0".repeat(32), hashOf(1))).toMatchObject({
      ok: false,
      code: "GATEWAY_UNKNOWN_RECORD",
    });
    expect(released(id, hashOf(2))).toMatchObject({
      ok: false,
      code: "GATEWAY_NOT_HELD",
      detail: expect.stringMatching(hashOf(1)),
    });
    expect(released(id, hashOf(9))).toMatchObject({ ok: false, code: "GATEWAY_NOT_HELD" });
    const free = await made("w-2", { amount: "2" });
    expect(released(free, hashOf(1))).toMatchObject({ ok: false, code: "GATEWAY_NOT_HELD" });
    expect(countOf("releasedOrders")).toBe(0);
  });

  it("by hand is held by a payment of its amount to anybody while its receiver is not named, and waits for approval after it", async () => {
    await running();
    foreign(hashOf(1), { receiver: "0x000000000000000000000000000000000000dEaD" });
    const { transactionId: id } = (await manual({ orderId: "by-hand" })).body;
    expect(row(id)?.stage).toBe("awaiting_operator");
    forgetUnexplainedOutgoing(db(), { network, account: hotWallet(), txHash: hashOf(1) });
    pass();
    expect([isPlaced(id), row(id)?.stage]).toEqual([true, "awaiting_approval"]);
  });
});

describe("a payment that nothing explains", () => {
  it("becomes final and stays final, keeps its block, and is not kept twice", async () => {
    await running();
    foreign(hashOf(1), { final: 0, block: null });
    foreign(hashOf(1), { final: 0, block: 7 });
    foreign(hashOf(1), { final: 0, block: null });
    const read = () => db().all("SELECT block, final FROM unexplained");
    expect(read()).toEqual([{ block: 7, final: 0 }]);
    foreign(hashOf(1), { final: 1, block: 8 });
    foreign(hashOf(1), { final: 0, block: 9 });
    expect(read()).toEqual([{ block: 8, final: 1 }]);
  });
});

describe("status", () => {
  it("names each held order and the orders that wait for a reader, with the lines to type", async () => {
    await running();
    const problems = (nowMs = gateway.clock.nowMs) => {
      const counts = countsOf(db(), run);
      const state = {
        nowMs,
        configFault: "",
        untrusted: "",
        reached: true,
        unreachedWhy: "",
        ready: { status: "ok", checks: [] } as never,
      };
      const rest = {
        storeFault: null,
        books: [],
        restored: "",
        waitingMerchants: [],
        stuckSweeps: 0,
        shared: null,
        files: { databaseBytes: 0, walBytes: 0, freeBytes: null },
      };
      return problemsOf({
        ...state,
        ...rest,
        counts: { ...counts, alarms: { count: 0, newestAt: null } },
      });
    };
    expect(problems().filter(({ what }) => /held|reader/.test(what))).toEqual([]);
    foreign(hashOf(1));
    const id = await made("w-1");
    const shown = {
      what: expect.stringContaining(`withdrawal ${id} of Shop is held`),
      gravity: "broken",
      isWarning: false,
    };
    expect(problems()).toContainEqual({
      ...shown,
      hint: expect.stringContaining(`withdrawals show ${id}`),
    });
    keepCatchUpTrouble(
      db(),
      { network, account: hotWallet() },
      "the mempool cannot be read: NODE_TIMEOUT",
    );
    const count = (
      await Promise.all(["w-2", "w-3"].map((orderId) => made(orderId, { amount: "2" })))
    ).length;
    const waits = {
      what: expect.stringMatching(/^3 orders wait for the reader of eip155:31337: .*NODE_TIMEOUT/),
      hint: expect.any(String),
    };
    expect(count).toBe(2);
    expect(problems()).toContainEqual({ ...waits, gravity: "warning", isWarning: true });
    expect(problems(gateway.clock.nowMs + 60_000)).toContainEqual({
      ...waits,
      gravity: "broken",
      isWarning: false,
    });
    expect(countsOf(db(), null).waitingForReader).toEqual([]);
  });
});
