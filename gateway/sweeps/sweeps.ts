/**
 * Interface of the sweeps: after each pass of the watcher, moves the balances of deposit addresses
 * to the hot wallet. A sweep must be worth its fee, unless an operator orders it. Decides from the
 * database and the chain's final block. Asks the chain a limited number of questions in a pass, and
 * keeps the reason for each address that is not swept. Sources: docs/gateway.md, Sweeps;
 * docs/architecture.md, section 8.
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { resultOf } from "../../base/result.ts";
import { formatTimestampUtc } from "../../base/timestamp.ts";
import { familyOf, isFeeInside } from "../../chains/families.ts";
import type { SlotCounts, UnusableCoin } from "../../chains/nodes.ts";
import { fundsOf, maxFeeUnits, nativeCurrencyOf, pairedCurrencies } from "../balance/funds.ts";
import type { GatewayConfig, GatewayCurrency } from "../config/config.ts";
import { fiats } from "../config/fiat.ts";
import { stuckSweepsMax } from "../config/sweep-settings.ts";
import { currencyItemId, type Fault, type FaultKey } from "../faults/fault.ts";
import { MerchantTurns } from "../faults/turns.ts";
import type { Prices } from "../service.ts";
import { hotWalletAddressOn } from "../store/agent-accounts.ts";
import { readAgent } from "../store/agents.ts";
import { readBalanceRow } from "../store/balances.ts";
import { currencyHoldOf } from "../store/currency-holds.ts";
import type { AgentRow } from "../store/rows.ts";
import type { Signals } from "../store/signals.ts";
import { highestUsedSlot, pendingSlotOwner, sweepUnreachableCode } from "../store/slots.ts";
import type { Database, Store } from "../store/store.ts";
import {
  changedBalancesMax,
  countOpenSweeps,
  dropSweepNote,
  keepSweepNote,
  listSweepable,
  listSweepNotesAfter,
  newestSweepFrom,
  type SweepableRow,
  type SweepListPositions,
  sweepNotesMax,
  sweepPlacesFrom,
  turnBalancesMax,
} from "../store/sweeps.ts";
import {
  type AssignedSweep,
  listAssignedSweeps,
  listEndedUnreached,
} from "../store/unreachable.ts";
import { takeExpiryStatement } from "../store/void-attempts.ts";
import { updateWithdrawal } from "../store/withdrawals.ts";
import { raiseAlarm, type Tip, type WatchedChain } from "../watcher/chain.ts";
import { faultKeyOn } from "../watcher/items.ts";
import { canPay } from "../withdrawals/checks.ts";
import { orderSweep, resumeToppedUpSweeps } from "./orders.ts";
import {
  belowFeeRefusal,
  currencyAmountWords,
  type FiatWorth,
  judgeCandidate,
  measureSweep,
  type SweepRefusal,
  type SweepSize,
  smallerOf,
} from "./sweep-threshold.ts";
import { type CoinMemory, checkUnknownCoins } from "./unknown-coins.ts";

/*
 * Slots of deposit addresses, from this gateway's own nodes. A sweep's job carries the next slot
 * under the gateway's signature. A database restored from a backup knows too few slots, so a higher
 * final count of the chain is used. If the chain's count is lower the sweep waits, because the
 * database has final transactions that these nodes do not show. Reads only. Source:
 * docs/protocol.md section 5.1.
 */

/** The next slot of an address; "" if the chain counts none. */
interface NextSlot {
  readonly ok: true;
  readonly next: string;
}

/**
 * Returns the next slot of an address. Final block, newest block and mempool must agree; otherwise
 * a transaction of the address is on its way that nobody here ordered.
 * @throws AgentError NODE_*
 */
