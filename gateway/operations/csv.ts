/**
 * The list as CSV, for bookkeeping programs and for people's spreadsheets: the fields of the record
 * as columns, always the same and in the same order. Sources: RFC 4180; RFC 9110 section 12.5.1
 * (Accept).
 */
import {
  type CsvTable,
  csvTableForPeople,
  csvTableForPrograms,
  csvWriterOf,
  peopleSettingNames,
} from "../answer/csv-cell.ts";
import { recordColumnsOf, recordRowOf } from "../answer/record-columns.ts";
import { nativeCurrencyOf } from "../balance/funds.ts";
import type { GatewayConfig } from "../config/config.ts";

export const csvType = "text/csv; charset=utf-8; header=present";

/** The text of a table of records: its head, and a record as a line. */
export function csvRecordsOf(
  table: CsvTable,
  config: Pick<GatewayConfig, "currencies">,
): { readonly head: string; readonly line: (record: object) => string } {
  const { head, line } = csvWriterOf(table, recordColumnsOf(table));
  const feeAssetOn = (network: string): string => nativeCurrencyOf(config, network)?.id ?? "";
  return { head, line: (record) => line(recordRowOf(table, record, feeAssetOn)) };
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
 * greater weight; "malformed" for a table or a setting that does not exist. `text/csv` is the table
 * for programs; `text/csv;for=people` the one for people, with the settings of `PeopleSettings` as
 * parameters, in any case.
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
  const settings = Object.fromEntries(
    peopleSettingNames.map((name) => [name, csv.parameters.get(name)]),
  );
  const reader = csv.parameters.get("for") ?? "programs";
  if (reader === "people") return csvTableForPeople(settings) ?? "malformed";
  const isPlain = Object.values(settings).every((setting) => setting === undefined);
  return reader === "programs" && isPlain ? csvTableForPrograms : "malformed";
}
