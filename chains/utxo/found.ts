/**
 * Payments and outgoing transactions in a block. Pure. Coins of an account are P2WPKH, so an input
 * that spends one shows the account's key, and no other question is needed. Source: BIP-141.
 */
import { addressOfScript, keyHashOf, keyHashOfAddress } from "./address.ts";
import type { ChainInput, ChainOutput, ChainTransaction } from "./chain-transaction.ts";
import { hash160 } from "./hash.ts";
import type { UtxoNetwork } from "./network.ts";

/** One output to a watched address. */
export interface FoundPayment {
  readonly txHash: string;
  readonly index: number; // the output's number
  readonly address: string;
  readonly amountUnits: bigint;
}

/** A transaction that spends coins of an account. */
export interface FoundSpend {
  readonly account: string;
  readonly txHash: string;
  readonly receiver: string; // of the first output to another party; "" for a script without address
  readonly amountUnits: bigint;
  readonly outpoints: readonly string[]; // the account's coins that it spends
}

const keyBytes = 33;

/** A script as the key of an index. */
export function scriptKey(script: Uint8Array): string {
  return Buffer.from(script.buffer, script.byteOffset, script.byteLength).toString("latin1");
}

/**
 * Outputs of one transaction to watched addresses. An output back to an address that the
 * transaction spends from is change, and no payment. `find` returns the address of a script's key.
 */
export function paymentsIn(
  { txHash, inputs, outputs }: Pick<ChainTransaction, "txHash" | "inputs" | "outputs">,
  find: (key: string) => string | undefined,
): readonly FoundPayment[] {
  const found = outputsTo({ txHash, outputs }, find);
  if (found.length === 0) return found;
  const senders = new Set(inputs.flatMap((input) => senderOf(input) ?? []));
  return found.filter(({ address }) => {
    const keyHash = keyHashOfAddress(address);
    return keyHash === null || !senders.has(hexOf(keyHash));
  });
}

/** As `paymentsIn`, for a transaction that spends nothing. */
export function outputsTo(
  { txHash, outputs }: { readonly txHash: string; readonly outputs: readonly ChainOutput[] },
  find: (key: string) => string | undefined,
): readonly FoundPayment[] {
  return outputs.flatMap(({ units: amountUnits, script }, index) => {
    const address = amountUnits === 0n ? undefined : find(scriptKey(script));
    return address === undefined ? [] : [{ txHash, index, address, amountUnits }];
  });
}

/** The transactions that spend coins of these accounts, by the hash of their key. */
export function outgoingOf(
  transactions: readonly ChainTransaction[],
  accounts: ReadonlyMap<string, string>,
  network: UtxoNetwork,
): readonly FoundSpend[] {
  return transactions.flatMap(({ txHash, inputs, outputs }) => {
    const byAccount = new Map<string, string[]>();
    for (const input of inputs) {
      const account = accounts.get(senderOf(input) ?? "");
      if (account !== undefined) byAccount.set(account, [...(byAccount.get(account) ?? []), input.outpoint]);
    }
    return [...byAccount].map(([account, outpoints]) => ({
      account,
      txHash,
      outpoints,
      ...receiverOf(account, outputs, network),
    }));
  });
}

/** Accounts by the hash of their key, as `outgoingOf` takes them. */
export function accountKeys(accounts: Iterable<string>): ReadonlyMap<string, string> {
  const keys = [...accounts].flatMap((account) => {
    const keyHash = keyHashOfAddress(account);
    return keyHash === null ? [] : [[hexOf(keyHash), account] as const];
  });
  return new Map(keys);
}

/** The hash of the key that spends a P2WPKH coin; null for any other input. */
function senderOf({ stack: [signature, key, ...more] }: ChainInput): string | null {
  return signature === undefined || key?.length !== keyBytes || more.length > 0 ? null : hexOf(hash160(key));
}

/** A payment to oneself names the account, and pays nothing. */
function receiverOf(
  account: string,
  outputs: readonly ChainOutput[],
  network: UtxoNetwork,
): Pick<FoundSpend, "receiver" | "amountUnits"> {
  const own = keyHashOfAddress(account);
  const isOwn = ({ script }: ChainOutput): boolean => {
    const keyHash = keyHashOf(script);
    return own !== null && keyHash !== null && Buffer.compare(keyHash, own) === 0;
  };
  const paid = outputs.find((output) => !isOwn(output));
  if (paid === undefined) return { receiver: account, amountUnits: 0n };
  return { receiver: addressOfScript(paid.script, network) ?? "", amountUnits: paid.units };
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
