/** Limits of payments and fees in an hour and in a day, as a ledger's own records count them. */
import type { PolicySettings } from "../../../agent/config/settings.ts";
import type { LedgerRecord } from "../../../agent/ledger/records.ts";
import type { CoreSnapshot } from "../../../agent/signer/state/core.ts";
import { limitGroupOf } from "../../../protocol/job-mode.ts";
import type { Job } from "../../../protocol/messages.ts";
import { stage } from "../world/setting.ts";
import { must } from "./violation.ts";

/** The limits that a ledger is compared with. */
export interface Terms {
  readonly name: string;
  readonly policy: PolicySettings; // the same for every currency
  readonly decimals: Readonly<Record<string, number>>; // by currency
  readonly coinDecimal: number; // in the currency that fees are paid in
  /** The latest that ledger time may be now; infinity when nobody knows the time. */
  readonly atMax: () => number;
  /** Whether the gateway's orders for recoveries are what its database holds. */
  readonly isGatewayHonest: boolean;
  /** The latest that an attempt may end now, where attempts end by expiry. */
  readonly endMax: () => number;
  /** The state that a recovered ledger begins with. */
  readonly stateOf: (record: RecoveredRecord) => CoreSnapshot;
}

export type RecoveredRecord = Extract<LedgerRecord, { kind: "RECOVERED" }>;

export interface Attempt {
  readonly digest: string;
  signedSeq: number; // 0 until signed
  isReleased: boolean;
  readonly isCancel?: boolean; // pays nothing, to the account itself
  txHash?: string; // once signed here
}

/** One withdrawal as the records read so far tell it. */
export interface Withdrawal {
  readonly job: Job;
  decision: "" | "held" | "approved" | "ended";
  units: bigint;
  account: string; // "" until bound
  nonce: bigint | null;
  feeWei: bigint;
  feeAt: number;
  tipWei: bigint; // the newest attempt's
  replacedManuallyAt: number; // seq of the newest MANUAL_REPLACEMENT record, 0 for none
  assignedAt: number;
  approvedAt: number;
  attempts: Attempt[];
  isFinal: boolean;
  seenHash: string; // the newest observation's that is not void
  isEnded: boolean; // by the gateway's word
  requestedAt: number;
  address: string; // approved, or as a recovered ledger has it
  isDelayed: boolean;
  // while the second is awaited
  firstYes: { readonly approver: string; readonly address: string } | null;
  /**
   * Ledger and gateway were both rolled back: neither policy nor the clock decides on it any more.
   */
  isOperators: boolean;
  /** A recovered ledger keeps it on its slot: it counts whatever the limits say. */
  isKept: boolean;
  /** A yes to exactly this stood in the ledger before. */
  wasApproved: boolean;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export class Limits {
  readonly #terms: Terms;
  readonly #withdrawals: ReadonlyMap<string, Withdrawal>;

  /** Over the withdrawals of one ledger, which anybody who reads it keeps up to date. */
  constructor(terms: Terms, withdrawals: ReadonlyMap<string, Withdrawal>) {
    this.#terms = terms;
    this.#withdrawals = withdrawals;
  }

  /**
   * Ledger time until which the sums of what was bound before held an approved one back, 0 when
   * they never did: an approval counts from its own time, and what was approved long before may be
   * bound after it.
   */
  heldBackUntil(transactionId: string): number {
    const one = this.#withdrawals.get(transactionId);
    if (one?.decision !== "approved" || one.job.mode === "sweep" || one.job.mode === "topup")
      return 0;
    const { currency } = one.job;
    const isBefore = (each: Withdrawal): boolean =>
      each.nonce !== null && (one.nonce === null || each.nonce < one.nonce);
    const newestFirst = [...this.#withdrawals.values()]
      .filter(
        (each) =>
          each !== one && limitGroupOf(each.job) === limitGroupOf(one.job) && isBefore(each),
      )
      .sort((a, b) => b.assignedAt - a.assignedAt);
    const { maxPerHour, maxPerDay } = this.#terms.policy;
    const validUntilMs = (limit: string, spanMs: number): number => {
      let units = one.units;
      for (const each of newestFirst) {
        units += each.units;
        if (units > this.unitsOf(limit, currency)) return each.assignedAt + spanMs;
      }
      return 0;
    };
    const untilAt = Math.max(
      maxPerHour === undefined ? 0 : validUntilMs(maxPerHour, hourMs),
      validUntilMs(maxPerDay, dayMs),
    );
    // A recovered ledger keeps what is bound, whatever the limits say.
    return one.nonce === null ? untilAt : Math.min(untilAt, one.assignedAt);
  }

  /**
   * Sums of what was approved, or bound, up to now. On a chain whose attempts end by expiry, a
   * bound amount that is void by two words is given back, within one window at most the limit
   * itself.
   */
  within(what: "approved" | "bound", currency: string, at: number, say: () => string): void {
    if (currency.endsWith(":sweep")) return;
    const { maxPerHour, maxPerDay } = this.#termsOf(currency);
    const sum = (spanMs: number): bigint =>
      this.#sum(currency, (each) => {
        const isCounted = what === "approved" ? each.decision === "approved" : each.nonce !== null;
        return isCounted && (what === "approved" ? each.approvedAt : each.assignedAt) > at - spanMs
          ? each.units
          : 0n;
      });
    const times = what === "bound" && stage.family === "tron" ? 2n : 1n;
    const hour = maxPerHour === undefined ? null : this.unitsOf(maxPerHour, currency);
    must(
      hour === null || sum(hourMs) <= times * hour,
      `no hour is above its limit, as ${what}`,
      say,
    );
    must(
      sum(dayMs) <= times * this.unitsOf(maxPerDay, currency),
      `no day is above its limit, as ${what}`,
      say,
    );
  }

