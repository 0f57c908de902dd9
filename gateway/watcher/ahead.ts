/**
 * Looks at the addresses that leave next. An address that was never used has no balance, so its
 * baseline is known before any customer can pay. An address with a balance, or one that was ever
 * used, belongs to an earlier user and is skipped. No address leaves without a look
 * (deposits/fresh-address.ts), and accounts for which an order waits come first. The nodes are
 * asked only once in a run whether an address was used. Source: docs/architecture.md section 8.
 */
import { type Result, resultOf } from "../../base/result.ts";
import { familyOf } from "../../chains/families.ts";
import { hasQuestionsLeftFor } from "../../chains/hour-share.ts";
import type { BlockId } from "../../chains/nodes.ts";
import type { GatewayCurrency } from "../config/config.ts";
import { keyText } from "../faults/fault.ts";
import {
  issuedAddress,
  keepUnissuedLook,
  lookMs,
  readAddressState,
  wasLookedAt,
} from "../store/address-states.ts";
import { depositAccountIdOn } from "../store/agent-accounts.ts";
import { agentsVersion, listPairedOn, nextDepositIndexOf } from "../store/agents.ts";
import { readCursor } from "../store/cursors.ts";
import { dropLookGap, keepUnreadAddressCurrency, listLookGaps } from "../store/look-gaps.ts";
import {
  listReceivingAccounts,
  nextDepositIndexUnder,
  receivingKeysVersion,
} from "../store/receiving-keys.ts";
import type { Database } from "../store/store.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import {
  askBalances,
  readableCurrencies,
  settleBalances,
  type WatchedBalance,
  watchedBalancesOf,
} from "./items.ts";

/*
 * The accounts of one chain that deposit addresses are derived from, of paired agents and of
 * merchants without one, kept in memory from pass to pass and visited in turn.
 */

interface DepositAccount {
  readonly id: string; // the text that addresses are derived from
  readonly merchant: string;
  /** The first index that has not left. */
  readonly readNext: (database: Database) => number;
}

/** An account rests when no order has waited for its addresses for so long. */
const awakeMs = 86_400_000;
/**
 * The most indexes of an account that are looked at ahead, however fast its addresses leave: those
 * of two seconds at 250 a second.
 */
const placesMax = 512;
/** Addresses of so many passes are looked at ahead. */
const passesAhead = 2;

/** An account for whose addresses an order waited. */
interface AwakeAccount {
  readonly atMs: number; // own time
  next: number | null; // its first index that has not left, at the last pass
  places: number; // that were looked at ahead then
}

export class DepositAccounts {
  readonly #network: string;
  #version = "";
  #accounts: ReadonlyMap<string, DepositAccount> = new Map();
  #ring: readonly DepositAccount[] = [];
  #at = 0;
  readonly #awake = new Map<string, AwakeAccount>(); // by account, the one visited longest ago first

  constructor(network: string) {
    this.#network = network;
  }

