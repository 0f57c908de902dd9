/**
 * Cells of two kinds of CSV table: pure. The table for programs keeps each value as it is. The
 * table for people is opened in a spreadsheet by a double click: a byte order mark says UTF-8, the
 * separator is the one of the reader's settings, and a text that a spreadsheet would turn into a
 * number or a date stays a text. In neither table a spreadsheet takes any part of a text for a
 * formula, whichever character separates its cells: a comma, a semicolon (German and Turkish
 * settings) or a tab. Sources: RFC 4180; OWASP, CSV injection.
 */

/** The separators of a table for people, by their names. */
export const separatorByName = { semicolon: ";", comma: ",", tab: "\t" } as const;
export type SeparatorName = keyof typeof separatorByName;

export interface CsvTable {
  readonly mark: string; // before the first cell
  readonly separator: string;
  readonly cell: (value: unknown) => string;
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

/** Only such texts can be a number, a date, a time or a truth value to a spreadsheet. */
const plainText = /^[\w.:/+-]{1,64}$/;
const seemsValue = (text: string): boolean =>
  plainText.test(text) &&
  (/^(?:true|false)$/i.test(text) ||
    (/\d/.test(text) && !/^0[a-df-z]/i.test(text) && !/^[^.]*T[^.]*\.\d+Z$/.test(text)));

/**
 * Like `csvCell`, and writes a text that a spreadsheet would take for a number, a date or a truth
 * value as `="TEXT"`, which a spreadsheet shows as that text. Such a text has no quotation mark and
 * no separator, so the formula is always this one constant.
 */
function peopleCell(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string" && seemsValue(value)) return quoted(`="${value}"`);
  return quoted(textOf(value).replace(formulaInAnyPart, "$1'$2"));
}

export const csvTableForPrograms: CsvTable = { mark: "", separator: ",", cell: csvCell };

export const csvTableForPeople = (separator: SeparatorName): CsvTable => ({
  mark: "\ufeff",
  separator: separatorByName[separator],
  cell: peopleCell,
});

/** The first line with the names of the columns, after the mark. */
export const csvHeadOf = ({ mark, separator }: CsvTable, columns: readonly string[]): string =>
  `${mark}${columns.join(separator)}\r\n`;

/** One line of values, in the order of the columns. */
export const csvLineOf = ({ separator, cell }: CsvTable, values: readonly unknown[]): string =>
  `${values.map(cell).join(separator)}\r\n`;
