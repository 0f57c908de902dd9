/**
 * The fake's chain: blocks one after the other, of which those a fixed number below the head
 * are solidified and stay; the others can be replaced. Blocks come on command, with a clock of the
 * chain's own that only commands move, or at a pace, by the wall clock. Deterministic in the first
 * case. Source: Tron's documentation of TAPOS, of solidified blocks and of transaction expiration.
 */
import { createHash } from "node:crypto";
import {
  execute,
  type Moment,
  mainParameters,
  type Parameters,
  Rejection,
  type Result,
} from "./rules.ts";
import { State } from "./state.ts";
import type { ReadTransaction } from "./transaction.ts";

export interface ChainOptions {
  readonly name?: string; // part of the genesis block, so of the chain's id; default "local"
  readonly slotMs?: number; // between two blocks, default 3000
  readonly solidLag?: number; // blocks, default 19
  readonly startAtMs?: number; // time of the genesis block; default: now
  readonly isWallClock?: boolean; // blocks take the machine's time; else the chain has its own
  readonly isSlotChecked?: boolean; // the later rule of expiration; default: the head's time alone
  readonly parameters?: Partial<Parameters>;
}

export interface ExecutedTransaction {
  readonly tx: ReadTransaction;
  readonly result: Result;
}

export interface Block {
  readonly number: number;
  readonly id: string; // number(8) ‖ hash(24), hex
  readonly parentId: string;
  readonly timestampMs: number;
  readonly done: readonly ExecutedTransaction[];
  readonly root: string; // over its transactions
}

/** Which transactions of replaced blocks are pending again. */
export type KeptTransactions = "all" | "none" | readonly string[];

const referencesMax = 65_536;
/** How far below the newest solidified block states are kept, for nodes that lag. */
const statesBelowSolid = 64;

export class Chain {
  readonly slotMs: number;
  readonly solidLag: number;
  readonly parameters: Parameters;
  readonly blocks: Block[] = [];
  readonly #options: ChainOptions;
  readonly #states = new Map<number, State>(); // after a block, by number
  readonly #placed = new Map<string, number>(); // block by transaction id
  #pending: ReadTransaction[] = [];
  #pendingState: State;
  #held: ReadTransaction[] | null = null;
  #ownMs: number;
  #forks = 0;

