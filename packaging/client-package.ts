/**
 * Makes a package of clients/typescript/, with types and an entry for each of its files, as
 * `npm install` takes it. Nothing of the gateway is in it, and it depends on no package. Each file
 * is there twice: as a CommonJS module (`.js`) for `require`, for Node 18 and for compilers that
 * know no `exports`, and as an ECMAScript module (`.mjs`).
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

function run(program: string, args: readonly string[], cwd: string): string {
  const done = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (done.status !== 0)
    throw new Error(`${program} ${args.join(" ")} failed: ${done.error?.message ?? done.stdout}`);
  return done.stdout;
}

const clientIn = (root: string): string => join(root, "clients", "typescript");

const sourcesOf = (root: string): readonly string[] =>
  readdirSync(clientIn(root)).filter((file) => file.endsWith(".ts"));

/**
 * Compiles the sources in a folder of their own, whose package.json decides between the two kinds
 * of modules; gives the folder of the results.
 */
function compile(root: string, scratch: string, type: "commonjs" | "module"): string {
  const [source, out] = [join(scratch, type), join(scratch, `${type}-out`)];
  mkdirSync(source);
  for (const name of sourcesOf(root)) copyFileSync(join(clientIn(root), name), join(source, name));
  writeFileSync(join(source, "package.json"), JSON.stringify({ type }));
  const compilerOptions = {
    ...{
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      verbatimModuleSyntax: false,
    },
    ...{ rootDir: ".", outDir: out, typeRoots: [join(root, "node_modules", "@types")] },
  };
  const settings = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
  writeFileSync(join(source, "tsconfig.json"), JSON.stringify(settings));
  run(
    process.execPath,
    [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", source],
    root,
  );
  return out;
}

/**
 * Puts a compiled file into the package. Declarations name their neighbours by the sources'
 * ending, and modules of the other kind have another ending.
 */
function place(from: string, to: string, ending: ".js" | ".mjs"): void {
  const text = readFileSync(from, "utf8").replace(
    /((?:from |import\(|require\()"\.\/[^"]+?)\.(?:ts|js)"/g,
    `$1${ending}"`,
  );
  writeFileSync(to, text);
}

/**
 * package.json with an entry for each source: client.ts is the package itself, the others are named
 * after it. `types` stands first in each condition, and `main` and `types` of the package are for
 * programs that know no `exports`.
 */
function manifestOf(root: string): object {
  const entries = sourcesOf(root).map((file) => {
    const name = file.slice(0, -".ts".length);
    const forms = {
      import: { types: `./${name}.d.mts`, default: `./${name}.mjs` },
      require: { types: `./${name}.d.ts`, default: `./${name}.js` },
    };
    return [name === "client" ? "." : `./${name}`, forms] as const;
  });
  const given = JSON.parse(readFileSync(join(clientIn(root), "package.json"), "utf8")) as object;
  const exports = { ...Object.fromEntries(entries), "./package.json": "./package.json" };
  return {
    ...given,
    type: "commonjs",
    main: "./client.js",
    types: "./client.d.ts",
    exports,
    sideEffects: false,
  };
}

/**
 * Packs the client of the tree at `root` into the folder `out`; gives the file's path. Twice is
 * harmless: the file is made again.
 */
export function packClient(root: string, out: string): string {
  const scratch = mkdtempSync(join(tmpdir(), "client-package-"));
  try {
    const folder = join(scratch, "package");
    mkdirSync(folder);
    const [common, modern] = [compile(root, scratch, "commonjs"), compile(root, scratch, "module")];
    for (const source of sourcesOf(root)) {
      const name = source.slice(0, -".ts".length);
      for (const ending of [".js", ".d.ts"])
        place(join(common, `${name}${ending}`), join(folder, `${name}${ending}`), ".js");
      place(join(modern, `${name}.js`), join(folder, `${name}.mjs`), ".mjs");
      place(join(modern, `${name}.d.ts`), join(folder, `${name}.d.mts`), ".mjs");
    }
    writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifestOf(root), null, 2)}\n`);
    copyFileSync(join(clientIn(root), "README.md"), join(folder, "README.md"));
    copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
    const told = run("npm", ["pack", "--json", "--ignore-scripts", "--loglevel=error"], folder);
    const [packed] = JSON.parse(told) as readonly { readonly filename: string }[];
    const file = packed?.filename ?? "";
    mkdirSync(out, { recursive: true });
    copyFileSync(join(folder, file), join(out, `.${file}`));
    renameSync(join(out, `.${file}`), join(out, file)); // whole, or not there
    return join(out, file);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