async function nextSlotOf(
  database: Database,
  { network, reader }: WatchedChain,
  address: string,
): Promise<NextSlot | SweepRefusal> {
  const { slots } = familyOf(network);
  if (!slots.isCounted || reader.closed === undefined) return { ok: true, next: "" };
  const slotCounts = await reader.closed(address);
  const { final, latest, pending } = slotCounts;
  if (!isQuiet(slotCounts))
    return no("slot_moving", `final ${final}, newest ${latest}, with the pool ${pending}`);
  const used = highestUsedSlot(database, network, address);
  const known = used === undefined ? slots.least : slots.next(used);
  const next = `${final}`;
  if (slots.compare(next, known) < 0)
    return no("slot_behind", `the nodes count ${next}, the database ${known}`);
  const ended = listEndedUnreached(database, network, address).find(({ slot }) => slot === next);
  if (ended !== undefined) return no("slot_ended", `slot ${next} is of ${ended.id}`);
  return { ok: true, next };
}

/**
 * True if no block can take the slot of a sweep: the chain's count is below it, and no open sweep
 * has the next slot. False if the nodes do not agree, or a transaction is on its way.
 */
function isBeyond(
  database: Database,
  { network, account, slot }: AssignedSweep,
  slotCounts: SlotCounts,
): boolean {
  const count = `${slotCounts.final}`;
  if (!isQuiet(slotCounts) || familyOf(network).slots.compare(count, slot) >= 0) return false;
  return pendingSlotOwner(database, { network, account, slot: count }) === undefined;
}

function isQuiet({ final, latest, pending, isSame }: SlotCounts): boolean {
  return isSame && latest === final && pending === final;
}

function no(reason: SweepRefusal["reason"], detail: string): SweepRefusal {
  return { ok: false, reason, detail };
}

/*
 * Checks open sweeps that do not advance: whether the chain's final count can reach their slot. A
 * sweep with an unreachable slot is stuck, does not count against the limit of open sweeps, and is
 * reported to its agent, whose operator may end the sweep. An ended sweep stays ended unless the
 * chain passes its slot later. Then the sweep is open again, and the watcher decides how it ended.
 * A pass asks a limited number of questions.
 */

/** A sweep with a later change is still on its way. */
const stillMs = 600_000;
const againMs = 300_000;
/** Few sweeps are ever ended, each by an operator. */
const endedAgainMs = 3_600_000;
const reachedPerPassMax = 16;

/** When each sweep was last checked. */
type ReachMemory = Map<string, number>;

/**
 * Runs one pass. A node's fault leaves the other sweeps for the next pass.
 * @returns the ids of the rows that changed
 */
async function checkReach(chain: WatchedChain, memory: ReachMemory): Promise<readonly string[]> {
  const { network, reader, store } = chain;
  if (!familyOf(network).slots.isCounted || reader.closed === undefined) return [];
  const nowMs = chain.clock();
  const open = listAssignedSweeps(store.database, network).filter(
    ({ changedAt }) => Math.abs(nowMs - changedAt) >= stillMs,
  );
  const ended = listEndedUnreached(store.database, network, null);
  const known = new Set([...open, ...ended].map(({ id }) => id));
  for (const id of memory.keys()) if (!known.has(id)) memory.delete(id);
  // A clock that was ahead for a while keeps nothing from being asked for.
  const since = ({ id }: AssignedSweep): number =>
    Math.abs(nowMs - (memory.get(id) ?? Number.NEGATIVE_INFINITY));
  const due = [
    ...open.filter((one) => since(one) >= againMs),
    ...ended.filter((one) => since(one) >= endedAgainMs),
  ];
  const changed: string[] = [];
  for (const sweep of due.slice(0, reachedPerPassMax)) {
    memory.set(sweep.id, nowMs);
    try {
      const slotCounts = await reader.closed(sweep.account);
      changed.push(...store.write((database) => judge(chain, database, sweep, slotCounts)));
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
    }
  }
  return changed;
}

/** Returns the ids of the rows that changed. */
function judge(
  chain: WatchedChain,
  database: Database,
  sweep: AssignedSweep,
  slotCounts: SlotCounts,
): readonly string[] {
  const count = `${slotCounts.final}`;
  if (listEndedUnreached(database, chain.network, sweep.account).some(({ id }) => id === sweep.id))
    return slotCounts.isSame ? reopenPassed(chain, database, sweep.account, count) : [];
  const isChanged = isBeyond(database, sweep, slotCounts)
    ? strand(chain, database, sweep, count)
    : free(chain, database, sweep);
  return isChanged ? [sweep.id] : [];
}

