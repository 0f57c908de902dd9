/**
 * Providers of Tron's HTTP API, each named for its kind. Numbers are scaled to a local chain that
 * makes a block every 400 ms; shapes and words are those of the reports. A profile names its
 * sources as owner/repository#number.
 */
import type { Profile } from "./profile.ts";

const all: Readonly<
  Record<string, Omit<Profile, "name" | "family" | "isFit"> & { readonly isFit?: false }>
> = {
  "plain node": { sources: [] },
  "plan without a key": {
    sources: ["iexbase/tron-api#171", "tronprotocol/wallet-cli#985", "andelf/tronpy#153"],
    limits: {
      perSecond: {
        ...{ most: 80, quietS: 2 },
        refusal: {
          ...{ status: 429, form: "fields" },
          words:
            "request rate exceeded the allowed_rps({most}), and the query server is suspended for 2 s",
        },
      },
    },
  },
  "suspension as HTTP 403": {
    sources: ["lifinance/contracts#1853", "ColonelJ/tron-transfers-downloader#8"],
    limits: {
      perSecond: {
        ...{ most: 80, quietS: 2 },
        refusal: {
          ...{ status: 403, form: "fields" },
          words:
            "The key exceeds the frequency limit({most}), and the query server is suspended for 2s",
        },
      },
    },
  },
  "daily usage used up": {
    sources: ["andelf/tronpy#148"],
    limits: {
      quota: {
        ...{ most: 4_000, windowS: 40 },
        refusal: {
          ...{ status: 429, form: "fields", headers: { "retry-after": "3" } },
          words:
            "Exceed the user daily usage (100000), the maximum query frequency is 1 time per second",
        },
      },
    },
  },
  "rate limit as HTTP 503": {
    sources: ["TRON-US/trongrid#8", "stoway/TronNet#13"],
    limits: {
      perSecond: {
        ...{ most: 80, quietS: 1 },
        refusal: {
          status: 503,
          form: "page",
          headers: { "retry-after": "1" },
          words: "503 Service Temporarily Unavailable",
        },
      },
    },
  },
  "no internal entries": {
    sources: [
      "tronprotocol/java-tron#3064",
      "tronprotocol/java-tron#6119",
      "tronprotocol/java-tron#4083",
    ],
    internal: "off",
  },
  "internal entries that move coins": { sources: ["tronprotocol/java-tron#6246"], internal: "on" },
  "internal entries of every kind": {
    sources: ["tronprotocol/java-tron#5945", "trezor/blockbook#1682"],
    internal: "featured",
  },
  "balancer with lagging backends": {
    sources: ["TRON-US/trongrid#18", "TRON-US/trongrid#8"],
    backends: [{ behind: 0 }, { behind: 2 }, { behind: 0 }, { behind: 4 }],
  },
  "receipts that come late": {
    sources: ["TRON-US/trongrid#18", "INFURA/infura#30"],
    receiptsBehind: 2,
  },
  "contracts of other kinds": {
    sources: ["tronprotocol/java-tron#5945", "fbsobreira/gotron-sdk#17"],
    odd: ["strange-contracts"],
  },
  "busy with sends": {
    sources: ["tronprotocol/java-tron#3078", "tronprotocol/java-tron#3259"],
    sends: { every: 2, code: "SERVER_BUSY", words: "Server busy." },
  },
  "no peers for sends": {
    sources: [
      "tronprotocol/java-tron#3125",
      "tronprotocol/java-tron#3630",
      "vultisig/vultisig-android#4175",
    ],
    sends: {
      every: 3,
      code: "NOT_ENOUGH_EFFECTIVE_CONNECTION",
      words: "effective connection:0 lt minEffectiveConnection:1",
    },
  },
  "HTML pages of a proxy": {
    sources: ["tronscan/tronscan-frontend#1580"],
    body: { kind: "page", every: 23 },
  },
  "torn bodies": { sources: ["ethers-io/ethers.js#2928"], body: { kind: "torn", every: 19 } },
  "slow node": {
    sources: ["tronprotocol/java-tron#3465"],
    body: { kind: "slow", every: 5, ms: 500 },
  },
  "node that stands still at times": {
    sources: ["vsys-host/shkeeper.io#115", "tronprotocol/java-tron#3465"],
    still: { everyBlocks: 120, forBlocks: 40 },
  },
  "lite node": {
    sources: ["tronprotocol/java-tron#4324", "vsys-host/shkeeper.io#33"],
    isFit: false,
    missing: {
      methods: ["gettransactioninfobyid", "gettransactioninfobyblocknum", "getblockbynum"],
      refusal: { form: "text", words: "this API is closed because this node is a lite fullnode" },
    },
  },
  "no solidified side": {
    sources: ["tronprotocol/tronweb#198", "andelf/tronpy#149", "fystack/multichain-indexer#46"],
    isFit: false,
    missing: {
      methods: ["walletsolidity"],
      refusal: { status: 405, form: "page", words: "Error 405" },
    },
  },
};

export const tronProfiles: readonly Profile[] = Object.entries(all).map(([name, profile]) => ({
  ...{ name, family: "tron" as const, isFit: true },
  ...profile,
}));
