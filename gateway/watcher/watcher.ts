/**
 * Interface of the watcher: the gateway's own reading of the chains, without which nothing is
 * Completed. There is one loop for each chain. A pass handles withdrawals, balances, addresses that
 * leave next, deposits and void attempts in this order. A fault of an item stays with the item, and
 * a fault of one part does not delay the others. But no attempt is marked void while blocks wait to
 * be read. Sources: docs/architecture.md sections 2 and 8.
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { goodResult, type Result, resultOf } from "../../base/result.ts";
import { openWatcher } from "../../chains/connect.ts";
import { expiryExclusionOf, familyOf } from "../../chains/families.ts";
import { type ChainPace, paceOf } from "../../chains/final-times.ts";
import { healthOf } from "../../chains/health.ts";
import { lookPauseMs } from "../../chains/look-pause.ts";
import { mapWithLimit } from "../../chains/map-limit.ts";
import type { WatcherNodes } from "../../chains/nodes.ts";
import type { GatewayChain, GatewayConfig } from "../config/config.ts";
import { FaultBook } from "../faults/book.ts";
import { unreadPrefix } from "../faults/domains.ts";
import { currencyItemId, type Fault } from "../faults/fault.ts";
import {
  boundsOf,
  type ChainClock,
  type ClockBounds,
  type ClockState,
  judgeClock,
  noteHead,
  unseenClock,
} from "../own-clock.ts";
import { agentsVersion, listPayingHotWallets } from "../store/agents.ts";
import { readCursor } from "../store/cursors.ts";
import { findOpenGapSince } from "../store/gaps.ts";
import {
  isWalletChainRead,
  keepCatchUpTrouble,
  markWalletChainRead,
  readCatchUpTrouble,
} from "../store/levels.ts";
import { newestDetectedBlock } from "../store/payments.ts";
import { readChainWaitNumber } from "../store/restored-database.ts";
import type { Signals } from "../store/signals.ts";
import type { Store } from "../store/store.ts";
import { hasUnreadTransaction } from "../store/unread-transactions.ts";
import {
  type AddressLookMemory,
  hasFewLookedAtAddresses,
  lookAtNextAddresses,
  newAddressLookMemory,
  requestAddressLook,
} from "./ahead.ts";
import { type ArrivingMemory, newArrivingMemory, watchArriving } from "./arriving.ts";
import { type BalanceMemory, newBalanceMemory, readBalances } from "./balances.ts";
import { timeOfHead } from "./block-times.ts";
import { type ChoicePricing, currenciesOf, type Tip, type WatchedChain } from "./chain.ts";
import { type ChainStatus, explainChainOutage, nodesOf } from "./chain-status.ts";
import { newTokenMemory } from "./decimals.ts";
import { type DepositMemory, newDepositMemory } from "./deposit-memory.ts";
import { checkTokens, scanDeposits } from "./deposits.ts";
import { formatGapBlocks } from "./gaps.ts";
import { faultKeyOn } from "./items.ts";
import { faultWords, nodeLog } from "./node-log.ts";
import { keepSeenOutgoing, tellForeign } from "./outgoing-transactions.ts";
import {
  beginPass,
  endPass,
  type FaultMemory,
  newFaultMemory,
  retryUnreadCurrencies,
  tryJob,
} from "./pass-faults.ts";
import { checkVoidAttempts, newVoidMemory, type VoidMemory } from "./void-attempts.ts";
import { checkWithdrawals, newWithdrawalMemory, type WithdrawalMemory } from "./withdrawals.ts";

/* The watcher as other rooms see it. Only types. */

/** The loops of all chains, and their view for other rooms. */
export interface Watcher {
  /** True after every chain was read, and while none is stale. */
  ready(): boolean;
  chainStatus(): readonly ChainStatus[];
  /**
   * For a payment in a block that is not final yet: the number of blocks from its own to the head;
   * null if unknown.
   */
  confirmations(transactionId: string): number | null;
  /**
   * The reasons why currencies are out of service, by their ids: their contracts do not confirm
   * their decimals, or no balance in them can be read.
   */
  outOfService(): ReadonlyMap<string, string>;
  /**
   * When the newest pass that read a network's blocks to the tip had asked for the tip; null before
   * the first.
   */
  readAt(network: string): number | null;
  /** The waits for the chains that had begun when that pass began; null before the first. */
  waitsRead(network: string): number | null;
  /** The judgement of this machine's clock by the chains that have a preset. */
  ownClock(): ClockState;
  /** The faults of single items that stand, on every chain, oldest first. */
  faults(): readonly Fault[];
  /**
   * Since when a currency cannot be read, or an address in it; null if both can. Unix milliseconds.
   */
  unreadSince(place: {
    readonly network: string;
    readonly currency: string;
    readonly address: string;
  }): number | null;
  /** True while a network's final block is much older than usual, and new blocks come. */
  isLate(network: string): boolean;
  /** The nodes of a network, for questions beside the passes; undefined for another network. */
  readerOf(network: string): WatcherNodes | undefined;
  /** Ends the loops; resolves when nothing more is written. Harmless to call again. */
  close(): Promise<void>;
}

