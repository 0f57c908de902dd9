/**
 * Brings a clone to where a command can run: packages exactly as the lock file says, without
 * install scripts, a fresh dist/, and with `--chain` the local chain. Doing it twice does nothing
 * the second time. Plain JavaScript, since it runs before anything is built.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sourceStamp, stampFile } from "../cli/launch/stamp.js";
import { npmAll, troubleOf } from "../cli/launch/started.js";
import { bringLocalChain } from "./local-chain.js";

const root = fileURLToPath(new URL("..", import.meta.url));

function stop(line, hint) {
  process.stderr.write(
    `${process.argv.includes("--pair") ? "pair" : "crypto"}: ${line}\nhint: ${hint}\n`,
  );
  process.exit(2);
}

function run(command, args, failed) {
  const done = spawnSync(command, args, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    shell: false,
  });
  const trouble = troubleOf(command === process.execPath ? "node" : command, done);
  if (trouble === null) return;
  if (trouble.hint === "") stop(failed, "the lines above say why; nothing else was changed");
  stop(`${failed}: ${trouble.why}`, trouble.hint);
}

const [major = 0, minor = 0, patch = 0] = process.versions.node.split(".").map(Number);
const version = major * 1e6 + minor * 1e3 + patch;
if (version < 18_019_001) {
  stop(
    `Node 18.19.1 or later is needed, this is ${process.versions.node}`,
    "Node 22 or 24 is recommended",
  );
}
// Commands with a local chain run the gateway too, whose packages want a newer Node than the
// agent's.
if (process.argv.includes("--chain") && version < 20_009_000) {
  const hint = "install Node 22 or 24; the agent alone runs on this one";
  stop(
    `the gateway runs here too, and needs Node 20.9.0 or later; this is ${process.versions.node}`,
    hint,
  );
}

/**
 * npm leaves in node_modules what it installed, dev packages or not, no matter who called it; what
 * it left out as optional may be missing.
 */
function isInstalled() {
  try {
    const [wanted, there] = ["package-lock.json", "node_modules/.package-lock.json"].map(
      (name) => JSON.parse(readFileSync(join(root, name), "utf8")).packages,
    );
    return Object.entries(wanted).every(
      ([path, { version, integrity, link, optional, devOptional }]) =>
        !path.startsWith("node_modules/") ||
        link ||
        (there[path] === undefined
          ? (optional ?? devOptional)
          : there[path].version === version && there[path].integrity === integrity),
    );
  } catch {
    return false;
  }
}

if (!isInstalled()) {
  process.stderr.write(
    "installing exactly what package-lock.json names, without install scripts\n",
  );
  run("npm", npmAll, "npm ci failed");
  if (!isInstalled())
    stop(
      "npm ci reported success, and yet packages are missing",
      "npm config list shows what this machine sets for npm",
    );
}

if (process.argv.includes("--chain")) {
  const missing = bringLocalChain(root);
  if (missing !== null)
    stop(
      `the local chain is missing: ${missing}`,
      "without it neither the demo nor the tests can run",
    );
}

if (!existsSync(stampFile) || readFileSync(stampFile, "utf8").trim() !== sourceStamp()) {
  process.stderr.write("building\n");
  run(process.execPath, [join(root, "scripts", "build.js")], "the build failed");
}
