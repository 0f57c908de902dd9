/**
 * `npm run repairs -- --mutants N`: mutants of the simulator drawn by the commit's hash, each held
 * against the files of `npm test` that reach the patched file by their imports, the nearest first.
 * The simulator sees every mutant; the figure tells how many of them a developer sees before.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { projectRoot } from "../kit/kit.ts";
import { mutants } from "../simulation/mutants/all.ts";
import type { Mutant } from "../simulation/mutants/mutant.ts";

/** Imports that are loaded: neither those of types alone nor those of packages. */
const importForm =
  /(?:^|\n)(?:import|export)(?! type\b)[^;]*?from "(\.[^"]+)"|(?:import|mock)\(\s*"(\.[^"]+)"/g;

/** Tests that read each source as a text: they would see any change of it. */
const readers = ["test/system/mutants.test.ts", "test/system/repairs.test.ts"];

const imported = new Map<string, readonly string[]>();

function importsOf(file: string): readonly string[] {
  const known = imported.get(file);
  if (known !== undefined) return known;
  const path = join(projectRoot, file);
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const found = [...text.matchAll(importForm)].map(([, named = "", called = ""]) =>
    normalize(join(dirname(file), named || called)),
  );
  imported.set(file, found);
  return found;
}

/** Imports between a file and another, at least; null where there is no way. */
function distanceOf(from: string, to: string): number | null {
  const seen = new Set([from]);
  let front: readonly string[] = [from];
  for (let distance = 0; front.length > 0; distance += 1) {
    if (front.includes(to)) return distance;
    front = [...new Set(front.flatMap(importsOf))].filter((file) => !seen.has(file));
    for (const file of front) seen.add(file);
  }
  return null;
}

/** Test files whose imports lead to a source file, the nearest first. */
export function testsReaching(file: string): readonly string[] {
  return readdirSync(join(projectRoot, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => join("test", name))
    .filter((name) => name.endsWith(".test.ts") && !readers.includes(name))
    .map((test) => ({ test, distance: distanceOf(test, file) }))
    .filter((one): one is { test: string; distance: number } => one.distance !== null)
    .sort((a, b) => a.distance - b.distance || (a.test < b.test ? -1 : 1))
    .map(({ test }) => test);
}

/** The commit of the tree, in hex. */
export function commitHash(): string {
  return spawnSync("git", ["rev-parse", "HEAD"], {
    cwd: projectRoot,
    encoding: "utf8",
  }).stdout.trim();
}

/** So many mutants, drawn by a text: the same for the same text. */
export function drawMutants(count: number, by: string): readonly Mutant[] {
  const placed = mutants.map((mutant) => ({
    mutant,
    place: createHash("sha256").update(`${by} ${mutant.name}`).digest("hex"),
  }));
  return placed
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant);
}
