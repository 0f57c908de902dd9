/**
 * Compiles the tree aside, bundles processes and commands, and then puts all in the place of dist/
 * whole, stamped with what it was built from, so that `ensure.js` knows when to build again. A
 * program that starts meanwhile runs the old build or the new one, never some of each. A failed
 * build changes nothing, and no output stays of a source that is gone.
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourceStamp, stampFile } from "../cli/launch/stamp.js";
import { compilerHeapMiB, troubleOf } from "../cli/launch/started.js";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Renames `fresh` to `place`. No rename replaces a full folder, so the old one steps aside first;
 * two builds at once both end well.
 */
function exchange(fresh, place) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      if (existsSync(place)) renameSync(place, `${fresh}.old${attempt}`);
      renameSync(fresh, place);
      return;
    } catch (error) {
      if (attempt === 9 || !["ENOENT", "ENOTEMPTY", "EEXIST"].includes(error.code)) throw error;
    }
  }
}

/** The program's own lines say why it ended with a status; nobody else tells of a signal. */
function fail(trouble, what) {
  const why = trouble.hint === "" ? `${what}, see above` : trouble.why;
  const hint = trouble.hint === "" ? "" : `hint: ${trouble.hint}\n`;
  process.stderr.write(`build: ${why}; the build that was there is untouched\n${hint}`);
  process.exitCode = 1;
}

const stamp = sourceStamp();
mkdirSync(join(root, ".cache"), { recursive: true });
// Beside the tree's other scratch: a rename does not cross file systems.
const aside = mkdtempSync(join(root, ".cache", "build-"));
try {
  const fresh = join(aside, "dist");
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const args = [
    `--max-old-space-size=${compilerHeapMiB}`,
    compiler,
    "-p",
    join(root, "scripts", "tsconfig.build.json"),
    "--outDir",
    fresh,
  ];
  const compiled = troubleOf(
    "the compiler",
    spawnSync(process.execPath, args, { stdio: "inherit", cwd: root }),
  );
  if (compiled !== null) fail(compiled, "the compiler found errors");
  else {
    for (const contract of [
      "lab/kit/token.sol",
      "lab/kit/fee-token.sol",
      "lab/deposits/contracts.sol",
    ])
      copyFileSync(join(root, contract), join(fresh, contract));
    const migrations = join("gateway", "store", "migrations");
    cpSync(join(root, migrations), join(fresh, migrations), { recursive: true });
    const manual = [join(fresh, "packaging", "manual.js"), fresh];
    const made = troubleOf(
      "the maker of manual pages",
      spawnSync(process.execPath, manual, { stdio: "inherit", cwd: root }),
    );
    if (made !== null) fail(made, "manual pages and completion could not be made");
    else {
      // After the manual, which reads the compiler's output.
      const { bundleAll } = await import("./bundle.js");
      await bundleAll(root, fresh);
      writeFileSync(join(fresh, ".built"), `${stamp}\n`);
      exchange(fresh, dirname(stampFile));
    }
  }
} catch (error) {
  fail({ hint: "", why: "" }, `${error.message}\nbundling failed`);
} finally {
  rmSync(aside, { recursive: true, force: true });
}