/**
 * Strands only a sweep that is still open, because the row may have changed while the nodes were
 * asked.
 */
function strand(
  chain: WatchedChain,
  database: Database,
  sweep: AssignedSweep,
  count: string,
): boolean {
  const { id, account, network, currency, slot } = sweep;
  const now = listAssignedSweeps(database, network).find((one) => one.id === id);
  if (now === undefined || now.stage === "confirming") return false;
  // The agent has already reported the end.
  if (takeExpiryStatement(database, id) !== undefined)
    return updateWithdrawal(
      database,
      id,
      { status: 2, stage: "expired", code: sweepUnreachableCode },
      chain.clock(),
    );
  if (now.code === sweepUnreachableCode && now.stage === "stuck") return false;
  const detail = `slot ${slot} of ${account}, the chain counts ${count}: end ${id} at the agent`;
  raiseAlarm(chain, database, { code: sweepUnreachableCode, subject: id, detail });
  keepSweepNote(database, {
    address: account,
    network,
    currency,
    reason: "slot_unreachable",
    detail,
    at: chain.clock(),
  });
  return updateWithdrawal(
    database,
    id,
    { stage: "stuck", code: sweepUnreachableCode },
    chain.clock(),
  );
}

/** Frees a sweep, because the chain has come so far or another transaction fills the gap. */
function free(
  chain: WatchedChain,
  database: Database,
  { id, account, network, currency }: AssignedSweep,
): boolean {
  const now = listAssignedSweeps(database, network).find((one) => one.id === id);
  if (now === undefined || now.code !== sweepUnreachableCode) return false;
  dropSweepNote(database, { address: account, network, currency });
  return updateWithdrawal(database, id, { stage: "broadcast", code: "" }, chain.clock());
}

/**
 * Reopens sweeps that were ended for their slot and whose slot the chain has passed since. Their
 * own bytes, or others, used the slot, and the watcher judges which.
 * @returns the ids of the rows that changed
 */
function reopenPassed(
  chain: WatchedChain,
  database: Database,
  address: string,
  count: string,
): readonly string[] {
  const { slots } = familyOf(chain.network);
  const passed = listEndedUnreached(database, chain.network, address).filter(
    ({ slot }) => slots.compare(slot, count) < 0,
  );
  for (const { id } of passed)
    updateWithdrawal(database, id, { status: 0, stage: "broadcast", code: "" }, chain.clock());
  return passed.map(({ id }) => id);
}

/** Addresses for which one pass asks the chain; the others come in the next passes. */
const askedPerPassMax = 16;
const hourMs = 3_600_000;
/** A hot wallet's balance that is older than this pays no top-up. */
const hotBalanceMsMax = 600_000;

export interface SweepsOptions {
  readonly store: Store;
  readonly signals: Signals;
  readonly config: Pick<GatewayConfig, "currencies" | "lifetimes" | "sweepsAtOnce">;
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly run: string; // names this process (store/owner.ts)
  readonly prices?: Prices; // without prices a token's threshold is only its `least`
}

export interface Sweeps {
  /** For the watcher; rejects only for bugs. */
  onPass(chain: WatchedChain, tip: Tip): Promise<void>;
}

export function createSweeps(options: SweepsOptions): Sweeps {
  const looked = new Map<string, LookMemory>(); // by chain
  const reached = new Map<string, ReachMemory>();
  const pinned = new Map<string, CoinMemory>();
  return {
    async onPass(chain, tip) {
      tell(
        options,
        options.store.write((database) =>
          resumeToppedUpSweeps(database, chain.network, {
            run: options.run,
            nowMs: options.clock(),
          }),
        ),
      );
      const reach = reached.get(chain.name) ?? new Map<string, number>();
      reached.set(chain.name, reach);
      tellReach(options, await checkReach(chain, reach));
      const coins = pinned.get(chain.name) ?? new Map<string, number>();
      pinned.set(chain.name, coins);
      tellReach(options, await checkUnknownCoins(chain, tip, coins));
      const memory = looked.get(chain.name) ?? newLookMemory();
      looked.set(chain.name, memory);
      await lookInTurn(options, chain, tip, memory);
      forgetNotes(options, chain, memory);
    },
  };
}

