/**
 * The program's own files: chooses the installed files of a checkout or an unpacked release,
 * compares them with the installed ones, and puts them in place by rename. So a start meanwhile
 * finds the old program or the new one.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentError } from "../../base/fault.ts";
import { systemPath } from "../../base/system-path.ts";
import { type InstalledPart, type Layout, partOfUnit, unitSources } from "./layout.ts";

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}

interface Project {
  readonly manifest: { readonly engines: { readonly node: string } };
  readonly lock: Lock;
}

/** The version of the copy in a folder, null if there is none. */
export function versionInFolder(folder: string): string | null {
  const manifest = join(folder, "package.json");
  if (!existsSync(manifest)) return null;
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version?: unknown };
  return typeof version === "string" ? version : null;
}

async function projectOf(from: string, part: InstalledPart): Promise<Project> {
  // Imported by path, because it is plain JavaScript that the compiler does not see.
  const packages = (await import(
    pathToFileURL(join(from, "cli", "launch", "packages.js")).href
  )) as {
    productionProject(root: string, part: InstalledPart): Project;
  };
  return packages.productionProject(from, part);
}

/**
 * The least version of Node for the part in the folder `from`, such as "18.19.1", by `engines` of
 * its package.json.
 */
export async function readLeastNodeVersion(from: string, part: InstalledPart): Promise<string> {
  const { engines } = (await projectOf(from, part)).manifest;
  return engines.node.replace(/^>=/, "");
}

/** Paths from the root of every file that is installed unchanged, sorted. */
function programFiles({ part, rooms, files, helps }: Layout, from: string): readonly string[] {
  const built = rooms.flatMap((room) =>
    filesUnder(from, `dist/${room}`).filter((path) => path.endsWith(".js")),
  );
  const docs = filesUnder(from, "docs").filter((path) => path.endsWith(".md"));
  const units = filesUnder(from, unitSources).filter((path) => partOfUnit(path) === part);
  return [...files, ...helps.map(({ file }) => file), ...built, ...docs, ...units]
    .filter((path) => existsSync(join(from, path)))
    .sort();
}

function filesUnder(root: string, folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesUnder(root, `${folder}/${entry.name}`) : [`${folder}/${entry.name}`],
  );
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

/**
 * The bytes of every installed file by its path: the copied files, package.json and
 * package-lock.json.
 */
async function wantedFiles(layout: Layout, from: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const { manifest, lock } = await projectOf(from, layout.part);
  const copied = programFiles(layout, from).map(
    (path) => [path, readFileSync(join(from, path))] as const,
  );
  return new Map<string, Uint8Array>([
    ...copied,
    ["package.json", Buffer.from(json(manifest))],
    ["package-lock.json", Buffer.from(json(lock))],
  ]);
}

/** True if `place` holds exactly this program, complete and readable for all, with its packages. */
export async function isSameProgram(layout: Layout, from: string, place: string): Promise<boolean> {
  if (!existsSync(join(place, "package.json")) || !existsSync(join(from, layout.launcher)))
    return false;
  const wanted = await wantedFiles(layout, from);
  const isThere = ([path, bytes]: readonly [string, Uint8Array]): boolean => {
    const stat = statSync(join(place, path), { throwIfNoEntry: false });
    return (
      stat !== undefined &&
      (stat.mode & 0o044) === 0o044 &&
      readFileSync(join(place, path)).equals(bytes)
    );
  };
  return (
    [...wanted].every(isThere) &&
    hasPackages(place, JSON.parse(Buffer.from(wanted.get("package-lock.json") ?? []).toString()))
  );
}

const packagePaths = ({ packages }: Lock): readonly string[] =>
  Object.keys(packages).filter((path) => path !== "");

function hasPackages(folder: string, lock: Lock): boolean {
  return packagePaths(lock).every(
    (path) => versionInFolder(join(folder, path)) === lock.packages[path]?.version,
  );
}

/**
 * Puts the program into `place`, and the older one into `place`.old. A second call after a crash
 * does no harm: the new folder is made again.
 * @throws AgentError INSTALL_STEP when npm fails or leaves packages out
 */
export async function placeProgram(layout: Layout, from: string, place: string): Promise<void> {
  const fresh = `${place}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true, mode: 0o755 });
  const { lock } = await projectOf(from, layout.part);
  for (const [path, bytes] of await wantedFiles(layout, from)) {
    mkdirSync(join(fresh, dirname(path)), { recursive: true, mode: 0o755 });
    writeFileSync(join(fresh, path), bytes, { mode: 0o644 });
  }
  if (hasPackages(from, lock)) copyPackages(from, fresh, lock);
  else bringPackages(fresh, layout);
  openForAll(fresh);
  if (!hasPackages(fresh, lock))
    throw new AgentError("INSTALL_STEP", "none", `npm ci left packages out in ${fresh}`);
  if (existsSync(place)) {
    rmSync(`${place}.old`, { recursive: true, force: true });
    renameSync(place, `${place}.old`);
  }
  renameSync(fresh, place);
}

/** Copies package by package, because a checkout also has packages for building. */
function copyPackages(from: string, fresh: string, lock: Lock): void {
  for (const path of packagePaths(lock)) {
    const within = join(from, path);
    cpSync(within, join(fresh, path), {
      recursive: true,
      filter: (source) => source !== join(within, "node_modules"),
    });
  }
}

/**
 * The caller's environment, for proxies and npm's settings. npm itself is the one next to this
 * Node, else one that only root can change.
 */
export function npmEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_PATH: _path, ...env } = process.env;
  return { ...env, PATH: `${dirname(process.execPath)}:${systemPath}:/usr/local/bin` };
}

/** Lets npm install the packages of the lock file, without their scripts. */
function bringPackages(fresh: string, { part }: Layout): void {
  const args = [
    "ci",
    "--omit=dev",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  const done = spawnSync("npm", args, {
    cwd: fresh,
    env: npmEnvironment(),
    stdio: ["ignore", 2, 2],
  });
  if (done.status === 0) return;
  const why = done.error?.message ?? `npm ended with ${done.status ?? done.signal}`;
  throw new AgentError(
    "INSTALL_STEP",
    "none",
    `the packages of the ${part} could not be brought: ${why}`,
    {
      hint: "look at the lines of npm above: it needs the package registry, or a cache with these packages; then run it again",
    },
  );
}

/** Makes everything readable for all; the modes of the source do not count. */
function openForAll(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) openForAll(inner);
    else if (entry.isFile()) chmodSync(inner, (statSync(inner).mode & 0o100) === 0 ? 0o644 : 0o755);
  }
  chmodSync(path, 0o755);
}
