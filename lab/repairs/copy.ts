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
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { projectRoot } from "../kit/kit.ts";
import type { Repair } from "./rows.ts";

/** The word of a test about a patch: "red", or the reason for which it does not count as red. */
export type Verdict = "red" | string;

interface ReportedTest {
  readonly fullName: string;
  readonly status: string;
}

interface ReportedFile {
  readonly name: string;
  readonly assertionResults: readonly ReportedTest[];
}

/** A place of one file, and what takes it. */
export type Patch = Pick<Repair, "file" | "find" | "replace">;

/** A test that failed: its file, from the project's root, and its full name. */
export interface FailedTest {
  readonly file: string;
  readonly name: string;
}

type Ran = Pick<SpawnSyncReturns<string>, "status" | "stderr">;

/** Runs a Node program in a folder to its end. */
function runNode(
  args: readonly string[],
  cwd: string,
  added: Readonly<Record<string, string>> = {},
): Promise<Ran> {
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

/** Takes a row's mend out of a text. Null where the patch has no place, or more than one. */
export function takeOut({ find, replace }: Omit<Patch, "file">, text: string): string | null {
  const parts = text.split(find);
  return parts.length === 2 ? parts.join(replace) : null;
}

export class TreeCopy {
  readonly #folder: string;
  readonly #holders: Holders;

  /** Sources are links until one is written over; bundles are written into dist/, a copy. */
  constructor(holders: Holders) {
    this.#holders = holders;
    const listed = spawnSync("git", ["ls-files", "-z"], {
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
    symlinkSync(join(projectRoot, "node_modules"), join(this.#folder, "node_modules"));
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
    const patched = takeOut(patch, readFileSync(path, "utf8"));
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
  async #runTest({ test, title }: Repair, tier: "quick" | "checkers"): Promise<Verdict | null> {
    const pattern = title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const { files, said } = await this.#run([test, "-t", pattern], tier);
    if (files === null)
      return said.includes("No test files found") ? null : `${test} did not run: ${said}`;
    const ran = files.flatMap(({ assertionResults }) => assertionResults);
    const titled = ran.filter(
      ({ fullName, status }) => fullName.includes(title) && ["passed", "failed"].includes(status),
    );
    if (titled.length === 0) return null;
    return titled.some(({ status }) => status === "failed") ? "red" : `${test} stays green`;
  }

  /** The tests of these files that fail in the quick tier, up to the first few. */
  async #failuresOf(tests: readonly string[]): Promise<readonly FailedTest[]> {
    const { files } = await this.#run([...tests, "--bail", "1"], "quick");
    return (files ?? []).flatMap(({ name: path, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === "failed")
        .map(({ fullName: name }) => ({ file: path.slice(this.#folder.length + 1), name })),
    );
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
