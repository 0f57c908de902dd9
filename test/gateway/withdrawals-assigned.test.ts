/**
 * A transaction of the hot wallet that no signature explains is assigned to the withdrawal that it
 * paid. The test writes the agent's and the watcher's part: rows as hub and watcher write them. The
 * hub's own part is in test/hub/hub-assigned.test.ts, the whole path on a real chain in
 * test/system/recovery-process.test.ts.
 */
import { describe, expect, it } from "vitest";
import type { Judgement } from "../../chains/nodes.ts";
import { assignPayment, type OutgoingPaymentJudge } from "../../gateway/operator/assigning.ts";
import { showWithdrawal } from "../../gateway/operator/withdrawals.ts";
import { readAssignedPayment } from "../../gateway/store/assigned-payments.ts";
import { listForeignOutgoing } from "../../gateway/store/books.ts";
import { keepOutgoing } from "../../gateway/store/outgoing-transactions.ts";
import { recalledAtOf } from "../../gateway/store/recalls.ts";
import type { OutgoingRow } from "../../gateway/store/rows.ts";
import { insertSignature } from "../../gateway/store/signatures.ts";
import { markVoid } from "../../gateway/store/void-attempts.ts";
import { completeAssigned, updateWithdrawal } from "../../gateway/store/withdrawals.ts";
import { receiver } from "../../lab/kit/gateway-server.ts";
import { placeJobs } from "../../lab/kit/level-reader.ts";
import {
  agentRow,
  auto,
  caughtUp,
  countOf,
  db,
  decide,
  deposit,
  eachTestItsGateway,
  gateway,
  manual,
  online,
  ready,
  release,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

const network = "eip155:31337";
const txHash = `0x${"ab".repeat(32)}`;
const final = { txHash, block: 9, feeUnits: 21_000n };
const completes: OutgoingPaymentJudge = async () => ({ kind: "completed", final });
const reason = "seen on the chain, in no ledger";

async function made(change: object = {}): Promise<string> {
  const answer = await auto(change);
  expect(answer.status).toBe(200);
  placeJobs(gateway.service.store, agentRow().id, gateway.clock.nowMs);
  return answer.body.transactionId;
}

/** A final transaction of the order's hot wallet, as the watcher keeps it. */
function outgoing(id: string, change: Partial<OutgoingRow> = {}): void {
  const { payer: account = "", units = "" } = row(id) ?? {};
  const usual = {
    network,
    account,
    slot: "1",
    txHash,
    block: 9,
    receiver,
    tag: "",
    contract: "",
    units,
    untold: 0 as const,
  };
  gateway.service.store.write((database) => keepOutgoing(database, { ...usual, ...change }));
}

const assign = (id: string, hash = txHash, judge = completes) =>
  assignPayment(gateway.operator, gateway.service.config, id, { txHash: hash, reason }, judge);
const foreign = (account: string): number =>
  listForeignOutgoing(db(), { network, account }, { after: 0, last: 99, most: 9 }).length;

describe("a payment that an operator assigns", () => {
  it("an assigned payment completes an order that failed unsigned, with hash, block and fee, and the books have no foreign transaction", async () => {
    await ready();
    caughtUp();
    const id = await made();
    decide(id, { status: 2, stage: "refused", code: "POLICY_ABOVE_DAY" });
    outgoing(id);
    expect(foreign(row(id)?.payer ?? "")).toBe(1);
    expect(await assign(id)).toMatchObject({ ok: true, row: { status: 1 } });
    const completed = {
      status: 1,
      stage: "completed",
      code: "",
      txHash,
      finalBlock: 9,
      feeUnits: "21000",
    };
    expect(row(id)).toMatchObject(completed);
    expect(foreign(row(id)?.payer ?? "")).toBe(0);
    const acts = showWithdrawal(gateway.operator, id);
    expect(acts).toMatchObject({
      assigned: { txHash },
      acts: [{ act: "payment assigned", detail: `${txHash}: ${reason}` }],
    });
    expect(await assign(id, txHash.toUpperCase().replace("X", "x"))).toMatchObject({ ok: true }); // twice is harmless
    expect([countOf("assignedPayments"), row(id)]).toMatchObject([1, completed]);
  });

  it("an assigned payment leaves an open order open and recalled until its agent has refused it, also for the shop", async () => {
    await ready();
    caughtUp();
    const id = await made();
    outgoing(id);
    expect(await assign(id)).toMatchObject({ ok: true, row: { status: 0 } });
    expect(recalledAtOf(db(), id)).toBe(gateway.clock.nowMs);
    expect(row(id)).toMatchObject({ status: 0, txHash: "" });
    const cancelled = await gateway.call("POST", "/api/v1/cancelWithdraw", { transactionId: id });
    expect(cancelled).toMatchObject({ status: 200, body: { cancelled: false } });
    online();
    const { store, signals } = gateway.service;
    signals.on("recall", () =>
      setImmediate(() => {
        const assigned = readAssignedPayment(db(), id);
        if (assigned !== undefined)
          store.write((database) => completeAssigned(database, assigned, gateway.clock.nowMs));
        signals.emit("changed", { transactionId: id });
      }),
    );
    const late = await gateway.call("POST", "/api/v1/cancelWithdraw", { transactionId: id });
    expect(late).toMatchObject({ status: 409, body: { code: "not_cancellable" } });
  });

  it("an assigned payment is forgotten when the order turns out to be signed, and another payment may be assigned to no signed order", async () => {
    await ready();
    caughtUp();
    const id = await made();
    outgoing(id);
    expect((await assign(id)).ok).toBe(true);
    const { payer: account = "" } = row(id) ?? {};
    const signature = {
      transactionId: id,
      attempt: 1,
      agent: agentRow().id,
      network,
      account,
      slot: "2",
    };
    const rest = {
      txHash: `0x${"cd".repeat(32)}`,
      feeMax: "1",
      seq: 1,
      validUntilMs: 0,
      pin: "",
      cancel: 0 as const,
    };
    gateway.service.store.write((database) => insertSignature(database, { ...signature, ...rest }));
    expect([countOf("assignedPayments"), countOf("recalls")]).toEqual([0, 0]);
    expect(await assign(id)).toMatchObject({ ok: false, code: "GATEWAY_NOT_ASSIGNED" });
  });

  it("an assigned payment may be that of an order whose attempts are all void: an open one waits for its agent, and one that failed is Completed", async () => {
    await ready();
    caughtUp();
    const [open, failed] = [await made(), await made({ orderId: "order-2" })];
    const hashOf = (id: string): string => `0x${id.repeat(2)}`;
    for (const [at, id] of [open, failed].entries()) {
      const { payer: account = "" } = row(id) ?? {};
      const attempt = { transactionId: id, txHash: `0x${`c${at}`.repeat(32)}`, validUntilMs: 77 };
      const signature = {
        ...attempt,
        attempt: 1,
        agent: agentRow().id,
        network,
        account,
        slot: `${at + 2}`,
      };
      gateway.service.store.write((database) =>
        insertSignature(database, { ...signature, feeMax: "1", seq: at + 1, pin: "", cancel: 0 }),
      );
      outgoing(id, { txHash: hashOf(id), slot: `${at + 7}` });
      const refused = {
        ok: false,
        detail: "the withdrawal was signed here: the chain decides its end",
      };
      expect(await assign(id, hashOf(id))).toMatchObject(refused);
      gateway.service.store.write((database) => markVoid(database, attempt, 80));
    }
    expect(await assign(open, hashOf(open))).toMatchObject({ ok: true, row: { status: 0 } });
    expect([readAssignedPayment(db(), open)?.txHash, countOf("recalls")]).toEqual([
      hashOf(open),
      0,
    ]);
    decide(failed, { status: 2, stage: "expired", code: "OPERATOR_CANCELLED" });
    expect(await assign(failed, hashOf(failed))).toMatchObject({ ok: true, row: { status: 1 } });
    expect(row(failed)).toMatchObject({ status: 1, txHash: hashOf(failed), finalBlock: 9 });
  });

  const wrong: readonly [string, Partial<OutgoingRow>, RegExp][] = [
    [
      "a receiver",
      { receiver: "0x000000000000000000000000000000000000dEaD" },
      /transaction paid 0x0+dEaD/,
    ],
    ["an amount", { units: "7" }, /transaction paid 7 base units/],
    [
      "a token",
      { contract: "0x5FbDB2315678afecb367f032d93F642f64180aa3" },
      /transaction moved 0x5FbDB/,
    ],
    ["a tag", { tag: "77" }, /transaction names the tag 77, and the withdrawal is for no tag/],
    [
      "a wallet",
      { account: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8" },
      /made it, and the withdrawal is paid from/,
    ],
    ["a network", { network: "eip155:1" }, /no final transaction/],
  ];
  for (const [name, change, words] of wrong)
    it(`an assigned payment with ${name} that differs is refused, and nothing is written`, async () => {
      await ready();
      caughtUp();
      const id = await made();
      outgoing(id, change);
      const refused = await assign(id);
      expect(refused).toMatchObject({
        ok: false,
        code: "GATEWAY_NOT_ASSIGNED",
        detail: expect.stringMatching(words),
      });
      expect([countOf("assignedPayments"), countOf("recalls"), row(id)?.status]).toEqual([0, 0, 0]);
    });

  it("an assigned payment is one that the nodes confirm now, and whose agents have caught up", async () => {
    await ready();
    const id = await made();
    outgoing(id);
    expect(await assign(id)).toMatchObject({ ok: false, code: "GATEWAY_AGENT_NOT_CAUGHT_UP" });
    caughtUp();
    const others: readonly Judgement[] = [
      { kind: "waiting" },
      { kind: "failed", code: "chain_reverted", final },
      { kind: "confirming", txHash, block: 9 },
    ];
    for (const judgement of others)
      expect(await assign(id, txHash, async () => judgement)).toMatchObject({
        ok: false,
        code: "GATEWAY_NOT_ASSIGNED",
      });
    expect([countOf("assignedPayments"), countOf("recalls")]).toEqual([0, 0]);
    expect((await assign(id)).ok).toBe(true);
  });

  it("an assigned payment pays one order: what a signature explains, or an operator assigned, pays no other", async () => {
    await ready();
    caughtUp();
    const [id, other, signed] = [
      await made(),
      await made({ orderId: "order-2" }),
      await made({ orderId: "order-3" }),
    ];
    outgoing(id);
    expect((await assign(id)).ok).toBe(true);
    expect(await assign(other)).toMatchObject({ ok: false, detail: `${txHash} paid ${id}` });
    const hash = `0x${"cd".repeat(32)}`;
    outgoing(signed, { txHash: hash, slot: "2" });
    expect(await assign(id, hash)).toMatchObject({
      ok: false,
      detail: `${txHash} was assigned to it`,
    });
    const { payer: account = "" } = row(signed) ?? {};
    const signature = {
      transactionId: signed,
      attempt: 1,
      agent: agentRow().id,
      network,
      account,
      slot: "2",
      txHash: hash,
    };
    const rest = { feeMax: "1", seq: 1, validUntilMs: 0, pin: "", cancel: 0 as const };
    gateway.service.store.write((database) => insertSignature(database, { ...signature, ...rest }));
    expect(await assign(other, hash)).toMatchObject({
      ok: false,
      detail: `${hash} paid ${signed}`,
    });
  });

  it("an assigned payment needs an unsigned withdrawal with a receiver, and an agent that can refuse it", async () => {
    await ready();
    caughtUp();
    const no = { ok: false, code: "GATEWAY_NOT_ASSIGNED" };
    const unnamed = (await manual({ orderId: "order-4" })).body.transactionId;
    outgoing(unnamed, { slot: "4" });
    expect(await assign(unnamed)).toMatchObject(no);
    const inbound = (await deposit({ orderId: "in-1" })).body.transactionId;
    expect(await assign(inbound)).toMatchObject({ ok: false, code: "GATEWAY_UNKNOWN_RECORD" });
    const id = await made();
    outgoing(id, { slot: "5" });
    gateway.service.store.write((database) =>
      updateWithdrawal(database, id, { status: 1, stage: "completed" }, 1),
    );
    expect(await assign(id)).toMatchObject({
      ...no,
      detail: "the withdrawal is Completed already",
    });
    const open = await made({ orderId: "order-6" });
    outgoing(open, { slot: "6" });
    expect(release().ok).toBe(true);
    expect(await assign(open)).toMatchObject({
      ...no,
      detail: expect.stringContaining("no paired agent can refuse"),
    });
    // A failed withdrawal is assigned its payment without that agent, unless it was released before
    // it had caught up.
    updateWithdrawal(db(), open, { status: 2, stage: "refused", code: "OPERATOR_REFUSED" }, 1);
    db().run("UPDATE agents SET caughtUp = 'given up'");
    expect(await assign(open)).toMatchObject({ ok: false, code: "GATEWAY_AGENT_NOT_CAUGHT_UP" });
    db().run("UPDATE agents SET caughtUp = 'an earlier run'");
    expect(await assign(open)).toMatchObject({ ok: true, row: { status: 1 } });
  });
});
