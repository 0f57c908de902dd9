/**
 * Every timer of gateway and agent, and what it costs by agents, addresses and records that exist.
 * The timers are found in the source, so that one without a row here fails. Those of the gateway
 * that read its database are measured at few and at many of each: questions to the nodes,
 * statements, rows handed over, and tables that a statement walks through.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { startBooks } from "../../gateway/books/books.ts";
import { startCallbacks } from "../../gateway/callbacks/callbacks.ts";
import { startWatchingSkipped } from "../../gateway/deposits/skipped-addresses.ts";
import { endInvoices } from "../../gateway/invoices/ends.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { nothingSeen } from "../../gateway/problems/judged.ts";
import { startAlerts } from "../../gateway/reporting/alerts.ts";
import { createMeasures } from "../../gateway/reporting/measures.ts";
import { countAllWaitingDeliveries } from "../../gateway/store/callback-deliveries.ts";
import { createSweeps } from "../../gateway/sweeps/sweeps.ts";
import { placeWaitingJobs } from "../../gateway/withdrawals/placing.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { share } from "../../lab/kit/share.ts";
import { type Costs, type Size, World } from "../support/growth-world.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The costs of a timer: a name of `measured`, or words for one that reads nothing that grows. */
type Cost = keyof typeof measured | { readonly words: string };

const once = (words: string): Cost => ({ words });
const request = once("one for a request, a connection or an answer that is under way");
const turn = once("one for a turn of the event loop in which something came");
const command = once("rests of a command of an operator, while it runs");
const clockwork = once("by the clock alone: a number of questions that the configuration sets");
const ofAgent = once(
  "one agent's own: its wallet and what is open, whatever ended (lab/bench, day and history)",
);

/** By file, in the order of the source: each line that sets a timer. */
const timers: Readonly<Record<string, readonly Cost[]>> = {
  "gateway/api/server.ts": [request],
  "gateway/api/routes.ts": [turn],
  "gateway/books/books.ts": ["pass"],
  "gateway/books/month-report.ts": [request],
  "gateway/callbacks/callbacks.ts": ["callbacks"],
  "gateway/callbacks/send.ts": [request, request],
  "gateway/command.ts": [turn, command],
  "gateway/database/database.ts": [
    once("one heartbeat of a gateway that shares its database: two rows of its own"),
  ],
  "gateway/deposits/skipped-addresses.ts": ["skipped", "skipped"],
  "gateway/hub/hub.ts": [
    turn,
    once("an agent whose link is open, or ended since the last time"),
    turn,
    turn,
  ],
  "gateway/hub/session.ts": [request, turn, request, once("a link's heartbeat"), request],
  "gateway/invoices/ends.ts": ["invoices"],
  "gateway/operator/reconcile.ts": [command],
  "gateway/operator/report.ts": [command],
  "gateway/operator/scan.ts": [command],
  "gateway/pages/page-script.ts": [request, request],
  "gateway/prices/prices.ts": [clockwork],
  "gateway/reporting/alerts.ts": ["alerts"],
  "gateway/store/group-commit.ts": [turn],
  "gateway/store/row-memory.ts": [turn],
  "gateway/watcher/ahead.ts": [turn],
  "gateway/watcher/deposits.ts": [turn],
  "gateway/watcher/watcher.ts": ["pass", "pass"],
  "gateway/withdrawals/waiters.ts": [request],
  "agent/courier/courier.ts": [ofAgent],
  "agent/courier/effects.ts": [turn],
  "agent/courier/link/link.ts": [ofAgent, request, ofAgent],
  "agent/courier/main.ts": [clockwork, ofAgent, ofAgent],
  "agent/courier/run.ts": [turn, ofAgent, ofAgent],
  "agent/courier/watch/watch.ts": [ofAgent],
  "agent/launcher/terminal-messages.ts": [clockwork],
  "agent/launcher/supervisor.ts": [clockwork, clockwork],
  "agent/signer/main.ts": [ofAgent, turn, turn, ofAgent],
  "agent/signer/sockets/line-server.ts": [request],
  "agent/socket/client.ts": [request],
  "agent/socket/line.ts": [turn],
};

const timer = /\bset(?:Interval|Timeout|Immediate)\(/g;

/** The lines of the source that set a timer, by file. */
function timersIn(text: string): number {
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  return code.match(timer)?.length ?? 0;
}

function walkSource(): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const folder of ["gateway", "agent"])
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!/\.tsx?$/.test(name)) continue;
      const count = timersIn(readFileSync(join(root, folder, name), "utf8"));
      if (count > 0) found.set(`${folder}/${name}`, count);
    }
  return found;
}

/** The timers that differ from the table's, as `file count`. */
function untold(found: ReadonlyMap<string, number>): readonly string[] {
  const names = [...new Set([...found.keys(), ...Object.keys(timers)])].sort();
  return names
    .filter((name) => found.get(name) !== timers[name]?.length)
    .map((name) => `${name} ${found.get(name) ?? 0}`);
}

