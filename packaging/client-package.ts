/**
 * Makes a package of client/, with types and an entry for each of its files, as `npm install` takes
 * it. Nothing of the gateway is in it, and it depends on no package.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

function run(program: string, args: readonly string[], cwd: string): string {
  const done = spawnSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (done.status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${done.error?.message ?? done.stdout}`);
  return done.stdout;
}

/** Declarations name their neighbours by the sources' ending; a package has none of those. */
function finishTypes(folder: string): void {
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".d.ts"))) {
    const path = join(folder, name);
    writeFileSync(path, readFileSync(path, "utf8").replace(/(from "\.\/[^"]+)\.ts"/g, '$1.js"'));
  }
}

/**
 * package.json with an entry for each source: client.ts is the package itself, the others are named
 * after it.
 */
function manifestOf(source: string): object {
  const names = readdirSync(source).filter((file) => file.endsWith(".ts"));
  const entries = names.map((file) => {
    const name = file.slice(0, -".ts".length);
    return [name === "client" ? "." : `./${name}`, { types: `./${name}.d.ts`, default: `./${name}.js` }] as const;
  });
  const given = JSON.parse(readFileSync(join(source, "package.json"), "utf8")) as object;
  return { ...given, exports: Object.fromEntries(entries), sideEffects: false };
}

/**
 * Packs the client of the tree at `root` into the folder `out`; gives the file's path. Twice is
 * harmless: the file is made again.
 */
export function packClient(root: string, out: string): string {
  const folder = mkdtempSync(join(tmpdir(), "client-package-"));
  try {
    const source = join(root, "client");
    run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", source, "--outDir", folder], root);
    finishTypes(folder);
    writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifestOf(source), null, 2)}\n`);
    copyFileSync(join(source, "README.md"), join(folder, "README.md"));
    copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
    const told = run("npm", ["pack", "--json", "--ignore-scripts", "--loglevel=error"], folder);
    const [packed] = JSON.parse(told) as readonly { readonly filename: string }[];
    const file = packed?.filename ?? "";
    mkdirSync(out, { recursive: true });
    copyFileSync(join(folder, file), join(out, `.${file}`));
    renameSync(join(out, `.${file}`), join(out, file)); // whole, or not there
    return join(out, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
