/**
 * The presets: against viem's own definitions of the same chains and tokens, against EIP-55, and
 * against the page that merchants read.
 */
import { readFileSync } from "node:fs";
import { getAddress } from "ethers";
import { TronWeb } from "tronweb";
import * as viem from "viem/chains";
import { usdc } from "viem/tokens";
import { describe, expect, it } from "vitest";
import { feeModelOf } from "../../chains/evm/fee-model.ts";
import { families } from "../../chains/families.ts";
import { chainPresets, currencyPresets, expandPresets } from "../../chains/presets.ts";
import { firstOffer as tronOffer } from "../../chains/tron/fees.ts";
import { formatAmount } from "../../protocol/amount.ts";
import { currencyPattern } from "../../protocol/fields.ts";

const theirs: Readonly<
  Record<
    string,
    { id: number; blockTime?: number | undefined; blockExplorers: { default: { url: string } } }
  >
> = {
  ...{
    ethereum: viem.mainnet,
    "bnb-smart-chain": viem.bsc,
    polygon: viem.polygon,
    base: viem.base,
    arbitrum: viem.arbitrum,
  },
  ...{
    optimism: viem.optimism,
    avalanche: viem.avalanche,
    sepolia: viem.sepolia,
    "bsc-testnet": viem.bscTestnet,
  },
};
const evm = Object.entries(chainPresets).filter(([, preset]) => preset.lines.family === "evm");
const onEvm = Object.entries(currencyPresets).filter(
  ([, { chain }]) => chainPresets[chain]?.lines.family === "evm",
);

describe("the presets of EVM chains", () => {
  it("are the nine that are promised", () => {
    expect(evm.map(([name]) => name).sort()).toEqual(Object.keys(theirs).sort());
  });

  it.each(evm)(
    "%s has the id, explorer and block time of viem's definition, and the model of fees of its id",
    (name, preset) => {
      const { id, blockTime, blockExplorers } = theirs[name]!;
      expect(preset.lines.chainId).toBe(id);
      expect(preset.lines.explorer).toBe(`${blockExplorers.default.url}/tx/`);
      if (blockTime !== undefined) expect(preset.blockMs).toBe(blockTime);
      expect(preset.lines.feeModel).toBe(feeModelOf({ family: "evm", chainId: id }));
      expect(families.evm.feeModels).toContain(preset.lines.feeModel);
    },
  );

  it.each(Object.entries(chainPresets))(
    "%s names a source for each figure, and no other",
    (_, preset) => {
      const figures = [
        ...Object.keys(preset.lines),
        "blockMs",
        "finalSeconds",
        "maxFee",
        "maxFeePerDay",
      ];
      expect(Object.keys(preset.sources).sort()).toEqual(figures.sort());
      for (const source of Object.values(preset.sources)) expect(source.length).toBeGreaterThan(10);
    },
  );
});

describe("the presets of Tron", () => {
  const onTron = Object.entries(currencyPresets).filter(
    ([, { chain }]) => chainPresets[chain]?.lines.family === "tron",
  );

  it.each([
    ["tron", viem.tron],
    ["tron-nile", viem.tronNile],
    ["tron-shasta", viem.tronShasta],
  ])(
    "%s has the id of viem's definition, and its coin",
    (name, { id, nativeCurrency: { symbol, decimals } }) => {
      const { lines } = chainPresets[name]!;
      expect(families.tron.readChainId(id)).toBe(lines.chainId);
      expect(families.tron.readChainId(lines.chainId)).toBe(lines.chainId);
      const coins = onTron.filter(
        ([, { chain, lines: each }]) => chain === name && each.contract === undefined,
      );
      expect(coins.map(([, { lines: each }]) => [each.symbol, each.decimal])).toEqual([
        [symbol, decimals],
      ]);
      expect(families.tron.fees.decimal).toBe(decimals);
    },
  );

  it("are of the family whole, and USDT has 6 decimals and a contract whose checksum tronweb confirms", () => {
    const chains = Object.entries(chainPresets).filter(([, { lines }]) => lines.family === "tron");
    expect(chains.map(([name]) => name)).toEqual(["tron", "tron-nile", "tron-shasta"]);
    const tokens = onTron.filter(([, { lines }]) => lines.contract !== undefined);
    expect(tokens.map(([id]) => id)).toEqual(["usdt-trc20", "usdt-trc20-nile"]);
    for (const [id, { lines }] of tokens) {
      expect(id).toMatch(currencyPattern);
      expect([TronWeb.isAddress(lines.contract), lines.decimal]).toEqual([true, 6]);
    }
  });
});

