/**
 * The stream `gateways`: two gateway processes on one PostgreSQL behind one address, with an agent,
 * a chain, a shop and its customers. Under a steady flow the active gateway is killed and frozen,
 * the database's primary is lost ahead of its standby, and a base backup is restored. The chain and
 * what the shop was told judge at the end.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Receiver, startReceiver } from "../../kit/callback-receiver.ts";
import { type Kit, startKit } from "../../kit/kit.ts";
import { type StartedProcess, until } from "../../kit/processes.ts";
import { RestoredOperator } from "../restored/operator.ts";
import type { Report } from "../tally.ts";
import { beginAudit, countLateWrites, emptyAudit, findWriter, readToken } from "./audit.ts";
import {
  judgedBooks,
  type LostCommits,
  readHeld,
  readPayments,
  type ToldEvent,
  unitsOf,
} from "./judge.ts";
import { GatewayPair } from "./pair.ts";
import { type GatewayCounts, type GatewayEvent, planOf, wordsOf } from "./plan.ts";
import { type BookedWithdrawal, GatewayShop } from "./shop.ts";

export interface GatewayFaults extends GatewayCounts {
  readonly freezeMsMax: number;
  readonly seed: string;
  readonly say: (line: string) => void;
}

/** Seconds without service, by their kind. */
export interface Gaps {
  readonly count: number;
  readonly median: number;
  readonly most: number;
}

export interface GatewayReport extends Report, GatewayCounts {
  readonly withdrawals: number;
  readonly deposits: number;
  readonly messages: number;
  readonly refusals: number;
  readonly leasesLost: number; // by freezes
  readonly refusedStatements: number; // statements of woken holders that the server refused
  readonly lostCommits: Gaps;
  readonly takeovers: Gaps; // from a kill, or a freeze that lost the lease, to the next order
  readonly failoverSeconds: Gaps; // from the promotion to the next order
  readonly restoreSeconds: Gaps; // from the gateways' start to the next order
  readonly repeated: number; // orders that the shop sent again after lost commits
  readonly waited: number; // orders that waited for a person
  readonly credits: number; // payments that a person credited to their order
  readonly seconds: number;
}

/** docs/scale.md, section 4: a lease runs out after 10 to 15 seconds; the rest is the machine's. */
const takeoverSecondsMax = 20;
const leaseMs = 10_000;
const readyMs = 120_000;
const wokenMs = 30_000;
const commitsMs = 60_000;
const ordersMs = 120_000;
const toldMs = 180_000;
const finalMs = 4_000;
const callbackTries = 32;
const ether = 10n ** 18n;

function gapsOf(values: readonly number[]): Gaps {
  const sorted = [...values].sort((a, b) => a - b);
  const round = (value: number | undefined): number => Math.round((value ?? 0) * 10) / 10;
  return {
    count: sorted.length,
    median: round(sorted[Math.floor(sorted.length / 2)]),
    most: round(sorted.at(-1)),
  };
}

interface UnattributedPayment {
  readonly payment: string;
  readonly address: string;
}

interface WorldParts {
  readonly faults: GatewayFaults;
  readonly pair: GatewayPair;
  readonly kit: Kit;
  readonly receiver: Receiver;
}

class GatewaysWorld {
  readonly #faults: GatewayFaults;
  readonly #pair: GatewayPair;
  readonly #kit: Kit;
  readonly #receiver: Receiver;
  readonly #shop: GatewayShop;
  readonly #operator: RestoredOperator;
  readonly #violations: string[] = [];
  readonly #losses: LostCommits[] = [];
  readonly #sums = { leasesLost: 0, refusedStatements: 0, repeated: 0, credits: 0 };
  readonly #lost: number[] = [];
  readonly #takeovers: number[] = [];
  readonly #failovers: number[] = [];
  readonly #restores: number[] = [];

  constructor({ faults, pair, kit, receiver }: WorldParts, agent: string) {
    this.#faults = faults;
    this.#pair = pair;
    this.#kit = kit;
    this.#receiver = receiver;
    this.#shop = new GatewayShop(kit, faults.seed);
    this.#operator = new RestoredOperator(kit, agent, finalMs, (line) => faults.say(`  ${line}`));
  }

