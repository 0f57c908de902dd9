/**
 * The tables of prices: the newest agreed prices, so that a restart does not lose them, and the
 * newest answer of each source, for operators. Both tables are always rewritten completely. No
 * money depends on them.
 */
import type { Database } from "./store.ts";

/** A price is a decimal string. */
export interface PriceRow {
  readonly asset: string;
  readonly fiat: string;
  readonly price: string;
  readonly at: number;
}

export interface PriceReadingRow {
  readonly asset: string;
  readonly fiat: string;
  readonly source: string;
  readonly price: string; // "" before its first answer
  readonly readAt: number | null; // time of its newest price
  readonly movedAt: number | null; // time of its newest known trade
  readonly leftOut: string; // "" if it counts, else LeftOut of gateway/prices/price-median.ts
  readonly trouble: string; // problem of its newest answer; "" none
}

/** The newest prices that the markets agreed on. */
export function readPrices(database: Database): readonly PriceRow[] {
  return database.all<PriceRow>("SELECT asset, fiat, price, at FROM prices ORDER BY asset, fiat");
}

/** The answer of each source at the newest call of `savePrices`. */
export function readPriceReadings(database: Database): readonly PriceReadingRow[] {
  return database.all<PriceReadingRow>("SELECT * FROM priceReadings ORDER BY asset, fiat, source");
}

/** Replaces all earlier rows with these, inside the caller's transaction. */
export function savePrices(
  database: Database,
  prices: readonly PriceRow[],
  readings: readonly PriceReadingRow[],
): void {
  database.run("DELETE FROM prices");
  for (const one of prices)
    database.run(
      "INSERT INTO prices (asset, fiat, price, at) VALUES (?, ?, ?, ?)",
      one.asset,
      one.fiat,
      one.price,
      one.at,
    );
  database.run("DELETE FROM priceReadings");
  const sql = `INSERT INTO priceReadings (asset, fiat, source, price, readAt, movedAt, leftOut, trouble)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
  for (const { asset, fiat, source, price, readAt, movedAt, leftOut, trouble } of readings)
    database.run(sql, asset, fiat, source, price, readAt, movedAt, leftOut, trouble);
}
