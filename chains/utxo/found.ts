/**
 * Payments and outgoing transactions in a block. Coins of an account are P2WPKH, so an input that
 * spent one shows the account's key; every other input needs no question. Reaches the network only
 * through its caller. Source: BIP-141, BIP-341.
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

/** A transaction that spent coins of an account. */
export interface FoundSpend {
  readonly account: string;
  readonly txHash: string;
  readonly receiver: string; // of the first output to another party; "" for a script without address
  readonly amountUnits: bigint;
  readonly outpoints: readonly string[]; // the account's coins that it spent
}

const keyBytes = 33;

/** A script as the key of an index. */
export function scriptKey(script: Uint8Array): string {
  return Buffer.from(script.buffer, script.byteOffset, script.byteLength).toString("latin1");
}

/**
 * The script of a coin that an input spent, by the transaction that made it. Only candidates are
 * asked for, which are rare. @throws a fault if no node shows that transaction
 */
export type ScriptOf = (outpoint: string) => Promise<Uint8Array>;

/**
 * Outputs of one transaction to watched addresses. An output back to an address that the
 * transaction spent from is change, and no payment. `find` returns the address of a script's key.
 */
export async function paymentsIn(
  { txHash, inputs, outputs }: Pick<ChainTransaction, "txHash" | "inputs" | "outputs">,
  find: (key: string) => string | undefined,
  scriptOf: ScriptOf,
): Promise<readonly FoundPayment[]> {
  const found = outputsToWatched({ txHash, outputs }, find);
  if (found.length === 0) return found;
  const owners = new Map(found.flatMap(({ address }) => keyed(address)));
  const senders = new Set(
    (await spentFrom(inputs, owners, scriptOf)).map(({ account }) => account),
  );
  return found.filter(({ address }) => !senders.has(address));
}

/** As `paymentsIn`, for a transaction that spent no coin of a watched address. */
export function outputsToWatched(
  { txHash, outputs }: { readonly txHash: string; readonly outputs: readonly ChainOutput[] },
  find: (key: string) => string | undefined,
): readonly FoundPayment[] {
  return outputs.flatMap(({ units: amountUnits, script }, index) => {
    const address = amountUnits === 0n ? undefined : find(scriptKey(script));
    return address === undefined ? [] : [{ txHash, index, address, amountUnits }];
  });
}

/** The transactions that spend coins of these accounts, by the hash of their key. */
export async function outgoingOf(
  transactions: readonly ChainTransaction[],
  accounts: ReadonlyMap<string, string>,
  network: UtxoNetwork,
  scriptOf: ScriptOf,
): Promise<readonly FoundSpend[]> {
  const found: FoundSpend[] = [];
  for (const { txHash, inputs, outputs } of transactions) {
    const byAccount = new Map<string, string[]>();
    for (const { account, outpoint } of await spentFrom(inputs, accounts, scriptOf))
      byAccount.set(account, [...(byAccount.get(account) ?? []), outpoint]);
    for (const [account, outpoints] of byAccount)
      found.push({ account, txHash, outpoints, ...receiverOf(account, outputs, network) });
  }
  return found;
}

/** Accounts by the hash of their key, as `outgoingOf` takes them. */
export function accountsByKeyHash(accounts: Iterable<string>): ReadonlyMap<string, string> {
  return new Map([...accounts].flatMap(keyed));
}

function keyed(account: string): readonly (readonly [keyHash: string, account: string])[] {
  const keyHash = keyHashOfAddress(account);
  return keyHash === null ? [] : [[hexOf(keyHash), account]];
}

/**
 * Inputs that spend a P2WPKH coin of these accounts. An input with the account's key is only a
 * candidate: outputs of other kinds take any stack. The coin's own script decides.
 */
async function spentFrom(
  inputs: readonly ChainInput[],
  accounts: ReadonlyMap<string, string>,
  scriptOf: ScriptOf,
): Promise<readonly { readonly account: string; readonly outpoint: string }[]> {
  const found: { account: string; outpoint: string }[] = [];
  for (const { outpoint, stack } of inputs) {
    const keyHash = keyHashIn(stack);
    const account = keyHash === null ? undefined : accounts.get(keyHash);
    if (account === undefined) continue;
    const spent = keyHashOf(await scriptOf(outpoint));
    if (spent !== null && hexOf(spent) === keyHash) found.push({ account, outpoint });
  }
  return found;
}

/** The hash of the key in a stack as P2WPKH coins take it; null for any other stack. */
function keyHashIn([signature, key, ...more]: ChainInput["stack"]): string | null {
  return signature === undefined || key?.length !== keyBytes || more.length > 0
    ? null
    : hexOf(hash160(key));
}

/** A payment to oneself names the account, and pays nothing. */
export function receiverOf(
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
