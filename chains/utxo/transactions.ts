/** The transactions that an account of such a coin signs, by the names that every family has. */
import { AgentError } from "../../base/fault.ts";
import type {
  CancelTransactions,
  DescriptionResult,
  RecordedFields,
  Transactions,
} from "../family.ts";
import {
  type NativeCoin,
  networkOf,
  ofEachFamily,
  type UtxoFamilyName,
  type UtxoNetwork,
} from "./network.ts";
import * as transactions from "./transaction.ts";
import { figuresOf, txParamsOf } from "./tx-params.ts";

/** By family; all networks of a coin share them. */
export const transactionsByFamily: Readonly<Record<UtxoFamilyName, Transactions>> = ofEachFamily(
  (_, coin) => utxoTransactions(coin),
);

export function utxoTransactions(
  coin: NativeCoin,
): Required<Transactions> & { readonly cancels: CancelTransactions } {
  const networkNamed = (id: string): UtxoNetwork => {
    const network = networkOf(coin, id);
    if (network === null)
      throw new AgentError("TRANSACTION_FIELD", "none", "the network is of another family");
    return network;
  };
  return {
    build: (payment, txParams) => {
      const network = networkNamed(payment.network);
      if (payment.contract !== "")
        throw new AgentError("TRANSACTION_FIELD", "none", "the chain has no tokens");
      if (payment.tag !== "")
        throw new AgentError("TRANSACTION_FIELD", "none", "the chain has no tags");
      return transactions.buildTransfer(network, payment, txParams);
    },
    describe: (unsigned, told) => describe(networkOf(coin, told.network), unsigned, told, false),
    unproven: ({ network, account }, coins, evidence) =>
      transactions.unprovenCoin(networkNamed(network), account, coins, evidence),
    digests: transactions.digests,
    attach: transactions.attachSignatures,
    // Pays the coins back to the account, so that no attempt with the same anchor can be paid.
    cancels: {
      build: ({ network, account }, txParams) =>
        transactions.buildTransfer(
          networkNamed(network),
          { account, destination: null, amountUnits: 0n },
          txParams,
        ),
      describe: (unsigned, told) => describe(networkOf(coin, told.network), unsigned, told, true),
    },
  };
}

function describe(
  network: UtxoNetwork | null,
  unsigned: Uint8Array,
  told: RecordedFields,
  isCancel: boolean,
): DescriptionResult {
  if (network === null)
    return { ok: false, code: "TRANSACTION_FIELD", detail: "the network is of another family" };
  const { txParams: asked, isFeeInside = false } = told;
  const found = transactions.describe(network, unsigned, asked, { isCancel, isFeeInside });
  if (!found.ok) return found;
  const { account, destination, amountUnits } = found.transfer;
  const content = {
    account,
    contract: "",
    destination: destination ?? account,
    tag: "",
    amountUnits,
  };
  const txParams = txParamsOf(figuresOf(asked));
  return {
    ok: true,
    description: {
      network: told.network,
      slot: told.slot,
      ...content,
      txParams,
      feeMaxUnits: found.feeSat,
    },
  };
}
