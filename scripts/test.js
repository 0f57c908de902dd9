/**
 * `npm test`: names what this machine lacks, then runs the whole suite; further arguments go to the
 * test runner.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const wanted = [
  ["strace", "the trace that shows the signer makes no network socket", "apt-get install strace"],
  ["flock", "one daemon per state folder", "apt-get install util-linux"],
  ["promtool", "the check of metrics and alert rules by Prometheus' own tool", "apt-get install prometheus"],
  ["systemd-analyze", "the check of the unit files", "apt-get install systemd"],
];
for (const [program, what, how] of wanted) {
  const found = spawnSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" }).status === 0;
  if (!found) process.stderr.write(`\n*** SKIPPED here for want of ${program}: ${what}. To run it: ${how}\n\n`);
}
const runner = join(root, "node_modules", "vitest", "vitest.mjs");
const done = spawnSync(process.execPath, [runner, "run", ...process.argv.slice(2)], { cwd: root, stdio: "inherit" });
process.exit(done.status ?? 1);
