/**
 * `npm run repairs`: takes each mend of rows.ts out, one by one in a copy of the tree, and sees the
 * test that holds it turn red.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { readCommandLine } from "../kit/command-line.ts";
import { projectRoot } from "../kit/kit.ts";
import { type Repair, repairs } from "./rows.ts";

const { values, operands, stop } = readCommandLine({
  name: "repairs",
  does: "Takes each repair out, one by one in a copy of the tree, and sees its test turn red.",
  operands: "name of a repair",
  options: { list: { says: "names the repairs, and ends" } },
});
const unknown = operands.find((name) => !repairs.some((row) => row.name === name));
if (unknown !== undefined) stop(`there is no repair ${unknown}; --list names them`);
if (values.list) {
  for (const { name, fault } of repairs) process.stdout.write(`${name}: ${fault}\n`);
  process.exit(0);
}

/** A copy whose files are those of the tree, until one is written over by removing it first. */
function linkTree(): string {
  const listed = spawnSync("git", ["ls-files", "-z"], { cwd: projectRoot, encoding: "utf8", maxBuffer: 1 << 26 });
  mkdirSync(join(projectRoot, ".cache"), { recursive: true });
  const copy = mkdtempSync(join(projectRoot, ".cache", "repairs-"));
  for (const path of listed.stdout.split("\0").filter((name) => name !== "")) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    linkSync(join(projectRoot, path), join(copy, path));
  }
  symlinkSync(join(projectRoot, "node_modules"), join(copy, "node_modules"));
  const linked = spawnSync("cp", ["-al", join(projectRoot, "dist"), join(copy, "dist")], { stdio: "inherit" });
  if (linked.status !== 0) throw new Error("dist/ cannot be linked into the copy");
  return copy;
}

function writeOver(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text);
}

/** The compiled file, and every bundle, as they are with the patched source. */
async function buildPatched(copy: string, file: string, text: string): Promise<void> {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      rewriteRelativeImportExtensions: true,
      verbatimModuleSyntax: true,
      jsx: ts.JsxEmit.ReactJSX,
      jsxImportSource: "preact",
    },
  });
  writeOver(join(copy, "dist", file.replace(/\.tsx?$/, ".js")), outputText);
  // Bundles are made in a process of its own, since the bundler keeps what it has read.
  const script = `const { bundleAll } = await import("./scripts/bundle.js"); await bundleAll(process.cwd(), "dist");
    const { sourceStamp, stampFile } = await import("./cli/launch/stamp.js");
    const { rmSync, writeFileSync } = await import("node:fs");
    rmSync(stampFile); writeFileSync(stampFile, sourceStamp());`;
  const made = spawnSync(process.execPath, ["--input-type=module", "-e", script], { cwd: copy, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`the copy cannot be bundled: ${made.stderr}`);
}

interface ReportedTest {
  readonly fullName: string;
  readonly status: string;
}

/** Full names of the tests that failed; the runner's own words where it ran none. */
function failedTests(copy: string, { test, title }: Repair): readonly string[] | string {
  const report = join(copy, "report.json");
  rmSync(report, { force: true });
  const pattern = title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const runner = join(copy, "node_modules", "vitest", "vitest.mjs");
  const args = [runner, "run", test, "-t", pattern, "--reporter=json", `--outputFile=${report}`];
  const done = spawnSync(process.execPath, args, { cwd: copy, encoding: "utf8", maxBuffer: 1 << 26 });
  try {
    const { testResults } = JSON.parse(readFileSync(report, "utf8")) as {
      readonly testResults: readonly { readonly assertionResults: readonly ReportedTest[] }[];
    };
    const ran = testResults.flatMap(({ assertionResults }) => assertionResults);
    const failed = ran.filter(({ status }) => status === "failed").map(({ fullName }) => fullName);
    return ran.some(({ status }) => status === "passed" || status === "failed") ? failed : "no test has this title";
  } catch {
    return done.stderr.slice(-400);
  }
}

const copy = linkTree();
const unseen: string[] = [];
try {
  for (const row of repairs.filter(({ name }) => operands.length === 0 || operands.includes(name))) {
    const path = join(copy, row.file);
    const text = readFileSync(path, "utf8");
    const parts = text.split(row.find);
    if (parts.length !== 2) {
      unseen.push(`${row.name}: its text stands ${parts.length - 1} times in ${row.file}`);
      continue;
    }
    const patched = parts.join(row.replace);
    writeOver(path, patched);
    await buildPatched(copy, row.file, patched);
    const failed = failedTests(copy, row);
    const isSeen = typeof failed !== "string" && failed.some((name) => name.includes(row.title));
    process.stdout.write(`${isSeen ? "red" : "GREEN"}  ${row.name}\n`);
    if (!isSeen) unseen.push(`${row.name}: ${typeof failed === "string" ? failed : `${row.test} stays green`}`);
    rmSync(path);
    linkSync(join(projectRoot, row.file), path);
    const built = join("dist", row.file.replace(/\.tsx?$/, ".js"));
    rmSync(join(copy, built));
    copyFileSync(join(projectRoot, built), join(copy, built));
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
process.stdout.write(`${unseen.map((line) => `${line}\n`).join("")}${unseen.length} repairs that no test sees\n`);
process.exit(unseen.length === 0 ? 0 : 1);
