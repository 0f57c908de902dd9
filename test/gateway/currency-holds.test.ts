/**
 * A currency that is held since a payout in it moved something else: new orders are refused, those
 * that wait get no place, sweeps wait, every place says so, and an operator's resume ends it. The
 * test writes the hold; what holds a currency is in test/watcher/watcher-moved.test.ts.
 */
import { expect, it } from "vitest";
import { dangerOf } from "../../base/causes.ts";
import { endCurrencyHolds, listCurrencyLines } from "../../gateway/operator/currencies.ts";
import { problemsOf } from "../../gateway/operator/status-problems.ts";
import { showWithdrawal } from "../../gateway/operator/withdrawals.ts";
import { probesOf } from "../../gateway/reporting/probes.ts";
import { countsOf } from "../../gateway/store/counts.ts";
import {
  currencyHoldOf,
  holdCurrency,
  keepCurrencyStop,
  listCurrencyStops,
} from "../../gateway/store/currency-holds.ts";
import { markWalletChainRead } from "../../gateway/store/levels.ts";
import { keepMovedAttempt } from "../../gateway/store/moved-payments.ts";
import type { JobRow } from "../../gateway/store/rows.ts";
import { refundedUnits } from "../../gateway/store/transactions.ts";
import { endWithdrawal } from "../../gateway/store/withdrawals.ts";
import { placeWaitingJobs } from "../../gateway/withdrawals/placing.ts";
import {
  agentRow,
  auto,
  db,
  eachTestItsGateway,
  ether,
  gateway,
  ready,
  row,
} from "../support/shop.ts";

eachTestItsGateway();

const network = "eip155:31337";
const run = "this run";
const txHash = `0x${"ab".repeat(32)}`;
const hold = (merchant = "", currency = "eth"): boolean =>
  holdCurrency(db(), { currency, merchant, at: 5, transactionId: "a".repeat(32), txHash });
const resume = (currency = "eth") =>
  endCurrencyHolds(
    { ...gateway.operator, run },
    gateway.service.config,
    currency,
    "it is clear why",
  );
const pass = (): void => placeWaitingJobs({ ...gateway.service, run });
const isPlaced = (id: string): boolean =>
  (db().get<JobRow>("SELECT * FROM jobs WHERE transactionId = ?", id)?.sequence ?? 0) > 0;

async function running(): Promise<void> {
  await ready();
  Object.assign(gateway.service, { run });
  db().run("UPDATE agents SET caughtUp = ?", run);
  const [account] = JSON.parse(agentRow().accounts) as { id: string }[];
  markWalletChainRead(db(), { network, account: account!.id }, run);
}

it("a new order is refused with a word of its own and nothing is made; after the resume it is taken", async () => {
  await running();
  hold();
  const refused = await auto({ orderId: "w-1" });
  expect([refused.status, refused.body.code, refused.body.reason]).toEqual([
    503,
    "unavailable",
    "currency_held",
  ]);
  expect(db().get("SELECT 1 FROM withdrawals WHERE orderId = 'w-1'")).toBeUndefined();
  expect(resume()).toMatchObject({ ok: true, ended: [{ currency: "eth", merchant: "" }] });
  expect((await auto({ orderId: "w-1" })).status).toBe(200);
});

it("an order that waits gets no place, and says why; after the resume it gets it", async () => {
  await running();
  db().run("UPDATE agents SET caughtUp = ''");
  const { transactionId: id } = (await auto({ orderId: "w-1" })).body;
  hold();
  db().run("UPDATE agents SET caughtUp = ?", run);
  pass();
  expect([isPlaced(id), row(id)?.stage]).toEqual([false, "queued"]);
  expect(showWithdrawal({ ...gateway.operator, run }, id)).toMatchObject({ hold: { txHash } });
  resume();
  pass();
  expect(isPlaced(id)).toBe(true);
  expect(showWithdrawal({ ...gateway.operator, run }, id)).toMatchObject({ hold: undefined });
});

it("a hold of one merchant holds no other's orders, and of one currency no other currency", async () => {
  await running();
  hold("another");
  hold("", "usdt");
  expect((await auto({ orderId: "w-1" })).status).toBe(200);
  hold(agentRow().merchant);
  expect((await auto({ orderId: "w-2" })).status).toBe(503);
  expect(hold(agentRow().merchant)).toBe(false);
});