/** One chain's looks at candidates. */
interface LookMemory {
  done: Map<string, string>; // by candidate: the state in which it was last looked at
  readonly at: Map<string, number>; // by address: the pass that last looked at it
  readonly turns: MerchantTurns; // of merchants
  passes: number;
  places: SweepListPositions; // balances up to which have had their look
  readonly had: Set<string>; // candidates beyond these places that had theirs
  notes: number; // the place of the reason that was checked last
}

function newLookMemory(): LookMemory {
  const places = { changedAfter: 0, turnAfter: 0 };
  return {
    done: new Map(),
    at: new Map(),
    turns: new MerchantTurns(),
    passes: 0,
    places,
    had: new Set(),
    notes: 0,
  };
}

/**
 * The last balances that changed are looked at in each pass: a balance that was the last gets the
 * same place again when it changes.
 */
const changedAgain = 16;

/** Goes on to the next places once each candidate of these has had its look. */
function moveOn(
  options: SweepsOptions,
  { network }: WatchedChain,
  memory: LookMemory,
  rows: readonly SweepableRow[],
): void {
  const { places, had } = memory;
  if (!rows.every((row) => had.has(placeOf(row)))) return;
  const { database } = options.store;
  const changed = sweepPlacesFrom(database, network, places.changedAfter, changedBalancesMax);
  const turn = sweepPlacesFrom(database, network, places.turnAfter, turnBalancesMax);
  const isEnd = changed.count < changedBalancesMax;
  memory.places = {
    changedAfter: isEnd ? Math.max(0, changed.end - changedAgain) : changed.end,
    turnAfter: turn.count < turnBalancesMax ? 0 : turn.end,
  };
  had.clear();
}

const placeOf = ({ address, currency }: SweepableRow): string => `${address} ${currency}`;

/** Looks at candidates of one merchant after the other, until the pass has asked enough. */
async function lookInTurn(
  options: SweepsOptions,
  chain: WatchedChain,
  tip: Tip,
  memory: LookMemory,
): Promise<void> {
  const { done, at, turns, had } = memory;
  const rows = inOrder(
    chain,
    memory,
    listSweepable(options.store.database, chain.network, memory.places),
  );
  const next = new Map<string, string>();
  const waiting = new Map<string, SweepableRow[]>(); // the next at the end
  for (const row of rows.reverse()) {
    const [key, state] = lookOf(tip, row);
    const own = waiting.get(row.merchant);
    if (done.get(key) === state) {
      next.set(key, state);
      had.add(placeOf(row));
    } else if (own === undefined) waiting.set(row.merchant, [row]);
    else own.push(row);
  }
  memory.done = next;
  memory.passes += 1;
  const held = new Set(rows.map(({ address }) => address));
  for (const address of at.keys()) if (!held.has(address)) at.delete(address);
  turns.beginPass();
  for (let left = askedPerPassMax; left > 0; ) {
    const merchant = turns.next(waiting.keys());
    if (merchant === null) break;
    const row = waiting.get(merchant)?.pop();
    if (row === undefined) waiting.delete(merchant);
    else {
      const isAsked = await look(options, chain, tip, row);
      next.set(...lookOf(tip, row));
      at.set(row.address, memory.passes);
      had.add(placeOf(row));
      if (isAsked) turns.count(merchant, 1);
      left -= isAsked ? 1 : 0;
    }
  }
  moveOn(options, chain, memory, rows);
}

/** A candidate, and the state in which it was looked at. */
function lookOf(
  { final }: Tip,
  { address, currency, wishedAt, units }: SweepableRow,
): [key: string, done: string] {
  return [`${address} ${currency} ${wishedAt !== null}`, `${final.hash} ${units}`];
}

