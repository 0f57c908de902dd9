/**
 * The month's report: opening, movements and closing agree to the unit with each other and with the
 * chain at both ends, wherever the period begins and ends.
 */
import { describe, expect, it } from "vitest";
import {
  BlockDays,
  type ChangeSum,
  lastBlockBefore,
  listPeriodMoves,
  type PeriodLine,
  type PeriodMove,
  sumPeriod,
} from "../../gateway/books/period.ts";
import { readMoveFact } from "../../gateway/store/posting.ts";
import { repostRows } from "../../lab/kit/repost.ts";
import {
  agent,
  chain,
  close,
  currencies,
  db,
  eachTestItsBooks,
  issue,
  mine,
  network,
  pay,
  payout,
  sweep,
  topUp,
} from "../support/books-kit.ts";

eachTestItsBooks();

const eth = 10n ** 18n;
const fee = 21_000n * 10n ** 9n;
const usd = 10n ** 6n;

const optionsOf = (merchant: string | null) => ({
  store: db.store,
  network,
  merchant,
  currencies,
  reader: chain,
  rest: async () => {},
});
const sum = (
  before: number,
  last: number,
  isCompared = true,
  merchant: string | null = null,
): Promise<readonly PeriodLine[]> => sumPeriod(optionsOf(merchant), { before, last }, isCompared);
const moves = async (before: number, last: number): Promise<readonly PeriodMove[]> => {
  const all: PeriodMove[] = [];
  for await (const some of listPeriodMoves(optionsOf(null), { before, last })) all.push(...some);
  return all;
};
const of = (lines: readonly PeriodLine[], currency: string): PeriodLine | undefined =>
  lines.find((one) => one.currency === currency);

/** Blocks with deposits, a top-up, sweeps, payouts, a failed payout, and money from outside. */
async function someDays(): Promise<number> {
  chain.move(agent.hotWalletAddress, "eth", 10n * eth);
  chain.move(agent.hotWalletAddress, "usd", 1_000n * usd);
  mine();
  await close();
  const [coins, tokens] = [issue(), issue({ currency: "usd" })];
  mine();
  const first = chain.block;
  pay(coins, "eth", 2n * eth);
  mine();
  pay(tokens, "usd", 50n * usd);
  mine();
  topUp(tokens, "usd", 2n * fee, fee);
  mine();
  sweep(tokens, "usd", 50n * usd, fee);
  sweep(coins, "eth", eth, fee);
  mine();
  payout("usd", 30n * usd, fee);
  payout("eth", eth, fee, { status: 2, stage: "failed", code: "chain_reverted" });
  chain.move(agent.hotWalletAddress, "eth", eth); // a reverted payment moves no coins
  mine();
  chain.move(agent.hotWalletAddress, "usd", 5n * usd);
  mine();
  await close();
  mine();
  return first;
}

describe("the month's report", () => {
  it("sums payments, payouts, fees and money from outside by currency", async () => {
    const first = await someDays();
    const lines = await sum(first - 1, chain.block);
    expect(of(lines, "usd")).toEqual({
      ...{
        merchant: "m1",
        currency: "usd",
        openingUnits: 1_000n * usd,
        inUnits: 50n * usd,
        outUnits: -30n * usd,
        feeUnits: 0n,
      },
      ...{ broughtUnits: 5n * usd, correctedUnits: 0n, closingUnits: 1_025n * usd },
      ...{ chainOpeningUnits: 1_000n * usd, chainClosingUnits: 1_025n * usd },
      ...{
        refundedUnits: null,
        withdrawalFeeUnits: null,
        sweepFeeUnits: null,
        topUpFeeUnits: null,
      },
    });
    expect(of(lines, "eth")).toMatchObject({
      ...{
        openingUnits: 10n * eth,
        inUnits: 2n * eth,
        outUnits: 0n,
        feeUnits: -5n * fee,
        broughtUnits: 0n,
        correctedUnits: 0n,
      },
      ...{ closingUnits: 12n * eth - 5n * fee, chainClosingUnits: 12n * eth - 5n * fee },
    });
    expect(await sum(first - 1, chain.block, true, "m2")).toEqual([]);
  });

  it("agrees with itself and with the chain between any two blocks, and months follow one another", async () => {
    await someDays();
    const end = chain.block;
    for (let before = 100; before < end; before += 1)
      for (let last = before + 1; last <= end; last += 1) {
        for (const line of await sum(before, last)) {
          const {
            openingUnits,
            inUnits,
            outUnits,
            feeUnits,
            broughtUnits,
            correctedUnits,
            closingUnits,
          } = line;
          const moved = inUnits + outUnits + feeUnits + broughtUnits + correctedUnits;
          const name = `${line.currency} ${before} to ${last}`;
          expect(openingUnits + moved, name).toBe(closingUnits);
          // Money from outside is booked at the block at which a closing saw it.
          const isBeforeClosing =
            line.currency === "usd" && (before === end - 2 || last === end - 2);
          if (isBeforeClosing) continue;
          expect([line.chainOpeningUnits, line.chainClosingUnits], name).toEqual([
            openingUnits,
            closingUnits,
          ]);
        }
        const next = await sum(last, end);
        for (const line of await sum(before, last))
          if (last < end)
            expect(of(next, line.currency)?.openingUnits ?? 0n).toBe(line.closingUnits);
      }
  });

  it("names a balance that the chain does not have, and asks no node unless told to", async () => {
    const first = await someDays();
    db.store.database.run("UPDATE payments SET units = '60000000' WHERE currency = 'usd'");
    repostRows(db.store);
    expect(of(await sum(first - 1, chain.block), "usd")).toMatchObject({
      ...{ closingUnits: 1_035n * usd, chainClosingUnits: 1_025n * usd },
    });
    const { questions } = chain;
    expect(of(await sum(first - 1, chain.block, false), "usd")).toMatchObject({
      chainOpeningUnits: null,
      chainClosingUnits: null,
    });
    expect(chain.questions).toBe(questions);
    chain.oldest = chain.block;
    await expect(sum(first - 1, chain.block)).rejects.toMatchObject({ code: "NODE_ERROR" });
  });
});

