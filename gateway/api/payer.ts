/**
 * GET /pay/TOKEN: the payment page, its state for the page's own script, style sheet and script.
 * The token is the only right that a customer needs, and gives none but to look. An unknown token
 * and a malformed one get the same answer. Sources: docs/api.md, The payment page; CSP level 3.
 */
import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { familyOf } from "../../chains/families.ts";
import { findChainPreset } from "../../chains/presets.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { type Language, languageOf } from "../answer/language.ts";
import { explorerUrlOf } from "../answer/record.ts";
import { addressBlock, createRateBuckets } from "../auth/rate.ts";
import type { GatewayConfig } from "../config/config.ts";
import type { Quote } from "../config/fiat.ts";
import { surplusToleranceUnits } from "../config/surplus.ts";
import { payingChoiceOf, unitsAtNewPrice } from "../invoices/choices.ts";
import { renderChoosingPage } from "../pages/choosing.tsx";
import { renderNotice, renderPage } from "../pages/page.tsx";
import { pageScript } from "../pages/page-script.ts";
import { pageStyle } from "../pages/page-style.ts";
import type { ChosenPart, OtherCoin, PayerView } from "../pages/payer-view.ts";
import {
  choosingMark,
  judgeChoosingState,
  judgePayerState,
  pageContentMark,
} from "../pages/state.ts";
import type { Service } from "../service.ts";
import { isHeldOpen, listArrivingPayments } from "../store/arriving.ts";
import {
  type CountedPayment,
  listCountedPayments,
  listOtherCurrencyPaymentsTo,
} from "../store/credits.ts";
import { depositEndBlock, depositOfPayToken } from "../store/deposits.ts";
import { revokedStage } from "../store/gone-payments.ts";
import {
  type InvoiceRow,
  invoiceOfPayToken,
  isPaidByOtherChoice,
  readInvoice,
} from "../store/invoices.ts";
import { readMerchant } from "../store/merchants.ts";
import { newestGivenQuote } from "../store/quotes.ts";
import type { DepositRow, MerchantRow } from "../store/rows.ts";
import { runGuarded, setRowAside } from "../store/set-aside.ts";
import type { Database } from "../store/store.ts";
import { unrefundedUnits } from "../store/transactions.ts";
import {
  addPayerActs,
  choiceInPlaceOf,
  invoiceView,
  type NetworkNamer,
  shopPartOf,
} from "./choosing.ts";

/*
 * Gathers the facts that the payment page shows of one request: its row, its payments, the
 * merchant and the configuration.
 */

const minuteSeconds = 60;

/**
 * The decimals of an amount by its two spellings, because its currency may be gone from the
 * configuration.
 */
export function decimalsOfDeposit({ amount, units }: Pick<DepositRow, "amount" | "units">): number {
  const [whole = "", fraction = ""] = (amount ?? "0").split(".");
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  return fraction.length + (units ?? "0").length - digits.length;
}

/** The network of a currency in the words of the page. */
export function networkOf(
  row: Pick<DepositRow, "network" | "currency">,
  config: GatewayConfig,
): PayerView["network"] {
  const [name, chain] = Object.entries(config.chains).find(
    ([, one]) => one.network === row.network,
  ) ?? [row.network];
  const preset = findChainPreset(chain?.preset ?? "");
  const isToken = (config.currencies[row.currency]?.contract ?? "") !== "";
  const confirmations = chain?.confirmations;
  return {
    name: preset?.name ?? name,
    tokens: isToken ? (preset?.tokens ?? "") : "",
    isTest: preset?.isTest ?? false,
    confirmations: typeof confirmations === "number" ? confirmations : null,
    finalMinutes: preset === undefined ? null : Math.ceil(preset.finalSeconds / minuteSeconds),
  };
}

function othersOf({ config, store }: Service, row: DepositRow): readonly OtherCoin[] {
  const units = new Map<string, bigint>();
  for (const { currency, leftUnits } of listOtherCurrencyPaymentsTo(store.database, row.id))
    units.set(currency, (units.get(currency) ?? 0n) + leftUnits);
  return [...units].map(([id, sum]) => {
    const currency = config.currencies[id];
    return currency === undefined
      ? { amount: "", symbol: id }
      : { amount: formatAmount(sum, currency.decimal), symbol: currency.symbol };
  });
}

