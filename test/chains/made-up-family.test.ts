/**
 * A new family of chains needs a folder of its own, and one line in each table of families. The
 * compiler reads the product with the made-up family of test/chains/made-up in it, and names each
 * table whose line is missing.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { below, Product, type Table, withLine } from "./made-up-product.ts";

const tables: readonly Table[] = [
  {
    file: "chains/family.ts",
    imports: "",
    lines: [
      {
        from: 'export type FamilyName = "evm" | "tron" | "utxo" | "xrp";',
        to: 'export type FamilyName = "evm" | "tron" | "utxo" | "xrp" | "madeup";',
      },
    ],
  },
  {
    file: "chains/families.ts",
    imports: 'import { madeup } from "./madeup/family.ts";',
    lines: [below("  ...utxoFamilies,\n  xrp,", "  madeup,")],
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
    lines: [below("const connectors: Readonly<Record<FamilyName, Connectors>> = {", "  madeup,")],
  },
  {
    file: "chains/read-back.ts",
    imports: 'import { readBack as madeup } from "./madeup/nodes.ts";',
    lines: [below("    xrp: () => xrpReadBack,", "    madeup: () => madeup,")],
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

describe("a made-up family of chains", () => {
  let product: Product;
  beforeAll(() => {
    product = new Product(tables);
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
