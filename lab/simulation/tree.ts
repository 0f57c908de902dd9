/**
 * The simulated tree: the sources that a run reaches, compiled to a folder of their own, in which a
 * handful of imports at the edges lead to fakes. The code between the edges is the product's
 * own, word for word, or with one patch: an intended bug. Reads the sources, writes under
 * dist/simulated.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transformSync } from "esbuild";
import { type Patch, patchText } from "../kit/patch.ts";
import type { Run } from "./run.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const entry = "lab/simulation/run.ts";
const trees = join(root, "dist", "simulated");

interface Substitution {
  readonly file?: string; // only in this one
  readonly from: string;
  readonly to: string;
}

/** Everything else that the code imports is real. */
const fakes: readonly Substitution[] = [
  { from: "node:crypto", to: "lab/simulation/fakes/crypto.ts" },
  { file: "chains/curve/recover.ts", from: "./fast-curve.ts", to: "lab/simulation/fakes/curve.ts" },
  {
    file: "agent/keystore/nodes.ts",
    from: "../../chains/curve/fast-curve.ts",
    to: "lab/simulation/fakes/curve.ts",
  },
  {
    file: "agent/signer/vault/curve.ts",
    from: "../../../chains/curve/fast-curve.ts",
    to: "lab/simulation/fakes/curve.ts",
  },
  { from: "ws", to: "lab/simulation/fakes/socket.ts" },
  { file: "agent/ledger/disk.ts", from: "node:fs", to: "lab/simulation/fakes/files.ts" },
  {
    file: "agent/ledger/disk.ts",
    from: "../files/trusted.ts",
    to: "lab/simulation/fakes/trusted.ts",
  },
  { from: "../curve/account-node.ts", to: "lab/simulation/fakes/account-node.ts" },
  { from: "../curve/point.ts", to: "lab/simulation/fakes/curve-point.ts" },
  { file: "chains/evm/node-wire.ts", from: "./rpc.ts", to: "lab/simulation/fakes/rpc.ts" },
  { file: "chains/tron/node-wire.ts", from: "./rpc.ts", to: "lab/simulation/fakes/api.ts" },
  { file: "chains/utxo/node-wire.ts", from: "./esplora.ts", to: "lab/simulation/fakes/esplora.ts" },
  { file: "chains/xrp/node-wire.ts", from: "./rpc.ts", to: "lab/simulation/fakes/ledger-rpc.ts" },
  { file: "protocol/envelope.ts", from: "./point.ts", to: "lab/simulation/fakes/point.ts" },
];

const timers = "lab/simulation/fakes/timers.ts";
const timerNames = [
  "setTimeout",
  "setInterval",
  "setImmediate",
  "clearTimeout",
  "clearInterval",
  "clearImmediate",
  "performance",
] as const;

const importPattern = /(\bfrom\s*|\bimport\s*\(\s*|^\s*import\s+)(["'])([^"']+)\2/gm;

interface Source {
  readonly file: string;
  readonly text: string; // compiled, its imports not yet turned
}

const compiled = new Map<string, Source>();

function sourceOf(file: string, patch: Patch | null): Source {
  const isPatched = patch?.file === file;
  const known = compiled.get(file);
  if (known !== undefined && !isPatched) return known;
  const original =
    file === migrationFiles ? writeMigrations() : readFileSync(join(root, file), "utf8");
  const source = { file, text: compile(isPatched ? patched(original, patch) : original, file) };
  if (!isPatched) compiled.set(file, source);
  return source;
}

/** The file that reads the texts beside it; here it has them, as in the bundles. */
const migrationFiles = "gateway/store/migration-files.ts";

function writeMigrations(): string {
  const folder = join(root, "gateway/store/migrations");
  const texts = readdirSync(folder).map(
    (name) => [name, readFileSync(join(folder, name), "utf8")] as const,
  );
  return `export const migrationTexts = ${JSON.stringify(Object.fromEntries(texts))};\n`;
}

function patched(text: string, patch: Patch): string {
  const changed = patchText(text, patch);
  if (changed === null)
    throw new Error(`${patch.file} does not hold the text to replace exactly once: ${patch.find}`);
  return changed;
}

/**
 * By the bundler, which takes a tenth of the time that the compiler takes for hundreds of files.
 */
function compile(text: string, file: string): string {
  const { code } = transformSync(text, {
    loader: "ts",
    sourcefile: file,
    format: "esm",
    target: "es2022",
    tsconfigRaw: { compilerOptions: { target: "ES2022", verbatimModuleSyntax: true } },
  });
  return code;
}

const isOwn = (file: string): boolean => file.startsWith("lab/simulation/");

/** The target of an import: another source, or null for a package. */
function targetOf(file: string, name: string): string | null {
  const fake = isOwn(file)
    ? undefined
    : fakes.find((one) => one.from === name && (one.file ?? file) === file);
  if (fake !== undefined) return fake.to;
  return name.startsWith(".") ? posix.join(posix.dirname(file), name) : null;
}

function relative(from: string, to: string): string {
  const path = posix.relative(posix.dirname(from), to).replace(/\.ts$/, ".js");
  return path.startsWith(".") ? path : `./${path}`;
}

/** The file as it stands in the tree, and what it leads to. */
function turned({ file, text }: Source): {
  readonly text: string;
  readonly leads: readonly string[];
} {
  const leads: string[] = [];
  const lead = (to: string): string => {
    leads.push(to);
    return relative(file, to);
  };
  let result = text.replace(importPattern, (whole, before: string, quote: string, name: string) => {
    const to = targetOf(file, name);
    return to === null ? whole : `${before}${quote}${lead(to)}${quote}`;
  });
  const used = isOwn(file)
    ? []
    : timerNames.filter((name) => new RegExp(`(?<![.\\w])${name}\\b`).test(text));
  if (used.length > 0) result = `import { ${used.join(", ")} } from "${lead(timers)}";\n${result}`;
  return { text: result, leads };
}

/**
 * Builds the tree, unless it is there already. @returns its folder
 * @throws Error when the patch does not fit
 */
export function buildTree(patch: Patch | null = null): string {
  const files = new Map<string, string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    const { text, leads } = turned(sourceOf(file, patch));
    files.set(file, text);
    waiting.push(...leads);
  }
  if (patch !== null && !files.has(patch.file)) throw new Error(`no run reaches ${patch.file}`);
  const hash = createHash("sha256");
  for (const file of [...files.keys()].sort()) hash.update(`${file}\n${files.get(file)}\n`);
  const folder = join(trees, hash.digest("hex").slice(0, 20));
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  for (const [file, text] of files) {
    const path = join(unfinished, file.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    // Somebody else built the same meanwhile.
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** Loads a tree that was built. */
export async function loadTree(folder: string): Promise<Run> {
  return (await import(pathToFileURL(join(folder, entry.replace(/\.ts$/, ".js"))).href)) as Run;
}
