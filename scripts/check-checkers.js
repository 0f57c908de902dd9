/**
 * The tests of the checks: each plants breaches and sees its check refuse them. They pass or fail
 * by what lies in scripts/ and in their own files, so they rest while that has the same hash.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Every file below a folder whose content the tests depend on, sorted. */
function filesBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

const table = readFileSync(join(root, "test", "runner", "tiers.ts"), "utf8");
const [, names = ""] = /checkerFiles[^=]*= \[([^\]]*)\]/.exec(table) ?? [];
const tests = [...names.matchAll(/"([^"]+)"/g)].map(([, name]) =>
  join(root, "test", `${name}.test.ts`),
);
if (tests.length === 0) throw new Error("test/runner/tiers.ts names no tests of the checks");
const settings = ["tsconfig.json", "package-lock.json", "vitest.config.ts"].map((name) =>
  join(root, name),
);
const hash = createHash("sha256");
for (const path of [
  ...filesBelow("scripts"),
  ...filesBelow("test/runner"),
  ...settings,
  ...tests,
]) {
  if (!path.endsWith("budgets.json"))
    hash
      .update(`${path.slice(root.length)}\0`)
      .update(readFileSync(path))
      .update("\0");
}
const stamp = join(root, ".cache", `checkers-${hash.digest("hex")}`);
if (existsSync(stamp)) {
  process.stdout.write("unchanged since they passed\n");
} else {
  const env = { ...process.env, TEST_TIER: "checkers" };
  const runner = join(root, "node_modules", "vitest", "vitest.mjs");
  const { status } = spawnSync(process.execPath, [runner, "run"], {
    cwd: root,
    stdio: "inherit",
    env,
  });
  if (status !== 0) process.exit(1);
  mkdirSync(join(root, ".cache"), { recursive: true });
  writeFileSync(stamp, "");
}
