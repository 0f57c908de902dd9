/**
 * GET /pay/TOKEN: the payment page, its state for the page's own script, style sheet and script.
 * The token is the only right that a customer needs, and gives none but to look. An unknown token
 * and a malformed one get the same answer. Sources: docs/api.md, The payment page; CSP level 3.
 */
import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Language, languageOf } from "../answer/language.ts";
import { addressBlock, createBuckets } from "../auth/rate.ts";
import { renderNotice, renderPage } from "../pages/page.tsx";
import { pageScript } from "../pages/page-script.ts";
import { pageStyle } from "../pages/page-style.ts";
import { markOf, stateOf } from "../pages/state.ts";
import type { Service } from "../service.ts";
import { depositOfPayToken } from "../store/deposits.ts";
import { readMerchant } from "../store/merchants.ts";
import type { MerchantRow, TransactionRow } from "../store/rows.ts";
import { putAside, runGuarded } from "../store/set-aside.ts";
import { payerView } from "./payer-view.ts";

const tokenPattern = /^[A-Za-z0-9_-]{22}$/;
const assetSeconds = 86_400;
const htmlType = "text/html; charset=utf-8";
const version = createHash("sha256")
  .update(pageStyle)
  .update(pageScript)
  .digest("hex")
  .slice(0, 12);

/** `origins`: the sites that may embed the page, joined by spaces; "" for none. */
const policyFor = (origins: string): string =>
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
  `form-action 'none'; frame-ancestors ${origins === "" ? "'none'" : origins}`;

const headersFor = (origins: string) => ({
  "content-security-policy": policyFor(origins),
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex",
});

interface PayerRecord {
  readonly row: TransactionRow;
  readonly merchant: MerchantRow;
}

function shownBy({ store: { database } }: Service, token: string): PayerRecord | null {
  const row = tokenPattern.test(token) ? depositOfPayToken(database, token) : undefined;
  const merchant = row === undefined ? undefined : readMerchant(database, row.merchant);
  return row === undefined || merchant === undefined ? null : { row, merchant };
}

const keyOf = ({ id }: TransactionRow) => ({ kind: "record", id, about: id }) as const;

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
  const reads = createBuckets(payerReadsPerSecond, payerReadsPerSecond * burst);

  function html(
    response: FastifyReply,
    language: Language,
    { origins = "" }: { readonly origins?: string } = {},
  ): FastifyReply {
    return response.headers({
      ...headersFor(origins),
      "content-type": htmlType,
      "content-language": language,
    });
  }

  async function limit(
    request: FastifyRequest,
    response: FastifyReply,
  ): Promise<FastifyReply | undefined> {
    const { allowed, waitMs } = reads.take(addressBlock(request.client.address), service.clock());
    if (allowed) return undefined;
    const language = languageFor(request, "en");
    void html(response, language)
      .status(429)
      .header("retry-after", String(Math.ceil(waitMs / 1000)));
    return response.send(renderNotice("tooMany", { language, version }));
  }

  server.get("/pay/:token", { onRequest: limit }, async (request, response) => {
    const shown = shownBy(service, tokenOf(request));
    if (shown === null) {
      const language = languageFor(request, "en");
      return html(response, language)
        .status(404)
        .send(renderNotice("notFound", { language, version }));
    }
    const language = languageFor(request, shown.merchant.language);
    const page = runGuarded(() =>
      renderPage(payerView(service, shown.row, shown.merchant, startedAt), { language, version }),
    );
    if (page.ok) return html(response, language, shown.merchant).send(page.value);
    putAside(service, keyOf(shown.row), page.error);
    return html(response, language)
      .status(503)
      .send(renderNotice("unreadable", { language, version }));
  });

  server.get("/pay/:token/state", { onRequest: limit }, async (request, response) => {
    const shown = shownBy(service, tokenOf(request));
    void response.headers({ ...headersFor(""), "content-type": "application/json; charset=utf-8" });
    if (shown === null) return response.status(404).send('{"state":""}');
    const state = runGuarded(() => {
      const view = payerView(service, shown.row, shown.merchant, startedAt);
      return JSON.stringify({ state: stateOf(view), mark: markOf(view), now: view.nowMs });
    });
    if (state.ok) return response.send(state.value);
    putAside(service, keyOf(shown.row), state.error);
    return response.status(503).send('{"state":""}');
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