  /** The most that one transaction may cost, and all of a day together. */
  feesWithin(feeWei: bigint, currency: string, at: number, say: () => string): void {
    const { maxFee, maxFeePerDay } = this.#terms.policy;
    must(feeWei <= scaled(maxFee, this.#terms.coinDecimal), "no fee is above its ceiling", say);
    const fees = this.#sum(currency, (each) =>
      each.nonce !== null && each.feeAt > at - dayMs ? each.feeWei : 0n,
    );
    must(
      fees <= scaled(maxFeePerDay, this.#terms.coinDecimal),
      "no day's fees are above their ceiling",
      say,
    );
  }

  /** The most that one top-up may bring, which is what a fee may be where nothing else is said. */
  toppedUpWithin(units: bigint, limitGroup: string, say: () => string): void {
    const { sweeps, maxFee } = this.#terms.policy;
    const most = this.unitsOf(sweeps?.maxTopUp ?? maxFee, limitGroup);
    must(!limitGroup.endsWith(":topup") || units <= most, "no top-up is above its ceiling", say);
  }

  /** Top-ups may take as much in a day as fees. */
  #termsOf(limitGroup: string): Pick<PolicySettings, "maxPerHour" | "maxPerDay"> {
    const { policy } = this.#terms;
    return limitGroup.endsWith(":topup") ? { maxPerDay: policy.maxFeePerDay } : policy;
  }

  #sum(currency: string, unitsOf: (one: Withdrawal) => bigint): bigint {
    let sum = 0n;
    for (const one of this.#withdrawals.values())
      if (limitGroupOf(one.job) === currency) sum += unitsOf(one);
    return sum;
  }

  /** A limit's text in base units. */
  unitsOf(text: string, currency: string): bigint {
    if (currency.endsWith(":topup")) return scaled(text, this.#terms.coinDecimal);
    return scaled(text, this.#terms.decimals[currency] ?? 0);
  }
}

/** A decimal text in base units. */
function scaled(text: string, decimals: number): bigint {
  const [whole = "0", part = ""] = text.split(".");
  return BigInt(whole + part.padEnd(decimals, "0"));
}

/** One that was asked for just now. */
export function begin(job: Job, requestedAt: number): Withdrawal {
  const times = { requestedAt, feeAt: 0, assignedAt: 0, approvedAt: 0 };
  const said = {
    decision: "",
    isDelayed: false,
    firstYes: null,
    isFinal: false,
    seenHash: "",
    isEnded: false,
  } as const;
  const kept = { isOperators: false, isKept: false, wasApproved: false };
  return {
    job,
    ...said,
    ...kept,
    units: 0n,
    account: "",
    nonce: null,
    address: "",
    feeWei: 0n,
    tipWei: 0n,
    replacedManuallyAt: 0,
    ...times,
    attempts: [],
  };
}

/** An operator cancelled it. */
export function isCancelling({ attempts }: Withdrawal): boolean {
  return attempts.some((attempt) => attempt.isCancel === true);
}

/** It ended, and gateway and chain have both said so, or nothing was signed for it. */
export function isOver({ decision, isFinal, isEnded }: Withdrawal): boolean {
  return decision === "ended" || (isFinal && isEnded);
}
