/** The transactions that an account of such a coin signs, by the names that every family has. */
import { AgentError } from "../../base/fault.ts";
import type {
  CancelTransactions,
  DescriptionResult,
  FamilyTransactions,
  RecordedFields,
} from "../family.ts";
import { networkOf, type UtxoNetwork } from "./network.ts";
import * as transactions from "./transaction.ts";
import { figuresOf, txParamsOf } from "./tx-params.ts";

/** @throws TRANSACTION_FIELD */
function networkNamed(id: string): UtxoNetwork {
  const network = networkOf(id);
  if (network === null)
    throw new AgentError("TRANSACTION_FIELD", "none", "the network is of another family");
  return network;
}

/** On every network of the table; each call names its own. */
export const utxoTransactions: Required<FamilyTransactions> & {
  readonly cancels: CancelTransactions;
} = {
  build: (payment, txParams) => {
    const network = networkNamed(payment.network);
    if (payment.contract !== "")
      throw new AgentError("TRANSACTION_FIELD", "none", "the chain has no tokens");
    if (payment.tag !== "")
      throw new AgentError("TRANSACTION_FIELD", "none", "the chain has no tags");
    return transactions.buildTransfer(network, payment, txParams);
  },
  describe: (unsigned, told) => describe(networkOf(told.network), unsigned, told, false),
  unproven: ({ network, account }, coins, evidence) =>
    transactions.refuseUnprovenCoins(networkNamed(network), account, coins, evidence),
  digests: transactions.signatureDigests,
  attach: transactions.attachSignatures,
  // Pays the coins back to the account, so that no attempt with the same anchor can be paid.
  cancels: {
    build: ({ network, account }, txParams) =>
      transactions.buildTransfer(
        networkNamed(network),
        { account, destination: null, amountUnits: 0n },
        txParams,
      ),
    describe: (unsigned, told) => describe(networkOf(told.network), unsigned, told, true),
  },
};

function describe(
  network: UtxoNetwork | null,
  unsigned: Uint8Array,
  told: RecordedFields,
  isCancel: boolean,
): DescriptionResult {
  if (network === null)
    return { ok: false, code: "TRANSACTION_FIELD", detail: "the network is of another family" };
  const { txParams: asked, isFeeInside = false } = told;
  const found = transactions.describeTransfer(network, unsigned, asked, { isCancel, isFeeInside });
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
