/**
 * The two operations that read records. A merchant sees only its own records; the id of another
 * merchant's record is not found. The list is complete and newest first, unless the query asks for
 * pages. The next page is in a Link header, so that the body stays the plain array of the
 * interface. Sources: the interface; RFC 8288 (Link); docs/api.md, All transactions.
 */

import { parseTimestampUtc } from "../../base/timestamp.ts";
import { orderIdPattern } from "../../protocol/fields.ts";
import { type Answer, dataAnswer, isAnswer, listAnswer, problemAnswer } from "../answer/answer.ts";
import type { CsvTable } from "../answer/csv-cell.ts";
import { keepInterfaceFields } from "../answer/interface-fields.ts";
import { writeRecord } from "../answer/record.ts";
import type { Service } from "../service.ts";
import type { RecordRow } from "../store/rows.ts";
import {
  listTransactionRows,
  placeIn,
  type RecordOperation,
  readTransactionOf,
  type TransactionFilter,
  type TransactionPlace,
} from "../store/transactions.ts";
import { csvHead, csvLine, csvTableOf, csvType } from "./csv.ts";

type Query = Readonly<Record<string, unknown>>;

const idPattern = /^[0-9a-f]{32}$/;
const limitMax = 500;
/**
 * Rows in one part of the complete list: about ten kilobytes, and about two milliseconds in which
 * nothing else is served.
 */
const partRows = 50;
const cursorPattern = /^(\d{1,16})\.([0-9a-f]{32})$/;
const operations: Readonly<Record<string, RecordOperation>> = { "1": "deposit", "2": "withdraw" };

export function readTransaction(
  service: Service,
  merchant: string,
  id: string,
  query: Query,
): Answer {
  const unknown = refuseUnknownParameter(query, ["transactionType"]);
  if (unknown !== null) return unknown;
  const type = query.transactionType;
  const operation = typeof type === "string" ? operations[type] : undefined;
  if (operation === undefined)
    return problemAnswer("transaction_type_invalid", { field: "transactionType" });
  if (!idPattern.test(id)) return problemAnswer("transaction_not_found");
  const row = readTransactionOf(service.store.database, { id, merchant, operation });
  return row === undefined
    ? problemAnswer("transaction_not_found")
    : dataAnswer(writeRecord(row, service, (record) => record));
}

type Filter = Omit<TransactionFilter, "merchant">;

/** Reads one parameter as a part of the filter; null if its value is malformed. */
type Rule = (text: string, service: Service) => Filter | null;

const time =
  (name: "from" | "to" | "changedFrom"): Rule =>
  (text) => {
    const at = parseTimestampUtc(text);
    return at === null ? null : { [name]: at };
  };

const rules: Readonly<Record<string, Rule>> = {
  transactionType: (text) => {
    const operation = operations[text];
    return operation === undefined ? null : { operation };
  },
  status: (text) => (/^[012]$/.test(text) ? { status: Number(text) } : null),
  currency: (text, { config }) =>
    Object.hasOwn(config.currencies, text) ? { currency: text } : null,
  orderId: (text) => (orderIdPattern.test(text) ? { orderId: text } : null),
  refundOf: (text) => (idPattern.test(text) ? { refundOf: text } : null),
  from: time("from"),
  to: time("to"),
  changedFrom: time("changedFrom"),
  cursor: (text) => {
    const [, at, id] =
      cursorPattern.exec(Buffer.from(text.slice(0, 128), "base64url").toString("latin1")) ?? [];
    if (at === undefined || id === undefined) return null;
    return { after: { at: Number(at), id } };
  },
  limit: (text) => (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= limitMax ? {} : null),
};

/** The names of the list's parameters. */
export const listParameterNames: readonly string[] = Object.keys(rules);

function nextPage(query: Query, { at, id }: TransactionPlace): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (name !== "cursor") parameters.set(name, String(value));
  parameters.set("cursor", Buffer.from(`${at}.${id}`, "latin1").toString("base64url"));
  return `</api/v1/transactions?${parameters}>; rel="next"`;
}

