/**
 * A new network of Bitcoin's kind is one row of chains/utxo/network.ts: types and tables take its
 * name from there. The compiler reads the product with a made-up row, and the product runs with it.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addressSpaceNames } from "../../chains/families.ts";
import { below, Product, type Table } from "./made-up-product.ts";

const reference = "ab".repeat(16);
const network = `bip122:${reference}`;
const row: Table = {
  file: "chains/utxo/network.ts",
  imports: "",
  lines: [
    below(
      '    prefix: "bcrt",\n    ...bitcoinTest,\n  },',
      `  { name: "madeupcoin", reference: "${reference}", prefix: "mup", ...bitcoinTest },`,
    ),
  ],
};
const name: Table = {
  file: "chains/family.ts",
  imports: "",
  lines: [
    below(
      'import type { Refusal } from "../base/fault.ts";',
      'export const own: AddressSpaceName = "madeupcoin";',
    ),
  ],
};
const account =
  "tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba";

const looked = [
  ...["connect", "families", "family", "network-names", "presets", "read-back", "transactions"].map(
    (one) => `chains/${one}.ts`,
  ),
  ...["family", "network", "offers", "transactions"].map((one) => `chains/utxo/${one}.ts`),
  ...["agent/config/shape.ts", "agent/keystore/nodes.ts", "gateway/config/config.ts"],
];

describe("a made-up network of Bitcoin's kind", () => {
  let product: Product;
  beforeAll(() => {
    product = new Product([row, name]);
  });
  afterAll(() => product?.close());

  it("has its name from its row: the compiler knows it with the row alone, and not without", () => {
    expect(product.faults([row, name], looked, looked)).toEqual(new Map());
    const faults = product.faults([name], looked, looked);
    expect([...faults.keys()]).toEqual(["chains/family.ts"]);
    expect(faults.get("chains/family.ts")?.join(" ")).toContain("madeupcoin");
  });

  it("is a network for configuration, addresses, bytes, readings and nodes with that row alone", () => {
    const said = product.run(
      [row],
      [
        'import { addressSpaceNames, familyOf, networkOf } from "./chains/families.ts";',
        'import { findFamilyOfAddressSpace } from "./chains/families.ts";',
        'import { openSender } from "./chains/connect.ts";',
        'import { mainNetworkByAddressSpace } from "./chains/network-names.ts";',
        'import { readBackOf } from "./chains/read-back.ts";',
        'import { transactionsOf } from "./chains/transactions.ts";',
        `const chain = { family: "madeupcoin", chainId: "${reference}", nodes: ["http://127.0.0.1:9"], confirmations: 3 } as const;`,
        "const nodes = openSender({ chain, tokens: [], clock: () => 0, log: () => undefined });",
        "nodes.close();",
        "const network = networkOf(chain);",
        "const { accounts, addressSpace, depositAddress, name } = familyOf(network);",
        `const addressAt = (at: number) => depositAddress(accounts.readKey("${account}") ?? "", at);`,
        "const [address, destination] = [addressAt(0), addressAt(1)];",
        `const coin = "${"cd".repeat(32)}:0:3000";`,
        'const payment = { network, account: address, slot: "1", contract: "", tag: "", destination, amountUnits: 2000n };',
        'const txParams = { coins: coin, changeSat: "0", feeSat: "1000" };',
        "const unsigned = transactionsOf(network).build(payment, txParams);",
        "const { account, slot } = payment;",
        "const read = transactionsOf(network).describe(unsigned, { network, account, slot, txParams });",
      ],
      `[
        addressSpaceNames,
        [
          network,
          mainNetworkByAddressSpace.madeupcoin,
          name,
          addressSpace.name,
          address.slice(0, 5),
        ],
        findFamilyOfAddressSpace("madeupcoin") === familyOf(network),
        read.ok && read.description.destination === destination,
        typeof readBackOf(network),
      ]`,
    );
    const names = addressSpaceNames.flatMap((one) =>
      one === "bitcoinregtest" ? [one, "madeupcoin"] : [one],
    );
    expect(said).toEqual([
      names,
      [network, network, "utxo", "madeupcoin", "mup1q"],
      true,
      true,
      "function",
    ]);
  });
});