/*
 * Says of which hot wallets the chain was read far enough in this run, so that their jobs may get
 * places: every block up to a head that was asked for after the start, the ones that are not final
 * included. A node may have bytes beside its blocks: where nodes show these, the wallet's are read;
 * where they do not, and only expiry excludes a second payment, blocks are read for as long as the
 * chain needs to take such bytes. A payment leaves the mempool for a block at any moment, so the
 * blocks are read once more after the mempool, up to a head that was asked for after it. Bytes that
 * no node shows stay unknown. Source:
 * docs/threat-model.md, section 4.
 */

const questionsAtOnce = 16;

/** State that is not in the tables, because a run begins with none. */
interface LevelMemory {
  firstMs: number | null; // own time of the first head that was asked for; null before it, or if it does not count
  allAt: number | null; // the list of agents whose wallets all are level in this run; null for none
  /** Accounts whose mempool was read before the head of the next pass is asked for. */
  readonly beside: Set<string>;
}

export function newWalletChainMemory(): LevelMemory {
  return { firstMs: null, allAt: null, beside: new Set() };
}

/**
 * Makes hot wallets level whose chain was read up to this tip. `isReached`: all blocks up to its
 * head were read and kept in this pass, but those of the accounts in `unseen`.
 * @returns true if a wallet only waits for another pass
 * @throws AgentError NODE_CLOSED; then nothing changes
 */
export async function markWalletChainsRead(
  chain: WatchedChain,
  tip: Tip,
  memory: LevelMemory,
  isReached: boolean,
  unseen: ReadonlySet<string> = new Set(),
): Promise<boolean> {
  const { store, network, run, reader } = chain;
  const version = agentsVersion(store.database);
  if (memory.allAt === version) return false;
  const open = listPayingHotWallets(store.database, network).filter(
    (account) => !isWalletChainRead(store.database, { network, account }, run),
  );
  memory.allAt = open.length === 0 ? version : null;
  if (open.length === 0) return false;
  const past = await isPastUnseen(chain, tip, memory);
  if (past.ok && !(isReached && past.value)) return false;
  const whyNot = async (account: string): Promise<string> =>
    unseen.has(account)
      ? "its newest transactions cannot be read, or are more than can be kept"
      : troubleOf(chain, account);
  const troubles = past.ok
    ? await mapWithLimit(open, questionsAtOnce, whyNot)
    : open.map(
        () =>
          `the time of block ${tip.head.number} cannot be read: ${past.fault.code}: ${past.fault.message}`,
      );
  store.write((database) => {
    for (const [at, account] of open.entries()) {
      const trouble = troubles[at] ?? "";
      const wallet = { network, account };
      const isSeen = reader.unconfirmed === undefined || memory.beside.has(account);
      if (trouble === "" && isSeen) markWalletChainRead(database, wallet, run);
      else if (readCatchUpTrouble(database, wallet) !== trouble)
        keepCatchUpTrouble(database, wallet, trouble);
    }
  });
  const read = open.filter((account, at) => troubles[at] === "" && !memory.beside.has(account));
  for (const account of read) memory.beside.add(account);
  return reader.unconfirmed !== undefined && read.length > 0;
}

/**
 * True if blocks were made for so long since the first head of this run that they hold what nodes
 * do not show.
 */
async function isPastUnseen(
  chain: WatchedChain,
  { head }: Tip,
  memory: LevelMemory,
): Promise<Result<boolean>> {
  const exclusion = expiryExclusionOf(chain.network);
  if (exclusion === null) return goodResult(true);
  const time = await timeOfHead(chain, head.number);
  if (!time.ok) return time;
  memory.firstMs ??= time.value;
  return goodResult(time.value >= memory.firstMs + exclusion.unseenMs);
}

/**
 * Reads what nodes show of a wallet beside blocks. Returns why that cannot be; "" if it was read.
 */
