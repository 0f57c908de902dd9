/**
 * The networks of XRP and their coin by name. docs/chains.md names the page for each figure.
 */
import type { ChainPreset, CurrencyPreset } from "./preset.ts";

const validated = "xrpl.org, finality of results: what a validated ledger holds is never undone";
const pace = "xrpl.org, consensus: a ledger each 3 to 5 s";
const ours = "ours: docs/chains.md, section 1";

/** As if each question were for a list of transactions, which costs most. */
const rippled = {
  questionsPerHour: 45_000,
  source:
    "XRPLF/rippled, include/xrpl/resource: a warning from a load of 5,000 a second for an address; a list of transactions is 400",
} as const;

type Figures = Pick<ChainPreset, "name" | "isTest" | "publicServers"> & {
  readonly chainId: number;
  readonly explorer: string;
};

function network({ chainId, explorer, ...named }: Figures): ChainPreset {
  return {
    ...named,
    lines: { family: "xrp", chainId, confirmations: "finalized", explorer },
    blockMs: 4_000,
    finalSeconds: 5,
    maxFee: "0.01",
    maxFeePerDay: "1",
    sources: {
      family: ours,
      chainId: "CAIP-2 registry, xrpl; xrpl.org, NetworkID field",
      confirmations: validated,
      explorer: `${new URL(explorer).hostname}, the explorer that the chain's own documents name`,
      blockMs: pace,
      finalSeconds: pace,
      maxFee: ours,
      maxFeePerDay: ours,
    },
  };
}

export const xrpChains: Readonly<Record<string, ChainPreset>> = {
  xrp: network({
    name: "XRP Ledger",
    isTest: false,
    chainId: 0,
    explorer: "https://livenet.xrpl.org/transactions/",
    publicServers: { "s1.ripple.com": rippled, "s2.ripple.com": rippled },
  }),
  "xrp-testnet": network({
    name: "XRP Ledger testnet",
    isTest: true,
    chainId: 1,
    explorer: "https://testnet.xrpl.org/transactions/",
  }),
};

const coin = (chain: string, market: string): CurrencyPreset => ({
  chain,
  lines: { name: "XRP", symbol: "XRP", decimal: 6, market, minPaymentAmount: "1" },
  source: "xrpl.org, currency formats: 1 XRP is 1,000,000 drops",
});

export const xrpCurrencies: Readonly<Record<string, CurrencyPreset>> = {
  xrp: coin("xrp", "XRP"),
  "xrp-testnet": coin("xrp-testnet", ""),
};
