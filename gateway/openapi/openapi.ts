/**
 * GET /openapi.json, and /docs with its style sheet: the description of the service, made only once
 * when the gateway starts. It needs no token, because it has no data of any merchant. Sources:
 * OpenAPI 3.1.0; CSP level 3.
 */
import type { FastifyInstance } from "fastify";
import { version } from "../../base/version.ts";
import { operations } from "../api/routes.ts";
import { createDocument } from "./document.ts";
import { createPage } from "./page.ts";
import { pageStyle } from "./page-style.ts";

/** No script at all; one style sheet from here; pictures only from within the page. */
const policy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Adds the description to the server. */
export function addDescription(server: FastifyInstance, { publicUrl }: { readonly publicUrl: string }): void {
  const document = createDocument({ publicUrl, version, operations });
  const text = JSON.stringify(document);
  // Relative to the page, so that a proxy may put any folder before them.
  const page = createPage(document, { style: "docs/style.css", source: "openapi.json" });
  const serve = (url: string, type: string, body: string): void => {
    server.get(url, async (_request, response) =>
      response.headers({ "content-type": type, "content-security-policy": policy, "referrer-policy": "no-referrer" }).send(body),
    );
  };
  serve("/openapi.json", "application/json; charset=utf-8", text);
  serve("/docs", "text/html; charset=utf-8", page);
  serve("/docs/style.css", "text/css; charset=utf-8", pageStyle);
}
