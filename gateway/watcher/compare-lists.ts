/**
 * Selects the addresses that a pass compares, so that no work grows with the number of requests or
 * of addresses ever issued. A pass reads requests whose end has come, addresses with coins that a
 * receipt names, addresses never compared, and those of requests that lived in blocks which were
 * given up. It reads open requests in the native coin in turn,
 * and every address once a day. An address that left lately is read more often, by its age. Each
 * list deals to merchants in turn. Source: docs/architecture.md section 8.
 */

import { addressSpaceOf } from "../../chains/network-names.ts";
import type { BlockId } from "../../chains/nodes.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { currencyItemId } from "../faults/fault.ts";
import { MerchantTurns } from "../faults/turns.ts";
import {
  type IssuedAddress,
  issuedAddress,
  listClaimedAddresses,
  listComparedBefore,
  listComparedBeforeIn,
  listDueByAge,
  listNeverCompared,
  newestAddressPlace,
  readAddressState,
} from "../store/address-states.ts";
import { depositEndBlock, listPendingDeposits } from "../store/deposits.ts";
import { listAddressesHeldByGaps } from "../store/gap-holds.ts";
import type { Database } from "../store/store.ts";
import { readDeposit } from "../store/transactions.ts";
import type { WatchedChain } from "./chain.ts";
import { countResting, faultKeyOn, readableCurrencies } from "./items.ts";
import type { AddressReading } from "./readings.ts";

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
/** Addresses that rest were never compared: after this time their place comes again. */
const passedOverMs = 15 * 60_000;
/**
 * Late payments usually come soon after the end. A pass checks this many of the newest addresses,
 * and compares none of them again before `youngLeastMs`.
 */
const youngPlaces = 4_096;
const youngWindow = 512;
const youngLeastMs = 30_000;

/** Comparisons in progress; a new process reads them again. */
export interface CompareMemory {
  readings: readonly AddressReading[]; // waiting for blocks to be read
  readonly ended: Map<string, number>; // request id: block of the newest reading after its end
  place: number; // addresses up to here were compared at least once
  passedOver: { readonly place: number; readonly at: number } | null; // the first of them that were not
  oldPlace: number; // addresses up to here were checked for an old comparison
  youngPlace: number; // addresses up to here were checked for being due by age
  readonly turns: MerchantTurns; // of merchants
  turnAt: string; // final block at which open requests had their turn
}

export function newCompareMemory(): CompareMemory {
  const places = { place: 0, passedOver: null, oldPlace: 0, youngPlace: 0 };
  return { readings: [], ended: new Map(), ...places, turns: new MerchantTurns(), turnAt: "" };
}

/** Addresses that are read together. */
export interface CompareBatch {
  readonly block: number;
  readonly currencies: readonly GatewayCurrency[];
  readonly addresses: readonly IssuedAddress[];
}

/** The batches of one pass. */
export function compareBatchesOf(
  chain: WatchedChain,
  memory: CompareMemory,
  final: BlockId,
): readonly CompareBatch[] {
  const { database } = chain.store;
  const isEach = chain.reader.tellsNewestBalances === true;
  const [most, oldest] = isEach ? [addressesMaxEach, oldMaxEach] : [addressesMax, oldMax];
  const all = readableCurrencies(chain);
  const native = all.filter(({ contract }) => contract === "");
  const deal = dealerOf(chain, memory);
  // Addresses that rest are the first of each list, and take no place in it.
  const listed = oldest + countResting(chain, "address");
  const fresh = deal(neverCompared(chain, memory, listed, all), oldest, all);
  const held = deal(listAddressesHeldByGaps(database, chain.network, listed), oldest, all);
  const isCompared = ({ address }: { readonly address: string }): boolean =>
    readAddressState(database, chain.network, address)?.run === "";
  const ends = endings(chain, memory, final).filter(({ of }) => isCompared(of));
  const endOf = new Map(ends.map(({ of, block }) => [of.address, block]));
  const isOld = ({ address }: IssuedAddress): boolean => !endOf.has(address);
  const old = deal(comparedLongAgo(chain, memory, listed).filter(isOld), oldest, all);
  const young = deal(dueByAge(chain, memory, listed).filter(isOld), oldest - old.length, all);
  const claimed = listClaimedAddresses(database, chain.network, final.number, listed);
  const waiting = [
    ...ends.map(({ of }) => of),
    ...claimed,
    ...openInTurn(chain, memory, final, native[0]),
  ];
  const now = deal(waiting, most - fresh.length - held.length - old.length - young.length, native)
    .filter(isCompared)
    .map(({ address }) => issuedAddress(database, address))
    .filter(isThere);
  const blockOf = ({ address }: IssuedAddress): number =>
    isEach ? final.number : (endOf.get(address) ?? final.number);
  const blocks = [...new Set([final.number, ...now.map(blockOf)])];
  return [
    { block: final.number, currencies: all, addresses: [...fresh, ...held, ...old, ...young] },
    ...blocks.map((block) => ({
      block,
      currencies: native,
      addresses: now.filter((one) => blockOf(one) === block),
    })),
  ].filter(({ addresses, currencies }) => addresses.length > 0 && currencies.length > 0);
}

/** An address in a list, in turn. */
interface ListedAddress {
  readonly address: string;
  readonly merchant: string;
  readonly turn?: string; // its own place in the turn; without it as it is listed
}

