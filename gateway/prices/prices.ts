/**
 * The prices of one gateway process: a board with the database's prices, and the feed that renews
 * them. If the configuration names no source, no market is asked.
 */
import type { GatewayLog } from "../../base/log.ts";
import type { GatewayConfig } from "../config/config.ts";
import { fiats } from "../config/fiat.ts";
import type { Prices } from "../service.ts";
import { readPrices } from "../store/prices.ts";
import type { Store } from "../store/store.ts";
import { createAsk } from "./ask.ts";
import { readPrice } from "./decimal.ts";
import { startFeed } from "./feed.ts";
import { createBoard, type MarketPrice, type PriceBoard } from "./price-cache.ts";

export interface PricesOptions {
  readonly config: Pick<GatewayConfig, "currencies" | "prices">;
  readonly store: Store;
  readonly log: GatewayLog;
  readonly clock: () => number; // Unix milliseconds
}

/** The prices in the database, as far as they can be read. */
function savedPrices(store: Store): readonly MarketPrice[] {
  return readPrices(store.database).flatMap(({ asset, fiat, price: text, at }) => {
    const known = fiats.find((one) => one === fiat);
    const price = readPrice(text);
    return known === undefined || price === null ? [] : [{ asset, fiat: known, price, atMs: at }];
  });
}

/** The board with the database's prices; no market is asked. */
export function boardOf({ config, store, clock }: Omit<PricesOptions, "log">): PriceBoard {
  return createBoard(config, clock, savedPrices(store));
}

/**
 * Starts the prices and asks the markets at once. `close` ends them and is harmless to call twice.
 */
export function startPrices(options: PricesOptions): Prices & { close(): void } {
  const board = boardOf(options);
  const isAsked = options.config.prices.sources.length > 0;
  const feed = isAsked ? startFeed({ ...options, board, ask: createAsk() }) : null;
  return { of: board.of, canHave: board.canHave, close: () => feed?.close() };
}
