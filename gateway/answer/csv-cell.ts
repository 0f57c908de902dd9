/**
 * One cell of a CSV text. A spreadsheet must not take any part of a text for a formula, whichever
 * character separates its cells: a comma, a semicolon (German and Turkish settings) or a tab.
 * Sources: RFC 4180; OWASP, CSV injection.
 */

/**
 * A sign that begins a formula, also in full-width form, at the beginning of the text or of a part,
 * even after spaces.
 */
const formula = /(^|[;\t\r\n])([\u0020\u00a0\u3000]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/**
 * Returns "" for undefined; a value that is no text becomes JSON. A formula sign gets an apostrophe
 * before it.
 */
export function csvCell(value: unknown): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = text.replace(formula, "$1'$2");
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
