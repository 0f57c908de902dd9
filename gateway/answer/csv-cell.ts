/**
 * Cells of two kinds of CSV table: pure. The table for programs keeps each value as it is. The
 * table for people is opened in a spreadsheet by a double click: a byte order mark says UTF-8, the
 * separator and the decimal mark are those of the reader's settings, amounts are numbers, times are
 * dates, and a text that a spreadsheet would turn into a number or a date stays a text. The column
 * says of which kind a value is, never its looks, so no text of a shop becomes a number. In neither
 * table a spreadsheet takes any part of a text for a formula, whichever character separates its
 * cells: a comma, a semicolon (German and Turkish settings) or a tab. Sources: RFC 4180; OWASP, CSV
 * injection.
 */
import { decimalMax } from "../../protocol/amount.ts";
import { isTimeZone, roundDecimal, sheetTimeWriter } from "./sheet-values.ts";

/** The separators of a table for people, by their names. */
export const separatorByName = { semicolon: ";", comma: ",", tab: "\t" } as const;
export type SeparatorName = keyof typeof separatorByName;

/** The decimal marks of a table for people, by their names. */
export const decimalMarkByName = { comma: ",", point: "." } as const;
export type DecimalMarkName = keyof typeof decimalMarkByName;

/**
 * A column's values in a table for people. `text`: of a shop, or any other. `word`: of a vocabulary
 * of the gateway's own, such as a stage or a currency's id. `amount`, `sum`, `price`: a decimal
 * text becomes a number; an amount and a sum are rounded, and a second column after an amount has
 * all its digits as text. `count`, `flag`: a whole number, a truth value of the gateway's own.
 * `time`: a time in UTC becomes a date with the time of day. `day`: a date in UTC. A value of
 * another form is written as a text.
 */
export type CellKind =
  | "text"
  | "word"
  | "amount"
  | "sum"
  | "price"
  | "count"
  | "flag"
  | "time"
  | "day";

/** The columns of a table: their names, in order, with their kinds. */
export type CsvColumns = Readonly<Record<string, CellKind>>;

export interface CsvTable {
  readonly reader: "programs" | "people";
  readonly mark: string; // before the first cell
  readonly separator: string;
  readonly cell: (value: unknown, kind: CellKind) => string;
}

/**
 * A sign that begins a formula, also in full-width form, at the beginning of the text or of a part,
 * even after spaces.
 */
