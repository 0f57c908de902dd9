/**
 * The balance of an account that the journal explains at the end of a late block, as the tables had
 * it when the sheet was made. Touches nothing, but for balances of blocks before its own: these are
 * asked of the journal.
 */
import type { AccountMove, AccountRow, AdjustingKind } from "../store/journal.ts";

/**
 * The reason of a change. Money that moves between a merchant's own accounts is `moved`; the kinds
 * of entries keep their names.
 */
export type ChangeKind = "in" | "out" | "fee" | "moved" | AdjustingKind;

/** A change of a balance in one currency. */
export interface BalanceChange {
  readonly kind: ChangeKind;
  readonly currency: string;
  readonly units: bigint; // negative: out of the account
  readonly block: number;
}

/**
 * The reason of a move. A withdrawal into one of the gateway's own accounts is money that comes in
 * there. The balance of a deposit address before it was given out came in like a payment.
 */
function changeKindOf({ kind, isPayer }: AccountMove, owner: AccountRow["kind"]): ChangeKind {
  switch (kind) {
    case "payment":
      return "in";
    case "withdraw":
      return isPayer ? "out" : "in";
    case "sweep":
    case "topup":
      return "moved";
    case "opening":
      return owner === "deposit" ? "in" : kind;
    default:
      return kind;
  }
}

/** A change with the move that made it; null for the balance that an opening found. */
export interface MovedChange extends BalanceChange {
  readonly move: AccountMove | null;
}

/** The rows that a sheet is made from. */
export interface SheetRows {
  readonly accounts: readonly AccountRow[]; // one for each currency
  /** Every move in blocks above `block`. */
  readonly moves: readonly AccountMove[];
  readonly adjustments: readonly (BalanceChange & { readonly kind: AdjustingKind })[];
  readonly block: number;
  /** The balance at the end of an earlier block. */
  readonly unitsBefore: (currency: string, block: number) => bigint;
}

/** The expected balances of one account. */
export class ExpectedAccountBalances {
  readonly #rows: SheetRows;
  readonly #accounts: ReadonlyMap<string, AccountRow>; // by currency

  constructor(rows: SheetRows) {
    this.#rows = rows;
    this.#accounts = new Map(rows.accounts.map((row) => [row.currency, row]));
  }

  /**
   * The number of entries at its creation; a later, higher number means that an entry was added.
   */
  get entries(): number {
    return this.#rows.adjustments.length;
  }

  /** The block at whose end the books of a currency began; null without an opening. */
  openedAt(currency: string): number | null {
    return this.#accounts.get(currency)?.openedBlock ?? null;
  }

  /** The newest block at whose end an operator accepted a difference; -1 without one. */
  settledAt(currency: string): number {
    const blocks = this.#rows.adjustments.flatMap((one) =>
      one.kind === "note" && one.currency === currency ? [one.block] : [],
    );
    return blocks.reduce((newest, block) => Math.max(newest, block), -1);
  }

  /** The units that the owner of the key took out up to the end of a block. */
  takenUnits(currency: string, block: number): bigint {
    return this.#rows.adjustments.reduce(
      (sum, one) =>
        one.kind === "owner" && one.currency === currency && one.block <= block
          ? sum - one.units
          : sum,
      0n,
    );
  }

  /** The balance at the end of a block. */
  at(currency: string, block: number): bigint {
    const account = this.#accounts.get(currency);
    if (account === undefined) return 0n;
    if (block < this.#rows.block) return this.#rows.unitsBefore(currency, block);
    if (account.openedBlock !== null && block < account.openedBlock) return 0n;
    return this.#rows.moves.reduce(
      (units, move) =>
        move.currency === currency && move.block > block ? units - move.units : units,
      BigInt(account.units),
    );
  }

  /** The distinct balances at the ends of all blocks from `first` to `last`, newest first. */
  between(currency: string, first: number, last: number): readonly bigint[] {
    const ends = this.#rows.moves.flatMap((move) =>
      move.currency === currency && move.block >= first && move.block <= last ? [move.block] : [],
    );
    const blocks = [...new Set([last, ...ends.sort((a, b) => b - a), first])];
    return [...new Set(blocks.map((block) => this.at(currency, block)))];
  }

  /** The changes in blocks after `after` and up to `last`; an opening is the balance it found. */
  changes(after: number, last: number): readonly MovedChange[] {
    const isIn = (block: number): boolean => block > after && block <= last;
    const openings = this.#rows.accounts.flatMap(({ currency, openedBlock: block }) =>
      block !== null && isIn(block)
        ? [
            {
              kind: "opening" as const,
              currency,
              units: this.at(currency, block),
              block,
              move: null,
            },
          ]
        : [],
    );
    const later = this.#rows.moves.filter(
      ({ currency, block }) => isIn(block) && block > (this.openedAt(currency) ?? -1),
    );
    const changed = later.map((move) => {
      const { currency, units, block } = move;
      const owner = this.#accounts.get(currency)?.kind ?? "deposit";
      return { kind: changeKindOf(move, owner), currency, units, block, move };
    });
    return [...openings, ...changed];
  }
}
