/**
 * `npm run demo -- --gateways 2`: two gateways on one PostgreSQL in a scratch folder, behind one
 * address. A gateway that a kill ended stays away like a lost machine until another one has taken
 * over; a gateway that ended by itself is started again, as systemd does.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { askReady, Balancer } from "./kit/balancer.ts";
import { type Kit, projectRoot } from "./kit/kit.ts";
import {
  askDatabase,
  type PostgresServer,
  postgresInstallLine,
  postgresPrograms,
  startPostgres,
} from "./kit/postgres.ts";
import { freePort, run, type StartedProcess, start, stop, until } from "./kit/processes.ts";

const restartMs = 2_000; // RestartSec=2 of docs/scale.md, section 4
const waitMs = 60_000;
const launcher = join(projectRoot, "gateway", "gateway.js");

/** A gateway as `cluster --json` lists it. */
interface ListedGateway {
  readonly name: string;
  readonly state: string;
}

type Tell = (what: string) => void;

interface GatewayParts {
  readonly server: PostgresServer;
  readonly dir: string; // the second gateway, and the key of both
  readonly database: string;
  readonly ports: readonly [number, number];
  readonly balancer: Balancer;
  readonly url: string; // the balancer
}

/** Two gateways, their database and their address. */
export class Gateways {
  readonly #parts: GatewayParts;
  readonly #tell: Tell;
  readonly #processes = new Map<number, StartedProcess>();
  #kit: Kit | null = null;
  #closing: Promise<void> | null = null;

  private constructor(parts: GatewayParts, tell: Tell) {
    this.#parts = parts;
    this.#tell = tell;
  }

  /**
   * Starts the server and the balancer, and makes the gateways' key and tables.
   * @throws Error on a machine without PostgreSQL; nothing was begun then
   */
  static async open(tell: (what: string) => void): Promise<Gateways> {
    if (postgresPrograms() === null)
      throw new Error(`two gateways need PostgreSQL: ${postgresInstallLine}`);
    const server = startPostgres();
    const dir = mkdtempSync(join(tmpdir(), "autowithdraw-gateways-"));
    const ports = [await freePort(), await freePort()] as const;
    const balancer = new Balancer(ports);
    const url = `http://127.0.0.1:${await balancer.open()}`;
    const database = server.urlOf("pay").replace("user=gateway", "user=pay");
    const gateways = new Gateways({ server, dir, database, ports, balancer, url }, tell);
    try {
      await gateways.#init();
    } catch (error) {
      await gateways.close();
      throw error;
    }
    return gateways;
  }

  async #init(): Promise<void> {
    const { server, dir, database, url } = this.#parts;
    const admin = server.urlOf("postgres");
    askDatabase(admin, "CREATE ROLE pay LOGIN");
    askDatabase(admin, "CREATE DATABASE pay OWNER pay");
    const words = ["init", "--dir", dir, "--database", database];
    const logFile = join(dir, "init.log");
    const { code, output } = await run(process.execPath, [launcher, ...words], { logFile });
    if (code !== 0) throw new Error(`gateway init ended with ${code}:\n${output}`);
    this.#tell(`PostgreSQL runs in a scratch folder; agents and the shop call ${url}`);
  }

  /** The members of gateway.config.json in which the first gateway differs from one alone. */
  get settings(): object {
    const { dir, database, ports, url } = this.#parts;
    return {
      database,
      keyFile: join(dir, "gateway.key"),
      listen: { host: "127.0.0.1", port: ports[0] },
      publicUrl: url,
    };
  }

  /** Gives the kit two gateways in the place of its one. */
  join(kit: Kit): void {
    const { ports, url } = this.#parts;
    this.#kit = kit;
    const config = JSON.parse(readFileSync(kit.gatewayConfigPath, "utf8")) as object;
    const listen = { host: "127.0.0.1", port: ports[1] };
    writeFileSync(this.#configOf(kit, ports[1]), JSON.stringify({ ...config, listen }, null, 2));
    const closeKit = kit.close;
    const close = async (): Promise<void> => {
      await this.close();
      kit.gateway = null;
      await closeKit();
    };
    Object.assign(kit, { gatewayUrl: url, startGateway: () => this.startMissing(), close });
  }

  #configOf(kit: Kit, port: number): string {
    const { dir, ports } = this.#parts;
    return port === ports[0] ? kit.gatewayConfigPath : join(dir, "gateway.config.json");
  }

  /**
   * Starts each gateway that is away: the first one at once, any other when one takes orders. Ends
   * when `cluster` lists an active gateway and a standby.
   */
  async startMissing(): Promise<void> {
    const { ports } = this.#parts;
    if (this.#processes.size === 0) this.#start(ports[0]);
    await until("a gateway that takes orders", waitMs, async () => {
      const answers = await Promise.all([...this.#processes.keys()].map(askReady));
      return answers.includes("ready") ? true : undefined;
    });
    for (const port of ports) if (!this.#processes.has(port)) this.#start(port);
    await until("an active gateway and a standby", waitMs, async () => {
      const states = (await this.list()).map(({ state }) => state);
      return states.sort().join() === "active,standby" ? true : undefined;
    });
    this.#joined().gateway = (await this.findActive()).started;
  }

  #joined(): Kit {
    if (this.#kit === null) throw new Error("no kit has these gateways yet");
    return this.#kit;
  }

  #start(port: number): void {
    const kit = this.#joined();
    const logFile = join(kit.dir, `gateway-${port}.log`);
    const words = [launcher, "start", "--config", this.#configOf(kit, port)];
    const started = start(process.execPath, words, { cwd: kit.dir, logFile });
    this.#processes.set(port, started);
    void started.ended.then((code) => this.#takeEnd(port, code));
  }

  /** A killed gateway stays away; any other end is followed by a start. */
  async #takeEnd(port: number, code: number | null): Promise<void> {
    this.#processes.delete(port);
    if (code === null || this.#closing !== null) return;
    this.#tell(`the gateway on port ${port} ended with ${code}, and is started again`);
    await sleep(restartMs);
    if (this.#closing === null && !this.#processes.has(port)) this.#start(port);
  }

  /** The gateways as `cluster` lists them. */
  async list(): Promise<readonly ListedGateway[]> {
    const said = await this.#joined().operate("cluster", "--json");
    return (JSON.parse(said) as { readonly gateways: readonly ListedGateway[] }).gateways;
  }

  /** The active gateway by its name in `cluster`, and its process. */
  async findActive(): Promise<{ readonly name: string; readonly started: StartedProcess }> {
    const active = (await this.list()).find(({ state }) => state === "active");
    const started = this.#processes.get(Number(active?.name.split(":").at(-1)));
    if (active === undefined || started === undefined) throw new Error("no gateway is active");
    return { name: active.name, started };
  }

  /** Ends both gateways, the balancer and the server. Calling twice is harmless. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((one) => stop(one)));
    const { server, dir, balancer } = this.#parts;
    await balancer.close();
    server.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}
