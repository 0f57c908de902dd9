/**
 * A copy of the tree in which one repair at a time is taken out: sources, compiled file and every
 * bundle that holds the file are as the patch makes them, and the test runs on these.
 */
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { projectRoot } from "../kit/kit.ts";
import { type Patch, patchText } from "../kit/patch.ts";
import type { Repair } from "./rows.ts";

/** The word of a test about a patch: "red", or the reason for which it does not count as red. */
export type Verdict = "red" | string;

interface ReportedTest {
  readonly fullName: string;
  readonly status: string;
}

/** A test file as the runner reports it. */
export interface ReportedFile {
  readonly name: string;
  readonly status: string;
  /** The error of a file that does not load, which then has no tests. */
  readonly message: string;
  readonly assertionResults: readonly ReportedTest[];
}

/** A test that failed: its file, from the project's root, and its full name. */
export interface FailedTest {
  readonly file: string;
  readonly name: string;
}

type CommandExit = Pick<SpawnSyncReturns<string>, "status" | "stderr">;

/** Runs a Node program in a folder to its end. */
function runNode(
  args: readonly string[],
  cwd: string,
  added: Readonly<Record<string, string>> = {},
): Promise<CommandExit> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...added };
    const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-4_000);
    });
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, stderr }));
  });
}

/** The processes whose bundles hold a source file. */
export type Holders = (file: string) => readonly string[];

