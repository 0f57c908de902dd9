/**
 * The rows of `npm run repairs` fit the code: the place of each patch stands once in its file, and
 * the test that it names is there. The run of each is the command's.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { describe, expect, it } from "vitest";
import { patchText } from "../../lab/kit/patch.ts";
import { type ReportedFile, readFailed, readVerdict } from "../../lab/repairs/copy.ts";
import { repairs } from "../../lab/repairs/rows.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The code with a row's mend taken out; null where the row does not fit its file. */
function withoutMend(row: (typeof repairs)[number]): string | null {
  return patchText(readFileSync(join(root, row.file), "utf8"), row);
}

describe("the repairs", () => {
  it("have names of their own, and each a test file", () => {
    expect(new Set(repairs.map(({ name }) => name)).size).toBe(repairs.length);
    expect(
      repairs.filter(({ name }) => !/^[a-z0-9]+(-[a-z0-9]+)+$/.test(name)).map(({ name }) => name),
    ).toEqual([]);
    expect(
      repairs.filter(({ test }) => !existsSync(join(root, test))).map(({ name }) => name),
    ).toEqual([]);
  });

  it("are each taken out of one place, and what is left is a program", () => {
    const misfits = repairs.filter((row) => {
      const text = withoutMend(row);
      if (text === null || row.find === row.replace) return true;
      if (!/\.tsx?$/.test(row.file)) return false;
      try {
        transformSync(text, {
          loader: row.file.endsWith("x") ? "tsx" : "ts",
          target: "es2022",
          logLevel: "silent",
        });
        return false;
      } catch {
        return true;
      }
    });
    expect(misfits.map(({ name }) => name)).toEqual([]);
  });

  it("a place that is not there, or stands twice, is told", () => {
    expect(patchText("a c", { find: "a", replace: "b" })).toBe("b c");
    expect(patchText("a a", { find: "a", replace: "b" })).toBeNull();
    expect(patchText("c", { find: "a", replace: "b" })).toBeNull();
    expect(patchText("c", { find: "", replace: "b" })).toBeNull();
  });
});

describe("a patch", () => {
  const find = "pay(one, { units: 1n });";

  it("finds its place in another layout, and leaves all around it", () => {
    const text = "begin();\n  pay(\n    one,\n    { units: 1n },\n  );\nend();\n";
    expect(patchText(text, { find, replace: "keep();" })).toBe("begin();\n  keep();\nend();\n");
  });

  it("takes the place that stands to the letter before one in another layout", () => {
    const text = `pay(\n  one, { units: 1n });\n${find}\n`;
    expect(patchText(text, { find, replace: "keep();" })).toBe(
      "pay(\n  one, { units: 1n });\nkeep();\n",
    );
  });

  it("has no place where a comma separates, where it stands twice in other layouts, or where a word differs", () => {
    expect(patchText("pay(one { units: 1n });", { find, replace: "" })).toBeNull();
    expect(
      patchText("pay(one,{ units: 1n }); pay( one, { units: 1n });", { find, replace: "" }),
    ).toBeNull();
    expect(patchText("pay(one, { units: 2n });", { find, replace: "" })).toBeNull();
  });
});

describe("the report of a test file", () => {
  const row = { test: "test/a.test.ts", title: "pays once" };
  const reported = (
    status: string,
    tests: readonly (readonly [string, string])[],
    message = "",
  ): ReportedFile => ({
    ...{ name: "/tree/test/a.test.ts", status, message },
    assertionResults: tests.map(([fullName, of]) => ({ fullName, status: of })),
  });

  it("is red where a test with the title fails, and green where it passes", () => {
    expect(readVerdict([reported("failed", [["an agent pays once", "failed"]])], row)).toBe("red");
    const others = reported("failed", [
      ["an agent pays once", "passed"],
      ["an agent waits", "failed"],
    ]);
    expect(readVerdict([others], row)).toBe("test/a.test.ts stays green");
  });

  it("has no test of the title where all that have it are left out", () => {
    expect(readVerdict([reported("passed", [["an agent pays once", "skipped"]])], row)).toBeNull();
    expect(readVerdict([reported("passed", [["an agent waits", "passed"]])], row)).toBeNull();
  });

  it("tells a file that does not load from a title that is missing", () => {
    const unloaded = reported("failed", [], "Class extends value #<Object>\n at tronweb.ts");
    const trouble = "the test file does not load: Class extends value #<Object>";
    expect(readVerdict([unloaded], row)).toBe(`test/a.test.ts: ${trouble}`);
    expect(readFailed([unloaded])).toEqual([{ file: "/tree/test/a.test.ts", name: trouble }]);
  });

  it("names each failed test of a file that loads", () => {
    const failed = reported("failed", [
      ["an agent pays once", "failed"],
      ["an agent waits", "passed"],
    ]);
    expect(readFailed([failed])).toEqual([
      { file: "/tree/test/a.test.ts", name: "an agent pays once" },
    ]);
  });
});
