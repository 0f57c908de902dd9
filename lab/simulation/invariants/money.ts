/**
 * The questions of a run to the judge that compares money with the chain itself, the same for each
 * family of chains. Types alone.
 */
import type { DepositOrder, Order } from "../world/plan.ts";
import type { End, WithdrawalRow } from "./payments.ts";
import type { Books, MovedRow } from "./sweeps.ts";

/** Whose bytes they are, as the signer says. */
export interface BytesOwner {
  readonly transactionId: string;
}

export interface Money {
  /** Transactions of the account that somebody else made with its key. */
  readonly foreign: ReadonlySet<string>;
  /** Numbers of the account that somebody else used, for good. */
  readonly foreignNonces: readonly number[];
  readonly released: number;
  /** Whether everything that left is in a block, or waits for one where nodes show it. */
  readonly isShown: boolean;
  /**
   * Whether a payment has a coin, beside its pin, that another one spent for good: its attempts are
   * refused, and an operator's cancel ends it. Absent on a chain without coins.
   */
  readonly isSpoiled?: boolean;
  /** Payments that were made twice by bytes which no node showed when the order came again. */
  readonly apart?: number;
  readonly sweeps: MovedMoney;
  /** Whether these bytes left as an attempt of this withdrawal. */
  isAttempt(transactionId: string, txHash: string): boolean;
  /** No node shows these any more, until somebody publishes them. */
  hide?(txHashes: readonly string[]): void;
  expect(order: Order): void;
  allow(order: Order, amount: string): void;
  forget(known: ReadonlySet<string>): void;
  isForgottenNonce(nonce: number): boolean;
  helped(transactionId: string): void;
  cancelled(orderId: string, nonce: number): void;
  /** Signed bytes that left a signer for the first time. */
  left(raw: string, whose: BytesOwner): { readonly hash: string; readonly nonce: string | number };
  told(rows: readonly WithdrawalRow[]): void;
  isEnd(end: End, txHashes: readonly string[]): boolean;
  /**
   * Whether the chain can still take an attempt that left of this withdrawal, or paid by one.
   * Absent where only time excludes: there each attempt that is called void is held against the
   * chain.
   */
  mayBePaid?(transactionId: string): boolean;
}

export interface MovedMoney {
  /** A deposit address left: it is the wallet's own, or nothing may move to it. */
  gave(address: string): void;
  told(books: Books): void;
  open(rows: readonly MovedRow[]): string;
  ends(paid: ReadonlyMap<string, DepositOrder>): void;
}