const formula = /(^|[;\t\r\n])([\u0020\u00a0\u3000]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
/** The same where a reader may also have chosen the comma. */
const formulaInAnyPart =
  /(^|[,;\t\r\n])([\u0020\u00a0\u3000]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const quoted = (text: string): string =>
  /[",;\t\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;

/**
 * Returns "" for undefined; a value that is no text becomes JSON. A formula sign gets an apostrophe
 * before it.
 */
export function csvCell(value: unknown): string {
  return value === undefined ? "" : quoted(textOf(value).replace(formula, "$1'$2"));
}

/**
 * Only such texts can be a number, a date, a time, a sum of money or a truth value to a
 * spreadsheet, with any settings: `1,5`, `5 %`, `1. Mai`, `DOĞRU`. None has a quotation mark, a
 * semicolon, a tab or a sign of a formula after a comma.
 */
const plainText = /^(?!.*, *[+-])[\p{L}\p{N}\p{Sc}_.:/+,'’%‰()# \u00a0\u202f-]{1,128}$/u;
const seemsNumber = (text: string): boolean => /\p{N}/u.test(text) && !/^0[a-df-z]/i.test(text);
/** A truth value has a word of its own in each language. */
const seemsTruth = (text: string): boolean => /^[\p{L}\p{M}]+$/u.test(text);
const seemsEnglishTruth = (text: string): boolean => /^(?:true|false)$/i.test(text);

/**
 * Like `csvCell`, and writes a text that a spreadsheet would take for a number, a date or a truth
 * value as `="TEXT"`, which a spreadsheet shows as that text. Such a text has no quotation mark, so
 * the formula is always this one constant. A word of the gateway's own is a truth value in no
 * language but English.
 */
function peopleText(value: unknown, kind: CellKind): string {
  const text = textOf(value);
  const isTruth = kind === "word" ? seemsEnglishTruth : seemsTruth;
  return quoted(
    plainText.test(text) && (isTruth(text) || seemsNumber(text))
      ? `="${text}"`
      : text.replace(formulaInAnyPart, "$1'$2"),
  );
}

export const csvTableForPrograms: CsvTable = {
  reader: "programs",
  mark: "",
  separator: ",",
  cell: csvCell,
};

/** Settings of a table for people as a reader names them. */
export interface PeopleSettings {
  readonly separator?: string | undefined; // a SeparatorName; semicolon unless told
  readonly decimal?: string | undefined; // a DecimalMarkName; comma unless the separator is one
  readonly timezone?: string | undefined; // zone of the times; UTC unless told
}

/** The settings' names. */
export const peopleSettingNames = ["separator", "decimal", "timezone"] as const;

/** Fraction digits of an amount and of a sum. */
const amountDecimal = 8;
const dayText = /^[1-9]\d{3}-\d{2}-\d{2}$/;

/** A value of each kind as a spreadsheet takes it for a value; null for one of another form. */
type BareWriters = Readonly<
  Record<Exclude<CellKind, "text" | "word">, (value: unknown) => string | null>
>;

function bareWriters(mark: string, timezone: string): BareWriters {
  const ofText = (write: (text: string) => string | null) => (value: unknown) =>
    typeof value === "string" ? write(value) : null;
  const rounded = (decimal: number) =>
    ofText((text) => roundDecimal(text, decimal)?.replace(".", mark) ?? null);
  return {
    amount: rounded(amountDecimal),
    sum: rounded(amountDecimal),
    price: rounded(decimalMax),
    count: (value) => (Number.isSafeInteger(value) ? String(value) : null),
    flag: (value) => (typeof value === "boolean" ? String(value) : null),
    time: ofText(sheetTimeWriter(timezone)),
    day: ofText((text) => (dayText.test(text) ? text : null)),
  };
}

/** The table for people with these settings; null if one of them does not exist. */
export function csvTableForPeople({
  separator: name = "semicolon",
  decimal = name === "comma" ? "point" : "comma",
  timezone = "UTC",
}: PeopleSettings): CsvTable | null {
  if (!Object.hasOwn(separatorByName, name) || !Object.hasOwn(decimalMarkByName, decimal))
    return null;
  if (!isTimeZone(timezone)) return null;
  const separator = separatorByName[name as SeparatorName];
  const bare = bareWriters(decimalMarkByName[decimal as DecimalMarkName], timezone);
  const cell = (value: unknown, kind: CellKind): string => {
    if (value === undefined) return "";
    const written = kind === "text" || kind === "word" ? null : bare[kind](value);
    if (written === null) return peopleText(value, kind);
    return written.includes(separator) ? `"${written}"` : written;
  };
  return { reader: "people", mark: "\ufeff", separator, cell };
}

/** The text of a table, piece by piece. */
export interface CsvWriter {
  readonly head: string; // the first line, with the names of the columns, after the mark
  readonly line: (row: Readonly<Record<string, unknown>>) => string; // values by their columns
}

/** Writes rows in these columns. A value that a row lacks is empty. */
export function csvWriterOf(table: CsvTable, columns: CsvColumns): CsvWriter {
  const { reader, mark, separator, cell } = table;
  const cells = Object.entries(columns).flatMap(([name, kind]) => [
    { title: name, name, kind },
    ...(reader === "people" && kind === "amount"
      ? [{ title: `${name}Exact`, name, kind: "text" as const }]
      : []),
  ]);
  return {
    head: `${mark}${cells.map(({ title }) => title).join(separator)}\r\n`,
    line: (row) => `${cells.map(({ name, kind }) => cell(row[name], kind)).join(separator)}\r\n`,
  };
}
