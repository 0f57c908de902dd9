/**
 * The stream `callbacks`: the real gateway process, killed and started again in a stream of
 * withdrawals and deposits that an agent, customers and a chain in this process carry to their end.
 * Three receivers of the shop: one that is well, one that dies, hangs, answers 500 and 429 by
 * turns, one that does so and answers 410 besides. The stock verifier judges every message.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { publicKeyFromHex } from "../../protocol/envelope.ts";
import { type Receiver, startReceiver } from "../kit/callback-receiver.ts";
import { type ChainNode, FakeChain, type FakeTransaction, serveChain } from "../kit/fake-chain.ts";
import { projectRoot } from "../kit/kit.ts";
import { run, type StartedProcess, until } from "../kit/processes.ts";
import { createShop } from "../kit/shop.ts";
import {
  Depositor,
  depositAmount,
  depositConfirmations,
  depositMinutes,
  type Ending,
  strayContract,
} from "./deposits-plan.ts";
import { StubAgent } from "./gateway-agent.ts";
import { askCopy, type GatewayFolder, makeGatewayFolder, startGateway } from "./gateway-folder.ts";
import { Killer } from "./killer.ts";
import { type Report, seeded } from "./tally.ts";

export interface CallbackFaults {
  readonly records: number;
  readonly kills: number;
  readonly seed: string;
  readonly untilExpired: boolean; // also deposits that end by time, a minute after they were asked for
  readonly say: (line: string) => void;
}

export interface CallbackReport extends Report {
  readonly records: number;
  readonly kills: number;
  readonly events: number;
  readonly types: Readonly<Record<string, number>>; // events by type
  readonly messages: number; // that the live receiver got, repeats included
  readonly repeats: number;
  readonly switchedOff: number; // times that a 410 did it
  readonly seconds: number;
}

type Mood = "well" | "dead" | "hung" | "500" | "429" | "410";
const moods: readonly Mood[] = ["well", "dead", "hung", "500", "well", "429", "410"];
const moodMs = 700;
const openAtOnce = 24;
const endMs = 300_000;
const lookMs = 100;
const turnMs = 300; // faults of the customers and their chain
/** Every third record is a deposit. */
const depositEvery = 3;
/** Among so many records each kind of deposit comes, and some of it while the gateway is up. */
const recordsWithAll = 60;
const paidOut: Ending = { last: "withdrawal.completed", status: 1, also: ["withdrawal.created"] };
const depositTypes = [
  "detected",
  "partial",
  "below_minimum",
  "completed",
  "overpaid",
  "reorged",
  "unattributed",
];
const timedTypes = ["expired", "late"];

/** A receiver whose mood a clock turns; dead means that nobody listens on its port. */
class MoodyReceiver {
  readonly #moods: readonly Mood[];
  #receiver: Receiver;
  #turn = 0;
  secret = "";

  constructor(receiver: Receiver, moodList: readonly Mood[]) {
    this.#receiver = receiver;
    this.#moods = moodList;
  }

  get url(): string {
    return this.#receiver.url;
  }

  get messages(): Receiver["received"] {
    return this.#receiver.received;
  }

  get refused(): readonly string[] {
    return this.#receiver.refused;
  }

  async turn(next?: Mood): Promise<void> {
    const mood = next ?? this.#moods[this.#turn++ % this.#moods.length] ?? "well";
    const old = this.#receiver;
    await old.close();
    if (mood === "dead") return;
    const port = Number(new URL(old.url).port);
    const reborn = await startReceiver(port, old);
    reborn.secret = this.secret;
    reborn.answer = (response) => {
      if (mood === "hung") return;
      const status = mood === "well" ? 204 : Number(mood);
      response.writeHead(status, mood === "429" ? { "Retry-After": "1" } : {}).end();
    };
    this.#receiver = reborn;
  }

  close(): Promise<void> {
    return this.#receiver.close();
  }
}

interface Target {
  readonly id: string;
  readonly receiver: MoodyReceiver;
}

interface EventRow {
  readonly id: string;
  readonly type: string;
  readonly transactionId: string;
  readonly sequence: number;
}

