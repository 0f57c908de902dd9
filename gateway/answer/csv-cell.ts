/**
 * One cell of a CSV text. A text that a spreadsheet would take for a formula gets an apostrophe in
 * front. Sources: RFC 4180; OWASP, CSV injection.
 */

const formula = /^[=+\-@\t\r]/;

/**
 * Nothing for undefined; whatever is no text as JSON.
 * @public
 */
export function csvCell(value: unknown): string {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = formula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
