/**
 * Two gateway processes on one PostgreSQL: each one that ends is started again as systemd does it.
 * The servers of the database have two places, as two machines have two names: a configuration
 * names both places, and stays the same while the servers in them are replaced.
 */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { exitStatuses } from "../../../gateway/operator/command.ts";
import { askReady, Balancer } from "../../kit/balancer.ts";
import { type Kit, projectRoot } from "../../kit/kit.ts";
import { askDatabase, type PostgresServer, startPostgres } from "../../kit/postgres.ts";
import { freePort, run, type StartedProcess, start, stop, until } from "../../kit/processes.ts";

const restartMs = 5_000; // RestartSec of the unit in packaging/systemd
const settledMs = 120_000;
const launcher = join(projectRoot, "gateway", "gateway.js");
const placeNames = ["a", "b"] as const;
type PlaceName = (typeof placeNames)[number];

/** How a process of a gateway ended. */
export interface GatewayEnd {
  readonly pid: number;
  readonly code: number | null; // null: by a signal
  readonly words: string; // the newest lines of its output
}

/** The servers of one database, in two places that the gateways know by name. */
export class DatabasePlaces {
  readonly dir = mkdtempSync(join(tmpdir(), "autowithdraw-places-"));
  readonly #servers = new Map<PlaceName, PostgresServer>();
  #primary: PlaceName = "a";

  constructor() {
    this.put(startPostgres());
    const admin = this.primary.urlOf("postgres");
    askDatabase(admin, "CREATE ROLE pay LOGIN");
    askDatabase(admin, "CREATE DATABASE pay OWNER pay");
  }

  /** The address for the gateways' configuration. */
  get url(): string {
    const hosts = placeNames.map((name) => join(this.dir, name)).join(",");
    return `postgres:///pay?host=${hosts}&user=pay`;
  }

  get primary(): PostgresServer {
    const server = this.#servers.get(this.#primary);
    if (server === undefined) throw new Error("there is no primary");
    return server;
  }

  /** The answer of the primary's administrator. */
  ask(text: string): readonly Readonly<Record<string, unknown>>[] {
    return askDatabase(this.primary.urlOf("pay"), text);
  }

  /** Transactions of the primary that wrote something, since its database was made. */
  countTransactions(): number {
    const [row] = this.ask("SELECT txid_snapshot_xmax(txid_current_snapshot()) AS next");
    return Number(row?.next);
  }

  /** How often the primary refused one of its processes a turn without the lease, by its log. */
  countRefusals(process: number): number {
    const log = readFileSync(join(this.primary.folder, "log"), "utf8");
    return log.split(`[${process}] ERROR:  division by zero`).length - 1;
  }

  /** Puts the primary into the first free place. */
  put(server: PostgresServer): void {
    const free = placeNames.find((name) => !this.#servers.has(name));
    if (free === undefined) throw new Error("no place is free");
    this.#fill(free, server);
    this.#primary = free;
  }

  #fill(name: PlaceName, server: PostgresServer): void {
    this.#servers.set(name, server);
    symlinkSync(server.folder, join(this.dir, name));
  }

