/**
 * Bundles the agent's processes, the commands and the gateway. Each becomes one file and a few
 * chunks that it loads when it needs them, so at a start Node finds, reads and links a few files in
 * the place of some hundred. Each process is a bundle of its own and shares no chunk with another.
 * The bundler's own list of what went into a process is held against that process' walls.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";
import { licencesOf, packagesIn } from "./licences.js";

const anything = () => true;
const nothing = () => false;

/**
 * The packages that may lie beside a secret, as docs/threat-model.md names them: signatures,
 * hashes, addresses, the mnemonic's words and the sealing of the keystore.
 */
const trusted = [
  ...["@bitauth/libauth", "@noble/curves", "@noble/hashes", "@scure/base", "@scure/bip32"],
  ...["bip39", "hash-wasm", "tweetnacl"],
];

/**
 * Each process: its entry files, its chunks' folder under dist/, the packages that may be in it
 * (any without a list), and which of its files may import which of the builtin modules that reach
 * out. Keys are in the signer, sealing, backup, and the
 * launcher's check.
 */
const processes = {
  launcher: {
    entries: ["agent/crypto", "agent/check/check"],
    chunks: "agent/launcher",
    packages: trusted,
    mayReach: (_file, builtin) => ["net", "child_process"].includes(builtin),
  },
  signer: {
    entries: ["agent/signer/main"],
    chunks: "agent/signer",
    packages: trusted,
    // Its one way out: its two unix sockets.
    mayReach: (file, builtin) =>
      builtin === "net" && /^agent\/signer\/sockets\/[^/]+\.ts$/.test(file),
  },
  courier: { entries: ["agent/courier/main"], chunks: "agent/courier", mayReach: anything },
  check: { entries: ["agent/check/main"], chunks: "agent/check", mayReach: anything },
  commands: {
    entries: ["cli/main", "cli/install/main"],
    chunks: "cli/commands",
    mayReach: anything,
  },
  pairing: {
    entries: ["cli/pair/main"],
    chunks: "cli/pair",
    packages: trusted,
    mayReach: anything,
  },
  sealing: {
    entries: ["cli/sealing/main", "cli/sealing/proving", "cli/sealing/ledger", "cli/sealing/rekey"],
    chunks: "cli/sealing",
    packages: trusted,
    mayReach: nothing,
  },
  backup: {
    entries: ["cli/backup/main"],
    chunks: "cli/backup",
    packages: trusted,
    mayReach: nothing,
  },
  registering: { entries: ["cli/registering/main"], chunks: "cli/registering", mayReach: anything },
  // The package looks for compiled files of its own beside itself.
  gateway: {
    entries: ["gateway/command", "gateway/postgres/thread"],
    chunks: "gateway/command",
    mayReach: anything,
    external: ["@photostructure/sqlite"],
  },
};

/** Builtin modules that reach a network, or start a program or thread that could. */
const reaching =
  /^(?:net|tls|https?|http2|dns|dgram|inspector|child_process|worker_threads|cluster)(?:\/|$)/;

/**
 * Lines about inputs of the bundle `name` that break its walls, none if it holds them. An import
 * counts even if the bundler left it out of the output, and so does one that is loaded later. A
 * bundle with walls leaves no package outside, where this check would not see it.
 */
export function breachesOf({ inputs }, name) {
  const { mayReach, packages } = processes[name];
  const outsiders = packagesIn(Object.keys(inputs)).filter(
    (path) => packages?.includes(nameOf(path)) === false,
  );
  const isBreach = (file, path) => {
    const builtin = path.replace(/^node:/, "");
    return (reaching.test(builtin) || !isBuiltin(path)) && !mayReach(file, builtin);
  };
  const ways = Object.entries(inputs).flatMap(([file, { imports }]) =>
    imports
      .filter(
        ({ path, external }) => external === true && path !== "<runtime>" && isBreach(file, path),
      )
      .map(({ path }) => `${file} in the bundle of ${name} imports ${path}`),
  );
  return [
    ...outsiders.map(
      (path) => `the bundle of ${name}, which holds a secret, has the package ${nameOf(path)}`,
    ),
    ...ways,
  ];
}

const nameOf = (path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/**
 * Puts the texts of the database's migrations in the place of the file that reads them from disk,
 * so that a bundle runs no other ones than it was made with.
 */
const withMigrationTexts = (root) => ({
  name: "migration-texts",
  setup(bundling) {
    bundling.onLoad({ filter: /[/\\]gateway[/\\]store[/\\]migration-files\.ts$/ }, () => {
      const folder = join(root, "gateway", "store", "migrations");
      const texts = readdirSync(folder).map((file) => [
        file,
        readFileSync(join(folder, file), "utf8"),
      ]);
      return {
        contents: `export const migrationTexts = ${JSON.stringify(Object.fromEntries(texts))};`,
        loader: "js",
      };
    });
  },
});

/**
 * Bundles the entry files of one process into `outdir`, which is dist/, over the compiler's entry
 * files; without `outdir` it writes nothing. Packages go in as well; only `external` ones and
 * optional ones that are not installed stay outside. Names and lines stay as they are, so a stack
 * trace can be read. Returns the bundler's list of what went in.
 */
export async function bundle(root, name, outdir, entryPoints = undefined) {
  const { entries, chunks, external = [] } = processes[name];
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entryPoints ?? Object.fromEntries(entries.map((entry) => [entry, `${entry}.ts`])),
    outdir: outdir ?? "dist",
    write: outdir !== undefined,
    allowOverwrite: true,
    bundle: true,
    external,
    splitting: true,
    chunkNames: `${chunks}/[name]-[hash]`,
    platform: "node",
    target: "node18.19",
    format: "esm",
    tsconfig: "tsconfig.json",
    metafile: true,
    plugins: [withMigrationTexts(root)],
    logLevel: "error",
    // Packages of the older form load builtin modules this way.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module";\nconst require = requireFrom(import.meta.url);',
    },
  });
  return metafile;
}

/**
 * Bundles every process into `outdir`, with the licences of all packages inside. @throws Error when
 * a bundle breaks its walls
 */
export async function bundleAll(root, outdir) {
  const inputs = [];
  for (const name of Object.keys(processes)) {
    const metafile = await bundle(root, name, outdir);
    const breaches = breachesOf(metafile, name);
    if (breaches.length > 0) throw new Error(breaches.join("\n"));
    inputs.push(...Object.keys(metafile.inputs));
  }
  writeFileSync(join(outdir, "licences.txt"), licencesOf(root, packagesIn(inputs)));
}

/** The source files in the bundle of each process, from the root, by the process' name. */
export async function listInputs(root) {
  const all = Object.keys(processes).map(async (name) => [
    name,
    Object.keys((await bundle(root, name, undefined)).inputs),
  ]);
  return Object.fromEntries(await Promise.all(all));
}