  /** Takes the accounts that came or went since the last call. */
  refresh(database: Database): void {
    const version = `${agentsVersion(database)} ${receivingKeysVersion(database)}`;
    if (version === this.#version) return;
    this.#version = version;
    const ofAgents = listPairedOn(database, this.#network).map(
      (agent): DepositAccount => ({
        id: depositAccountIdOn(agent, this.#network),
        merchant: agent.merchant,
        readNext: (inside) => nextDepositIndexOf(inside, agent.id),
      }),
    );
    const others = listReceivingAccounts(database, familyOf(this.#network).addressSpace.name).map(
      ({ id, merchant, firstDepositAddress }): DepositAccount => ({
        id,
        merchant,
        readNext: (inside) => nextDepositIndexUnder(inside, merchant, firstDepositAddress),
      }),
    );
    this.#ring = [...ofAgents.filter(({ id }) => id !== ""), ...others];
    this.#accounts = new Map(this.#ring.map((account) => [account.id, account]));
    this.#at = this.#ring.length === 0 ? 0 : this.#at % this.#ring.length;
  }

  find(id: string): DepositAccount | undefined {
    return this.#accounts.get(id);
  }

  /** Lets an account be visited at each pass for a day, because an order waits for an address. */
  wake(id: string, nowMs: number): void {
    if (!this.#accounts.has(id)) return;
    const { next, places } = this.#awake.get(id) ?? { next: null, places: 0 };
    this.#awake.set(id, { atMs: nowMs, next, places });
  }

  /**
   * How many indexes of an account a pass looks at ahead, at least `least`: twice as many as left
   * since the last pass, so that none waits at the same rate, and fewer again from pass to pass.
   * `waiting` orders at most double it, because they may all be one order that is asked again and
   * again. An account that nobody woke has `least`.
   */
  placesAhead(
    { id, next }: { readonly id: string; readonly next: number },
    waiting: number,
    least: number,
  ): number {
    const awake = this.#awake.get(id);
    if (awake === undefined) return least;
    const before = Math.max(least, awake.places);
    const left = awake.next === null ? 0 : Math.max(0, next - awake.next);
    const wanted = waiting === 0 ? 0 : Math.min(2 * before, passesAhead * (left + waiting));
    const places = Math.max(passesAhead * left, wanted, Math.floor((awake.places * 3) / 4));
    awake.next = next;
    awake.places = Math.max(least, Math.min(placesMax, places));
    return awake.places;
  }

  /**
   * True if fewer than half of the indexes that the last pass looked at are behind this one, which
   * has left; not for an account with `few` or less.
   */
  isShort(id: string, index: number, few: number): boolean {
    const { next, places } = this.#awake.get(id) ?? { next: null, places: 0 };
    return next !== null && places > few && index + 1 - next > places / 2;
  }

  /** The awake accounts that come next in turn, at most so many. */
  nextAwake(most: number, nowMs: number): readonly DepositAccount[] {
    const taken: DepositAccount[] = [];
    for (const [id, awake] of [...this.#awake].slice(0, most)) {
      const account = this.#accounts.get(id);
      this.#awake.delete(id);
      if (account === undefined || Math.abs(nowMs - awake.atMs) >= awakeMs) continue;
      this.#awake.set(id, awake);
      taken.push(account);
    }
    return taken;
  }

  /** The accounts that come next in turn, each once, at most so many. */
  next(most: number): readonly DepositAccount[] {
    const count = Math.min(most, this.#ring.length);
    const taken = Array.from(
      { length: count },
      (_, step) => this.#ring[(this.#at + step) % this.#ring.length] as DepositAccount,
    );
    this.#at = this.#ring.length === 0 ? 0 : (this.#at + count) % this.#ring.length;
    return taken;
  }
}

/**
 * Indexes of an account that are read ahead at least, while an order waited there within a day;
 * more while its addresses leave faster.
 */
export const addressesAheadMin = 32;
/**
 * The same of an account that rests, and of each account for which no order waits where blocks take
 * minutes: there each look costs questions of an hour.
 */
const placesResting = { quick: 4, long: 1 } as const;
/**
 * Addresses of all resting accounts that are looked at within the time after which a look is due
 * again: few accounts are read ahead whole, and of many those whose turn it is.
 */
const restingLooks = 64;
/** Accounts of one pass, in turn. */
const accountsMax = 16;
/** Addresses that are derived before others have their turn; each costs half a millisecond. */
const derivedAtOnce = 16;
/** Addresses that are asked for together, and the same if each address is its own question. */
const addressesMax = 128;
const addressesMaxEach = 8;
/** More of them are asked for in one pass, while orders wait and it has taken less than this. */
const waitedMsMax = 1_000;

/** A cache of derived addresses, the accounts in turn, and those for which orders wait. */
export interface AddressLookMemory {
  readonly derived: Map<string, string>; // address by account and index
  derivations: number; // since the start
  readonly unused: Set<string>; // addresses that the nodes called unused in this run
  readonly readAt: Map<string, string>; // hash of the final block at which an address was read
  readonly asked: Map<string, number>; // orders that wait, by account
  readonly accounts: DepositAccounts;
  readonly resting: { looks: number; atMs: number | null }; // that may be spent since then
  /** The places of the addresses that could not be read, by address. */
  readonly unread: Map<string, { readonly id: string; readonly place: number }>;
}

export function newAddressLookMemory(network: string): AddressLookMemory {
  return {
    derived: new Map(),
    derivations: 0,
    unused: new Set(),
    readAt: new Map(),
    asked: new Map(),
    unread: new Map(),
    accounts: new DepositAccounts(network),
    resting: { looks: restingLooks, atMs: null },
  };
}

/** Lets the next pass begin with an account, because an order waits for its next addresses. */
export function requestAddressLook({ asked }: AddressLookMemory, account: string): void {
  asked.set(account, (asked.get(account) ?? 0) + 1);
}

/** True if few looked-at addresses are left behind an index of an account, which has left. */
export function hasFewLookedAtAddresses(
  { accounts }: AddressLookMemory,
  account: string,
  index: number,
): boolean {
  return accounts.isShort(account, index, addressesMaxEach);
}

/** Runs one pass and signals the orders that waited for it. @throws AgentError NODE_CLOSED */
export async function lookAtNextAddresses(
  chain: WatchedChain,
  memory: AddressLookMemory,
  final: BlockId,
): Promise<void> {
  const { store, network, signals } = chain;
  // Nodes that lag show an older state than the state that was read before.
  if ((readCursor(store.database, network)?.block ?? 0) > final.number) return;
  const asked = new Map(memory.asked);
  if (!hasQuestionsLeftFor(asked.size > 0 ? "looks" : "comparison", chain.reader.status())) return;
  memory.accounts.refresh(store.database);
  forgetPassed(chain, memory);
  const pass = beginPass(chain, memory, asked, final);
  const beganMs = chain.clock();
  for (let isFirst = true, isMore = true; isMore; isFirst = false) {
    const wanted = await nextAddresses(chain, memory, pass, isFirst);
    if (wanted.length > 0) await lookAt(chain, memory, wanted, final);
    const looked = new Set(wanted.map(({ id }) => id));
    for (const account of asked.keys()) {
      // Orders of an account that had no address in a later round wait for nothing of it.
      if (!isFirst && !looked.has(account)) continue;
      memory.asked.delete(account);
      signals.emit("looked", { network, account });
    }
    isMore = wanted.length > 0 && pass.isPressed && Math.abs(chain.clock() - beganMs) < waitedMsMax;
  }
}

/** A pass at a final block. */
interface Pass {
  readonly final: BlockId;
  readonly waited: ReadonlyMap<string, number>; // orders that wait, by account
  readonly asked: readonly AccountWindow[]; // for which orders wait
  readonly awake: readonly AccountWindow[]; // for which one waited within a day
  readonly visited: readonly AccountWindow[]; // those whose turn it is
  readonly isPressed: boolean; // orders wait, or addresses leave fast
  readonly seen: Set<string>; // addresses that were asked for in it
}

/** An account, and how many of its indexes are looked at. */
interface AccountWindow extends Account {
  readonly places: number;
}

/** Wakes the accounts for which orders wait, and takes those of the pass. */
function beginPass(
  chain: WatchedChain,
  memory: AddressLookMemory,
  waited: ReadonlyMap<string, number>,
  final: BlockId,
): Pass {
  const { accounts } = memory;
  const nowMs = chain.clock();
  const resting = restingPlaces(
    memory,
    chain.hasLongBlocks ? placesResting.long : placesResting.quick,
  );
  // More addresses of an account that cannot be read would be so many more questions in vain.
  const unreadable = new Set([...memory.unread.values()].map(({ id }) => id));
  const placed = (account: DepositAccount, leastOf: (id: string) => number): AccountWindow => {
    const one = { ...account, next: account.readNext(chain.store.database) };
    const waiting = unreadable.has(account.id) ? 0 : (waited.get(account.id) ?? 0);
    return { ...one, places: accounts.placesAhead(one, waiting, leastOf(account.id)) };
  };
  for (const id of waited.keys()) accounts.wake(id, nowMs);
  const least = chain.hasLongBlocks ? addressesMaxEach : addressesAheadMin;
  const asked = [...waited.keys()]
    .flatMap((id) => accounts.find(id) ?? [])
    .map((one) => placed(one, () => least));
  const awake = accounts
    .nextAwake(accountsMax, nowMs)
    .filter(({ id }) => !waited.has(id))
    .map((one) => placed(one, chain.hasLongBlocks ? resting : () => addressesAheadMin));
  const visited = accounts.next(accountsMax).map(
    (account): AccountWindow => ({
      ...account,
      next: account.readNext(chain.store.database),
      places: resting(account.id),
    }),
  );
  const isPressed = asked.length > 0 || awake.some(({ places }) => places > addressesAheadMin);
  return { final, waited, asked, awake, visited, isPressed, seen: new Set() };
}

/**
 * Looks by currency. An address of which the coin cannot be read keeps to be looked at. Other
 * currencies that cannot be read are gaps of its look.
 */
async function lookAt(
  chain: WatchedChain,
  memory: AddressLookMemory,
  wanted: readonly AddressToRead[],
  final: BlockId,
): Promise<void> {
  const { store, network } = chain;
  const currencies = readableCurrencies(chain);
  const items = wanted.map((one) => watchedBalancesOf(chain, "address", one, currencies));
  const units = settleBalances(
    chain,
    items.flat(),
    await askCoinsFirst(chain, items, final.number),
  );
  const isRead = ({ key }: WatchedBalance): boolean => units.has(keyText(key));
  for (const [at, { account, id, place }] of wanted.entries())
    if ((items[at] ?? []).every(isRead)) {
      memory.unread.delete(account);
      if (memory.readAt.size >= derivedMax) memory.readAt.clear();
      memory.readAt.set(account, final.hash);
    } else if (memory.unread.size < unreadMax) memory.unread.set(account, { id, place });
  const isCoinRead = (of: readonly WatchedBalance[]): boolean =>
    !chain.currencies.some(isCoin) || of.some((item) => isCoin(item.currency) && isRead(item));
  const looked = items.flatMap((of, at) =>
    isCoinRead(of)
      ? [{ address: (wanted[at] as AddressToRead).account, read: of.filter(isRead) }]
      : [],
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
        keepUnissuedLook(database, { ...state, isUsed: isUsed ? 1 : 0 });
        const known = new Set(read.map(({ currency }) => currency.id));
        const gaps = new Set(listLookGaps(database, network, address));
        for (const { id } of chain.currencies)
          if (known.has(id) === gaps.has(id))
            (known.has(id) ? dropLookGap : keepUnreadAddressCurrency)(database, {
              network,
              address,
              currency: id,
            });
        if (isUsed) tellUsed(chain, database, address, holds(one) ? "holds something" : "was used");
      }
    });
  if (memory.unused.size >= derivedMax) memory.unused.clear();
  for (const [at, address] of asked.entries())
    if (answers[at] === false) memory.unused.add(address);
}

/**
 * Asks for the items of each address. An address of which the coin could not be read is asked for
 * the coin alone, and for the others once that is read: each try costs one question.
 */
async function askCoinsFirst(
  chain: WatchedChain,
  items: readonly (readonly WatchedBalance[])[],
  block: number,
): Promise<ReadonlyMap<string, Result<bigint>>> {
  const isFaulty = ({ currency, key }: WatchedBalance): boolean =>
    isCoin(currency) && chain.faults.standing(key) !== null;
  const faulty = new Set(items.filter((of) => of.some(isFaulty)));
  const first = items.flatMap((of) => (faulty.has(of) ? of.filter(isFaulty) : of));
  const told = await askBalances(chain, first, block);
  const isBack = (item: WatchedBalance): boolean =>
    isFaulty(item) && told.get(keyText(item.key))?.ok === true;
  const others = [...faulty]
    .filter((of) => of.some(isBack))
    .flatMap((of) => of.filter((item) => !isFaulty(item)));
  return new Map([...told, ...(await askBalances(chain, others, block))]);
}

/**
 * Forgets the faults of addresses that orders passed over: nobody has them, and nobody asks for
 * them again.
 */
function forgetPassed(
  { faults, store }: WatchedChain,
  { unread, accounts }: AddressLookMemory,
): void {
  if (unread.size === 0) return;
  const nextOf = new Map<string, number | undefined>();
  for (const { id } of unread.values())
    if (!nextOf.has(id)) nextOf.set(id, accounts.find(id)?.readNext(store.database));
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
 * Addresses to ask for together: first of the accounts for which orders wait, then of those for
 * which one waited within a day, then of the others, each in turn. One address of each account
 * comes after the other.
 */
async function nextAddresses(
  chain: WatchedChain,
  memory: AddressLookMemory,
  pass: Pass,
  isFirst: boolean,
): Promise<readonly AddressToRead[]> {
  const found = new Map<string, AddressToRead>();
  const keep = async (
    some: readonly AccountWindow[],
    most = Number.POSITIVE_INFINITY,
  ): Promise<boolean> => {
    for (let at = 0; at < Math.max(0, ...some.map(({ places }) => places)); at += 1)
      for (const account of some) {
        if (found.size >= most) return true;
        if (at < account.places && !(await addNext(chain, memory, found, { account, at, pass })))
          return false;
      }
    return true;
  };
  const isRoom = (await keep(pass.asked)) && (await keep(pass.awake));
  if (isRoom && isFirst) {
    const before = found.size;
    await keep(pass.visited, before + looksLeft(memory, chain.clock()));
    memory.resting.looks -= found.size - before;
  }
  for (const address of found.keys()) pass.seen.add(address);
  return [...found.values()];
}

/** The looks at resting accounts that this pass may spend. */
function looksLeft({ resting }: AddressLookMemory, nowMs: number): number {
  const passedMs = resting.atMs === null ? 0 : Math.abs(nowMs - resting.atMs);
  const more = Math.floor((passedMs * restingLooks) / (lookMs / 2));
  if (resting.atMs === null || more > 0) resting.atMs = nowMs;
  resting.looks = Math.min(restingLooks, resting.looks + more);
  return resting.looks;
}

/**
 * An address that cannot be read is none to give out: one more is kept for it. The looks at resting
 * accounts bound their number.
 */
function restingPlaces({ unread }: AddressLookMemory, places: number): (id: string) => number {
  const unreadOf = new Map<string, number>();
  for (const { id } of unread.values()) unreadOf.set(id, (unreadOf.get(id) ?? 0) + 1);
  return (id) => places + (unreadOf.get(id) ?? 0);
}

/** A place of an account that may be due in a pass. */
interface Place {
  readonly account: Account;
  readonly at: number;
  readonly pass: Pass;
}

/** Adds the address of an account's place if it must be looked at. False if no more fit. */
async function addNext(
  chain: WatchedChain,
  memory: AddressLookMemory,
  found: Map<string, AddressToRead>,
  { account: { id, next, merchant }, at, pass: { final, waited, seen } }: Place,
): Promise<boolean> {
  const { database } = chain.store;
  const most = chain.reader.tellsNewestBalances === true ? addressesMaxEach : addressesMax;
  if (found.size === most) return false;
  const account = await derive(chain, memory, id, next + at);
  const wanted = { account, merchant, isWaited: waited.has(id), id, place: next + at };
  const state = readAddressState(database, chain.network, account);
  const nowMs = chain.clock();
  // Nothing that was read can have changed at the same block; the look counts until lookMs.
  const isStill =
    memory.readAt.get(account) === final.hash &&
    wasLookedAt(state, { since: nowMs - lookMs, nowMs });
  const isLooked = isStill || wasLookedAt(state, { since: nowMs - lookMs / 2, nowMs });
  const isKnown =
    found.has(account) ||
    seen.has(account) ||
    (isLooked ? !hasDueGap(chain, wanted) : !isDueAt(chain, wanted));
  if (!isKnown && issuedAddress(database, account) === undefined) found.set(account, wanted);
  return true;
}

/** An address to look at. */
interface AddressToRead {
  readonly account: string; // the address
  readonly merchant: string;
  readonly isWaited: boolean; // an order waits for it
  readonly id: string; // its account
  readonly place: number; // its index there
}

/** True if its coin, or any currency of a chain without one, does not rest. */
function isDueAt(chain: WatchedChain, wanted: AddressToRead): boolean {
  const items = watchedBalancesOf(chain, "address", wanted, chain.currencies);
  const coins = items.filter(({ currency }) => isCoin(currency));
  return (coins.length > 0 ? coins : items).some(({ key }) => chain.faults.isDue(key));
}

/** True if a currency that could not be read at the last look can be asked for now. */
function hasDueGap(chain: WatchedChain, wanted: AddressToRead): boolean {
  const gaps = new Set(listLookGaps(chain.store.database, chain.network, wanted.account));
  if (gaps.size === 0) return false;
  const some = readableCurrencies(chain).filter(({ id }) => gaps.has(id));
  return watchedBalancesOf(chain, "address", wanted, some).some(({ key }) =>
    chain.faults.isDue(key),
  );
}

/** An account with the first index that has not left. */
interface Account extends DepositAccount {
  readonly next: number;
}

const derivedMax = 100_000;
const unreadMax = 4_096;

async function derive(
  { network }: WatchedChain,
  memory: AddressLookMemory,
  id: string,
  place: number,
): Promise<string> {
  const { derived } = memory;
  const key = `${id} ${place}`;
  const known = derived.get(key);
  if (known !== undefined) return known;
  if (derived.size >= derivedMax) derived.clear();
  memory.derivations += 1;
  if (memory.derivations % derivedAtOnce === 0)
    await new Promise((resolve) => setImmediate(resolve));
  const address = familyOf(network).depositAddress(id, place);
  derived.set(key, address);
  return address;
}
