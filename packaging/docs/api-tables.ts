/**
 * The tables of the shop's interface: operations and events as the gateway describes them at
 * /openapi.json, the codes of its answers, and the reasons of failed records.
 */
import { codes } from "../../base/codes.ts";
import { answerCodes } from "../../gateway/answer/messages.ts";
import { serviceReasons } from "../../gateway/store/rows.ts";
import { description } from "../client-types.ts";
import { markdownTable, type PageSections, quote } from "./marked-pages.ts";

/** Every operation that needs a token, in the order of the description. */
function operationsTable(): string {
  const rows = Object.entries(description().paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { summary, security = [] }]) => {
      const scopes = security.flatMap((schemes) => Object.values(schemes).flat());
      if (scopes.length === 0) return [];
      return [[summary, quote(`${method.toUpperCase()} ${path}`), scopes.map(quote).join(", ")]];
    }),
  );
  return markdownTable(["operation", "method and path", "scope"], rows);
}

function eventsTable(): string {
  const rows = Object.entries(description().webhooks).map(([type, { post }]) => [
    ...[quote(type), post.summary],
  ]);
  return markdownTable(["event", "when"], rows);
}

function answersTable(): string {
  const rows = Object.entries(answerCodes).map(([code, { status, en, tr }]) => [
    ...[`${status}`, quote(code), en, tr],
  ]);
  return markdownTable(["status", "code", "English", "Turkish"], rows);
}

/** The refusals of an agent that a merchant reads. */
function reasonsTable(): string {
  const rows = Object.entries(codes)
    .filter(([, { kind, reader }]) => kind === "refusal" && reader === "merchant")
    .map(([code, { meaning }]) => [quote(code), meaning]);
  return markdownTable(["code", "means"], rows);
}

/** The reasons of the service itself. */
function serviceReasonsTable(): string {
  const rows = Object.entries(serviceReasons).map(([code, meaning]) => [quote(code), meaning]);
  return markdownTable(["code", "means"], rows);
}

/** The sections of docs/api.md. */
export const apiSections = (): PageSections => ({
  operations: operationsTable(),
  events: eventsTable(),
  answers: answersTable(),
  reasons: reasonsTable(),
  "service-reasons": serviceReasonsTable(),
});
