/**
 * One fault of each domain in each family, planted into the answers about merchant A's items, with
 * the report that it copies; or the reason why a family has none. A domain or a family without a
 * cell does not compile.
 */
import { AgentError } from "../../../base/fault.ts";
import { failed } from "../../../base/result.ts";
import type { BalanceQuestion, WatcherNodes } from "../../../chains/nodes.ts";
import { splitAddress } from "../../../chains/xrp/address.ts";
import type { Domain } from "../../../gateway/faults/domains.ts";

export type FamilyKey = "evm" | "tron" | "bitcoin" | "litecoin" | "xrp";
export const families = ["evm", "tron", "bitcoin", "litecoin", "xrp"] as const satisfies readonly FamilyKey[];

/** The items with the fault, as the world fills them. */
export interface PlantedItems {
  readonly contracts: Set<string>;
  readonly accounts: Set<string>;
  readonly transactions: Set<string>;
}

export interface Plant {
  readonly report: string; // the place of its report
  /** The item of A that has it: a request, a payout, the hot wallet, or a currency of everybody. */
  readonly of: "request" | "payout" | "wallet" | "token";
  wrap(honest: WatcherNodes, planted: PlantedItems & { isOn(): boolean }): WatcherNodes;
}

export interface Reason {
  readonly none: string;
}

const refusal = (code: "NODE_ERROR" | "NODE_DISAGREE" | "NODE_ANSWER" | "NODE_PRUNED", words: string): AgentError =>
  new AgentError(code, "none", words);

/** Balances of some questions fail, each alone. */
function balancesFail(fault: AgentError, isOf: (question: BalanceQuestion, planted: PlantedItems) => boolean): Plant["wrap"] {
  return (honest, planted) => {
    const isHit = (question: BalanceQuestion): boolean => planted.isOn() && isOf(question, planted);
    return {
      ...honest,
      balance: async (account, contract, block) => {
        if (isHit({ account, contract })) throw fault;
        return honest.balance(account, contract, block);
      },
      balances: async (questions, block) => {
        const told = await honest.balances(questions, block);
        return told.map((one, at) => (isHit(questions[at] as BalanceQuestion) ? failed(fault) : one));
      },
    };
  };
}

const reverts = (report: string): Plant => ({
  report,
  of: "token",
  wrap: balancesFail(refusal("NODE_ERROR", "execution reverted"), ({ contract }, { contracts }) => contracts.has(contract)),
});

const unreadable = (report: string, of: "request" | "wallet", fault: AgentError): Plant => ({
  report,
  of,
  wrap: balancesFail(fault, ({ account }, { accounts }) => accounts.has(account)),
});

/** One node of two answers otherwise about an attempt, for hours. */
const twoMinds = (report: string): Plant => ({
  report,
  of: "payout",
  wrap: (honest, planted) => ({
    ...honest,
    pass: (final, payouts) => {
      const pass = honest.pass(final, payouts);
      const fault = refusal("NODE_DISAGREE", "the nodes do not agree on the receipt");
      return {
        judge: async (payment, txHashes, pin) => {
          if (planted.isOn() && txHashes.some((hash) => planted.transactions.has(hash))) throw fault;
          return pass.judge(payment, txHashes, pin);
        },
      };
    },
  }),
});

/** A transaction is shown with a field that nobody can read. */
const oddPayment = (report: string): Plant => ({
  report,
  of: "request",
  wrap: (honest, planted) => ({
    ...honest,
    payments: async (blocks, contracts, addresses, isAgreed) => {
      const { found, unread } = await honest.payments(blocks, contracts, addresses, isAgreed);
      const isHit = ({ txHash }: { readonly txHash: string }): boolean => planted.isOn() && planted.transactions.has(txHash);
      const fault = refusal("NODE_ANSWER", "the node's answer is no Amount");
      const odd = found.filter(isHit).map(({ txHash, block, address: account }) => ({ txHash, block, account, fault }));
      return { found: found.filter((one) => !isHit(one)), unread: [...unread, ...odd] };
    },
  }),
});