async function troubleOf(chain: WatchedChain, account: string): Promise<string> {
  const { reader } = chain;
  // It may be the payment that both sides have forgotten.
  if (hasUnreadTransaction(chain.store.database, chain.network, account))
    return "a transaction of the wallet is in a block and cannot be read";
  const gap = findOpenGapSince(chain.store.database, chain.network, [account]);
  if (gap !== undefined) return `${formatGapBlocks(gap)} could not be read`;
  if (reader.unconfirmed === undefined) return "";
  try {
    const waiting = await reader.unconfirmed(account);
    const crowded = keepSeenOutgoing(
      chain,
      waiting.map((one) => ({ ...one, block: null })),
    );
    return crowded.has(account)
      ? "the mempool has more of its transactions that nothing explains than can be kept"
      : "";
  } catch (error) {
    if (!(error instanceof AgentError) || error.code === "NODE_CLOSED") throw error;
    return `the mempool of ${account} cannot be read: ${error.code}: ${error.message}`;
  }
}

/** A pass that due work wakes comes no sooner after the one before. */
const wakeMsMin = 1_000;
const staleMs = 60_000;
/** A currency that cannot be read for so long is out of service. */
const outAfterMs = 60_000;
const hourMs = 3_600_000;
const longBlockMs = 60_000;
const hungMs = 10_000; // below the nodes' own time-out, so that `ok` turns false first

/** The rooms that the watcher works with, and its pace. */
export interface WatcherOptions {
  readonly store: Store;
  readonly signals: Signals;
  readonly config: Pick<GatewayConfig, "chains" | "currencies"> & {
    readonly lifetimes?: GatewayConfig["lifetimes"];
  };
  readonly log: GatewayLog;
  readonly clock: () => number;
  readonly run: string; // names this process (store/owner.ts)
  readonly choices: ChoicePricing;
  readonly monotonic?: () => number; // milliseconds by a clock that nobody sets; default performance.now
  /** Opens the questions to a chain's nodes; by default over the network. */
  readonly openReader?: typeof openWatcher;
  /** Reads the files with further headers of nodes. */
  readonly readSecretFile?: (path: string) => Uint8Array;
  readonly pollMs?: number; // pause between two passes; by default the chain's pace decides
  /** Called with the chain's name after each pass that read a tip, also one with faults. */
  readonly onRead?: (chain: string) => void;
  /** Called and awaited at the end of each pass that could read the tip; rejects only for bugs. */
  readonly onPass?: (chain: WatchedChain, tip: Tip) => Promise<void>;
}

/** Starts a loop for every configured chain. */
export function startWatcher(options: WatcherOptions): Watcher {
  const { chains, currencies } = options.config;
  const monotonic = options.monotonic ?? (() => performance.now());
  const watches: ChainWatch[] = [];
  const ownClock = (): ClockState => {
    const clocks = watches.flatMap((watch) => watch.ownClock);
    return judgeClock(clocks, { ownMs: options.clock(), monotonicMs: monotonic() });
  };
  for (const [name, chain] of Object.entries(chains))
    watches.push(new ChainWatch(name, chain, { ...options, monotonic, ownClock }, currencies));
  for (const watch of watches) watch.start();
  return {
    ready: () => watches.every((watch) => watch.status().ok),
    chainStatus: () => watches.map((watch) => watch.status()),
    confirmations: (transactionId) => {
      for (const watch of watches) {
        const count = watch.confirmations(transactionId);
        if (count !== null) return count;
      }
      const detected = newestDetectedBlock(options.store.database, transactionId);
      if (detected === undefined) return null;
      return (
        watches
          .find(({ network }) => network === detected.network)
          ?.confirmationsOf(detected.block) ?? null
      );
    },
    outOfService: () => new Map(watches.flatMap((watch) => [...watch.outOfService()])),
    faults: () =>
      watches.flatMap((watch) => watch.faults.list()).sort((a, b) => a.sinceMs - b.sinceMs),
    unreadSince: (place) =>
      watches.find((watch) => watch.network === place.network)?.unreadSince(place) ?? null,
    isLate: (network) => watches.find((watch) => watch.network === network)?.isLate ?? false,
    readAt: (network) => watches.find((watch) => watch.network === network)?.readAt ?? null,
    waitsRead: (network) => watches.find((watch) => watch.network === network)?.waitsRead ?? null,
    ownClock,
    readerOf: (network) => watches.find((watch) => watch.network === network)?.reader,
    close: async () => {
      await Promise.all(watches.map((watch) => watch.close()));
    },
  };
}

