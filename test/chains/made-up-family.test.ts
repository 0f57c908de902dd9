/**
 * A new family of chains needs a folder of its own, and one line in each table of families. The
 * compiler reads the product with the made-up family of test/chains/made-up in it, and names each
 * table whose line is missing.
 */
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
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectRoot } from "../../lab/kit/kit.ts";

/** One line of a table: `from` stands in the file once, and becomes `to`. */
interface Line {
  readonly from: string;
  readonly to: string;
}

interface Table {
  readonly file: string;
  /** The imports of the line; none where the table has only names. */
  readonly imports: string;
  readonly lines: readonly Line[];
}

const below = (line: string, added: string): Line => ({
  from: `${line}\n`,
  to: `${line}\n${added}\n`,
});

const tables: readonly Table[] = [
  {
    file: "chains/family.ts",
    imports: "",
    lines: [below('  ...(["litecoin", "litecoinregtest", "xrp"] as const),', '  "madeup",')],
  },
  {
    file: "chains/families.ts",
    imports: 'import { madeup } from "./madeup/family.ts";',
    lines: [{ from: "...utxoFamilies, xrp };", to: "...utxoFamilies, xrp, madeup };" }],
  },
  {
    file: "chains/transactions.ts",
    imports: 'import { transactions as madeup } from "./madeup/transactions.ts";',
    lines: [below("  xrp: xrpTransactions,", "  madeup,")],
  },
  {
    file: "chains/network-names.ts",
    imports: 'import { mainNetwork as madeup } from "./madeup/network.ts";',
    lines: [below("  xrp,", "  madeup,")],
  },
  {
    file: "chains/connect.ts",
    imports: 'import { connectors as madeup } from "./madeup/nodes.ts";',
    lines: [below("  ...ofEachFamily(utxoConnectors),", "  madeup,")],
  },
  {
    file: "chains/read-back.ts",
    imports: 'import { readBack as madeup } from "./madeup/nodes.ts";',
    lines: [below("  xrp: xrpReadBack,", "  madeup,")],
  },
  {
    file: "chains/presets.ts",
    imports: 'import { madeupChains, madeupCurrencies } from "./madeup/presets.ts";',
    lines: [
      below("  ...xrpChains,", "  ...madeupChains,"),
      below("  ...xrpCurrencies,", "  ...madeupCurrencies,"),
    ],
  },
];
/** The tables that have one entry for each name. */
const complete = tables.map(({ file }) => file).slice(1, -1);
const rooms = ["base", "protocol", "chains", "agent", "cli", "clients", "gateway"];

/** The text with one line more, or one line changed. Throws where it does not fit. */
function withLine(text: string, { from, to }: Line): string {
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
class Product {
  readonly #folder = mkdtempSync(join(tmpdir(), "made-up-family-"));
  readonly #texts = new Map<string, string>(); // of the tables, as they are in the project
  readonly #options: ts.CompilerOptions;
  readonly #kept = new Map<string, ts.SourceFile>();
  #program: ts.Program | undefined;
  #patched: ReadonlySet<string> = new Set();

  constructor() {
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
   */
  faults(
    patched: readonly Table[],
    files: readonly string[],
  ): ReadonlyMap<string, readonly string[]> {
    this.#patched = new Set(patched.map(({ file }) => file));
    const host = ts.createCompilerHost(this.#options);
    host.getSourceFile = (path, options) => this.#source(path, options);
    const rootNames = this.files.map((file) => join(this.#folder, file));
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
          /\b(FamilyName|familyNames)\b/.test(readFileSync(join(this.#folder, file), "utf8")),
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
    const table = tables.find((one) => one.file === file);
    const text = table === undefined ? ts.sys.readFile(path) : (this.#texts.get(file) ?? "");
    if (text === undefined) return undefined;
    const patched = table !== undefined && this.#patched.has(file) ? withTable(text, table) : text;
    const source = ts.createSourceFile(path, patched, options);
    this.#kept.set(key, source);
    return source;
  }
}

describe("a made-up family of chains", () => {
  let product: Product;
  beforeAll(() => {
    product = new Product();
  });
  afterAll(() => product?.close());

  const allBut = (file: string): readonly Table[] => tables.filter((table) => table.file !== file);
  const looked = [
    ...tables.map(({ file }) => file),
    "chains/utxo/network.ts",
    "chains/utxo/family.ts",
  ];

  it("compiles with its folder and one line in each table, with every file that knows the names of families", () => {
    expect(product.files.length).toBeGreaterThan(100);
    expect(product.files).toContain("chains/madeup/family.ts");
    expect(product.files).toContain("gateway/operator/xpub.ts");
    expect(product.faults(tables, product.files)).toEqual(new Map());
  });

  it.each(complete)("without its line in %s the compiler names that table alone", (file) => {
    const faults = product.faults(allBut(file), looked);
    expect([...faults.keys()]).toEqual([file]);
    expect(faults.get(file)?.join(" ")).toContain("madeup");
  });

  it("without its name, each table that has an entry for every name is at fault", () => {
    const faults = product.faults(allBut("chains/family.ts"), looked);
    for (const file of complete) expect(faults.get(file)?.join(" "), file).toContain("madeup");
  });

  it("without its presets it compiles: a family may leave chains and coins to the configuration", () => {
    expect(product.faults(allBut("chains/presets.ts"), looked)).toEqual(new Map());
  });

  it("a patch fails where it does not fit, or is more than one line", () => {
    const text = "one\ntwo\n";
    expect(withLine(text, below("one", "more"))).toBe("one\nmore\ntwo\n");
    expect(withLine(text, { from: "two", to: "three" })).toBe("one\nthree\n");
    expect(() => withLine(text, below("three", "more"))).toThrow("does not stand");
    expect(() => withLine("one\none\n", below("one", "more"))).toThrow("does not stand");
    expect(() => withLine(text, below("one", "more\nand more"))).toThrow("is not one line");
  });
});
