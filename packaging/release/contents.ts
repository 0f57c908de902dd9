/**
 * The contents of a release: the built program of agent and gateway, their launchers, units,
 * documents, and a lock file each for their production packages. No source, no test, nothing that
 * builds: an attacker on a server with keys uses whatever lies there.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { rootsOf } from "../../scripts/roots.ts";

/** package-lock.json, as far as a release reads it. */
export interface Lock {
  readonly name: string;
  readonly version: string;
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export interface LockedPackage {
  readonly version: string;
  readonly integrity?: string; // "sha512-" and base64
  readonly license?: string; // an SPDX expression
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly hasInstallScript?: boolean;
}

export interface Project {
  readonly manifest: {
    readonly name: string;
    readonly version: string;
    readonly license: string;
    readonly description: string;
  };
  readonly lock: Lock;
}

const launchers = ["pair.js", "crypto.js", "crypto.ts", "autowithdraw.js", "gateway/gateway.js"];
const beneath = [
  "cli/launch/launch.js",
  "cli/launch/packages.js",
  "cli/launch/placeholders.js",
  "cli/launch/stamp.js",
  "cli/launch/started.js",
  "dist/.built",
];
const papers = [
  "CHANGELOG.md",
  "LICENSE",
  "README.md",
  "SECURITY.md",
  "config.example.json",
  "dist/licences.txt",
];

/** The copied files by their paths from the root, sorted. */
export function releaseFiles(root: string): readonly string[] {
  const built = rootsOf(root, "product").flatMap((room) =>
    filesUnder(root, `dist/${room}`).filter((path) => /\.(?:js|sql)$/.test(path)),
  );
  const docs = filesUnder(root, "docs").filter((path) => /\.(?:md|png|svg)$/.test(path));
  const whole = [
    "packaging/systemd",
    "packaging/monitoring",
    "dist/man",
    "dist/completion",
  ].flatMap((folder) => filesUnder(root, folder));
  return [...launchers, ...beneath, ...papers, ...built, ...docs, ...whole].sort();
}

function filesUnder(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesUnder(root, path) : [path];
  });
}

/** package.json and lock file of the two parts, with production packages alone. */
export async function productionProjects(
  root: string,
): Promise<{ readonly agent: Project; readonly gateway: Project }> {
  // Imported by path, since it is plain JavaScript outside of the compiler's reach.
  const packages = (await import(
    pathToFileURL(join(root, "cli", "launch", "packages.js")).href
  )) as {
    productionProject(root: string, part: "agent" | "gateway"): Project;
  };
  return {
    agent: packages.productionProject(root, "agent"),
    gateway: packages.productionProject(root, "gateway"),
  };
}

/** Writes the whole release into `folder`, which it makes. */
export async function writeContents(root: string, folder: string): Promise<void> {
  for (const path of releaseFiles(root)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
  const { agent, gateway } = await productionProjects(root);
  writeProject(folder, agent);
  writeProject(join(folder, "gateway"), gateway);
}

function writeProject(folder: string, { manifest, lock }: Project): void {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(folder, "package-lock.json"), `${JSON.stringify(lock, null, 2)}\n`);
}

/** The version of this tree, by its package.json. */
export function treeVersion(root: string): string {
  return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string })
    .version;
}

/**
 * The reason for which a tree cannot be released: its servers would name another version than its
 * archive. "" if both are the same.
 */
export function versionTrouble(packaged: string, said: string): string {
  return packaged === said
    ? ""
    : `package.json has version ${packaged} and base/version.ts ${said}: make them the same, and build`;
}
