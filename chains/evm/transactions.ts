/**
 * The transactions that an EVM account signs, behind the interface: EIP-1559 transactions as the
 * family's bytes.
 */
import type { Described, Description, Facts, Payment, Transactions } from "../family.ts";
import { feesBeside } from "./fees.ts";
import { namespace, networkOf } from "./network.ts";
import * as transactions from "./transaction.ts";

export const evmTransactions: Transactions = {
  build: ({ contract, destination, amountUnits, ...slot }, facts) =>
    transactions.buildTransfer({ ...numbersOf(slot, facts), contract, destination, amountUnits }),
  describe: (unsigned, { facts }) => described(transactions.describe(unsigned), facts),
  cancels: {
    build: (slot, facts) => transactions.buildCancel({ ...numbersOf(slot, facts), account: slot.account }),
    describe: (unsigned, { account, facts }) => described(transactions.describeCancel(unsigned, account), facts),
  },
  digests: (unsigned) => [transactions.digestOf(unsigned)],
  attach: (unsigned, signatures, account) =>
    transactions.attachSignature(unsigned, signatures.length === 1 ? (signatures[0] as Uint8Array) : new Uint8Array(0), account),
};

type Numbers = Omit<transactions.Transfer, "contract" | "destination" | "amountUnits">;

function numbersOf({ network, slot }: Pick<Payment, "network" | "slot">, facts: Facts): Numbers {
  return {
    chainId: BigInt(network.slice(namespace.length + 1)),
    nonce: BigInt(slot),
    gasLimit: figure(facts, "gasLimit"),
    maxFeePerGas: figure(facts, "maxFeePerGas"),
    maxPriorityFeePerGas: figure(facts, "maxPriorityFeePerGas"),
  };
}

function figure(facts: Facts, name: string): bigint {
  return BigInt(facts[name] ?? "-1");
}

function described(read: ReturnType<typeof transactions.describe>, facts: Facts): Described {
  if (!read.ok) return read;
  const { chainId, nonce, contract, destination, amountUnits, feeMaxWei, ...numbers } = read.description;
  const { gasLimit, maxFeePerGas, maxPriorityFeePerGas } = numbers;
  const beside = feesBeside(facts);
  const inBytes = { gasLimit: `${gasLimit}`, maxFeePerGas: `${maxFeePerGas}`, maxPriorityFeePerGas: `${maxPriorityFeePerGas}` };
  const description: Description = {
    network: networkOf(chainId),
    account: "",
    slot: `${nonce}`,
    contract,
    destination,
    amountUnits,
    facts: { ...inBytes, ...beside.facts },
    feeMaxUnits: feeMaxWei + beside.dataFeeWei,
  };
  return { ok: true, description };
}
