/**
 * Bundles the agent's processes. Each becomes one file and a few chunks that it loads when it needs
 * them, so at a start Node finds, reads and links a few files in the place of some hundred. Each
 * process is a bundle of its own and shares no chunk with another. The bundler's own list of what
 * went into the signer is held against the signer's walls.
 */
import { build } from "esbuild";

/** The entry files of each process, by their place under dist/agent. */
const processes = {
  launcher: { crypto: "agent/crypto.ts", "check/check": "agent/check/check.ts" },
  signer: { "signer/main": "agent/signer/main.ts" },
  courier: { "courier/main": "agent/courier/main.ts" },
};

/** Builtin modules that reach a network, or start a program or thread that could. */
const reaching = /^(?:node:)?(?:net|tls|https?|http2|dns|dgram|inspector|child_process|worker_threads|cluster)(?:\/|$)/;
/** The signer's one way out: its two unix sockets. */
const socketsOnly = /^agent\/signer\/sockets\/[^/]+\.ts$/;

/**
 * Lines about inputs of a signer's bundle that break its walls, none if it holds them. An import
 * counts even if the bundler left it out of the output, and so does one that is loaded later.
 */
export function breachesOf({ inputs }) {
  return Object.entries(inputs).flatMap(([file, { imports }]) =>
    imports
      .filter(({ path, external }) => external === true && reaching.test(path))
      .filter(({ path }) => !(socketsOnly.test(file) && /^(?:node:)?net$/.test(path)))
      .map(({ path }) => `${file} in the signer's bundle imports ${path}`),
  );
}

/**
 * Bundles the entry files of one process into `outdir`, which is dist/agent, over the compiler's
 * entry files; without `outdir` it writes nothing. Packages go in as well; only optional ones that
 * are not installed stay outside. Names and lines stay as they are, so a stack trace can be read.
 * Returns the bundler's list of what went in.
 */
export async function bundle(root, name, outdir, entryPoints = processes[name]) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir: outdir ?? "dist/agent",
    write: outdir !== undefined,
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    chunkNames: `${name}/[name]-[hash]`,
    platform: "node",
    target: "node18.19",
    format: "esm",
    tsconfig: "tsconfig.json",
    metafile: true,
    logLevel: "error",
    // Packages of the older form load builtin modules this way.
    banner: { js: 'import { createRequire as requireFrom } from "node:module";\nconst require = requireFrom(import.meta.url);' },
  });
  return metafile;
}

/**
 * Bundles every process into `outdir`. @throws Error when the signer's bundle breaks one of its
 * walls
 */
export async function bundleAgent(root, outdir) {
  for (const name of Object.keys(processes)) {
    const metafile = await bundle(root, name, outdir);
    const breaches = name === "signer" ? breachesOf(metafile) : [];
    if (breaches.length > 0) throw new Error(breaches.join("\n"));
  }
}
