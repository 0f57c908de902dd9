/**
 * The last blocks of months, and a merchant's month from the tables alone: each end is asked for
 * once, a report asks no node, and each line agrees to the unit with itself, with the operator's
 * report and with the chain.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { startBooks } from "../../gateway/books/books.ts";
import { type MonthReport, reportMonth } from "../../gateway/books/month-report.ts";
import {
  keepMonthEnds,
  type MonthOptions,
  monthAt,
  parseMonth,
} from "../../gateway/books/months.ts";
import { type PeriodLine, sumPeriod } from "../../gateway/books/period.ts";
import { listMonthEnds } from "../../gateway/store/month-ends.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import {
  agent,
  blockMs,
  chain,
  clock,
  close,
  currencies,
  db,
  eachTestItsBooks,
  issue,
  keepPayment,
  mine,
  network,
  pay,
  payout,
  signed,
  sweep,
  topUp,
} from "../support/books-kit.ts";

const eth = 10n ** 18n;
const usd = 10n ** 6n;
const fee = 21_000n * 10n ** 9n;
const march = Date.parse("2026-03-01T00:00:00Z");
const made = Date.parse("2026-02-10T00:00:00Z"); // the merchant
/** The first block of March. */
const firstOfMarch = 1_000;

eachTestItsBooks();
beforeEach(() => {
  chain.genesisMs = march - firstOfMarch * blockMs;
  clock.nowMs = march + 3 * 3_600_000;
  db.store.database.run("UPDATE merchants SET createdAt = ?", made);
});

const options = (change: Partial<MonthOptions> = {}): MonthOptions => ({
  ...{ store: db.store, network, reader: chain, clock: () => clock.nowMs, rest: async () => {} },
  ...change,
});
const ends = (): Readonly<Record<string, number>> =>
  Object.fromEntries(
    listMonthEnds(db.store.database, network).map((row) => [row.month, row.block]),
  );

describe("a month", () => {
  it.each(["2026-00", "2026-13", "2026-1", "26-01", "2026-01-01", "2026", "", " 2026-01"])(
    "%j is none",
    (text) => {
      expect(parseMonth(text)).toBeNull();
    },
  );

  it("ends where the next one begins, over the years and leap days", () => {
    expect(parseMonth("2028-02")).toEqual({
      name: "2028-02",
      sinceMs: Date.parse("2028-02-01T00:00:00Z"),
      untilMs: Date.parse("2028-03-01T00:00:00Z"),
    });
    const last = monthAt(Date.parse("2026-12-31T23:59:59.999Z"));
    expect([last.name, monthAt(last.untilMs).name]).toEqual(["2026-12", "2027-01"]);
    expect(monthAt(Date.parse("2026-01-31T12:00:00Z"), -1).name).toBe("2025-12");
    expect(monthAt(Date.parse("2026-03-31T12:00:00Z"), -1).name).toBe("2026-02");
  });
});

