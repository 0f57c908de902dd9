/**
 * Compiles the tree to dist/ and stamps it with what it was built from, so that `ensure.js` knows when to build again.
 * A failed build leaves no stamp.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourceStamp, stampFile } from "./stamp.js";

const root = fileURLToPath(new URL("..", import.meta.url));
rmSync(stampFile, { force: true });
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const stamp = sourceStamp();
const built = spawnSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], { stdio: "inherit", cwd: root });
if (built.status !== 0) {
  process.stderr.write("build: the compiler found errors, see above\n");
  process.exit(1);
}
mkdirSync(join(root, "dist", "scripts"), { recursive: true });
copyFileSync(join(root, "scripts", "token.sol"), join(root, "dist", "scripts", "token.sol"));
writeFileSync(stampFile, `${stamp}\n`);
