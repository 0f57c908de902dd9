/**
 * Faults of one merchant's things in the answers of the gateway's nodes, for as long as a run
 * lasts: its hot wallet and its addresses cannot be read, its payouts and their ends cannot be
 * judged, its payments are shown so that nobody can read them. A token can be one in which nobody's
 * account is read. All other answers are the nodes' own.
 */
import { AgentError } from "../../../base/fault.ts";
import { failedResult } from "../../../base/result.ts";
import { openWatcher } from "../../../chains/connect.ts";
import type { WatcherNodes } from "../../../chains/nodes.ts";
import { payeeOf } from "../../../chains/payees.ts";
import { firstOther } from "./others.ts";
import type { BadItemKind, Plan } from "./plan.ts";
import { network, contract as token } from "./setting.ts";

/** The accounts of the merchant that has them. */
interface BadMerchant {
  readonly hotWallet: string;
  readonly addresses: ReadonlySet<string>;
}

/** Addresses that cannot be read: as many as are looked at ahead. */
const placesBad = 32;

/** What the watcher is started with where something of the first other merchant is bad. */
export function readerOf(
  { bad }: Pick<Plan, "bad">,
  count: { questions: number },
): { readonly openReader?: typeof openWatcher } {
  if (bad.length === 0) return {};
  return { openReader: badReader(new Set(bad), firstOther(placesBad), count) };
}

/**
 * Opens a chain's nodes as the network does; `count` has the questions whose answer was a fault.
 */
function badReader(
  items: ReadonlySet<BadItemKind>,
  { hotWallet, addresses }: BadMerchant,
  count: { questions: number },
): typeof openWatcher {
  const fault = (
    code: "NODE_ERROR" | "NODE_DISAGREE" | "NODE_ANSWER",
    words: string,
  ): AgentError => {
    count.questions += 1;
    return new AgentError(code, "none", words);
  };
  const isBad = (account: string, contract: string): boolean =>
    (items.has("token") && contract === token) ||
    (items.has("wallet") && account === hotWallet) ||
    (items.has("addresses") && addresses.has(account));
  return (options) => {
    const honest = openWatcher(options);
    const { findVoid } = honest;
    const ends: WatcherNodes["findVoid"] =
      findVoid === undefined
        ? undefined
        : async (account, attempts) => {
            if (items.has("ends") && account === hotWallet)
              throw fault("NODE_DISAGREE", "the nodes do not agree on the end");
            return findVoid(account, attempts);
          };
    return {
      ...honest,
      balance: async (account, contract, block) => {
        if (isBad(account, contract)) throw fault("NODE_ERROR", "too many coins");
        return honest.balance(account, contract, block);
      },
      balances: async (questions, block) => {
        const fine = questions.filter(({ account, contract }) => !isBad(account, contract));
        const told = [...(fine.length === 0 ? [] : await honest.balances(fine, block))];
        return questions.map(({ account, contract }) =>
          isBad(account, contract)
            ? failedResult(fault("NODE_ERROR", "too many coins"))
            : (told.shift() ?? failedResult(fault("NODE_ANSWER", "no answer"))),
        );
      },
      payments: async (blocks, contracts, book, isAgreed) => {
        const { found, unread, ...rest } = await honest.payments(blocks, contracts, book, isAgreed);
        const isHit = (address: string): boolean =>
          items.has("payments") &&
          (addresses.has(address) || payeeOf(network, address).address === hotWallet);
        const odd = found
          .filter(({ address }) => isHit(address))
          .map(({ txHash, block, address: account }) => ({
            txHash,
            block,
            account,
            fault: fault("NODE_ANSWER", "no amount"),
          }));
        return {
          found: found.filter(({ address }) => !isHit(address)),
          unread: [...unread, ...odd],
          ...rest,
        };
      },
      ...(ends === undefined ? {} : { findVoid: ends }),
      pass: (final, payouts) => {
        const pass = honest.pass(final, payouts);
        return {
          judge: async (payment, txHashes, pin) => {
            if (items.has("payouts") && payment.account === hotWallet)
              throw fault("NODE_DISAGREE", "two receipts");
            return pass.judge(payment, txHashes, pin);
          },
        };
      },
    };
  };
}
