/**
 * Searches deposit accounts for addresses that the chain knows and the database does not. Needs
 * only an account's extended public key, and goes through its indexes in order at one final block.
 * Asks the given nodes in bounded batches and rests after each as long as it took; writes nothing.
 * Sources: BIP-44 (account discovery, gap limit); docs/recovering.md section 7.
 */

import { AgentError } from "../../base/fault.ts";
import { valuesIn } from "../../base/result.ts";
import { findFamilyOfAddressSpace } from "../../chains/families.ts";
import type { BlockId, WatcherNodes } from "../../chains/nodes.ts";

/**
 * This many unused indexes in a row end a scan. Wallets stop after 20 (BIP-44). Here each order
 * takes an index, paid or not, so the limit is the step of the ceilings.
 */
export const gapDefault = 1_000;

/** The fields of an account that a scan needs. */
export interface ScannedAccount {
  readonly family: string;
  readonly id: string; // an account's extended public key
  readonly firstAddress: string;
  readonly known: number; // addresses below this index may have left; the gap counts from here
}

export type ScanNodes = Pick<WatcherNodes, "balances" | "wereUsed" | "finalTip">;

export interface ScanOptions {
  readonly reader: ScanNodes;
  readonly currencies: readonly { readonly id: string; readonly contract: string }[]; // the chain's currencies
  readonly from: number;
  readonly to: number | null; // the last index; null: until the gap ends the scan
  readonly gap: number;
  /**
   * True if a request of the database names the address, so that the nodes are not asked for it.
   */
  readonly isNamed: (address: string) => boolean;
  readonly clock: () => number; // milliseconds
  readonly rest: (ms: number) => Promise<void>;
  readonly onProgress: (addressIndex: number) => void;
}

/** A used address that no request names. */
export interface FoundAddress {
  readonly account: ScannedAccount;
  readonly addressIndex: number;
  readonly address: string;
  readonly block: number; // read at the end of this block
  readonly balances: readonly { readonly currency: string; readonly units: bigint }[]; // above 0
  readonly wasUsed: boolean; // the account sent a transaction, or exists on the chain
}

export interface ScanResult {
  readonly first: BlockId; // payments in later blocks may be missing
  readonly last: number; // differs from the first if nodes did not keep its state
  readonly asked: number; // number of addresses
  readonly named: number; // number of addresses that requests name
  readonly end: number; // the index after the last one read, of any account
  readonly found: readonly FoundAddress[];
}

const sliceMax = 250; // about the size of a chain interface's own batch
const restMinMs = 5;
const restMaxMs = 10_000;
const triesMax = 4;
const retryMs = 500;

/**
 * Scans accounts of a chain's family, one after the other.
 * @throws AgentError NODE_*
 */
export async function scanAccounts(
  accounts: readonly ScannedAccount[],
  options: ScanOptions,
): Promise<ScanResult> {
  const first = await options.reader.finalTip();
  const state = { block: first.number, asked: 0, named: 0, end: options.from };
  const found: FoundAddress[] = [];
  for (const account of accounts) {
    const last = options.to ?? Number.MAX_SAFE_INTEGER;
    let bound = Math.max(options.from, account.known) + options.gap;
    for (let addressIndex = options.from; addressIndex <= last && addressIndex < bound; ) {
      const size = Math.min(sliceMax, last + 1 - addressIndex, bound - addressIndex);
      const slice = await look(account, addressIndex, size, state, options);
      found.push(...slice);
      addressIndex += size;
      const used = slice.at(-1)?.addressIndex;
      if (used !== undefined) bound = Math.max(bound, used + 1 + options.gap);
      state.end = Math.max(state.end, addressIndex);
      options.onProgress(addressIndex);
    }
  }
  return {
    first,
    last: state.block,
    asked: state.asked,
    named: state.named,
    end: state.end,
    found,
  };
}

interface State {
  block: number;
  asked: number;
  named: number;
}

async function look(
  account: ScannedAccount,
  from: number,
  size: number,
  state: State,
  options: ScanOptions,
): Promise<readonly FoundAddress[]> {
  const family = findFamilyOfAddressSpace(account.family);
  if (family === undefined) return [];
  const candidates = Array.from({ length: size }, (_, at) => ({
    addressIndex: from + at,
    address: family.depositAddress(account.id, from + at),
  }));
  const unnamed = candidates.filter(({ address }) => !options.isNamed(address));
  state.asked += unnamed.length;
  state.named += candidates.length - unnamed.length;
  if (unnamed.length === 0) return [];
  const { block, balances, used } = await ask(
    unnamed.map(({ address }) => address),
    state,
    options,
  );
  return unnamed.flatMap(({ addressIndex, address }, at) => {
    const held = balances[at]?.filter(({ units }) => units > 0n) ?? [];
    const wasUsed = used[at] === true;
    return held.length === 0 && !wasUsed
      ? []
      : [{ account, addressIndex, address, block, balances: held, wasUsed }];
  });
}

interface Answer {
  readonly block: number;
  readonly balances: readonly FoundAddress["balances"][];
  readonly used: readonly boolean[];
}

/**
 * Nodes that have dropped a block's state answer for a newer block; the scan then continues there.
 */
async function ask(
  addresses: readonly string[],
  state: State,
  options: ScanOptions,
): Promise<Answer> {
  const { reader, currencies, clock, rest } = options;
  for (let tries = 1; ; tries += 1) {
    const { block } = state;
    const askedAt = clock();
    try {
      const questions = addresses.flatMap((account) =>
        currencies.map(({ contract }) => ({ account, contract })),
      );
      const units = valuesIn(await reader.balances(questions, block));
      const used = valuesIn(await reader.wereUsed(addresses, block));
      await rest(Math.min(restMaxMs, Math.max(restMinMs, clock() - askedAt)));
      const balances = addresses.map((_, at) =>
        currencies.map(({ id }, nth) => ({
          currency: id,
          units: units[at * currencies.length + nth] ?? 0n,
        })),
      );
      return { block, balances, used };
    } catch (error) {
      if (!(error instanceof AgentError) || error.code === "NODE_CLOSED" || tries === triesMax)
        throw error;
    }
    await rest(retryMs * 2 ** tries);
    state.block = Math.max(block, (await reader.finalTip()).number);
  }
}
