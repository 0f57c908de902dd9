/**
 * The product with the made-up family of test/chains/made-up in it, with or without lines in its
 * tables, and the compiler over it.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import ts from "typescript";
import { projectRoot } from "../../lab/kit/kit.ts";

/** One line of a table: `from` stands in the file once, and becomes `to`. */
export interface Line {
  readonly from: string;
  readonly to: string;
}

export interface Table {
  readonly file: string;
  /** The imports of the line; none where the table has only names. */
  readonly imports: string;
  readonly lines: readonly Line[];
}

export const below = (line: string, added: string): Line => ({
  from: `${line}\n`,
  to: `${line}\n${added}\n`,
});

const rooms = ["base", "protocol", "chains", "agent", "cli", "clients", "gateway"];

/** The text with one line more, or one line changed. Throws where it does not fit. */
export function withLine(text: string, { from, to }: Line): string {
  if (text.split(from).length !== 2)
    throw new Error(`"${from.trim()}" does not stand in the file once`);
  const added = to.split("\n").length - from.split("\n").length;
  if (added !== (to.startsWith(from) ? 1 : 0)) throw new Error(`"${to.trim()}" is not one line`);
  return text.replace(from, () => to);
}

function withTable(text: string, { imports, lines }: Table): string {
  const patched = lines.reduce(withLine, text);
  return imports === "" ? patched : patched.replace("\nimport ", () => `\n${imports}\nimport `);
}

/** The product with the family's folder, and the compiler over it. */
export class Product {
  readonly #folder = mkdtempSync(join(tmpdir(), "made-up-family-"));
  readonly #texts = new Map<string, string>(); // of the tables, as they are in the project
  readonly #options: ts.CompilerOptions;
  readonly #kept = new Map<string, ts.SourceFile>();
  readonly #tables: readonly Table[];
  #program: ts.Program | undefined;
  #patched: ReadonlySet<string> = new Set();

  /** These tables alone may be patched. */
  constructor(tables: readonly Table[]) {
    this.#tables = tables;
    for (const room of rooms)
      cpSync(join(projectRoot, room), join(this.#folder, room), { recursive: true });
    cpSync(join(projectRoot, "package.json"), join(this.#folder, "package.json"));
    symlinkSync(join(projectRoot, "node_modules"), join(this.#folder, "node_modules"));
    const [made, own] = [
      join(projectRoot, "test/chains/made-up"),
      join(this.#folder, "chains/madeup"),
    ];
    mkdirSync(own);
    for (const name of readdirSync(made)) {
      const text = readFileSync(join(made, name), "utf8");
      writeFileSync(
        join(own, name),
        text.replaceAll('"../../../chains/', '"../').replaceAll('"../../../', '"../../'),
      );
    }
    for (const { file } of tables)
      this.#texts.set(file, readFileSync(join(projectRoot, file), "utf8"));
    const { config } = ts.readConfigFile(join(projectRoot, "tsconfig.json"), ts.sys.readFile) as {
      config: object;
    };
    const read = ts.parseJsonConfigFileContent(
      { ...config, include: ["chains"] },
      ts.sys,
      this.#folder,
    );
    this.#options = read.options;
  }

  /**
   * The files that the compiler finds fault with, and its words, with the lines of these tables.
   * It reads the roots and what they import.
   */
  faults(
    patched: readonly Table[],
    files: readonly string[],
    roots = this.files,
  ): ReadonlyMap<string, readonly string[]> {
    const rootNames = roots.map((file) => join(this.#folder, file));
    const host = this.#hostWith(patched, this.#options);
    this.#program = ts.createProgram({ rootNames, options: this.#options, host, ...this.#older() });
    const found = new Map<string, string[]>();
    for (const file of files) {
      const source = this.#program.getSourceFile(join(this.#folder, file));
      const faults = [
        ...this.#program.getSyntacticDiagnostics(source),
        ...this.#program.getSemanticDiagnostics(source),
      ];
      const words = faults.map(({ messageText }) =>
        ts.flattenDiagnosticMessageText(messageText, " "),
      );
      if (words.length > 0) found.set(file, words);
    }
    return found;
  }

  /** Says what an expression is worth after these imports, with the lines of these tables. */
  run(patched: readonly Table[], imports: readonly string[], expression: string): unknown {
    const outDir = join(this.#folder, "run");
    const options = {
      ...this.#options,
      noEmit: false,
      rewriteRelativeImportExtensions: true,
      rootDir: this.#folder,
      outDir,
    };
    const lines = imports.join("\n");
    const asked = `${lines}\nprocess.stdout.write(JSON.stringify(${expression}));\n`;
    writeFileSync(join(this.#folder, "asked.ts"), asked);
    const host = this.#hostWith(patched, options);
    ts.createProgram([join(this.#folder, "asked.ts")], options, host).emit();
    const said = execFileSync(process.execPath, [join(outDir, "asked.js")], { encoding: "utf8" });
    return JSON.parse(said);
  }

  #hostWith(patched: readonly Table[], options: ts.CompilerOptions): ts.CompilerHost {
    this.#patched = new Set(patched.map(({ file }) => file));
    const host = ts.createCompilerHost(options);
    host.getSourceFile = (path, target) => this.#source(path, target);
    return host;
  }

  /** All of chains/, and each file of the product that knows the names of families. */
  get files(): readonly string[] {
    this.#files ??= rooms
      .flatMap((room) =>
        readdirSync(join(this.#folder, room), { recursive: true, encoding: "utf8" }).map((at) =>
          join(room, at),
        ),
      )
      .filter((file) => /\.tsx?$/.test(file))
      .filter(
        (file) =>
          file.startsWith("chains/") ||
          /\b(FamilyName|AddressSpaceName|addressSpaceNames)\b/.test(
            readFileSync(join(this.#folder, file), "utf8"),
          ),
      );
    return this.#files;
  }
  #files: readonly string[] | undefined;

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #older(): { oldProgram?: ts.Program } {
    return this.#program === undefined ? {} : { oldProgram: this.#program };
  }

  /** A file of the tables with its line or without; any other file is read once. */
  #source(
    path: string,
    options: ts.ScriptTarget | ts.CreateSourceFileOptions,
  ): ts.SourceFile | undefined {
    const file = relative(this.#folder, path);
    const key = `${path} ${this.#patched.has(file)}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const table = this.#tables.find((one) => one.file === file);
    const text = table === undefined ? ts.sys.readFile(path) : (this.#texts.get(file) ?? "");
    if (text === undefined) return undefined;
    const patched = table !== undefined && this.#patched.has(file) ? withTable(text, table) : text;
    const source = ts.createSourceFile(path, patched, options);
    this.#kept.set(key, source);
    return source;
  }
}