describe("the last block of a month", () => {
  it("is the one before the first whose time is the month's end, and is asked for once", async () => {
    chain.block = firstOfMarch + 50;
    mine(0);
    expect(await keepMonthEnds(options())).toBe(true);
    // January ends before the chain began, and December with it.
    expect(ends()).toEqual({ "2025-12": -1, "2026-01": -1, "2026-02": firstOfMarch - 1 });
    const { timesAsked } = chain;
    expect(timesAsked).toBeLessThan(60);
    expect(await keepMonthEnds(options())).toBe(true);
    expect(chain.timesAsked).toBe(timesAsked);
  });

  it("is not kept before the final block is behind the month's end", async () => {
    chain.block = firstOfMarch - 1;
    mine(0);
    expect(await keepMonthEnds(options())).toBe(false);
    expect(ends()["2026-02"]).toBeUndefined();
    mine();
    expect(await keepMonthEnds(options())).toBe(true);
    expect(ends()["2026-02"]).toBe(firstOfMarch - 1);
  });

  it("is looked for of thirteen months at most, four at a time, the newest first", async () => {
    db.store.database.run("UPDATE merchants SET createdAt = 0");
    const year = 400 * 24 * 60;
    chain.genesisMs = march - year * blockMs;
    chain.block = year + 10;
    mine(0);
    expect(await keepMonthEnds(options())).toBe(false);
    expect(Object.keys(ends())).toEqual(["2025-11", "2025-12", "2026-01", "2026-02"]);
    while (!(await keepMonthEnds(options())));
    const kept = ends();
    expect(Object.keys(kept)).toHaveLength(13);
    for (const [name, block] of Object.entries(kept)) {
      const { untilMs } = parseMonth(name) as { untilMs: number };
      expect(chain.genesisMs + block * blockMs, name).toBeLessThan(untilMs);
      expect(chain.genesisMs + (block + 1) * blockMs, name).toBeGreaterThanOrEqual(untilMs);
    }
    expect(chain.timesAsked / 13).toBeLessThan(60);
  });

  it("that nodes no longer have leaves the newer ones kept", async () => {
    db.store.database.run("UPDATE merchants SET createdAt = 0");
    const year = 400 * 24 * 60;
    chain.genesisMs = march - year * blockMs;
    chain.block = year + 10;
    chain.oldest = year - 50 * 24 * 60;
    mine(0);
    await expect(keepMonthEnds(options())).rejects.toMatchObject({ code: "NODE_ERROR" });
    expect(Object.keys(ends())).toEqual(["2026-01", "2026-02"]);
  });

  it("is found by the night's closing, and sooner than in the next night after a fault", async () => {
    chain.block = firstOfMarch + 50;
    mine(0);
    await close();
    const config = {
      books: { hour: 3 },
      currencies: Object.fromEntries(currencies.map((one) => [one.id, { ...one, network }])),
    } as unknown as Parameters<typeof startBooks>[0]["config"];
    const told: string[] = [];
    const warn = (fields: { readonly event: string }): void => void told.push(fields.event);
    const books = startBooks({
      ...{ store: db.store, config, clock: () => clock.nowMs, rest: async () => {} },
      log: { ...silentLog, warn } as typeof silentLog,
    });
    const pass = async (): Promise<void> => {
      books.onPass({ name: "local", network, reader: chain });
      await new Promise((resolve) => setTimeout(resolve, 20));
    };
    clock.nowMs += 24 * 3_600_000;
    chain.isAway = true;
    await pass();
    expect(ends()).toEqual({});
    expect(told).toContain("month-end-unread");
    chain.isAway = false;
    await pass();
    expect(ends()).toEqual({});
    clock.nowMs += 3_600_000;
    await pass();
    expect(ends()["2026-02"]).toBe(firstOfMarch - 1);
    const { timesAsked } = chain;
    clock.nowMs += 3_600_000;
    await pass();
    expect(chain.timesAsked).toBe(timesAsked);
    await books.close();
  });
});

const merchant = { id: "m1", createdAt: made };
const service = () => ({
  store: db.store,
  clock: () => clock.nowMs,
  config: {
    chains: { local: { network } },
    currencies: Object.fromEntries(currencies.map((one) => [one.id, { ...one, network }])),
  } as never,
});
async function report(month: string, id = "m1"): Promise<MonthReport> {
  const made = await reportMonth(service(), { ...merchant, id }, month);
  if (typeof made === "string") throw new Error(made);
  return made;
}
const linesOf = ({ networks }: MonthReport): readonly PeriodLine[] =>
  networks.flatMap(({ lines }) => lines);
const stateOf = ({ networks }: MonthReport) => networks.map(({ state }) => state);

/** February and March: deposits, a top-up, sweeps, payouts, a refund, money from outside. */
async function twoMonths(): Promise<void> {
  const hot = agent.hotWalletAddress;
  chain.block = firstOfMarch - 20;
  mine(0);
  chain.move(hot, "eth", 10n * eth);
  chain.move(hot, "usd", 1_000n * usd);
  mine();
  await close();
  const [coins, tokens] = [issue(), issue({ currency: "usd" })];
  pay(coins, "eth", 2n * eth);
  pay(tokens, "usd", 50n * usd);
  mine();
  payout("usd", 30n * usd, fee);
  chain.block = firstOfMarch - 1;
  mine(0);
  topUp(tokens, "usd", 2n * fee, fee); // in the last block of February
  mine();
  sweep(tokens, "usd", 50n * usd, fee); // in the first of March
  mine();
  sweep(coins, "eth", eth, fee);
  payout("eth", eth / 2n, 2n * fee, { refundOf: coins.id });
  payout("eth", eth, 3n * fee);
  mine();
  chain.move(hot, "usd", 5n * usd);
  mine();
  await close();
  mine();
  await keepMonthEnds(options());
}

