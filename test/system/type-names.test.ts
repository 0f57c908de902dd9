/** The check of types' names, on made-up sources and on a made-up tree. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";
import { rootsOf } from "../../scripts/roots.ts";

interface ReasonRow {
  readonly file: string;
  readonly names: readonly string[];
  readonly why: string;
}

const script = new URL("../../scripts/type-names.js", import.meta.url);
const { reasons, typeNameProblems } = (await import(script.href)) as {
  readonly reasons: readonly ReasonRow[];
  typeNameProblems(
    sources: readonly { readonly file: string; readonly text: string }[],
    rows?: readonly ReasonRow[],
  ): readonly string[];
};

const file = "a/b.ts";
const problemsOf = (text: string, rows: readonly ReasonRow[] = []): readonly string[] =>
  typeNameProblems([{ file, text }], rows);
const noNoun = (name: string, line = 1): string =>
  `${file}:${line}: the type ${name} is no noun: an import line does not tell what it holds`;
const ending = (name: string, suffix: string): string =>
  `${file}:1: the type ${name} ends in ${suffix}, which fits any type`;

describe("the check of types' names", () => {
  it.each([
    ["Asked", "AskedPayment"],
    ["Broken", "BrokenRule"],
    ["Running", "RunningGateway"],
    ["Told", "ToldAnswer"],
    ["Paid", "Payment"],
    ["Open", "Opening"],
    ["Near", "Neighbour"],
    ["Before", "Beforehand"],
    ["Came", "Camera"],
    ["Whose", "Owner"],
    ["Handed", "Hand"],
    ["Feeding", "Feed"],
    ["Taken", "Token"],
    ["Seeded", "Seed"],
    ["Needed", "Need"],
    ["Bending", "Ending"],
  ])("refuses %s, and lets %s pass", (name, twin) => {
    expect(problemsOf(`interface ${name} {}`)).toEqual([noNoun(name)]);
    expect(problemsOf(`interface ${twin} {}`)).toEqual([]);
  });

  it.each([
    ["BlockInfo", "Info", "BlockInformant"],
    ["RawData", "Data", "RawDatabase"],
    ["Item", "Item", "Itemisation"],
    ["LockEntry", "Entry", "EntryPoint"],
    ["FiatValue", "Value", "ValueOfFiat"],
  ])("refuses %s for its end %s, and lets %s pass", (name, suffix, twin) => {
    expect(problemsOf(`type ${name} = string;`)).toEqual([ending(name, suffix)]);
    expect(problemsOf(`type ${twin} = string;`)).toEqual([]);
  });

  it.each([
    ["an interface", (name: string) => `export interface ${name} {}`],
    ["an alias", (name: string) => `export type ${name}<T> = T;`],
    ["a class", (name: string) => `export default class ${name} {}`],
    ["an enum", (name: string) => `enum ${name} {}`],
    ["a type inside a function", (name: string) => `function f() { type ${name} = 1; }`],
  ])("reads %s", (_, declare) => {
    expect(problemsOf(`\n${declare("Told")}\n`)).toEqual([noNoun("Told", 2)]);
    expect(problemsOf(`\n${declare("Report")}\n`)).toEqual([]);
  });

  it("leaves values, parameters of types, texts and imported names alone", () => {
    const text = `import { type Told } from "x";
const Open = 1;
const text = "interface Taken {}"; // type Made = 1
function f<Named>(asked: Told, Near: Named) {}
class C { Last = class {}; }`;
    expect(problemsOf(text)).toEqual([]);
    expect(problemsOf(`${text}\nclass Last {}`)).toEqual([noNoun("Last", 6)]);
  });

  it("takes a reason for one name of one file", () => {
    const row = { file, names: ["RlpItem"], why: "the definition's own word" };
    expect(problemsOf("type RlpItem = 1;", [row])).toEqual([]);
    expect(problemsOf("type RlpItem = 1; type ListItem = 1;", [row])).toEqual([
      ending("ListItem", "Item"),
    ]);
    const elsewhere = { ...row, file: "a/c.ts" };
    expect(problemsOf("type RlpItem = 1;", [elsewhere])).toContain(ending("RlpItem", "Item"));
  });

  it("refuses a reason that is not needed any more", () => {
    const row = { file, names: ["Entry", "AlarmEntry"], why: "the protocol's own word" };
    expect(problemsOf("type Entry = 1; type AlarmEntry = 1;", [row])).toEqual([]);
    expect(problemsOf("type Entry = 1; type Alarm = 1;", [row])).toEqual([
      `the reason for AlarmEntry of ${file} is not needed any more`,
    ]);
    const noun = { file, names: ["Alarm"], why: "nothing refuses it" };
    expect(problemsOf("type Alarm = 1;", [noun])).toEqual([
      `the reason for Alarm of ${file} is not needed any more`,
    ]);
  });
});

describe("the check on a tree", () => {
  const root = mkdtempSync(join(tmpdir(), "type-names-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const roots = rootsOf(projectRoot, "product", "examples", "laboratory", "tests");
  const plant = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const run = (): { readonly code: number | null; readonly said: string } => {
    const { status, stderr } = spawnSync(process.execPath, [fileURLToPath(script), root], {
      encoding: "utf8",
    });
    return { code: status, said: stderr };
  };

  it("reads each folder of product, examples and laboratory, and no tests", () => {
    for (const folder of roots) plant(`${folder}/a.ts`, "export interface Report {}\n");
    for (const { file: path, names } of reasons)
      plant(path, names.map((name) => `export type ${name} = string;\n`).join(""));
    expect(run()).toEqual({ code: 0, said: "" });

    for (const folder of roots) plant(`${folder}/a.ts`, "export interface Told {}\n");
    const { code, said } = run();
    expect(code).toBe(1);
    const refused = [...said.matchAll(/^type names: (\S+):1: the type Told is no noun/gm)];
    expect(refused.map(([, path]) => path)).toEqual(
      roots.filter((folder) => folder !== "test").map((folder) => `${folder}/a.ts`),
    );
  });
});
