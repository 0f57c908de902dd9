/**
 * The page of an invoice: what its payer can choose, and the two acts of a payer, a currency and a
 * new price. Both are POSTs with a path of their own and no body, so that no look at a page, and no
 * preview of a link, makes an address or a price. Source: docs/api.md, The payment page.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AgentError } from "../../base/fault.ts";
import { currencyPattern } from "../../protocol/fields.ts";
import { isAnswer } from "../answer/answer.ts";
import { isAllowedOrigin } from "../config/origin.ts";
import { chooseCurrency, offerOf } from "../invoices/choices.ts";
import { openStages } from "../invoices/view.ts";
import type { CurrencyOption, InvoiceView, PayerView } from "../pages/payer-view.ts";
import type { Service } from "../service.ts";
import { revokedStage } from "../store/gone-payments.ts";
import { type InvoiceRow, listChoices, listCurrenciesOf, readInvoice } from "../store/invoices.ts";
import { hasPayment } from "../store/payments.ts";
import type { DepositRow, MerchantRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

/** The name that the page gives a currency's network. */
export type NetworkNamer = (
  place: Pick<DepositRow, "network" | "currency">,
) => PayerView["network"];

const [, ...stagesWithMoney] = openStages;

/**
 * The choice that the page of an invoice shows in the place of the list: the one that paid it, else
 * the one to which money came. Null: the payer can choose, or nobody paid.
 */
export function choiceInPlaceOf(database: Database, invoice: InvoiceRow): DepositRow | null {
  const choices = listChoices(database, invoice.id);
  const paid = choices.find(({ id }) => id === invoice.completedBy);
  if (paid !== undefined) return paid;
  const withMoney = choices.filter(
    ({ id, stage, receivedUnits }) =>
      stagesWithMoney.includes(stage) ||
      stage === revokedStage ||
      receivedUnits !== "0" ||
      hasPayment(database, id),
  );
  const place = ({ stage }: DepositRow): number => stagesWithMoney.indexOf(stage);
  return [...withMoney].sort((a, b) => place(b) - place(a))[0] ?? null;
}

function optionOf(
  service: Service,
  invoice: InvoiceRow,
  id: string,
  choice: DepositRow | undefined,
  nameNetwork: NetworkNamer,
): readonly CurrencyOption[] {
  const { currencies } = service.config;
  const currency = Object.hasOwn(currencies, id) ? currencies[id] : undefined;
  if (currency === undefined) return [];
  const offer = offerOf(service, invoice, currency);
  const { name, tokens, isTest } = nameNetwork({ network: currency.network, currency: id });
  const isChosen = choice !== undefined && choice.status === 0;
  return [
    {
      id,
      symbol: currency.symbol,
      network: { name, tokens, isTest },
      amount: isChosen ? (choice.amount ?? "") : offer.amount,
      reason: offer.reason,
      minimum: currency.minPaymentAmount,
      choiceToken: isChosen ? choice.payToken : "",
    },
  ];
}

/** The shop as its pages name it, and the way back to a site that is still on its list. */
export function shopPartOf(
  { name, shownName, contact, origins }: MerchantRow,
  { returnUrl }: Pick<DepositRow, "returnUrl">,
): Pick<PayerView, "shop" | "contact" | "returnUrl"> {
  return {
    shop: shownName === "" ? name : shownName,
    contact,
    returnUrl: returnUrl !== "" && isAllowedOrigin(origins, returnUrl) ? returnUrl : "",
  };
}

