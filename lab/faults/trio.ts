/**
 * The whole system under faults: signer, courier and gateway as they are really started, on anvil,
 * with a failing proxy in each of the three ways between them. Strikes fall while orders are on
 * their way; in the end the chain itself says who was paid, how often.
 */
import {
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import type { AgentRow } from "../../gateway/store/rows.ts";
import { type Kit, type KitOptions, projectRoot, startKit } from "../kit/kit.ts";
import { run, type StartedProcess, stop, until } from "../kit/processes.ts";
import { startProxy, type TcpProxy } from "../kit/proxy.ts";
import { askCopy } from "./gateway-folder.ts";
import { Killer, processesOf } from "./killer.ts";
import { Orders } from "./orders.ts";
import { Disk, restoreImage } from "./pages.ts";
import { recordsOf, segmentsOf } from "./signer-folder.ts";
import { everyCall } from "./signer-world.ts";
import { pick, type Random, seeded, type Tally } from "./tally.ts";
import { attach, type Point, pointsIn } from "./trace.ts";

type Victim = "signer" | "courier" | "gateway";

type Image = ReadonlyMap<string, Buffer | null>;

/**
 * The codes by which the gateway marks an agent whose ledger lacks acknowledged records, or has
 * others in their place.
 */
const behind: readonly string[] = ["AGENT_BEHIND", "HUB_LEDGER_FORKED"];
const victims: readonly Victim[] = ["courier", "signer", "gateway"];
/** A run at moments of chance: orders for each strike, the most at once, and the pause. */
const ordersPerStrike = 2.5;
const burstMax = 4;
/**
 * A courier whose signer refused the welcome tells the reason on its next connection, which it
 * opens up to 30 s later.
 */
const noticedMs = 60_000;
const pauseMsMax = 1_200;

export class Trio {
  readonly kit: Kit;
  readonly #random: Random;
  readonly #seed: string;
  readonly #tally: Tally;
  readonly #ways: Readonly<Record<string, TcpProxy>>;
  readonly #orders: Orders;
  readonly #points = new Map<Victim, readonly Point[]>();

  private constructor(
    kit: Kit,
    ways: Readonly<Record<string, TcpProxy>>,
    seed: string,
    tally: Tally,
  ) {
    this.kit = kit;
    this.#ways = ways;
    this.#seed = seed;
    this.#random = seeded(seed);
    this.#tally = tally;
    this.#orders = new Orders(kit, seed, seeded(`${seed}/orders`));
  }

  static async create(
    seed: string,
    tally: Tally,
    chain: KitOptions = { confirmations: 1, blockTimeMs: 250 },
  ): Promise<Trio> {
    const kit = await startKit({ ...chain, proxied: true });
    const chainPort = Number(new URL(kit.anvil.url).port);
    const gatewayPort = Number(new URL(kit.gatewayUrl).port);
    const ways = {
      "agent and chain": kit.proxy as TcpProxy,
      "gateway and chain": await startProxy(chainPort),
      "agent and gateway": await startProxy(gatewayPort),
    };
    change(kit.gatewayConfigPath, (config) => {
      config.chains.local.nodes = [`http://127.0.0.1:${ways["gateway and chain"].port}`];
    });
    change(kit.configPath, (config) => {
      config.gatewayUrl = `http://127.0.0.1:${ways["agent and gateway"].port}`;
    });
    const trio = new Trio(kit, ways, seed, tally);
    try {
      await kit.startGateway();
      const paired = await kit.pair();
      if (paired.code !== 0)
        throw new Error(`pair.js ended with ${paired.code}:\n${paired.output}`);
      await kit.fund(50n * 10n ** 18n, 10n ** 10n);
      await kit.startCrypto();
      return trio;
    } catch (error) {
      await trio.#end();
      throw error;
    }
  }

  /** Kills `victim` at one system call of the next orders. False when it was not reached. */
  async kill(victim: Victim): Promise<boolean> {
    const points = this.#points.get(victim) ?? (await this.#count(victim));
    const { syscall, nth } = pick(this.#random, points);
    const pid = await until(
      `a running ${victim}`,
      30_000,
      async () => this.#pidOf(victim),
      this.#said,
    );
    const gateway = this.kit.gateway;
    const inject = `${syscall}:signal=SIGKILL:when=${nth}`;
    const tracer = await attach(pid, join(this.kit.dir, `trace-${victim}`), {
      syscalls: everyCall,
      inject,
    });
    this.#orders.order();
    const endAt = performance.now() + 4_000;
    while (this.#pidOf(victim) === pid && performance.now() < endAt) await sleep(10);
    const isStruck = this.#pidOf(victim) !== pid;
    await tracer.detach(isStruck);
    if (!isStruck) return false;
    if (victim === "gateway" && gateway !== null) {
      await gateway.ended;
      await sleep(this.#random() * 300);
      await this.kit.startGateway();
    }
    this.#tally.struck("kills", `trio, ${victim} ${syscall}`);
    return true;
  }

  /** Cut, stalled, refused, swallowed or slow for a while, with an order on its way. */
  async disturb(): Promise<void> {
    const way = pick(this.#random, Object.keys(this.#ways));
    const proxy = this.#ways[way];
    const how = pick(this.#random, ["cut", "stalled", "refusing", "half", "slow"] as const);
    this.#orders.order();
    await sleep(this.#random() * 300);
    if (how !== "cut") {
      proxy?.mode(how);
      await sleep(300 + this.#random() * 900);
      proxy?.mode("open");
    }
    // Swallowed bytes stay missing, so that connection is of no use any more.
    if (how === "cut" || how === "half") proxy?.cut();
    this.#tally.noted(`trio, ${way} ${how}`);
  }

  /** Points of one order's whole way, from a run without faults. */
  async #count(victim: Victim): Promise<readonly Point[]> {
    const pid = await until(
      `a running ${victim}`,
      30_000,
      async () => this.#pidOf(victim),
      this.#said,
    );
    const tracer = await attach(pid, join(this.kit.dir, `trace-${victim}`), {
      syscalls: everyCall,
    });
    this.#orders.order();
    await this.#orders.settle();
    await tracer.detach();
    const points = pointsIn(tracer.log());
    this.#points.set(victim, points);
    return points;
  }

  #pidOf(victim: Victim): number | undefined {
    if (victim === "signer") return this.kit.signerPid();
    if (victim === "courier") return this.kit.courierPid();
    const gateway = this.kit.gateway;
    return gateway === null || gateway.child.exitCode !== null || gateway.child.signalCode !== null
      ? undefined
      : gateway.pid;
  }

  readonly #said = (): string => this.kit.crypto?.output().slice(-3000) ?? "";

  /** `count` kills of the three in turn, with disturbed connections between them. */
  async strike(count: number, victim?: Victim): Promise<void> {
    for (let done = 0, place = 0; done < count; place += 1) {
      if (this.#random() < 0.25) await this.disturb();
      if (await this.kill(victim ?? victims[place % victims.length] ?? "courier")) done += 1;
      if (place > count * 4 + 20) throw new Error("strikes find nothing to strike");
    }
  }

  /** `count` strikes at moments of chance in a stream of orders, on processes and connections. */
  async strikeAtMoments(count: number): Promise<void> {
    const { asked } = this.#orders;
    const random = seeded(`${this.#seed}/bursts`);
    const orders = Math.ceil(count * ordersPerStrike);
    const connection = { name: "connection", tickets: 2, strike: () => this.disturb() };
    const killer = new Killer(
      [...processesOf(this.kit, this.#random), connection],
      this.#random,
      count,
    );
    const killing = killer.play(() => asked.length / orders);
    while (asked.length < orders) {
      for (let left = 1 + Math.floor(random() * burstMax); left > 0; left -= 1)
        this.#orders.order();
      await Promise.race([killing, sleep(random() * pauseMsMax)]);
    }
    await killing;
    for (const [name, times] of Object.entries(killer.struck))
      for (let left = times; left > 0; left -= 1) this.#tally.struck("moments", `trio, ${name}`);
  }

  /**
   * The whole agent stopped, its ledger cut to an earlier record, started again: both sides must
   * notice, nothing is signed.
   */
  async restoreLedger(): Promise<void> {
    this.#orders.order();
    await this.#orders.settle();
    const newest = this.#agent().headSeq;
    await this.#stopCrypto();
    const kept = this.#keepState();
    await stop(this.#gateway());
    const database = this.#databaseNow();
    await this.kit.startGateway();
    const count = 1 + Math.floor(this.#random() * (newest - 1));
    const [file = ""] = segments(this.kit.stateDir);
    const lines = readFileSync(file, "utf8").split("\n").slice(0, count);
    truncateSync(file, Buffer.byteLength(`${lines.join("\n")}\n`));
    // A cut within a write leaves lines without their MAC, which are no records.
    const left = recordsIn(this.kit.stateDir).length;
    const isAway = this.#random() < 0.4;
    if (isAway) await stop(this.#gateway());
    await this.kit.startCrypto();
    if (isAway) await this.kit.startGateway();
    // While the agent is locked; it is paid when the true ledger is back.
    const asked = this.#orders.order();
    const found: string[] = [];
    const knows = async (): Promise<true | undefined> =>
      behind.includes(this.#agent().lockedCode) ? true : undefined;
    await this.#expect(found, "the gateway knows that the agent is behind", knows);
    const kinds = recordsIn(this.kit.stateDir)
      .slice(left)
      .map(({ kind }) => kind);
    if (!kinds.includes("LOCKED")) found.push("no lock was recorded");
    if (kinds.includes("INTENT") || kinds.includes("SIGNED"))
      found.push("it signed after the restore");
    // A lock at the gateway may need its operator: both are moved back to where they were.
    await this.#stopCrypto();
    await stop(this.#gateway());
    restoreImage(database);
    this.#putStateBack(kept);
    await this.kit.startGateway();
    await this.kit.startCrypto();
    this.#orders.again(asked);
    await this.#orders.settle();
    this.#tally.struck("restores", `trio, ledger, the gateway ${isAway ? "away" : "there"}`);
    this.#tally.violated(`trio, ledger restored to record ${count} of ${newest}`, found);
  }

  /**
   * The gateway's database restored to `most` earlier commits, each on its own. Gives how many were
   * behind the agent.
   */
  async restoreDatabases(most: number): Promise<number> {
    const images = await this.#commits();
    let done = 0;
    for (let place = 0; done < most && place < images.length; place += 1) {
      const image = images[(place * 7) % images.length];
      if (image !== undefined && (await this.#restoreDatabase(image))) done += 1;
    }
    return done;
  }

  /** Every commit of a few orders' way, as the files that were durable then. */
  async #commits(): Promise<readonly Image[]> {
    const paths = this.#databaseFiles();
    const syscalls = ["pwrite64", "fdatasync", "fsync", "ftruncate", "unlink"];
    const tracer = await attach(this.#gateway().pid, join(this.kit.dir, "commits"), {
      syscalls,
      paths,
      withData: true,
    });
    const disk = new Disk(paths);
    for (let count = 0; count < 3; count += 1) this.#orders.order();
    await this.#orders.settle();
    await tracer.detach();
    const images: Image[] = [];
    disk.follow(tracer.log(), (path) => {
      if (path.endsWith("-wal")) images.push(disk.image());
    });
    return images;
  }

  /**
   * False when this commit lacks nothing that the agent knows of: nothing can be noticed then, and
   * nothing has to be.
   */
  async #restoreDatabase(image: Image): Promise<boolean> {
    const { stateDir } = this.kit;
    const before = recordsIn(stateDir);
    await stop(this.#gateway());
    const now = this.#databaseNow();
    restoreImage(image);
    const { headSeq, jobSequence } = this.#agent();
    const isBehind = headSeq < ackedIn(before) || jobSequence < jobsIn(before);
    if (!isBehind) {
      restoreImage(now);
      await this.kit.startGateway();
      return false;
    }
    await this.#stopCrypto();
    const kept = this.#keepState();
    await this.kit.startGateway();
    await this.kit.startCrypto();
    const found: string[] = [];
    const news = (): readonly LedgerRecord[] => recordsIn(stateDir).slice(before.length);
    const isTold = async (): Promise<true | undefined> => {
      const told = this.#agent();
      return told.headSeq >= ackedIn(before) && told.jobSequence >= jobsIn(before)
        ? true
        : undefined;
    };
    // A statement that comes before the resync is done raises an alarm; told at once, the gateway
    // never lacks anything.
    await this.#expect(found, "the gateway receives again what it lost", isTold);
    if (news().some(({ kind }) => kind === "INTENT" || kind === "SIGNED"))
      found.push("it signed what was signed before");
    await this.#stopCrypto();
    await stop(this.#gateway());
    restoreImage(now);
    this.#putStateBack(kept);
    await this.kit.startGateway();
    await this.kit.startCrypto();
    this.#orders.order();
    await this.#orders.settle();
    this.#tally.struck("restores", "trio, gateway's database");
    this.#tally.violated(
      `trio, database restored to head ${headSeq} and job ${jobSequence}`,
      found,
    );
    return true;
  }

  #databaseNow(): Image {
    return new Map(
      this.#databaseFiles().map((path) => [path, existsSync(path) ? readFileSync(path) : null]),
    );
  }

  #databaseFiles(): readonly string[] {
    const database = join(this.kit.dir, "gateway", "gateway.db");
    return [database, `${database}-wal`];
  }

  #agent(): AgentRow {
    const row = askCopy<AgentRow>(
      join(this.kit.dir, "gateway", "gateway.db"),
      "SELECT * FROM agents",
    )[0];
    if (row === undefined) throw new Error("no agent is paired");
    return row;
  }

  async #expect(
    found: string[],
    what: string,
    look: () => Promise<true | undefined>,
  ): Promise<void> {
    await until(what, noticedMs, look, this.#said).catch((error: unknown) =>
      found.push(String(error)),
    );
  }

  #gateway(): StartedProcess {
    if (this.kit.gateway === null) throw new Error("there is no gateway");
    return this.kit.gateway;
  }

  #keepState(): string {
    const kept = `${this.kit.stateDir}-kept`;
    cpSync(this.kit.stateDir, kept, { recursive: true });
    return kept;
  }

  #putStateBack(kept: string): void {
    rmSync(this.kit.stateDir, { recursive: true });
    renameSync(kept, this.kit.stateDir);
  }

  /** A pairing of the same wallet from another folder is refused while the first agent lives. */
  async pairAgain(): Promise<void> {
    const { kit } = this;
    const configPath = join(kit.dir, "second.json");
    const { mnemonic, apiKey, encKey } = kit;
    const config = JSON.parse(readFileSync(kit.configPath, "utf8")) as object;
    writeFileSync(configPath, JSON.stringify({ ...config, mnemonic, apiKey, encKey }), {
      mode: 0o600,
    });
    const args = [
      join(projectRoot, "pair.js"),
      "--config",
      configPath,
      "--state",
      join(kit.dir, "second"),
      "--yes",
      "--json",
    ];
    const done = await run(process.execPath, args, {
      cwd: kit.dir,
      logFile: join(kit.dir, "pair.log"),
    });
    this.#tally.struck("restores", "trio, second pairing of one wallet");
    if (done.code === 0)
      this.#tally.violated("trio, second pairing", [
        "a second agent was paired with the same wallet",
      ]);
    this.#orders.order();
    await this.#orders.settle();
  }

  /** Waits for every order's end, lets the chain judge, and ends everything. */
  async close(): Promise<void> {
    try {
      await this.#orders.settle();
      this.#tally.violated(`trio ${this.#seed}`, await this.#orders.judge());
      this.#tally.withdrawals += this.#orders.asked.length;
      this.#tally.paidOnce += this.#orders.paid;
    } finally {
      await this.#end();
    }
  }

  async #end(): Promise<void> {
    await this.kit.close();
    for (const [way, proxy] of Object.entries(this.#ways))
      if (way !== "agent and chain") await proxy.close();
  }

  async #stopCrypto(): Promise<void> {
    if (this.kit.crypto !== null) await stop(this.kit.crypto);
  }
}

interface Settings {
  gatewayUrl: string;
  chains: { local: { nodes: string[] } };
}

function change(path: string, by: (config: Settings) => void): void {
  const config = JSON.parse(readFileSync(path, "utf8")) as Settings;
  by(config);
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
}

const ledgerOf = (stateDir: string): { readonly ledger: string } => ({
  ledger: join(stateDir, "signer", "ledger"),
});
const segments = (stateDir: string): readonly string[] => segmentsOf(ledgerOf(stateDir));
const recordsIn = (stateDir: string): readonly LedgerRecord[] => recordsOf(ledgerOf(stateDir));

/** The newest head the gateway acknowledged, as the ledger has it. */
function ackedIn(records: readonly LedgerRecord[]): number {
  return Math.max(
    0,
    ...records.map((one) =>
      one.kind === "RELEASED" || one.kind === "REPORTED" ? one.acked.seq : 0,
    ),
  );
}

/** The newest job in the ledger. */
function jobsIn(records: readonly LedgerRecord[]): number {
  return Math.max(
    0,
    ...records.map((one) =>
      one.kind === "REQUESTED" || one.kind === "REPEATED" ? one.sequence : 0,
    ),
  );
}
