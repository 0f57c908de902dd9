/**
 * A gateway's life under faults: the real process on a real database, a shop that asks until it is
 * answered, an agent and a chain in this process. After a strike everything asked must still come
 * to its end, and no word given before may be forgotten.
 */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { openStore } from "../../gateway/store/store.ts";
import { publicKeyFromHex } from "../../protocol/envelope.ts";
import { type ChainNode, FakeChain, serveChain } from "../kit/fake-chain.ts";
import { childrenOf, type StartedProcess, until } from "../kit/processes.ts";
import { drawSteady } from "../kit/provider/profiles.ts";
import { createShop, type ShopOrder } from "../kit/shop.ts";
import { StubAgent } from "./gateway-agent.ts";
import { type GatewayFolder, makeGatewayFolder, startGateway } from "./gateway-folder.ts";
import { Disk } from "./pages.ts";
import { type Aftermath, everyCall, limitFiles, within } from "./signer-world.ts";
import type { Random } from "./tally.ts";
import {
  attach,
  isReached,
  type Point,
  pointsIn,
  readTrace,
  startedUnder,
  type TraceOptions,
} from "./trace.ts";

export type GatewayFault =
  | { readonly kind: "kill"; readonly point: Point; readonly aftermath: Aftermath }
  | {
      readonly kind: "error";
      readonly errno: "EIO" | "ENOSPC";
      readonly point: Point;
      readonly aftermath: Aftermath;
    }
  | { readonly kind: "short"; readonly bytes: number };

/**
 * Calls of the database's own files that can fail; its shared memory is mapped and written by none.
 */
