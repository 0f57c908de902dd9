/**
 * GET /openapi.json, and /docs with its style sheet: the description of the service, made only once
 * when the gateway starts. It needs no token, because it has no data of any merchant. Sources:
 * OpenAPI 3.1.0; CSP level 3.
 */
import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { version } from "../../base/version.ts";
import { languageOf } from "../answer/language.ts";
import { operations } from "../api/routes.ts";
import { createDocument } from "./document.ts";
import { createPage } from "./page.ts";
import { pageStyle } from "./page-style.ts";

const styleVersion = createHash("sha256").update(pageStyle).digest("hex").slice(0, 12);

/** No script at all; one style sheet from here; pictures only from within the page. */
const policy =
  "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Adds the description to the server. */
export function addDescription(
  server: FastifyInstance,
  { publicUrl }: { readonly publicUrl: string },
): void {
  const document = createDocument({ publicUrl, version, operations });
  const text = JSON.stringify(document);
  // Relative to the page, so that a proxy may put any folder before them.
  const places = { style: `docs/style.css?v=${styleVersion}`, source: "openapi.json" };
  const pages = {
    en: createPage(document, { language: "en", ...places }),
    tr: createPage(document, { language: "tr", ...places }),
  };
  const headersOf = (type: string) => ({
    "content-type": type,
    "content-security-policy": policy,
    "referrer-policy": "no-referrer",
  });
  const serve = (url: string, type: string, body: string): void => {
    server.get(url, async (_request, response) => response.headers(headersOf(type)).send(body));
  };
  serve("/openapi.json", "application/json; charset=utf-8", text);
  serve("/docs/style.css", "text/css; charset=utf-8", pageStyle);
  server.get("/docs", async (request, response) => {
    const { lang } = request.query as { readonly lang?: unknown };
    const language =
      lang === "en" || lang === "tr" ? lang : languageOf(request.headers["accept-language"], "en");
    const headers = { "content-language": language, vary: "Accept-Language" };
    return response
      .headers({ ...headersOf("text/html; charset=utf-8"), ...headers })
      .send(pages[language]);
  });
}
