/**
 * The offline interface for the signer: transactions as bytes, by network. Separate from
 * families.ts, because it loads the curve, which a server without keys must not load.
 */
import { evmTransactions } from "./evm/transactions.ts";
import { familyOf } from "./families.ts";
import type { FamilyName, Transactions } from "./family.ts";
import { tronTransactions } from "./tron/transactions.ts";
import { utxoTransactions } from "./utxo/transactions.ts";
import { xrpTransactions } from "./xrp/transactions.ts";

const transactions: Readonly<Record<FamilyName, Transactions>> = {
  evm: evmTransactions,
  tron: tronTransactions,
  utxo: utxoTransactions,
  xrp: xrpTransactions,
};

/**
 * The transactions of a network that our own table, or a record of ours, names. An unknown network
 * is a bug.
 */
export function transactionsOf(network: string): Transactions {
  return transactions[familyOf(network).name];
}
