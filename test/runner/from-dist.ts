/**
 * Tests read the product as it was built: what a test imports from a room of the product is the
 * compiled file below dist/, which Node loads by itself, once in a worker. Without a build of
 * these very sources the sources are read, as ever.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { sourceStamp, stampFile } = (await import(
  new URL("../../cli/launch/stamp.js", import.meta.url).href
)) as {
  readonly stampFile: string;
  sourceStamp(): string;
};

/** Whether dist/ was built from the sources that lie here. */
export function isBuilt(): boolean {
  return existsSync(stampFile) && readFileSync(stampFile, "utf8").trim() === sourceStamp();
}

/**
 * The compiled file for an import, or null where the import is not a file of the product that was
 * built. Only imports that tests make are changed: compiled files import each other already.
 */
export function builtFileOf(source: string, importer: string): string | null {
  if (!source.startsWith(".") || !source.endsWith(".ts")) return null;
  const from = relative(root, importer.replace(/\?.*$/, ""));
  if (!from.startsWith(`test${sep}`)) return null;
  const path = relative(root, resolve(dirname(resolve(root, from)), source));
  if (path.startsWith("..") || path.startsWith(`test${sep}`)) return null;
  const built = resolve(root, "dist", path.replace(/\.ts$/, ".js"));
  return existsSync(built) ? built : null;
}

export function importsFromDist(): Plugin {
  return {
    name: "tests-import-the-build",
    enforce: "pre",
    resolveId: (source, importer) =>
      importer === undefined ? null : builtFileOf(source, importer),
  };
}
