/**
 * The shop, its customers and its books in the stream `gateways`: a steady flow of withdrawals and
 * deposit requests. An order without an answer is sent again under its orderId, as the interface
 * says. The books hold what the shop was told, and nothing of the database.
 */
import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { getAddress } from "ethers";
import { type Client, createClient } from "../../../clients/typescript/client.ts";
import type { Failure } from "../../../clients/typescript/failures.ts";
import type { Kit } from "../../kit/kit.ts";
import { until } from "../../kit/processes.ts";
import { sendUnlocked, tokenCall } from "../../kit/rpc.ts";
import type { RestoredOrder } from "../restored/judge.ts";
import { type Random, seeded } from "../tally.ts";

/** A withdrawal in the shop's books. */
export interface BookedWithdrawal extends RestoredOrder {
  readonly amount: string;
  readonly ids: string[]; // every transactionId that an answer named, the newest last
  answeredAtMs: number; // monotonic; the first answer
  code: string;
}

/** A deposit request in the shop's books. */
export interface BookedDeposit {
  readonly orderId: string;
  readonly units: bigint;
  readonly ids: string[];
  readonly addresses: string[]; // every address that an answer named
  answeredAtMs: number;
  paidTo: string; // the address that the customer was shown; "" while nothing was paid
  status: number;
  received: string;
}

const workers = 2;
const gapMs = 700; // mean pause of a worker between two orders
const againMs = 250;
const answerMs = 180_000;
const endMs = 300_000;
const lookMs = 500;
const depositShare = 0.3;
const customerMsMax = 4_000;
const tokenDecimals = 6;
const atOnce = 8;

const textOf = (units: bigint, decimals: number): string => {
  const digits = units.toString().padStart(decimals + 1, "0");
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, "");
};

/** True if the record's end is known. */
const hasEnded = ({ status }: { readonly status: number }): boolean => status !== 0;

export class GatewayShop {
  readonly withdrawals: BookedWithdrawal[] = [];
  readonly deposits: BookedDeposit[] = [];
  /** Answers and absences that may not be. */
  readonly violations: string[] = [];
  readonly #kit: Kit;
  readonly #client: Client;
  readonly #seed: string;
  readonly #random: Random;
  readonly #customers: Promise<void>[] = [];
  #flow: Promise<void> = Promise.resolve();
  #isOpen = false;
  #count = 0;
  refusals = 0;

