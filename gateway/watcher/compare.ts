/**
 * Selects the balances that a pass reads, so that no work grows with the number of requests or of
 * addresses ever issued. A pass reads requests whose end has come, addresses with coins that a
 * receipt names, and addresses never compared. It reads open requests in the native coin in turn,
 * and every address once a day. An address that left lately is read more often, by its age. Source:
 * docs/architecture.md section 8.
 */

import { resultOf } from "../../base/result.ts";
import { addressSpaceOf } from "../../chains/network-names.ts";
import type { BlockId } from "../../chains/nodes.ts";
import { hasTags } from "../../chains/payees.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { keyText } from "../faults/fault.ts";
import {
  type IssuedAddress,
  issuedAddress,
  listComparedBefore,
  listDueByAge,
  listNeverCompared,
  newestPlace,
  readAddressState,
} from "../store/address-states.ts";
import { depositEnd, listPendingDeposits } from "../store/deposits.ts";
import { listClaims } from "../store/payments.ts";
import type { Database } from "../store/store.ts";
import { readTransaction } from "../store/transactions.ts";
import type { WatchedChain } from "./chain.ts";
import { askBalances, type BalanceItem, countResting, itemsOf, keyOn, readableCurrencies, settleBalances } from "./items.ts";
import { applyReading, type Reading } from "./readings.ts";

/**
 * Addresses of one pass: as many as a few questions hold, or fewer if each address is one question.
 */
const addressesMax = 256;
const addressesMaxEach = 16;
/** Addresses in a pass that were never compared, or were compared long ago. */
const oldMax = 64;
const oldMaxEach = 4;
const windowPlaces = 4096;
/** An address is compared again after this time: at least once a day, even if a pass is late. */
const againMs = 20 * 3_600_000;
/**
 * Late payments usually come soon after the end. A pass checks this many of the newest addresses,
 * and compares none of them again before `youngLeastMs`.
 */
const youngPlaces = 4_096;
const youngWindow = 512;
const youngLeastMs = 30_000;

/** Comparisons in progress; a new process reads them again. */
export interface CompareMemory {
  readings: readonly Reading[]; // waiting for blocks to be read
  readonly ended: Map<string, number>; // request id: block of the newest reading after its end
  place: number; // addresses up to here were compared at least once
  youngPlace: number; // addresses up to here were checked for being due by age
  turn: number; // position among open requests
  turnAt: string; // final block at which every open request had its turn
}

export function newCompareMemory(): CompareMemory {
  return { readings: [], ended: new Map(), place: 0, youngPlace: 0, turn: 0, turnAt: "" };
}

interface Batch {
  readonly block: number;
  readonly currencies: readonly GatewayCurrency[];
  readonly addresses: readonly IssuedAddress[];
}

/**
 * Reads and applies the balances that this pass must compare. Every final block up to `final` must
 * have been read before.
 * An address, or one of its currencies, that cannot be read costs no other. `commit` gets the ids
 * of the requests to judge.
 * @throws AgentError NODE_CLOSED
 */
export async function compareBalances(
  chain: WatchedChain,
  memory: CompareMemory,
  final: BlockId,
  commit: (fn: (database: Database) => readonly string[]) => void,
): Promise<void> {
  if (hasTags(chain.network)) return;
  for (const batch of batchesOf(chain, memory, final))
    memory.readings = [...memory.readings, ...(await readTogether(chain, batch, final))];
  const ripe = memory.readings.filter(({ to }) => to <= final.number);
  if (ripe.length === 0) return;
  memory.readings = memory.readings.filter(({ to }) => to > final.number);
  commit((database) => ripe.filter((reading) => applyReading(chain, database, reading)).map(({ of }) => of.transactionId));
  for (const { of, from } of ripe) if (memory.ended.has(of.transactionId)) memory.ended.set(of.transactionId, from);
}