  async play(): Promise<GatewayReport> {
    const { seed, freezeMsMax, say, ...counts } = this.#faults;
    const begunAt = performance.now();
    const first = await this.#shop.client.events();
    if (!first.ok) throw new Error(`the first question for events: ${first.code}`);
    if (counts.failovers > 0) this.#pair.places.replica();
    this.#shop.begin();
    const plan = planOf(seed, counts, freezeMsMax);
    const isPlayed = await this.#attempt(async () => {
      for (const [at, event] of plan.entries()) {
        await this.#pair.active();
        await sleep(event.pauseMs);
        say(`${at + 1} of ${plan.length}: ${wordsOf(event)}`);
        await this.#strike(event);
      }
      await this.#pair.active();
    });
    await this.#attempt(() => this.#shop.end());
    if (isPlayed) await this.#attempt(() => this.#finish());
    const { lines, ...figures } = await this.#judge(first.value.next, begunAt);
    return { ...counts, ...figures, lines };
  }

  /** An error ends a part of the run, which is judged all the same; false after one. */
  async #attempt(part: () => Promise<void>): Promise<boolean> {
    try {
      await part();
      return true;
    } catch (error) {
      this.#violations.push(`the run broke off: ${String(error)}`);
      return false;
    }
  }

  #strike(event: GatewayEvent): Promise<void> {
    if (event.kind === "kill") return this.#kill();
    if (event.kind === "freeze") return this.#freeze(event.frozenMs);
    if (event.kind === "failover") return this.#failOver(event.commits, event.toolMs);
    return this.#restore(event.orders);
  }

  /** Seconds from a moment until an order that is asked for now is taken. */
  async #untilTaken(sinceMs: number): Promise<number> {
    await this.#shop.take();
    return (performance.now() - sinceMs) / 1_000;
  }

  async #kill(): Promise<void> {
    const active = await this.#pair.active();
    const atMs = performance.now();
    active.child.kill("SIGKILL");
    this.#noteTakeover("a kill", await this.#untilTaken(atMs));
  }

  #noteTakeover(what: string, seconds: number): void {
    this.#takeovers.push(seconds);
    this.#faults.say(`  an order was taken ${seconds.toFixed(1)} s later`);
    if (seconds > takeoverSecondsMax)
      this.#violations.push(
        `${what}: ${seconds.toFixed(1)} s until an order was taken, at most ${takeoverSecondsMax}`,
      );
  }

  /** A holder that lost its lease ends when it wakes, and none of its rows is of a later time. */
  async #freeze(frozenMs: number): Promise<void> {
    const { places } = this.#pair;
    const active = await this.#pair.active();
    const token = readToken(places);
    const writer = findWriter(places, token);
    const atMs = performance.now();
    active.child.kill("SIGSTOP");
    const taking = this.#untilTaken(atMs);
    await sleep(frozenMs);
    const tokenAtEnd = readToken(places);
    active.child.kill("SIGCONT");
    await this.#judgeWoken(active, token);
    const seconds = await taking;
    const isLost = readToken(places) > token;
    if (tokenAtEnd > token) this.#noteTakeover(`a freeze of ${frozenMs} ms`, seconds);
    else if (frozenMs > leaseMs + takeoverSecondsMax * 1_000)
      this.#violations.push(`frozen for ${frozenMs} ms, and nobody took the lease`);
    if (isLost) this.#sums.leasesLost += 1;
    if (isLost && writer !== null) {
      const late = countLateWrites(places, writer, token);
      if (late > 0)
        this.#violations.push(`a holder that lost lease ${token} left rows by ${late} statements`);
      this.#sums.refusedStatements += places.countRefusals(writer);
    }
    emptyAudit(places);
  }

  /** Waits until the holder has ended or works on, and judges which of both it may. */
  async #judgeWoken({ pid }: StartedProcess, token: number): Promise<void> {
    const { places } = this.#pair;
    const wokeAt = performance.now();
    const look = async (): Promise<true | undefined> => {
      if (this.#pair.endOf(pid) !== undefined) return true;
      return readToken(places) === token && performance.now() - wokeAt > leaseMs / 2
        ? true
        : undefined;
    };
    const words = "a holder that lost its lease ends";
    await until(words, wokenMs, look).catch((error: unknown) =>
      this.#violations.push(String(error)),
    );
    const end = this.#pair.endOf(pid);
    if (end !== undefined && end.code !== 1)
      this.#violations.push(`a holder that woke ended with ${end.code}, not with 1: ${end.words}`);
  }

  async #failOver(commits: number, toolMs: number): Promise<void> {
    const { places } = this.#pair;
    const replica = places.replica();
    await until("a standby of PostgreSQL that has all", readyMs, async () => {
      const [row] = places.ask(
        "SELECT count(*) AS level FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()",
      );
      return Number(row?.level) === 1 ? true : undefined;
    });
    const fromMs = performance.now();
    replica.cutOff();
    const first = places.countTransactions();
    let behind = 0;
    await until(`${commits} commits`, commitsMs, async () => {
      behind = places.countTransactions() - first;
      return behind >= commits ? true : undefined;
    }).catch(() => this.#faults.say(`  only ${behind} commits came`));
    places.primary.kill();
    this.#losses.push({ fromMs, untilMs: performance.now() });
    this.#lost.push(behind);
    await sleep(toolMs);
    places.promote();
    const seconds = await this.#untilTaken(performance.now());
    this.#failovers.push(seconds);
    this.#faults.say(`  ${behind} commits lost; an order was taken ${seconds.toFixed(1)} s later`);
    await this.#afterLoss(fromMs);
    places.replica();
  }

  async #restore(orders: number): Promise<void> {
    const { places } = this.#pair;
    const fromMs = performance.now();
    const backup = places.primary.takeBackup();
    const before = this.#shop.answered;
    await until(`${orders} orders after the backup`, ordersMs, async () =>
      this.#shop.answered - before >= orders ? true : undefined,
    );
    await this.#pair.stop();
    places.primary.kill();
    const restored = backup.restore();
    this.#losses.push({ fromMs, untilMs: performance.now() });
    places.clear();
    places.put(restored);
    if (this.#faults.failovers > 0) places.replica();
    const startedAt = performance.now();
    this.#pair.start();
    const seconds = await this.#untilTaken(startedAt);
    this.#restores.push(seconds);
    this.#faults.say(`  an order was taken ${seconds.toFixed(1)} s after the start`);
    await this.#afterLoss(fromMs);
  }

  /** The shop sends again what may be lost; people do what the product's pages and lines say. */
  async #afterLoss(fromMs: number): Promise<void> {
    emptyAudit(this.#pair.places);
    this.#sums.repeated += await this.#shop.repeatSince(fromMs);
    await this.#settle();
  }

  #settle(): Promise<void> {
    return this.#shop.settle(async (waiting) => {
      await this.#help(waiting);
      await this.#creditForgotten();
    });
  }

  async #help(waiting: readonly BookedWithdrawal[]): Promise<void> {
    const held = new Set<string>();
    for (const order of waiting)
      if ((await this.#shop.note(order)) === "awaiting_operator") held.add(order.transactionId);
    const status = await this.#operator.status();
    if (held.size === 0 && status.locked === "" && status.recovery === "") return;
    for (const order of waiting)
      if (held.has(order.transactionId))
        order.before = await this.#operator.attemptsOf(order.transactionId).catch(() => []);
    const { anvil, hotWalletAddress } = this.#kit;
    const payments = await readPayments(anvil.url, hotWalletAddress);
    const paid = new Set(payments.map(({ txHash }) => txHash));
    await this.#operator.look(waiting, { held, paid });
  }

  /** docs/recovering.md, section 2: a payment to an address that the database has forgotten. */
  async #creditForgotten(): Promise<void> {
    const said = await this.#kit.operate("deposits", "unattributed", "--json");
    const list = JSON.parse(said.slice(said.indexOf("["))) as readonly UnattributedPayment[];
    for (const { payment, address } of list) {
      const deposit = this.#shop.deposits.find(({ addresses }) => addresses.includes(address));
      if (deposit === undefined) continue;
      const why = ["--payment", payment, "--reason", "paid to the address of the same order"];
      const id = deposit.ids.at(-1) ?? "";
      this.#faults.say(`  autowithdraw-gateway deposits credit ${id} --payment ${payment}`);
      await this.#kit
        .operate("deposits", "credit", id, ...why)
        .then(() => {
          this.#sums.credits += 1;
        })
        .catch((error: unknown) => this.#faults.say(`  ${String(error).split("\n")[1]}`));
    }
  }

  /** Every record is asked for once more, and every event is delivered. */
  async #finish(): Promise<void> {
    await this.#settle();
    for (const one of [...this.#shop.withdrawals, ...this.#shop.deposits]) one.status = 0;
    await this.#settle();
  }

  async #listEvents(after: string): Promise<readonly ToldEvent[]> {
    const events: ToldEvent[] = [];
    for (let next = after; ; ) {
      const page = await this.#shop.client.events({ after: next, limit: 500 });
      if (!page.ok) throw new Error(`events after ${next}: ${page.code}`);
      for (const { id, type, data, sequence } of page.value.events)
        events.push({ id, type, sequence, transactionId: data.transactionId ?? "", atMs: 0 });
      if (page.value.events.length === 0) return events;
      next = page.value.next;
    }
  }

  get #messages(): readonly ToldEvent[] {
    return this.#receiver.received.map(({ id, type, data, sequence, atMs }) => ({
      ...{ id, type, sequence, atMs },
      transactionId: String(data.transactionId),
    }));
  }

  async #judge(firstEvent: string, begunAt: number) {
    const { withdrawals, deposits, refusals, violations } = this.#shop;
    const listed = await until("every event at the shop", toldMs, async () => {
      const all = await this.#listEvents(firstEvent);
      const got = new Set(this.#receiver.received.map(({ id }) => id));
      return all.every(({ id }) => got.has(id)) ? all : undefined;
    }).catch(() => this.#listEvents(firstEvent));
    const { anvil, hotWalletAddress } = this.#kit;
    const balance = await this.#shop.client.balance("usdt");
    const judged = judgedBooks({
      ...{ withdrawals, deposits, listed, messages: this.#messages, losses: this.#losses },
      payments: await readPayments(anvil.url, hotWalletAddress),
      held: await readHeld(
        anvil.url,
        withdrawals.map(({ receiver }) => receiver),
      ),
      credited: balance.ok ? unitsOf(balance.value.total ?? "") : -1n,
    });
    const { code, output } = await this.#kit.cli("verify", "--json");
    const ledger = code === 0 ? [] : [`the ledger does not verify: ${output.trim()}`];
    const refused = this.#receiver.refused.map((line) => `the stock verifier refused ${line}`);
    const figures = {
      ...{ withdrawals: withdrawals.length, deposits: deposits.length, refusals },
      ...{ messages: this.#receiver.received.length, ...this.#sums },
      lostCommits: gapsOf(this.#lost),
      takeovers: gapsOf(this.#takeovers),
      failoverSeconds: gapsOf(this.#failovers),
      restoreSeconds: gapsOf(this.#restores),
      waited: this.#operator.waited.size,
      seconds: Math.round((performance.now() - begunAt) / 1_000),
    };
    return {
      ...figures,
      lines: linesOf({ ...this.#faults, ...figures }),
      violations: [
        ...new Set([...this.#violations, ...violations, ...this.#operator.violations]),
        ...[...this.#pair.bugs, ...ledger, ...refused, ...judged],
      ],
    };
  }
}

type Figures = Omit<GatewayReport, "lines" | "violations">;

function linesOf(figures: Figures): readonly string[] {
  const words = ({ count, median, most }: Gaps): string =>
    count === 0 ? "none" : `median ${median} s, at most ${most} s`;
  const { kills, freezes, failovers, restores, lostCommits } = figures;
  return [
    `${kills} kills, ${freezes} freezes of which ${figures.leasesLost} lost the lease; ${figures.refusedStatements} statements of woken holders were refused`,
    `without service after a kill or a lost lease: ${words(figures.takeovers)}`,
    `${failovers} failovers, ${lostCommits.median} commits lost at the median and ${lostCommits.most} at most; from the promotion to an order: ${words(figures.failoverSeconds)}`,
    `${restores} restores; from the start to an order: ${words(figures.restoreSeconds)}`,
    `${figures.withdrawals} withdrawals and ${figures.deposits} deposits, ${figures.refusals} answers that were no, ${figures.repeated} orders sent again after lost commits, ${figures.waited} waited for a person, ${figures.credits} payments credited by one; ${figures.messages} messages; ${figures.seconds} s`,
  ];
}

/** Plays one run; what it started is gone afterwards. */
export async function playGateways(faults: GatewayFaults): Promise<GatewayReport> {
  const pair = await GatewayPair.open();
  const closes: (() => Promise<void>)[] = [() => pair.close()];
  try {
    const kit = await startKit({
      inProcess: true,
      blockTimeMs: 500,
      readyMs,
      settings: {
        ...pair.settings,
        callbacks: { allowPrivate: true, retrySeconds: Array(callbackTries).fill(1) },
      },
      alsoServes: async (_, contract) => ({
        chains: {},
        currencies: { usdt: { ...depositCurrency, contract } },
      }),
    });
    closes.unshift(() => kit.close());
    pair.join(kit);
    beginAudit(pair.places);
    const receiver = await startReceiver();
    closes.unshift(() => receiver.close());
    const agent = await startAll(kit, pair, receiver);
    return await new GatewaysWorld({ faults, pair, kit, receiver }, agent).play();
  } finally {
    for (const close of closes) await close();
  }
}

/** Nothing is swept: a customer's payment stays where the judge counts it. */
const depositCurrency = {
  ...{ chain: "local", decimal: 6, name: "Tether USD", symbol: "USDT", minPaymentAmount: "1" },
  ...{ minWithdrawAmount: "0.01", sweep: { automatic: false } },
};

async function startAll(kit: Kit, pair: GatewayPair, receiver: Receiver): Promise<string> {
  const url = ["--url", receiver.url, "--json"];
  const added = await kit.operate("callbacks", "add", "--merchant", kit.merchantId, ...url);
  receiver.secret = (JSON.parse(added.slice(added.indexOf("{"))) as { secret: string }).secret;
  pair.start();
  await pair.active();
  // The balancer may still lead to the standby, and then the answer says: run pair again.
  await until("a paired agent", readyMs, async () => {
    const { code, output } = await kit.pair();
    if (code !== 0) throw new Error(`pair.js ended with ${code}:\n${output}`);
    return true;
  });
  await kit.fund(100n * ether, 0n);
  await kit.startCrypto();
  const [{ agentId = "" } = {}] = JSON.parse(await kit.operate("agents", "--json")) as {
    agentId?: string;
  }[];
  return agentId;
}