  constructor(kit: Kit, seed: string) {
    this.#kit = kit;
    this.#seed = seed;
    this.#random = seeded(`${seed}/shop`);
    this.#client = createClient({
      baseUrl: kit.gatewayUrl,
      key: { apiKey: kit.shopKey },
      language: "en",
    });
  }

  get client(): Client {
    return this.#client;
  }

  /** Orders that were answered so far. */
  get answered(): number {
    return [...this.withdrawals, ...this.deposits].filter(({ ids }) => ids.length > 0).length;
  }

  begin(): void {
    this.#isOpen = true;
    this.#flow = Promise.all(Array.from({ length: workers }, () => this.#work())).then(() => {});
  }

  /** Ends the flow, once each order of it has its answer and each customer has paid. */
  async end(): Promise<void> {
    this.#isOpen = false;
    await this.#flow;
    await Promise.all(this.#customers);
  }

  async #work(): Promise<void> {
    while (this.#isOpen) {
      if (this.#random() < depositShare) await this.#askDeposit();
      else await this.take();
      await sleep(2 * gapMs * this.#random());
    }
  }

  /** Orders one withdrawal, again and again until it is taken. */
  async take(): Promise<void> {
    this.#count += 1;
    const number = this.#count;
    const digest = createHash("sha256").update(`${this.#seed}/receiver/${number}`).digest("hex");
    const units = 10n ** 12n + BigInt(number) * 10n ** 6n;
    const order: BookedWithdrawal = {
      ...{ orderId: `out-${number}`, receiver: getAddress(`0x${digest.slice(0, 40)}`), units },
      ...{ amount: textOf(units, 18), ids: [], answeredAtMs: 0, code: "" },
      ...{ transactionId: "", status: 0, txHash: "", before: [] },
    };
    this.withdrawals.push(order);
    await this.#post(order);
  }

  async #post(order: BookedWithdrawal): Promise<void> {
    const { orderId, amount, receiver } = order;
    const ask = () =>
      this.#client.autoWithdraw({ currency: "eth", amount, orderId, address: receiver });
    const { transactionId } = await this.#untilTaken(orderId, ask);
    note(order, transactionId);
    order.transactionId = transactionId;
  }

  async #askDeposit(): Promise<void> {
    this.#count += 1;
    const number = this.#count;
    const deposit: BookedDeposit = {
      ...{ orderId: `in-${number}`, units: 2_000_000n + BigInt(number), ids: [], addresses: [] },
      ...{ answeredAtMs: 0, paidTo: "", status: 0, received: "" },
    };
    this.deposits.push(deposit);
    await this.#postDeposit(deposit);
    const shown = deposit.addresses[0] ?? "";
    const paying = this.#pay(deposit, shown, customerMsMax * this.#random());
    // A payment that fails is named at the end, by its request.
    this.#customers.push(paying.catch(() => {}));
  }

  async #postDeposit(deposit: BookedDeposit): Promise<void> {
    const amount = textOf(deposit.units, tokenDecimals);
    const { orderId } = deposit;
    const ask = () => this.#client.createTransactionRequest({ currency: "usdt", amount, orderId });
    const { transactionId, address } = await this.#untilTaken(orderId, ask);
    note(deposit, transactionId);
    if (!deposit.addresses.includes(address)) deposit.addresses.push(address);
  }

  /** The customer pays to the address that was shown, whatever is known of it by then. */
  async #pay(deposit: BookedDeposit, to: string, afterMs: number): Promise<void> {
    await sleep(afterMs);
    const data = tokenCall("mint", to, deposit.units);
    const { anvil, token } = this.#kit;
    await sendUnlocked(anvil.url, { to: token, data, gas: "0x30d40" });
    deposit.paidTo = to;
  }

  async #untilTaken<T>(
    orderId: string,
    ask: () => Promise<{ readonly ok: true; readonly value: T } | Failure>,
  ): Promise<T> {
    let last = "";
    const look = async (): Promise<T | undefined> => {
      const result = await ask();
      if (result.ok) return result.value;
      const { status, code, message, retry } = result;
      last = `${status} ${code} ${message}`;
      this.refusals += 1;
      if (retry === "never" || retry === "new-order")
        this.violations.push(`${orderId} was answered with ${last}`);
      return undefined;
    };
    return until(`an answer for ${orderId}`, answerMs, look, () => `last answer: ${last}`, againMs);
  }

  /** Sends again all that was answered since a moment: its commits may be lost. */
  async repeatSince(sinceMs: number): Promise<number> {
    const isMeant = ({ ids, answeredAtMs }: BookedWithdrawal | BookedDeposit): boolean =>
      ids.length > 0 && answeredAtMs >= sinceMs;
    const orders = this.withdrawals.filter(isMeant);
    const deposits = this.deposits.filter(isMeant);
    await inTurns([
      ...orders.map((order) => () => this.#post(order)),
      ...deposits.map((deposit) => () => this.#postDeposit(deposit)),
    ]);
    for (const order of orders) order.status = 0;
    for (const deposit of deposits) deposit.status = 0;
    return orders.length + deposits.length;
  }

  /**
   * Asks for every record that has not ended, until all that were answered before have.
   * `beside` gets the withdrawals that still wait.
   */
  async settle(beside: (waiting: readonly BookedWithdrawal[]) => Promise<void>): Promise<void> {
    const orders = this.withdrawals.filter(({ ids }) => ids.length > 0);
    const deposits = this.deposits.filter(({ ids }) => ids.length > 0);
    const waiting = (): readonly string[] =>
      [...orders, ...deposits].filter((one) => !hasEnded(one)).map(({ orderId }) => orderId);
    const look = async (): Promise<true | undefined> => {
      await inTurns([
        ...orders.filter((one) => !hasEnded(one)).map((order) => () => this.note(order)),
        ...deposits.filter((one) => !hasEnded(one)).map((one) => () => this.noteDeposit(one)),
      ]);
      if (waiting().length === 0) return true;
      await beside(orders.filter((one) => !hasEnded(one)));
      return undefined;
    };
    const said = (): string =>
      `${waiting().join(", ")}\n${this.#kit.crypto?.output().slice(-2_000) ?? ""}`;
    await until("the end of every record", endMs, look, said, lookMs);
  }

  /** Keeps in the books what a question about a withdrawal is answered. @returns its stage */
  async note(order: BookedWithdrawal): Promise<string> {
    const result = await this.#client.transaction(order.transactionId, 2);
    if (!result.ok) {
      this.#judgeAbsence(order.orderId, result);
      return "";
    }
    const { status, stage, txHash, code } = result.value;
    order.status = status;
    order.code = code;
    if (txHash !== "") order.txHash = txHash;
    return stage;
  }

  async noteDeposit(deposit: BookedDeposit): Promise<void> {
    const result = await this.#client.transaction(deposit.ids.at(-1) ?? "", 1);
    if (!result.ok) {
      this.#judgeAbsence(deposit.orderId, result);
      return;
    }
    deposit.status = result.value.status;
    deposit.received = result.value.amountReceived ?? "";
  }

  /** A record that the newest answer named is there. */
  #judgeAbsence(orderId: string, { status, code }: Failure): void {
    if (status === 404) this.violations.push(`${orderId} was answered, and is missing: ${code}`);
  }
}

function note(one: BookedWithdrawal | BookedDeposit, transactionId: string): void {
  if (one.ids.length === 0) one.answeredAtMs = performance.now();
  if (one.ids.at(-1) !== transactionId) one.ids.push(transactionId);
}

/** Some at the same time. */
async function inTurns(works: readonly (() => Promise<unknown>)[]): Promise<void> {
  const left = [...works];
  const worker = async (): Promise<void> => {
    for (let work = left.shift(); work !== undefined; work = left.shift()) await work();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