  constructor(options: ChainOptions = {}) {
    this.#options = options;
    this.slotMs = options.slotMs ?? 3_000;
    this.solidLag = options.solidLag ?? 19;
    this.parameters = { ...mainParameters, ...options.parameters };
    this.#ownMs = options.startAtMs ?? Date.now();
    const name = options.name ?? "local";
    this.#append({
      number: 0,
      parentId: "0".repeat(64),
      timestampMs: this.#ownMs,
      done: [],
      root: hash(name).slice(0, 64),
    });
    this.#states.set(0, new State());
    this.#pendingState = this.state.fork();
  }

  get head(): Block {
    return this.blocks.at(-1)!;
  }

  /** The number of the newest solidified block. */
  get solid(): number {
    return Math.max(0, this.head.number - this.solidLag);
  }

  /** The state after the head. */
  get state(): State {
    return this.#states.get(this.head.number)!;
  }

  get nowMs(): number {
    return this.#options.isWallClock === true ? Date.now() : this.#ownMs;
  }

  get pending(): readonly ReadTransaction[] {
    return this.#pending;
  }

  /** The state after a block. */
  stateAt(number: number): State {
    const state = this.#states.get(number);
    if (state === undefined) throw new Error(`the state after block ${number} is gone`);
    return state;
  }

  placeOf(txId: string): { readonly block: Block; readonly done: ExecutedTransaction } | null {
    const number = this.#placed.get(txId);
    const block = number === undefined ? undefined : this.blocks[number];
    const done = block?.done.find(({ tx }) => tx.txId === txId);
    return block === undefined || done === undefined ? null : { block, done };
  }

  /** Takes a transaction in, as java-tron's pending pool does. @throws Rejection */
  push(tx: ReadTransaction): void {
    const next = this.#pendingState.fork();
    execute(
      next,
      tx,
      this.#moment((txId) => this.#isKnown(txId)),
    );
    if (this.#held !== null) {
      this.#held.push(tx);
      return;
    }
    this.#pending.push(tx);
    this.#pendingState = next;
  }

  /** From now on transactions are taken in and come into no block, until `release`. */
  hold(): void {
    this.#held ??= [];
  }

  /** Those held, into the pool; each is judged again when a block takes it. */
  release(): void {
    this.#pending.push(...(this.#held ?? []));
    this.#held = null;
    this.#renewPending();
  }

  /** Time passes and no block comes. */
  halt(ms: number): void {
    this.#ownMs += ms;
  }

  mine(count = 1): void {
    for (let made = 0; made < count; made += 1) {
      this.#ownMs += this.slotMs;
      this.#mineAt(this.nowMs);
    }
  }

  /**
   * Another branch takes the place of the newest `depth` blocks, one block longer than they were.
   * Transactions that are kept enter its first block after `empty` empty ones; those that the
   * branch does not let in are gone.
   */
  replace(depth: number, { kept = "all" as KeptTransactions, empty = 0 } = {}): void {
    const from = this.head.number - depth + 1;
    if (depth < 1 || from <= this.solid) throw new Error("solidified blocks stay");
    const times = this.blocks.slice(from).map(({ timestampMs }) => timestampMs);
    const back = this.blocks.slice(from).flatMap(({ done }) => done.map(({ tx }) => tx));
    for (const { txId } of back) this.#placed.delete(txId);
    for (let number = from; number <= this.head.number; number += 1) this.#states.delete(number);
    this.blocks.length = from;
    this.#forks += 1;
    const waiting = this.#pending;
    const again = back.filter(
      ({ txId }) => kept === "all" || (kept !== "none" && kept.includes(txId)),
    );
    this.#pending = [...again, ...waiting];
    const last = times.at(-1)!;
    for (const [at, timestampMs] of [...times, last + this.slotMs].entries()) {
      const later = this.#pending;
      if (at < empty) this.#pending = [];
      this.#mineAt(timestampMs);
      if (at < empty) this.#pending = later;
    }
    this.#ownMs = Math.max(this.#ownMs, this.head.timestampMs);
    this.#renewPending();
  }

  /** Changes the world as if it had always been so: in every state that is kept. */
  set(change: (state: State) => void): void {
    for (const state of new Set(this.#states.values())) change(state);
    this.#renewPending();
  }

  #mineAt(nowMs: number): void {
    const parent = this.head;
    const timestampMs = Math.max(parent.timestampMs + this.slotMs, nowMs);
    const state = this.state.fork();
    let after = state;
    const done: ExecutedTransaction[] = [];
    const inBlock = new Set<string>();
    const moment = this.#moment((txId) => inBlock.has(txId) || this.#placed.has(txId), timestampMs);
    for (const tx of this.#pending) {
      const next = after.fork();
      try {
        done.push({ tx, result: execute(next, tx, moment) });
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        continue; // java-tron leaves it out of the block and forgets it
      }
      inBlock.add(tx.txId);
      after = next;
    }
    this.#pending = [];
    const root = done.length === 0 ? "0".repeat(64) : hash(done.map(({ tx }) => tx.txId).join());
    const number = parent.number + 1;
    this.#append({ number, parentId: parent.id, timestampMs, done, root });
    this.#states.set(number, done.length === 0 ? this.#states.get(parent.number)! : after);
    for (const { tx } of done) this.#placed.set(tx.txId, number);
    this.#states.delete(this.solid - statesBelowSolid);
    this.#renewPending();
  }

  #append(block: Omit<Block, "id">): void {
    const { number, parentId, timestampMs, root } = block;
    // The genesis block, and so the id of the chain, is the same at every start.
    const body = hash(
      JSON.stringify(number === 0 ? [root] : [number, parentId, timestampMs, root, this.#forks]),
    );
    this.blocks.push({ ...block, id: number.toString(16).padStart(16, "0") + body.slice(16) });
  }

  #moment(
    isKnown: (txId: string) => boolean,
    nextSlotMs = this.head.timestampMs + this.slotMs,
  ): Moment {
    return {
      headMs: this.head.timestampMs,
      nextSlotMs: Math.max(nextSlotMs, this.head.timestampMs + this.slotMs),
      isSlotChecked: this.#options.isSlotChecked ?? false,
      parameters: this.parameters,
      refHash: (bytes) => this.#refHash(bytes),
      isKnown,
    };
  }

  /** The hash of the newest block whose number ends in these bytes, among the 65,536 remembered. */
  #refHash(refBlockBytes: string): string | null {
    const low = Number.parseInt(refBlockBytes, 16);
    const { number } = this.head;
    const wanted = number - ((((number - low) % referencesMax) + referencesMax) % referencesMax);
    return this.blocks[wanted]?.id.slice(16, 32) ?? null;
  }

  #isKnown(txId: string): boolean {
    const pooled = [...this.#pending, ...(this.#held ?? [])];
    return this.#placed.has(txId) || pooled.some((one) => one.txId === txId);
  }

  #renewPending(): void {
    const state = this.state.fork();
    const kept: ReadTransaction[] = [];
    let after = state;
    const seen = new Set<string>();
    const moment = this.#moment((txId) => seen.has(txId) || this.#placed.has(txId));
    for (const tx of this.#pending) {
      const next = after.fork();
      try {
        execute(next, tx, moment);
      } catch (error) {
        if (!(error instanceof Rejection)) throw error;
        continue;
      }
      seen.add(tx.txId);
      kept.push(tx);
      after = next;
    }
    this.#pending = kept;
    this.#pendingState = after;
  }
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