const diskCalls = ["pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "openat"];
const workMs = 30_000;

/**
 * Whether nobody knows what is on disk after such a failure. A write without room is refused and
 * leaves nothing (GATEWAY_DISK_FULL): the gateway lives on.
 */
function isPoisoned(errno: "EIO" | "ENOSPC", syscall: string): boolean {
  return /^f(data)?sync$/.test(syscall) || (errno === "EIO" && syscall === "pwrite64");
}

const lateMs = 1_000;

interface AcceptedOrder extends ShopOrder {
  transactionId: string;
}

export class GatewayWorld {
  readonly folder: GatewayFolder;
  readonly agent: StubAgent;
  readonly #dir: string;
  readonly #node: ChainNode;
  readonly #random: Random;
  readonly #asked: AcceptedOrder[] = [];
  readonly #violations: string[] = [];
  #process: StartedProcess | null = null;

  private constructor(dir: string, folder: GatewayFolder, node: ChainNode, random: Random) {
    this.#dir = dir;
    this.folder = folder;
    this.#node = node;
    this.#random = random;
    this.agent = new StubAgent(folder.agent, publicKeyFromHex(folder.key.publicKey));
    node.chain = this.agent.chain;
  }

  static async create(dir: string, random: Random): Promise<GatewayWorld> {
    let profile = drawSteady("evm", random);
    // The stub's payments come to the chain past the node, which would lack the price of each.
    while (profile.odd?.includes("no-price")) profile = drawSteady("evm", random);
    const node = await serveChain(new FakeChain(), profile);
    return new GatewayWorld(
      dir,
      await makeGatewayFolder(join(dir, "gateway"), node.url),
      node,
      random,
    );
  }

  get withdrawals(): number {
    return this.#asked.length;
  }

  get #files(): readonly string[] {
    return [this.folder.database, `${this.folder.database}-wal`];
  }

  async up(): Promise<StartedProcess> {
    if (this.#process !== null) return this.#process;
    const started = await startGateway(this.folder);
    this.#process = started;
    void started.ended.then(() => {
      if (this.#process === started) this.#process = null;
    });
    await this.agent.connect(this.folder.port);
    await until("a first reading of the chain", workMs, async () =>
      (await fetch(`${this.folder.url}/ready`)).ok ? true : undefined,
    );
    return started;
  }

  async points(which: "kill" | "error", count: number): Promise<readonly Point[]> {
    const running = await this.up();
    const tracer = await attach(running.pid, join(this.#dir, "trace"), this.#options(which));
    await this.#work(count);
    await tracer.detach();
    return pointsIn(tracer.log());
  }

  #options(which: "kill" | "error" | "data"): TraceOptions {
    if (which === "kill") return { syscalls: everyCall };
    return { syscalls: diskCalls, paths: this.#files, withData: which === "data" };
  }

  /** False when the point was never reached. */
  async strike(fault: GatewayFault, count: number): Promise<boolean> {
    if (fault.kind === "short") return this.#shorten(fault.bytes, count);
    const running = await this.up();
    const { syscall, nth } = fault.point;
    const effect = fault.kind === "error" ? `error=${fault.errno}` : "signal=SIGKILL";
    const isOnDisk = fault.kind === "error" || fault.aftermath !== "start";
    const options = this.#options(
      fault.aftermath === "start" ? (isOnDisk ? "error" : "kill") : "data",
    );
    const tracer = await attach(running.pid, join(this.#dir, "trace"), {
      ...options,
      inject: `${syscall}:${effect}:when=${nth}`,
    });
    // Only now is everything seen; what the log has before this moment is in it already.
    const disk = new Disk(this.#files);
    let isAlive = await this.#work(count);
    const livesOn = isAlive && fault.kind === "error" && !isPoisoned(fault.errno, syscall);
    const losesPower = livesOn && fault.aftermath !== "start";
    if (losesPower) {
      // Beyond its tracer it would write what no trace tells.
      this.#process?.child.kill("SIGKILL");
      await running.ended;
    }
    await tracer.detach(!isAlive || losesPower);
    // The work may have been done just before the last of its calls was struck.
    if (fault.kind === "kill" && isAlive && isReached(tracer.log(), fault.point))
      isAlive = (await within(lateMs, running.ended)) === "late";
    const isStruck = fault.kind === "kill" ? !isAlive : tracer.log().includes("(INJECTED)");
    if (fault.kind === "error" && isStruck && isAlive && !livesOn) await this.#mustEnd(running);
    if (isStruck && fault.aftermath !== "start") {
      this.#process?.child.kill("SIGKILL");
      await running.ended;
      disk.follow(tracer.log());
      disk.assertWhole();
      if (fault.aftermath === "speak and lose power") disk.follow(await this.#speak());
      disk.assertWhole();
      disk.losePower(this.#random);
      rmSync(`${this.folder.database}-shm`, { force: true });
    }
    await this.#recover();
    return isStruck;
  }

  /** The process has to end by itself where nobody knows what is on disk. */
  async #mustEnd(running: StartedProcess): Promise<void> {
    if ((await within(3_000, running.ended)) === "late")
      this.#violations.push("the gateway lives on after its disk failed");
  }

  /**
   * A start without faults that lasts until the agent's handshake is complete, with everything it
   * does to the files.
   */
  async #speak(): Promise<string> {
    const file = join(this.#dir, "speech");
    const started = await startGateway(this.folder, startedUnder(file, this.#options("data")));
    await this.agent.connect(this.folder.port);
    for (const pid of childrenOf(started.pid, "gateway.js")) process.kill(pid, "SIGKILL");
    await started.ended;
    return readTrace(file);
  }

  /**
   * Asks for `count` more and drives them until the agent has received all; false when the gateway
   * ended first.
   */
  async #work(count: number): Promise<boolean> {
    const shop = createShop({ gatewayUrl: this.folder.url, shopKey: this.folder.shopKey });
    for (let added = 0; added < count; added += 1) {
      const number = this.#asked.length + 1;
      const receiver = `0x${number.toString(16).padStart(40, "5")}`;
      const amount = `0.0001${String(number).padStart(6, "0")}1`;
      this.#asked.push({
        orderId: `order-${number}`,
        currency: "eth",
        amount,
        receiver,
        transactionId: "",
      });
    }
    const open = this.#asked.filter((one) => one.transactionId === "");
    await Promise.all(
      open.map(async (one) => {
        const answer = await shop.autoWithdraw(one);
        if (answer.status === 400 || answer.status === 422)
          throw new Error(`${one.orderId} was refused: ${answer.message}`);
        if (answer.transactionId !== "") one.transactionId = answer.transactionId;
      }),
    );
    const endAt = performance.now() + workMs;
    while (this.#process !== null && performance.now() < endAt) {
      if (this.#asked.every((one) => one.transactionId !== "") && this.agent.isDone) return true;
      // Refused or unanswered: the caller looks why.
      if (this.#asked.some((one) => one.transactionId === "")) break;
      await sleep(5);
    }
    await sleep(20); // An end that is under way is seen.
    return this.#process !== null;
  }

  async #recover(): Promise<void> {
    await until(
      "everything asked is done again",
      60_000,
      async () => {
        await this.up();
        if (!this.agent.isLinked) await this.agent.connect(this.folder.port);
        await this.#work(0);
        return this.agent.isDone && this.#asked.every((one) => one.transactionId !== "")
          ? true
          : undefined;
      },
      () => this.#process?.output().slice(-3000) ?? "",
    );
  }

  /** The files may grow by so many bytes and no more: a real short write, then a refusal. */
  async #shorten(bytes: number, count: number): Promise<boolean> {
    const running = await this.up();
    const log = `${this.folder.database}-wal`;
    await limitFiles(running.pid, String(statSync(log).size + bytes));
    const isAlive = (await this.#work(count)) && (await limitFiles(running.pid, "unlimited"));
    await this.#recover();
    return !isAlive;
  }

  /** The newest lines of the gateway's log that are no answered request. */
  #exitReason(): string {
    const lines = (this.#process?.output() ?? "")
      .split("\n")
      .filter((line) => !line.includes('"event":"request"'));
    return lines.slice(-20).join("\n");
  }

  /**
   * Every withdrawal Completed and paid once, every row that was acknowledged there; ends the
   * process.
   */
  async close(): Promise<readonly string[]> {
    await this.up();
    const shop = createShop({ gatewayUrl: this.folder.url, shopKey: this.folder.shopKey });
    for (const one of this.#asked) {
      await until(
        `${one.orderId} Completed`,
        workMs,
        async () => ((await shop.transaction(one.transactionId)).status === 1 ? true : undefined),
        () => this.#exitReason(),
      ).catch((error: unknown) =>
        this.#violations.push(error instanceof Error ? error.message : String(error)),
      );
    }
    this.agent.close();
    this.#process?.child.kill("SIGTERM");
    await this.#process?.ended;
    this.#judge();
    await this.#node.close();
    rmSync(this.#dir, { recursive: true, force: true });
    return [...this.#violations, ...this.agent.violations];
  }

  #judge(): void {
    const store = openStore(this.folder.database, pino({ level: "silent" }));
    try {
      const { database } = store;
      const wrong = database.get<{ integrity_check: string }>(
        "PRAGMA integrity_check",
      )?.integrity_check;
      if (wrong !== "ok") this.#violations.push(`the database is damaged: ${wrong}`);
      const jobs = database.all<{ transactionId: string }>(
        "SELECT transactionId FROM jobs ORDER BY sequence",
      );
      if (jobs.length !== this.#asked.length)
        this.#violations.push(`${jobs.length} jobs for ${this.#asked.length} orders`);
      for (const [transactionId, { nonce, txHash }] of this.agent.withdrawals) {
        const sql = "SELECT slot, txHash FROM signatures WHERE transactionId = ?";
        const row = database.get<{ slot: string; txHash: string }>(sql, transactionId);
        if (row?.slot !== String(nonce) || row.txHash !== txHash)
          this.#violations.push(`the acknowledged signature of ${transactionId} is not there`);
      }
      if (new Set(this.#asked.map((one) => one.transactionId)).size !== this.#asked.length)
        this.#violations.push("two orders share a transaction id");
    } finally {
      store.close();
    }
  }
}