describe("the moves of a month", () => {
  it("add up to each sum of each line, between any two blocks", async () => {
    await someDays();
    const sums: readonly ChangeSum[] = [
      ...(["inUnits", "outUnits", "feeUnits", "broughtUnits", "correctedUnits"] as const),
    ];
    for (let before = 100; before < chain.block; before += 1)
      for (let last = before + 1; last <= chain.block; last += 1) {
        const listed = await moves(before, last);
        const lines = await sum(before, last, false);
        for (const { currency } of listed)
          expect(of(lines, currency), `${currency} ${before} to ${last}`).toBeDefined();
        for (const line of lines)
          for (const one of sums)
            expect(
              listed
                .filter(({ currency, sum }) => currency === line.currency && sum === one)
                .reduce((total, { units }) => total + units, 0n),
              `${line.currency} ${one} ${before} to ${last}`,
            ).toBe(line[one]);
      }
  });

  it("come by account and block, each with its order and transaction", async () => {
    const first = await someDays();
    const listed = await moves(first - 1, chain.block);
    const places = listed.map(({ account, block }) => `${account.address} ${block}`);
    expect(places.length).toBeGreaterThan(8);
    const accounts = [...new Set(listed.map(({ account }) => account.address))];
    expect(places).toEqual(
      accounts.flatMap((address) =>
        places
          .filter((place) => place.startsWith(address))
          .sort((a, b) => Number(a.split(" ")[1]) - Number(b.split(" ")[1])),
      ),
    );
    const described = listed.map(({ move, sum: column }) => {
      const { orderId, txHash, receiver } = readMoveFact(
        db.store.database,
        network,
        move?.cause ?? "",
      );
      return `${column} ${move?.kind} ${orderId !== ""} ${txHash !== ""} ${receiver !== ""}`;
    });
    expect(new Set(described)).toEqual(
      new Set([
        "inUnits payment true true false",
        "correctedUnits sweep false true true",
        "correctedUnits topup false true true",
        "feeUnits fee false true true",
        "feeUnits fee true true true",
        "outUnits withdraw true true true",
        "broughtUnits outside false false false",
      ]),
    );
  });

  it("name a payment that only a balance showed by no hash, and none of a cause of another kind", () => {
    const read = (cause: string) => readMoveFact(db.store.database, network, cause);
    const none = { transactionId: "", orderId: "", txHash: "", receiver: "", merchant: "" };
    expect(read(`payment:${network}:internal:7:0xab:-1`)).toEqual(none);
    expect(read(`payment:${network}:0xcd:-1`)).toEqual({ ...none, txHash: "0xcd" });
    expect(read(`note:${network}:0xab:eth`)).toEqual(none);
    expect(read("transfer:unknown")).toEqual(none);
  });

  it("have the days of their blocks by few questions, in whatever order they come", async () => {
    const monthSeconds = 30 * 24 * 60 * 60;
    let asked = 0;
    const days = new BlockDays(async (block) => {
      asked += 1;
      return (
        Date.parse("2026-11-01T00:00:00Z") / 1000 + Math.floor((block * monthSeconds) / 210_000)
      );
    });
    const blocks = Array.from({ length: 30_000 }, (_, at) => (at * 7_919) % 210_000);
    for (const block of [...blocks, ...blocks.sort((a, b) => a - b)])
      expect(await days.dayOf(block, [0, 209_999])).toBe(
        `2026-11-${String(1 + Math.floor(block / 7_000)).padStart(2, "0")}`,
      );
    expect(asked).toBeLessThan(31 * 18);
    const one = new BlockDays(async () => 0);
    expect(await one.dayOf(5, [5, 5])).toBe("1970-01-01");
  });
});

describe("the block before a time", () => {
  it("is the last one whose own time is earlier", async () => {
    const times = [10, 20, 20, 20, 35, 40];
    let asked = 0;
    const at = (seconds: number): Promise<number> =>
      lastBlockBefore(
        async (block) => {
          asked += 1;
          return times[block] as number;
        },
        times.length - 1,
        seconds * 1000,
      );
    const found = [];
    for (const seconds of [5, 10, 11, 20, 21, 35, 36, 40, 41]) found.push(await at(seconds));
    expect(found).toEqual([-1, -1, 0, 0, 3, 3, 4, 4, 5]);
    asked = 0;
    await lastBlockBefore(
      async (block) => {
        asked += 1;
        return block;
      },
      1_000_000,
      500_000_000,
    );
    expect(asked).toBeLessThan(23);
  });
});
