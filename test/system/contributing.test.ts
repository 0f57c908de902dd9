/** CONTRIBUTING.md leads a newcomer to the right file, and lists the commands that exist. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";

const read = (path: string): string => readFileSync(join(projectRoot, path), "utf8");
const page = read("CONTRIBUTING.md");

/** The rows of the table under a head, as cells. */
function rowsOf(head: string): readonly (readonly string[])[] {
  const lines = page.slice(page.indexOf(`| ${head} |`)).split("\n");
  return lines
    .slice(2, lines.indexOf(""))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}

const codeIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? "");
const isFolder = (path: string): boolean => path.endsWith("/");

/** A newcomer's questions, and a text that only the right first file has. */
const questions: readonly (readonly [asked: string, mark: RegExp])[] = [
  ["an EVM preset", /"?polygon"?.*[:{]/],
  ["a policy rule", /^export class Policy /m],
  ["a message in Turkish", /Çekim isteği/],
  ["a record kind of the ledger", /kind: "INTENT"/],
  ["an operator command", /The command tree for operator/],
  ["a metric", /"linkUp"/],
  ["a callback event", /"deposit\.detected"/],
  ["a migration of the database", /export const schemaVersion/],
  ["a fuzz target", /envelope: async/],
  ["a fault of a node", /OddField/],
];

describe("CONTRIBUTING.md", () => {
  it.each(questions)("the table of tasks leads to the first file for %s", (asked, mark) => {
    const row = rowsOf("to add").find(([task]) => task === asked);
    expect(row, "a row").toBeDefined();
    const [file = ""] = codeIn(row?.[1] ?? "");
    expect(read(file)).toMatch(mark);
    for (const [other, otherMark] of questions)
      if (other !== asked)
        expect(otherMark.test(read(file)), `${file} is the place for ${other} too`).toBe(false);
  });

  it("the table of tasks names only files that exist", () => {
    const named = rowsOf("to add").flatMap((cells) => cells.slice(1).flatMap(codeIn));
    expect(named.length).toBeGreaterThan(15);
    const beside = new Set(["tron-profiles.ts"]); // named beside its neighbour
    expect(
      named.filter((path) => !beside.has(path) && !existsSync(join(projectRoot, path))),
    ).toEqual([]);
  });

  it("the table of folders names each folder of the project, and no other", () => {
    const named = rowsOf("folder").flatMap(([cell = ""]) => codeIn(cell).filter(isFolder));
    expect(named.filter((path) => !existsSync(join(projectRoot, path)))).toEqual([]);
    const folders = readdirSync(projectRoot, { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && !/^\.|^(dist|node_modules|release)$/.test(entry.name),
    );
    const top = new Set(named.map((path) => path.split("/")[0]));
    expect(folders.map(({ name }) => name).filter((name) => !top.has(name))).toEqual([]);
  });

  it("the table of commands names each npm command once, and no other", () => {
    const { scripts } = JSON.parse(read("package.json")) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const named = rowsOf("command").flatMap(([cell = ""]) => codeIn(cell));
    const run = named
      .map((text) => /^npm (?:run )?([a-z:-]+)/.exec(text)?.[1])
      .filter((name) => name !== undefined);
    expect([...run, "build"].sort()).toEqual(Object.keys(scripts).sort());
  });
});
