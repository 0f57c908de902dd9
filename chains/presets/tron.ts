/**
 * Tron's networks and their currencies by name. test/chains/presets.test.ts compares ids with
 * viem's definitions; docs/chains.md names the page for each figure.
 */
import type { ChainPreset, CurrencyPreset } from "./preset.ts";

const ids = "developers.tron.network, eth_chainId: the last four bytes of the genesis block's id";
const solidified =
  "developers.tron.network, solidified blocks: 19 of 27 producers built on it, read from /walletsolidity";
const slot = "developers.tron.network, consensus: a block each 3 s";
const ours = "ours: docs/chains.md, section 1";

type Figures = Pick<ChainPreset, "name" | "isTest"> & {
  readonly chainId: string;
  readonly explorer: string;
};

function network({ chainId, explorer, ...named }: Figures): ChainPreset {
  const explorerSource = `${new URL(explorer).hostname}, the explorer that the chain's own documents name`;
  return {
    ...named,
    tokens: "TRC-20",
    lines: { family: "tron", chainId, confirmations: "finalized", explorer },
    blockMs: 3_000,
    finalSeconds: 90,
    maxFee: "45",
    maxFeePerDay: "2000",
    sources: {
      family: ours,
      chainId: ids,
      confirmations: solidified,
      explorer: explorerSource,
      blockMs: slot,
      finalSeconds: solidified,
      maxFee: ours,
      maxFeePerDay: ours,
    },
  };
}

export const tronChains: Readonly<Record<string, ChainPreset>> = {
  tron: network({
    name: "Tron",
    isTest: false,
    chainId: "0x2b6653dc",
    explorer: "https://tronscan.org/#/transaction/",
  }),
  "tron-nile": network({
    name: "Tron Nile",
    isTest: true,
    chainId: "0xcd8690dc",
    explorer: "https://nile.tronscan.org/#/transaction/",
  }),
  "tron-shasta": network({
    name: "Tron Shasta",
    isTest: true,
    chainId: "0x94a9059e",
    explorer: "https://shasta.tronscan.org/#/transaction/",
  }),
};

const trx = (chain: string, market: string): CurrencyPreset => ({
  chain,
  lines: { name: "TRON", symbol: "TRX", decimal: 6, market, minPaymentAmount: "5" },
  source: "developers.tron.network: 1 TRX is 1,000,000 sun",
});

const usdt = (chain: string, contract: string, market: string, source: string): CurrencyPreset => ({
  chain,
  lines: {
    name: "Tether USD",
    symbol: "USDT",
    decimal: 6,
    contract,
    market,
    minPaymentAmount: "5",
  },
  source,
  sweepLeast: "50",
});

const tether = "tether.to, supported protocols: issued by Tether";
const faucet = "nileex.io: the USDT of the network's faucet";

export const tronCurrencies: Readonly<Record<string, CurrencyPreset>> = {
  trx: trx("tron", "TRX"),
  "usdt-trc20": usdt("tron", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "USDT", tether),
  "trx-nile": trx("tron-nile", ""),
  "usdt-trc20-nile": usdt("tron-nile", "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf", "", faucet),
  "trx-shasta": trx("tron-shasta", ""),
};
