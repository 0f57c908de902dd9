/**
 * Looks at the addresses that leave next. An address that was never used has no balance, so its
 * baseline is known before any customer can pay. An address with a balance, or one that was ever
 * used, belongs to an earlier user and is skipped. No address leaves without a look
 * (deposits/deposit-account.ts), and accounts for which an order waits come first. The nodes are
 * asked only once in a run whether an address was used. Source: docs/architecture.md section 8.
 */

import { resultOf } from "../../base/result.ts";
import { familyOf } from "../../chains/families.ts";
import { hasRoomFor } from "../../chains/hour-share.ts";
import type { BlockId } from "../../chains/nodes.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { keyText } from "../faults/fault.ts";
import { Turns } from "../faults/turns.ts";
import {
  issuedAddress,
  keepAhead,
  lookMs,
  readAddressState,
  wasLookedAt,
} from "../store/address-states.ts";
import { depositsIdOn } from "../store/agent-accounts.ts";
import { listPairedOn } from "../store/agents.ts";
import { readCursor } from "../store/cursors.ts";
import { dropLookGap, keepLookGap, listLookGaps } from "../store/look-gaps.ts";
import { listReceivingAccounts } from "../store/receiving-keys.ts";
import type { Database } from "../store/store.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import {
  askBalances,
  type BalanceItem,
  itemsOf,
  readableCurrencies,
  settleBalances,
} from "./items.ts";

/** Indexes of each account that are read ahead. */
export const placesAhead = 32;
/**
 * The same while no order waits, where blocks take minutes: each look costs questions of an hour.
 */
const placesResting = 1;
/** Accounts of one pass, in turn, and addresses that it derives; each costs milliseconds. */
const accountsMax = 16;
const derivedAtOnce = 32;
/** Addresses of one pass, and the same if each address is its own question. */
const addressesMax = 128;
const addressesMaxEach = 8;

/**
 * A cache of derived addresses, the turns of merchants, and the accounts for which orders wait.
 */
export interface AheadMemory {
  readonly derived: Map<string, string>; // address by account and index
  readonly unused: Set<string>; // addresses that the nodes called unused in this run
  readonly readAt: Map<string, string>; // hash of the final block at which an address was read
  readonly asked: Set<string>; // accounts for which an order waits
  readonly turns: Turns;
  /** The places of the addresses that could not be read, by address. */
  readonly unread: Map<string, { readonly id: string; readonly place: number }>;
}

export function newAheadMemory(): AheadMemory {
  return {
    derived: new Map(),
    unused: new Set(),
    readAt: new Map(),
    asked: new Set(),
    turns: new Turns(),
    unread: new Map(),
  };
}

/** Lets the next pass begin with an account, because an order waits for its next addresses. */
export function askAhead({ asked }: AheadMemory, account: string): void {
  asked.add(account);
}

/** Runs one pass and signals the orders that waited for it. @throws AgentError NODE_CLOSED */
export async function lookAhead(
  chain: WatchedChain,
  memory: AheadMemory,
  final: BlockId,
): Promise<void> {
  const { store, network, signals } = chain;
  // Nodes that lag show an older state than the state that was read before.
  if ((readCursor(store.database, network)?.block ?? 0) > final.number) return;
  const asked = [...memory.asked];
  if (!hasRoomFor(asked.length > 0 ? "looks" : "comparison", chain.reader.status())) return;
  const accounts = accountsOf(chain, store.database);
  forgetPassed(chain, memory, accounts);
  const wanted = nextAddresses(chain, memory, accounts, final);
  if (wanted.length > 0) await lookAt(chain, memory, wanted, final);
  for (const account of asked) {
    memory.asked.delete(account);
    signals.emit("looked", { network, account });
  }
}

/**
 * Looks by currency. An address of which the coin cannot be read keeps to be looked at. Other
 * currencies that cannot be read are gaps of its look.
 */