/** Another choice that has paid the invoice of this one, or to which the whole is on its way. */
function otherwiseOf(database: Database, row: DepositRow): ChosenPart["otherwise"] {
  if (isPaidByOtherChoice(database, row)) return "paid";
  const paying = payingChoiceOf(database, row.invoice);
  return paying === undefined || paying.id === row.id ? "" : "paying";
}

/** The parts of a choice's page that its invoice brings. */
function chosenPartOf(service: Service, row: DepositRow): ChosenPart | null {
  const { database } = service.store;
  const invoice = row.invoice === "" ? undefined : readInvoice(database, row.invoice);
  if (invoice === undefined) return null;
  return {
    token: invoice.payToken,
    priceUntil: newestGivenQuote(database, row.id)?.untilAt ?? row.expiresAt,
    newUnits: row.status === 0 ? unitsAtNewPrice(service, row) : null,
    otherwise: otherwiseOf(database, row),
  };
}

/** So many transactions of one request are shown, the newest. */
const transactionsMax = 10;

/**
 * The transactions of a request's payments, the newest last, also before they are final or in a
 * block. Coins that came within another transaction's call have none of their own.
 */
function transactionsOf(
  row: DepositRow,
  payments: readonly { readonly txHash: string }[],
  config: GatewayConfig,
): Pick<PayerView, "transactions" | "moreTransactions"> {
  // A record's own transaction may be of a payment that is no row any more, and is then the oldest.
  const newestFirst = new Set([...payments.map(({ txHash }) => txHash).reverse(), row.txHash]);
  const inOrder = [...newestFirst]
    .filter((hash) => hash !== "" && !hash.startsWith("internal:"))
    .reverse();
  return {
    transactions: inOrder
      .slice(-transactionsMax)
      .map((txHash) => ({ txHash, explorerUrl: explorerUrlOf({ ...row, txHash }, config) })),
    moreTransactions: Math.max(0, inOrder.length - transactionsMax),
  };
}

/**
 * Payments cannot be confirmed if the chain's blocks were not read for so long, because its nodes
 * do not answer or disagree, or the request's own currency or address.
 */
const unreadMsMax = 5 * 60_000;

/** `startedAt`: counts as the last pass until the first one is complete. */
export function payerView(
  service: Service,
  row: DepositRow,
  merchant: MerchantRow,
  startedAt: number,
): PayerView {
  const { config, store, clock } = service;
  const nowMs = clock();
  const readAt = service.readAt(row.network) ?? startedAt;
  const place = { network: row.network, currency: row.currency, address: row.address };
  const isUnread = nowMs - Math.min(readAt, service.unreadSince(place) ?? nowMs) >= unreadMsMax;
  const currency = Object.hasOwn(config.currencies, row.currency)
    ? config.currencies[row.currency]
    : undefined;
  const { network, address: receiver } = row;
  const contract = currency?.contract;
  const counted = listCountedPayments(store.database, row);
  const endBlock = depositEndBlock(store.database, row.id);
  const isBehind = ({ block, isHeld, isCredited }: CountedPayment): boolean =>
    row.status === 0 && endBlock !== null && block > endBlock && !isHeld && !isCredited;
  const seen = counted.filter((one) => !one.final && !isBehind(one));
  const inBlocks = new Set(counted.map((one) => one.txHash));
  const arriving = listArrivingPayments(store.database, row.id).filter(
    (one) => !inBlocks.has(one.txHash),
  );
  return {
    token: row.payToken,
    chosen: chosenPartOf(service, row),
    isCancelled: row.code === "deposit_cancelled",
    ...shopPartOf(merchant, row),
    orderId: row.orderId,
    network: networkOf(row, config),
    symbol: currency?.symbol ?? row.currency,
    decimal: currency?.decimal ?? decimalsOfDeposit(row),
    amount: row.amount ?? "0",
    amountUnits: BigInt(row.units ?? 0),
    toleranceUnits: BigInt(row.toleranceUnits),
    surplusToleranceUnits: surplusToleranceUnits(BigInt(row.units ?? 0), currency),
    finalUnits: unrefundedUnits(store.database, row),
    seenUnits: seen.reduce((sum, { units }) => sum + units, 0n),
    arrivingUnits: arriving.reduce((sum, { units }) => sum + BigInt(units), 0n),
    isHeld: isHeldOpen(store.database, row.id),
    lateUnits: counted.filter(isBehind).reduce((sum, { units }) => sum + units, 0n),
    confirmations: row.status === 0 ? service.confirmations(row.id) : null,
    others: othersOf(service, row),
    address: row.payTo,
    tag: row.tag,
    linkFor: (units) =>
      contract === undefined
        ? ""
        : familyOf(network).paymentUri({ network, contract, receiver, units }),
    quote: row.quote === "" ? null : (JSON.parse(row.quote) as Quote),
    status: row.status,
    isLate: row.late === 1,
    isRevoked: row.stage === revokedStage,
    isOut: currency === undefined || isUnread || service.outOfService(row.currency) !== "",
    isSlow: service.isLate(row.network),
    expiresAt: row.expiresAt,
    changedAt: row.changedAt,
    nowMs,
    ...transactionsOf(row, [...counted, ...arriving], config),
  };
}

