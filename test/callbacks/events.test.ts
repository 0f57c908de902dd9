/**
 * The events of a change, by its row before and after, and the turns of the concurrent requests
 * that send them.
 */
import { describe, expect, it } from "vitest";
import {
  DeliveryConcurrency,
  nextTryAtMs,
  type PermitTarget,
  permitsMax,
  retryAfterOf,
} from "../../gateway/callbacks/callbacks.ts";
import { eventsOf } from "../../gateway/callbacks/events.ts";
import { callbackSettings } from "../../gateway/config/callback-settings.ts";
import type { RecordState } from "../../gateway/store/callback-outbox.ts";
import type { DepositRow, WithdrawalRow } from "../../gateway/store/rows.ts";

const shared = {
  ...{ id: "1", merchant: "m", orderId: "o", renews: "", currency: "eth", network: "n", tag: "" },
  ...{ stage: "waiting", code: "", txHash: "", finalBlock: null, receivedUnits: "0" },
  ...{ createdAt: 0, changedAt: 0, expiresAt: 0, metadata: "", value: "" },
  ...({ status: 0, callbackStatus: 0 } as const),
  ...{ contentHash: "00", amount: "1", units: "100" },
};
const deposit: DepositRow = {
  ...shared,
  ...({
    operation: "deposit",
    origin: "ordered",
    address: "",
    payTo: "",
    late: 0,
    acceptedAt: null,
    invoice: "",
  } as const),
  ...{ toleranceUnits: "0", quote: "", payToken: "", returnUrl: "" },
};
const withdrawal: WithdrawalRow = {
  ...shared,
  ...({ operation: "withdraw", mode: "auto", payer: "", receiver: null } as const),
  ...{ feeUnits: "", refundOf: "" },
};

const told = (
  operation: "deposit" | "withdraw",
  before: Partial<RecordState> | null,
  after: Partial<RecordState>,
  wasBroadcast = false,
) =>
  eventsOf(
    {
      row: { ...(operation === "deposit" ? deposit : withdrawal), ...after },
      before: before === null ? null : { ...shared, ...before },
      payment: null,
    },
    { minPaymentUnits: 10n, surplusToleranceUnits: 1n, refundedUnits: 0n, wasBroadcast },
  );

describe("a deposit", () => {
  it("is told of on its way", () => {
    const on = (before: Partial<RecordState> | null, after: Partial<RecordState>) =>
      told("deposit", before, after);
    expect(on(null, {})).toEqual([]);
    expect(on({}, { stage: "seen" })).toEqual(["deposit.detected"]);
    expect(on({}, { stage: "confirming" })).toEqual(["deposit.detected"]);
    expect(on({ stage: "seen" }, { stage: "confirming" })).toEqual([]);
    expect(on({ stage: "seen" }, { stage: "partial", receivedUnits: "10" })).toEqual([
      "deposit.partial",
    ]);
    expect(on({ stage: "seen" }, { stage: "partial", receivedUnits: "9" })).toEqual([
      "deposit.partial",
      "deposit.below_minimum",
    ]);
    expect(on({}, { stage: "partial", receivedUnits: "50" })).toEqual([
      "deposit.detected",
      "deposit.partial",
    ]);
    expect(on({ stage: "seen" }, { stage: "waiting" })).toEqual(["deposit.reorged"]);
    expect(on({ stage: "confirming" }, { stage: "seen" })).toEqual(["deposit.reorged"]);
    expect(
      on({ stage: "partial", receivedUnits: "50" }, { stage: "confirming", receivedUnits: "50" }),
    ).toEqual([]);
  });

  it("ends once, and says what came over or late", () => {
    const on = (before: Partial<RecordState>, after: Partial<RecordState>) =>
      told("deposit", before, after);
    expect(on({ stage: "seen" }, { status: 1, stage: "completed", receivedUnits: "100" })).toEqual([
      "deposit.completed",
    ]);
    // The unit that a wallet rounds up is within what may come over.
    expect(on({}, { status: 1, stage: "completed", receivedUnits: "101" })).toEqual([
      "deposit.completed",
    ]);
    expect(on({}, { status: 1, stage: "completed", receivedUnits: "102" })).toEqual([
      "deposit.completed",
      "deposit.overpaid",
    ]);
    expect(on({}, { status: 2, stage: "expired" })).toEqual(["deposit.expired"]);
    const expired = { status: 2, stage: "expired" } as const;
    expect(on(expired, { ...expired, receivedUnits: "100" })).toEqual(["deposit.late"]);
    expect(on(expired, { ...expired, stage: "late" })).toEqual([]);
    expect(on(expired, { status: 1, stage: "completed" })).toEqual(["deposit.completed"]);
    const done = { status: 1, stage: "completed", receivedUnits: "100" } as const;
    expect(on(done, { ...done, receivedUnits: "150" })).toEqual(["deposit.late"]);
  });

  it("that another coin came to is unattributed", () => {
    const payment = { currency: "usdt", units: "5", txHash: "0x1" };
    expect(
      eventsOf(
        { row: deposit, before: null, payment },
        { minPaymentUnits: 0n, surplusToleranceUnits: 0n, refundedUnits: 0n, wasBroadcast: false },
      ),
    ).toEqual(["deposit.unattributed"]);
  });
});

