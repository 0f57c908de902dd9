/** The check of titles and bodies, on a made-up history. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("../../scripts/commits.js", import.meta.url));
let root: string;

function git(...args: string[]): string {
  const names = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"];
  return execFileSync("git", ["-C", root, ...names, ...args], { encoding: "utf8" }).trim();
}

const commit = (message: string): string => git("commit", "--allow-empty", "-q", "-m", message);
const head = (): string => git("rev-parse", "HEAD");

function check(first: string): {
  readonly code: number | null;
  readonly said: readonly string[];
  readonly told: string;
} {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, root, first], {
    encoding: "utf8",
  });
  return {
    code: status,
    said: stderr.split("\n").filter((line) => line.startsWith("commits: ")),
    told: stdout,
  };
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "commits-"));
  const rooms = ["agent/signer/vault", "chains/evm nodes", "chains/providers/rpc-post.ts"].map(
    (room) => ({
      room,
      for: "a test",
    }),
  );
  mkdirSync(join(root, "scripts"));
  writeFileSync(join(root, "scripts/rooms.json"), JSON.stringify({ rooms }));
  git("init", "-q");
  commit("whatever; an old title");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const body = "\n\nIt was wrong.\n\nChecked: by its test.";

describe("commits since the rule began", () => {
  it.each([
    ["a title of 73 columns", `agent: ${"x".repeat(66)}${body}`, "more than 72 columns"],
    ["no room", `it works now${body}`, "no room and colon"],
    ["a room that is none", `cellar: it works now${body}`, "cellar is no room"],
    ["two rooms", `agent, chains: it works now${body}`, "no room and colon"],
    ["two subjects", `agent: it works now; it is faster${body}`, "two subjects"],
    ["no body", "agent: it works now", "no body"],
    ["a body below the title at once", "agent: it works now\nIt was wrong.", "no empty line"],
  ])("are refused with %s", (_what, message, words) => {
    const first = head();
    commit(message);
    const { code, said } = check(first);
    expect(code).toBe(1);
    expect(said).toEqual([expect.stringContaining(words)]);
  });

  it("pass with a room or a folder above one, with 72 columns, and as merges of any title", () => {
    const first = head();
    for (const prefix of [
      "agent",
      "agent/signer",
      "agent/signer/vault",
      "chains/evm",
      "chains/providers/rpc-post",
      "tests",
      "multi",
    ])
      commit(`${prefix}: ${"x".repeat(72 - prefix.length - 2)}${body}`);
    const main = git("branch", "--show-current");
    git("checkout", "-q", "-b", "other", first);
    commit(`docs: a page${body}`);
    git("checkout", "-q", main);
    git("merge", "-q", "--no-ff", "-m", "Merge branch 'other'", "other");
    expect(check(first)).toMatchObject({
      code: 0,
      said: [],
      told: expect.stringContaining("commits: 8 "),
    });
  });

  it("are none where the history does not reach back, or is not there, which is said", () => {
    commit("no room either");
    const cut = check("0".repeat(40));
    expect(cut).toMatchObject({ code: 0, said: [], told: expect.stringContaining("SKIPPED") });
    rmSync(join(root, ".git"), { recursive: true });
    expect(check("0".repeat(40))).toMatchObject({
      code: 0,
      told: expect.stringContaining("SKIPPED"),
    });
  });
});
