/** Pieces of HTML, whose every text is escaped. */

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export const plain = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => escapes[character] ?? "");

/** Text in which `words` are code. */
export const prose = (text: string): string => plain(text).replace(/`([^`]+)`/g, "<code>$1</code>");

export const code = (text: string): string => `<code>${plain(text)}</code>`;

/** A block of code. It may scroll, so the keyboard reaches it; `label` names it. */
export const block = (label: string, text: string): string =>
  `<pre tabindex="0" role="region" aria-label="${plain(label)}"><code>${plain(text)}</code></pre>`;

/** A table whose cells are HTML already; "" without rows. */
export function table(
  label: string,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  if (rows.length === 0) return "";
  const head = heads.map((text) => `<th scope="col">${plain(text)}</th>`).join("");
  const body = rows
    .map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`)
    .join("\n");
  return `<div class="wide" tabindex="0" role="region" aria-label="${plain(label)}"><table><thead><tr>${head}</tr></thead>
<tbody>${body}</tbody></table></div>`;
}
