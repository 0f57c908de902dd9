/**
 * Renewal over real HTTP: an ended request is asked for again under its orderId by `renew`, once
 * for each ended record, and never one that was paid, may be paid or is open.
 */
import { describe, expect, it } from "vitest";
import { markGapGivenUp } from "../../gateway/store/gap-holds.ts";
import { openGap } from "../../gateway/store/gaps.ts";
import { keepDetectedPayment } from "../../gateway/store/payments.ts";
import type { JobRow } from "../../gateway/store/rows.ts";
import { addToSum } from "../../gateway/store/stray-sums.ts";
import { keepUnread } from "../../gateway/store/unread-transactions.ts";
import { placeJobs } from "../../lab/kit/level-reader.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { parseJob } from "../../protocol/payloads.ts";
import {
  agentRow,
  auto,
  countOf,
  db,
  decide,
  deposit,
  eachTestItsGateway,
  gateway,
  manual,
  read,
  ready,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

const expire = (id: string): void =>
  void db().run(
    "UPDATE deposits SET status = 2, stage = 'expired', code = 'deposit_expired' WHERE id = ?",
    id,
  );

async function ended(
  change: object = {},
): Promise<{ readonly id: string; readonly address: string }> {
  const { transactionId: id, address } = (await deposit(change)).body;
  expire(id);
  return { id, address };
}

async function refusedWithdrawal(change: object = {}): Promise<string> {
  const { transactionId } = (await auto(change)).body;
  decide(transactionId, { status: 2, stage: "refused", code: "POLICY_ABOVE_DAY" });
  return transactionId;
}

const jobOf = (id: string) =>
  parseJob(db().get<JobRow>("SELECT * FROM jobs WHERE transactionId = ?", id)?.text ?? "");

describe("renew of a deposit", () => {
  it("gives a new record, address, price and time under the same orderId; the old one stays", async () => {
    await ready();
    Object.assign(gateway.service.config.prices.manual, {
      usdt: { usd: "1", eur: "1", try: "84", atMs: null },
    });
    const fiat = {
      currency: "usdt",
      amount: undefined,
      fiatCurrency: "TRY",
      fiatAmount: "420",
      metadata: { cart: "7" },
    };
    const first = (await deposit(fiat)).body;
    expire(first.transactionId);
    Object.assign(gateway.service.config.prices.manual, {
      usdt: { usd: "1", eur: "1", try: "42", atMs: null },
    });
    gateway.clock.nowMs += 7_200_000;
    const again = await deposit({ ...fiat, metadata: undefined, renew: first.transactionId });
    expect(again).toMatchObject({
      status: 200,
      body: {
        amount: "10",
        status: 0,
        stage: "waiting",
        renews: first.transactionId,
        quote: { price: "42" },
      },
    });
    expect(first).toMatchObject({ amount: "5", quote: { price: "84" } });
    expect(again.body.transactionId).not.toBe(first.transactionId);
    expect(again.body.address).not.toBe(first.address);
    expect(Date.parse(again.body.expiresAt)).toBe(gateway.clock.nowMs + 3_600_000);
    const shown = (await read(`/transaction/${again.body.transactionId}?transactionType=1`)).body;
    expect(shown).toMatchObject({
      orderId: "order-1",
      renews: first.transactionId,
      metadata: { cart: "7" },
    });
    const plain = (await deposit(fiat)).body;
    expect(plain).toMatchObject({
      transactionId: first.transactionId,
      status: 2,
      renewedBy: again.body.transactionId,
    });
    const listed = (await read("/transactions?orderId=order-1")).body.map(
      (one: { transactionId: string }) => one.transactionId,
    );
    expect(listed).toEqual([again.body.transactionId, first.transactionId]);
  });

  it("sent again, or by two tabs at once, makes one record; a successor that ends is renewed by its own id", async () => {
    await ready();
    const { id } = await ended();
    const answers = await Promise.all([1, 2, 3, 4].map(() => deposit({ renew: id })));
    const ids = new Set(answers.map(({ body }) => body.transactionId));
    expect([ids.size, countOf("deposits")]).toEqual([1, 2]);
    const [next = ""] = [...ids];
    expire(next);
    expect((await deposit({ renew: id })).body).toMatchObject({ transactionId: next, status: 2 });
    const third = (await deposit({ renew: next })).body;
    expect(third).toMatchObject({ status: 0, renews: next });
    expect((await deposit({ renew: id })).body).toMatchObject({
      transactionId: next,
      renewedBy: third.transactionId,
    });
    expect(countOf("deposits")).toBe(3);
  });

  it("is refused while it is open, when it was paid, and when any payment came, though not final", async () => {
    await ready();
    const { transactionId: open } = (await deposit({ orderId: "open" })).body;
    const refused = (reason: string, id: string) => ({
      status: 409,
      body: { code: "not_renewable", reason, transactionId: id },
    });
    expect(await deposit({ orderId: "open", renew: open })).toMatchObject(refused("open", open));
    db().run("UPDATE deposits SET status = 1, stage = 'completed' WHERE id = ?", open);
    expect(await deposit({ orderId: "open", renew: open })).toMatchObject(
      refused("completed", open),
    );
    for (const [orderId, currency] of [
      ["late", "eth"],
      ["other-coin", "usdt"],
    ] as const) {
      const { id, address } = await ended({ orderId });
      const chain = {
        network: "eip155:31337",
        address,
        txHash: `0x${orderId}`,
        block: 5,
        blockHash: "0xb",
        logIndex: 0,
      };
      keepDetectedPayment(db(), { ...chain, currency, units: "1", final: 0, transactionId: id });
      expect(await deposit({ orderId, renew: id })).toMatchObject(refused("paid", id));
    }
    const { id } = await ended({ orderId: "partial" });
    db().run("UPDATE deposits SET receivedUnits = '1' WHERE id = ?", id);
    expect(await deposit({ orderId: "partial", renew: id })).toMatchObject(refused("paid", id));
    db().run("UPDATE deposits SET receivedUnits = '0' WHERE id = ?", id);
    expect((await deposit({ orderId: "partial", renew: id })).status).toBe(200);
  });

  it("is refused while its payment may be in what could not be read, or is a part of a sum", async () => {
    await ready();
    const network = "eip155:31337";
    const clear = () =>
      ["unreadTransactions", "gapHolds", "gaps", "straySums", "gonePayments"].map((table) =>
        db().run(`DELETE FROM ${table}`),
      );
    const block = { network, merchant: "m1", code: "NODE_ANSWER", words: "no answer" };
    const gap = (account: string, since: number) =>
      openGap(db(), { ...block, account, fromBlock: 5, toBlock: 6, since, summedTo: 4 });
    const ways: Record<string, (id: string, address: string) => unknown> = {
      unread: (_, address) =>
        keepUnread(db(), { ...block, txHash: "0x1", block: 5, address, at: 0 }),
      gap: (id) => gap("", row(id)!.createdAt),
      account: (id, address) => gap(address, row(id)!.createdAt),
      "given-up": (id) =>
        gap("", row(id)!.createdAt) ??
        markGapGivenUp(db(), { network, account: "", fromBlock: 5 }, 1),
      "left-the-chain": (id, address) =>
        db().run(
          "INSERT INTO gonePayments VALUES (?, '0x3', -1, ?, 'eth', '1', 5, '0x05', ?, 'revoked', 1, 1)",
          ...[network, address, id],
        ),
      sum: (id, account) =>
        addToSum(db(), {
          ...{ network, account, currency: "eth", kind: "more", transactionId: id, merchant: "m1" },
          ...{ txHash: "0x2", block: 5, units: 1n, end: null },
        }),
    };
    for (const [orderId, keep] of Object.entries(ways)) {
      const { id, address } = await ended({ orderId });
      keep(id, address);
      const answer = {
        status: 409,
        body: { code: "not_renewable", reason: "paid", transactionId: id },
      };
      expect([orderId, await deposit({ orderId, renew: id })]).toMatchObject([orderId, answer]);
      clear();
      // A gap of before its life, and of another account, holds nothing.
      gap("", row(id)!.createdAt - 1);
      gap("another", row(id)!.createdAt);
      expect([orderId, (await deposit({ orderId, renew: id })).status]).toEqual([orderId, 200]);
      clear();
    }
  });

  it("takes only an id of this order, with the same content", async () => {
    await ready();
    const { id } = await ended();
    const withdrawn = await refusedWithdrawal();
    const before = ["deposits", "transfers"].map(countOf);
    for (const renew of ["", "x", "0".repeat(32), withdrawn, id.toUpperCase(), 7, true])
      expect(await deposit({ renew }), `${renew}`).toMatchObject({
        status: 400,
        body: { field: "renew", code: "renew_invalid" },
      });
    // Null leaves the field out: the same order again, which makes nothing.
    expect(await deposit({ renew: null })).toMatchObject({
      status: 200,
      body: { transactionId: id },
    });
    expect(await deposit({ orderId: "order-2", renew: id })).toMatchObject({
      status: 400,
      body: { code: "renew_invalid" },
    });
    expect(await deposit({ amount: "2", renew: id })).toMatchObject({
      status: 409,
      body: { code: "order_id_reused" },
    });
    expect(["deposits", "transfers"].map(countOf)).toEqual(before);
    expect((await deposit({ renew: id })).status).toBe(200);
    expect(await deposit({ amount: "2", renew: id })).toMatchObject({
      status: 409,
      body: { code: "order_id_reused" },
    });
  });
});

describe("renew of a withdrawal", () => {
  it("that was refused unsigned makes one new withdrawal with one job, whose id follows from the old one", async () => {
    await ready();
    const old = await refusedWithdrawal();
    expect(await auto()).toMatchObject({
      status: 422,
      body: { transactionId: old, signed: false },
    });
    const answers = await Promise.all([1, 2, 3].map(() => auto({ renew: old })));
    const { merchantId: merchant } = gateway.merchant;
    const next = deriveOrderTransactionId({
      merchant,
      operation: "withdraw",
      orderId: "order-1",
      renews: old,
    });
    for (const answer of answers)
      expect(answer).toMatchObject({
        status: 200,
        body: { transactionId: next, status: 0, renews: old },
      });
    expect([countOf("transfers"), countOf("jobs")]).toEqual([2, 2]);
    placeJobs(gateway.service.store, agentRow().id, gateway.clock.nowMs);
    expect(jobOf(next)).toMatchObject({
      transactionId: next,
      orderId: "order-1",
      renews: old,
      mode: "auto",
    });
    const { transactionId: other } = (await auto({ orderId: "order-2" })).body;
    placeJobs(gateway.service.store, agentRow().id, gateway.clock.nowMs);
    expect(jobOf(other)).not.toHaveProperty("renews");
    expect(await auto()).toMatchObject({
      status: 422,
      body: { transactionId: old, renewedBy: next },
    });
    expect(row(next)).toMatchObject({ renews: old, metadata: "" });
    const many = await gateway.call("POST", "/api/v1/autoWithdraws", {
      orders: [
        {
          currency: "eth",
          amount: "1",
          address: row(old)?.receiver,
          orderId: "order-1",
          renew: old,
        },
      ],
    });
    expect(many.body.answers[0]).toMatchObject({
      httpStatus: 200,
      answer: { transactionId: next },
    });
  });

  it("is refused while its end is unknown, when it was paid, and after any signature", async () => {
    await ready();
    const { transactionId: id } = (await auto()).body;
    const refused = (reason: string) => ({
      status: 409,
      body: { code: "not_renewable", reason, transactionId: id },
    });
    for (const stage of [
      "queued",
      "awaiting_approval",
      "signed",
      "broadcast",
      "confirming",
      "stuck",
    ]) {
      decide(id, { stage });
      expect(await auto({ renew: id }), stage).toMatchObject(refused("open"));
    }
    decide(id, { status: 1, stage: "completed" });
    expect(await auto({ renew: id })).toMatchObject(refused("completed"));
    db().run(
      `INSERT INTO signatures (transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq)
         VALUES (?, 0, 'a', 'eip155:31337', '0x1', '3', '0x2', '1', 9)`,
      id,
    );
    for (const [stage, code] of [
      ["failed", "chain_reverted"],
      ["failed", "cancelled"],
      ["expired", "JOB_EXPIRED"],
    ] as const) {
      db().run(
        "UPDATE transfers SET status = 2, stage = ?, code = ? WHERE id = ?",
        stage,
        code,
        id,
      );
      expect(await auto({ renew: id }), code).toMatchObject(refused("signed"));
    }
    expect([countOf("transfers"), countOf("jobs")]).toEqual([1, 1]);
    db().run("DELETE FROM signatures");
    expect((await auto({ renew: id })).status).toBe(200);
  });

  it("renew of a manual withdrawal waits for an operator again, and is no way from manual to automatic", async () => {
    await ready();
    const { transactionId: old } = (await manual()).body;
    decide(old, { status: 2, stage: "refused", code: "OPERATOR_REFUSED" });
    const address = row(await refusedWithdrawal({ orderId: "order-2" }))?.receiver;
    expect(await auto({ address, renew: old })).toMatchObject({
      status: 409,
      body: { code: "order_id_reused" },
    });
    expect(await manual({ renew: old })).toMatchObject({
      status: 200,
      body: { stage: "awaiting_approval", renews: old },
    });
  });

  it("reserves its funds like any other, and makes nothing without them", async () => {
    await ready();
    const old = await refusedWithdrawal({ amount: "6" });
    expect((await auto({ orderId: "order-2", amount: "6" })).status).toBe(200);
    expect(await auto({ amount: "6", renew: old })).toMatchObject({
      status: 400,
      body: { code: "balance_insufficient" },
    });
    expect(countOf("transfers")).toBe(2);
  });
});
