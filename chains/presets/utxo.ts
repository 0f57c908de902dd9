/**
 * Bitcoin, its test networks and Litecoin, with their coins, by name. test/chains/presets.test.ts
 * compares each id with the family's own network; docs/chains.md names the page for each figure.
 */
import type { AddressSpaceName } from "../family.ts";
import type { ChainPreset, CurrencyPreset } from "./preset.ts";

const ids = "chainagnostic.org, namespace bip122: the first 32 digits of the first block's hash";
const target = "chainparams.cpp of the coin's own program: nPowTargetSpacing";
const ours = "ours: docs/chains.md, section 1";

interface Figures
  extends Pick<
    ChainPreset,
    "name" | "isTest" | "blockMs" | "maxFee" | "maxFeePerDay" | "publicServers"
  > {
  readonly family: AddressSpaceName;
  readonly chainId: string;
  readonly confirmations: number;
  readonly explorer: string;
}

function network({
  family,
  chainId,
  confirmations,
  explorer,
  blockMs,
  ...named
}: Figures): ChainPreset {
  return {
    ...named,
    lines: { family, chainId, confirmations, explorer },
    blockMs,
    finalSeconds: (confirmations * blockMs) / 1000,
    sources: {
      family: ours,
      chainId: ids,
      confirmations: ours,
      explorer: `${new URL(explorer).hostname}, an explorer whose program anybody can run`,
      blockMs: target,
      finalSeconds: "confirmations and the usual time between two blocks",
      maxFee: ours,
      maxFeePerDay: ours,
    },
  };
}

const bitcoin = {
  confirmations: 3,
  blockMs: 600_000,
  maxFee: "0.0005",
  maxFeePerDay: "0.01",
} as const;

export const utxoChains: Readonly<Record<string, ChainPreset>> = {
  bitcoin: network({
    ...bitcoin,
    family: "bitcoin",
    name: "Bitcoin",
    isTest: false,
    chainId: "000000000019d6689c085ae165831e93",
    explorer: "https://mempool.space/tx/",
    publicServers: {
      "blockstream.info": {
        questionsPerHour: 700,
        source: "CypherBoxLLC/Cypher-Box #194: 700 an hour for an address",
      },
    },
  }),
  "bitcoin-testnet4": network({
    ...bitcoin,
    family: "bitcointestnet4",
    name: "Bitcoin Testnet4",
    isTest: true,
    chainId: "00000000da84f2bafbbc53dee25a72ae",
    explorer: "https://mempool.space/testnet4/tx/",
  }),
  "bitcoin-signet": network({
    ...bitcoin,
    family: "bitcoinsignet",
    name: "Bitcoin Signet",
    isTest: true,
    chainId: "00000008819873e925422c1ff0f99f7c",
    explorer: "https://mempool.space/signet/tx/",
  }),
  litecoin: network({
    family: "litecoin",
    name: "Litecoin",
    isTest: false,
    chainId: "12a765e31ffd4059bada1e25190f6e98",
    confirmations: 6,
    blockMs: 150_000,
    explorer: "https://litecoinspace.org/tx/",
    maxFee: "0.005",
    maxFeePerDay: "0.1",
  }),
};

const coin = (
  chain: string,
  symbol: string,
  name: string,
  minPaymentAmount: string,
  market = "",
): CurrencyPreset => ({
  chain,
  lines: { name, symbol, decimal: 8, market, minPaymentAmount },
  source: "amount.h of the coin's own program: COIN is 100,000,000",
});

export const utxoCurrencies: Readonly<Record<string, CurrencyPreset>> = {
  btc: coin("bitcoin", "BTC", "Bitcoin", "0.0001", "BTC"),
  "btc-testnet4": coin("bitcoin-testnet4", "BTC", "Bitcoin", "0.0001"),
  "btc-signet": coin("bitcoin-signet", "BTC", "Bitcoin", "0.0001"),
  ltc: coin("litecoin", "LTC", "Litecoin", "0.01", "LTC"),
};