const badQuery = (name: string): Answer =>
  problemAnswer("query_invalid", { field: name.slice(0, 64).replace(/[^\x21-\x7e]/g, "?") });

/** Returns an answer that names the first unknown parameter; null if all are known. */
export function refuseUnknownParameter(query: Query, known: readonly string[]): Answer | null {
  const unknown = Object.keys(query).find((name) => !known.includes(name));
  return unknown === undefined ? null : badQuery(unknown);
}

/** The filter of the query, or an answer that names the parameter that cannot be read. */
function filterOf(service: Service, merchant: string, query: Query): TransactionFilter | Answer {
  const unknown = refuseUnknownParameter(query, listParameterNames);
  if (unknown !== null) return unknown;
  let filter: TransactionFilter = { merchant };
  for (const [name, rule] of Object.entries(rules)) {
    const text = query[name];
    if (text === undefined) continue;
    const part = typeof text === "string" ? rule(text, service) : null;
    if (part === null) return badQuery(name);
    filter = { ...filter, ...part };
  }
  return filter;
}

/** The parts of a request that a list depends on. */
interface ListRequest {
  readonly headers: { readonly accept?: string | undefined };
  readonly isInterface: boolean; // the interface's fields alone
}

/** The form of a list: the text before, between and after its records. */
interface Form {
  readonly type: string;
  readonly head: string;
  readonly between: string;
  readonly tail: string;
  readonly write: (record: object) => string;
}

const jsonForm: Form = {
  type: "application/json; charset=utf-8",
  head: "[",
  between: ",",
  tail: "]",
  write: JSON.stringify,
};
const interfaceForm: Form = {
  ...jsonForm,
  write: (record) => JSON.stringify(keepInterfaceFields("transaction", record)),
};
const csvForm = (table: CsvTable): Form => ({
  type: csvType,
  head: csvHead(table),
  between: "",
  tail: "",
  write: (record) => csvLine(table, record),
});

/**
 * The complete list, some rows at a time. Each part is read after the previous part was sent, from
 * the position of its last row. A record made meanwhile is not included, no record comes twice, and
 * no write waits for a slow reader.
 */
function* textOf(service: Service, filter: TransactionFilter, form: Form): Generator<string> {
  let last: RecordRow | null = null;
  let before = form.head;
  do {
    const rows: readonly RecordRow[] = listTransactionRows(
      service.store.database,
      last === null ? filter : { ...filter, after: placeIn(filter, last) },
      partRows,
    );
    last = rows.length < partRows ? null : (rows[rows.length - 1] ?? null);
    const text = rows.map((row) => writeRecord(row, service, form.write)).join(form.between);
    if (text !== "") {
      yield `${before}${text}`;
      before = form.between;
    }
  } while (last !== null);
  yield before === form.head ? `${form.head}${form.tail}` : form.tail;
}

/**
 * All of a merchant's records that the query selects, or one page if `limit` or the operator's
 * `limits.listMax` is set; as CSV if `Accept` asks for CSV.
 */
export function listTransactions(
  service: Service,
  merchant: string,
  query: Query,
  asked: ListRequest,
): Answer {
  const filter = filterOf(service, merchant, query);
  if (isAnswer(filter)) return filter;
  const table = csvTableOf(asked.headers.accept);
  if (table === "malformed") return problemAnswer("request_invalid", { field: "Accept" });
  const form = table === null ? (asked.isInterface ? interfaceForm : jsonForm) : csvForm(table);
  const vary = { Vary: "Accept-Language, Accept" };
  const limit =
    typeof query.limit === "string" ? Number(query.limit) : service.config.limits.listMax;
  if (limit === 0) return listAnswer(textOf(service, filter, form), form.type, vary);
  const rows = listTransactionRows(service.store.database, filter, limit + 1);
  const page = rows.slice(0, limit);
  const last = page[page.length - 1];
  const link: Record<string, string> =
    rows.length > limit && last !== undefined
      ? { Link: nextPage(query, placeIn(filter, last)) }
      : {};
  const text = page.map((row) => writeRecord(row, service, form.write)).join(form.between);
  return listAnswer([`${form.head}${text}${form.tail}`], form.type, { ...vary, ...link });
}
