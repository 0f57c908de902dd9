/**
 * One invoice in random order: prices that move, choices, new prices, payments that are seen, final
 * or gone, an end, a cancel, an acceptance. After each step its rules are judged by code of their
 * own: the price at which each payment counts, the worth of a paid invoice by fractions, one choice
 * that completes, and each unit in one place. Source: docs/api.md, Invoices.
 */
import { randomBytes } from "node:crypto";
import { isAnswer } from "../../gateway/answer/answer.ts";
import { acceptExpiredDeposit } from "../../gateway/deposits/accept.ts";
import { FaultBook } from "../../gateway/faults/book.ts";
import { cancelRequest } from "../../gateway/invoices/cancel.ts";
import { chooseCurrency } from "../../gateway/invoices/choices.ts";
import { endInvoices } from "../../gateway/invoices/ends.ts";
import { requestInvoice } from "../../gateway/invoices/orders.ts";
import { createChoicePricing } from "../../gateway/invoices/pricing.ts";
import { exceptionsOf } from "../../gateway/invoices/view.ts";
import { rightClock } from "../../gateway/own-clock.ts";
import { readPrice } from "../../gateway/prices/decimal.ts";
import { type InvoiceRow, listChoices, readInvoice } from "../../gateway/store/invoices.ts";
import {
  dropDetectedPayment,
  keepDetectedPayment,
  keepFinalPayment,
} from "../../gateway/store/payments.ts";
import { listFirstSights, listQuotes, type QuoteRow } from "../../gateway/store/quotes.ts";
import type { DepositRow, PaymentRow } from "../../gateway/store/rows.ts";
import { createSignals } from "../../gateway/store/signals.ts";
import type { WatchedChain } from "../../gateway/watcher/chain.ts";
import { newTokenMemory } from "../../gateway/watcher/decimals.ts";
import { judgeRequests } from "../../gateway/watcher/payments.ts";
import { keepFirstSights } from "../../gateway/watcher/sights.ts";
import { silentLog } from "../kit/gateway-database.ts";
import type { TestGateway } from "../kit/gateway-server.ts";
import { SeededRandom } from "../kit/seeded.ts";

const network = "eip155:31337";
const currencies = ["usdt", "eth"] as const;
type Currency = (typeof currencies)[number];
const minuteMs = 60_000;
const graceMs = 10 * minuteMs;
const fiatScale = 10n ** 18n;
const fiatOf = 1_000n * fiatScale;
const unitsOfOne: Readonly<Record<Currency, bigint>> = { usdt: 10n ** 6n, eth: 10n ** 18n };
const stepsOfPlay = 24;

/** Things that a play can meet, so that a run of many shows that each of them happens. */
export type InvoiceOutcome =
  | "completed"
  | "expired"
  | "cancelled"
  | "accepted"
  | "newPrice"
  | "surplus"
  | "late"
  | "short"
  | "over";

export class InvoicePlay {
  readonly #gateway: TestGateway;
  readonly #random: SeededRandom;
  readonly #chain: WatchedChain;
  readonly met = new Set<InvoiceOutcome>();
  #invoice = "";
  #blocks = 0;
  #payments: PaymentRow[] = [];
  /** The quotes and the fresh price at each sight, when it was kept. */
  readonly #sights = new Map<string, number>();

