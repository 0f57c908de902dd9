/** The mutants fit the code they are patches of: each is found once, changes something, and is still a program. The catching is `npm run simulate -- --mutants`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { mutants } from "../simulation/mutants/all.ts";
import { planOf } from "../simulation/world/plan.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = new Map<string, string>();
function sourceOf(file: string): string {
  const text = sources.get(file) ?? readFileSync(join(root, file), "utf8");
  sources.set(file, text);
  return text;
}

function timesFound(text: string, find: string): number {
  return text.split(find).length - 1;
}

/** What TypeScript says about the form of a text; "" when it is a program. */
function problemOf(text: string): string {
  const { diagnostics = [] } = ts.transpileModule(text, {
    reportDiagnostics: true,
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  return diagnostics.map((one) => ts.flattenDiagnosticMessageText(one.messageText, " ")).join("; ");
}

describe("the mutants", () => {
  it("are many, each with a name of its own and a sentence", () => {
    expect(mutants.length).toBeGreaterThanOrEqual(80);
    expect(new Set(mutants.map((one) => one.name)).size).toBe(mutants.length);
    expect(new Set(mutants.map((one) => `${one.file}\n${one.find}\n${one.replace}`)).size).toBe(mutants.length);
    expect(mutants.filter((one) => !/^[a-z]+(-[a-z]+)+$/.test(one.name)).map((one) => one.name)).toEqual([]);
    expect(mutants.filter((one) => !/^[A-Z].{30,}\([a-z -]+\)\.$/.test(one.sentence)).map((one) => one.name)).toEqual([]);
  });

  it.each(mutants)("$name fits its file", ({ file, find, replace }) => {
    const text = sourceOf(file);
    expect(timesFound(text, find), "the text stands once in the file").toBe(1);
    expect(replace).not.toBe(find);
    expect(problemOf(text.replace(find, () => replace))).toBe("");
  });

  it("can show on plans that chance draws", () => {
    const plans = Array.from({ length: 2_000 }, (_, seed) => planOf(seed));
    const never = mutants.filter(({ when }) => when !== undefined && !plans.some(when));
    expect(never.map(({ name }) => name)).toEqual([]);
  });

  it("tells a patch that does not fit", () => {
    expect(timesFound("a b a", "a")).toBe(2);
    expect(timesFound("a b a", "c")).toBe(0);
    expect(problemOf("const a = 1;")).toBe("");
    expect(problemOf("const a = ;")).not.toBe("");
  });
});