/** A payer's address may look so many times as often as it acts. */
const actsPerRead = 10;

const tokenPattern = /^[A-Za-z0-9_-]{22}$/;
const assetSeconds = 86_400;
const htmlType = "text/html; charset=utf-8";
const version = createHash("sha256")
  .update(pageStyle)
  .update(pageScript)
  .digest("hex")
  .slice(0, 12);

/** `origins`: the sites that may embed the page, joined by spaces; "" for none. */
const policyFor = (origins: string, withForm: boolean): string =>
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  `form-action ${withForm ? "'self'" : "'none'"}; frame-ancestors ${origins === "" ? "'none'" : origins}`;

const headersFor = (origins: string, withForm = false) => ({
  "content-security-policy": policyFor(origins, withForm),
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex",
});

interface PayerRecord {
  readonly row: DepositRow;
  readonly merchant: MerchantRow;
}

/** The page of an invoice that its payer has not paid. */
interface PayerInvoice {
  readonly invoice: InvoiceRow;
  readonly merchant: MerchantRow;
}

const recordOfToken = ({ store }: Service, token: string): DepositRow | undefined =>
  tokenPattern.test(token) ? depositOfPayToken(store.database, token) : undefined;

const invoiceOfToken = ({ store }: Service, token: string): InvoiceRow | undefined =>
  tokenPattern.test(token) ? invoiceOfPayToken(store.database, token) : undefined;

/** An invoice to which money came shows the choice that has it. */
function shownBy(service: Service, token: string): PayerRecord | PayerInvoice | null {
  const { database } = service.store;
  const invoice = invoiceOfToken(service, token);
  const inPlace = invoice === undefined ? null : choiceInPlaceOf(database, invoice);
  const row = inPlace ?? recordOfToken(service, token);
  const merchant = readMerchant(database, row?.merchant ?? invoice?.merchant ?? "");
  if (merchant === undefined) return null;
  if (row !== undefined) return { row, merchant };
  return invoice === undefined ? null : { invoice, merchant };
}

/** The key under which a page that cannot be made is set aside. */
function keyOf(shown: PayerRecord | PayerInvoice) {
  const { id } = "row" in shown ? shown.row : shown.invoice;
  return { kind: "record", id, about: id } as const;
}

/** True for pages with a form: those of an invoice and of its choices. */
const hasForm = (shown: PayerRecord | PayerInvoice): boolean =>
  "invoice" in shown || shown.row.invoice !== "";

function languageFor(request: FastifyRequest, fallback: Language): Language {
  const { lang } = request.query as { readonly lang?: unknown };
  return lang === "en" || lang === "tr"
    ? lang
    : languageOf(request.headers["accept-language"], fallback);
}

const tokenOf = (request: FastifyRequest): string =>
  (request.params as { readonly token: string }).token;

