/**
 * The transactions that an account of such a coin signs, by the names that every family has, with
 * the transactions that made the coins as evidence.
 */
import { AgentError } from "../../base/fault.ts";
import type { Described, Payment, Place, Told, TxParams } from "../family.ts";
import { type NativeCoin, networkOf, type UtxoNetwork } from "./network.ts";
import * as transactions from "./transaction.ts";
import { figuresOf, txParamsOf } from "./tx-params.ts";

/** Transactions of a coin. `evidence` is one previous transaction for each coin, as hex. */
export interface UtxoTransactions {
  /** @throws TRANSACTION_FIELD, TRANSACTION_EVIDENCE, JSON_SHAPE (parameters), or ADDRESS_* */
  build(payment: Payment, txParams: TxParams, evidence: readonly string[]): Uint8Array;
  /**
   * Refuses with TRANSACTION_PSBT, TRANSACTION_FIELD or ADDRESS_*. @throws JSON_SHAPE (parameters)
   */
  describe(unsigned: Uint8Array, told: Told): Described;
  digests(unsigned: Uint8Array): readonly Uint8Array[];
  attach: typeof transactions.attachSignatures;
  /** Pays the coins back to the account, so that no attempt with the same anchor can be paid. */
  readonly cancels: {
    build(place: Place, txParams: TxParams, evidence: readonly string[]): Uint8Array;
    describe(unsigned: Uint8Array, told: Told): Described;
  };
}

export function utxoTransactions(coin: NativeCoin): UtxoTransactions {
  const networkNamed = (id: string): UtxoNetwork => {
    const network = networkOf(coin, id);
    if (network === null) throw new AgentError("TRANSACTION_FIELD", "none", "the network is of another family");
    return network;
  };
  return {
    build: (payment, txParams, evidence) => {
      const network = networkNamed(payment.network);
      if (payment.contract !== "") throw new AgentError("TRANSACTION_FIELD", "none", "the chain has no tokens");
      if (payment.tag !== "") throw new AgentError("TRANSACTION_FIELD", "none", "the chain has no tags");
      return transactions.buildTransfer(network, payment, txParams, evidence);
    },
    describe: (unsigned, told) => describe(networkOf(coin, told.network), unsigned, told, false),
    digests: transactions.digests,
    attach: transactions.attachSignatures,
    cancels: {
      build: ({ network, account }, txParams, evidence) =>
        transactions.buildTransfer(networkNamed(network), { account, destination: null, amountUnits: 0n }, txParams, evidence),
      describe: (unsigned, told) => describe(networkOf(coin, told.network), unsigned, told, true),
    },
  };
}

function describe(network: UtxoNetwork | null, unsigned: Uint8Array, told: Told, isCancel: boolean): Described {
  if (network === null) return { ok: false, code: "TRANSACTION_FIELD", detail: "the network is of another family" };
  const found = transactions.describe(network, unsigned, told.txParams, isCancel);
  if (!found.ok) return found;
  const { account, destination, amountUnits } = found.transfer;
  const content = { account, contract: "", destination: destination ?? account, tag: "", amountUnits };
  const txParams = txParamsOf(figuresOf(told.txParams));
  return { ok: true, description: { network: told.network, slot: told.slot, ...content, txParams, feeMaxUnits: found.feeSat } };
}
