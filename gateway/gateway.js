#!/usr/bin/env node
/**
 * Starts the built gateway, or says in clear words what is missing. Plain JavaScript that even an
 * old Node can read.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

// Node would open its inspector at this signal. The program listens too; this is before it is
// loaded.
process.on("SIGUSR1", () => {});

// The least version that every package of the gateway runs on; package.json's `engines` names it
// too. The agent's is older.
const [major, minor] = process.versions.node.split(".").map(Number);
const isNewEnough = major > 20 || (major === 20 && minor >= 9);
const entry = fileURLToPath(new URL("../dist/gateway/command.js", import.meta.url));

function stop(message, hint) {
  process.stderr.write(`autowithdraw-gateway: ${message}\nhint: ${hint}\n`);
  process.exit(2);
}

if (!isNewEnough)
  stop(
    `Node 20.9.0 or later is needed, this is ${process.versions.node}`,
    "install Node 22 or 24 and start the gateway with it; the agent alone runs on Node 18.19.1 too",
  );
// A release comes built, and without what builds.
const isRelease = !existsSync(new URL("../scripts/build.js", import.meta.url));
const bring = isRelease
  ? "node autowithdraw.js install --gateway, as root"
  : "npm ci --include=dev --ignore-scripts && npm run build";
const isVersion = process.argv[2] === "--version";
const isHelp = process.argv.slice(2).some((word) => word === "--help" || word === "-h");
const usage = `Usage: node gateway/gateway.js <command> [options]   init, start, merchant create, agents and more

Packages or the build are missing; in the project's folder: ${bring}
Then --help shows every command.
`;

function unready(message) {
  if (!isHelp && !isVersion) stop(message, `run in the project's folder: ${bring}`);
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  process.stdout.write(isHelp ? usage : `autowithdraw ${version}\n`);
  process.exit(0);
}

if (!existsSync(entry)) unready("nothing is built yet");
try {
  const { main } = await import(pathToFileURL(entry).href);
  await main();
} catch (error) {
  if (error?.code !== "ERR_MODULE_NOT_FOUND") throw error;
  unready(`a package is missing: ${error.message}`);
}