  constructor(gateway: TestGateway, seed: number) {
    this.#gateway = gateway;
    this.#random = new SeededRandom(seed);
    const { service } = gateway;
    this.#chain = {
      ...{ name: "local", network, run: "play", confirmingMs: 0, hasLongBlocks: false },
      reader: {
        status: () => [],
        timestamp: async () => this.#gateway.clock.nowMs / 1_000,
      } as never,
      currencies: Object.values(service.config.currencies),
      tokens: newTokenMemory(),
      faults: new FaultBook(service.clock),
      ...{ store: service.store, signals: createSignals(), log: silentLog, clock: service.clock },
      ownClock: () => rightClock,
      choices: createChoicePricing(service),
    };
  }

  get #write() {
    return this.#gateway.service.store.writeTogether;
  }

  get #row(): InvoiceRow {
    return readInvoice(this.#gateway.service.store.database, this.#invoice) as InvoiceRow;
  }

  get #choices(): readonly DepositRow[] {
    return listChoices(this.#gateway.service.store.database, this.#invoice);
  }

  /** Plays to the end. @throws Error that says which rule is broken, and after which steps */
  async run(): Promise<void> {
    const { service, merchant } = this.#gateway;
    const random = this.#random;
    this.#movePrices();
    const made = await requestInvoice(service, {
      merchant: merchant.merchantId,
      order: {
        orderId: `play-${random.seed}-${randomBytes(4).toString("hex")}`,
        fiat: { fiatCurrency: "TRY", fiatAmount: "1000" },
        ...{ currencies: [...currencies], quoteMinutes: random.pick([10, 20, 60]), metadata: "" },
        ...{ returnUrl: "", renew: "", expiresInMinutes: random.pick([5, 30, 120]) },
        tolerancePercent: random.pick(["0", "1"]),
      },
      write: this.#write,
    });
    if (made.kind !== "data") throw new Error(`no invoice: ${JSON.stringify(made)}`);
    this.#invoice = (JSON.parse(made.body) as { readonly invoice: string }).invoice;
    const steps: string[] = [];
    for (let at = 0; at < stepsOfPlay; at += 1) {
      const before = this.#row;
      steps.push(await this.#step());
      const broken = this.#judge(before);
      if (broken !== "")
        throw new Error(`seed ${random.seed}: ${broken}, after ${steps.join(", ")}`);
    }
  }

  #movePrices(): void {
    const { config } = this.#gateway.service;
    const lira = { usdt: 35 + this.#random.below(15), eth: 90_000 + this.#random.below(40_000) };
    for (const currency of currencies)
      Object.assign(config.prices.manual, {
        [currency]: {
          usd: "1",
          eur: "1",
          try: `${lira[currency]}`,
          atMs: this.#gateway.clock.nowMs,
        },
      });
  }

  async #step(): Promise<string> {
    const act = this.#random.below(14);
    if (act < 2) return this.#choose();
    if (act < 6) return this.#pay();
    if (act === 6) return this.#finish();
    if (act === 7) return this.#lose();
    if (act < 10) return this.#pass();
    if (act < 12) return this.#end();
    if (act === 12) return this.#accept();
    return this.#random.chance(2) ? this.#cancel() : this.#accept();
  }

  async #choose(): Promise<string> {
    this.#movePrices();
    const currency = this.#random.pick(currencies);
    const { database } = this.#gateway.service.store;
    const { merchantId: merchant } = this.#gateway.merchant;
    const order = { merchant, invoice: this.#invoice, currency, write: this.#write };
    const chosen = await chooseCurrency(this.#gateway.service, order);
    if (isAnswer(chosen)) return `no ${currency}`;
    if (listQuotes(database, chosen.id).length > 1) this.met.add("newPrice");
    return `chooses ${currency}`;
  }

  /** Sends the whole of what is asked for, a part, or more. */
  async #pay(): Promise<string> {
    const choices = this.#choices;
    if (choices.length === 0) return "nothing to pay";
    const row = this.#random.pick(choices);
    const asked = BigInt(row.units ?? 0);
    const units = (asked * BigInt(this.#random.pick([1, 40, 50, 99, 100, 100, 100, 130]))) / 100n;
    if (units === 0n) return "pays nothing";
    this.#blocks += 1;
    const isFinal = this.#random.chance(2);
    const payment: PaymentRow = {
      ...{ network, txHash: `0x${this.#invoice}${this.#blocks}`, logIndex: -1 },
      ...{ address: row.address, currency: row.currency, units: `${units}`, block: this.#blocks },
      ...{ blockHash: `0x${this.#blocks}`, final: isFinal ? 1 : 0, transactionId: row.id },
    };
    this.#payments.push(payment);
    await this.#see(payment);
    return `pays ${units} ${row.currency}${isFinal ? "" : ", not final"}`;
  }

  async #see(payment: PaymentRow): Promise<void> {
    const { store } = this.#gateway.service;
    store.write((database) => {
      if (payment.final === 1) keepFinalPayment(database, payment);
      else keepDetectedPayment(database, payment);
      return judgeRequests(this.#chain, database, [payment.transactionId], 0);
    });
    await keepFirstSights(this.#chain, (fn) => void store.write(fn));
  }

  async #finish(): Promise<string> {
    const open = this.#payments.filter(({ final }) => final === 0);
    if (open.length === 0) return "nothing to finish";
    const one = this.#random.pick(open);
    const final: PaymentRow = { ...one, final: 1 };
    this.#payments = this.#payments.map((other) => (other === one ? final : other));
    await this.#see(final);
    return `final: ${one.units} ${one.currency}`;
  }

  #lose(): string {
    const open = this.#payments.filter(({ final }) => final === 0);
    if (open.length === 0) return "nothing to lose";
    const one = this.#random.pick(open);
    this.#payments = this.#payments.filter((other) => other !== one);
    this.#gateway.service.store.write((database) => {
      dropDetectedPayment(database, one);
      return judgeRequests(this.#chain, database, [one.transactionId], 0);
    });
    return `gone: ${one.units} ${one.currency}`;
  }

  #pass(): string {
    const minutes = this.#random.pick([1, 5, 10, 15, 30, 60]);
    this.#gateway.clock.nowMs += minutes * minuteMs;
    this.#movePrices();
    return `${minutes} min`;
  }

  #end(): string {
    const { nowMs } = this.#gateway.clock;
    const over = this.#choices.filter(
      ({ status, expiresAt }) => status === 0 && expiresAt <= nowMs,
    );
    const { store, clock } = this.#gateway.service;
    store.write((database) =>
      judgeRequests(
        this.#chain,
        database,
        over.map(({ id }) => id),
        nowMs,
      ),
    );
    endInvoices({ store, clock, ownClock: () => rightClock });
    return `ends ${over.length}`;
  }

  async #cancel(): Promise<string> {
    const { merchantId: merchant } = this.#gateway.merchant;
    const subject = { invoice: this.#invoice };
    const answer = await cancelRequest(this.#gateway.service, {
      merchant,
      keyId: "play",
      subject,
      write: this.#write,
    });
    return answer.kind === "data" ? "cancels" : "cancels not";
  }

  #accept(): string {
    const ended = this.#choices.filter(({ status }) => status === 2);
    if (ended.length === 0) return "nothing to accept";
    const row = this.#random.pick(ended);
    const how = { isShortFine: this.#random.chance(2), reason: "play", actor: "play" };
    const problem = this.#gateway.service.store.write((database) =>
      acceptExpiredDeposit(database, row, { ...how, nowMs: this.#gateway.clock.nowMs }),
    );
    if (problem === null) this.met.add("accepted");
    return `accepts: ${problem ?? "yes"}`;
  }

  /** The rule that is broken now; "" for none. */
  #judge(before: InvoiceRow): string {
    const row = this.#row;
    const choices = this.#choices;
    const paid = choices.filter(({ status }) => status === 1);
    if (row.status === 1) this.met.add("completed");
    if (row.code === "invoice_expired") this.met.add("expired");
    if (row.code === "invoice_cancelled") this.met.add("cancelled");
    if (choices.length > currencies.length) return "more addresses than currencies";
    if (paid.length > 1) return "two choices completed";
    if ((row.completedBy !== "") !== (row.status === 1)) return "completed by nobody";
    if (row.status === 1 && paid[0]?.id !== row.completedBy) return "completed by another choice";
    if (row.status !== 0 && choices.some(({ status }) => status === 0))
      return "ended beside an open choice";
    if (before.status === 1 && row.status !== 1) return "an end was taken back";
    return (
      choices.map((one) => this.#judgeChoice(one)).find((broken) => broken !== "") ??
      this.#judgePlaces(row, choices)
    );
  }

  #judgeChoice(row: DepositRow): string {
    const { database } = this.#gateway.service.store;
    const quotes = listQuotes(database, row.id);
    const sights = listFirstSights(database, row.id);
    for (const { txHash, quote, at } of sights) {
      const known = this.#sights.get(txHash);
      if (known !== undefined && known !== quote) return "a first sight changed";
      // A later quote can begin at the same moment.
      if (known !== undefined) continue;
      this.#sights.set(txHash, quote);
      const right = bestQuoteAt(quotes, at);
      const mine = quotes.find(({ number }) => number === quote);
      if (mine === undefined) return "a sight without its quote";
      if (right !== null && right.price !== mine.price) return "a payment at another price";
    }
    if (row.acceptedAt !== null) return "";
    // In 10^-36 of the fiat currency, without any rounding.
    const one = unitsOfOne[row.currency as Currency];
    const priceOf = new Map(sights.map(({ txHash, quote }) => [txHash, quote]));
    const worth = this.#payments
      .filter(({ transactionId, final }) => transactionId === row.id && final === 1)
      .reduce((sum, { txHash, units }) => {
        const number = priceOf.get(txHash);
        const price = quotes.find((quote) => quote.number === number)?.price;
        return price === undefined ? sum : sum + BigInt(units) * (readPrice(price) ?? 0n);
      }, 0n);
    const tolerance = this.#row.tolerancePercent === "1" ? fiatOf / 100n : 0n;
    const wanted = (fiatOf - tolerance) * one;
    // Rounding up to eight decimals asks for less than one step more, of each payment.
    const step = (readPrice(quotes.at(-1)?.price ?? "1") ?? 1n) * (one / 10n ** 6n);
    if (row.status === 1 && worth + step * 2n < wanted) return "completed below its sum";
    if (row.status === 0 && worth >= (fiatOf + fiatOf / 1_000n) * one) return "open above its sum";
    return "";
  }

  /** Each unit that came is in one place: it paid, or a person is told of it. */
  #judgePlaces(row: InvoiceRow, choices: readonly DepositRow[]): string {
    const { service } = this.#gateway;
    const told = exceptionsOf(service, row, choices);
    for (const one of told) if (one !== "otherCoin") this.met.add(one);
    for (const choice of choices) {
      const came = this.#payments
        .filter(({ transactionId, final }) => transactionId === choice.id && final === 1)
        .reduce((sum, { units }) => sum + BigInt(units), 0n);
      if (BigInt(choice.receivedUnits) !== came) return `${choice.currency} received another sum`;
      if (came === 0n || choice.status !== 2) continue;
      const word = row.status === 1 ? "surplus" : choice.late === 1 ? "late" : "short";
      if (!told.includes(word)) return `${word} is told to nobody`;
    }
    return "";
  }
}

/** The quote of a time by the rule's own words; null where none was in force or in its grace. */
function bestQuoteAt(quotes: readonly QuoteRow[], atMs: number): QuoteRow | null {
  const counting = quotes.filter(
    ({ fromAt, untilAt }) => fromAt < untilAt && fromAt <= atMs && atMs < untilAt + graceMs,
  );
  const highest = counting.map(({ price }) => readPrice(price) ?? 0n).sort((a, b) => Number(b - a));
  return counting.find(({ price }) => readPrice(price) === highest[0]) ?? null;
}
