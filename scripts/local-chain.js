/**
 * The binary of the local chain (anvil) for the demo and the tests. npm leaves its package out
 * where that asks for a later Node than this one, though the binary needs no Node at all; here it
 * comes at the version and with the hash that package-lock.json names.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** Name of the package with this machine's binary. */
export function chainPackage(platform = process.platform, arch = process.arch) {
  return `@foundry-rs/anvil-${platform}-${arch === "x64" ? "amd64" : arch}`;
}

/**
 * Brings the package into node_modules where it is missing; what is there is left alone.
 * @returns null, or a line that says why it cannot be brought
 */
export function bringLocalChain(root, name = chainPackage()) {
  const place = join(root, "node_modules", name);
  if (existsSync(join(place, "package.json"))) return null;
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const locked = packages[`node_modules/${name}`];
  if (locked === undefined)
    return `package-lock.json names no local chain for this machine (${name}): use Linux on x64`;
  const scratch = join(root, ".cache");
  mkdirSync(scratch, { recursive: true });
  const aside = mkdtempSync(join(scratch, "chain-"));
  try {
    const wanted = `${name}@${locked.version}`;
    const args = [
      "pack",
      wanted,
      "--ignore-scripts",
      "--pack-destination",
      aside,
      "--loglevel=error",
    ];
    const packed = spawnSync("npm", args, { cwd: aside, stdio: ["ignore", "ignore", "inherit"] });
    const file = readdirSync(aside).find((one) => one.endsWith(".tgz"));
    if (packed.status !== 0 || file === undefined) return `npm pack ${wanted} failed, see above`;
    const archive = join(aside, file);
    const hash = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
    if (hash !== locked.integrity)
      return `${wanted} is not the one of package-lock.json: its hash is ${hash}`;
    const unpacked = spawnSync("tar", ["-xzf", archive, "-C", aside, "--no-same-owner"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (unpacked.status !== 0) return `${wanted} cannot be unpacked by tar, see above`;
    mkdirSync(dirname(place), { recursive: true });
    renameSync(join(aside, "package"), place);
    return null;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}
