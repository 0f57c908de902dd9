/**
 * `npm run check`: format and lint, types, sizes, names of types, walls, SQL, balances, words,
 * prose, the size of the path from job to key, the tables of docs/, and the tests of these checks
 * themselves. Runs all of them and fails if one fails, so that one run shows everything.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (...path) => join(root, "node_modules", ...path);
const checks = [
  [
    "format and lint",
    [bin("@biomejs", "biome", "bin", "biome"), "check", "--error-on-warnings", "."],
  ],
  ["types", [bin("typescript", "bin", "tsc"), "-p", "tsconfig.json"]],
  ["sizes", [join(root, "scripts", "sizes.js")]],
  ["names of types", [join(root, "scripts", "type-names.js")]],
  ["walls", [join(root, "scripts", "walls.js")]],
  ["SQL in the store alone", [join(root, "scripts", "sql.js")]],
  ["balances in the journal alone", [join(root, "scripts", "sums.js")]],
  ["words of a family of chains", [join(root, "scripts", "words.js")]],
  ["prose", [join(root, "scripts", "prose.js")]],
  ["refused words", [join(root, "scripts", "prose-words.js")]],
  ["code between a job and the key", [join(root, "scripts", "audit-path.js")]],
  ["tables of docs/", [join(root, "dist", "packaging", "docs", "command.js"), "--check"]],
  ["tests of these checks", [join(root, "scripts", "check-checkers.js")]],
];
const failed = [];
for (const [name, args] of checks) {
  process.stdout.write(`check: ${name}\n`);
  if (spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status !== 0)
    failed.push(name);
}
if (failed.length > 0) {
  process.stderr.write(`check: failed: ${failed.join(", ")}\n`);
  process.exit(1);
}
process.stdout.write("check: all fine\n");