describe("a merchant's month", () => {
  it("has each movement once, by what it was for, and asks no node", async () => {
    await twoMonths();
    const { timesAsked, calls } = chain;
    const [february, running] = [await report("2026-02"), await report("2026-03")];
    expect([chain.timesAsked, chain.calls]).toEqual([timesAsked, calls]);
    expect([stateOf(february), stateOf(running)]).toEqual([["complete"], ["open"]]);
    expect(linesOf(february)).toMatchObject([
      {
        ...{ currency: "eth", openingUnits: 0n, broughtUnits: 10n * eth, inUnits: 2n * eth },
        ...{ outUnits: 0n, feeUnits: -2n * fee, withdrawalFeeUnits: -fee, topUpFeeUnits: -fee },
        ...{ sweepFeeUnits: 0n, refundedUnits: 0n, closingUnits: 12n * eth - 2n * fee },
      },
      {
        ...{ currency: "usd", openingUnits: 0n, broughtUnits: 1_000n * usd, inUnits: 50n * usd },
        ...{ outUnits: -30n * usd, feeUnits: 0n, closingUnits: 1_020n * usd },
      },
    ]);
    expect(linesOf(running)).toMatchObject([
      {
        ...{ currency: "eth", openingUnits: 12n * eth - 2n * fee, inUnits: 0n },
        ...{ outUnits: -3n * (eth / 2n), refundedUnits: -eth / 2n, feeUnits: -7n * fee },
        ...{ withdrawalFeeUnits: -5n * fee, sweepFeeUnits: -2n * fee, topUpFeeUnits: 0n },
        ...{ closingUnits: 12n * eth - 3n * (eth / 2n) - 9n * fee },
      },
      {
        ...{ currency: "usd", openingUnits: 1_020n * usd, broughtUnits: 5n * usd, outUnits: 0n },
        ...{ closingUnits: 1_025n * usd },
      },
    ]);
  });

  it("agrees to the unit with itself, the operator's report, and the chain, and follows the one before", async () => {
    await twoMonths();
    const months = [await report("2026-02"), await report("2026-03")];
    for (const month of months)
      for (const line of linesOf(month)) {
        const moved =
          line.inUnits + line.outUnits + line.feeUnits + line.broughtUnits + line.correctedUnits;
        expect(line.openingUnits + moved).toBe(line.closingUnits);
        const fees = [line.withdrawalFeeUnits, line.sweepFeeUnits, line.topUpFeeUnits];
        expect(fees.reduce<bigint>((sum, units) => sum + (units ?? 0n), 0n)).toBe(line.feeUnits);
      }
    for (const { networks } of months)
      for (const { blocks, lines } of networks) {
        const of = { store: db.store, network, merchant: null, currencies, reader: chain };
        const operators = await sumPeriod(
          { ...of, rest: async () => {} },
          blocks ?? { before: 0, last: 0 },
          true,
        );
        for (const [at, own] of lines.entries()) {
          const { openingUnits, closingUnits, inUnits, outUnits, feeUnits, ...line } = own;
          expect(operators[at]).toMatchObject({ openingUnits, closingUnits, inUnits, outUnits });
          expect([operators[at]?.feeUnits, operators[at]?.currency]).toEqual([
            feeUnits,
            line.currency,
          ]);
          expect(operators[at]).toMatchObject({ chainClosingUnits: closingUnits });
        }
      }
    const [before, after] = months.map(linesOf);
    expect(before?.map(({ closingUnits }) => closingUnits)).toEqual(
      after?.map(({ openingUnits }) => openingUnits),
    );
  });

  it("is that of the merchant alone", async () => {
    await twoMonths();
    const insert = "INSERT INTO merchants (id, name, createdAt) VALUES ('m2', 'Other', ?)";
    db.store.database.run(insert, made);
    expect(linesOf(await report("2026-02", "m2"))).toEqual([]);
    expect(linesOf(await report("2026-02", "m1"))).toHaveLength(2);
  });

  it.each([
    ["2026-1", "month"],
    ["2026-04", "month"], // has not begun
    ["2025-12", "month"], // long before the merchant
    ["2026-01", null],
    ["2026-02", null],
    ["2026-03", null],
  ])("%s is refused by %j", async (text, refusal) => {
    await twoMonths();
    const made = await reportMonth(service(), merchant, text);
    expect(typeof made === "string" ? made : null).toBe(refusal);
  });

  it("has no line while one of its ends is not known", async () => {
    await twoMonths();
    db.store.database.run("DELETE FROM monthEnds WHERE month = '2026-02'");
    for (const month of ["2026-02", "2026-03"])
      expect((await report(month)).networks).toEqual([
        { network, state: "unread", blocks: null, lines: [] },
      ]);
    await keepMonthEnds(options());
    expect(stateOf(await report("2026-02"))).toEqual(["complete"]);
    db.store.database.run("DELETE FROM cursors");
    expect(stateOf(await report("2026-02"))).toEqual(["unread"]);
  });

  it("is open while a block of it is a gap, or the end of one of its transactions is not written", async () => {
    await twoMonths();
    const { database } = db.store;
    const gap = (merchant: string, fromBlock: number) => {
      database.run("DELETE FROM gaps");
      database.run(
        `INSERT INTO gaps (network, account, fromBlock, toBlock, merchant, code, words, since, tries, retryAt, summedTo)
           VALUES (?, '', ?, ?, ?, 'NODE_ERROR', '', 0, 1, 0, 0)`,
        ...[network, fromBlock, fromBlock + 1, merchant],
      );
    };
    gap("", firstOfMarch + 1);
    expect(stateOf(await report("2026-02"))).toEqual(["complete"]);
    gap("", firstOfMarch - 5);
    expect(stateOf(await report("2026-02"))).toEqual(["open"]);
    gap("m2", firstOfMarch - 5);
    expect(stateOf(await report("2026-02"))).toEqual(["complete"]);
    database.run("DELETE FROM gaps");
    const id = signed(1);
    const taken = (block: number): void => {
      database.run("DELETE FROM outgoing");
      database.run(
        "INSERT INTO outgoing VALUES (?, ?, '1', ?, ?, 'r', '', '', '0', 0)",
        ...[network, agent.hotWalletAddress, `signed ${id}`, block],
      );
    };
    taken(firstOfMarch);
    expect(stateOf(await report("2026-02"))).toEqual(["complete"]);
    taken(firstOfMarch - 1);
    expect(stateOf(await report("2026-02"))).toEqual(["open"]);
  });

  it("has all money that came to it while it was summed, whenever that was", async () => {
    await twoMonths();
    const late = issue();
    let paidUnits = 0n;
    for (let nth = 1; nth <= 20; nth += 1) {
      let looks = 0;
      const clockOf = (): number => {
        looks += 1;
        if (looks !== nth) return clock.nowMs;
        keepPayment(late, "eth", 7n, firstOfMarch - 3);
        paidUnits += 7n;
        return clock.nowMs;
      };
      const made = await reportMonth({ ...service(), clock: clockOf }, merchant, "2026-02");
      const [line] = typeof made === "string" ? [] : linesOf(made);
      expect([nth, line?.inUnits]).toEqual([nth, 2n * eth + paidUnits]);
    }
    expect(paidUnits).toBeGreaterThan(5n * 7n);
  });

  it("is made once at a time for a merchant, and four at a time for all", async () => {
    await twoMonths();
    const ids = ["m1", "m2", "m3", "m4", "m5"];
    const first = ids.map((id) => reportMonth(service(), { ...merchant, id }, "2026-02"));
    const second = reportMonth(service(), merchant, "2026-02");
    expect([await second, await first[4]]).toEqual(["busy", "crowded"]);
    await Promise.all(first);
    expect(typeof (await reportMonth(service(), merchant, "2026-02"))).toBe("object");
    expect(typeof (await reportMonth(service(), { ...merchant, id: "m5" }, "2026-02"))).toBe(
      "object",
    );
  });
});