  /** The primary's standby, which is made if there is none. */
  replica(): PostgresServer {
    const other = placeNames.find((name) => name !== this.#primary) ?? "b";
    const server = this.#servers.get(other) ?? this.primary.makeReplica();
    if (!this.#servers.has(other)) this.#fill(other, server);
    return server;
  }

  /** The standby takes the primary's part, and the primary's place is free. */
  promote(): void {
    const old = this.#primary;
    const server = this.replica();
    server.promote();
    this.#primary = placeNames.find((name) => name !== old) ?? "b";
    this.#clear(old);
  }

  /** Ends every server, and frees its place. */
  clear(): void {
    for (const name of [...this.#servers.keys()]) this.#clear(name);
  }

  #clear(name: PlaceName): void {
    this.#servers.get(name)?.stop();
    this.#servers.delete(name);
    rmSync(join(this.dir, name), { force: true });
  }

  close(): void {
    this.clear();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

interface PairParts {
  readonly places: DatabasePlaces;
  readonly dir: string; // the second gateway, and the key of both
  readonly ports: readonly [number, number];
  readonly balancer: Balancer;
  readonly url: string; // the balancer
}

/** Two gateways, their database and their address. */
export class GatewayPair {
  readonly places: DatabasePlaces;
  readonly url: string;
  /** Every end of a process so far. */
  readonly ends: GatewayEnd[] = [];
  readonly #parts: PairParts;
  readonly #running = new Map<number, StartedProcess>();
  #kit: Kit | null = null;
  #isStopped = true;

  private constructor(parts: PairParts) {
    this.#parts = parts;
    this.places = parts.places;
    this.url = parts.url;
  }

  /** Starts the database and the balancer, and makes the gateways' key and tables. */
  static async open(): Promise<GatewayPair> {
    const places = new DatabasePlaces();
    const dir = mkdtempSync(join(tmpdir(), "autowithdraw-pair-"));
    const ports = [await freePort(), await freePort()] as const;
    const balancer = new Balancer(ports);
    const url = `http://127.0.0.1:${await balancer.open()}`;
    const pair = new GatewayPair({ places, dir, ports, balancer, url });
    const words = [launcher, "init", "--dir", dir, "--database", places.url];
    const { code, output } = await run(process.execPath, words, { logFile: join(dir, "init.log") });
    if (code === 0) return pair;
    await pair.close();
    throw new Error(`gateway init ended with ${code}:\n${output}`);
  }

  /** The members of gateway.config.json in which the first gateway differs from one alone. */
  get settings(): object {
    const { dir, ports, url, places } = this.#parts;
    return {
      database: places.url,
      keyFile: join(dir, "gateway.key"),
      listen: { host: "127.0.0.1", port: ports[0] },
      publicUrl: url,
    };
  }

  /** Makes the second gateway's configuration of the first one's; the kit calls the balancer. */
  join(kit: Kit): void {
    const { dir, ports, url } = this.#parts;
    this.#kit = kit;
    const config = JSON.parse(readFileSync(kit.gatewayConfigPath, "utf8")) as object;
    const listen = { host: "127.0.0.1", port: ports[1] };
    writeFileSync(join(dir, "gateway.config.json"), JSON.stringify({ ...config, listen }));
    Object.assign(kit, { gatewayUrl: url });
  }

  /** Starts both gateways. */
  start(): void {
    this.#isStopped = false;
    for (const port of this.#parts.ports) this.#start(port);
  }

  #start(port: number): void {
    if (this.#kit === null) throw new Error("no kit has these gateways yet");
    const { dir, ports } = this.#parts;
    const config =
      port === ports[0] ? this.#kit.gatewayConfigPath : join(dir, "gateway.config.json");
    const logFile = join(this.#kit.dir, `gateway-${port}.log`);
    const words = [launcher, "start", "--config", config];
    const started = start(process.execPath, words, { cwd: this.#kit.dir, logFile });
    this.#running.set(port, started);
    void started.ended.then((code) => this.#takeEnd(port, started, code));
  }

  async #takeEnd(port: number, started: StartedProcess, code: number | null): Promise<void> {
    this.#running.delete(port);
    this.ends.push({ pid: started.pid, code, words: started.output().slice(-1_500) });
    await sleep(restartMs);
    if (!this.#isStopped && !this.#running.has(port)) this.#start(port);
  }

  /** The active gateway, once there is a standby beside it. */
  async active(): Promise<StartedProcess> {
    const { ports } = this.#parts;
    return until(
      "an active gateway and a standby",
      settledMs,
      async () => {
        const answers = await Promise.all(ports.map(askReady));
        const port = ports[answers.indexOf("ready")];
        if (port === undefined || !answers.includes("not ready")) return undefined;
        return this.#running.get(port);
      },
      () => this.said(),
    );
  }

  /** The end of a process, if it has ended. */
  endOf(pid: number): GatewayEnd | undefined {
    return this.ends.find((end) => end.pid === pid);
  }

  /** Ends both gateways as an operator does; none is started again before `start`. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#running.values()].map((one) => stop(one)));
  }

  /** The newest lines of both. */
  said(): string {
    return [...this.#running.values()].map((one) => one.output().slice(-1_500)).join("\n");
  }

  /** Ends of a process that no event explains: those by a bug of the program. */
  get bugs(): readonly string[] {
    const bugs = this.ends.filter(({ code }) => code === exitStatuses.bug);
    return bugs.map(({ words }) => `a gateway ended by a bug: ${words}`);
  }

  /** Ends both gateways, the balancer and the servers. */
  async close(): Promise<void> {
    await this.stop();
    await this.#parts.balancer.close();
    this.places.close();
    rmSync(this.#parts.dir, { recursive: true, force: true });
  }
}
