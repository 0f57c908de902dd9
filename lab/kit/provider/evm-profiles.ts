/**
 * Providers of EVM chains, each named for its kind. Numbers are scaled to a local chain that makes
 * a block every 400 ms; shapes and words are those of the reports. A profile names its sources as
 * owner/repository#number.
 */
import type { Profile, Refusal } from "./profile.ts";

const tooManyRequests: Refusal = { status: 429, code: 429, words: "Too Many Requests" };

const all: Readonly<
  Record<string, Omit<Profile, "name" | "family" | "isFit"> & { readonly isFit?: false }>
> = {
  "plain node": { sources: [] },
  "free plan with ten-block ranges": {
    sources: [
      "joshstevens19/rindexer#181",
      "risc0/risc0-ethereum#656",
      "BobTheBuidler/dank_mids#772",
    ],
    limits: {
      rangeBlocks: {
        most: 10,
        refusal: {
          ...{ status: 400, code: -32_600 },
          words:
            "Under the Free tier plan, you can make eth_getLogs requests with up to a {most} block range.",
        },
      },
    },
  },
  "range limit as HTTP 413": {
    sources: ["OffchainLabs/arbitrum-sdk#609", "boundless-xyz/boundless#1665"],
    limits: {
      rangeBlocks: {
        most: 5,
        refusal: { status: 413, code: -32_614, words: "eth_getLogs is limited to a {most} range" },
      },
    },
  },
  "range limit as wrong parameters": {
    sources: ["INFURA/infura#237", "bobanetwork/boba_legacy#827", "enviodev/hyperindex#605"],
    limits: {
      rangeBlocks: {
        most: 3,
        refusal: { code: -32_602, words: "range {asked} exceeds limit of {most}" },
      },
      filterTopics: { most: 100, refusal: { code: -32_602, words: "exceed max topics" } },
    },
  },
  "limit of results": {
    sources: ["aurora-is-near/aurora-relayer#327", "base/base#2421", "matter-labs/zksync-era#3412"],
    limits: {
      resultLogs: {
        most: 3,
        refusal: { code: -32_005, words: "query returned more than {most} results" },
      },
    },
  },
  "small answers": {
    sources: [
      "matter-labs/zksync-era#3412",
      "eth-infinitism/bundler#90",
      "bancorprotocol/webapp#523",
    ],
    limits: {
      answerBytes: { most: 60_000, refusal: { code: -32_008, words: "Response is too big" } },
    },
  },
  "no batches": {
    sources: ["paritytech/jsonrpsee#744", "beefyfinance/beefy-v2#2774"],
    limits: {
      batchCalls: {
        most: 1,
        refusal: {
          status: 400,
          form: "text",
          words: "batch requests are not supported by this server",
        },
      },
    },
  },
  "batches of three": {
    sources: ["hemilabs/ui-monorepo#887", "AlphaWallet/alpha-wallet-android#2736"],
    limits: {
      batchCalls: {
        most: 3,
        refusal: {
          status: 500,
          code: 31,
          words: "Batch of more than {most} requests are not allowed on free tier",
        },
      },
    },
  },
  "large batches break the connection": {
    sources: ["erigontech/erigon#18074"],
    limits: { batchCalls: { most: 8, refusal: { form: "cut", words: "" } } },
  },
  "batches refused call by call": {
    sources: ["NethermindEth/nethermind#5122", "paritytech/jsonrpsee#1107"],
    limits: {
      batchCalls: {
        most: 5,
        refusal: { form: "list", code: -32_010, words: "The batch request was too large" },
      },
    },
  },
  "balancer with lagging backends": {
    sources: [
      "ethereum/go-ethereum#24078",
      "latticexyz/mud#2901",
      "hl-archive-node/nanoreth#153",
      "ponder-sh/ponder#1852",
    ],
    backends: [{ behind: 0 }, { behind: 2 }, { behind: 0 }, { behind: 5 }, { behind: 1 }],
  },
  "rollup whose deposits have no nonce": {
    sources: ["subsquid/squid-sdk#542", "subsquid/squid-sdk#543", "foundry-rs/foundry#7640"],
    odd: ["op-deposit", "no-price"],
  },
  "rollup with transaction kinds of its own": {
    sources: ["OffchainLabs/go-ethereum#658", "OffchainLabs/nitro#499", "indexsupply/shovel#197"],
    odd: ["arbitrum"],
  },
  "padded quantities": {
    sources: ["openethereum/parity-ethereum#10244", "embarklabs/embark#290"],
    odd: ["leading-zeros", "upper-case"],
  },
  "empty logs bloom": {
    sources: [
      "aurora-is-near/aurora-relayer#271",
      "l2beat/l2beat#10113",
      "across-protocol/relayer#1789",
    ],
    odd: ["zero-bloom"],
  },
  "public node with a rate limit": {
    sources: ["Polymarket/poly-market-maker#78", "MetaMask/eth-json-rpc-infura#33"],
    limits: {
      perSecond: {
        most: 120,
        refusal: { ...tooManyRequests, headers: { "retry-after": "1" } },
        quietS: 1,
      },
    },
  },
  "throughput limit call by call": {
    sources: ["namehash/ensnode#1022", "gitcoinco/grants-stack-indexer#156"],
    limits: {
      perSecond: {
        most: 200,
        refusal: {
          ...{ form: "list", code: 429 },
          words:
            "Your app has exceeded its compute units per second capacity. If you have retries enabled, you can ignore this",
        },
      },
    },
  },
  "quota used up in HTTP 200": {
    sources: [
      "blockscout/blockscout#7339",
      "status-im/nimbus-eth2#1632",
      "enviodev/hyperindex#715",
    ],
    limits: {
      quota: {
        most: 6_000,
        windowS: 40,
        refusal: { code: -32_005, words: "daily request count exceeded, request rate limited" },
      },
    },
  },
  "HTML pages of a proxy": {
    sources: ["netgum/archanova#83", "OpenZeppelin/defender-sdk#308"],
    body: { kind: "page", every: 23 },
  },
  "torn bodies": {
    sources: ["ethers-io/ethers.js#2928", "erigontech/erigon#7152"],
    body: { kind: "torn", every: 19 },
  },
  "breaking connections": {
    sources: ["shutter-network/rolling-shutter#459"],
    body: { kind: "cut", every: 17 },
  },
  "slow node": {
    sources: ["filecoin-project/lotus#12205"],
    body: { kind: "slow", every: 5, ms: 700 },
  },
  "node that stands still at times": {
    sources: ["vsys-host/shkeeper.io#197", "openethereum/parity-ethereum#10474"],
    still: { everyBlocks: 120, forBlocks: 40 },
  },
  "full node with little state": {
    sources: ["ethereum/go-ethereum#20874", "ethereum/go-ethereum#16471"],
    state: {
      blocks: 24,
      refusal: {
        words: "missing trie node 7c2e0c4f (path ) state 0x7c2e0c4f is not available, not found",
      },
    },
  },
  "few methods": {
    sources: ["ava-labs/avalanchego#4614", "opengsn/gsn#816", "base/node#153"],
    missing: {
      methods: ["eth_getBlockReceipts", "eth_feeHistory", "eth_maxPriorityFeePerGas"],
      refusal: { code: -32_601, words: "the method {method} does not exist/is not available" },
    },
  },
  "no finalized tag": {
    sources: ["node-real/bsc-erigon#376", "ethereum/execution-apis#879", "rsksmart/rskj#3309"],
    noFinalized: { code: -39_001, words: "Unknown block" },
  },
  "fee cap on sends": {
    sources: [
      "ethereum-optimism/optimism#8819",
      "ethers-io/ethers.js#1263",
      "erigontech/erigon#10582",
    ],
    sends: {
      every: 2,
      refusal: { words: "tx fee (1.63 ether) exceeds the configured cap (1.00 ether)" },
    },
  },
  "sends that time out and arrive": {
    sources: ["cowprotocol/services#64", "gnosis/dex-services#896"],
    sends: {
      every: 2,
      isTaken: true,
      refusal: { status: 504, form: "page", words: "504 Gateway Time-out" },
    },
  },
  "one backend that lies": {
    sources: ["ethers-io/ethers.js#841", "lambdaclass/ethrex#7071"],
    backends: [{ behind: 0 }, { behind: 0 }, { behind: 0, lies: ["amount", "log", "success"] }],
  },
  "no logs": {
    sources: ["bnb-chain/bsc#1215", "bnb-chain/docs-site#621"],
    isFit: false,
    missing: { methods: ["eth_getLogs"], refusal: { code: -32_005, words: "limit exceeded" } },
  },
  "state pruned below the final block": {
    sources: [
      "ethereum-optimism/op-geth#220",
      "ethereum/go-ethereum#17133",
      "NethermindEth/nethermind#9408",
    ],
    isFit: false,
    state: { blocks: 2, refusal: { words: "missing trie node 1a3bddc4 (path )" } },
  },
  "every send refused": {
    sources: ["ethereum-optimism/op-geth#209", "0xPolygon/cdk-erigon#734"],
    isFit: false,
    sends: {
      every: 1,
      refusal: { words: "tx fee (7.71 ether) exceeds the configured cap (1.00 ether)" },
    },
  },
};

export const evmProfiles: readonly Profile[] = Object.entries(all).map(([name, profile]) => ({
  ...{ name, family: "evm" as const, isFit: true },
  ...profile,
}));
