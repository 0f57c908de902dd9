/**
 * The stand-in's chain of validated ledgers: each closes on command, with a clock of the chain's
 * own that only closing moves, or at a pace by the wall clock. A closed ledger stays.
 */
import { codecs, keysOf, sha512Half } from "./codecs.ts";
import { OpenLedger, type OpenLedgerTransaction } from "./open-ledger.ts";
import { mainRules, type Rules } from "./rules.ts";
import { State } from "./state.ts";
import type { ReadTransaction } from "./transaction.ts";

export interface ChainOptions {
  readonly firstLedger?: number; // default 95,000,000
  readonly closeMs?: number; // between two ledgers, default 4,000
  readonly startAtMs?: number; // close time of the first ledger; default: now
  readonly isWallClock?: boolean; // ledgers take the machine's time; else the chain has its own
  readonly rules?: Partial<Rules>;
}

export interface Ledger {
  readonly index: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly transactionHash: string;
  readonly accountHash: string;
  readonly closeTime: number; // seconds since 2000-01-01
  readonly parentCloseTime: number;
  readonly totalDrops: bigint;
  readonly done: readonly ValidatedTransaction[];
  readonly state: State;
}

export interface ValidatedTransaction extends OpenLedgerTransaction {
  readonly ledgerIndex: number;
  readonly place: number; // in its ledger
}

/** Fate of the open ledger's transactions that a closing leaves out. */
export type LeftOut = "kept" | "lost";

export const closeTimeResolutionS = 10;
const rippleEpochS = 946_684_800;
const faucetDrops = 99_000_000_000_000_000n;
/** "LWR" and a zero byte. */
const ledgerPrefix = "4C575200";

export class Chain {
  readonly rules: Rules;
  readonly closeMs: number;
  readonly ledgers: Ledger[] = [];
  readonly open: OpenLedger;
  readonly faucet = keysOf("faucet");
  readonly #options: ChainOptions;
  readonly #placed = new Map<string, ValidatedTransaction>();
  readonly #of = new Map<string, ValidatedTransaction[]>(); // by account, oldest first
  #ownMs: number;

  constructor(options: ChainOptions = {}) {
    this.#options = options;
    this.rules = { ...mainRules, ...options.rules };
    this.closeMs = options.closeMs ?? 4_000;
    this.#ownMs = options.startAtMs ?? Date.now();
    const first = options.firstLedger ?? 95_000_000;
    const state = new State();
    state.add(this.faucet.address, faucetDrops, first);
    this.ledgers.push(this.#ledger(first, [], state, faucetDrops));
    this.open = new OpenLedger(this.rules, first + 1, state);
  }

  get head(): Ledger {
    return this.ledgers.at(-1)!;
  }

  get first(): Ledger {
    return this.ledgers[0]!;
  }

  get nowMs(): number {
    return this.#options.isWallClock === true ? Date.now() : this.#ownMs;
  }

  ledger(index: number): Ledger | undefined {
    return this.ledgers[index - this.first.index];
  }

  placeOf(hash: string): ValidatedTransaction | undefined {
    return this.#placed.get(hash);
  }

  /** Transactions that touched an account, oldest first. */
  touching(address: string): readonly ValidatedTransaction[] {
    return this.#of.get(address) ?? [];
  }

  /**
   * Closes ledgers; with `leftOut` they are empty, and the open transactions come again or never.
   */
  close(count = 1, leftOut?: LeftOut): void {
    for (let turn = 0; turn < count; turn += 1) this.#close(leftOut);
  }

  #close(leftOut: LeftOut | undefined): void {
    const { index, opened, state } = this.open;
    this.#ownMs += this.closeMs;
    if (leftOut !== undefined && opened.some(({ isFromOutside }) => isFromOutside))
      throw new Error("a ledger that leaves out cannot hold what tests let arrive");
    const again = leftOut === "kept" ? opened.map(({ tx }) => tx) : [];
    const after = leftOut === undefined ? state.fork() : this.head.state.fork();
    const done =
      leftOut === undefined
        ? opened.map((one, place) => ({ ...one, ledgerIndex: index, place }))
        : [];
    const burned = done.reduce((sum, { tx }) => sum + (tx.feeDrops ?? 0n), 0n);
    for (const one of done) this.#remember(one);
    this.ledgers.push(this.#ledger(index, done, after, this.head.totalDrops - burned));
    this.open.begin(index + 1, after, again);
  }

  #remember(done: ValidatedTransaction): void {
    this.#placed.set(done.tx.hash, done);
    const changed = done.changes.map(({ address }) => address);
    for (const address of new Set([...changed, ...namedIn(done.tx)])) {
      const list = this.#of.get(address) ?? [];
      list.push(done);
      this.#of.set(address, list);
    }
  }

  #ledger(
    index: number,
    done: readonly ValidatedTransaction[],
    state: State,
    totalDrops: bigint,
  ): Ledger {
    const parent = this.ledgers.at(-1);
    const parentCloseTime = parent?.closeTime ?? 0;
    const nowS = Math.floor(this.nowMs / 1000) - rippleEpochS;
    // Rounded, and one second after its parent at least.
    const closeTime = Math.max(
      parentCloseTime + 1,
      Math.round(nowS / closeTimeResolutionS) * closeTimeResolutionS,
    );
    const transactionHash =
      done.length === 0 ? "0".repeat(64) : sha512Half(...done.map(({ tx }) => tx.hash));
    const accountHash = sha512Half(
      transactionHash,
      parent?.accountHash ?? hexOf(this.rules.networkId, 8),
    );
    const parentHash = parent?.hash ?? "0".repeat(64);
    const times = [
      hexOf(parentCloseTime, 4),
      hexOf(closeTime, 4),
      hexOf(closeTimeResolutionS, 1),
      "00",
    ];
    const head = [
      ledgerPrefix,
      hexOf(index, 4),
      hexOf(totalDrops, 8),
      parentHash,
      transactionHash,
      accountHash,
    ];
    const hash = sha512Half(...head, ...times);
    return {
      index,
      hash,
      parentHash,
      transactionHash,
      accountHash,
      closeTime,
      parentCloseTime,
      totalDrops,
      done,
      state,
    };
  }
}

/** The accounts that a transaction names without changing them: the receiver of issued tokens. */
function namedIn({ account, fields }: ReadTransaction): readonly string[] {
  const { Destination: destination } = fields;
  const isThere =
    typeof destination === "string" && codecs().addresses.isValidClassicAddress(destination);
  return isThere ? [account, destination] : [account];
}

function hexOf(value: number | bigint, bytes: number): string {
  return value
    .toString(16)
    .toUpperCase()
    .padStart(bytes * 2, "0");
}