describe("the presets of Bitcoin and Litecoin", () => {
  const chains = Object.entries(chainPresets).filter(
    ([, { lines }]) => families[lines.family].exclusion.kind === "pin",
  );

  it("each is the one network of its family, with one coin of eight decimals", () => {
    expect(chains.map(([name]) => name)).toEqual([
      "bitcoin",
      "bitcoin-testnet4",
      "bitcoin-signet",
      "litecoin",
    ]);
    for (const [name, { lines }] of chains) {
      const family = families[lines.family];
      expect(family.readChainId(lines.chainId)).toBe(lines.chainId);
      expect(family.networkOf({ family: lines.family, chainId: lines.chainId })).toBe(
        `bip122:${lines.chainId}`,
      );
      const coins = Object.values(currencyPresets).filter(({ chain }) => chain === name);
      expect(coins.map(({ lines: each }) => [each.contract, each.decimal])).toEqual([
        [undefined, family.fees.decimal],
      ]);
    }
  });

  it("the ceilings of fees bear a payment of two coins at 100 sat for a byte, and those of the day twenty of them", () => {
    for (const [, { maxFee, maxFeePerDay }] of chains) {
      expect(Number(maxFee) * 1e8).toBeGreaterThan(209 * 100);
      expect(Number(maxFeePerDay)).toBeGreaterThanOrEqual(20 * Number(maxFee));
    }
  });
});

describe("the presets of currencies", () => {
  it("are the coin of each EVM chain, and USDT and USDC but for USDT of Sepolia, which nobody issues", () => {
    for (const [name] of evm) {
      const own = onEvm.filter(([, { chain }]) => chain === name).map(([, { lines }]) => lines);
      expect(own.filter(({ contract }) => contract === undefined)).toHaveLength(1);
      const tokens = own.flatMap(({ contract, symbol }) =>
        contract === undefined ? [] : [symbol],
      );
      expect(tokens).toEqual(name === "sepolia" ? ["USDC"] : ["USDT", "USDC"]);
    }
  });

  it.each(onEvm)(
    "%s has the contract in its checksummed form, and 18 decimals on BNB Smart Chain alone",
    (id, preset) => {
      const { contract, decimal, symbol } = preset.lines;
      expect(id).toMatch(currencyPattern);
      const { nativeCurrency } = (theirs[preset.chain] as unknown as {
        nativeCurrency: { symbol: string; decimals: number };
      })!;
      if (contract === undefined) {
        expect([symbol, decimal]).toEqual([nativeCurrency.symbol, nativeCurrency.decimals]);
        return;
      }
      expect(contract).toBe(getAddress(contract.toLowerCase()));
      expect(decimal).toBe(
        preset.chain === "bnb-smart-chain" || preset.chain === "bsc-testnet" ? 18 : 6,
      );
      const chainId = chainPresets[preset.chain]?.lines.chainId as number;
      const known = (usdc.addresses as Readonly<Record<number, string>>)[chainId];
      if (symbol === "USDC" && known !== undefined) expect(contract).toBe(known);
    },
  );

  it("give no contract to two ids", () => {
    const assets = Object.values(currencyPresets).map(
      ({ chain, lines }) => `${chain} ${lines.contract ?? ""}`,
    );
    expect(new Set(assets).size).toBe(assets.length);
  });
});

describe("a preset in a configuration", () => {
  const wrong = (path: string, problem: string): Error => new Error(`${path} ${problem}`);
  const known = {
    chainLines: ["family", "chainId", "confirmations"],
    currencyLines: ["decimal", "contract"],
    wrong,
  };

  it("stands for its lines that the reader knows, and each line given beside it wins", () => {
    const chains = { mine: { preset: "base", nodes: ["http://n"], confirmations: 5 } };
    const { chains: found, currencies } = expandPresets(
      chains,
      { "usdc-base": { preset: "usdc-base", decimal: 7 } },
      known,
    );
    expect(found).toEqual({
      mine: { family: "evm", chainId: 8453, confirmations: 5, nodes: ["http://n"] },
    });
    const { contract } = currencyPresets["usdc-base"]!.lines;
    expect(currencies).toEqual({ "usdc-base": { chain: "mine", decimal: 7, contract } });
  });

  it("a currency's preset is refused on another preset's chain, and taken on its own chain written by hand", () => {
    const byHand = { family: "evm", chainId: 8453, nodes: ["http://n"] };
    const on = (chain: object) => () =>
      expandPresets({ mine: { ...chain } }, { it: { preset: "usdc-base", chain: "mine" } }, known);
    expect(on({ preset: "ethereum" })).toThrow(
      'of the preset base, and the chain "mine" is of the preset ethereum',
    );
    expect(on({ ...byHand, chainId: 1 })).toThrow(
      'currencies.it.preset is a currency of the preset base, and the chain "mine" is another',
    );
    expect(on(byHand)).not.toThrow();
    expect(on({ preset: "base" })).not.toThrow();
  });

  it("a currency's preset needs the name of its chain if two chains fit", () => {
    const both = { a: { preset: "base" }, b: { preset: "base", chainId: 7 } };
    expect(() => expandPresets(both, { it: { preset: "usdc-base" } }, known)).toThrow(
      "name one of a, b as its chain",
    );
    expect(() =>
      expandPresets({ a: { preset: "polygon" } }, { it: { preset: "usdc-base" } }, known),
    ).toThrow("no chain here has that preset");
    expect(() =>
      expandPresets({ a: both.a }, { it: { preset: "usdc-base" } }, known),
    ).not.toThrow();
  });

  it("an unknown preset is refused, also one with the name of a property that every object has", () => {
    for (const preset of ["basse", "toString", "", 7, null])
      expect(() => expandPresets({ a: { preset } }, {}, known)).toThrow(
        "chains.a.preset is the name of no preset",
      );
  });
});

