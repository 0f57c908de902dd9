/** The refused words, on made-up files. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/prose-words.js", import.meta.url));
let root: string;

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

function look(): { readonly code: number | null; readonly said: readonly string[] } {
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: "utf8" });
  return { code: status, said: stderr.split("\n").filter((line) => line.startsWith("words: ")) };
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "prose-words-"));
});
afterEach(() => rmSync(root, { recursive: true }));

describe("the refused words", () => {
  it("are found in each kind of name and prose, each with its place", () => {
    const planted = [
      ["a/identifier.ts", "export const isGreeted = true;\n", "greeted"],
      [
        "b/private.ts",
        "export class A {\n  #unheard = 1;\n  read(): number {\n    return this.#unheard;\n  }\n}\n",
        "unheard",
      ],
      ["c/code.ts", 'export const code = "LINK_BEAT";\n', "beat"],
      ["d/event.ts", 'export const event = "database-put-back";\n', "put back"],
      ["e/comment.ts", "// The ledger went\n// back to an earlier day.\nexport {};\n", "went back"],
      ["f/message.ts", "export const text = (): string => `the desk of the agent`;\n", "desk"],
      ["g/title.test.ts", 'it("a thief reads it", () => {});\n', "thief"],
      ["h/page.md", "The pages say\nwhoever reads them.\n", "whoever"],
      ["i/output.txt", "NOT WELL\n", "NOT WELL"],
      ["j/keys.json", '{ "payingAccount": 1 }\n', "paying account"],
      ["signer/acts/k.ts", "export {};\n", "acts"],
      ["l/watchman.ts", "export {};\n", "watchman"],
      ["m/unit.service", "# It is tried for ever.\n", "for ever"],
    ] as const;
    for (const [file, text] of planted) write(file, text);
    const { code, said } = look();
    expect(code).toBe(1);
    for (const [file, , word] of planted)
      expect(
        said.some((line) => line.startsWith(`words: ${file}`) && line.includes(`"${word}"`)),
        file,
      ).toBe(true);
    expect(new Set(said.map((line) => line.split(/[ :]+/)[1])).size).toBe(planted.length);
  });

  it("are no part of a longer word, and another meaning of a part is free", () => {
    write(
      "a/parts.ts",
      "export const shearing = 1;\nexport const facade = 2;\nexport const trimmed = 3;\nexport const heartbeat = 4;\n",
    );
    write(
      "b/prose.ts",
      "// The agent acts, is not well-formed, and waits at a desktop.\nexport {};\n",
    );
    write(
      "c/page.md",
      "An operator puts it there, and the planet is well. A deposit address receives.\n",
    );
    expect(look()).toEqual({ code: 0, said: [] });
  });
});
