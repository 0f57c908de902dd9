/**
 * Pages whose tables a program writes: a section between two marks, of which the first names it.
 * People write all that stands outside the marks. Pure.
 */

/** The text of each section of one page by its name, without the empty lines around it. */
export type PageSections = Readonly<Record<string, string>>;

export interface FilledPage {
  readonly text: string;
  readonly problems: readonly string[]; // sentences; empty for a page whose marks fit its sections
}

const end = "<!-- end -->";
const begin = /^<!-- npm run docs: ([a-z-]+) -->$/;

/**
 * Fills each marked section of a page. A mark that no section has, a section without a mark or with
 * two, and a mark without its end are problems; the text is then of no use. Filling a filled page
 * again gives the same text.
 */
export function fillPage(page: string, sections: PageSections): FilledPage {
  const filled: string[] = [];
  const problems: string[] = [];
  const left = new Set(Object.keys(sections));
  let open: string | null = null;
  for (const line of page.split("\n")) {
    const name = begin.exec(line)?.[1] ?? null;
    if (name !== null) {
      if (open !== null) problems.push(`the section ${open} has no end`);
      if (!left.delete(name)) problems.push(`no table is named ${name}, or it stands there twice`);
      filled.push(line, "", sections[name] ?? "", "", end);
      open = name;
    } else if (line === end) {
      if (open === null) problems.push("an end stands behind no section");
      open = null;
    } else if (open === null) filled.push(line);
  }
  if (open !== null) problems.push(`the section ${open} has no end`);
  for (const name of left) problems.push(`the table ${name} has no place`);
  return { text: filled.join("\n"), problems };
}

/** A table; a bar and an angle bracket in a cell are escaped. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(head),
    `|${head.map(() => "---").join("|")}|`,
    ...rows.map((cells) => line(cells.map((cell) => cell.replace(/[|<]/g, "\\$&")))),
  ].join("\n");
}

/** A name as code. */
export const quote = (name: string): string => `\`${name}\``;
