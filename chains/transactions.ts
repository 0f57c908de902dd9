/**
 * The offline interface for the signer: transactions as bytes, by network. Separate from
 * families.ts, because it loads the curve, which a server without keys must not load.
 */
import { evmTransactions } from "./evm/transactions.ts";
import { familyOf } from "./families.ts";
import type { FamilyName, FamilyTransactions } from "./family.ts";
import { tronTransactions } from "./tron/transactions.ts";
import { utxoTransactions } from "./utxo/transactions.ts";
import { xrpTransactions } from "./xrp/transactions.ts";

const transactions: Readonly<Record<FamilyName, FamilyTransactions>> = {
  evm: evmTransactions,
  tron: tronTransactions,
  utxo: utxoTransactions,
  xrp: xrpTransactions,
};

/**
 * The transactions of a network that our own table, or a record of ours, names. An unknown network
 * is a bug.
 */
export function familyTransactionsOf(network: string): FamilyTransactions {
  return transactions[familyOf(network).name];
}