/**
 * Puts what an operator ordered first, then addresses that were looked at longest ago, and the
 * tokens of an address before the native coin that pays for them.
 */
function inOrder(
  chain: WatchedChain,
  { at }: LookMemory,
  rows: readonly SweepableRow[],
): SweepableRow[] {
  const isNative = ({ currency }: SweepableRow): boolean =>
    currencyOf(chain, currency)?.contract === "";
  const tokens = rows.filter((row) => !isNative(row));
  const turnOf = ({ address, wishedAt }: SweepableRow): number =>
    wishedAt === null ? (at.get(address) ?? 0) : 0;
  return [...tokens, ...rows.filter(isNative)].sort((a, b) => turnOf(a) - turnOf(b));
}

const currencyOf = (chain: WatchedChain, id: string): GatewayCurrency | undefined =>
  chain.currencies.find((one) => one.id === id);

/**
 * Checks one candidate, and orders its sweep. Returns true if the chain was asked. Long: each
 * reason against a sweep, the cheap ones before a question.
 */
async function look(
  options: SweepsOptions,
  chain: WatchedChain,
  tip: Tip,
  row: SweepableRow,
): Promise<boolean> {
  const { store, clock } = options;
  if (row.open !== "" || BigInt(row.units) <= 0n) return false;
  const { database } = store;
  const currency = currencyOf(chain, row.currency);
  const agent = readAgent(database, row.agent);
  const isPayable = agent !== undefined && currency !== undefined && canPay(agent, currency);
  const last = newestSweepFrom(database, row);
  const isOut = chain.tokens.out.has(row.currency);
  const isHeld = currencyHoldOf(database, row.currency, row.merchant) !== undefined;
  const stands = judgeCandidate({ row, currency, isPayable, isOut, isHeld, last, nowMs: clock() });
  if (!stands.ok || currency === undefined) {
    if (!stands.ok) note(options, row, stands);
    return false;
  }
  if (agent === undefined || !hasRoom(options, row, agent)) return false;
  const items = itemsFor(chain, row, currency, agent);
  // An address whose rest is over is asked for here: its next comparison may be hours away.
  const faultOf = (key: FaultKey): Fault | null =>
    key.domain === "address" && chain.faults.isDue(key) ? null : chain.faults.standingOver(key);
  const fault = items.map(faultOf).find((one) => one !== null);
  if (fault !== undefined) {
    note(options, row, faulty(fault));
    return false;
  }
  let measured: SweepSize | SweepRefusal;
  let next: NextSlot | SweepRefusal;
  try {
    const answer = await resultOf(() =>
      ask(chain, tip, row, currency, {
        hotWallet: hotWalletAddressOn(agent, row.network),
        worth: worthOf(options, currency),
      }),
    );
    const settled = chain.faults.settle(items[0] as FaultKey, answer);
    if (settled === null) {
      const standing = chain.faults.standing(items[0] as FaultKey);
      if (standing !== null) note(options, row, faulty(standing));
      return true;
    }
    measured = settled;
    if (measured.ok && measured.topUpUnits > 0n)
      measured = affordable(options, row, currency, measured) ?? measured;
    next = measured.ok ? await askSlot(options, chain, row) : measured;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    // The next block asks again; the watcher reports the nodes' fault.
    return true;
  }
  if (!measured.ok) note(options, row, measured);
  else if (!next.ok) note(options, row, next);
  else order(options, row, currency, measured, next.next);
  return true;
}

/** The address in its currency, in the coin that pays, and the hot wallet in both. */
function itemsFor(
  chain: WatchedChain,
  row: SweepableRow,
  currency: GatewayCurrency,
  agent: AgentRow,
): readonly FaultKey[] {
  const coin = chain.currencies.find(({ contract }) => contract === "") ?? currency;
  const hotWallet = hotWalletAddressOn(agent, row.network);
  const keysOf = (domain: "account" | "address", account: string): readonly FaultKey[] =>
    [currency, coin].map(({ id }) =>
      faultKeyOn(chain, domain, currencyItemId(account, id), agent.merchant),
    );
  return [...keysOf("address", row.address), ...keysOf("account", hotWallet)];
}