async function lookAt(
  chain: WatchedChain,
  memory: AheadMemory,
  wanted: readonly Wanted[],
  final: BlockId,
): Promise<void> {
  const { store, network } = chain;
  const currencies = readableCurrencies(chain);
  const items = wanted.map((one) => itemsOf(chain, "address", one, currencies));
  const units = settleBalances(
    chain,
    items.flat(),
    await askBalances(chain, items.flat(), final.number),
  );
  const isRead = ({ key }: BalanceItem): boolean => units.has(keyText(key));
  for (const [at, { account, id, place }] of wanted.entries())
    if ((items[at] ?? []).every(isRead)) {
      memory.unread.delete(account);
      if (memory.readAt.size >= derivedMax) memory.readAt.clear();
      memory.readAt.set(account, final.hash);
    } else if (memory.unread.size < unreadMax) memory.unread.set(account, { id, place });
  const isCoinRead = (of: readonly BalanceItem[]): boolean =>
    !chain.currencies.some(isCoin) || of.some((item) => isCoin(item.currency) && isRead(item));
  const looked = items.flatMap((of, at) =>
    isCoinRead(of) ? [{ address: (wanted[at] as Wanted).account, read: of.filter(isRead) }] : [],
  );
  const holds = ({ read }: (typeof looked)[number]): boolean =>
    read.some(({ key }) => (units.get(keyText(key)) ?? 0n) > 0n);
  const asked = looked
    .filter((one) => !holds(one) && !memory.unused.has(one.address))
    .map(({ address }) => address);
  const answers = await usedOf(chain, asked, final.number);
  const spent = new Set(asked.filter((_, at) => answers[at] === true));
  if (looked.length > 0)
    store.write((database) => {
      for (const one of looked) {
        const { address, read } = one;
        const isUsed = holds(one) || spent.has(address);
        const state = {
          network,
          address,
          block: final.number,
          comparedAt: chain.clock(),
          run: chain.run,
        };
        keepAhead(database, { ...state, isUsed: isUsed ? 1 : 0 });
        const known = new Set(read.map(({ currency }) => currency.id));
        for (const { id } of chain.currencies)
          (known.has(id) ? dropLookGap : keepLookGap)(database, { network, address, currency: id });
        if (isUsed) tellUsed(chain, database, address, holds(one) ? "holds something" : "was used");
      }
    });
  if (memory.unused.size >= derivedMax) memory.unused.clear();
  for (const [at, address] of asked.entries())
    if (answers[at] === false) memory.unused.add(address);
}

/**
 * Forgets the faults of addresses that orders passed over: nobody has them, and nobody asks for
 * them again.
 */
function forgetPassed(
  { faults, store }: WatchedChain,
  { unread }: AheadMemory,
  accounts: readonly Account[],
): void {
  if (unread.size === 0) return;
  const nextOf = new Map(accounts.map(({ id, next }) => [id, next]));
  const passed = new Set<string>();
  for (const [address, { id, place }] of unread) {
    const next = nextOf.get(id);
    if (next !== undefined && place >= next) continue;
    unread.delete(address);
    if (issuedAddress(store.database, address) === undefined) passed.add(address);
  }
  if (passed.size > 0)
    faults.keepOnly("address", (text) => !passed.has(text.split(" ")[0] as string));
}

const isCoin = ({ contract }: GatewayCurrency): boolean => contract === "";

/**
 * Null where the nodes do not agree; then only the balance decides, and the next look asks again.
 * The other work on the chain does not wait.
 */
async function usedOf(
  { reader }: WatchedChain,
  addresses: readonly string[],
  block: number,
): Promise<readonly (boolean | null)[]> {
  const told = await resultOf(() => reader.wereUsed(addresses, block));
  return addresses.map((_, at) => {
    const one = told.ok ? told.value[at] : undefined;
    return one?.ok === true ? one.value : null;
  });
}

function tellUsed(chain: WatchedChain, database: Database, address: string, what: string): void {
  const detail = `${address} ${what} before it was given out to anybody; the next deposits pass it over`;
  raiseAlarm(chain, database, { code: "WATCHER_ADDRESS_USED", subject: address, detail });
}

/**
 * Addresses to look at in this pass: first of the accounts for which orders wait, then of some
 * other accounts in turn. One address of each account comes after the other.
 */
function nextAddresses(
  chain: WatchedChain,
  memory: AheadMemory,
  accounts: readonly Account[],
  final: BlockId,
): readonly Wanted[] {
  const { turns } = memory;
  turns.beginPass();
  turns.keep(new Set(accounts.map(({ id }) => id)));
  const visited = turns.deal(accounts, accountsMax, ({ id, merchant }) => ({
    id,
    merchant,
    questions: 1,
  }));
  const found = new Map<string, Wanted>();
  const derivedMost = memory.derived.size + derivedAtOnce;
  const resting = restingPlaces(memory);
  const kept = [
    { some: accounts.filter((one) => memory.asked.has(one.id)), placesOf: () => placesAhead },
    {
      some: visited,
      placesOf: ({ id }: Account) => (chain.hasLongBlocks ? resting(id) : placesAhead),
    },
  ];
  for (const { some, placesOf } of kept)
    for (let at = 0; at < placesAhead; at += 1)
      for (const account of some) {
        if (
          at < placesOf(account) &&
          !addNext(chain, memory, found, { account, at, derivedMost, final })
        )
          return [...found.values()];
      }
  return [...found.values()];
}

