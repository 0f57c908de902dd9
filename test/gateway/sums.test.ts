/**
 * `npm run check` finds a function that counts a balance of its own beside the journal, and takes
 * other sums for what they are.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/sums.js", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "aw-sums-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The verdict of the check on these texts, each a file of the store. */
function judge(texts: readonly string[]): { readonly ok: boolean; readonly said: string[] } {
  const store = join(root, "gateway", "store");
  rmSync(root, { recursive: true, force: true });
  mkdirSync(store, { recursive: true });
  for (const [at, text] of texts.entries()) writeFileSync(join(store, `file-${at}.ts`), text);
  const done = spawnSync(process.execPath, [script, root], { encoding: "utf8" });
  return { ok: done.status === 0, said: `${done.stdout}${done.stderr}`.trim().split("\n") };
}

describe("the check for balances beside the journal", () => {
  it("names each function that adds units, fees or received amounts of several rows", () => {
    const { ok, said } = judge([
      'export const planted = "SELECT total(CAST(units AS REAL)) FROM payments WHERE address = ?";',
      "export const planted = (some: string) => `SELECT units_sum(t.feeUnits) FROM transfers t WHERE $" +
        "{some}`;",
      "export const planted = (rows) => rows.reduce((sum, row) => sum + BigInt(row.receivedUnits), 0n);",
      "export function planted(rows) {\n  let left = 0n;\n  for (const { units } of rows) left += BigInt(units);\n  return left;\n}",
      "export function planted(rows) {\n  let sum = 0n;\n  for (const row of rows) sum = sum - BigInt(row.feeUnits);\n  return sum;\n}",
    ]);
    expect(ok).toBe(false);
    expect(said).toEqual(
      [1, 1, 1, 3, 3].map(
        (line, at) =>
          `sums: gateway/store/file-${at}.ts:${line} planted adds amounts of several rows`,
      ),
    );
  });

  it("lets counts, single amounts and the other rows of a statement be", () => {
    const { ok, said } = judge([
      "export const sound = \"SELECT units, (SELECT sum(state = 'open') FROM gaps) AS open FROM moves\";",
      "export const sound = (rows) => rows.reduce((sum, row) => sum + row.count, 0);",
      "export const sound = ({ units, feeUnits }) => BigInt(units) - BigInt(feeUnits);",
      "export function sound(rows) {\n  let place = 0;\n  for (const _ of rows) place += 1;\n  return place;\n}",
    ]);
    expect(said).toEqual(["sums: 4 files add no balance"]);
    expect(ok).toBe(true);
  });
});