function faulty({ code, words }: Fault): SweepRefusal {
  return { ok: false, reason: "faulty", detail: `${code}: ${words}` };
}

/** The slot of the next sweep. The slot of an ended sweep may turn out to be used. */
async function askSlot(
  options: SweepsOptions,
  chain: WatchedChain,
  { address }: SweepableRow,
): Promise<NextSlot | SweepRefusal> {
  const next = await nextSlotOf(options.store.database, chain, address);
  if (!next.ok || next.next === "") return next;
  const reopened = options.store.write((database) =>
    reopenPassed(chain, database, address, next.next),
  );
  tellReach(options, reopened);
  return reopened.length === 0
    ? next
    : { ok: false, reason: "slot_moving", detail: `slot ${next.next} of an ended sweep` };
}

/**
 * A stuck sweep does not count against the limit, until so many are stuck that an operator must
 * look first.
 */
function hasRoom(options: SweepsOptions, row: SweepableRow, { merchant }: AgentRow): boolean {
  const { moving, stuck } = countOpenSweeps(options.store.database, merchant);
  if (stuck < stuckSweepsMax) return moving < options.config.sweepsAtOnce;
  note(options, row, { ok: false, reason: "sweeps_stuck", detail: `${stuck}` });
  return false;
}

/** Asks for the balance at the final block, and for the highest cost of a sweep. */
async function ask(
  { reader }: WatchedChain,
  { final }: Tip,
  row: SweepableRow,
  currency: GatewayCurrency,
  { hotWallet, worth }: { readonly hotWallet: string; readonly worth: FiatWorth | null },
): Promise<SweepSize | SweepRefusal> {
  const { contract } = currency;
  const [units, coinUnits] = await Promise.all([
    reader.balance(row.address, contract, final.number),
    reader.balance(row.address, "", final.number),
  ]);
  const amountUnits = smallerOf(units, BigInt(row.units));
  if (amountUnits <= 0n) return { ok: false, reason: "not_there", detail: "" };
  const isInside = isFeeInside(row.network, "sweep");
  const cost = await reader.cost(row.address, {
    contract,
    destination: hotWallet,
    tag: "",
    amountUnits,
    isFeeInside: isInside,
  });
  if (!cost.ok) return { ok: false, reason: "would_revert", detail: cost.detail ?? "" };
  // The rest of an address with very many coins is the next sweep's.
  const { feeUnits, mostUnits = units, unusable = [] } = cost;
  const [large] = unusable;
  if (mostUnits <= 0n && large !== undefined) return tooLarge(unusable, large, currency);
  if (mostUnits <= 0n) return belowFeeRefusal(amountUnits, feeUnits, currency);
  return measureSweep(row, currency, {
    units: smallerOf(units, mostUnits),
    coinUnits,
    feeUnits,
    isFeeInside: isInside,
    worth,
  });
}

function tooLarge(
  all: readonly UnusableCoin[],
  { id, words }: UnusableCoin,
  currency: GatewayCurrency,
): SweepRefusal {
  const units = all.reduce((sum, coin) => sum + coin.units, 0n);
  const others = all.length === 1 ? "" : `, and ${all.length - 1} more`;
  return {
    ok: false,
    reason: "coin_too_large",
    detail: `${currencyAmountWords(units, currency)} in coin ${id}${others}: ${words}`,
  };
}

/** Uses the first fiat currency in which both prices are known and fresh. */
function worthOf({ prices, config }: SweepsOptions, currency: GatewayCurrency): FiatWorth | null {
  const coin = nativeCurrencyOf(config, currency.network);
  if (prices === undefined || coin === undefined || currency.contract === "") return null;
  for (const fiat of fiats) {
    const [own, its] = [prices.of(currency, fiat), prices.of(coin, fiat)];
    if (own !== null && its !== null && !own.isStale && !its.isStale)
      return { price: own.price, coinPrice: its.price, coinDecimal: coin.decimal };
  }
  return null;
}