/** Reads from the bundler which source files each bundle has; some seconds of work. */
export function findHolders(): Holders {
  const script = `const { listInputs } = await import("./scripts/bundle.js");
    process.stdout.write(JSON.stringify(await listInputs(process.cwd())));`;
  const args = ["--input-type=module", "-e", script];
  const told = spawnSync(process.execPath, args, {
    cwd: projectRoot,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (told.status !== 0) throw new Error(`the tree cannot be bundled: ${told.stderr}`);
  const inputs = Object.entries(
    JSON.parse(told.stdout) as Readonly<Record<string, readonly string[]>>,
  );
  return (file) => inputs.filter(([, files]) => files.includes(file)).map(([name]) => name);
}

/** Why a test file does not load, in one line; null for one that does. */
function loadTrouble({ status, message, assertionResults }: ReportedFile): string | null {
  if (status !== "failed" || assertionResults.length > 0) return null;
  return `the test file does not load: ${message.split("\n", 1)[0]}`;
}

/** The verdict of a report on a row; null where no test of it has the title. */
export function readVerdict(
  files: readonly ReportedFile[],
  { test, title }: Pick<Repair, "test" | "title">,
): Verdict | null {
  const trouble = files.map(loadTrouble).find((words) => words !== null);
  if (trouble !== undefined) return `${test}: ${trouble}`;
  const ran = files.flatMap(({ assertionResults }) => assertionResults);
  const titled = ran.filter(
    ({ fullName, status }) => fullName.includes(title) && ["passed", "failed"].includes(status),
  );
  if (titled.length === 0) return null;
  return titled.some(({ status }) => status === "failed") ? "red" : `${test} stays green`;
}

/** The failed tests of a report; a file that does not load is one. */
export function readFailed(files: readonly ReportedFile[]): readonly FailedTest[] {
  return files.flatMap((file) => {
    const trouble = loadTrouble(file);
    if (trouble !== null) return [{ file: file.name, name: trouble }];
    return file.assertionResults
      .filter(({ status }) => status === "failed")
      .map(({ fullName: name }) => ({ file: file.name, name }));
  });
}

/** Links each file of a folder into another, which is made; links are copied. */
function linkFolder(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkFolder(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else linkSync(source, target);
  }
}

export class TreeCopy {
  readonly #folder: string;
  readonly #holders: Holders;

  /** Sources are links until one is written over; bundles are written into dist/, a copy. */
  constructor(holders: Holders) {
    this.#holders = holders;
    // With files that no commit has yet: a new row's test is one.
    const wanted = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const listed = spawnSync("git", wanted, {
      cwd: projectRoot,
      encoding: "utf8",
      maxBuffer: 1 << 26,
    });
    mkdirSync(join(projectRoot, ".cache"), { recursive: true });
    this.#folder = mkdtempSync(join(projectRoot, ".cache", "repairs-"));
    for (const path of listed.stdout.split("\0").filter((name) => name !== "")) {
      mkdirSync(dirname(join(this.#folder, path)), { recursive: true });
      linkSync(join(projectRoot, path), join(this.#folder, path));
    }
    // No link to the folder: one package then loads under two paths, and what it exports is halved.
    linkFolder(realpathSync(join(projectRoot, "node_modules")), join(this.#folder, "node_modules"));
    this.#restoreBuild();
  }

  /** Takes one mend out, runs its test, and puts the mend back. */
  async judge(row: Repair): Promise<Verdict> {
    const verdict = await this.#whilePatched(row, async (trouble): Promise<Verdict> => {
      if (trouble !== "") return trouble;
      // Tests of the developers' checkers are a step of `npm run check`, and in no other tier.
      return (
        (await this.#runTest(row, "quick")) ??
        (await this.#runTest(row, "checkers")) ??
        "no test has this title"
      );
    });
    return verdict ?? `its text does not stand once in ${row.file}`;
  }

  /**
   * The first test of these files that fails with a patch in, and passes without it; the files run
   * in their order, a few at a time. Null where none does. @throws Error for a patch that has no
   * place
   */
  async firstFailing(patch: Patch, files: readonly string[]): Promise<FailedTest | null> {
    const left = [...files];
    const passedOver = new Set<string>();
    for (let many = 6; left.length > 0; many *= 2) {
      const some = left.splice(0, many);
      const failed = await this.#whilePatched(patch, (trouble) =>
        trouble === "" ? this.#failuresOf(some) : [],
      );
      if (failed === null)
        throw new Error(`a patch of ${patch.file} has no place, or more than one`);
      for (const one of failed) {
        if (passedOver.has(one.file)) continue;
        passedOver.add(one.file);
        if ((await this.#failuresOf([one.file])).length === 0) return one;
      }
    }
    return null;
  }

  /** Null where the patch has no place. `trouble`: the reason why nothing could be built, or "". */
  async #whilePatched<T>(
    patch: Patch,
    job: (trouble: string) => T | Promise<T>,
  ): Promise<T | null> {
    const path = join(this.#folder, patch.file);
    const patched = patchText(readFileSync(path, "utf8"), patch);
    if (patched === null) return null;
    try {
      rmSync(path);
      writeFileSync(path, patched);
      return await job(await this.#build(patch.file, patched));
    } finally {
      rmSync(path);
      linkSync(join(projectRoot, patch.file), path);
      this.#restoreBuild();
    }
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #restoreBuild(): void {
    rmSync(join(this.#folder, "dist"), { recursive: true, force: true });
    cpSync(join(projectRoot, "dist"), join(this.#folder, "dist"), { recursive: true });
  }

  /** Compiles the patched file and the bundles; the reason where that fails. */
  async #build(file: string, text: string): Promise<string> {
    if (!/\.tsx?$/.test(file)) return this.#bundle(file);
    const { outputText } = ts.transpileModule(text, {
      fileName: file,
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        rewriteRelativeImportExtensions: true,
        verbatimModuleSyntax: true,
        jsx: ts.JsxEmit.ReactJSX,
        jsxImportSource: "preact",
      },
    });
    writeFileSync(join(this.#folder, "dist", file.replace(/\.tsx?$/, ".js")), outputText);
    return this.#bundle(file);
  }

  /** Bundles and stamps the build, which then counts as made of the patched sources. */
  async #bundle(file: string): Promise<string> {
    // Bundles are made in a process of its own, since the bundler keeps what it has read.
    const script = `const { bundle } = await import("./scripts/bundle.js");
      await Promise.all(${JSON.stringify(this.#holders(file))}.map((name) => bundle(process.cwd(), name, "dist")));
      const { sourceStamp, stampFile } = await import("./cli/launch/stamp.js");
      (await import("node:fs")).writeFileSync(stampFile, sourceStamp());`;
    const made = await runNode(["--input-type=module", "-e", script], this.#folder);
    return made.status === 0 ? "" : `the copy cannot be bundled: ${made.stderr.slice(-400)}`;
  }

  /** Null where no test of the tier has the title. */
  async #runTest(row: Repair, tier: "quick" | "checkers"): Promise<Verdict | null> {
    const pattern = row.title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const { files, said } = await this.#run([row.test, "-t", pattern], tier);
    if (files === null)
      return said.includes("No test files found") ? null : `${row.test} did not run: ${said}`;
    return readVerdict(files, row);
  }

  /** The tests of these files that fail in the quick tier, up to the first few. */
  async #failuresOf(tests: readonly string[]): Promise<readonly FailedTest[]> {
    const { files } = await this.#run([...tests, "--bail", "1"], "quick");
    return readFailed(files ?? []).map(({ file, name }) => ({
      file: file.slice(this.#folder.length + 1),
      name,
    }));
  }

  /** Runs the test runner; null in the place of what it reports where it reports nothing. */
  async #run(
    words: readonly string[],
    tier: string,
  ): Promise<{ files: readonly ReportedFile[] | null; said: string }> {
    const report = join(this.#folder, "report.json");
    rmSync(report, { force: true });
    const runner = join(this.#folder, "node_modules", "vitest", "vitest.mjs");
    const args = [runner, "run", ...words, "--reporter=json", `--outputFile=${report}`];
    const { stderr } = await runNode(args, this.#folder, { TEST_TIER: tier });
    const said = stderr.slice(-400);
    try {
      return {
        files: (
          JSON.parse(readFileSync(report, "utf8")) as { testResults: readonly ReportedFile[] }
        ).testResults,
        said,
      };
    } catch {
      return { files: null, said };
    }
  }
}
