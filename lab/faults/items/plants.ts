/**
 * The faults of single items, by domain and family: plants in the answers about merchant A's items,
 * each with the report that it copies, or the reason why a family has none. A domain or a family
 * without a cell does not compile.
 */
import type { FaultDomain } from "../../../gateway/faults/domains.ts";
import {
  lostHistory,
  oddPayment,
  oddPayout,
  type Plant,
  refusal,
  tokenFails,
  unjudged,
  unreadable,
} from "./plant-makers.ts";

export type FamilyKey = "evm" | "tron" | "bitcoin" | "litecoin" | "xrp";
export const families = [
  "evm",
  "tron",
  "bitcoin",
  "litecoin",
  "xrp",
] as const satisfies readonly FamilyKey[];

export interface Reason {
  readonly none: string;
}

type Cell = readonly Plant[] | Reason;

const none = (why: string): Record<FamilyKey, Reason> => {
  const reason = { none: why };
  return { evm: reason, tron: reason, bitcoin: reason, litecoin: reason, xrp: reason };
};

const oneCoin: Reason = {
  none: "the chain has its coin alone, and a coin that nobody can read is the chain's fault",
};
const proven: Reason = {
  none: "a block's bytes are proven by its hash, so a transaction of it is read or the block is not",
};

const pruned = refusal("NODE_PRUNED", "missing trie node");
const disagree = refusal("NODE_DISAGREE", "the nodes do not agree");
const late = refusal("NODE_TIMEOUT", "no answer in 10 s");
const tooMany = refusal(
  "NODE_ERROR",
  "the address has 20001 coins, and more than 20000 are not read",
);
const odd = refusal("NODE_ANSWER", "the node's answer cannot be read");
const size = refusal("NODE_ANSWER_SIZE", "the answer is above 32 MiB");
const badRequest = (words: string) => refusal("NODE_HTTP", `HTTP status 400: ${words}`);

/** One node of two answers otherwise about an attempt, for hours. */
const twoMinds = unjudged(
  "XRPLF/rippled #5441: one of two nodes says for hours that a final transaction is not validated",
  refusal("NODE_DISAGREE", "the nodes do not agree on the receipt"),
);