export class CallbacksWorld {
  readonly #faults: CallbackFaults;
  readonly #dir: string;
  readonly #folder: GatewayFolder;
  readonly #node: ChainNode;
  readonly #agent: StubAgent;
  readonly #violations: string[] = [];
  readonly #payments: FakeTransaction[] = []; // transactions of the agent, for the next block
  #gateway: StartedProcess | null = null;
  #switchedOff = 0;

  private constructor(faults: CallbackFaults, dir: string, folder: GatewayFolder, node: ChainNode) {
    this.#faults = faults;
    this.#dir = dir;
    this.#folder = folder;
    this.#node = node;
    this.#agent = new StubAgent(folder.agent, publicKeyFromHex(folder.key.publicKey), (payment) =>
      this.#payments.push(payment),
    );
    node.chain = this.#agent.chain;
  }

  static async create(faults: CallbackFaults): Promise<CallbacksWorld> {
    const dir = mkdtempSync(join(tmpdir(), "autowithdraw-callbacks-"));
    const node = await serveChain(new FakeChain());
    const folder = await makeGatewayFolder(join(dir, "gateway"), node.url);
    const config = JSON.parse(readFileSync(folder.configPath, "utf8")) as {
      chains: { local: object };
      currencies: { eth: object };
    };
    // so that payments are seen before they are final
    const chains = { local: { ...config.chains.local, confirmations: depositConfirmations } };
    const stray = {
      ...config.currencies.eth,
      decimal: 6,
      name: "Stray",
      symbol: "STRAY",
      contract: strayContract,
    };
    const currencies = { ...config.currencies, stray };
    const callbacks = {
      allowPrivate: true,
      retrySeconds: Array.from({ length: 32 }, () => 1),
      timeoutSeconds: 1,
    };
    writeFileSync(
      folder.configPath,
      JSON.stringify({ ...config, chains, currencies, callbacks, lifetimes: { depositMinutes } }),
    );
    return new CallbacksWorld(faults, dir, folder, node);
  }

  #callbacks(...args: string[]): Promise<{ readonly code: number | null; readonly text: string }> {
    return this.#command("callbacks", ...args);
  }

  async #command(
    ...args: string[]
  ): Promise<{ readonly code: number | null; readonly text: string }> {
    const program = join(projectRoot, "gateway", "gateway.js");
    const all = [program, ...args, "--json", "--config", this.#folder.configPath];
    const { code, output } = await run(process.execPath, all, {
      logFile: join(this.#dir, "commands.log"),
    });
    return { code, text: output.slice(output.indexOf("{")) };
  }

  async #target(merchant: string, moodList: readonly Mood[]): Promise<Target> {
    const receiver = new MoodyReceiver(await startReceiver(), moodList);
    const { text } = await this.#callbacks("add", "--merchant", merchant, "--url", receiver.url);
    const added = JSON.parse(text) as { callbackId: string; secret: string };
    receiver.secret = added.secret;
    await receiver.turn("well");
    return { id: added.callbackId, receiver };
  }

  async #up(): Promise<void> {
    this.#gateway = await startGateway(this.#folder);
    await this.#agent.connect(this.#folder.port).catch(() => undefined);
  }

  /** Orders one record, again and again until it is answered. */
  async #order(
    number: number,
    depositor: Depositor,
  ): Promise<readonly [id: string, ending: Ending]> {
    const shop = createShop({ gatewayUrl: this.#folder.url, shopKey: this.#folder.shopKey });
    const orderId = `order-${number}`;
    const receiver = `0x${number.toString(16).padStart(40, "5")}`;
    for (;;) {
      if (number % depositEvery === 0) {
        const made = await shop.deposit("eth", depositAmount, orderId).catch(() => null);
        if (made !== null)
          return [
            made.transactionId,
            depositor.take(made.transactionId, made.address, number / depositEvery),
          ];
      } else {
        const answer = await shop.autoWithdraw({
          orderId,
          currency: "eth",
          amount: "0.001",
          receiver,
        });
        if (answer.transactionId !== "") return [answer.transactionId, paidOut];
        // balances are not read yet after a start
        if (answer.status === 400 || answer.status === 422) await sleep(200);
      }
      await sleep(20);
    }
  }

  async play(): Promise<CallbackReport> {
    const { records, kills, seed, say } = this.#faults;
    const startedAt = performance.now();
    const [{ id: merchant } = { id: "" }] = askCopy<{ id: string }>(
      this.#folder.database,
      "SELECT id FROM merchants",
    );
    const live = await this.#target(merchant, ["well"]);
    const moody = await this.#target(merchant, moods.slice(0, -1));
    const leaving = await this.#target(merchant, moods);
    await this.#up();
    // The chain's blocks tell no real time: a gateway without a place of its own in it would begin
    // at the newest final block, and not before the oldest request.
    const isPlaced = async (): Promise<true | undefined> =>
      askCopy(this.#folder.database, "SELECT 1 FROM cursors").length > 0 ? true : undefined;
    await until("the gateway's place in the chain", endMs, isPlaced);
    let isWorking = true;
    let isOpen = true;
    const ids = new Map<string, Ending>();
    const depositor = new Depositor(
      this.#agent.chain,
      () => live.receiver.messages,
      this.#faults.untilExpired,
    );
    const turning = this.#turn([moody, leaving], () => isWorking);
    const paying = setInterval(() => depositor.turn(this.#payments), turnMs).unref();
    const crediting = this.#credit(depositor, () => isOpen);
    const ordering = this.#orderAll(records, ids, depositor);
    const strike = async (): Promise<void> => {
      while (depositor.isAwaiting) await sleep(lookMs);
      this.#gateway?.child.kill("SIGKILL");
      await this.#gateway?.ended;
      await this.#up();
      say(`a kill at ${ids.size} records, ${live.receiver.messages.length} messages`);
    };
    const killer = new Killer([{ name: "gateway", tickets: 1, strike }], seeded(seed), kills);
    // A record has two events at least: half of the way are the orders.
    await killer.play(
      () => (ids.size + Math.min(live.receiver.messages.length / 2, records)) / (2 * records),
    );
    await ordering;
    isWorking = false;
    await turning;
    for (const { receiver } of [moody, leaving]) await receiver.turn("well");
    await this.#allTold(ids, [live, moody], depositor);
    clearInterval(paying);
    isOpen = false;
    await crediting;
    const report = this.#judge(ids, live, moody, (performance.now() - startedAt) / 1000);
    this.#agent.close();
    this.#gateway?.child.kill("SIGTERM");
    await this.#gateway?.ended;
    for (const { receiver } of [live, moody, leaving]) await receiver.close();
    await this.#node.close();
    rmSync(this.#dir, { recursive: true, force: true });
    return report;
  }

  async #orderAll(records: number, ids: Map<string, Ending>, depositor: Depositor): Promise<void> {
    let next = 1;
    const worker = async (): Promise<void> => {
      while (next <= records) {
        const number = next;
        next += 1;
        ids.set(...(await this.#order(number, depositor)));
      }
    };
    await Promise.all(Array.from({ length: openAtOnce }, worker));
  }

  /** Turns the moods, keeps the agent linked, and switches on again what a 410 switched off. */
  async #turn(targets: readonly Target[], goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      for (const { receiver } of targets) await receiver.turn();
      await sleep(moodMs);
      for (const { id, receiver } of targets) {
        const off = askCopy(
          this.#folder.database,
          `SELECT 1 FROM callbackTargets WHERE id = '${id}' AND offAt IS NOT NULL`,
        );
        if (off.length === 0) continue;
        this.#switchedOff += 1;
        await receiver.turn("well");
        const { code, text } = await this.#callbacks("test", id);
        // The database may be held by a gateway that starts at this moment: the next round tries
        // again.
        if (code !== 0) appendFileSync(join(this.#dir, "commands.log"), `${code} ${text}\n`);
      }
    }
  }

  /** Credits what came late, again and again until the command is well. */
  async #credit(depositor: Depositor, goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      await sleep(moodMs);
      for (const id of depositor.late) {
        const { code, text } = await this.#command(
          "deposits",
          "credit",
          id,
          "--reason",
          "it came late",
        );
        if (code === 0) depositor.credited(id);
        else appendFileSync(join(this.#dir, "commands.log"), `${code} ${text}\n`);
      }
    }
  }

  async #allTold(
    ids: ReadonlyMap<string, Ending>,
    targets: readonly Target[],
    depositor: Depositor,
  ): Promise<void> {
    const waiting = `SELECT 1 FROM callbackDeliveries WHERE state = 'waiting' LIMIT 1`;
    const open =
      "SELECT 1 FROM deposits WHERE status = 0 UNION ALL SELECT 1 FROM transfers WHERE status = 0 UNION ALL SELECT 1 FROM callbackChanges LIMIT 1";
    const isOver = async (): Promise<true | undefined> => {
      if (!this.#agent.isLinked)
        await this.#agent.connect(this.#folder.port).catch(() => undefined);
      await sleep(300);
      if (!depositor.isDone || askCopy(this.#folder.database, open).length > 0) return undefined;
      return askCopy(this.#folder.database, waiting).length === 0 ? true : undefined;
    };
    const context = (): string =>
      `${ids.size} records; messages ${targets.map(({ receiver }) => receiver.messages.length).join(", ")}; ${this.#gateway?.output().slice(-1500)}`;
    await until("everything told", endMs, isOver, context).catch((error: unknown) =>
      this.#violations.push(String(error)),
    );
  }

  #judge(
    ids: ReadonlyMap<string, Ending>,
    live: Target,
    moody: Target,
    seconds: number,
  ): CallbackReport {
    const { records, kills } = this.#faults;
    const sql =
      "SELECT id, type, transactionId, sequence FROM callbackEvents WHERE transactionId IS NOT NULL";
    const events = askCopy<EventRow>(this.#folder.database, sql);
    if (ids.size !== records) this.#violations.push(`${ids.size} of ${records} records were made`);
    for (const { receiver } of [live, moody]) {
      const got = new Set(receiver.messages.map(({ id }) => id));
      const missing = events.filter(({ id }) => !got.has(id));
      if (missing.length > 0)
        this.#violations.push(
          `${missing.length} events never arrived, the first ${missing[0]?.type}`,
        );
      for (const line of receiver.refused)
        this.#violations.push(`the stock verifier refused ${line}`);
      this.#judgeOrder(ids, receiver.messages);
    }
    const messages = live.receiver.messages.length;
    const types: Record<string, number> = {};
    for (const { type } of events) types[type] = (types[type] ?? 0) + 1;
    if (records >= recordsWithAll)
      for (const name of this.#faults.untilExpired
        ? [...depositTypes, ...timedTypes]
        : depositTypes)
        if (types[`deposit.${name}`] === undefined)
          this.#violations.push(`no deposit.${name} was ever told`);
    const repeats = messages - events.length;
    const lines = Object.entries(types).map(([type, count]) => `${type}: ${count}`);
    lines.push(
      `${ids.size} records, ${kills} kills: ${events.length} events, ${messages} messages of which ${repeats} repeats; ` +
        `${this.#switchedOff} times switched off by 410 and on again; ${Math.round(seconds)} s`,
    );
    return {
      ...{ records: ids.size, kills, events: events.length, types, messages, repeats, lines },
      ...{ switchedOff: this.#switchedOff, seconds: Math.round(seconds) },
      violations: [...this.#violations, ...this.#agent.violations],
    };
  }

  /**
   * A receiver that keeps a record's newest sequence knows the record's end, and no event on its
   * way is missing.
   */
  #judgeOrder(endings: ReadonlyMap<string, Ending>, messages: Receiver["received"]): void {
    const types = new Map<string, Set<string>>();
    const newest = new Map<string, Receiver["received"][number]>();
    for (const message of messages) {
      const id = String(message.data.transactionId);
      types.set(id, (types.get(id) ?? new Set()).add(message.type));
      const known = newest.get(id);
      if (known === undefined || message.sequence > known.sequence) newest.set(id, message);
      if (known?.sequence === message.sequence && known.id !== message.id)
        this.#violations.push(`two events of ${id} have sequence ${message.sequence}`);
    }
    for (const [id, ending] of endings) {
      const last = newest.get(id);
      if (last?.type !== ending.last || last.data.status !== ending.status)
        this.#violations.push(
          `the newest event of ${id} is ${last?.type}, status ${String(last?.data.status)}, not ${ending.last}`,
        );
      for (const type of ending.also)
        if (types.get(id)?.has(type) !== true) this.#violations.push(`${id} has no ${type}`);
    }
  }
}