/** The lists of an account cannot be had, in blocks that all nodes have. */
const lostHistory = (report: string): Plant => ({
  report,
  of: "wallet",
  wrap: (honest, planted) => {
    const isLost = (account: string): boolean => planted.isOn() && planted.accounts.has(account);
    const fault = refusal("NODE_ERROR", "the node does not have the account's transactions");
    return {
      ...honest,
      payments: async (blocks, contracts, addresses, isAgreed) => {
        const finds = await honest.payments(blocks, contracts, addresses, isAgreed);
        const missing = planted.isOn() ? [...planted.accounts].map((account) => ({ account, fault })) : [];
        return { ...finds, found: finds.found.filter(({ address }) => !isOf(address)), missing };
      },
      outgoing: async (blocks, accounts, isAgreed) => {
        const finds = await honest.outgoing(blocks, accounts, isAgreed);
        const missing = [...accounts].filter(isLost).map((account) => ({ account, fault }));
        return { ...finds, found: finds.found.filter(({ account }) => !isLost(account)), missing };
      },
    };
    function isOf(address: string): boolean {
      return isLost(splitAddress(address)?.address ?? address);
    }
  },
});

const same = (cell: Plant | Reason): Record<FamilyKey, Plant | Reason> => ({
  ...{ evm: cell, tron: cell, bitcoin: cell, litecoin: cell, xrp: cell },
});
const none = (why: string): Record<FamilyKey, Reason> => {
  const reason = { none: why };
  return { evm: reason, tron: reason, bitcoin: reason, litecoin: reason, xrp: reason };
};

const oneCoin: Reason = { none: "the chain has its coin alone, and a coin that nobody can read is the chain's fault" };
const tooMany = unreadable(
  "public-bugs-coins.md, Esplora refuses an address with more coins than it lists",
  "request",
  refusal("NODE_ERROR", "the address has 20001 coins, and more than 20000 are not read"),
);

export const plants: Readonly<Record<Domain, Readonly<Record<FamilyKey, Plant | Reason>>>> = {
  head: none("the chain itself has it: lab/faults/items/chain-plants.ts"),
  final: none("the chain itself has it: lab/faults/items/chain-plants.ts"),
  span: none("the chain itself has it: lab/faults/items/chain-plants.ts"),
  history: {
    ...none("blocks are read as a whole, and no list of an account is asked for"),
    xrp: lostHistory("public-bugs-coins.md 7: neither of two nodes has an account's ledgers; vectors.md 3"),
  },
  currency: {
    evm: reverts("Uniswap/interface #1151, MetaMask/core #5083: one bad token, and no balance of any token loads"),
    tron: reverts("balancer/frontend-v2 #1020, on a chain with the same calls"),
    bitcoin: oneCoin,
    litecoin: oneCoin,
    xrp: oneCoin,
  },
  account: {
    evm: unreadable("ethereum/go-ethereum #16471", "wallet", refusal("NODE_PRUNED", "missing trie node")),
    tron: unreadable("two nodes at two solidified blocks", "wallet", refusal("NODE_DISAGREE", "the nodes do not agree")),
    bitcoin: unreadable("Blockstream/electrs #132", "wallet", refusal("NODE_ERROR", "too many coins")),
    litecoin: unreadable("Blockstream/electrs #132", "wallet", refusal("NODE_ERROR", "too many coins")),
    xrp: unreadable("XRPLF/rippled #5441", "wallet", refusal("NODE_DISAGREE", "the nodes do not agree on the account")),
  },
  address: {
    evm: unreadable("Hyperledger/besu on pruned state", "request", refusal("NODE_PRUNED", "state is not available")),
    tron: unreadable("two nodes at two solidified blocks", "request", refusal("NODE_DISAGREE", "the nodes do not agree")),
    bitcoin: tooMany,
    litecoin: tooMany,
    xrp: { none: "an address is a tag of an account, and has no balance of its own" },
  },
  withdrawal: same(twoMinds("XRPLF/rippled #5441: one of two nodes says for hours that a final transaction is not validated")),
  transaction: {
    evm: oddPayment("public-bugs-chains-and-shop.md N6: an odd field of a transaction, shown alike by all nodes"),
    tron: oddPayment("public-bugs-chains-and-shop.md N6"),
    bitcoin: { none: "a block's bytes are proven by its hash, so a transaction of it is read or the block is not" },
    litecoin: { none: "a block's bytes are proven by its hash, so a transaction of it is read or the block is not" },
    xrp: oddPayment("a transaction with a negative amount: the page of 200 was refused with it"),
  },
  provider: none("the chain's nodes have it: lab/faults/items/chain-plants.ts, test/chains/provider-profiles.test.ts"),
  row: none("a stored row is set aside by the room that shows it: test/gateway/rows-set-aside.test.ts"),
  target: none("a callback target has its own schedule: test/gateway/callbacks"),
  price: none("a market has its own state: test/gateway/gateway-prices.test.ts"),
};
