/**
 * The kept input of each target: small files in test/corpora, named by their hash, played again by
 * the tests.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const above = fileURLToPath(new URL("../..", import.meta.url));
const root = basename(above) === "dist" ? join(above, "..") : above;

/** Files kept of one target, and bytes of one file. */
export const filesMax = 60;
export const fileBytesMax = 4_096;

export function corpusFolder(target: string): string {
  return join(root, "test", "corpora", target);
}

export interface CorpusInput {
  readonly name: string;
  readonly input: Uint8Array;
}

export function readCorpus(target: string): readonly CorpusInput[] {
  const folder = corpusFolder(target);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).sort();
  return names.map((name) => ({ name, input: new Uint8Array(readFileSync(join(folder, name))) }));
}

/**
 * Replaces what is kept. Inputs that once showed a mistake, whose names do not begin with a hash,
 * always stay.
 */
export function writeCorpus(target: string, inputs: readonly Uint8Array[]): void {
  const folder = corpusFolder(target);
  mkdirSync(folder, { recursive: true });
  for (const { name } of readCorpus(target))
    if (/^[0-9a-f]{16}$/.test(name)) rmSync(join(folder, name));
  for (const input of inputs.slice(0, filesMax)) writeFileSync(join(folder, nameOf(input)), input);
}

export function nameOf(input: Uint8Array): string {
  return createHash("sha256").update(input).digest("hex").slice(0, 16);
}
