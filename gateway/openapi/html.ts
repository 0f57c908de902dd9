/** Pieces of HTML, whose every text is escaped. */

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => escapes[character] ?? "");

/** Text in which `words` are code. */
export const proseHtml = (text: string): string =>
  escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");

export const codeHtml = (text: string): string => `<code>${escapeHtml(text)}</code>`;

/** A block of code. It may scroll, so the keyboard reaches it; `label` names it. */
export const blockHtml = (label: string, text: string): string =>
  `<pre tabindex="0" role="region" aria-label="${escapeHtml(label)}"><code>${escapeHtml(text)}</code></pre>`;

/** A table whose cells are HTML already; "" without rows. */
export function tableHtml(
  label: string,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  if (rows.length === 0) return "";
  const head = heads.map((text) => `<th scope="col">${escapeHtml(text)}</th>`).join("");
  const body = rows
    .map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`)
    .join("\n");
  return `<div class="wide" tabindex="0" role="region" aria-label="${escapeHtml(label)}"><table><thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>`;
}