/** Null if the hot wallet can pay the top-up, including its fee. */
function affordable(
  options: SweepsOptions,
  row: SweepableRow,
  currency: GatewayCurrency,
  { amountUnits, topUpUnits }: SweepSize,
): SweepRefusal | null {
  const { store, config, clock } = options;
  const agent = readAgent(store.database, row.agent);
  const native = nativeCurrencyOf(config, row.network);
  // Without a native coin in the configuration its balance is unknown here, and the agent waits for
  // the coin.
  if (agent === undefined || native === undefined) return null;
  const funds = fundsOf(store.database, agent, native);
  const account = hotWalletAddressOn(agent, row.network);
  const read = readBalanceRow(store.database, account, native.id);
  options.signals.emit("funds", { network: row.network, account });
  // The top-up is counted against this balance, so an old one is none.
  if (read !== undefined && clock() - read.at > hotBalanceMsMax)
    return {
      ok: false,
      reason: "faulty",
      detail: `the balance of the hot wallet was last read at ${formatTimestampUtc(read.at)}`,
    };
  const needed = topUpUnits + maxFeeUnits(pairedCurrencies(agent), row.currency);
  if (funds !== null && funds.availableUnits >= needed) return null;
  const detail = `${currencyAmountWords(amountUnits, currency)} there, ${currencyAmountWords(needed, native)} wanted on the hot wallet`;
  return { ok: false, reason: "no_coin", detail };
}

function order(
  options: SweepsOptions,
  row: SweepableRow,
  { id, decimal }: GatewayCurrency,
  measured: SweepSize,
  next: string,
): void {
  const { store, config, clock, run, log } = options;
  const ordering = { run, nowMs: clock(), lifetimeMs: config.lifetimes.withdrawalHours * hourMs };
  const agents = store.write((database) =>
    orderSweep(database, { ...measured, row, decimal, next }, ordering),
  );
  if (agents.length === 0) return;
  const { address } = row;
  log.info(
    { event: "sweep-ordered", address, currency: id, isToppedUp: measured.topUpUnits > 0n },
    "a sweep was ordered",
  );
  tell(options, { changed: [], agents });
}

function note(
  { store, clock }: SweepsOptions,
  { address, network, currency }: SweepableRow,
  { reason, detail }: SweepRefusal,
): void {
  store.write((database) =>
    keepSweepNote(database, { address, network, currency, reason, detail, at: clock() }),
  );
}

/** Deletes notes of addresses without a balance and without a sweep that is stuck, in turn. */
function forgetNotes(
  { store }: SweepsOptions,
  { network }: WatchedChain,
  memory: LookMemory,
): void {
  const notes = listSweepNotesAfter(store.database, network, memory.notes);
  memory.notes = notes.length < sweepNotesMax ? 0 : (notes.at(-1)?.place ?? 0);
  const free = notes.filter(({ isHeld }) => isHeld === 0);
  if (free.length === 0) return;
  const stuck = new Set<string>();
  for (const { account, currency, code } of listAssignedSweeps(store.database, network))
    if (code === sweepUnreachableCode) stuck.add(`${account} ${currency}`);
  const gone = free.filter(({ address, currency }) => !stuck.has(`${address} ${currency}`));
  if (gone.length === 0) return;
  store.write((database) => {
    for (const one of gone) dropSweepNote(database, one);
  });
}

/** Also reports to the agent which of its sweeps the chain cannot reach. */
function tellReach(options: SweepsOptions, changed: readonly string[]): void {
  tell(options, { changed, agents: [] });
  for (const transactionId of changed) options.signals.emit("void", { transactionId });
}

function tell(
  { signals }: SweepsOptions,
  told: { readonly changed: readonly string[]; readonly agents: readonly string[] },
): void {
  for (const transactionId of told.changed) signals.emit("changed", { transactionId });
  for (const agent of told.agents) signals.emit("job", { agent });
}
