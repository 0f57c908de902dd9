/**
 * Cells of the matrix for the shop's side: rows that no reader takes, receivers of callbacks,
 * markets. Each runs with the plant and without it; the two runs must show bystanders the same.
 */
import { createHash } from "node:crypto";
import { type Callbacks, startCallbacks } from "../../../gateway/callbacks/callbacks.ts";
import type { DeliveryRequest, DeliveryResult } from "../../../gateway/callbacks/send.ts";
import type { GatewayConfig } from "../../../gateway/config/config.ts";
import type { OperatorContext } from "../../../gateway/operator/accounts.ts";
import { addCallback } from "../../../gateway/operator/callbacks.ts";
import { retryRows } from "../../../gateway/operator/rows.ts";
import type { PriceAnswer, PriceRequester } from "../../../gateway/prices/ask.ts";
import { createPriceBoard } from "../../../gateway/prices/price-cache.ts";
import { createFeed } from "../../../gateway/prices/prices.ts";
import { listDeliveries } from "../../../gateway/store/callback-deliveries.ts";
import { readPriceReadings } from "../../../gateway/store/prices.ts";
import { listAside } from "../../../gateway/store/set-aside.ts";
import { createSignals } from "../../../gateway/store/signals.ts";
import { gatewayDatabase, insertTransaction, silentLog } from "../../kit/gateway-database.ts";
import type { Extent, FamilyKey } from "./plants.ts";
import {
  type PricePlant,
  type RowPlant,
  type ShopDomain,
  shopPlants,
  type TargetPlant,
} from "./shop-plants.ts";
import { ItemWorld, type MerchantTransfer, networkOf } from "./world.ts";

export interface ShopCellResult {
  readonly planted: readonly string[]; // the lines that bystanders saw
  readonly plain: readonly string[];
  readonly during: readonly string[]; // names of the things with the fault while the plant was in
  readonly after: readonly string[]; // and once it was taken out
  readonly left: readonly string[]; // the things with the fault, once it was taken out
  readonly healthy: readonly string[]; // the same without the plant
}

interface ShopReport {
  readonly bystanders: readonly string[];
  readonly during: readonly string[];
  readonly after: readonly string[];
  readonly left: readonly string[];
}

async function bothWays(
  story: (isPlanted: boolean) => Promise<ShopReport>,
): Promise<ShopCellResult> {
  const { bystanders: planted, during, after, left } = await story(true);
  const { bystanders: plain, left: healthy } = await story(false);
  return { planted, plain, during, after, left, healthy };
}

/** The steps and the wait of `until` in tests, for what another part does by itself. */
async function until(holds: () => boolean): Promise<void> {
  const endAt = performance.now() + 60_000;
  while (!holds() && performance.now() < endAt) await new Promise((done) => setTimeout(done, 4));
}

/** One row of A, or all of them, have columns that no reader takes. */
function runRowCell(family: FamilyKey, plant: RowPlant, extent: Extent): Promise<ShopCellResult> {
  return bothWays(async (isPlanted) => {
    const world = new ItemWorld(family, null);
    const { database } = world.store;
    try {
      world.fund();
      await world.settle();
      for (const { id } of world.currencies)
        for (const name of ["A", "A", "B"] as const) await world.order(name, id);
      await world.settle();
      const own = world.requests.filter(({ merchant }) => merchant === "A");
      const hit = extent === "one" ? own.slice(0, 1) : own;
      const columns = Object.keys(plant.spoilt) as (keyof RowPlant["spoilt"])[];
      const kept = new Map(
        hit.map(({ id }) => [id, columns.map((name) => columnOf(world, id, name))]),
      );
      const set = (id: string, values: readonly (string | number | null)[]): void => {
        for (const [at, name] of columns.entries())
          database.run(
            `UPDATE deposits SET ${name} = ? WHERE id = ?`,
            values[at] as string | number | null,
            id,
          );
      };
      if (isPlanted)
        for (const { id } of hit)
          set(
            id,
            columns.map((name) => plant.spoilt[name] as string | number),
          );
      world.payAll();
      await world.settle();
      const isHit = ({ id }: MerchantTransfer): boolean => kept.has(id);
      const bystanders = [
        ...world.trace(isHit),
        ...(["A", "B"] as const).flatMap((name) => world.shop.list(world.merchantOf(name), kept)),
      ];
      const named = (): readonly string[] =>
        [...new Set(listAside(database).map(({ about }) => about))].sort();
      const during = named().filter((id) => kept.has(id));
      for (const [id, values] of kept) {
        if (isPlanted) set(id, values);
        retryRows(
          {
            store: world.store,
            nowMs: world.nowMs,
            actor: "operator",
          } as unknown as OperatorContext,
          id,
        );
      }
      world.shop.tell();
      return { bystanders, during, after: named(), left: world.trace((item) => !isHit(item)) };
    } finally {
      await world.close();
    }
  });
}

