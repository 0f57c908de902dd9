/**
 * The mutants fit the code they are patches of: each is found once, changes something, and is still
 * a program whose names are all there: a mutant that ends for want of a name would be caught for
 * nothing. The catching is `npm run simulate -- --mutants`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { mutants } from "../../simulation/mutants/all.ts";
import type { Mutant } from "../../simulation/mutants/mutant.ts";
import { planOf } from "../../simulation/world/plan.ts";
import { worlds } from "../../simulation/world/worlds.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
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

/** Codes of TypeScript for a name that nobody declared, or that is read before it is. */
const unknownName = new Set([2304, 2448, 2552, 18004]);

/** The whole program, in which one file at a time has another text. */
function createNames(): { unknownIn(file: string, text: string): readonly string[] } {
  const fail = (): void => undefined;
  const config = join(root, "tsconfig.json");
  const read = ts.getParsedCommandLineOfConfigFile(config, {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail });
  const changed = new Map<string, string>();
  const versions = new Map<string, number>();
  const { fileExists, readFile, readDirectory, directoryExists, getDirectories } = ts.sys;
  const service = ts.createLanguageService({
    ...{ fileExists, readFile, readDirectory, directoryExists, getDirectories },
    getScriptFileNames: () => read?.fileNames ?? [],
    getScriptVersion: (path) => String(versions.get(path) ?? 0),
    getScriptSnapshot: (path) => {
      const text = changed.get(path) ?? readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getCompilationSettings: () => read?.options ?? {},
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
  });
  const say = (path: string, text: string | null): void => {
    if (text === null) changed.delete(path);
    else changed.set(path, text);
    versions.set(path, (versions.get(path) ?? 0) + 1);
  };
  return {
    unknownIn(file, text) {
      const path = join(root, file);
      say(path, text);
      const found = service.getSemanticDiagnostics(path).filter(({ code }) => unknownName.has(code));
      say(path, null);
      return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
    },
  };
}

describe("the mutants", () => {
  it("are many, each with a name of its own and a sentence", () => {
    expect(mutants.length).toBeGreaterThanOrEqual(150);
    expect(new Set(mutants.map((one) => one.name)).size).toBe(mutants.length);
    expect(new Set(mutants.map((one) => `${one.file}\n${one.find}\n${one.replace}`)).size).toBe(mutants.length);
    expect(mutants.filter((one) => !/^[a-z]+(-[a-z]+)+$/.test(one.name)).map((one) => one.name)).toEqual([]);
    expect(mutants.filter((one) => !/^[A-Z].{30,}\([a-z -]+\)\.$/.test(one.sentence)).map((one) => one.name)).toEqual([]);
  });

  it.each(mutants)("the mutants: $name fits its file", ({ file, find, replace }) => {
    const text = sourceOf(file);
    expect(timesFound(text, find), "the text stands once in the file").toBe(1);
    expect(replace).not.toBe(find);
    expect(problemOf(text.replace(find, () => replace))).toBe("");
  });

  it("name nothing that is not there", { timeout: 300_000 }, async () => {
    const names = createNames();
    const [sound] = mutants;
    if (sound === undefined) throw new Error("no mutants");
    expect(names.unknownIn(sound.file, sourceOf(sound.file))).toEqual([]);
    expect(names.unknownIn(sound.file, `${sourceOf(sound.file)}\nnobodyDeclaredThis();`)).toHaveLength(1);
    const dying: string[] = [];
    for (const { name, file, find, replace } of mutants) {
      await new Promise((resolve) => setImmediate(resolve)); // The test runner waits for a word.
      const unknown = names.unknownIn(
        file,
        sourceOf(file).replace(find, () => replace),
      );
      if (unknown.length > 0) dying.push(`${name}: ${unknown.join("; ")}`);
    }
    expect(dying).toEqual([]);
  });

  it("can show on plans that chance draws", () => {
    const plansFrom = (first: number) => Array.from({ length: 2_000 }, (_, seed) => planOf(first + seed));
    const plans = new Map(Object.entries(worlds).map(([name, first]) => [name, plansFrom(first)]));
    const usual = plansFrom(0);
    const plansIn = ({ world }: Mutant) => (world === undefined ? usual : (plans.get(world) ?? []));
    const never = mutants.filter((one) => one.when !== undefined && !plansIn(one).some(one.when));
    expect(never.map(({ name }) => name)).toEqual([]);
  });

  it("tells a patch that does not fit", () => {
    expect(timesFound("a b a", "a")).toBe(2);
    expect(timesFound("a b a", "c")).toBe(0);
    expect(problemOf("const a = 1;")).toBe("");
    expect(problemOf("const a = ;")).not.toBe("");
  });
});