/** An address that cannot be read is none to give out: one more is kept for it. */
function restingPlaces({ unread }: AheadMemory): (id: string) => number {
  const unreadOf = new Map<string, number>();
  for (const { id } of unread.values()) unreadOf.set(id, (unreadOf.get(id) ?? 0) + 1);
  return (id) => placesResting + (unreadOf.get(id) ?? 0);
}

/** A place of an account that may be due, in a pass at a final block. */
interface Place {
  readonly account: Account;
  readonly at: number;
  readonly derivedMost: number; // addresses that may be derived until then
  readonly final: BlockId;
}

/** Adds the address of an account's place if it must be looked at. False if the pass is full. */
function addNext(
  chain: WatchedChain,
  memory: AheadMemory,
  found: Map<string, Wanted>,
  { account: { id, next, merchant }, at, derivedMost, final }: Place,
): boolean {
  const { database } = chain.store;
  const most = chain.reader.tellsNewestBalances === true ? addressesMaxEach : addressesMax;
  if (found.size === most || memory.derived.size >= derivedMost) return false;
  const account = derive(chain, memory, id, next + at);
  const wanted = { account, merchant, isWaited: memory.asked.has(id), id, place: next + at };
  const state = readAddressState(database, chain.network, account);
  // Nothing that was read can have changed at the same block; the look counts until lookMs.
  const isStill =
    memory.readAt.get(account) === final.hash && wasLookedAt(state, chain.clock() - lookMs);
  const isLooked = isStill || wasLookedAt(state, chain.clock() - lookMs / 2);
  const isKnown =
    found.has(account) || (isLooked ? !hasDueGap(chain, wanted) : !isDueAt(chain, wanted));
  if (!isKnown && issuedAddress(database, account) === undefined) found.set(account, wanted);
  return true;
}

/** An address to look at. */
interface Wanted {
  readonly account: string; // the address
  readonly merchant: string;
  readonly isWaited: boolean; // an order waits for it
  readonly id: string; // its account
  readonly place: number; // its index there
}

/** True if its coin, or any currency of a chain without one, does not rest. */
function isDueAt(chain: WatchedChain, wanted: Wanted): boolean {
  const items = itemsOf(chain, "address", wanted, chain.currencies);
  const coins = items.filter(({ currency }) => isCoin(currency));
  return (coins.length > 0 ? coins : items).some(({ key }) => chain.faults.isDue(key));
}

/** True if a currency that could not be read at the last look can be asked for now. */
function hasDueGap(chain: WatchedChain, wanted: Wanted): boolean {
  const gaps = new Set(listLookGaps(chain.store.database, chain.network, wanted.account));
  if (gaps.size === 0) return false;
  const some = readableCurrencies(chain).filter(({ id }) => gaps.has(id));
  return itemsOf(chain, "address", wanted, some).some(({ key }) => chain.faults.isDue(key));
}

interface Account {
  readonly id: string;
  readonly next: number; // the first index that has not left
  readonly merchant: string;
}

function accountsOf({ network }: WatchedChain, database: Database): readonly Account[] {
  const agents = listPairedOn(database, network).map((agent) => ({
    id: depositsIdOn(agent, network),
    next: agent.nextDepositIndex,
    merchant: agent.merchant,
  }));
  return [
    ...agents.filter(({ id }) => id !== ""),
    ...listReceivingAccounts(database, familyOf(network).name),
  ];
}

const derivedMax = 100_000;
const unreadMax = 4_096;

function derive(
  { network }: WatchedChain,
  { derived }: AheadMemory,
  id: string,
  place: number,
): string {
  const key = `${id} ${place}`;
  const known = derived.get(key);
  if (known !== undefined) return known;
  if (derived.size >= derivedMax) derived.clear();
  const address = familyOf(network).depositAddress(id, place);
  derived.set(key, address);
  return address;
}