type ChainWatchOptions = WatcherOptions &
  Required<Pick<WatcherOptions, "monotonic">> & { readonly ownClock: () => ClockState };

/** One chain's loop and its state. `start` begins the loop; a laboratory makes single passes. */
export class ChainWatch {
  readonly #chain: WatchedChain;
  readonly #pace: ChainPace;
  readonly #pollMs: number | null; // null: by the chain's pace
  readonly #onPass: NonNullable<WatcherOptions["onPass"]>;
  readonly #withdrawals: WithdrawalMemory = newWithdrawalMemory();
  readonly #ahead: AddressLookMemory;
  readonly #deposits: DepositMemory;
  readonly #balances: BalanceMemory;
  readonly #voids: VoidMemory = newVoidMemory();
  readonly #bounds: ClockBounds | null; // bounds of the chain's own times; null for a chain without a preset
  readonly #monotonic: () => number;
  #ownClock: ChainClock = unseenClock;
  readonly #faults: FaultMemory = newFaultMemory();
  readonly #level: LevelMemory = newWalletChainMemory();
  readonly #arriving: ArrivingMemory = newArrivingMemory();
  readonly #onRead: (chain: string) => void;
  #tip: Tip | null = null;
  #detail = "not read yet";
  #code = ""; // code of the last pass's fault
  #completeAt: number | null = null; // the blocks were read to the tip
  #readAt: number | null = null;
  #waitsRead: number | null = null;
  // Since when the nodes have not answered the question for the tip.
  #askedAt: number | null = null;
  #isAway = false; // a pass failed, and this was logged
  #timer: NodeJS.Timeout | null = null; // null while a pass runs
  #isWoken = false;
  #endedMs = 0; // when the newest pass began, monotonic
  readonly #stopReceiving: () => void;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    name: string,
    chain: GatewayChain,
    options: ChainWatchOptions,
    currencies: GatewayConfig["currencies"],
  ) {
    const { store, signals, log, clock, run, choices, ownClock, monotonic } = options;
    const reading =
      options.readSecretFile === undefined ? {} : { readSecretFile: options.readSecretFile };
    const reader = (options.openReader ?? openWatcher)({
      chain,
      log: nodeLog(log, name),
      ...reading,
    });
    this.#chain = {
      name,
      network: chain.network,
      reader,
      currencies: currenciesOf(chain, currencies),
      tokens: newTokenMemory(),
      faults: new FaultBook(clock),
      store,
      signals,
      log,
      clock,
      ownClock,
      confirmingMs: (options.config.lifetimes?.confirmingHours ?? 0) * hourMs,
      run,
      choices,
      hasLongBlocks: (paceOf(chain).blockMs ?? 0) >= longBlockMs,
    };
    const stops = [
      signals.on("look", (look) => {
        if (look.network !== chain.network) return;
        requestAddressLook(this.#ahead, look.account);
        this.#wake();
      }),
      signals.on("left", ({ network, account, index }) => {
        if (network === chain.network && hasFewLookedAtAddresses(this.#ahead, account, index))
          this.#wake();
      }),
      signals.on("funds", ({ network, account }) => {
        if (network === chain.network) this.#deposits.wallets.mark(account, 0);
      }),
    ];
    this.#stopReceiving = () => {
      for (const stop of stops) stop();
    };
    this.#pace = paceOf(chain);
    const { blockMs } = this.#pace;
    this.#bounds = blockMs === null ? null : boundsOf(familyOf(chain.network).blockTimes, blockMs);
    this.#monotonic = monotonic;
    this.#ahead = newAddressLookMemory(chain.network);
    this.#deposits = newDepositMemory(chain.network);
    this.#balances = newBalanceMemory(this.#deposits.wallets);
    this.#pollMs = options.pollMs ?? null;
    this.#onRead = options.onRead ?? (() => {});
    this.#onPass = options.onPass ?? (() => Promise.resolve());
  }

  start(): void {
    this.#timer = null;
    this.#running = this.#pass();
  }

  /** The chain's time beside this machine's; none without a preset. */
  get ownClock(): readonly { readonly clock: ChainClock; readonly bounds: ClockBounds }[] {
    return this.#bounds === null ? [] : [{ clock: this.#ownClock, bounds: this.#bounds }];
  }

  status(): ChainStatus {
    const own = this.#chain.ownClock();
    // A node is not stale because this machine's clock is wrong.
    const nowMs = own.kind === "right" ? this.#chain.clock() : own.chainMs;
    const isHung = this.#askedAt !== null && Math.abs(nowMs - this.#askedAt) >= hungMs;
    const isFresh = this.#completeAt !== null && Math.abs(nowMs - this.#completeAt) < staleMs;
    const reader = this.#chain.reader.status();
    const read = readCursor(this.#chain.store.database, this.#chain.network)?.block ?? null;
    const health = healthOf(
      this.#chain.name,
      this.#pace,
      reader,
      nowMs,
      read === null ? null : read + 1,
    );
    // Many items failed alike, so that the fault is the chain's.
    const risen = this.#chain.faults.list({ domain: "head" }).find(({ id }) => id !== "");
    const ok =
      isFresh && !isHung && this.#detail === "" && health.code === "" && risen === undefined;
    const trouble = isHung
      ? "its nodes do not answer"
      : "its blocks were not read to the newest for a minute";
    const short = health.delays.find(({ code }) => code === "NODE_HISTORY_SHORT");
    const unread =
      this.#detail || (risen === undefined ? trouble : `${risen.code}: ${risen.words}`);
    const why = explainChainOutage(health, short, unread, this.#code || risen?.code || trouble);
    return {
      chain: this.#chain.name,
      network: this.#chain.network,
      ok,
      detail: ok ? "" : why.detail,
      plain: ok ? "" : why.plain,
      head: this.#tip?.head.number ?? null,
      final: this.#tip?.final.number ?? null,
      headAgeMs: health.headAgeMs,
      finalAgeMs: health.finalAgeMs,
      delays: ok ? health.delays : [],
      nodes: nodesOf(reader, health),
    };
  }

  confirmations(transactionId: string): number | null {
    const block = this.#withdrawals.includedIn.get(transactionId);
    return block === undefined ? null : this.confirmationsOf(block);
  }

  confirmationsOf(block: number): number | null {
    return this.#tip === null ? null : Math.max(1, this.#tip.head.number - block + 1);
  }

  get reader(): WatcherNodes {
    return this.#chain.reader;
  }

  get network(): string {
    return this.#chain.network;
  }

  get faults(): FaultBook {
    return this.#chain.faults;
  }

  outOfService(): ReadonlyMap<string, string> {
    const { faults, tokens, clock } = this.#chain;
    const unread = faults
      .list({ domain: "currency" })
      .filter(({ sinceMs }) => clock() - sinceMs >= outAfterMs);
    return new Map([
      ...unread.map(({ id, code, words }) => [id, `${unreadPrefix}${code}: ${words}`] as const),
      ...tokens.out,
    ]);
  }

  unreadSince({
    currency,
    address,
  }: {
    readonly currency: string;
    readonly address: string;
  }): number | null {
    const key = faultKeyOn(this.#chain, "address", currencyItemId(address, currency));
    return this.#chain.faults.standingOver(key)?.sinceMs ?? null;
  }

  get isLate(): boolean {
    return this.status().delays.some(({ code }) => code === "CHAIN_FINAL_STALE");
  }

  get readAt(): number | null {
    return this.#readAt;
  }

  get waitsRead(): number | null {
    return this.#waitsRead;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopReceiving();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#chain.reader.close();
    await this.#running;
  }

  async #pass(): Promise<void> {
    this.#isWoken = false;
    const isAllRead = await this.passOnce();
    if (this.#closed) return;
    this.#endedMs = this.#monotonic();
    const pauseMs = this.#isWoken ? Math.min(wakeMsMin, this.pauseMs) : this.pauseMs;
    this.#timer = setTimeout(() => this.start(), isAllRead ? pauseMs : 0);
  }

  /** Pause between two passes, in milliseconds. */
  get pauseMs(): number {
    const seen = this.#chain.reader
      .status()
      .find(({ head }) => head !== null && head.blockMs !== null);
    return this.#pollMs ?? lookPauseMs(this.#pace.blockMs ?? seen?.head?.blockMs ?? null);
  }

  /** Due work does not wait for the end of a long pause; many orders make no more passes. */
  #wake(): void {
    this.#isWoken = true;
    if (this.#timer === null || this.pauseMs <= wakeMsMin) return;
    clearTimeout(this.#timer);
    const restedMs = this.#monotonic() - this.#endedMs;
    this.#timer = setTimeout(() => this.start(), Math.max(0, wakeMsMin - restedMs));
  }

  /** Makes one pass. @returns false if there is more to read at once */
  async passOnce(): Promise<boolean> {
    const troubles: AgentError[] = [];
    const chain = this.#chain;
    const waits = await tryJob(troubles, async () => {
      beginPass(chain, this.#faults);
      return readChainWaitNumber(chain.store.database);
    });
    const tip = await this.#settled("head", troubles, () => this.#readTip());
    let isAllRead = true;
    if (tip !== null && waits !== null) {
      this.#tip = tip;
      await tryJob(troubles, () => checkTokens(chain));
      await tryJob(troubles, () => retryUnreadCurrencies(chain, tip.final));
      await tryJob(troubles, () => checkWithdrawals(chain, tip, this.#withdrawals));
      await tryJob(troubles, () => readBalances(chain, tip.final, this.#balances));
      // Before the deposits, because orders wait for the look and must not wait until a gateway
      // that was away has read all blocks.
      await tryJob(troubles, () => lookAtNextAddresses(chain, this.#ahead, tip.final));
      const isScanned = await this.#settled("span", troubles, () =>
        scanDeposits(chain, tip, this.#deposits),
      );
      isAllRead = isScanned ?? true;
      if (isScanned === true)
        await tryJob(troubles, () => checkVoidAttempts(chain, tip, this.#voids));
      await tryJob(troubles, async () => tellForeign(chain));
      await tryJob(troubles, () => watchArriving(chain, tip, this.#arriving));
      const { reached, unseen } = this.#deposits;
      const isOneMore = await tryJob(troubles, () =>
        markWalletChainsRead(chain, tip, this.#level, reached === tip, unseen),
      );
      // Orders wait for it.
      if (isOneMore === true) this.#isWoken = true;
      await tryJob(troubles, () => endPass(chain, tip.final, this.#faults));
      if (!this.#closed) this.#onRead(chain.name);
    }
    this.#note(troubles[0] ?? null, isAllRead);
    const isSpanRead = tip !== null && isAllRead && this.#detail === "";
    if (isSpanRead) {
      this.#readAt = tip.askedAt;
      this.#waitsRead = waits;
    }
    // Skipped while blocks wait, because balances are then unknown. Faults of items stay theirs.
    if (isSpanRead && !this.#closed) await this.#onPass(chain, tip);
    return isAllRead;
  }

  /** Null after a fault, which is then the chain's. */
  async #settled<T>(
    domain: "head" | "span",
    troubles: AgentError[],
    job: () => Promise<T>,
  ): Promise<T | null> {
    const answer = await tryJob(troubles, () => resultOf(job));
    if (answer?.ok === false) troubles.push(answer.fault);
    return answer === null
      ? null
      : this.#chain.faults.settle(faultKeyOn(this.#chain, domain, ""), answer);
  }

  async #readTip(): Promise<Tip> {
    const askedAt = this.#chain.clock();
    this.#askedAt = askedAt;
    const [head, final] = await Promise.all([
      this.#chain.reader.tip(),
      this.#chain.reader.finalTip(),
    ]).finally(() => {
      this.#askedAt = null;
    });
    this.#noteHeads();
    return { head: { number: head.number, hash: head.hash }, final, askedAt };
  }

  #noteHeads(): void {
    const { blockMs } = this.#pace;
    if (blockMs === null) return;
    const heads = this.#chain.reader
      .status()
      .flatMap((node) => (node.head === null ? [] : [node.head]));
    const [newest] = heads.sort((a, b) => b.number - a.number);
    if (newest === undefined) return;
    this.#ownClock = noteHead(
      this.#ownClock,
      newest,
      blockMs,
      this.#monotonic() - newest.seenAgoMs,
    );
  }

  /** `fault`: of the chain, or of the gateway itself, such as its disk. */
  #note(fault: AgentError | null, isAllRead: boolean): void {
    if (this.#closed) return;
    const detail = fault === null ? "" : faultWords(fault);
    this.#code = fault?.code ?? "";
    if (detail !== this.#detail) {
      const context = { chain: this.#chain.name, ...fault?.context };
      const words = this.#isAway ? "the chain is read again" : "the chain is read";
      if (fault === null) this.#chain.log.info({ event: "chain-read", ...context }, words);
      else
        this.#chain.log.warn(
          { event: "chain-unread", ...context, code: fault.code },
          fault.message,
        );
    }
    this.#detail = detail;
    this.#isAway = fault !== null;
    if (fault === null && isAllRead) this.#completeAt = this.#chain.clock();
  }
}
