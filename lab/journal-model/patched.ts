/**
 * The histories on a gateway with one mistake: the sources that `run.ts` reaches, bundled with one
 * patch and loaded beside the others. Reads the sources, writes under dist/journal-model.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { projectRoot } from "../kit/kit.ts";
import { type Patch, patchText } from "../kit/patch.ts";
import type * as Run from "./run.ts";

/** The text of a patched file. @throws Error where the place is not there, or not once */
function patchFile(patch: Patch): string {
  const text = patchText(readFileSync(join(projectRoot, patch.file), "utf8"), patch);
  if (text === null)
    throw new Error(`${patch.file} does not hold the text to replace exactly once: ${patch.find}`);
  return text;
}

/** Puts texts in the place of files, named from the project's root. */
const inPlaceOf = (texts: ReadonlyMap<string, string>): Plugin => ({
  name: "in-place-of-files",
  setup(bundling) {
    bundling.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const contents = texts.get(path);
      return contents === undefined ? null : { contents, loader: "ts" };
    });
  },
});

/** Bundles the histories with a patch, or as they are. @returns the path of the bundle */
export async function bundleRun(patch: Patch | null): Promise<string> {
  // No history begins with an older database.
  const texts = new Map([
    [
      join(projectRoot, "gateway/store/migration-files.ts"),
      "export const migrationTexts: Readonly<Record<string, string>> = {};",
    ],
  ]);
  if (patch !== null) texts.set(join(projectRoot, patch.file), patchFile(patch));
  const bundled = await build({
    entryPoints: [join(projectRoot, "lab/journal-model/run.ts")],
    absWorkingDir: projectRoot,
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    logLevel: "silent",
    plugins: [inPlaceOf(texts)],
  });
  const text = bundled.outputFiles[0]?.text ?? "";
  const folder = join(projectRoot, "dist", "journal-model", "bundles");
  const name = createHash("sha256").update(text).digest("hex").slice(0, 20);
  const path = join(folder, `${name}.mjs`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${path}.${process.pid}`, text);
  renameSync(`${path}.${process.pid}`, path);
  return path;
}

/** The histories on the gateway with a patch. */
export async function loadPatched(patch: Patch): Promise<typeof Run> {
  return (await import(pathToFileURL(await bundleRun(patch)).href)) as typeof Run;
}
