/**
 * Invariants about ends without a payment: before a slot, once every attempt is void, or by an
 * operator where no block takes the withdrawal. Follows the records of one ledger and reads nothing
 * else.
 */
import type { LedgerRecord } from "../../../agent/ledger/records.ts";
import { isInternalMode } from "../../../protocol/job-mode.ts";
import { stage } from "../world/setting.ts";
import { isOver, type Withdrawal } from "./limits.ts";
import { must } from "./violation.ts";
import { hasLostTopUp, type Waits } from "./waits.ts";

type RecordOf<K extends LedgerRecord["kind"]> = Extract<LedgerRecord, { kind: K }>;

export class UnpaidEnds {
  readonly #withdrawals: ReadonlyMap<string, Withdrawal>;
  /** The rules if only time excludes a payment; null if a slot does. */
  readonly #waits: Waits | null;
  /** The units above which two operators decide on it; null for no such limit. */
  readonly #twoOperatorsAbove: (one: Withdrawal) => bigint | null;
  readonly #firstYes = new Map<string, string>(); // the first of two names, by withdrawal
  readonly #orders = new Map<string, RecordOf<"MANUAL_REPLACEMENT">>(); // the newest to end it, by withdrawal
  readonly #slots = new Set<string>(); // of what an operator ended, by account and slot

  /** Over the withdrawals of one ledger, which anybody who reads it keeps up to date. */
  constructor(
    withdrawals: ReadonlyMap<string, Withdrawal>,
    waits: Waits | null,
    twoOperatorsAbove: (one: Withdrawal) => bigint | null,
  ) {
    this.#withdrawals = withdrawals;
    this.#waits = waits;
    this.#twoOperatorsAbove = twoOperatorsAbove;
  }

  ordered(record: RecordOf<"MANUAL_REPLACEMENT">): void {
    if (record.act !== "end") return;
    if (record.isFirstYes === true) this.#firstYes.set(record.transactionId, record.approver);
    else this.#orders.set(record.transactionId, record);
  }

  ends(one: Withdrawal, record: RecordOf<"REFUSED" | "EXPIRED">, say: () => string): void {
    if (one.nonce === null) this.#endsUnsigned(one, record, say);
    else if (record.kind === "EXPIRED" && this.#waits !== null)
      this.#waits.expires(one, record, say);
    else this.#endsByOperator(one, record, say);
    one.decision = "ended";
  }

  #endsUnsigned(one: Withdrawal, record: RecordOf<"REFUSED" | "EXPIRED">, say: () => string): void {
    const isOperatorsNo = record.kind === "REFUSED" && record.by === "operator";
    must(
      !one.isOperators || one.decision === "approved" || isOperatorsNo,
      "a hold after both rollbacks ends by an operator alone",
      say,
    );
    must(
      record.kind === "EXPIRED" || record.code !== "JOB_ID_MISMATCH",
      "every id follows from its order",
      say,
    );
    const isDue = record.at > one.job.expiresAt || hasLostTopUp(one, this.#withdrawals.values());
    must(record.kind === "REFUSED" || isDue, "nothing runs out before its time", say);
  }

  /**
   * A coin that no node shows, a sweep behind a gap, or a payment below its account's first slot.
   */
  #endsByOperator(
    one: Withdrawal,
    { kind, transactionId, seq }: RecordOf<"REFUSED" | "EXPIRED">,
    say: () => string,
  ): void {
    const order = this.#orders.get(transactionId);
    const isOrdered = kind === "EXPIRED" && order !== undefined && order.seq === seq - 1;
    must(isOrdered, "a withdrawal with a slot is never called unsigned", say);
    const { mode } = one.job;
    const mayStand =
      stage.isOfCoins || mode === "sweep" || (stage.family === "xrp" && !isInternalMode(mode));
    must(
      mayStand,
      "an operator ends a withdrawal with a slot only where a chain may never take it",
      say,
    );
    const limit = isInternalMode(mode) ? null : this.#twoOperatorsAbove(one);
    const first = this.#firstYes.get(transactionId)?.toLowerCase();
    const isOfTwo = first !== undefined && first !== order?.approver.toLowerCase();
    must(
      limit === null || one.units <= limit || isOfTwo,
      "a payment for two operators is ended by two names",
      say,
    );
    this.#slots.add(keyOf(one.account, one.nonce));
  }

  /**
   * Whether an account begins again: its newest or next slot is of a withdrawal that an operator
   * ended, and none of its own is open.
   */
  freesAccount(account: string, next: bigint | undefined): boolean {
    if (next === undefined || stage.isOfCoins) return false;
    const isAtEnd = [next - 1n, next].some((slot) => this.#slots.has(keyOf(account, slot)));
    const isOpen = (one: Withdrawal): boolean => one.account === account && !isOver(one);
    return isAtEnd && ![...this.#withdrawals.values()].some(isOpen);
  }
}

function keyOf(account: string, slot: bigint | null): string {
  return `${account} ${slot}`;
}