describe("docs/chains.md", () => {
  const page = readFileSync(new URL("../../docs/chains.md", import.meta.url), "utf8");
  /** Rows of the table whose first cell is a name in backticks, by that name. */
  const rowsOf = (heading: string): ReadonlyMap<string, readonly string[]> => {
    const section = page.split(`## ${heading}`)[1]?.split("\n## ")[0] ?? "";
    const rows = [...section.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)];
    return new Map(rows.map(([, name = "", cells = ""]) => [name, cells.split(" | ")]));
  };

  it("has a row for each chain that says its id, what is final, when, its blocks and its model of fees", () => {
    const rows = rowsOf("2. The chains");
    expect([...rows.keys()].sort()).toEqual(Object.keys(chainPresets).sort());
    for (const [name, { lines, blockMs, finalSeconds, name: words }] of Object.entries(
      chainPresets,
    )) {
      const [chain, id, excludes, final, when, blocks, costs] = rows.get(name) ?? [];
      expect([chain, id, final]).toEqual([words, `${lines.chainId}`, `\`${lines.confirmations}\``]);
      expect(excludes?.length).toBeGreaterThan(3);
      expect(when).toBe(finalSeconds < 60 ? `${finalSeconds} s` : `${finalSeconds / 60} min`);
      expect(blocks).toBe(`${blockMs / 1000} s`);
      if (lines.feeModel !== undefined) expect(costs).toMatch(new RegExp(`^\`${lines.feeModel}\``));
    }
  });

  it("says of Tron how long a payment waits, what one is counted with and what the presets bear, as the code has it", () => {
    const section = page.split("## 6. Tron")[1] ?? "";
    const { fees, exclusion } = families.tron;
    if (exclusion.kind !== "expiry") throw new Error("nothing excludes by expiry");
    const prices = { energySun: 100n, byteSun: 1_000n, activationSun: 1_100_000n };
    const offer = (computeLimit: bigint) =>
      tronOffer({
        feeMarket: { refBlockBytes: 0n, refBlockHash: 0n, blockMs: 0n, ...prices },
        computeLimit,
      });
    const most = (computeLimit: bigint): string =>
      formatAmount(fees.most(offer(computeLimit)), fees.decimal);
    const words = ["no", "one", "two", "three", "four", "five"];
    expect(section).toContain(
      `An attempt lives ${words[exclusion.validUntilMs(offer(0n)) / 60_000]} minutes`,
    );
    expect(section).toContain(`past its end by ${words[exclusion.marginMs / 60_000]} minutes`);
    expect(section).toContain(
      `| TRX | ${most(0n)}; ${most(1n)} to an account that is not there yet |`,
    );
    expect(section).toContain(
      `| USDT to an address that has some (64,285 energy) | ${most(64_285n)} |`,
    );
    expect(section).toContain(
      `| USDT to an address that has none (130,285 energy) | ${most(130_285n)} |`,
    );
    for (const preset of ["tron", "tron-nile", "tron-shasta"]) {
      const { maxFee = "", maxFeePerDay = "" } = chainPresets[preset] ?? {};
      expect({ maxFee, maxFeePerDay }).toEqual(fees.ceilings);
      const payments = Math.floor(Number(maxFeePerDay) / Number(most(130_285n)));
      expect(section).toContain(
        `\`maxFee\` is ${maxFee} and their \`maxFeePerDay\` ${maxFeePerDay}, which is some ${payments} payments of USDT a day`,
      );
    }
  });
});
