/**
 * A closing reads the moves since the closing before it, and not the history of a hot wallet.
 */
import { expect, it } from "vitest";
import { agent, chain, close, db, eachTestItsBooks, mine, network } from "../support/books-kit.ts";

eachTestItsBooks();

/** Payouts of one wei each, on the chain and in the journal; each stands in a block of its own. */
function payOut(count: number, name: string): void {
  const { hotWalletAddress: hot } = agent;
  // The closing before asks for none of the early blocks, so they are one change on the chain.
  if (count > 1_000) chain.move(hot, "eth", -BigInt(count), chain.block + count);
  else for (let at = 1; at <= count; at += 1) chain.move(hot, "eth", -1n, chain.block + at);
  db.store.database.run(
    `WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?)
     INSERT INTO moves (network, currency, units, fromSide, toSide, kind, block, cause, part)
     SELECT ?, 'eth', '1', ?, '@payees', 'withdraw', ? + n, 'transfer:' || ? || n, 0 FROM counted`,
    ...[count, network, hot, chain.block, name],
  );
  const { units } = db.store.database.get<{ units: string }>(
    "SELECT units FROM accounts WHERE address = ? AND currency = 'eth'",
    hot,
  ) ?? { units: "0" };
  db.store.database.run(
    "UPDATE accounts SET units = ? WHERE address = ? AND currency = 'eth'",
    ...[(BigInt(units) - BigInt(count)).toString(), hot],
  );
  mine(count);
}

/** One row, and what a list in it has. */
const sizeOf = (row: unknown): number =>
  Object.values(row ?? {}).reduce(
    (sum: number, cell) =>
      typeof cell === "string" && cell.startsWith("[") ? sum + JSON.parse(cell).length : sum,
    1,
  );

/** The rows that the store hands over while something happens, lists in them included. */
async function rowsOf(act: () => Promise<unknown>): Promise<number> {
  const { database } = db.store;
  const real = { get: database.get, all: database.all };
  let rows = 0;
  database.get = (...asked) => {
    const answer = real.get.apply(database, asked);
    rows += sizeOf(answer);
    return answer as never;
  };
  database.all = (...asked) => {
    const answer = real.all.apply(database, asked);
    for (const row of answer) rows += sizeOf(row);
    return answer as never;
  };
  await act();
  Object.assign(database, real);
  return rows;
}

/** The rows of two closings, each after a thousand payouts and with so many before. */
async function closingRows(
  before: number,
): Promise<{ readonly fine: number; readonly short: number }> {
  chain.move(agent.hotWalletAddress, "eth", 10n ** 18n);
  mine();
  await close();
  payOut(before, "early");
  expect((await close()).differences).toEqual([]);
  payOut(1_000, "late");
  const fine = await rowsOf(async () => {
    expect((await close()).differences).toEqual([]);
  });
  // Something left that no move explains: the closing looks for its block among the thousand.
  chain.move(agent.hotWalletAddress, "eth", -7n, chain.block + 500);
  const block = chain.block + 500;
  payOut(1_000, "later");
  const short = await rowsOf(async () => {
    expect((await close()).differences).toMatchObject([{ sinceBlock: block }]);
  });
  return { fine, short };
}

it("a closing after a thousand moves reads them alone, with few before", async () => {
  const { fine, short } = await closingRows(5_000);
  expect(fine).toBeLessThan(100);
  expect(short).toBeGreaterThan(1_000);
  expect(short).toBeLessThan(3_000);
});

it("a closing after a thousand moves reads them alone, with a million before", {
  timeout: 300_000,
}, async () => {
  const { fine, short } = await closingRows(1_000_000);
  expect(fine).toBeLessThan(100);
  expect(short).toBeLessThan(3_000);
});
