/**
 * Brings a clone to where a command can run: packages exactly as the lock file says, without install scripts, and a fresh dist/.
 * Doing it twice does nothing the second time. Plain JavaScript, since it runs before anything is built.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourceStamp, stampFile } from "./stamp.js";

const root = fileURLToPath(new URL("..", import.meta.url));

function stop(line, hint) {
  process.stderr.write(`autowithdraw: ${line}\nhint: ${hint}\n`);
  process.exit(2);
}

function run(command, args, failed) {
  const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"], shell: false });
  if (done.error !== undefined) stop(`${command} cannot be started: ${done.error.message}`, "install Node.js with npm");
  if (done.status !== 0) stop(failed, "the lines above say why; nothing else was changed");
}

const [major = 0, minor = 0, patch = 0] = process.versions.node.split(".").map(Number);
if (major * 1e6 + minor * 1e3 + patch < 18_019_001) {
  stop(`Node 18.19.1 or later is needed, this is ${process.versions.node}`, "Node 22 or 24 is recommended");
}

// npm leaves the lock it installed from in node_modules; our own mark beside it says that all of it, dev packages too, is there.
const lockHash = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");
const mark = join(root, "node_modules", ".complete");
if (!existsSync(mark) || readFileSync(mark, "utf8") !== lockHash) {
  process.stderr.write("installing exactly what package-lock.json names, without install scripts\n");
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], "npm ci failed");
  writeFileSync(mark, lockHash);
}

if (!existsSync(stampFile) || readFileSync(stampFile, "utf8").trim() !== sourceStamp()) {
  process.stderr.write("building\n");
  run(process.execPath, [join(root, "scripts", "build.js")], "the build failed");
}
