/**
 * The faults that nodes plant into answers about merchant A's items: each maker gives a plant for
 * the report that it copies. An honest chain lies below each.
 */
import type { Code } from "../../../base/codes.ts";
import { AgentError } from "../../../base/fault.ts";
import { failedResult } from "../../../base/result.ts";
import type { BalanceQuestion, WatcherNodes } from "../../../chains/nodes.ts";
import { decodeXAddress } from "../../../chains/xrp/address.ts";

/** The items with the fault, as the world fills them. */
export interface PlantedItems {
  /** Tokens with the fault; of a wallet's plant, those in which the wallet has it. */
  readonly contracts: Set<string>;
  readonly accounts: Set<string>;
  readonly transactions: Set<string>;
}

export interface Plant {
  readonly report: string; // the place of its report
  /**
   * The item of A that has it: a request, the address that leaves next, a payout, the hot wallet,
   * or a currency of everybody.
   */
  readonly of: "request" | "next" | "payout" | "wallet" | "token";
  wrap(honest: WatcherNodes, planted: PlantedItems & { isOn(): boolean }): WatcherNodes;
}

export const refusal = (code: Code, words: string): AgentError =>
  new AgentError(code, "none", words);

/** Balances of some questions fail, each alone. */
function balancesFail(
  fault: AgentError,
  isOf: (question: BalanceQuestion, planted: PlantedItems) => boolean,
): Plant["wrap"] {
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
        return told.map((one, at) =>
          isHit(questions[at] as BalanceQuestion) ? failedResult(fault) : one,
        );
      },
    };
  };
}

/** No balance in a token can be read. */
export const tokenFails = (report: string, fault: AgentError): Plant => ({
  report,
  of: "token",
  wrap: balancesFail(fault, ({ contract }, { contracts }) => contracts.has(contract)),
});

/** The balance of an address cannot be read, of a wallet in the planted currencies. */
export const unreadable = (
  report: string,
  of: "request" | "next" | "wallet",
  fault: AgentError,
): Plant => ({
  report,
  of,
  wrap: balancesFail(
    fault,
    ({ account, contract }, { accounts, contracts }) =>
      accounts.has(account) && (of !== "wallet" || contracts.has(contract)),
  ),
});

/** The judgement of a payout fails, for hours. */
export const unjudged = (report: string, fault: AgentError): Plant => ({
  report,
  of: "payout",
  wrap: (honest, planted) => ({
    ...honest,
    pass: (final, payouts) => {
      const pass = honest.pass(final, payouts);
      return {
        judge: async (payment, txHashes, pin) => {
          if (planted.isOn() && txHashes.some((hash) => planted.transactions.has(hash)))
            throw fault;
          return pass.judge(payment, txHashes, pin);
        },
      };
    },
  }),
});

/** A payment to a request is shown with a field that nobody can read. */
export const oddPayment = (report: string): Plant => ({
  report,
  of: "request",
  wrap: (honest, planted) => ({
    ...honest,
    payments: async (blocks, contracts, addresses, isAgreed) => {
      const { found, unread } = await honest.payments(blocks, contracts, addresses, isAgreed);
      const isHit = ({ txHash }: { readonly txHash: string }): boolean =>
        planted.isOn() && planted.transactions.has(txHash);
      const fault = refusal("NODE_ANSWER", "the node's answer is no Amount");
      const odd = found
        .filter(isHit)
        .map(({ txHash, block, address: account }) => ({ txHash, block, account, fault }));
      return { found: found.filter((one) => !isHit(one)), unread: [...unread, ...odd] };
    },
  }),
});

/** A transaction of a hot wallet is shown with a field that nobody can read. */
export const oddPayout = (report: string): Plant => ({
  report,
  of: "payout",
  wrap: (honest, planted) => ({
    ...honest,
    outgoing: async (blocks, accounts, isAgreed) => {
      const { found, unread } = await honest.outgoing(blocks, accounts, isAgreed);
      const isHit = ({ txHash }: { readonly txHash: string }): boolean =>
        planted.isOn() && planted.transactions.has(txHash);
      const fault = refusal("NODE_ANSWER", "transaction.value is not a quantity");
      const odd = found
        .filter(isHit)
        .map(({ txHash, block, account }) => ({ txHash, block, account, fault }));
      return { found: found.filter((one) => !isHit(one)), unread: [...unread, ...odd] };
    },
  }),
});

/** The lists of an account cannot be had, in blocks that all nodes have. */
export const lostHistory = (report: string, fault: AgentError): Plant => ({
  report,
  of: "wallet",
  wrap: (honest, planted) => {
    const isLost = (account: string): boolean => planted.isOn() && planted.accounts.has(account);
    return {
      ...honest,
      payments: async (blocks, contracts, addresses, isAgreed) => {
        const finds = await honest.payments(blocks, contracts, addresses, isAgreed);
        const missing = planted.isOn()
          ? [...planted.accounts].map((account) => ({ account, fault }))
          : [];
        return { ...finds, found: finds.found.filter(({ address }) => !isOf(address)), missing };
      },
      outgoing: async (blocks, accounts, isAgreed) => {
        const finds = await honest.outgoing(blocks, accounts, isAgreed);
        const missing = [...accounts].filter(isLost).map((account) => ({ account, fault }));
        return { ...finds, found: finds.found.filter(({ account }) => !isLost(account)), missing };
      },
    };
    function isOf(address: string): boolean {
      return isLost(decodeXAddress(address)?.address ?? address);
    }
  },
});
