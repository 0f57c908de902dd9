/**
 * The transactions that an EVM account signs, behind the interface: EIP-1559 transactions as the
 * family's bytes.
 */
import type {
  Description,
  DescriptionResult,
  FamilyTransactions,
  Payment,
  TxParams,
} from "../family.ts";
import { separateUnsignedFees } from "./fees.ts";
import { namespace, networkOf } from "./network.ts";
import * as transactions from "./transaction.ts";

export const evmTransactions: FamilyTransactions = {
  build: ({ contract, destination, amountUnits, ...slot }, txParams) =>
    transactions.buildTransfer({
      ...numbersOf(slot, txParams),
      contract,
      destination,
      amountUnits,
    }),
  describe: (unsigned, { txParams }) =>
    described(transactions.describeTransfer(unsigned), txParams),
  cancels: {
    build: (slot, txParams) =>
      transactions.buildCancel({ ...numbersOf(slot, txParams), account: slot.account }),
    describe: (unsigned, { account, txParams }) =>
      described(transactions.describeCancel(unsigned, account), txParams),
  },
  digests: (unsigned) => [transactions.digestOf(unsigned)],
  attach: (unsigned, signatures, account) =>
    transactions.attachSignature(
      unsigned,
      signatures.length === 1 ? (signatures[0] as Uint8Array) : new Uint8Array(0),
      account,
    ),
};

type Numbers = Omit<transactions.Transfer, "contract" | "destination" | "amountUnits">;

function numbersOf(
  { network, slot }: Pick<Payment, "network" | "slot">,
  txParams: TxParams,
): Numbers {
  return {
    chainId: BigInt(network.slice(namespace.length + 1)),
    nonce: BigInt(slot),
    gasLimit: figure(txParams, "gasLimit"),
    maxFeePerGas: figure(txParams, "maxFeePerGas"),
    maxPriorityFeePerGas: figure(txParams, "maxPriorityFeePerGas"),
  };
}

function figure(txParams: TxParams, name: string): bigint {
  return BigInt(txParams[name] ?? "-1");
}

function described(
  read: ReturnType<typeof transactions.describeTransfer>,
  txParams: TxParams,
): DescriptionResult {
  if (!read.ok) return read;
  const { chainId, nonce, contract, destination, amountUnits, feeMaxWei, ...numbers } =
    read.description;
  const { gasLimit, maxFeePerGas, maxPriorityFeePerGas } = numbers;
  const beside = separateUnsignedFees(txParams);
  const inBytes = {
    gasLimit: `${gasLimit}`,
    maxFeePerGas: `${maxFeePerGas}`,
    maxPriorityFeePerGas: `${maxPriorityFeePerGas}`,
  };
  const description: Description = {
    network: networkOf(chainId),
    account: "",
    slot: `${nonce}`,
    contract,
    destination,
    tag: "",
    amountUnits,
    txParams: { ...inBytes, ...beside.txParams },
    feeMaxUnits: feeMaxWei + beside.dataFeeWei,
  };
  return { ok: true, description };
}
