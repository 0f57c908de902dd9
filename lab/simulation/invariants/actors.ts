/**
 * Decisions that policy does not make alone: destinations never paid before, those that look like a
 * paid one, and amounts for two operators.
 */
import type { PolicySettings } from "../../../agent/config/settings.ts";
import type { LedgerRecord } from "../../../agent/ledger/records.ts";
import type { Limits, Withdrawal } from "./limits.ts";
import { must } from "./violation.ts";

const endDigits = 4;

export class Actors {
  readonly #policy: PolicySettings;
  readonly #limits: Limits;
  /** In lower case. */
  readonly #paid = new Set<string>();

  constructor(policy: PolicySettings, limits: Limits) {
    this.#policy = policy;
    this.#limits = limits;
  }

  /** A withdrawal was seen paid for good. */
  paid({ address }: Withdrawal): void {
    this.#paid.add(address.toLowerCase());
  }

  approved(
    one: Withdrawal,
    record: Extract<LedgerRecord, { kind: "APPROVED" }>,
    say: () => string,
  ): void {
    const isTwoOperators = this.#isAbove(record, one, this.#policy.twoApproversAbove);
    if (record.by === "policy") {
      must(!isTwoOperators, "a payment for two operators is approved by operators", say);
      this.#byPolicy(one, record, say);
      return;
    }
    if (!isTwoOperators) return;
    const { firstYes } = one;
    const isOther =
      firstYes !== null && firstYes.approver.toLowerCase() !== record.approver.toLowerCase();
    must(
      isOther && firstYes.address === record.address,
      "a payment for two operators has the yes of two names",
      say,
    );
  }

  #byPolicy(
    one: Withdrawal,
    record: Extract<LedgerRecord, { kind: "APPROVED" }>,
    say: () => string,
  ): void {
    const address = record.address.toLowerCase();
    if (this.#paid.has(address)) return;
    const isAlike = (paid: string): boolean =>
      paid.slice(2, 2 + endDigits) === address.slice(2, 2 + endDigits) &&
      paid.slice(-endDigits) === address.slice(-endDigits);
    must(
      ![...this.#paid].some(isAlike),
      "a destination that looks like a paid one is an operator's",
      say,
    );
    const { holdAbove, delayMinutes = 0 } = this.#policy.newDestination ?? {};
    must(
      !this.#isAbove(record, one, holdAbove),
      "a new destination is an operator's above its limit",
      say,
    );
    must(
      record.at >= one.requestedAt + delayMinutes * 60_000,
      "a new destination waits for its time or an operator",
      say,
    );
  }

  #isAbove(
    { amountUnits }: { readonly amountUnits: string },
    { job }: Withdrawal,
    limit: string | undefined,
  ): boolean {
    return limit !== undefined && BigInt(amountUnits) > this.#limits.unitsOf(limit, job.currency);
  }
}
