/**
 * The pictures of docs/pictures: each stands on a page, is small, and is what a reader is told that
 * it is. `npm run pages -- --pictures` makes them.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { terminalOf } from "../../lab/pages/pictures.ts";

const folder = join(projectRoot, "docs", "pictures");
const names = readdirSync(folder);
const bytesMost = 100 * 1024;

const shownOn = (page: string): string[] =>
  [...readFileSync(join(projectRoot, page), "utf8").matchAll(/!\[[^\]]{20,}\]\(([^)]+)\)/g)].map(
    ([, path = ""]) => join(projectRoot, page, "..", path),
  );

describe("the pictures of the documents", () => {
  it("every picture is shown on a page with words for it, and every shown one is there", () => {
    const shown = ["README.md", "docs/api.md"].flatMap(shownOn);
    expect([...new Set(shown)].sort()).toEqual(names.map((name) => join(folder, name)).sort());
    expect(names.length).toBeGreaterThan(2);
  });

  it("every picture is small, a page as wide as a phone, and the terminal as the script draws it", () => {
    for (const name of names) {
      const path = join(folder, name);
      expect(statSync(path).size, name).toBeLessThan(bytesMost);
      const bytes = readFileSync(path);
      // PNG, section 11.2.2: the width stands at byte 16.
      if (name.endsWith(".png"))
        expect([bytes.toString("latin1", 1, 4), bytes.readUInt32BE(16)], name).toEqual([
          "PNG",
          360,
        ]);
      else expect(bytes.toString("utf8"), name).not.toMatch(/<script|href=|\/tmp\//);
    }
  });

  it("the terminal's picture has its text as it is, with each sign escaped", () => {
    const drawn = terminalOf("$ autowithdraw verify\n  a <b> & c");
    expect(drawn).toContain(">$ autowithdraw verify</text>");
    expect(drawn).toContain(">  a &lt;b> &amp; c</text>");
    const terminal = readFileSync(join(folder, "terminal.svg"), "utf8");
    const texts = [...terminal.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text]) => text);
    expect(texts).toContain("$ autowithdraw withdrawals");
    expect(texts).toContain("the ledger is whole");
    expect(terminalOf(texts.join("\n").replaceAll("&lt;", "<").replaceAll("&amp;", "&"))).toBe(
      terminal,
    );
  });
});