describe("a withdrawal", () => {
  const on = (
    before: Partial<RecordState> | null,
    after: Partial<RecordState>,
    wasBroadcast = false,
  ) => told("withdraw", before, after, wasBroadcast);

  it("is told of from its making to its end, each step once", () => {
    expect(on(null, { stage: "queued" })).toEqual(["withdrawal.created"]);
    expect(on({ stage: "queued" }, { stage: "awaiting_approval" })).toEqual([]);
    expect(on({ stage: "awaiting_approval" }, { stage: "queued" })).toEqual([
      "withdrawal.approved",
    ]);
    expect(on({ stage: "awaiting_approval" }, { stage: "signed" })).toEqual([
      "withdrawal.approved",
    ]);
    expect(on({ stage: "queued" }, { stage: "signed" })).toEqual([]);
    expect(on({ stage: "signed" }, { stage: "confirming" })).toEqual(["withdrawal.broadcast"]);
    expect(on({ stage: "broadcast" }, { stage: "confirming" })).toEqual([]);
    expect(on({ stage: "stuck" }, { stage: "confirming" }, true)).toEqual([]);
    expect(on({ stage: "confirming" }, { status: 1, stage: "completed" })).toEqual([
      "withdrawal.completed",
    ]);
    expect(on({ stage: "confirming" }, { status: 2, stage: "failed" })).toEqual([
      "withdrawal.failed",
    ]);
    expect(on({ status: 1, stage: "completed" }, { status: 1, stage: "other" })).toEqual([]);
  });

  it("that was refused is rejected and failed; one that ran out failed", () => {
    expect(on({ stage: "awaiting_approval" }, { status: 2, stage: "refused" })).toEqual([
      "withdrawal.rejected",
      "withdrawal.failed",
    ]);
    expect(on({ stage: "awaiting_approval" }, { status: 2, stage: "expired" })).toEqual([
      "withdrawal.failed",
    ]);
    // An operator named the transaction that paid it; nothing else follows an end.
    expect(on({ status: 2, stage: "refused" }, { status: 1, stage: "completed" })).toEqual([
      "withdrawal.completed",
    ]);
    expect(on({ status: 1, stage: "completed" }, { status: 1, stage: "completed" })).toEqual([]);
  });
});