function columnOf(world: ItemWorld, id: string, name: string): string | number | null {
  const row = world.store.database.get<Record<string, string | number | null>>(
    "SELECT * FROM deposits WHERE id = ?",
    id,
  );
  return row?.[name] as string | number | null;
}

const secretKey = new Uint8Array(32).fill(7);
const addressOf = (name: string): string => `https://shop.example/${name}`;
const targetsOf = { A: ["a-one", "a-two"], B: ["b-one"] } as const;

/** One receiver of A, or both, fail; B's, and A's other one, get each event. */
function runTargetCell(
  family: FamilyKey,
  plant: TargetPlant,
  extent: Extent,
): Promise<ShopCellResult> {
  const bad: readonly string[] = (extent === "one" ? targetsOf.A.slice(0, 1) : targetsOf.A).map(
    addressOf,
  );
  return bothWays(async (isPlanted) => {
    const db = gatewayDatabase();
    const { store } = db;
    const clock = (): number => Date.now();
    let isIn = isPlanted;
    const held: ((sent: DeliveryResult) => void)[] = [];
    const arrived: string[] = [];
    const failures: string[] = [];
    const send = async ({ url, body }: DeliveryRequest): Promise<DeliveryResult> => {
      if (isIn && bad.includes(url)) {
        failures.push(url);
        return plant.answer ?? new Promise<DeliveryResult>((resolve) => held.push(resolve));
      }
      const { type, data } = JSON.parse(body) as { type: string; data: { transactionId: string } };
      arrived.push(`${url} ${type} ${data.transactionId}`);
      return { status: 204, answer: "", retryAfter: undefined, durationMs: 1 };
    };
    store.database.run("INSERT INTO merchants (id, name, createdAt) VALUES ('m-b', 'Shop', 0)");
    const callbacksConfig = {
      allowLoopback: false,
      allowNetworks: [],
      retryMs: [20, 20, 20, 20, 20, 20, 40_000],
      timeoutMs: 1_000,
    };
    const config = { currencies: {}, callbacks: callbacksConfig } as unknown as GatewayConfig;
    let drawn = 0;
    const random = (bytes: number): Uint8Array => {
      drawn += 1;
      return createHash("sha512").update(`${drawn}`).digest().subarray(0, bytes);
    };
    const by = {
      store,
      gatewayKey: { sealingKey: secretKey },
      random,
      nowMs: clock(),
      run: null,
      actor: "operator",
    };
    for (const [merchant, names] of [["m1", targetsOf.A] as const, ["m-b", targetsOf.B] as const])
      for (const name of names)
        addCallback(
          by as unknown as OperatorContext,
          { merchant, url: addressOf(name), events: [] },
          config.callbacks,
        );
    const callbacks: Callbacks = startCallbacks({
      ...{
        store,
        signals: createSignals(),
        config,
        log: silentLog,
        clock,
        random,
        sealingKey: secretKey,
      },
      recordOf: ({ id }) => ({ transactionId: id }),
      invoiceOf: ({ id }: { readonly id: string }) => ({ invoice: id }),
      fiatValueOf: () => "",
      callbackSender: { send, close: () => {} },
    });
    try {
      const count = 4;
      for (let at = 0; at < count + plant.more; at += 1)
        for (const merchant of at < count ? ["m1", "m-b"] : ["m1"]) {
          const id = createHash("sha256")
            .update(`${family} ${merchant} ${at}`)
            .digest("hex")
            .slice(0, 32);
          insertTransaction(store, {
            id,
            orderId: id,
            merchant,
            network: networkOf[family],
            operation: "withdraw",
            mode: "auto",
          });
        }
      const waiting = (): readonly string[] => [
        ...new Set(
          listDeliveries(store.database, {}, 10_000)
            .filter(({ state }) => state === "waiting")
            .map(({ merchant }) => merchant),
        ),
      ];
      const isBystander = (line: string): boolean => !bad.some((url) => line.startsWith(url));
      const ofOthers = (): readonly string[] => arrived.filter(isBystander).sort();
      const otherOfA = targetsOf.A.length - bad.length;
      await until(
        () =>
          ofOthers().length >= count + otherOfA * (count + plant.more) &&
          (!isPlanted || failures.length > 0),
      );
      // The results of the others are stored as well.
      await until(() => !waiting().includes("m-b"));
      const bystanders = ofOthers();
      const during = waiting();
      isIn = false;
      for (const resolve of held)
        resolve({
          status: 0,
          answer: "no answer in 15 s",
          retryAfter: undefined,
          durationMs: 15_000,
        });
      await until(() => waiting().length === 0);
      return {
        bystanders,
        during,
        after: waiting(),
        left: arrived.filter((line) => !isBystander(line)).sort(),
      };
    } finally {
      callbacks.close();
      db.remove();
    }
  });
}