type DealInTurn = <One extends ListedAddress>(
  found: readonly One[],
  most: number,
  currencies: readonly GatewayCurrency[],
) => readonly One[];

/**
 * Deals one list after the other, each address once in a pass. An address costs a question for each
 * currency.
 */
function dealerOf(chain: WatchedChain, memory: CompareMemory): DealInTurn {
  const taken = new Set(memory.readings.map(({ of }) => of.address));
  const isDue = dueTest(chain);
  memory.turns.beginPass();
  return (found, most, currencies) => {
    const questions = Math.max(1, currencies.length);
    const free = new Map(
      found
        .filter((one) => !taken.has(one.address) && isDue(one, currencies))
        .map((one) => [one.address, one]),
    );
    if (most <= 0) return [];
    const some = memory.turns.deal([...free.values()], most * questions, ({ merchant, turn }) =>
      turn === undefined ? { merchant, questions } : { merchant, questions, id: turn },
    );
    for (const { address } of some) taken.add(address);
    return some;
  };
}

/** True if one of the currencies of an address does not rest. */
function dueTest(
  chain: WatchedChain,
): (one: ListedAddress, currencies: readonly GatewayCurrency[]) => boolean {
  if (countResting(chain, "address") === 0) return () => true;
  return ({ address }, currencies) =>
    currencies.some(({ id }) =>
      chain.faults.isDue(faultKeyOn(chain, "address", currencyItemId(address, id))),
    );
}

const isThere = (one: IssuedAddress | undefined): one is IssuedAddress => one !== undefined;

/**
 * Goes through all rows only once; new rows come after the last. A part of them of which all rest
 * is passed over, and comes again later.
 */
function neverCompared(
  chain: WatchedChain,
  memory: CompareMemory,
  mostEach: number,
  currencies: readonly GatewayCurrency[],
): readonly IssuedAddress[] {
  const { database } = chain.store;
  const newest = newestAddressPlace(database);
  const { passedOver } = memory;
  if (passedOver !== null && Math.abs(chain.clock() - passedOver.at) >= passedOverMs) {
    memory.place = passedOver.place;
    memory.passedOver = null;
  }
  const end = Math.min(newest, memory.place + windowPlaces);
  const isDue = dueTest(chain);
  const pending = new Set(memory.readings.map(({ of }) => of.address));
  const network = { network: chain.network, start: addressSpaceOf(chain.network) };
  const found = listNeverCompared(database, network, {
    after: memory.place,
    window: windowPlaces,
    mostEach,
  });
  const due = found.filter((one) => !pending.has(one.address) && isDue(one, currencies));
  if (due.length === 0 && pending.size === 0) {
    if (found.length > 0) memory.passedOver ??= { place: memory.place, at: chain.clock() };
    memory.place = end;
  }
  return due;
}

/**
 * The oldest comparisons. If they are more than a pass may take, also those of one part of all
 * addresses after the other, so that no merchant's wait for all of another's.
 */
function comparedLongAgo(
  { store, network, clock }: WatchedChain,
  memory: CompareMemory,
  most: number,
): readonly IssuedAddress[] {
  const before = clock() - againMs;
  const oldest = listComparedBefore(store.database, network, before, most);
  if (oldest.length < most) return oldest;
  const after = memory.oldPlace < newestAddressPlace(store.database) ? memory.oldPlace : 0;
  memory.oldPlace = after + windowPlaces;
  const place = { after, window: windowPlaces, mostEach: most };
  return [...listComparedBeforeIn(store.database, network, before, place), ...oldest];
}

/** Checks one part of the newest addresses after the other, in turn. */
function dueByAge(
  { store, network, clock }: WatchedChain,
  memory: CompareMemory,
  mostEach: number,
): readonly IssuedAddress[] {
  const newest = newestAddressPlace(store.database);
  const oldest = Math.max(0, newest - youngPlaces);
  const after = memory.youngPlace < newest ? Math.max(oldest, memory.youngPlace) : oldest;
  memory.youngPlace = after + youngWindow;
  const place = { after, window: youngWindow, mostEach };
  return listDueByAge(store.database, network, place, { nowMs: clock(), leastMs: youngLeastMs });
}

interface EndingAddress {
  readonly of: IssuedAddress;
  readonly block: number;
}

/** Requests whose end is in a final block, and whose balance at their end is not known yet. */
function endings(
  { store }: WatchedChain,
  memory: CompareMemory,
  final: BlockId,
): readonly EndingAddress[] {
  return [...memory.ended].flatMap(([id, known]): readonly EndingAddress[] => {
    const block = depositEndBlock(store.database, id);
    if (block === null || block > final.number || known >= block) return [];
    const of = ofRequest(store.database, id);
    return of === undefined ? [] : [{ of, block }];
  });
}

function ofRequest(database: Database, id: string): IssuedAddress | undefined {
  const row = readDeposit(database, id);
  return row === undefined ? undefined : issuedAddress(database, row.address);
}

/** The open requests in the native coin, once at each final block; all have their turn. */
function openInTurn(
  { store, network }: WatchedChain,
  memory: CompareMemory,
  final: BlockId,
  native: GatewayCurrency | undefined,
): readonly ListedAddress[] {
  if (native === undefined || memory.turnAt === final.hash) return [];
  memory.turnAt = final.hash;
  const open = listPendingDeposits(store.database, network, native.id);
  memory.turns.keep(new Set(open.map(({ id }) => id)));
  return open.map(({ id, merchant, address }) => ({ turn: id, merchant, address }));
}