/** `tried`: the currency that could just not be taken; "" none. */
export function invoiceView(
  service: Service,
  row: InvoiceRow,
  merchant: MerchantRow,
  { tried, nameNetwork }: { readonly tried: string; readonly nameNetwork: NetworkNamer },
): InvoiceView {
  const choices = listChoices(service.store.database, row.id);
  const ids = listCurrenciesOf(row);
  return {
    token: row.payToken,
    ...shopPartOf(merchant, row),
    orderId: row.orderId,
    fiatCurrency: row.fiatCurrency,
    fiatAmount: row.fiatAmount,
    status: row.status,
    isCancelled: row.code === "invoice_cancelled",
    expiresAt: row.expiresAt,
    nowMs: service.clock(),
    quoteMinutes: row.quoteMinutes,
    options: ids.flatMap((id) =>
      optionOf(
        service,
        row,
        id,
        choices.find(({ currency }) => currency === id),
        nameNetwork,
      ),
    ),
    tried: ids.includes(tried) ? tried : "",
  };
}

/** The parts of the payment page that a payer's acts need. */
export interface ActParts {
  readonly limit: (
    request: FastifyRequest,
    response: FastifyReply,
  ) => Promise<FastifyReply | undefined>;
  readonly findInvoice: (token: string) => InvoiceRow | undefined;
  readonly findChoice: (token: string) => DepositRow | undefined;
  readonly answerUnknown: (request: FastifyRequest, response: FastifyReply) => FastifyReply;
  readonly answerBusy: (request: FastifyRequest, response: FastifyReply) => FastifyReply;
}

/** A browser sends a form without fields as an empty body. */
const formType = "application/x-www-form-urlencoded";
const formBytesMax = 1_024;

const placeOf = (path: string, parameters: readonly string[]): string => {
  const query = parameters.filter((one) => one !== "").join("&");
  return query === "" ? path : `${path}?${query}`;
};

const seeOther = (response: FastifyReply, place: string): FastifyReply =>
  response.status(303).headers({ location: place, "cache-control": "no-store" }).send();

/** Adds the acts of a payer to the server. */
export function addPayerActs(server: FastifyInstance, service: Service, parts: ActParts): void {
  const { limit, findInvoice, findChoice, answerUnknown, answerBusy } = parts;

  /** Chooses, and answers with the way to the page that shows it. */
  async function chooseAndShow(
    { id: invoice, merchant, payToken }: InvoiceRow,
    currency: string,
    up: string,
    request: FastifyRequest,
    response: FastifyReply,
  ): Promise<FastifyReply> {
    const { lang } = request.query as { readonly lang?: unknown };
    const inLanguage = lang === "en" || lang === "tr" ? `lang=${lang}` : "";
    try {
      const write = service.store.writeTogether;
      const row = await chooseCurrency(service, { merchant, invoice, currency, write });
      if (!isAnswer(row)) return seeOther(response, placeOf(`${up}${row.payToken}`, [inLanguage]));
      return seeOther(response, placeOf(`${up}${payToken}`, [`tried=${currency}`, inLanguage]));
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      service.log.warn({ event: "choice-unstored", code: error.code }, error.message);
      return answerBusy(request, response);
    }
  }

  void server.register((scope, _options, ready) => {
    const options = { parseAs: "buffer", bodyLimit: formBytesMax } as const;
    scope.addContentTypeParser(formType, options, (_request, body, done) => done(null, body));
    scope.post("/pay/:token/choose/:currency", { onRequest: limit }, async (request, response) => {
      const { token, currency } = request.params as Readonly<Record<"token" | "currency", string>>;
      const invoice = currencyPattern.test(currency) ? findInvoice(token) : undefined;
      if (invoice === undefined) return answerUnknown(request, response);
      return chooseAndShow(invoice, currency, "../../", request, response);
    });
    scope.post("/pay/:token/price", { onRequest: limit }, async (request, response) => {
      const { token } = request.params as Readonly<Record<"token", string>>;
      const choice = findChoice(token);
      const invoice = choice === undefined ? undefined : findInvoiceOf(choice);
      if (choice === undefined || invoice === undefined) return answerUnknown(request, response);
      return chooseAndShow(invoice, choice.currency, "../", request, response);
    });
    ready();
  });

  function findInvoiceOf({ invoice }: DepositRow): InvoiceRow | undefined {
    return invoice === "" ? undefined : readInvoice(service.store.database, invoice);
  }
}
