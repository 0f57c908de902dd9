/**
 * The two tiers of tests: the long one runs all that the quick one runs and more, and nothing that
 * the tree of 4d8fbe51 tested is lost. Its titles are kept in test/runner/titles-4d8fbe51.txt.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { renamedTests } from "../runner/renamed.ts";
import { checkerFiles, isLongOnly, type LongRow, longRows } from "../runner/tiers.ts";
import { nameOf, readTitles } from "../runner/titles.ts";

const tests = fileURLToPath(new URL("..", import.meta.url));
const files = readdirSync(tests, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => name.replace(/\.test\.ts$/, ""));
const written = new Map(
  files.map((file) => [
    file,
    readTitles(readFileSync(join(tests, `${file}.test.ts`), "utf8")).map(nameOf),
  ]),
);

/** Whether the quick tier runs a whole test file, or all of it but some. */
function isInQuick(file: string, name: string): boolean {
  const wholly = longRows.some((row) => row.file === file && row.titles === undefined);
  return !wholly && !checkerFiles.includes(file) && !isLongOnly(file, name);
}

/** A name's part before the first value that only a run knows. */
function fixedPart(name: string): string {
  return name.split(/%[sdijo]|\$\{?\w*\}?|\$\w+/)[0] ?? "";
}

/** The names that a row's beginning stands for, some of them with values that only a run knows. */
function namesOf(file: string, beginning: string): readonly string[] {
  return (written.get(file) ?? []).filter(
    (name) =>
      name.startsWith(beginning) ||
      (fixedPart(name) !== "" && beginning.startsWith(fixedPart(name))),
  );
}

function troubleOf({ file, titles, twin, why }: LongRow): string | null {
  if (!written.has(file)) return `${file} is no test file`;
  const lost = titles?.find((title) => namesOf(file, title).length === 0);
  if (lost !== undefined) return `${file} has no test ${lost}`;
  if (!namesOf(twin.file, twin.title).some((name) => isInQuick(twin.file, name))) {
    return `the twin ${twin.file}: ${twin.title} is not in the quick tier`;
  }
  return why.length < 20 ? `${file}: no reason` : null;
}

describe("the quick tier", () => {
  it("leaves out only tests that are there, each with a twin that it runs", () => {
    expect(longRows.map(troubleOf).filter((trouble) => trouble !== null)).toEqual([]);
  });

  it("leaves the tests of the checks to npm run check", () => {
    expect(checkerFiles.filter((file) => !written.has(file))).toEqual([]);
    expect(readFileSync(join(tests, "..", "scripts", "check.js"), "utf8")).toContain(
      '"check-checkers.js"',
    );
  });

  it("is refused a row without a test, and a twin that it does not run", () => {
    const [row] = longRows;
    if (row === undefined) throw new Error("no rows");
    expect(troubleOf({ ...row, titles: ["nobody > wrote this"] })).toMatch(/has no test/);
    expect(troubleOf({ ...row, twin: { file: "system/crash", title: "crypto pays" } })).toMatch(
      /is not in the quick tier/,
    );
    expect(troubleOf({ ...row, file: "system/nothing" })).toMatch(/is no test file/);
  });
});

describe("the long tier", () => {
  it("has each test of 4d8fbe51", () => {
    const lost: string[] = [];
    let file = "";
    for (const line of readFileSync(join(tests, "runner", "titles-4d8fbe51.txt"), "utf8").split(
      "\n",
    )) {
      if (line === "") continue;
      if (!line.startsWith(" ")) {
        file = line;
        continue;
      }
      const name = line.slice(1);
      const now = renamedTests[`${file}: ${name}`] ?? { file, name };
      if (written.get(now.file)?.includes(now.name) !== true) lost.push(`${file}: ${name}`);
    }
    expect(lost).toEqual([]);
  });

  it("names only tests that had another name once", () => {
    const stale = Object.entries(renamedTests).filter(
      ([, { file, name }]) => written.get(file)?.includes(name) !== true,
    );
    expect(stale.map(([old]) => old)).toEqual([]);
    expect(existsSync(join(tests, "runner", "tiers.ts"))).toBe(true);
  });
});
