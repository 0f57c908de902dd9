/**
 * `npm run docs`: the tables of docs/ are what it writes, marks and tables fit each other, and a
 * table is marked without a change of what stands around it.
 */
import { describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { fillPage, markdownTable } from "../../packaging/docs/marked-pages.ts";
import { makePages, makeSections } from "../../packaging/docs/pages.ts";

describe("the tables of docs/", () => {
  it("are what npm run docs writes", async () => {
    const sections = await makeSections(projectRoot);
    const { pages, problems } = makePages(projectRoot, sections);
    expect(problems).toEqual([]);
    expect(pages.length).toBeGreaterThan(15);
    for (const { path, before, after } of pages) expect(before, path).toBe(after);
    const [, rows = ""] = sections["errors.md"]?.codes?.split("JSON_SYNTAX") ?? [];
    const wrong = makePages(projectRoot, { ...sections, "errors.md": { codes: rows, causes: "" } });
    expect(wrong.pages.filter(({ before, after }) => before !== after)).toMatchObject([
      { path: "docs/errors.md" },
    ]);
  });

  it("without a page, a place or an end are named, and so is a place without a table", async () => {
    const page = "by hand\n<!-- npm run docs: one -->\n\nold\n\n<!-- end -->\n\nmore by hand\n";
    const filled = page.replace("old", "new");
    expect(fillPage(page, { one: "new" })).toEqual({ text: filled, problems: [] });
    expect(fillPage(filled, { one: "new" }).text).toBe(filled);
    const problemsOf = (text: string, sections: Readonly<Record<string, string>>) =>
      fillPage(text, sections).problems;
    expect(problemsOf(page, {})).toEqual(["no table is named one, or it stands there twice"]);
    expect(problemsOf(`${page}${page}`, { one: "" })).toEqual([
      "no table is named one, or it stands there twice",
    ]);
    expect(problemsOf(page, { one: "", two: "" })).toEqual(["the table two has no place"]);
    expect(problemsOf(page.replace("<!-- end -->", ""), { one: "" })).toEqual([
      "the section one has no end",
    ]);
    expect(problemsOf("<!-- end -->", {})).toEqual(["an end stands behind no section"]);
    const missing = makePages(projectRoot, { "none.md": {} }).problems;
    expect(missing.some((problem) => problem.endsWith("/none.md is not there"))).toBe(true);
  });

  it("escape what would end a cell", () => {
    expect(markdownTable(["a"], [["x | <y>"]])).toBe("| a |\n|---|\n| x \\| \\<y> |");
  });
});
