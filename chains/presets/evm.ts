/**
 * EVM chains by name. test/chains/presets.test.ts compares ids, coins, block times and explorers
 * with viem's definitions; docs/chains.md names the page for each figure.
 */
import type { ChainLines, ChainPreset } from "./preset.ts";

const caip2 = "EIP-155 registry of chain ids, chainid.network";
const ours = "ours: docs/chains.md, section 1";

type Figures = Pick<
  ChainPreset,
  "name" | "tokens" | "blockMs" | "finalSeconds" | "maxFee" | "maxFeePerDay" | "publicServers"
> & {
  readonly chainId: number;
  readonly feeModel: string;
  readonly explorer: string;
  readonly isTest?: boolean;
  readonly sources: Readonly<
    Record<"confirmations" | "feeModel" | "blockMs" | "finalSeconds", string>
  >;
};

function chain({
  chainId,
  feeModel,
  explorer,
  isTest = false,
  sources,
  ...figures
}: Figures): ChainPreset {
  const lines: ChainLines = {
    family: "evm",
    chainId,
    confirmations: "finalized",
    feeModel,
    explorer,
  };
  const explorerSource = `${new URL(explorer).hostname}, the explorer that the chain's own documents name`;
  const all = {
    family: ours,
    chainId: caip2,
    explorer: explorerSource,
    maxFee: ours,
    maxFeePerDay: ours,
    ...sources,
  };
  return { ...figures, isTest, lines, sources: all };
}

/** A public server of dRPC; it takes as many when its region is busy, and more else. */
const drpc = (host: string): NonNullable<ChainPreset["publicServers"]> => ({
  [`${host}.drpc.org`]: {
    questionsPerHour: 144_000,
    source:
      "drpc.org, rate limiting: at least 50,400 compute units a minute for an address, as 40 eth_call a second",
  },
});

const ethereumFinality =
  "ethereum.org, proof of stake: the tag `finalized` is a checkpoint two epochs of 32 slots old";
const gasAlone = "EIP-1559: base fee and tip for gas, nothing beside";
const opStackFees =
  "docs.optimism.io, transaction fees; OP Stack specifications, GasPriceOracle.getL1FeeUpperBound";
const opStackFinality =
  "docs.optimism.io, transaction finality: `finalized` is data in a final block of Ethereum, in 15 to 30 minutes";

