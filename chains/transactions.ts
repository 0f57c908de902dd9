/**
 * The offline door for whoever signs: transactions as bytes, by network. Apart from families.ts,
 * since it brings the curve, which has no place on a server without keys.
 */
import { evmTransactions } from "./evm/transactions.ts";
import { familyOf } from "./families.ts";
import type { FamilyName, Transactions } from "./family.ts";
import { tronTransactions } from "./tron/transactions.ts";

const transactions: Readonly<Record<FamilyName, Transactions>> = { evm: evmTransactions, tron: tronTransactions };

/**
 * Of a network that our own table, or a record of ours, names: another one is a bug.
 * @public
 */
export function transactionsOf(network: string): Transactions {
  return transactions[familyOf(network).name];
}
