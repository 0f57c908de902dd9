/**
 * The balance of an account that the database explains at the end of any block: a sum of movements,
 * each at its final block. Pure functions, touch nothing.
 */

import type { MoveRow } from "../store/book-moves.ts";
import type { BookEntryRow } from "../store/books.ts";

/**
 * The reason of a change. Money that moves between a merchant's own accounts is `moved`; the kinds
 * of entries keep their names.
 */
export type MoveKind = "in" | "out" | "fee" | "moved" | BookEntryRow["kind"];

/** A change of a balance in one currency. */
export interface BalanceMove {
  readonly kind: MoveKind;
  readonly currency: string;
  readonly units: bigint; // negative: out of the account
  readonly block: number;
}

/**
 * The changes that a row stands for. A payment comes in. A completed withdrawal, sweep or top-up
 * moves its amount, and every transaction that ended on the chain costs its fee in `coin`. `coin`
 * is the currency that pays fees; null if the configuration has none. A top-up moves `coin`, for
 * any currency's sweep.
 */
export function movesOf(row: MoveRow, coin: string | null): readonly BalanceMove[] {
  const { kind, side, status, block } = row;
  const currency = kind === "topup" ? coin : row.currency;
  const units = side === "in" ? BigInt(row.units) : -BigInt(row.units);
  const moved =
    status === 1 && currency !== null ? [{ kind: moveKindOf(row), currency, units, block }] : [];
  if (side === "in" || coin === null || row.feeUnits === "") return moved;
  return [...moved, { kind: "fee", currency: coin, units: -BigInt(row.feeUnits), block }];
}

/** A withdrawal into one of the gateway's own accounts is money that comes in there. */
function moveKindOf({ kind, side }: MoveRow): MoveKind {
  return kind === "sweep" || kind === "topup" ? "moved" : side;
}

/** The expected balances of one account. */
export class Sheet {
  readonly #moves = new Map<string, Map<number, bigint>>(); // units by block, by currency
  readonly #openedAt = new Map<string, number>(); // block, by currency
  readonly #settledAt = new Map<string, number>(); // block of the newest note, by currency
  readonly #onMove: ((move: BalanceMove) => void) | null; // hears each movement that counts
  /**
   * The number of entries at its creation; a later, higher number means that an entry was added.
   */
  readonly entries: number;

  /**
   * @param entries only of this account; the opening of a currency replaces every movement up to
   * its block
   */
  constructor(
    entries: readonly BookEntryRow[],
    onMove: ((move: BalanceMove) => void) | null = null,
  ) {
    this.#onMove = onMove;
    this.entries = entries.length;
    for (const { kind, currency, block } of entries)
      if (kind === "opening") this.#openedAt.set(currency, block);
    for (const { kind, currency, block } of entries)
      if (kind === "note") this.#settledAt.set(currency, Math.max(block, this.settledAt(currency)));
    for (const { kind, currency, block, units } of entries)
      if (kind === "opening") this.#put({ kind, currency, block, units: BigInt(units) });
      else this.add({ kind, currency, block, units: BigInt(units) });
  }

  /** Must not be called twice with the same movement. */
  add(move: BalanceMove): void {
    const openedAt = this.#openedAt.get(move.currency);
    if (openedAt === undefined || move.block > openedAt) this.#put(move);
  }

  /** The block at whose end the books of a currency began; null without an opening. */
  openedAt(currency: string): number | null {
    return this.#openedAt.get(currency) ?? null;
  }

  /** The newest block at whose end an operator accepted a difference; -1 without one. */
  settledAt(currency: string): number {
    return this.#settledAt.get(currency) ?? -1;
  }

  /** The balance at the end of a block. */
  at(currency: string, block: number): bigint {
    let sum = 0n;
    for (const [at, units] of this.#moves.get(currency) ?? []) if (at <= block) sum += units;
    return sum;
  }

  /** The distinct balances at the ends of all blocks from `first` to `last`, newest first. */
  between(currency: string, first: number, last: number): readonly bigint[] {
    const ends = [...(this.#moves.get(currency)?.keys() ?? [])].filter(
      (block) => block >= first && block <= last,
    );
    const blocks = [...new Set([last, ...ends.sort((a, b) => b - a), first])];
    return [...new Set(blocks.map((block) => this.at(currency, block)))];
  }

  #put(move: BalanceMove): void {
    const { currency, block, units } = move;
    this.#onMove?.(move);
    const moves = this.#moves.get(currency) ?? new Map<number, bigint>();
    moves.set(block, (moves.get(block) ?? 0n) + units);
    this.#moves.set(currency, moves);
  }
}
