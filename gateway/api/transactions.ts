/**
 * The two reading operations on records. A merchant sees its own records only; another's id is not found. The list is newest first
 * and bounded; the next page stands in a Link header, so that the body stays the bare array of the interface.
 * Sources: the interface; RFC 8288 (Link); docs/api.md, All transactions.
 */
import type { Service } from "../service.ts";
import type { TransactionRow } from "../store/rows.ts";
import type { Value } from "../store/store.ts";
import { type Answer, data, say } from "./answer.ts";
import { recordOf } from "./record.ts";

type Query = Readonly<Record<string, unknown>>;

const idPattern = /^[0-9a-f]{32}$/;
const limitMax = 500;
const cursorPattern = /^(\d{1,16})\.([0-9a-f]{32})$/;
const timePattern = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/;
const operations: Readonly<Record<string, string>> = { "1": "deposit", "2": "withdraw" };

/** @public */
export function readTransaction(service: Service, merchant: string, id: string, query: Query): Answer {
  const type = query.transactionType;
  const operation = typeof type === "string" ? operations[type] : undefined;
  if (operation === undefined) return say("transaction_type_invalid", { field: "transactionType" });
  if (!idPattern.test(id)) return say("transaction_not_found");
  const sql = "SELECT * FROM transactions WHERE id = ? AND merchant = ? AND operation = ?";
  const row = service.store.database.get<TransactionRow>(sql, id, merchant, operation);
  return row === undefined ? say("transaction_not_found") : data(recordOf(row, service));
}

interface Filter {
  readonly conditions: readonly string[];
  readonly values: readonly Value[];
}

/** One parameter as a condition, or null when its value is malformed. */
type Rule = (text: string) => Filter | null;

const one = (condition: string, ...values: readonly Value[]): Filter => ({ conditions: [condition], values });

const time =
  (condition: string): Rule =>
  (text) => {
    const at = timePattern.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(at) ? null : one(condition, at);
  };

const rules: Readonly<Record<string, Rule>> = {
  transactionType: (text) => {
    const operation = operations[text];
    return operation === undefined ? null : one("operation = ?", operation);
  },
  status: (text) => (/^[012]$/.test(text) ? one("status = ?", Number(text)) : null),
  currency: (text) => (text.length <= 64 ? one("currency = ?", text) : null),
  orderId: (text) => (text.length <= 128 ? one("orderId = ?", text) : null),
  from: time("createdAt >= ?"),
  to: time("createdAt < ?"),
  cursor: (text) => {
    const [, at, id] = cursorPattern.exec(Buffer.from(text.slice(0, 128), "base64url").toString("latin1")) ?? [];
    if (at === undefined || id === undefined) return null;
    return one("(createdAt < ? OR (createdAt = ? AND id > ?))", Number(at), Number(at), id);
  },
  limit: (text) => (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= limitMax ? { conditions: [], values: [] } : null),
};

function nextPage(query: Query, last: TransactionRow): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (name !== "cursor") parameters.set(name, String(value));
  parameters.set("cursor", Buffer.from(`${last.createdAt}.${last.id}`, "latin1").toString("base64url"));
  return `</api/v1/transactions?${parameters}>; rel="next"`;
}

const badQuery = (name: string): Answer => say("query_invalid", { field: name.slice(0, 64).replace(/[^\x21-\x7e]/g, "?") });

/** @public */
export function listTransactions(service: Service, merchant: string, query: Query): Answer {
  const conditions = ["merchant = ?"];
  const values: Value[] = [merchant];
  const unknown = Object.keys(query).find((name) => !Object.hasOwn(rules, name));
  if (unknown !== undefined) return badQuery(unknown);
  // In the rules' own order, so that the caller's order does not make another statement to keep.
  for (const [name, rule] of Object.entries(rules)) {
    const text = query[name];
    if (text === undefined) continue;
    const filter = typeof text === "string" ? rule(text) : null;
    if (filter === null) return badQuery(name);
    conditions.push(...filter.conditions);
    values.push(...filter.values);
  }
  const limit = typeof query.limit === "string" ? Number(query.limit) : service.config.limits.listMax;
  const sql = `SELECT * FROM transactions WHERE ${conditions.join(" AND ")} ORDER BY createdAt DESC, id LIMIT ?`;
  const rows = service.store.database.all<TransactionRow>(sql, ...values, limit + 1);
  const page = rows.slice(0, limit);
  const last = page[page.length - 1];
  const headers: Record<string, string> = rows.length > limit && last !== undefined ? { Link: nextPage(query, last) } : {};
  return data(
    page.map((row) => recordOf(row, service)),
    headers,
  );
}
