/**
 * The list as CSV, for bookkeeping programs and for people's spreadsheets: the fields of the record
 * as columns, always the same and in the same order. Sources: RFC 4180; RFC 9110 section 12.5.1
 * (Accept).
 */
import {
  type CsvTable,
  csvHeadOf,
  csvLineOf,
  csvTableForPeople,
  csvTableForPrograms,
  type SeparatorName,
  separatorByName,
} from "../answer/csv-cell.ts";
import { csvColumns } from "../answer/record.ts";

export const csvType = "text/csv; charset=utf-8; header=present";

export const csvHead = (table: CsvTable): string => csvHeadOf(table, csvColumns);

/** One record as a line. */
export function csvLine(table: CsvTable, record: object): string {
  const values = record as Readonly<Record<string, unknown>>;
  return csvLineOf(
    table,
    csvColumns.map((name) => values[name]),
  );
}

const rangesMax = 32;

interface Range {
  readonly type: string;
  readonly weight: number;
  readonly parameters: ReadonlyMap<string, string>;
}

function rangeOf(text: string): Range {
  const [type = "", ...rest] = text.split(";").map((part) => part.trim().toLowerCase());
  const parameters = new Map(
    rest.map((part) => {
      const [name = "", value = ""] = part.split("=", 2).map((side) => side.trim());
      return [name, value.replace(/^"(.*)"$/, "$1")];
    }),
  );
  const q = parameters.get("q");
  return { type, weight: q === undefined ? 1 : Number(q) || 0, parameters };
}

/**
 * The table that an Accept header asks for: null if it does not name text/csv, or gives JSON a
 * greater weight; "malformed" for a table or a separator that does not exist. `text/csv` is the
 * table for programs; `text/csv;for=people` the one for people, with `separator=semicolon` (the
 * default), `comma` or `tab`.
 */
export function csvTableOf(accept: string | undefined): CsvTable | null | "malformed" {
  const ranges = (accept ?? "").split(",").slice(0, rangesMax).map(rangeOf);
  const byType = new Map(ranges.map((range) => [range.type, range]));
  const csv = byType.get("text/csv");
  if (
    csv === undefined ||
    csv.weight <= 0 ||
    csv.weight < (byType.get("application/json")?.weight ?? 0)
  )
    return null;
  const [reader = "programs", separator] = [
    csv.parameters.get("for"),
    csv.parameters.get("separator"),
  ];
  if (reader === "programs" && separator === undefined) return csvTableForPrograms;
  const name = separator ?? "semicolon";
  return reader === "people" && Object.hasOwn(separatorByName, name)
    ? csvTableForPeople(name as SeparatorName)
    : "malformed";
}
