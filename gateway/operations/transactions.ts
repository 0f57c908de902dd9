/**
 * The operations that read records. A merchant sees only its own records; the id of another
 * merchant's record is not found. The list is complete and newest first, unless the query asks for
 * pages. The next page is in a Link header, so that the body stays the plain array of the
 * interface. Sources: the interface; RFC 8288 (Link); docs/api.md, All transactions.
 */

import { parseTimestampUtc } from "../../base/timestamp.ts";
import { currencyPattern, orderIdPattern, transactionIdPattern } from "../../protocol/fields.ts";
import { type Answer, dataAnswer, isAnswer, listAnswer, problemAnswer } from "../answer/answer.ts";
import type { CsvTable } from "../answer/csv-cell.ts";
import { keepInterfaceFields } from "../answer/interface-fields.ts";
import { writeRecord } from "../answer/record.ts";
import { type Json, listSchema, schemaReference, textSchema } from "../answer/schema.ts";
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
import { csvRecordsOf, csvTableOf, csvType } from "./csv.ts";
import {
  apiPath,
  badQuery,
  defineGet,
  isLimit,
  limitParameter,
  type Operation,
  type Query,
  type QueryParameter,
} from "./operation.ts";
import { transactionExample, transactionRecord } from "./records.ts";

/**
 * Rows in one part of the complete list: about ten kilobytes, and about two milliseconds in which
 * nothing else is served.
 */
const partRows = 50;
const cursorPattern = /^(\d{1,16})\.([0-9a-f]{32})$/;
const operationByType: ReadonlyMap<unknown, RecordOperation> = new Map([
  ["1", "deposit"],
  ["2", "withdraw"],
]);

function readTransaction(service: Service, merchant: string, id: string, query: Query): Answer {
  const operation = operationByType.get(query.transactionType);
  if (operation === undefined)
    return problemAnswer("transaction_type_invalid", { field: "transactionType" });
  if (!transactionIdPattern.test(id)) return problemAnswer("transaction_not_found");
  const row = readTransactionOf(service.store.database, { id, merchant, operation });
  return row === undefined
    ? problemAnswer("transaction_not_found")
    : dataAnswer(writeRecord(row, service, (record) => record));
}

type Filter = Omit<TransactionFilter, "merchant">;

/** A parameter of the list, and the part of the filter that it makes; null if it is malformed. */
interface ListParameter extends QueryParameter {
  readonly read: (text: string, service: Service) => Filter | null;
}

const typeSchema: Json = {
  type: "integer",
  enum: [1, 2],
  description: "1 deposits, 2 withdrawals.",
};
const time = (name: "from" | "to" | "changedFrom", description: string): ListParameter => ({
  schema: textSchema(description, { examples: ["2026-01-02", "2026-01-02T03:04:05.678Z"] }),
  read: (text) => {
    const at = parseTimestampUtc(text);
    return at === null ? null : { [name]: at };
  },
});

const listParameters: Readonly<Record<string, ListParameter>> = {
  transactionType: {
    schema: typeSchema,
    read: (text) => {
      const operation = operationByType.get(text);
      return operation === undefined ? null : { operation };
    },
  },
  status: {
    schema: { type: "integer", enum: [0, 1, 2] },
    read: (text) => (/^[012]$/.test(text) ? { status: Number(text) } : null),
  },
  currency: {
    schema: textSchema("A currency's id.", { pattern: currencyPattern.source, examples: ["eth"] }),
    read: (text, { config }) =>
      Object.hasOwn(config.currencies, text) ? { currency: text } : null,
  },
  orderId: {
    schema: textSchema("The caller's own reference.", {
      pattern: orderIdPattern.source,
      examples: ["out-77"],
    }),
    read: (text) => (orderIdPattern.test(text) ? { orderId: text } : null),
  },
  refundOf: {
    schema: textSchema("Withdrawals that pay this deposit back.", {
      pattern: transactionIdPattern.source,
      examples: ["4be38f3ee1a16e4cd1f1a3a8b4a0d9c2"],
    }),
    read: (text) => (transactionIdPattern.test(text) ? { refundOf: text } : null),
  },
  from: time("from", "Created then or later: ISO 8601 in UTC."),
  to: time("to", "Created before: ISO 8601 in UTC."),
  changedFrom: time(
    "changedFrom",
    "Changed then or later: ISO 8601 in UTC. The list is then in the order of changes, earliest first.",
  ),
  cursor: {
    schema: textSchema("The beginning of a page, as the Link header of the page before says."),
    read: (text) => {
      const [, at, id] =
        cursorPattern.exec(Buffer.from(text.slice(0, 128), "base64url").toString("latin1")) ?? [];
      if (at === undefined || id === undefined) return null;
      return { after: { at: Number(at), id } };
    },
  },
  limit: {
    ...limitParameter("Most records of a page; without it all come."),
    read: (text) => (isLimit(text) ? {} : null),
  },
};

