/**
 * From a launcher to the built program: says in clear words what is missing, and for pair.js brings
 * it. Plain JavaScript, since it runs before anything is built or installed. A release comes built,
 * and without what builds.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { missingPackages, productionPackages } from "./packages.js";
import { placeholdersLeft } from "./placeholders.js";
import { stampFile } from "./stamp.js";
import { npmProduction, troubleOf } from "./started.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

const isRelease = !existsSync(join(root, "scripts", "build.js"));
const bring = isRelease
  ? "npm ci --omit=dev --ignore-scripts"
  : "npm ci --include=dev --ignore-scripts && npm run build";

const how = isRelease
  ? `as root: node autowithdraw.js install; to run it from its own folder, there: ${bring}`
  : `run in its folder: ${bring} (node pair.js does both by itself)`;

// These bring the packages of what they install themselves, so they need none.
const installing = ["install", "upgrade", "uninstall"];

const usage = `Usage: node pair.js [options]                     pairs this server; installs and builds first what it needs
       node crypto.js [options]                   runs the paired agent until it is told to end
       node autowithdraw.js <command> [options]   install, status, withdrawals, show, address, verify, approve, refuse, token

This copy is not built yet, or a package is missing: ${bring}
Then --help of each shows all of its options.
State folder: $XDG_DATA_HOME/autowithdraw, else ~/.local/share/autowithdraw; --state <folder> names another.
`;

/** Help and version are given even before there is anything that could parse options. */
function isAnsweredUnready() {
  const words = process.argv.slice(2);
  if (existsSync(stampFile) && missingPackages(root).length === 0) return false;
  if (words[0] === "--version") process.stdout.write(`autowithdraw ${readVersion()}\n`);
  else if (words.some((word) => word === "--help" || word === "-h")) process.stdout.write(usage);
  else return false;
  return true;
}

/** A test holds package.json and base/version.ts to one version. */
function readVersion() {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
}

/** `pair` speaks in its own name, every other program in that of the agent. */
function stop(line, hint) {
  const speaker = /(?:^|[/\\])pair\.js$/.test(process.argv[1] ?? "") ? "pair" : "crypto";
  process.stderr.write(`${speaker}: ${line}\nhint: ${hint}\n`);
  process.exit(2);
}

/** Runs `main(argv)` of a program in dist/ and ends with the code it gives. */
export async function launch(program) {
  const isInstalling =
    program === "cli/main.js" && installing.includes(process.argv[2]) && existsSync(stampFile);
  if (isInstalling) return run("cli/install/main.js");
  if (isAnsweredUnready()) return;
  if (!existsSync(stampFile)) stop("this copy is not built yet", how);
  const missing = missingPackages(root);
  if (missing.length > 0)
    stop(`${missing.length} packages are missing here, such as ${missing[0]}`, how);
  // A process of its own, whose packages are few: it holds every secret (scripts/bundle.js).
  const isPairing = program === "cli/main.js" && process.argv[2] === "pair";
  if (isPairing) return run("cli/pair/main.js", process.argv.slice(3));
  await run(program);
}

async function run(program, words = process.argv.slice(2)) {
  const { main } = await import(new URL(`../../dist/${program}`, import.meta.url).href);
  process.exitCode = await main(words);
}

/**
 * As `launch`, after bringing packages and build where they are missing; what is there is left
 * alone.
 */
export async function install(program) {
  if (isAnsweredUnready()) return;
  const built = existsSync(stampFile);
  if (!built || missingPackages(root).length > 0) stopAtPlaceholders();
  if (!built) {
    step(
      "installing",
      "this copy is not built yet: all packages, exactly as package-lock.json names them, then the build",
    );
    runQuietly(
      process.execPath,
      [join(root, "scripts", "ensure.js"), "--pair"],
      "installing or building failed",
    );
  } else if (missingPackages(root).length > 0) {
    step(
      "installing",
      `${productionPackages(root).length} packages, exactly as package-lock.json names them, no install scripts`,
    );
    runQuietly("npm", npmProduction, "npm ci failed");
  } else if (process.argv[2] !== "--version") {
    step("installing", "nothing: every package is here as package-lock.json names it");
  }
  await launch(program);
}

/** An operator learns of it at once, and not after a minute of installing. */
function stopAtPlaceholders() {
  const { argv, env, stdin } = process;
  const left = placeholdersLeft(
    root,
    argv.slice(2),
    env,
    stdin.isTTY === true || env.CREDENTIALS_DIRECTORY !== undefined,
  );
  if (left.length > 0)
    stop(
      `still to be replaced with your own: ${left.join(", ")}`,
      "put your own value in its place",
    );
}

/** Both streams of what runs go to stderr: stdout is for the answer. */
function runQuietly(command, args, failed) {
  const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  const trouble = troubleOf(command === process.execPath ? "node" : command, done);
  if (trouble === null) return;
  const solved = "run node pair.js again when it is solved";
  if (trouble.hint === "") stop(failed, `the lines above say why; ${solved}`);
  stop(`${failed}: ${trouble.why}`, `${trouble.hint}; ${solved}`);
}

/** The form of every step of pairing (cli/pair/pair.ts). */
function step(name, text) {
  process.stderr.write(`  ${name.padEnd(13)}${text}\n`);
}
