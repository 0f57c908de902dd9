/**
 * The rows of `npm run repairs` fit the code: the place of each patch stands once in its file, and
 * the test that it names is there. The run of each is the command's.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { describe, expect, it } from "vitest";
import { takeOut } from "../../lab/repairs/copy.ts";
import { repairs } from "../../lab/repairs/rows.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The code with a row's mend taken out; null where the row does not fit its file. */
function withoutMend(row: (typeof repairs)[number]): string | null {
  return takeOut(row, readFileSync(join(root, row.file), "utf8"));
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
    expect(takeOut({ find: "a", replace: "b" }, "a c")).toBe("b c");
    expect(takeOut({ find: "a", replace: "b" }, "a a")).toBeNull();
    expect(takeOut({ find: "a", replace: "b" }, "c")).toBeNull();
  });
});
