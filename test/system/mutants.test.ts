/**
 * The mutants fit the code they are patches of: each is found once, changes something, and is still
 * a program whose names are all there and whose values fit: a mutant that ends for want of a name
 * would be caught for nothing. The catching is `npm run simulate -- --mutants`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { describe, expect, it } from "vitest";
import { patchText } from "../../lab/kit/patch.ts";
import { shareOf } from "../../lab/kit/share.ts";
import { mutants } from "../../lab/simulation/mutants/all.ts";
import type { Mutant } from "../../lab/simulation/mutants/mutant.ts";
import { planOf } from "../../lab/simulation/world/draw.ts";
import { worlds } from "../../lab/simulation/world/worlds.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const sources = new Map<string, string>();
function sourceOf(file: string): string {
  const text = sources.get(file) ?? readFileSync(join(root, file), "utf8");
  sources.set(file, text);
  return text;
}

/** The bundler's complaint about the form of a text; "" when the text is a program. */
function problemOf(text: string): string {
  try {
    transformSync(text, { loader: "ts", target: "es2022", logLevel: "silent" });
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Codes of TypeScript for a name without a declaration, or read before it, and for a value that its
 * place never has: a mutant that compares with a word of yesterday does nothing.
 */
const unknownName = new Set([
  2304, 2448, 2552, 18004, 2322, 2339, 2345, 2353, 2367, 2551, 2678, 2741,
]);

/** A file as a mutant makes it. */
interface Changed {
  readonly file: string;
  readonly text: string;
}

/**
 * The names that each changed file uses and nobody declares. Each mutant stands as a file beside
 * its original, so that one program holds all of them and reads the sources once.
 */
async function unknownIn(all: readonly Changed[]): Promise<readonly (readonly string[])[]> {
  const { default: ts } = await import("typescript"); // a second to load, for the long tier alone
  const fail = (): void => undefined;
  const config = join(root, "tsconfig.json");
  const read = ts.getParsedCommandLineOfConfigFile(
    config,
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
  );
  if (read === undefined) throw new Error("no tsconfig.json");
  const texts = new Map(
    all.map(({ file, text }, at) => [join(root, file.replace(/\.ts$/, `.changed-${at}.ts`)), text]),
  );
  const host = ts.createCompilerHost(read.options);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  const program = ts.createProgram([...texts.keys()], read.options, host);
  return [...texts.keys()].map((path) => {
    const found = program
      .getSemanticDiagnostics(program.getSourceFile(path))
      .filter(({ code }) => unknownName.has(code));
    const said = found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " "));
    // A mutant may make a branch that is never taken.
    return said.filter((text) => !text.endsWith("does not exist on type 'never'."));
  });
}

/**
 * The mutants whose text the compiler reads: all in the long tier, else every tenth from a drawn
 * one.
 */
const judged = new Set(
  shareOf(mutants, 10, Math.floor(Math.random() * 10)).map(({ find }) => find),
);

describe("the mutants", () => {
  it("are many, each with a name of its own and an invariant", () => {
    expect(mutants.length).toBeGreaterThanOrEqual(150);
    expect(new Set(mutants.map((one) => one.name)).size).toBe(mutants.length);
    expect(new Set(mutants.map((one) => `${one.file}\n${one.find}\n${one.replace}`)).size).toBe(
      mutants.length,
    );
    expect(
      mutants.filter((one) => !/^[a-z]+(-[a-z]+)+$/.test(one.name)).map((one) => one.name),
    ).toEqual([]);
    expect(
      mutants
        .filter((one) => !/^[A-Z].{30,}\([a-z -]+\)\.$/.test(one.invariant))
        .map((one) => one.name),
    ).toEqual([]);
  });

  it.each(mutants)("the mutants: $name fits its file", ({ file, find, replace }) => {
    const text = patchText(sourceOf(file), { find, replace });
    expect(text, "the text stands once in the file").not.toBeNull();
    expect(replace).not.toBe(find);
    if (judged.has(find)) expect(problemOf(text ?? "")).toBe("");
  });

  it("name nothing that is not there", async () => {
    const [sound] = mutants;
    if (sound === undefined) throw new Error("no mutants");
    const asItIs = { file: sound.file, text: sourceOf(sound.file) };
    const changed = mutants.map((patch) => ({
      file: patch.file,
      text: patchText(sourceOf(patch.file), patch) ?? "",
    }));
    const [ofSound, ofBroken, ...ofEach] = await unknownIn([
      asItIs,
      { ...asItIs, text: `${asItIs.text}\nnobodyDeclaredThis();` },
      ...changed,
    ]);
    expect(ofSound).toEqual([]);
    expect(ofBroken).toHaveLength(1);
    const dying = ofEach.map((unknown, at) => `${mutants[at]?.name}: ${unknown.join("; ")}`);
    expect(dying.filter((_, at) => ofEach[at]?.length !== 0)).toEqual([]);
  });

  it("can show on plans that chance draws", () => {
    const drawn = new Map<number, ReturnType<typeof planOf>>();
    const planAt = (seed: number): ReturnType<typeof planOf> => {
      const plan = drawn.get(seed) ?? planOf(seed);
      drawn.set(seed, plan);
      return plan;
    };
    const isDrawn = ({ world, when }: Mutant): boolean => {
      const first = world === undefined ? 0 : worlds[world];
      for (let seed = first; seed < first + 2_000; seed += 1)
        if (when?.(planAt(seed)) === true) return true;
      return false;
    };
    const never = mutants.filter((one) => one.when !== undefined && !isDrawn(one));
    expect(never.map(({ name }) => name)).toEqual([]);
  });

  it("a patch that does not fit is told", () => {
    expect(patchText("a b a", { find: "a", replace: "c" })).toBeNull();
    expect(patchText("a b a", { find: "c", replace: "a" })).toBeNull();
    expect(problemOf("const a = 1;")).toBe("");
    expect(problemOf("const a = ;")).not.toBe("");
  });
});