it("a resume ends every hold of its currency, is harmless twice, and is refused for a currency that is not known", async () => {
  await running();
  hold("another");
  hold();
  expect(resume()).toMatchObject({ ok: true, ended: [{ merchant: "" }, { merchant: "another" }] });
  expect([currencyHoldOf(db(), "eth", "another"), currencyHoldOf(db(), "eth", "")]).toEqual([
    undefined,
    undefined,
  ]);
  expect(resume()).toEqual({ ok: true, ended: [] });
  expect(resume("gold")).toMatchObject({ ok: false, code: "GATEWAY_UNKNOWN_CURRENCY" });
  hold("", "gold");
  expect(resume("gold")).toMatchObject({ ok: true, ended: [{ currency: "gold" }] });
  expect(db().all("SELECT subject FROM audit WHERE act = 'currency resumed'")).toHaveLength(3);
});

it("stands in status with the line to type, in currencies, and weighs as a payment made wrongly", async () => {
  await running();
  hold();
  hold(agentRow().merchant, "usdt");
  const place = { agent: agentRow().id, network, currency: "usdt" };
  keepCurrencyStop(db(), place, 7);
  const counts = countsOf(db(), run);
  const problems = problemsOf({
    ...{ configFault: "", reached: true, unreachedWhy: "", untrusted: "", ready: null },
    counts,
    waitingMerchants: [],
    nowMs: 9,
    storeFault: null,
    restored: "",
  } as never);
  const told = problems.map(({ what, hint }) => `${what}: ${hint}`).join("\n");
  expect(told).toMatch(
    /eth is held for every merchant since .*: 0xabab.* moved something else than a{32} asks for/,
  );
  expect(told).toContain("autowithdraw-gateway currencies resume eth --reason TEXT");
  expect(told).toMatch(/usdt is held for [^e]/);
  expect(told).toMatch(
    /agent .* signs no first payment in usdt since .*autowithdraw resume --currency usdt/,
  );
  const lines = listCurrencyLines(
    gateway.service.config,
    { reached: false } as never,
    { of: () => null },
    [currencyHoldOf(db(), "eth", "")!],
  );
  expect(lines.find(({ id }) => id === "eth")?.holds).toEqual([
    expect.objectContaining({ merchant: "", txHash }),
  ]);
  expect(dangerOf("CURRENCY_MOVES_OTHERWISE")).toBe("twice");
  keepCurrencyStop(db(), place, null);
  expect(listCurrencyStops(db(), 9)).toEqual([]);
});

it("a currency is not ok in /ready, by itself, while every merchant is held; a hold of one merchant is nobody else's business", async () => {
  await running();
  const { config, store } = gateway.service;
  const probes = probesOf({
    ...{
      config,
      store,
      clock: () => 9,
      watcher: () => null,
      certificateEndsAtMs: () => null,
      outOfService: () => "",
    },
    ...{
      ownClock: () => ({ kind: "right" }) as never,
      prices: { of: () => null, canHave: () => false },
    },
  });
  const shown = () => probes.map((probe) => probe()).find(({ name }) => name === "currency usdt");
  hold("another", "usdt");
  expect(shown()).toMatchObject({ ok: true });
  hold("", "usdt");
  expect(shown()).toMatchObject({
    ok: false,
    aloneOut: true,
    detail: expect.stringMatching(/^held: a payout in it moved/),
  });
});

it("a refund that moved another amount has paid that back, so that no second one pays it again", async () => {
  await running();
  const { transactionId: id } = (await auto({ orderId: "w-1" })).body;
  const deposit = "d".repeat(32);
  db().run("UPDATE withdrawals SET refundOf = ? WHERE id = ?", deposit, id);
  expect(refundedUnits(db(), deposit)).toBe(ether);
  const end = {
    status: 2,
    stage: "failed",
    txHash,
    feeUnits: "1",
    finalBlock: 9,
    changedAt: 9,
  } as const;
  keepMovedAttempt(db(), { transactionId: id, txHash, block: 9, feeUnits: "1", at: 9 });
  endWithdrawal(db(), id, {
    ...end,
    code: "chain_moved",
    moved: { receivedUnits: "7", sentUnits: "9" },
  });
  expect(refundedUnits(db(), deposit)).toBe(9n);
  const other = (await auto({ orderId: "w-2" })).body.transactionId as string;
  db().run("UPDATE withdrawals SET refundOf = ? WHERE id = ?", deposit, other);
  endWithdrawal(db(), other, { ...end, code: "chain_reverted" });
  expect(refundedUnits(db(), deposit)).toBe(9n);
});
