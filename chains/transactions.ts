/**
 * The offline door for whoever signs: transactions as bytes, by network. Apart from families.ts,
 * since it brings the curve, which has no place on a server without keys.
 */

import { invariant } from "../protocol/fault.ts";
import { evmTransactions } from "./evm/transactions.ts";
import { familyOf } from "./families.ts";
import type { FamilyName, Transactions } from "./family.ts";

const transactions: Readonly<Record<FamilyName, Transactions | null>> = { evm: evmTransactions, tron: null };

/**
 * Of a network that our own table, or a record of ours, names: another one is a bug, and so is one
 * of a family whose payouts are not offered.
 * @public
 */
export function transactionsOf(network: string): Transactions {
  const found = transactions[familyOf(network).name];
  invariant(found !== null, "nobody signs for a family whose payouts are not offered");
  return found;
}