export const plants: Readonly<Record<FaultDomain, Readonly<Record<FamilyKey, Cell>>>> = {
  head: none("the chain itself has it: lab/faults/items/chain-plants.ts"),
  final: none("the chain itself has it: lab/faults/items/chain-plants.ts"),
  span: none("the chain itself has it: lab/faults/items/chain-plants.ts"),
  history: {
    ...none("blocks are read as a whole, and no list of an account is asked for"),
    xrp: [
      lostHistory(
        "public-bugs-coins.md 7: neither of two nodes has an account's ledgers; vectors.md 3",
        refusal("NODE_ERROR", "the node does not have the account's transactions"),
      ),
      lostHistory(
        "Xahau/xahaud #381: a list whose ledger range shrinks on the way comes back blank; public-bugs-coins.md 2",
        refusal("NODE_LIST_SHORT", "the account's list leaves payments out"),
      ),
    ],
  },
  currency: {
    evm: [
      tokenFails(
        "Uniswap/interface #1151, MetaMask/core #5083: one bad token, and no balance of any token loads",
        refusal("NODE_ERROR", "execution reverted"),
      ),
    ],
    tron: [
      tokenFails(
        "balancer/frontend-v2 #1020, on a chain with the same calls",
        refusal("NODE_ERROR", "REVERT opcode executed"),
      ),
    ],
    bitcoin: oneCoin,
    litecoin: oneCoin,
    xrp: oneCoin,
  },
  account: {
    evm: [
      unreadable("ethereum/go-ethereum #16471, #17133", "wallet", pruned),
      unreadable(
        "celo-org/celo-blockchain #1680: a question of which the node never ends",
        "wallet",
        late,
      ),
    ],
    tron: [unreadable("two nodes at two solidified blocks", "wallet", disagree)],
    bitcoin: [
      unreadable("Blockstream/electrs #132", "wallet", refusal("NODE_ERROR", "too many coins")),
      unreadable("mempool/mempool #4287: the look-up of one address times out", "wallet", late),
    ],
    litecoin: [
      unreadable(
        "public-bugs-coins.md 27: 400, Too many history entries",
        "wallet",
        badRequest("Too many history entries"),
      ),
    ],
    xrp: [
      unreadable(
        "XRPLF/rippled #5441",
        "wallet",
        refusal("NODE_DISAGREE", "the nodes do not agree on the account"),
      ),
      unreadable(
        "XRPLF/xrpl.js #748: look-ups of an account with much traffic time out",
        "wallet",
        late,
      ),
    ],
  },
  address: {
    evm: [
      unreadable(
        "Hyperledger/besu on pruned state",
        "request",
        refusal("NODE_PRUNED", "state is not available"),
      ),
      unreadable(
        "bnb-chain/bsc #1551: an archive of one node answers 0, the other the balance",
        "next",
        disagree,
      ),
    ],
    tron: [
      unreadable("two nodes at two solidified blocks", "request", disagree),
      unreadable(
        "security.md A3: one address that is not read, in one question with all others",
        "next",
        odd,
      ),
    ],
    bitcoin: [
      unreadable(
        "public-bugs-coins.md, Esplora refuses an address with more coins than it lists",
        "request",
        tooMany,
      ),
      unreadable(
        "security.md A3: 20,001 coins of 300 sat on the merchant's own next address",
        "next",
        tooMany,
      ),
    ],
    litecoin: [
      unreadable(
        "public-bugs-coins.md 27: 400, Too many history entries",
        "request",
        badRequest("Too many history entries"),
      ),
      unreadable("security.md A3: the same for 0.59 LTC", "next", tooMany),
    ],
    xrp: { none: "an address is a tag of an account, and has no balance of its own" },
  },
  withdrawal: {
    evm: [
      twoMinds,
      unjudged(
        "subsquid/squid-sdk #542, alloy-rs/alloy #3095: a field of one receipt is missing",
        odd,
      ),
      unjudged("celo-org/celo-blockchain #1680: the trace of one transaction never ends", late),
    ],
    tron: [
      twoMinds,
      unjudged(
        "gemwalletcom/wallet #553: one receipt is {}, and the whole list fails",
        refusal("NODE_ANSWER", "no field id"),
      ),
      unjudged(
        "TRON-US/trongrid #8: the receipt of one transaction is 503 most of the time",
        refusal("NODE_HTTP", "HTTP status 503"),
      ),
    ],
    bitcoin: [
      twoMinds,
      unjudged("security.md A2: a pin that no server can parse", badRequest("Invalid hex string")),
    ],
    litecoin: [
      twoMinds,
      unjudged("public-bugs-coins.md 10: a transaction that is too large to be shown", size),
    ],
    xrp: [
      twoMinds,
      unjudged("XRPLF/xrpl.js #694, XRPLF/clio #252: a payment without delivered_amount", odd),
    ],
  },
  transaction: {
    evm: [
      oddPayment(
        "public-bugs-chains-and-shop.md N6: an odd field of a transaction, shown alike by all nodes",
      ),
      oddPayout("public-bugs-chains-and-shop.md N6, in a transaction of our own"),
    ],
    tron: [
      oddPayment("public-bugs-chains-and-shop.md N6"),
      oddPayout("gemwalletcom/wallet #553, in a transaction of our own"),
    ],
    bitcoin: proven,
    litecoin: proven,
    xrp: [
      oddPayment("a transaction with a negative amount: the page of 200 was refused with it"),
      oddPayout("XRPLF/clio #171: an entry at a page's border has another form"),
    ],
  },
  provider: none(
    "the chain's nodes have it: lab/faults/items/chain-plants.ts, test/chains/provider-profiles.test.ts",
  ),
  row: none("the shop's side has it: lab/faults/items/shop-plants.ts"),
  target: none("the shop's side has it: lab/faults/items/shop-plants.ts"),
  price: none("the shop's side has it: lab/faults/items/shop-plants.ts"),
};

/** The items of A that have a plant: one of them, or all. */
export type Extent = "one" | "all";

export interface ItemCell {
  readonly domain: FaultDomain;
  readonly family: FamilyKey;
  readonly extent: Extent;
  readonly plant: Plant;
}

/** A token is one, and so are the list of an account and a wallet that has its coin alone. */
function extentsOf(domain: FaultDomain, family: FamilyKey, { of }: Plant): readonly Extent[] {
  const hasTokens = family === "evm" || family === "tron";
  const isSingle = of === "token" || (of === "wallet" && (domain === "history" || !hasTokens));
  return isSingle ? ["all"] : ["one", "all"];
}

/** All cells with a plant. */
export const itemCells: readonly ItemCell[] = (Object.keys(plants) as FaultDomain[]).flatMap(
  (domain) =>
    families.flatMap((family) => {
      const cell = plants[domain][family];
      if ("none" in cell) return [];
      return cell.flatMap((plant) =>
        extentsOf(domain, family, plant).map((extent) => ({ domain, family, extent, plant })),
      );
    }),
);