/** Adds the page and what belongs to it to the server. */
export function addPayerPages(server: FastifyInstance, service: Service): void {
  const { payerReadsPerSecond, burst } = service.config.limits;
  const startedAt = service.clock();
  const reads = createRateBuckets(payerReadsPerSecond, payerReadsPerSecond * burst);
  // An act can take an address and write.
  const acts = createRateBuckets(payerReadsPerSecond / actsPerRead, payerReadsPerSecond);

  function html(
    response: FastifyReply,
    language: Language,
    {
      origins = "",
      withForm = false,
    }: { readonly origins?: string; readonly withForm?: boolean } = {},
  ): FastifyReply {
    return response.headers({
      ...headersFor(origins, withForm),
      "content-type": htmlType,
      "content-language": language,
    });
  }

  function answerNotice(
    which: Parameters<typeof renderNotice>[0],
    status: number,
  ): (request: FastifyRequest, response: FastifyReply) => FastifyReply {
    return (request, response) => {
      const language = languageFor(request, "en");
      return html(response, language)
        .status(status)
        .send(renderNotice(which, { language, version }));
    };
  }
  const answerUnknown = answerNotice("notFound", 404);

  const nameNetwork: NetworkNamer = (place) => networkOf(place, service.config);
  const invoiceViewOf = ({ invoice, merchant }: PayerInvoice, tried: string) =>
    invoiceView(service, invoice, merchant, { tried, nameNetwork });

  /** The text of a page. */
  function pageOf(shown: PayerRecord | PayerInvoice, language: Language, tried: string): string {
    const frame = { language, version };
    return "row" in shown
      ? renderPage(payerView(service, shown.row, shown.merchant, startedAt), frame)
      : renderChoosingPage(invoiceViewOf(shown, tried), frame);
  }

  /** The state of a page, for its own script. */
  function stateOf(shown: PayerRecord | PayerInvoice): object {
    if ("row" in shown) {
      const view = payerView(service, shown.row, shown.merchant, startedAt);
      return { state: judgePayerState(view), mark: pageContentMark(view), now: view.nowMs };
    }
    const view = invoiceViewOf(shown, "");
    return { state: judgeChoosingState(view), mark: choosingMark(view), now: view.nowMs };
  }

  function limitBy(buckets: typeof reads) {
    return async (
      request: FastifyRequest,
      response: FastifyReply,
    ): Promise<FastifyReply | undefined> => {
      const block = addressBlock(request.client.address);
      const { allowed, waitMs } = buckets.take(block, service.clock());
      if (allowed) return undefined;
      const language = languageFor(request, "en");
      void html(response, language)
        .status(429)
        .header("retry-after", String(Math.ceil(waitMs / 1000)));
      return response.send(renderNotice("tooMany", { language, version }));
    };
  }
  const limit = limitBy(reads);

  server.get("/pay/:token", { onRequest: limit }, async (request, response) => {
    const shown = shownBy(service, tokenOf(request));
    if (shown === null) return answerUnknown(request, response);
    const language = languageFor(request, shown.merchant.language);
    const { tried } = request.query as { readonly tried?: unknown };
    const page = runGuarded(() => pageOf(shown, language, typeof tried === "string" ? tried : ""));
    const { origins } = shown.merchant;
    if (page.ok)
      return html(response, language, { origins, withForm: hasForm(shown) }).send(page.value);
    setRowAside(service, keyOf(shown), page.error);
    return html(response, language)
      .status(503)
      .send(renderNotice("unreadable", { language, version }));
  });

  server.get("/pay/:token/state", { onRequest: limit }, async (request, response) => {
    const shown = shownBy(service, tokenOf(request));
    void response.headers({ ...headersFor(""), "content-type": "application/json; charset=utf-8" });
    if (shown === null) return response.status(404).send('{"state":""}');
    const state = runGuarded(() => JSON.stringify(stateOf(shown)));
    if (state.ok) return response.send(state.value);
    setRowAside(service, keyOf(shown), state.error);
    return response.status(503).send('{"state":""}');
  });

  addPayerActs(server, service, {
    limit: limitBy(acts),
    findInvoice: (token) => invoiceOfToken(service, token),
    findChoice: (token) => recordOfToken(service, token),
    answerUnknown,
    answerBusy: answerNotice("busy", 503),
  });

  const asset = (url: string, type: string, text: string): void => {
    const headers = {
      ...headersFor(""),
      "content-type": type,
      "cache-control": `public, max-age=${assetSeconds}`,
    };
    server.get(url, async (_request, response) => response.headers(headers).send(text));
  };
  asset("/pay/page.css", "text/css; charset=utf-8", pageStyle);
  asset("/pay/page.js", "text/javascript; charset=utf-8", pageScript);
}
