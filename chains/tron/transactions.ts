/**
 * The transactions that a Tron account signs, behind the interface: raw_data as the family's bytes.
 * The bytes carry no network, no slot and no prices. The caller that recorded these passes them in
 * with the bytes.
 */
import { AgentError, type Refusal, refuse } from "../../base/fault.ts";
import type {
  DescriptionResult,
  FamilyTransactions,
  Payment,
  RecordedFields,
  TxParams,
} from "../family.ts";
import {
  explainUnfitFigures,
  feeMaxOf,
  figuresOf,
  readTxParams,
  type TronFigures,
  txParamsOf,
} from "./fees.ts";
import { chainIdOf } from "./network.ts";
import type { Transfer } from "./raw-data.ts";
import * as transactions from "./transaction.ts";

/** The parameters that the bytes carry. */
const carried = [
  "refBlockBytes",
  "refBlockHash",
  "timestampMs",
  "expirationMs",
  "feeLimitSun",
] as const;

export const tronTransactions: FamilyTransactions = {
  build,
  describe,
  digests: (unsigned) => [transactions.digestOf(unsigned)],
  attach: (unsigned, signatures, account) =>
    transactions.attachSignature(
      unsigned,
      signatures.length === 1 ? (signatures[0] as Uint8Array) : new Uint8Array(0),
      account,
    ),
  cancels: null,
};

/** @throws TRANSACTION_FIELD, JSON_SHAPE (parameters), or ADDRESS_* */
function build(
  { network, account, contract, destination, amountUnits }: Payment,
  txParams: TxParams,
): Uint8Array {
  const figures = figuresOf(readTxParams(txParams));
  const refusal = refusalOf(network, contract, figures);
  if (refusal !== null) throw new AgentError(refusal.code, "none", refusal.detail ?? refusal.code);
  const { refBlockBytes, refBlockHash, timestampMs, expirationMs, feeLimitSun } = figures;
  return transactions.buildTransfer({
    sender: account,
    contract,
    destination,
    amountUnits,
    refBlockBytes,
    refBlockHash,
    timestampMs,
    expirationMs,
    feeLimitSun,
  });
}

/**
 * Refuses with a code of `transaction.ts`; with TRANSACTION_FIELD if the figures in the bytes
 * differ from the given ones.
 */
function describe(
  unsigned: Uint8Array,
  { network, slot, txParams }: RecordedFields,
): DescriptionResult {
  const found = transactions.describeTransfer(unsigned);
  if (!found.ok) return found;
  const { sender: account, contract, destination, amountUnits } = found.transfer;
  const figures = figuresOf(readTxParams(txParams));
  const refusal = otherThan(found.transfer, figures) ?? refusalOf(network, contract, figures);
  if (refusal !== null) return refusal;
  const own = txParamsOf(figures);
  return {
    ok: true,
    description: {
      network,
      account,
      slot,
      contract,
      destination,
      tag: "",
      amountUnits,
      txParams: own,
      feeMaxUnits: feeMaxOf(own),
    },
  };
}

function otherThan(transfer: Transfer, figures: TronFigures): Refusal | null {
  const name = carried.find((each) => transfer[each] !== figures[each]);
  return name === undefined ? null : refuse("TRANSACTION_FIELD", `${name} is not what was told`);
}

function refusalOf(network: string, contract: string, figures: TronFigures): Refusal | null {
  if (chainIdOf(network) === null)
    return refuse("TRANSACTION_FIELD", "the network is of another family");
  const why = explainUnfitFigures(contract, figures);
  return why === null ? null : refuse("TRANSACTION_FIELD", why);
}