const coinOf: Readonly<Record<FamilyKey, string>> = {
  evm: "ETH",
  tron: "TRX",
  bitcoin: "BTC",
  litecoin: "LTC",
  xrp: "XRP",
};
const minuteMs = 60_000;

/** The answer of each of three markets for a pair whose price moves by a unit in each minute. */
function marketAnswer(url: string, nowMs: number): PriceAnswer {
  const price = `3000.${String(Math.floor(nowMs / minuteMs) % 100).padStart(2, "0")}`;
  const mark = `${nowMs}`;
  if (url.includes("coinbase"))
    return said({ price, trade_id: mark, time: new Date(nowMs).toISOString() });
  if (url.includes("kraken"))
    return said({ result: { X: { c: [price, "1"], t: ["1", mark], v: ["1", mark] } } });
  return said({ last: price, volume: mark, timestamp: `${Math.trunc(nowMs / 1000)}` });
}

const said = (answer: object): PriceAnswer => ({ ok: true, text: JSON.stringify(answer) });

/** One market of three fails for twelve minutes: each price holds. */
function runPriceCell(family: FamilyKey, plant: PricePlant): Promise<ShopCellResult> {
  return bothWays(async (isPlanted) => {
    const db = gatewayDatabase();
    let nowMs = 1_790_000_000_000;
    let isIn = isPlanted;
    const clock = (): number => nowMs;
    const sources = (["coinbase", "kraken", "bitstamp"] as const).map((name) => ({
      name,
      url: "",
    }));
    const settings = {
      manual: {},
      changedAtMs: 0,
      manualHoursMax: 24,
      sources,
      everySeconds: 60,
      guardPercent: 5,
      staleMinutes: 5,
    };
    const currency = (id: string, market: string) => ({
      id,
      market,
      enabled: true,
      network: networkOf[family],
      contract: "",
    });
    const currencies = { coin: currency("coin", coinOf[family]), other: currency("other", "DOGE") };
    const config = { currencies, prices: settings } as unknown as Pick<
      GatewayConfig,
      "currencies" | "prices"
    >;
    const board = createPriceBoard(config, clock);
    const ask: PriceRequester = async (url) => {
      const honest = marketAnswer(url, nowMs);
      return isIn && url.includes("kraken") ? plant.answer(honest) : honest;
    };
    const feed = createFeed({ config, board, store: db.store, ask, log: silentLog, clock });
    const lines: string[] = [];
    const look = async (): Promise<void> => {
      nowMs += minuteMs;
      await feed.look();
      for (const one of Object.values(config.currencies))
        for (const fiat of ["USD", "EUR"] as const) {
          const found = board.of(one, fiat);
          lines.push(`${one.id} ${fiat} ${found?.price} ${found?.isStale}`);
        }
    };
    const out = (): readonly string[] =>
      [
        ...new Set(
          readPriceReadings(db.store.database)
            .filter((row) => row.leftOut !== "")
            .map(({ source }) => source),
        ),
      ].sort();
    try {
      isIn = false;
      for (let round = 0; round < 3; round += 1) await look();
      isIn = isPlanted;
      for (let round = 0; round < 12; round += 1) await look();
      const during = out();
      isIn = false;
      // A market that was left alone is asked again within its longest rest.
      for (let round = 0; round < 16; round += 1) await look();
      return { bystanders: lines, during, after: out(), left: [] };
    } finally {
      feed.close();
      db.remove();
    }
  });
}

/** The cell of a domain and a family. A market is one for all. */
export function runShopCell(
  domain: ShopDomain,
  family: FamilyKey,
  extent: Extent,
): Promise<ShopCellResult> {
  if (domain === "row") return runRowCell(family, shopPlants.row[family], extent);
  if (domain === "target") return runTargetCell(family, shopPlants.target[family], extent);
  return runPriceCell(family, shopPlants.price[family]);
}
