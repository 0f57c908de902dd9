/**
 * GET /openapi.json, and /docs with its style sheet: the description of the service, made only once
 * when the gateway starts. It needs no token, because it has no data of any merchant. Sources:
 * OpenAPI 3.1.0; CSP level 3.
 */
import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { version } from "../../base/version.ts";
import { languageOf } from "../answer/language.ts";
import { operations } from "../operations/operations.ts";
import { pageStyleVariables } from "../pages/tokens.ts";
import { createDocument } from "./document.ts";
import { createPage } from "./page.ts";

/*
 * The style sheet of /docs, on the same tokens as the payment page; nothing is fetched. A narrow
 * screen gets one column, whose links are those of the chapters alone.
 */

const pageStyle = `${pageStyleVariables}* { box-sizing: border-box; }
body { margin: 0; padding: var(--s4); background: var(--ground); color: var(--ink); font: 1rem/1.5 var(--sans);
  overflow-wrap: anywhere; }
a { color: var(--link); text-underline-offset: .2em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: .25rem; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: var(--s4); top: var(--s2); background: var(--card); padding: var(--s2) var(--s4); }
.top { display: grid; grid-template-columns: 1fr auto; gap: var(--s1) var(--s4); align-items: start; max-width: 80rem; }
.top p { grid-column: 1 / -1; max-width: 62rem; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.3; }
h1 small { display: block; font-weight: 400; color: var(--soft); font-size: .9375rem; }
nav ul { list-style: none; margin: 0 0 var(--s4); padding: 0; display: flex; flex-wrap: wrap; gap: var(--s2); }
nav .chapter a { display: block; padding: var(--s2) var(--s3); border: 1px solid var(--line); border-radius: .5rem;
  background: var(--card); font-weight: 600; text-decoration: none; }
nav .place { display: none; }
h2 { margin: var(--s6) 0 var(--s2); font-size: 1.375rem; line-height: 1.3; }
h3 { margin: 0 0 var(--s2); font-size: 1.0625rem; }
h4 { margin: var(--s4) 0 var(--s1); font-size: .9375rem; color: var(--soft); }
p { margin: var(--s2) 0; }
section { margin-top: var(--s3); padding: var(--s4); background: var(--card); border: 1px solid var(--line);
  border-radius: var(--round); }
code, pre { font: .9em/1.5 var(--mono); }
pre { margin: var(--s2) 0; padding: var(--s3); background: var(--ground); border: 1px solid var(--line); border-radius: .5rem;
  overflow-x: auto; overflow-wrap: normal; }
ol { padding-left: 1.25rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .5rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-size: .875rem; white-space: nowrap; }
em { color: var(--soft); }
.method { font: 600 .8rem var(--mono); border: 1px solid; border-radius: .25rem; padding: .1rem .4rem; }
.get, .s1 { color: var(--good); }
.post { color: var(--care); }
.drawings { display: grid; gap: var(--s4); }
figure { margin: 0; max-width: 26rem; }
figcaption { font-weight: 600; }
.drawing { width: 100%; height: auto; }
.drawing rect { fill: var(--wait-ground); stroke: var(--wait); }
.drawing text { fill: var(--ink); font: 600 12px var(--mono); text-anchor: middle; }
.drawing path { fill: none; stroke: var(--soft); stroke-width: 1.5; }
.drawing marker path { fill: var(--soft); stroke: none; }
.drawing .s1 rect { fill: var(--good-ground); stroke: var(--good); }
.drawing .s2 rect { fill: var(--stop-ground); stroke: var(--stop); }
@media (min-width: 60rem) {
  body { padding: var(--s6) var(--s6) 4rem; display: grid; grid-template-columns: 15rem minmax(0, 62rem); column-gap: 3rem; }
  .top { grid-column: 1 / -1; }
  nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto; padding: var(--s4) 2px; }
  nav ul { display: block; }
  nav .chapter { margin-top: var(--s3); }
  nav .chapter a { padding: 0; border: 0; background: none; }
  nav .place { display: list-item; padding: .1rem 0 .1rem var(--s3); font-size: .9375rem; }
  section { padding: var(--s5); }
  .drawings { grid-template-columns: 1fr 1fr; }
  td:first-child { white-space: nowrap; }
}
`;

const styleVersion = createHash("sha256").update(pageStyle).digest("hex").slice(0, 12);

/** No script at all; one style sheet from here; pictures only from within the page. */
const policy =
  "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Adds the description to the server. */
export function addApiDescription(
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
