/** The scheduler and a token whose contract has other decimals than config.json. */
import { describe, expect, it } from "vitest";
import { applySchedulerEvent, createScheduler } from "../../agent/courier/scheduler/scheduler.ts";
import { chainStateOf, helloOf, token, viewOf } from "../support/scheduler-views.ts";

describe("a token that counts otherwise than configured", () => {
  it("is not signed, and says why, while the coin of the same account is", () => {
    const coin = viewOf(1, "approved", { currency: "eth", contract: "" });
    const paid = viewOf(2, "approved", { currency: "usdt", contract: token, amountUnits: "500" });
    const askedWith = (
      unfit: ReadonlyMap<string, string>,
      balances: ReadonlyMap<string, bigint>,
    ) => {
      const scheduler = createScheduler();
      applySchedulerEvent(
        scheduler,
        { kind: "hello", hello: helloOf([coin, paid]), isFresh: true, askedAtMs: 0 },
        0,
      );
      const counted = {
        ok: true,
        latest: 7n,
        pending: 7n,
        final: 7n,
        quorum: 1,
        isSame: true,
      } as const;
      applySchedulerEvent(scheduler, { kind: "slotCounts", chain: "local", answer: counted }, 0);
      const out = applySchedulerEvent(
        scheduler,
        { kind: "block", chain: "local", chainState: chainStateOf(100, { unfit, balances }) },
        0,
      );
      const gas = out.flatMap((effect) =>
        effect.kind === "gas" ? [effect.withdrawal.currency] : [],
      );
      return { gas, waiting: scheduler.book.items.get(paid.transactionId)?.waiting };
    };
    const funds = new Map([["", 10n ** 21n]]);
    const out = askedWith(new Map([[token, "the contract has 6 decimals"]]), funds);
    expect(out).toEqual({ gas: ["eth"], waiting: "out of service: the contract has 6 decimals" });
    expect(askedWith(new Map(), new Map([...funds, [token, 10n ** 12n]])).gas.sort()).toEqual([
      "eth",
      "usdt",
    ]);
  });
});
