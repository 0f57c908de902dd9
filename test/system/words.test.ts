/** The check that keeps a family's words behind its interface, on made-up rooms. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { rootsOf } from "../../scripts/roots.ts";

const script = join(projectRoot, "scripts", "words.js");
const rooms = rootsOf(projectRoot, "product");
let root: string;

function write(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

function allow(...rows: readonly string[]): void {
  write(
    "docs/architecture.md",
    `## 5. Rooms\n\n### 5.1 Words\n\n${rows.join("\n")}\n\n## 6. More\n\n| \`agent\` | \`gas\` | not this |\n`,
  );
}

function check(): { readonly code: number | null; readonly said: string } {
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: "utf8" });
  return { code: status, said: stderr };
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "words-"));
  for (const room of rooms) mkdirSync(join(root, room));
  allow();
});
afterEach(() => rmSync(root, { recursive: true }));

describe("words of a family", () => {
  it("stand in the family's own folder, in comments and inside other words", () => {
    write("chains/evm/gas.ts", 'export const gasPlain = 0x5208n;\nexport const name = "eip155";\n');
    write(
      "agent/fine.ts",
      "// gas, wei and a nonce\nexport const gasp = 0xff;\nexport const weight = 1;\n",
    );
    expect(check()).toEqual({ code: 0, said: "" });
  });

  it("do not stand in a name, a part of one, a field, a text or a pattern outside it, unless the table names the place", () => {
    const breaches = [
      ["wei", "export const feeMaxWei = 1n;"],
      ["gas", "export const takeGas = 1;"],
      ["nonce", 'export const text = "the next nonce";'],
      ["eip155", "export const name = (id: number) => `eip155:$" + "{id}`;"],
      ["0x", "export const form = /^0x[0-9a-f]+$/;"],
      ["xpub", "export interface Row { readonly depositXpub: string }"],
    ] as const;
    for (const [word, text] of breaches) write(`gateway/hub/of-${word}.ts`, text);
    const { code, said } = check();
    expect(code).toBe(1);
    for (const [word] of breaches)
      expect(said).toMatch(new RegExp(`gateway/hub/of-${word}\\.ts: .*\\(${word}\\)`));
    allow(`| \`gateway/hub\` | ${breaches.map(([word]) => `\`${word}\``).join(", ")} | because |`);
    expect(check()).toEqual({ code: 0, said: "" });
  });

  it("have no row for a place that does not use them", () => {
    allow("| `agent` | `gas` | because |");
    expect(check().said).toContain("agent does not use gas any more");
  });
});
