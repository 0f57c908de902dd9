/**
 * The launchers before anything is installed: placeholders are found without installing, and the
 * interface's own name for crypto works.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";

let copy = "";
/** A fresh clone: no packages, no build; npm is a program that prints so and fails. */
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "aw-launchers-"));
  for (const path of [
    "package.json",
    "package-lock.json",
    "pair.js",
    "crypto.js",
    "crypto.ts",
    "cli",
    "scripts",
  ])
    cpSync(join(projectRoot, path), join(copy, path), { recursive: true });
  mkdirSync(join(copy, "bin"));
  writeFileSync(join(copy, "bin", "npm"), "#!/bin/sh\necho npm was started\nexit 1\n", {
    mode: 0o755,
  });
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

const secrets = { mnemonic: "<MNEMONIC>", apiKey: "<API_KEY>", encKey: "<ENCRYPTION_KEY>" };

function pair(
  config: object,
  ...words: string[]
): { readonly code: number | null; readonly said: string } {
  writeFileSync(join(copy, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const env = { PATH: `${join(copy, "bin")}:${process.env.PATH}`, HOME: copy };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["pair.js", ...words], {
    cwd: copy,
    env,
    encoding: "utf8",
  });
  return { code: status, said: stdout + stderr };
}

describe("pair.js on a fresh clone", () => {
  it("says which placeholders are left before it installs anything, in the words of pairing", () => {
    const done = pair(secrets);
    expect(done.code).toBe(2);
    expect(done.said).toBe(
      "pair: still to be replaced with your own: mnemonic (<MNEMONIC>), apiKey (<API_KEY>), encKey (<ENCRYPTION_KEY>)\n" +
        "hint: put your own value in its place\n",
    );
    expect(pair({ ...secrets, mnemonic: "test test", encKey: "x" }).said).toContain(
      "with your own: apiKey (<API_KEY>)\n",
    );
  });

  it.each<[string, object, string[]]>([
    ["once they are replaced", { mnemonic: "test test", apiKey: "k.s.f", encKey: "x" }, []],
    [
      "where files bring the secrets",
      secrets,
      ["--mnemonic-file", "a", "--api-key-file=b", "--enc-key-fd", "3"],
    ],
    ["where a pairing was begun", secrets, ["--state", "begun"]],
  ])("installs %s", (_, config, words) => {
    mkdirSync(join(copy, "begun"), { recursive: true });
    writeFileSync(join(copy, "begun", "pairing.json"), "{}");
    const done = pair(config, ...words);
    expect(done.said).toContain("npm was started");
    expect(done.said).not.toContain("replaced");
    expect(done.code).toBe(2);
    for (const line of done.said.split("\n"))
      expect(line).not.toMatch(/^(?:autowithdraw|crypto|npm): /);
  });
});

describe("crypto.ts", () => {
  it("is crypto.js under the interface's name, and holds nothing that a runtime must compile", () => {
    const text = readFileSync(join(copy, "crypto.ts"), "utf8");
    expect(text).toContain('launch("agent/crypto.js")');
    writeFileSync(join(copy, "as-it-stands.mjs"), text);
    const done = spawnSync(process.execPath, ["as-it-stands.mjs", "--version"], {
      cwd: copy,
      encoding: "utf8",
    });
    expect([done.status, done.stdout, done.stderr]).toEqual([
      0,
      expect.stringMatching(/^autowithdraw \d/),
      "",
    ]);
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    if (major < 22 || (major === 22 && minor < 18)) return;
    const direct = spawnSync(process.execPath, ["crypto.ts", "--version"], {
      cwd: copy,
      encoding: "utf8",
    });
    expect(direct.stdout).toBe(done.stdout);
  });
});
