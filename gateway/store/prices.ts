/**
 * The tables of prices: what the markets last agreed on, so that a restart does not forget it, and
 * what each source last said, for the people who run the gateway. Both are written whole, again and
 * again; nothing of money depends on them.
 */
import type { Database } from "./store.ts";

/**
 * A price is a decimal string.
 * @public
 */
export interface PriceRow {
  readonly asset: string;
  readonly fiat: string;
  readonly price: string;
  readonly at: number;
}

/** @public */
export interface PriceReadingRow {
  readonly asset: string;
  readonly fiat: string;
  readonly source: string;
  readonly price: string; // "" before it first answered
  readonly readAt: number | null; // when it last gave a price
  readonly movedAt: number | null; // the newest trade there that is known of
  readonly leftOut: string; // "" counts; else LeftOut of gateway/prices/judge.ts
  readonly trouble: string; // of its newest answer; "" when it could be used
}

/**
 * What the markets last agreed on.
 * @public
 */
export function readPrices(database: Database): readonly PriceRow[] {
  return database.all<PriceRow>("SELECT asset, fiat, price, at FROM prices ORDER BY asset, fiat");
}

/**
 * What each source said when `savePrices` was last called.
 * @public
 */
export function readPriceReadings(database: Database): readonly PriceReadingRow[] {
  return database.all<PriceReadingRow>("SELECT * FROM priceReadings ORDER BY asset, fiat, source");
}

/**
 * Puts these rows in the place of all earlier ones, inside the caller's transaction.
 * @public
 */
export function savePrices(database: Database, prices: readonly PriceRow[], readings: readonly PriceReadingRow[]): void {
  database.run("DELETE FROM prices");
  for (const one of prices)
    database.run("INSERT INTO prices (asset, fiat, price, at) VALUES (?, ?, ?, ?)", one.asset, one.fiat, one.price, one.at);
  database.run("DELETE FROM priceReadings");
  const sql = `INSERT INTO priceReadings (asset, fiat, source, price, readAt, movedAt, leftOut, trouble)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
  for (const { asset, fiat, source, price, readAt, movedAt, leftOut, trouble } of readings)
    database.run(sql, asset, fiat, source, price, readAt, movedAt, leftOut, trouble);
}
