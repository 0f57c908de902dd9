/**
 * The gateway's metrics as Prometheus reads them, counted from the database at the moment somebody asks. No label names a merchant, an
 * agent or an order. docs/events.md section 3 names them all.
 */
import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Registry } from "prom-client";
import type { TellerCounts } from "../../notices/teller.ts";
import { version } from "../../protocol/version.ts";
import type { Hub } from "../hub/hub.ts";
import type { Database } from "../store/store.ts";
import type { Watcher } from "../watcher/watcher.ts";

/** @public */
export interface MeasuresOptions {
  readonly server: FastifyInstance; // not yet listening
  readonly database: Database;
  readonly hub: Pick<Hub, "online">;
  readonly watcher: () => Pick<Watcher, "chainStatus"> | null;
  readonly notices: () => TellerCounts | null; // null where nobody is to be told
  readonly clock: () => number; // Unix milliseconds
  readonly residentBytes: () => number;
}

type Rows = readonly (readonly [...labels: string[], value: number])[];

/** @public */
export function createMeasures(options: MeasuresOptions): { readonly contentType: string; text(): Promise<string> } {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: "autowithdraw_gateway_http_requests_total",
    help: "HTTP requests answered, by route and status",
    labelNames: ["method", "route", "status"],
    registers,
  });
  options.server.addHook("onResponse", async (request, response) => {
    // The pattern of the route, never the path that was asked for.
    const route = request.routeOptions.url ?? "none";
    const method = /^(?:GET|HEAD|POST)$/.test(request.method) ? request.method : "other";
    requests.inc({ method, route, status: `${response.statusCode}` });
  });
  const gauge = (name: string, help: string, labelNames: readonly string[], read: () => Rows): void => {
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers,
      collect() {
        this.reset();
        for (const row of read()) {
          const values = [...row];
          const value = values.pop() as number;
          this.set(Object.fromEntries(labelNames.map((label, index) => [label, `${values[index]}`])), value);
        }
      },
    });
  };
  new Gauge({ name: "autowithdraw_gateway_build_info", help: "1, with the version", labelNames: ["version"], registers }).set(
    { version },
    1,
  );
  gauge("autowithdraw_gateway_resident_bytes", "Resident memory", [], () => [[options.residentBytes()]]);
  ofWithdrawals(gauge, options);
  ofAgents(gauge, options);
  ofChains(gauge, options);
  new Counter({
    name: "autowithdraw_gateway_notices_total",
    help: "Notices by outcome: told, failed tries, dropped",
    labelNames: ["outcome"],
    registers,
    collect() {
      this.reset();
      const counts = options.notices();
      if (counts === null) return;
      this.inc({ outcome: "told" }, counts.told);
      this.inc({ outcome: "failed" }, counts.failures);
      this.inc({ outcome: "dropped" }, counts.dropped);
    },
  });
  return { contentType: registry.contentType, text: () => registry.metrics() };
}

type AddGauge = (name: string, help: string, labelNames: readonly string[], read: () => Rows) => void;

function ofWithdrawals(gauge: AddGauge, { database, clock }: MeasuresOptions): void {
  gauge("autowithdraw_gateway_withdrawals", "Withdrawals that are not at their end, by stage", ["stage"], () => {
    const sql =
      "SELECT stage, COUNT(*) AS count FROM transactions WHERE operation = 'withdraw' AND status = 0 GROUP BY stage ORDER BY stage";
    return database.all<{ stage: string; count: number }>(sql).map(({ stage, count }) => [stage, count]);
  });
  gauge("autowithdraw_gateway_withdrawal_oldest_seconds", "Age of the oldest of them, by stage", ["stage"], () => {
    const sql =
      "SELECT stage, MIN(createdAt) AS at FROM transactions WHERE operation = 'withdraw' AND status = 0 GROUP BY stage ORDER BY stage";
    return database.all<{ stage: string; at: number }>(sql).map(({ stage, at }) => [stage, Math.max(0, clock() - at) / 1000]);
  });
  gauge("autowithdraw_gateway_jobs_waiting", "Jobs that no agent has answered", [], () => [
    [database.get<{ count: number }>("SELECT COUNT(*) AS count FROM jobs WHERE answeredAt IS NULL")?.count ?? 0],
  ]);
}

function ofAgents(gauge: AddGauge, { database, hub }: MeasuresOptions): void {
  gauge("autowithdraw_gateway_agents", "Paired agents: connected, away, and those of both that are locked", ["state"], () => {
    const agents = database.all<{ id: string; lockedCode: string }>("SELECT id, lockedCode FROM agents WHERE releasedAt IS NULL");
    const connected = agents.filter(({ id }) => hub.online(id)).length;
    return [
      ["connected", connected],
      ["away", agents.length - connected],
      ["locked", agents.filter(({ lockedCode }) => lockedCode !== "").length],
    ];
  });
}

function ofChains(gauge: AddGauge, { database, watcher }: MeasuresOptions): void {
  const statuses = () => watcher()?.chainStatus() ?? [];
  gauge("autowithdraw_gateway_chain_up", "1 while the chain is read", ["chain"], () =>
    statuses().map(({ chain, ok }) => [chain, Number(ok)]),
  );
  gauge("autowithdraw_gateway_deposit_lag_blocks", "Final blocks whose deposits are not read yet", ["chain"], () =>
    statuses().flatMap(({ chain, network, final }) => {
      const cursor = database.get<{ block: number }>("SELECT block FROM cursors WHERE network = ?", network)?.block;
      return cursor === undefined || final === null ? [] : [[chain, Math.max(0, final - cursor)] as const];
    }),
  );
}