describe("the schedule", () => {
  const { retryMs } = callbackSettings(undefined, false);

  it("of callbacks is the one of Standard Webhooks, a fifth longer at most, and ends", () => {
    const seconds = (chance: number) =>
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((tries) => {
        const at = nextTryAtMs(retryMs, { tries, nowMs: 1_000, retryAfterMs: 0, chance });
        return at === null ? null : (at - 1_000) / 1000;
      });
    expect(seconds(0)).toEqual([
      5,
      300,
      1_800,
      7_200,
      18_000,
      36_000,
      50_400,
      72_000,
      86_400,
      null,
    ]);
    expect(seconds(1)).toEqual([
      6,
      360,
      2_160,
      8_640,
      21_600,
      43_200,
      60_480,
      86_400,
      103_680,
      null,
    ]);
  });

  it("of callbacks waits longer where a receiver asks for it, a day at most", () => {
    const at = Date.parse("2026-01-02T03:04:05Z");
    expect(nextTryAtMs(retryMs, { tries: 1, nowMs: at, retryAfterMs: 9_000, chance: 0 })).toBe(
      at + 9_000,
    );
    expect(nextTryAtMs(retryMs, { tries: 2, nowMs: at, retryAfterMs: 9_000, chance: 0 })).toBe(
      at + 300_000,
    );
    const waits = [
      "7",
      "0",
      "9999999999",
      "Fri, 02 Jan 2026 03:05:05 GMT",
      "Thu, 01 Jan 2026 00:00:00 GMT",
      "soon",
      "-5",
      undefined,
    ];
    expect(waits.map((header) => retryAfterOf(header, at))).toEqual([
      7_000,
      0,
      86_400_000,
      60_000,
      0,
      0,
      expect.any(Number),
      0,
    ]);
    expect(retryAfterOf("-5", at)).toBeLessThanOrEqual(86_400_000);
  });
});

describe("permits of callbacks", () => {
  const of = (merchant: string, target = merchant): PermitTarget => ({ merchant, target });
  const takeAll = (
    permits: DeliveryConcurrency,
    waiting: readonly PermitTarget[],
  ): readonly string[] => {
    const taken: string[] = [];
    for (let next = permits.take(waiting); next !== null; next = permits.take(waiting))
      taken.push(next.target);
    return taken;
  };

  it("permits of callbacks: one for a target that never answered, four to a good one, eight to a merchant", () => {
    const permits = new DeliveryConcurrency();
    const mine = ["a", "b", "c"].map((target) => of("m", target));
    expect(takeAll(permits, mine)).toEqual(["a", "b", "c"]);
    for (const { target } of mine) permits.free(target, true, 10);
    expect(takeAll(permits, mine)).toHaveLength(8);
    expect(takeAll(permits, [of("n")])).toEqual(["n"]);
  });

  it("go to the merchant with the fewest, then to the one that waited longest", () => {
    const permits = new DeliveryConcurrency();
    const all = [of("m", "m1"), of("m", "m2"), of("n")];
    for (const { target } of all) {
      permits.take(all.filter((one) => one.target === target));
      permits.free(target, true, 1);
    }
    const first = takeAll(permits, all);
    expect(first.slice(0, 4)).toEqual(["m1", "n", "m2", "n"]);
  });

  it("are left for good targets, however many others hang; a target that is good again gets more", () => {
    const permits = new DeliveryConcurrency();
    const good = [of("shop"), of("other shop")];
    for (const { target } of good) {
      permits.take(good);
      permits.free(target, true, 1);
    }
    const hung = Array.from({ length: 500 }, (_, i) => of(`hung ${i}`));
    const stuck = [...takeAll(permits, hung)];
    for (const target of stuck) permits.free(target, false, 15_000);
    const again = takeAll(permits, hung);
    expect([stuck.length, again.length]).toEqual([24, 48]);
    expect(takeAll(permits, good)).toHaveLength(8);
    expect(permits.taken).toBeLessThan(permitsMax);
    for (const target of again) permits.free(target, true, 1);
    permits.keepOnly(new Set());
    expect(takeAll(permits, hung).length).toBeGreaterThan(20);
  });

  it("permits of callbacks: a target that answers late has one until it answers in time", () => {
    const permits = new DeliveryConcurrency();
    const shop = [of("shop")];
    permits.take(shop);
    permits.free("shop", true, 3_000);
    expect(takeAll(permits, shop)).toHaveLength(1);
    permits.free("shop", true, 100);
    expect(takeAll(permits, shop)).toHaveLength(4);
    permits.back("shop");
    expect(takeAll(permits, shop)).toHaveLength(1);
  });
});
