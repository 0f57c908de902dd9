/** The measure of prose, on made-up rooms. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/prose.js", import.meta.url));
const plain = "// The signer closes the link.\n\n".repeat(40);
let root: string;

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

function measure(): { readonly code: number | null; readonly said: string } {
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: "utf8" });
  return { code: status, said: stderr };
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "prose-"));
});
afterEach(() => rmSync(root, { recursive: true }));

describe("the measure of prose", () => {
  it("passes a room whose sentences begin with their subject, and code that begins like a wrong opener", () => {
    write(
      "cli/fine.ts",
      `${plain}export const text = "What is this of whom";\n// The word what, and who, may stand inside.\n`,
    );
    write(
      "pages/fine.md",
      `${"The agent waits. ".repeat(40)}\n\n\`\`\`\nWhat a command prints is code\n\`\`\`\n`,
    );
    expect(measure()).toEqual({ code: 0, said: "" });
  });

  it("refuses a wrong opener in each kind of text, and lists each with its place", () => {
    const wrong = [
      ["a/comment.ts", "// What the signer cannot close, it must judge.\n"],
      ["b/second-sentence.ts", "/** Closes the link. Whoever opened it hears so. */\nexport {};\n"],
      [
        "c/before-a-brace.ts",
        "export function f() {\n  f();\n  // Of the version that ended it.\n}\n",
      ],
      [
        "d/behind-a-field.ts",
        "export interface A {\n  readonly b: string; // where nothing else is\n}\n",
      ],
      ["e/behind-a-comma.ts", "export const a = [\n  1, // of every seed alike\n];\n"],
      ["f/title.test.ts", 'it(\n  "what is not signed stays", () => {});\n'],
      ["g/page.md", "Where both were rolled back, an operator decides.\n"],
      ["h/table.md", "| a | b |\n|---|---|\n| x | who has no key here |\n"],
    ] as const;
    for (const [file, text] of wrong)
      write(file, `${file.endsWith(".md") ? "The agent waits. ".repeat(40) : plain}\n\n${text}`);
    const { code, said } = measure();
    expect(code).toBe(1);
    for (const [file] of wrong)
      expect(said).toMatch(
        new RegExp(`^prose: ${file[0]} +4\\d sentences, 1 with a wrong opener`, "m"),
      );
    const { stdout } = spawnSync(process.execPath, [script, "--list", "", root], {
      encoding: "utf8",
    });
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.split(":")[0]),
    ).toEqual(wrong.map(([file]) => file));
  });
});