export const evmChains: Readonly<Record<string, ChainPreset>> = {
  ethereum: chain({
    name: "Ethereum",
    tokens: "ERC-20",
    chainId: 1,
    feeModel: "ethereum",
    explorer: "https://etherscan.io/tx/",
    blockMs: 12_000,
    finalSeconds: 960,
    maxFee: "0.01",
    maxFeePerDay: "0.2",
    publicServers: drpc("eth"),
    sources: {
      confirmations: ethereumFinality,
      feeModel: gasAlone,
      finalSeconds: ethereumFinality,
      blockMs: "Ethereum consensus specifications: SECONDS_PER_SLOT = 12",
    },
  }),
  "bnb-smart-chain": chain({
    name: "BNB Smart Chain",
    tokens: "BEP-20",
    chainId: 56,
    feeModel: "ethereum",
    explorer: "https://bscscan.com/tx/",
    blockMs: 750,
    finalSeconds: 5,
    maxFee: "0.005",
    maxFeePerDay: "0.2",
    publicServers: {
      ...drpc("bsc"),
      "bsc-dataseed.bnbchain.org": {
        questionsPerHour: 120_000,
        source:
          "docs.bnbchain.org, JSON-RPC endpoints: 10,000 in five minutes; eth_getLogs is switched off there",
      },
    },
    sources: {
      confirmations:
        "docs.bnbchain.org, JSON-RPC: `finalized` is the block that fast finality (BEP-126) confirmed",
      feeModel: "docs.bnbchain.org: EIP-1559 since BEP-226, with a base fee of 0",
      blockMs: "BEP-524 (Maxwell), 0.75 s; later forks are faster, and nothing here counts on it",
      finalSeconds: "BEP-126: two blocks later; some seconds are allowed for the nodes",
    },
  }),
  polygon: chain({
    name: "Polygon",
    chainId: 137,
    feeModel: "ethereum",
    explorer: "https://polygonscan.com/tx/",
    blockMs: 2_000,
    finalSeconds: 10,
    maxFee: "0.5",
    maxFeePerDay: "20",
    publicServers: drpc("polygon"),
    sources: {
      confirmations:
        "PIP-11: a milestone of Heimdall makes blocks final, and `finalized` names them",
      feeModel: gasAlone,
      blockMs: "docs.polygon.technology: two seconds",
      finalSeconds:
        "docs.polygon.technology, finality: 2 to 5 seconds since Heimdall v2; some are allowed for the nodes",
    },
  }),
  base: chain({
    name: "Base",
    chainId: 8_453,
    feeModel: "op-stack",
    explorer: "https://basescan.org/tx/",
    blockMs: 2_000,
    finalSeconds: 1_200,
    maxFee: "0.001",
    maxFeePerDay: "0.05",
    publicServers: drpc("base"),
    sources: {
      confirmations: opStackFinality,
      feeModel: opStackFees,
      finalSeconds: opStackFinality,
      blockMs: "docs.base.org: two seconds",
    },
  }),
  arbitrum: chain({
    name: "Arbitrum One",
    chainId: 42_161,
    feeModel: "arbitrum",
    explorer: "https://arbiscan.io/tx/",
    blockMs: 250,
    finalSeconds: 1_200,
    maxFee: "0.001",
    maxFeePerDay: "0.05",
    publicServers: drpc("arbitrum"),
    sources: {
      confirmations:
        "docs.arbitrum.io, finality and reorganisations: `finalized` is a batch in a final block of Ethereum",
      feeModel:
        "docs.arbitrum.io, gas and fees: data is billed in gas of the transaction, within its own limit",
      blockMs: "docs.arbitrum.io: a quarter of a second",
      finalSeconds: "docs.arbitrum.io: some minutes to the batch, then Ethereum's finality",
    },
  }),
  optimism: chain({
    name: "OP Mainnet",
    chainId: 10,
    feeModel: "op-stack",
    explorer: "https://optimistic.etherscan.io/tx/",
    blockMs: 2_000,
    finalSeconds: 1_200,
    maxFee: "0.001",
    maxFeePerDay: "0.05",
    publicServers: drpc("optimism"),
    sources: {
      confirmations: opStackFinality,
      feeModel: opStackFees,
      finalSeconds: opStackFinality,
      blockMs: "OP Stack specifications: block time of OP Mainnet, 2 s",
    },
  }),
  avalanche: chain({
    name: "Avalanche C-Chain",
    chainId: 43_114,
    feeModel: "ethereum",
    explorer: "https://snowtrace.io/tx/",
    blockMs: 1_700,
    finalSeconds: 5,
    maxFee: "0.05",
    maxFeePerDay: "2",
    publicServers: drpc("avalanche"),
    sources: {
      confirmations:
        "build.avax.network, C-Chain RPC: `finalized` is the last accepted block, and accepted is for good",
      feeModel: "ACP-176: a base fee of its own kind, offered and paid as in EIP-1559",
      blockMs: "viem's definition: 1.7 s; blocks come as they are needed",
      finalSeconds: "build.avax.network: one to two seconds; some are allowed for the nodes",
    },
  }),
  sepolia: chain({
    name: "Sepolia",
    chainId: 11_155_111,
    feeModel: "ethereum",
    explorer: "https://sepolia.etherscan.io/tx/",
    blockMs: 12_000,
    finalSeconds: 960,
    maxFee: "0.05",
    maxFeePerDay: "1",
    isTest: true,
    sources: {
      confirmations: ethereumFinality,
      feeModel: gasAlone,
      finalSeconds: ethereumFinality,
      blockMs: "Ethereum consensus specifications: SECONDS_PER_SLOT = 12",
    },
  }),
  "bsc-testnet": chain({
    name: "BNB Smart Chain testnet",
    chainId: 97,
    feeModel: "ethereum",
    explorer: "https://testnet.bscscan.com/tx/",
    blockMs: 750,
    finalSeconds: 5,
    maxFee: "0.05",
    maxFeePerDay: "1",
    isTest: true,
    sources: {
      confirmations: "docs.bnbchain.org, JSON-RPC: as BNB Smart Chain",
      feeModel: "docs.bnbchain.org: as BNB Smart Chain",
      blockMs: "BEP-524 (Maxwell): as BNB Smart Chain",
      finalSeconds: "BEP-126: as BNB Smart Chain",
    },
  }),
};
