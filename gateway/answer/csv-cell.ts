/**
 * One cell of a CSV text. A spreadsheet must take no part of a text for a formula, whichever
 * character separates its cells: a comma, a semicolon (German and Turkish settings) or a tab.
 * Sources: RFC 4180; OWASP, CSV injection.
 */

/**
 * A sign that begins a formula, also in its full-width form, at the beginning of the text or of a
 * piece of it, spaces before the sign included.
 */
const formula = /(^|[;\t\r\n])([\u0020\u00a0\u3000]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/**
 * Nothing for undefined; a value that is no text as JSON. A formula sign gets an apostrophe in
 * front.
 * @public
 */
export function csvCell(value: unknown): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = text.replace(formula, "$1'$2");
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