describe("the table of timers", () => {
  it("has each that gateway and agent set, and no other", () => {
    expect(untold(walkSource())).toEqual([]);
  });

  it("is found wanting by one that is set in a new file, or once more", () => {
    const found = new Map(walkSource());
    found.set("gateway/hub/planted.ts", timersIn("/** setTimeout( */\nsetInterval(look, 5);"));
    found.set("gateway/watcher/watcher.ts", 3);
    expect(untold(found)).toEqual(["gateway/hub/planted.ts 1", "gateway/watcher/watcher.ts 3"]);
  });
});

/** Begins a timer's work in a world; the second call is one round of it. */
type Timer = (world: World) => {
  readonly round: () => void | Promise<void>;
  readonly close?: () => void;
};

const none = { counts: [], sum: 0 };
const nobodyAway = { online: () => true };

const measured = {
  pass: (world) => ({ round: () => world.pass(8) }),
  alerts: ({ db, nowMs }) => {
    const alerts = startAlerts({
      ...{
        alerts: { agentAwayMinutes: 5 },
        database: db.store.database,
        run: "one run",
        hub: nobodyAway,
        parts: nothingSeen,
      },
      ...{
        prices: { of: () => null, canHave: () => false },
        currencies: {},
        watcher: () => null,
        onFaultsTold: () => {},
      },
      ...{
        freeBytes: () => null,
        gateways: () => [],
        deliver: async () => ({ kind: "told" }),
        clock: () => nowMs,
        monotonic: () => nowMs,
      },
      log: silentLog,
    } as never);
    return { round: alerts.look, close: alerts.close };
  },
  metrics: (world) => {
    const watcher = () => ({ chainStatus: () => [world.watch.status()], faults: () => [] });
    const measures = createMeasures({
      ...{
        server: { addHook: () => {} },
        database: world.db.store.database,
        hub: nobodyAway,
        watcher,
      },
      ...{
        freeBytes: () => null,
        walBytes: () => 0,
        certificateEndsAtMs: () => null,
        alerts: () => null,
      },
      ...{
        clock: () => world.nowMs,
        residentBytes: () => 0,
        databaseTimes: { read: none, write: none },
      },
      callbacksWaiting: () => countAllWaitingDeliveries(world.db.store.database),
    } as never);
    return { round: async () => void (await measures.text()) };
  },
  callbacks: ({ db, signals, nowMs }) => {
    const options = {
      ...{
        store: db.store,
        signals,
        config: { currencies: {}, callbacks: {} },
        log: silentLog,
        clock: () => nowMs,
      },
      callbackSender: { close: () => {} },
    } as never;
    return { round: () => firstRound(() => startCallbacks(options)) };
  },
  invoices: ({ db, nowMs }) => {
    const options = { store: db.store, clock: () => nowMs, ownClock: () => rightClock };
    return { round: () => void endInvoices(options) };
  },
  skipped: ({ db }) => {
    const options = { store: db.store, log: silentLog };
    return { round: () => firstRound(() => startWatchingSkipped(options)) };
  },
} satisfies Record<string, Timer>;

/** The first round of a timer that begins at once. */
async function firstRound(start: () => { close(): void }): Promise<void> {
  const started = start();
  await new Promise((resolve) => setTimeout(resolve, 20));
  started.close();
}

const opened: World[] = [];
afterEach(async () => {
  for (const world of opened.splice(0)) await world.close();
});

type Plant = (world: World) => void;
const noPlant: Plant = () => {};
let planted = noPlant;

/** A world whose passes end as those of a gateway do, with sweeps, books and waiting jobs. */
async function open(size: Size): Promise<World> {
  const world = new World(size, (own) => {
    const { store } = own.db;
    const common = {
      store,
      signals: own.signals,
      log: silentLog,
      clock: () => own.nowMs,
      run: "one run",
    };
    const config = {
      currencies: {},
      lifetimes: { withdrawalHours: 24 },
      sweepsAtOnce: 50,
      books: { hour: 3 },
    } as never;
    const sweeps = createSweeps({ ...common, config });
    const books = startBooks({ ...common, config, rest: async () => {} });
    return {
      onRead: () => placeWaitingJobs(common),
      onPass: async (chain, tip) => {
        planted(own);
        await sweeps.onPass(chain, tip);
        books.onPass(chain);
      },
    };
  });
  opened.push(world);
  // Each wallet has its first reading, and each address that holds something its first look.
  await world.pass(20 + Math.ceil(size.agents / 25) + Math.ceil((size.addresses ?? 0) / 4_000));
  world.count();
  return world;
}

/** The costs of three rounds after the first. */
async function costsOf(world: World, timer: Timer): Promise<Costs> {
  const { round, close } = timer(world);
  await round();
  const before = { ...world.costs };
  world.texts.clear();
  for (let at = 0; at < 3; at += 1) await round();
  close?.();
  const { questions, statements, rows } = world.costs;
  expect(statements - before.statements, "a round that reads nothing").toBeGreaterThan(0);
  return {
    questions: questions - before.questions,
    statements: statements - before.statements,
    rows: rows - before.rows,
  };
}

