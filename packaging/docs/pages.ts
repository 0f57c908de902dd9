/**
 * The pages of docs/ whose tables say what a table of the program says, and what writes them.
 * `npm run docs` writes them, and a test and `npm run check` compare.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { apiSections } from "./api-tables.ts";
import { fillPage, type PageSections } from "./marked-pages.ts";
import {
  alertSections,
  chainSections,
  errorSections,
  eventSections,
  stateSections,
} from "./operator-tables.ts";
import { roomSections } from "./rooms-tables.ts";

/** The sections of each page that has any, by the page's file name. */
export async function makeSections(root: string): Promise<Readonly<Record<string, PageSections>>> {
  return {
    "alerts.md": alertSections(),
    "api.md": apiSections(),
    "architecture.md": roomSections(root),
    "chains.md": chainSections(),
    "errors.md": errorSections(root),
    "events.md": await eventSections(),
    "states.md": stateSections(),
  };
}

export interface MadePage {
  readonly path: string; // from the tree's root
  readonly before: string;
  readonly after: string;
}

/**
 * Every page of docs/ below `root`, as it stands and as `sections` make it; problems are marks that
 * fit no table, and tables without a mark. Reads only.
 */
export function makePages(
  root: string,
  sections: Readonly<Record<string, PageSections>>,
): { readonly pages: readonly MadePage[]; readonly problems: readonly string[] } {
  const names = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  const problems = Object.keys(sections)
    .filter((name) => !names.includes(name))
    .map((name) => `docs/${name} is not there`);
  const pages = names.map((name) => {
    const path = `docs/${name}`;
    const before = readFileSync(join(root, path), "utf8");
    const filled = fillPage(before, sections[name] ?? {});
    problems.push(...filled.problems.map((problem) => `${path}: ${problem}`));
    return { path, before, after: filled.text };
  });
  return { pages, problems };
}
