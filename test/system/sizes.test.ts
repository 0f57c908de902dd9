/** The check of sizes, on made-up sources. */
import { expect, it } from "vitest";

const script = new URL("../../scripts/sizes.js", import.meta.url).href;
const { sizeProblems } = (await import(script)) as {
  sizeProblems(file: string, text: string): readonly string[];
};

const lines = (count: number): string => "  act();\n".repeat(count);
const problemsOf = (text: string): readonly string[] => sizeProblems("a/b.ts", text);

it("a function of 45 statements passes, one of 46 needs a reason", () => {
  expect(problemsOf(`function f() {\n${lines(45)}}\n`)).toEqual([]);
  expect(problemsOf(`function f() {\n${lines(46)}}\n`)).toEqual([
    "a/b.ts:1: f has 46 statements, at most 45 without a reason",
  ]);
  expect(problemsOf(`/** Long: one case each. */\nfunction f() {\n${lines(46)}}\n`)).toEqual([]);
  expect(problemsOf(`/** It is long. */\nfunction f() {\n${lines(46)}}\n`)).toHaveLength(1);
});

it("the layout of a function does not count", () => {
  expect(problemsOf(`function f() { ${"act();".repeat(46)} }`)).toHaveLength(1);
  expect(problemsOf(`function f() {\n${"  act(\n    1,\n  );\n".repeat(45)}}\n`)).toEqual([]);
});

it("functions inside a function count for themselves", () => {
  const inner = `  const g = () => {\n${lines(40)}  };\n`;
  expect(problemsOf(`function f() {\n${inner}${inner}${lines(10)}}\n`)).toEqual([]);
  const wide = `  const g = () => {\n${lines(46)}  };\n`;
  expect(problemsOf(`/** Long: it is. */\nfunction f() {\n${wide}}\n`)).toEqual([
    "a/b.ts:3: g has 46 statements, at most 45 without a reason",
  ]);
});

it("a method and a choice count, a table does not", () => {
  expect(problemsOf(`class A {\n  run() {\n${lines(46)}  }\n}\n`)).toHaveLength(1);
  expect(problemsOf(`const f = (a) => { ${"a ? 1 : 2;".repeat(23)} }`)).toHaveLength(1);
  expect(problemsOf(`export const table = [\n${"  [1, 2],\n".repeat(500)}];\n`)).toEqual([]);
});

it("a file of 400 statements is a chapter, one of 401 is not", () => {
  expect(problemsOf("act();\n".repeat(400))).toEqual([]);
  expect(problemsOf("act();\n".repeat(401))).toEqual([
    "a/b.ts has 401 statements, at most 400 are a chapter",
  ]);
});