/** The newest block at which a request's balance is known. */
export function comparedAt(memory: CompareMemory, transactionId: string): number {
  return memory.ended.get(transactionId) ?? -1;
}

/** Sets the requests that wait for their end, and removes all others. */
export function awaitEnds(memory: CompareMemory, ids: readonly string[]): void {
  const kept = new Map(ids.map((id) => [id, memory.ended.get(id) ?? -1]));
  memory.ended.clear();
  for (const [id, block] of kept) memory.ended.set(id, block);
}

async function readTogether(chain: WatchedChain, batch: Batch, final: BlockId): Promise<readonly Reading[]> {
  const { reader, faults } = chain;
  const { addresses, currencies } = batch;
  const ofEach = addresses.map((of) => itemsOf(chain, "address", placeOf(chain, of), currencies));
  const items = ofEach.flat();
  const first = await askBalances(chain, items, batch.block);
  // A node without the state at the request's end still has the newest state.
  const left = batch.block === final.number ? [] : items.filter(({ key }) => first.get(keyText(key))?.ok === false);
  const later = await askBalances(chain, left, final.number);
  const units = settleBalances(chain, items, new Map([...first, ...later]));
  if (units.size === 0) return [];
  // One node's head is no bound, because the balance may be another node's, and that one may lag.
  const highest = await resultOf(async () => (await reader.highestHead?.()) ?? batch.block);
  const head = faults.settle(keyOn(chain, "head", "highest"), highest);
  if (head === null) return [];
  return addresses.flatMap((of, at): readonly Reading[] => {
    const own = ofEach[at] as readonly BalanceItem[];
    const read = own.flatMap(({ key, currency: { id, contract } }) => {
      const known = units.get(keyText(key));
      return known === undefined ? [] : [{ id, contract, units: known }];
    });
    const from = own.some(({ key }) => later.has(keyText(key))) ? final.number : batch.block;
    const blockHash = from === final.number ? final.hash : "";
    return read.length === 0 ? [] : [{ of, from, to: Math.max(from, head), blockHash, currencies: read }];
  });
}

/** A person waits while the address's request is open. */
function placeOf({ store: { database } }: WatchedChain, { address, transactionId }: IssuedAddress) {
  const row = readTransaction(database, transactionId);
  return { account: address, merchant: row?.merchant ?? "", isWaited: row?.status === 0 };
}

function batchesOf(chain: WatchedChain, memory: CompareMemory, final: BlockId): readonly Batch[] {
  const { database } = chain.store;
  const isEach = chain.reader.tellsNewestBalances === true;
  const all = readableCurrencies(chain);
  const isDue = (one: IssuedAddress): boolean =>
    itemsOf(chain, "address", { account: one.address, merchant: "" }, all).some(({ key }) => chain.faults.isDue(key));
  const native = all.filter(({ contract }) => contract === "");
  const taken = new Set(memory.readings.map(({ of }) => of.address));
  let left = isEach ? addressesMaxEach : addressesMax;
  const take = (found: readonly (IssuedAddress | undefined)[], most = left): readonly IssuedAddress[] => {
    const some: IssuedAddress[] = [];
    for (const one of found) {
      if (one === undefined || taken.has(one.address) || some.length === Math.min(most, left) || !isDue(one)) continue;
      some.push(one);
      taken.add(one.address);
    }
    left -= some.length;
    return some;
  };
  const oldest = isEach ? oldMaxEach : oldMax;
  // Addresses that rest are the oldest of each list, and take no place in it.
  const listed = oldest + countResting(chain, "address");
  const fresh = take(neverCompared(chain, memory, listed), oldest);
  const isCompared = ({ address }: IssuedAddress): boolean =>
    readAddressState(database, chain.network, address)?.run === "" && !taken.has(address);
  const ends = endings(chain, memory, final).filter(({ of }) => isCompared(of));
  const ending = take(ends.map(({ of }) => of));
  const claimed = take(
    listClaims(database, chain.network, final.number)
      .map(({ address }) => issuedAddress(database, address))
      .filter(isThere)
      .filter(isCompared),
  );
  const open = take(inTurn(chain, memory, final, native[0], left).filter(isCompared));
  const old = take(listComparedBefore(database, chain.network, chain.clock() - againMs, listed), oldest);
  const young = take(dueByAge(chain, memory, listed), oldest - old.length);
  const at = (block: number, currencies: readonly GatewayCurrency[], addresses: readonly IssuedAddress[]): Batch => ({
    block,
    currencies,
    addresses,
  });
  const blockOf = (one: IssuedAddress): number =>
    isEach ? final.number : (ends.find(({ of }) => of === one)?.block ?? final.number);
  const endBlocks = [...new Set(ending.map(blockOf))];
  return [
    at(final.number, all, [...fresh, ...old, ...young]),
    at(final.number, native, [...claimed, ...open]),
    ...endBlocks.map((block) =>
      at(
        block,
        native,
        ending.filter((one) => blockOf(one) === block),
      ),
    ),
  ].filter(({ addresses, currencies }) => addresses.length > 0 && currencies.length > 0);
}

