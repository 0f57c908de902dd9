/**
 * A merchant's month from the tables alone: the lines of each network between the kept last blocks
 * of two months, and in the month that runs now up to the newest final block. Asks no node and
 * writes nothing.
 */
import type { GatewayConfig } from "../config/config.ts";
import { readCursor } from "../store/cursors.ts";
import { hasMovesSince, newestMoveNumber } from "../store/journal.ts";
import { isUnsettledUpTo, readMonthEnd } from "../store/month-ends.ts";
import type { MerchantRow } from "../store/rows.ts";
import type { Store } from "../store/store.ts";
import { restMsAfter } from "./compare.ts";
import { firstMonthOf, type Month, monthAt, parseMonth } from "./months.ts";
import { type PeriodBlocks, type PeriodLine, sumPeriod } from "./period.ts";

/**
 * `complete`: the month is over, and nothing of it is missing. `open`: it runs still, or blocks or
 * ends of transactions of it are yet to be read. `unread`: its first or last block is not known
 * yet, or the network was not read at all; then it has no lines.
 */
export type MonthState = "complete" | "open" | "unread";

export interface NetworkMonth {
  readonly network: string;
  readonly state: MonthState;
  readonly blocks: PeriodBlocks | null; // null: unread
  readonly lines: readonly PeriodLine[]; // with their parts
}

export interface MonthReport {
  readonly month: Month;
  readonly networks: readonly NetworkMonth[]; // each network of the configuration once
}

/**
 * `month`: no month in UTC, one before the merchant's first, or one that has not begun. `busy`: a
 * report of the merchant is being made. `crowded`: as many reports are being made as may be.
 */
export type MonthRefusal = "month" | "busy" | "crowded";

/** A report rests as long as it works, so that so many leave time for everything else. */
const reportsAtOnce = 4;
/** Moves of the merchant can come to the period while it is summed. Then it is summed again. */
const triesMax = 3;

/** The merchants whose report is being made, by store. */
const running = new WeakMap<object, Set<string>>();

interface ReportService {
  readonly store: Store;
  readonly config: Pick<GatewayConfig, "chains" | "currencies">;
  readonly clock: () => number; // milliseconds since 1970
}

/**
 * Sums a month of one merchant. Harmless to call again; a second call while the first one runs is
 * refused.
 * @throws AgentError GATEWAY_STORE_*
 */
export async function reportMonth(
  service: ReportService,
  merchant: Pick<MerchantRow, "id" | "createdAt">,
  text: string,
): Promise<MonthReport | MonthRefusal> {
  const { store, clock } = service;
  const month = parseMonth(text);
  if (month === null || month.sinceMs > clock()) return "month";
  if (month.sinceMs < firstMonthOf(merchant.createdAt).sinceMs) return "month";
  const merchants = running.get(store) ?? new Set();
  if (merchants.has(merchant.id)) return "busy";
  if (merchants.size >= reportsAtOnce) return "crowded";
  running.set(store, merchants.add(merchant.id));
  try {
    const names = new Set(Object.values(service.config.chains).map(({ network }) => network));
    const networks: NetworkMonth[] = [];
    for (const network of names)
      networks.push(await networkMonth(service, merchant.id, network, month));
    return { month, networks };
  } finally {
    merchants.delete(merchant.id);
  }
}

async function networkMonth(
  service: ReportService,
  merchant: string,
  network: string,
  month: Month,
): Promise<NetworkMonth> {
  const { store, config, clock } = service;
  const { database } = store;
  const currencies = Object.values(config.currencies).filter((one) => one.network === network);
  const isSplit = true as const;
  const rest = restsOf(clock);
  for (let tries = 1; tries <= triesMax; tries += 1) {
    const blocks = blocksOf(service, network, month);
    if (blocks === null) break;
    const after = newestMoveNumber(database);
    const isOpen =
      month.untilMs > clock() ||
      isUnsettledUpTo(database, { network, merchant, block: blocks.last });
    const of = { store, network, merchant, currencies, rest, isSplit };
    const lines = await sumPeriod(of, blocks, false);
    if (hasMovesSince(database, { network, merchant }, { block: blocks.last, after })) continue;
    return { network, state: isOpen ? "open" : "complete", blocks, lines };
  }
  return { network, state: "unread", blocks: null, lines: [] };
}

/** The blocks of a month as far as they are final; null if one of their ends is not known. */
function blocksOf(
  { store: { database }, clock }: ReportService,
  network: string,
  { name, sinceMs, untilMs }: Month,
): PeriodBlocks | null {
  const final = readCursor(database, network)?.block;
  const before = readMonthEnd(database, network, monthAt(sinceMs, -1).name);
  const last = untilMs > clock() ? final : readMonthEnd(database, network, name);
  if (final === undefined || before === undefined || last === undefined) return null;
  return before <= last && last <= final ? { before, last } : null;
}

/** Rests that are as long as the work before each of them. */
function restsOf(clock: () => number): () => Promise<void> {
  let began = clock();
  return async () => {
    const ms = restMsAfter(began, clock());
    await new Promise((resolve) => setTimeout(resolve, ms));
    began = clock();
  };
}
