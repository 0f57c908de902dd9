/**
 * Compiles the tree aside and then puts it in the place of dist/ whole, stamped with what it was
 * built from, so that `ensure.js` knows when to build again. A program that starts meanwhile runs
 * the old build or the new one, never some of each. A failed build changes nothing, and no output
 * stays of a source that is gone.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourceStamp, stampFile } from "../cli/launch/stamp.js";

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

const stamp = sourceStamp();
mkdirSync(join(root, ".cache"), { recursive: true });
// Beside the tree's other scratch: a rename does not cross file systems.
const aside = mkdtempSync(join(root, ".cache", "build-"));
try {
  const fresh = join(aside, "dist");
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const args = [compiler, "-p", join(root, "tsconfig.build.json"), "--outDir", fresh];
  if (spawnSync(process.execPath, args, { stdio: "inherit", cwd: root }).status !== 0) {
    process.stderr.write("build: the compiler found errors, see above; the build that was there is untouched\n");
    process.exitCode = 1;
  } else {
    for (const contract of ["lab/kit/token.sol", "lab/deposits/contracts.sol"])
      copyFileSync(join(root, contract), join(fresh, contract));
    const manual = [join(fresh, "packaging", "manual.js"), fresh];
    if (spawnSync(process.execPath, manual, { stdio: "inherit", cwd: root }).status !== 0) {
      process.stderr.write(
        "build: manual pages and completion could not be made, see above; the build that was there is untouched\n",
      );
      process.exitCode = 1;
    } else {
      writeFileSync(join(fresh, ".built"), `${stamp}\n`);
      exchange(fresh, dirname(stampFile));
    }
  }
} finally {
  rmSync(aside, { recursive: true, force: true });
}