const isThere = (one: IssuedAddress | undefined): one is IssuedAddress => one !== undefined;

/** Goes through all rows only once; new rows come after the last. */
function neverCompared(chain: WatchedChain, memory: CompareMemory, most: number): readonly IssuedAddress[] {
  const { database } = chain.store;
  const start = addressSpaceOf(chain.network);
  const end = Math.min(newestPlace(database), memory.place + windowPlaces);
  const window = { after: memory.place, window: windowPlaces, most };
  const pending = new Set(memory.readings.map(({ of }) => of.address));
  const found = listNeverCompared(database, { network: chain.network, start }, window).filter(
    ({ address }) => !pending.has(address),
  );
  if (found.length === 0 && pending.size === 0) memory.place = end;
  return found;
}

/** Checks one part of the newest addresses after the other, in turn. */
function dueByAge({ store, network, clock }: WatchedChain, memory: CompareMemory, most: number): readonly IssuedAddress[] {
  const newest = newestPlace(store.database);
  const oldest = Math.max(0, newest - youngPlaces);
  const after = memory.youngPlace < newest ? Math.max(oldest, memory.youngPlace) : oldest;
  memory.youngPlace = after + youngWindow;
  const place = { after, window: youngWindow, most };
  return listDueByAge(store.database, network, place, { nowMs: clock(), leastMs: youngLeastMs });
}

interface Ending {
  readonly of: IssuedAddress;
  readonly block: number;
}

/** Requests whose end is in a final block, and whose balance at their end is not known yet. */
function endings({ store }: WatchedChain, memory: CompareMemory, final: BlockId): readonly Ending[] {
  return [...memory.ended].flatMap(([id, known]): readonly Ending[] => {
    const block = depositEnd(store.database, id);
    if (block === null || block > final.number || known >= block) return [];
    const of = ofRequest(store.database, id);
    return of === undefined ? [] : [{ of, block }];
  });
}

function ofRequest(database: Database, id: string): IssuedAddress | undefined {
  const row = readTransaction(database, id);
  return row === undefined ? undefined : issuedAddress(database, row.depositAddress);
}

/** A part of the open requests in the native coin at each final block; all have their turn. */
function inTurn(
  { store, network }: WatchedChain,
  memory: CompareMemory,
  final: BlockId,
  native: GatewayCurrency | undefined,
  most: number,
): readonly IssuedAddress[] {
  if (native === undefined || memory.turnAt === final.hash) return [];
  memory.turnAt = final.hash;
  const open = listPendingDeposits(store.database, network, native.id);
  const first = memory.turn % Math.max(1, open.length);
  const some = [...open.slice(first), ...open.slice(0, first)].slice(0, most);
  memory.turn = first + some.length;
  return some.map(({ depositAddress }) => issuedAddress(store.database, depositAddress)).filter(isThere);
}