/** The names of the list's parameters. */
export const listParameterNames: readonly string[] = Object.keys(listParameters);

function nextPage(query: Query, { at, id }: TransactionPlace): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (name !== "cursor") parameters.set(name, String(value));
  parameters.set("cursor", Buffer.from(`${at}.${id}`, "latin1").toString("base64url"));
  return `<${apiPath}/transactions?${parameters}>; rel="next"`;
}

/** The filter of the query, or an answer that names the parameter that cannot be read. */
function filterOf(service: Service, merchant: string, query: Query): TransactionFilter | Answer {
  let filter: TransactionFilter = { merchant };
  for (const [name, { read }] of Object.entries(listParameters)) {
    const text = query[name];
    if (text === undefined) continue;
    const part = typeof text === "string" ? read(text, service) : null;
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
function csvForm(table: CsvTable, { config }: Service): Form {
  const { head, line } = csvRecordsOf(table, config);
  return { type: csvType, head, between: "", tail: "", write: line };
}

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
  const plainForm = asked.isInterface ? interfaceForm : jsonForm;
  const form = table === null ? plainForm : csvForm(table, service);
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

export const transactionOperations: readonly Operation[] = [
  defineGet({
    id: "transaction",
    scope: "read",
    kind: "transaction",
    name: { en: "Transaction", tr: "Tek işlem" },
    description: "One deposit or withdrawal of the caller's merchant.",
    path: {
      transactionId: textSchema("Identifier of the transaction.", {
        examples: ["a7b92b8b4b5f7ad3c3d0f6c9b1f0f2e1"],
      }),
    },
    query: { transactionType: { schema: typeSchema, isRequired: true } },
    result: { schema: schemaReference(transactionRecord), example: transactionExample },
    codes: ["transaction_type_invalid", "transaction_not_found"],
    answer: (service, { caller, path, query }) =>
      readTransaction(service, caller.merchant.id, path.transactionId, query),
  }),
  defineGet({
    id: "transactions",
    scope: "read",
    kind: "transaction",
    name: { en: "All transactions", tr: "Bütün işlemler" },
    description:
      "Newest first, then by id; with `changedFrom` the earliest change first. Without parameters every record there is, sent while it is " +
      "read.",
    query: listParameters,
    result: {
      schema: listSchema(transactionRecord),
      example: [transactionExample],
      others: {
        "text/csv":
          "With `Accept: text/csv`: one record a line, the columns named in the first. `text/csv;for=people` is a table for spreadsheets: with " +
          "a byte order mark, `separator=semicolon`, `comma` or `tab`, `decimal=comma` or `point`, `timezone=UTC` or another name of IANA, " +
          "amounts as numbers, times as dates, and texts that stay texts.",
      },
      headers: {
        Link: {
          description: 'Leads to the next page, as `<…>; rel="next"`; absent on the last one.',
          schema: { type: "string" },
        },
      },
    },
    answer: (service, call) => listTransactions(service, call.caller.merchant.id, call.query, call),
  }),
];