/** Tables with a row for each agent, address or record. */
const growing =
  /^(?:agents|merchants|keys|deposits|transfers|withdrawals|sweeps|topUps|addresses|addressStates|payments|jobs|signatures|slots|outgoing|levels|balances|callbackTargets|callbackEvents|callbackDeliveries|receivingKeys|accountOwners)$/;
/** Indexes with few rows, whatever exists. */
const few =
  /USING (?:COVERING )?INDEX (?:depositsOpen|transfersOpen|sweepsUnreached|jobsWaiting|jobsUnanswered|agentsHalted|callbackTargetsFailing|coinsEnded|outgoingUntold|callbackDeliveriesWaiting) ?/;

/** Tables that a statement walks through, of those that grow. */
function walkedBy(world: World, sql: string): readonly string[] {
  const tables = new Map<string, string>();
  for (const [, table = "", alias] of sql.matchAll(
    /(?:FROM|JOIN)\s+(\w+)(?:\s+(?:AS\s+)?(?!INDEXED|CROSS|JOIN|WHERE|ORDER|GROUP|LEFT|ON)(\w+))?/g,
  ))
    tables.set(alias ?? table, table);
  return world.db.store.database
    .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
    .flatMap(({ detail }) => {
      const [, name = ""] = /^(?:SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
      const isWalk =
        detail.startsWith("SCAN ") ||
        /\((?:(?:network|operation|status|run)=\?(?: AND )?)+\)$/.test(detail);
      const table = tables.get(name) ?? name;
      return isWalk && growing.test(table) && !few.test(detail) ? [`walks through ${table}`] : [];
    });
}

/** The costs of a timer that are higher at many than at few, and the tables that it walks. */
async function findings(
  [small, large]: readonly [World, World],
  timer: Timer,
): Promise<readonly string[]> {
  const [less, more] = [await costsOf(small, timer), await costsOf(large, timer)];
  const isMore = (name: keyof Costs, factor: number): boolean =>
    more[name] > factor * Math.max(less[name], 8);
  const grown = [
    ...(isMore("questions", 3) ? ["questions"] : []),
    ...(isMore("statements", 1.5) ? ["statements"] : []),
    ...(isMore("rows", 1.5) ? ["rows"] : []),
  ];
  const walks = [...large.texts].flatMap((sql) => walkedBy(large, sql));
  return [...grown, ...new Set(walks)];
}

/** A thousand addresses fill each list of a look that comes in turn. */
const kinds = {
  agents: { few: { agents: 10 }, many: { agents: share(2_000, 200) }, table: "agents" },
  addresses: {
    few: { agents: 10, addresses: 1_000 },
    many: { agents: 10, addresses: share(100_000, 4_000) },
    table: "addresses",
  },
  records: {
    few: { agents: 10, records: 1_000 },
    many: { agents: 10, records: share(1_000_000, 5_000) },
    table: "transfers",
  },
} as const;

/** Costs for each row of a table, as somebody may write them into a pass one day. */
const plants: Readonly<Record<string, (table: string) => Plant>> = {
  questions: (table) => (world) => {
    const all = rowsOf(world, table).map(() => ({ account: "0x1", contract: "" }));
    void world.watch.reader.balances(all, 1);
  },
  statements: (table) => (world) => {
    for (const _ of rowsOf(world, table)) world.db.store.database.get("SELECT 1");
  },
  rows: (table) => (world) =>
    void world.db.store.database.all(`SELECT rowid AS row FROM ${table} LIMIT -1`),
  walks: (table) => (world) =>
    void world.db.store.database.get(`SELECT count(*) AS n FROM ${table} WHERE rowid % 7 = 8`),
};

const rowsOf = ({ db }: World, table: string): readonly object[] => {
  const { n } = db.store.database.get<{ n: number }>(`SELECT max(rowid) AS n FROM ${table}`) ?? {
    n: 0,
  };
  return Array.from({ length: n }, (_, at) => ({ at }));
};

// Statements and rows are the same on both engines, and SQLite alone tells what it walks through.
describe.skipIf(isOnPostgres).each(Object.entries(kinds))(
  "a gateway with few and with many %s",
  (_, { few: less, many: more, table }) => {
    it("costs the same by each of its timers, and each such cost of a pass would be seen", async () => {
      const worlds = [await open(less), await open(more)] as const;
      const found: Record<string, readonly string[]> = {};
      for (const [name, timer] of Object.entries(measured))
        found[name] = await findings(worlds, timer);
      const free = { pass: [], alerts: [], metrics: [], callbacks: [], invoices: [], skipped: [] };
      expect(found).toEqual(free);
      for (const [name, plant] of Object.entries(plants)) {
        planted = plant(table);
        expect(await findings(worlds, (world) => ({ round: () => world.pass(2) })), name).toContain(
          name === "walks" ? `walks through ${table}` : name,
        );
        planted = noPlant;
      }
    }, 900_000);
  },
);
