/**
 * Takes in the results of a scan: the found addresses are watched from now on, and their balances
 * become payments that count for no request yet. No order gets an index up to the last one found.
 * Works while a gateway runs, in short transactions.
 */
import { findFamilyOfAddressSpace } from "../../chains/families.ts";
import { addressSpaceOf } from "../../chains/network-names.ts";
import type { BlockId } from "../../chains/nodes.ts";
import { recordAct } from "../store/audit.ts";
import { moveCursor, readCursor } from "../store/cursors.ts";
import { insertForgotten } from "../store/forgotten-addresses.ts";
import { takeInFoundAddress } from "../store/found-addresses.ts";
import type { Database, Store } from "../store/store.ts";
import { type DepositAccount, skipAddresses } from "./ceilings.ts";
import type { FoundAddress, ScanResult } from "./scan.ts";

/** Findings on one chain. */
export interface ScannedChain {
  readonly network: string;
  readonly scanned: ScanResult;
}

export interface RegisteredFindings {
  readonly watched: number; // addresses
  readonly passedOver: number; // indexes that no order will get
  readonly unswept: readonly string[]; // another address here has the same index: only watched
}

const sliceMax = 250;

/**
 * Takes in the addresses; returns when all is durable. Harmless to call twice. `networks` are those
 * of the configuration.
 * @throws AgentError GATEWAY_STORE_*
 */
export function takeInFoundAddresses(
  store: Store,
  accounts: readonly DepositAccount[],
  chains: readonly ScannedChain[],
  {
    networks,
    nowMs,
    actor,
  }: { readonly networks: readonly string[]; readonly nowMs: number; readonly actor: string },
): RegisteredFindings {
  const found = chains.flatMap(({ network, scanned }) =>
    scanned.found.map((one) => ({ network, ...one })),
  );
  const ends = new Map(accounts.map((account) => [account, endOf(account, accounts, found)]));
  // Watches first, so that an interruption never leaves a skipped index unwatched.
  for (const [account, end] of ends) watchUpTo(store, account, end, nowMs);
  return store.write((database) => {
    const unswept: string[] = [];
    const addresses = new Set<string>();
    for (const one of found) {
      const account = accounts.find(
        ({ firstAddress }) => firstAddress === one.account.firstAddress,
      );
      if (account === undefined) continue;
      addresses.add(one.address);
      const { addressIndex, address } = one;
      const addressSpace = addressSpaceOf(one.network);
      const row = {
        address,
        merchant: account.merchant,
        agent: account.agent,
        addressIndex,
        addressSpace,
        origin: "found" as const,
        at: nowMs,
      };
      const [held] = one.balances;
      if (held === undefined) {
        insertForgotten(database, row);
        continue;
      }
      const blocks = blocksOf(database, chains, networks, addressSpace);
      if (
        !takeInFoundAddress(
          database,
          row,
          { currency: held.currency, network: one.network },
          blocks,
        )
      )
        unswept.push(address);
    }
    const passedOver = [...ends].reduce(
      (sum, [{ firstAddress }, end]) => sum + skipAddresses(database, firstAddress, end),
      0,
    );
    for (const { network, scanned } of chains) readAgainFrom(database, network, scanned.first);
    for (const merchant of new Set(accounts.map((one) => one.merchant))) {
      const detail = `${addresses.size} addresses that a scan found, ${passedOver} indexes passed over`;
      recordAct(database, {
        at: nowMs,
        actor,
        act: "addresses watched",
        subject: merchant,
        detail,
      });
    }
    return { watched: addresses.size, passedOver, unswept };
  });
}

/**
 * The index after the last one found, if it is beyond the database's count. The accounts of an
 * agent share one count.
 */
function endOf(
  account: DepositAccount,
  accounts: readonly DepositAccount[],
  found: readonly FoundAddress[],
): number {
  const counted = accounts.filter(({ agent }) => agent !== null && agent === account.agent);
  const own = new Set([account, ...counted].map(({ firstAddress }) => firstAddress));
  return found.reduce(
    (end, one) => (own.has(one.account.firstAddress) ? Math.max(end, one.addressIndex + 1) : end),
    account.next,
  );
}

function watchUpTo(store: Store, account: DepositAccount, end: number, nowMs: number): void {
  const family = findFamilyOfAddressSpace(account.family);
  if (family === undefined) return;
  const { merchant, agent, id } = account;
  const addressSpace = family.addressSpace.networks;
  for (let from = account.next; from < end; from += sliceMax) {
    const size = Math.min(sliceMax, end - from);
    const rows = Array.from({ length: size }, (_, at) => ({
      address: family.depositAddress(id, from + at),
      addressIndex: from + at,
      merchant,
      agent,
      addressSpace,
      origin: "skipped" as const,
      at: nowMs,
    }));
    store.write((database) => {
      for (const row of rows) insertForgotten(database, row);
    });
  }
}

/**
 * The block from which single payments count on each chain: the block at which reading continues.
 */
function blocksOf(
  database: Database,
  chains: readonly ScannedChain[],
  networks: readonly string[],
  addressSpace: string,
): ReadonlyMap<string, number> {
  const blocks = new Map<string, number>();
  for (const network of networks.filter((one) => one.startsWith(addressSpace))) {
    const cursor = readCursor(database, network)?.block;
    const scanned = chains.find((one) => one.network === network)?.scanned.first.number;
    const known = [cursor, scanned].filter((block) => block !== undefined);
    blocks.set(network, known.length === 0 ? 0 : Math.min(...known));
  }
  return blocks;
}

/** Blocks since the scan are read again for an address that was not watched then. */
function readAgainFrom(
  database: Database,
  network: string,
  { number: block, hash }: BlockId,
): void {
  const cursor = readCursor(database, network);
  if (cursor !== undefined && cursor.block > block) moveCursor(database, { network, block, hash });
}
