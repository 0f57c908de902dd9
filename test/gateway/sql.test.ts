/**
 * `npm run check` finds SQL that is planted outside gateway/store/, and takes everything else for
 * what it is.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/sql.js", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "aw-sql-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** The verdict of the check on these files of the gateway. */
function judge(files: readonly (readonly [path: string, text: string])[]): {
  readonly ok: boolean;
  readonly said: readonly string[];
} {
  rmSync(root, { recursive: true, force: true });
  for (const [path, text] of files) {
    const file = join(root, "gateway", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `/** Planted. */\n${text}\n`);
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, root], {
    encoding: "utf8",
  });
  return { ok: status === 0, said: `${stdout}${stderr}`.trim().split("\n") };
}

describe("the check for SQL", () => {
  it("names each place outside the store that holds a statement or a part of one", () => {
    const planted = [
      'export const sql = "SELECT * FROM agents";',
      "export const sql = `INSERT OR IGNORE INTO jtis (key) VALUES ($" + "{1})`;",
      'export const sql = "UPDATE keys SET revokedAt = 1";',
      'export const sql = "DELETE FROM jobs";',
      'export const part = "operation = ?";',
      'export const order = "ORDER BY createdAt";',
    ];
    const { ok, said } = judge(planted.map((text, index) => [`hub/planted-${index}.ts`, text]));
    expect(ok).toBe(false);
    expect(said).toEqual(
      planted.map((_text, index) => `sql: gateway/hub/planted-${index}.ts:2 holds SQL`),
    );
  });

  it("names each place outside the store that speaks to the database itself", () => {
    const planted = [
      "export const one = (service) => service.store.database.get(words);",
      "export const one = (database) => database.run(words);",
    ];
    const { ok, said } = judge(planted.map((text, index) => [`hub/planted-${index}.ts`, text]));
    expect(ok).toBe(false);
    expect(said).toEqual(
      planted.map(
        (_text, index) => `sql: gateway/hub/planted-${index}.ts:2 speaks to the database itself`,
      ),
    );
  });

  it("lets the store's own statements be, and words, comments and other calls elsewhere", () => {
    const { ok, said } = judge([
      ["store/agents.ts", 'export const sql = "SELECT * FROM agents";'],
      [
        "hub/words.ts",
        '// SELECT * FROM agents\nexport const words = "Select a key, or update it.";',
      ],
      ["hub/calls.ts", "export const one = (live, id) => live.get(id) ?? weights.get(id);"],
    ]);
    expect(said).toEqual(["sql: 2 files of the gateway hold none"]);
    expect(ok).toBe(true);
  });
});
