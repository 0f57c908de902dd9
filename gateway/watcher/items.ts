/**
 * The items of one chain that can have a fault, and questions about them whose answers are settled
 * in the book of faults. An item that rests is not asked for.
 */

import { AgentError } from "../../base/fault.ts";
import { failedResult, type Result, resultOf } from "../../base/result.ts";
import type { BalanceQuestion } from "../../chains/nodes.ts";
import type { GatewayCurrency } from "../config/config.ts";
import type { FaultDomain } from "../faults/domains.ts";
import { currencyItemId, type FaultKey, keyText } from "../faults/fault.ts";
import { readTransaction } from "../store/transactions.ts";
import type { WatchedChain } from "./chain.ts";

export function faultKeyOn(
  { network }: Pick<WatchedChain, "network">,
  domain: FaultDomain,
  id: string,
  merchant = "",
): FaultKey {
  return { domain, network, id, merchant };
}

/** A deposit address or a hot wallet in one currency. */
export interface WatchedBalance {
  readonly key: FaultKey;
  readonly account: string;
  readonly currency: GatewayCurrency;
  readonly isWaited: boolean; // a person waits for it
}

/** The items of an account in these currencies. */
export function watchedBalancesOf(
  chain: WatchedChain,
  domain: "account" | "address",
  {
    account,
    merchant,
    isWaited = false,
  }: { readonly account: string; readonly merchant: string; readonly isWaited?: boolean },
  currencies: readonly GatewayCurrency[],
): readonly WatchedBalance[] {
  return currencies.map((currency) => ({
    key: faultKeyOn(chain, domain, currencyItemId(account, currency.id), merchant),
    account,
    currency,
    isWaited,
  }));
}

/** The merchant of a request's address; "" if it is unknown. */
export function merchantOfRequest({ store }: WatchedChain, transactionId: string): string {
  return readTransaction(store.database, transactionId)?.merchant ?? "";
}

/** The currencies that can be asked for: in service, and read when they were asked for last. */
export function readableCurrencies(chain: WatchedChain): readonly GatewayCurrency[] {
  return chain.currencies.filter(
    ({ id }) =>
      !chain.tokens.out.has(id) &&
      chain.faults.standing(faultKeyOn(chain, "currency", id)) === null,
  );
}

/** The answer for each item that does not rest, by the text of its key. Settles nothing. */
export async function askBalances(
  chain: WatchedChain,
  items: readonly WatchedBalance[],
  block: number,
): Promise<ReadonlyMap<string, Result<bigint>>> {
  const asked = items.filter(({ key }) => chain.faults.isDue(key));
  if (asked.length === 0) return new Map();
  const questions = asked.map(
    ({ account, currency: { contract } }): BalanceQuestion => ({ account, contract }),
  );
  const told = await resultOf(() => chain.reader.balances(questions, block));
  return new Map(
    asked.map(({ key }, at) => {
      const missing = new AgentError(
        "NODE_ANSWER",
        "none",
        "the nodes left the question without an answer",
      );
      return [keyText(key), told.ok ? (told.value[at] ?? failedResult(missing)) : told];
    }),
  );
}

/** Settles what was asked for. @returns the balances that are known, by the text of the key */
export function settleBalances(
  { faults }: WatchedChain,
  items: readonly WatchedBalance[],
  told: ReadonlyMap<string, Result<bigint>>,
): ReadonlyMap<string, bigint> {
  const known = new Map<string, bigint>();
  for (const { key, isWaited } of items) {
    const answer = told.get(keyText(key));
    const units = answer === undefined ? null : faults.settle(key, answer, isWaited);
    if (units !== null) known.set(keyText(key), units);
  }
  return known;
}

/**
 * Items that rest, of a domain: a list is asked for so many more, so that they take nobody's place.
 */
export function countResting({ faults, network }: WatchedChain, domain: FaultDomain): number {
  return faults.list({ domain, network }).length;
}
