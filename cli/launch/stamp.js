/**
 * The stamp of a build: one hash over the paths and contents of every source file, so that clocks
 * and checkouts do not matter.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const stampFile = join(root, "dist", ".built");
/** The compiler's settings for a build, whose folders are named from their own. */
const settings = "scripts/tsconfig.build.json";

/**
 * SHA-256 over every `.ts`, `.tsx`, `.sol` and `.sql` file of the rooms, the settings of compiler
 * and bundler, and the lock file, whose packages are in the bundles; hex.
 */
export function sourceStamp() {
  const hash = createHash("sha256");
  // A release has no sources, and nothing to compare with.
  const { include } = JSON.parse(readFileSync(join(root, settings), "utf8"));
  const add = (path) =>
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update("\0");
  const walk = (folder) => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    );
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory() && entry.name !== "node_modules") walk(path);
      else if (entry.isFile() && /\.(tsx?|sol|sql)$/.test(entry.name)) add(path);
    }
  };
  for (const folder of include) walk(posix.join(posix.dirname(settings), folder));
  for (const path of [
    "scripts/bundle.js",
    "scripts/licences.js",
    "package-lock.json",
    "tsconfig.json",
  ])
    add(path);
  add(settings);
  return hash.digest("hex");
}
