/**
 * Policy: approves, holds or refuses a job; later clears the transaction built for it, or refuses that. Nothing is payable by
 * default. Sums are folded from the ledger on ledger time, so no clock, crash or repeat loosens a limit. Pure: state and question
 * in, answer out.
 * Sources: docs/architecture.md sections 2 and 3.
 */
import { parseAddress } from "../../../chains/evm/address.ts";
import { parseAmount } from "../../../protocol/amount.ts";
import type { Code } from "../../../protocol/codes.ts";
import { invariant, type Refusal, refuse } from "../../../protocol/fault.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { Imported, LedgerRecord, RecordBody } from "../../ledger/records.ts";
import { type Approval, makeApproval } from "./approval.ts";
import type { Clearance } from "./clearance.ts";
import { type Built, type Compared, compare } from "./comparison.ts";
import { Destinations, type Paid, type PaidEntries } from "./destinations.ts";
import { holdReason, isAbove, likenessOf } from "./holds.ts";
import type { Asset, Limits, Rules } from "./rules.ts";
import { aboveWindow, dearer, type SpentDay, Sums, type SumsEntries } from "./sums.ts";

type ApprovedBody = Extract<RecordBody, { kind: "APPROVED" }>;

/**
 * The fields of a job that policy decides by.
 * @public
 */
export type Question = Pick<Job, "transactionId" | "network" | "mode" | "currency" | "amount" | "address" | "tag" | "expiresAt">;

/**
 * The answer to a question, as the record that follows.
 * @public
 */
export type Decision =
  | { readonly decision: "approve"; readonly body: ApprovedBody }
  | { readonly decision: "hold"; readonly code: Code }
  | { readonly decision: "refuse"; readonly code: Code };

/** A job in the agent's own terms. */
interface Asked {
  readonly ok: true;
  readonly asset: Asset;
  readonly limits: Limits;
  readonly units: bigint;
}

/**
 * Policy's part of the folded state, for a checkpoint.
 * @public
 */
export interface PolicySnapshot {
  readonly approvals: readonly (readonly [string, number, string, string, string, string, string, string])[];
  readonly windows: SumsEntries;
  readonly paid: PaidEntries;
}

/**
 * The rules of this run, and every approval, sum and paid destination that the ledger records. Only `fold`, `recover`, `learn`,
 * `voidApproval` and `countSpent` change it, each for one record.
 * @public
 */
export class Policy {
  readonly #rules: Rules;
  readonly #approvals = new Map<string, Approval>();
  readonly #sums: Sums;
  readonly #paid: Destinations;

  constructor(rules: Rules, snapshot?: PolicySnapshot) {
    this.#rules = rules;
    this.#sums = new Sums(snapshot?.windows);
    this.#paid = new Destinations(snapshot?.paid);
    for (const [transactionId, seq, currency, chain, network, contract, address, units] of snapshot?.approvals ?? []) {
      const fields = { transactionId, seq, currency, chain, network, contract, address, amountUnits: BigInt(units) };
      this.#approvals.set(transactionId, makeApproval(fields));
    }
  }

  /** The agent's own row for a currency. */
  asset(currency: string): Asset | undefined {
    return this.#rules.assets.get(currency);
  }

  /** The recorded yes to a withdrawal that is not finished. */
  approval(transactionId: string): Approval | undefined {
    return this.#approvals.get(transactionId);
  }

  /** Folds one record of the ledger; `currency` is that of the record's withdrawal. */
  fold(record: LedgerRecord, currency: string): void {
    this.#sums.fold(record, currency);
    switch (record.kind) {
      case "APPROVED": {
        const { transactionId, seq, chain, network, contract, address } = record;
        const amountUnits = BigInt(record.amountUnits);
        this.#approvals.set(
          transactionId,
          makeApproval({ transactionId, seq, currency, chain, network, contract, address, amountUnits }),
        );
        return;
      }
      case "REFUSED":
      case "EXPIRED":
        this.#approvals.delete(record.transactionId);
        return;
      case "OBSERVED":
        if (record.stage === "final") this.#approvals.delete(record.transactionId);
        return;
      default:
        return;
    }
  }

  /** Folds one withdrawal that a recovery holds: an earlier yes is void, and `Sums.recover` says how its amount counts. */
  recover(record: Imported, currency: string, atMs: number): void {
    this.#approvals.delete(record.transactionId);
    this.#sums.recover(record, currency, atMs);
  }

  /** Folds a final payment: its destination is no new one any more. */
  learn(network: string, paid: Paid): void {
    this.#paid.pay(network, paid);
  }

  /** Voids the yes to a withdrawal that a recovery found ended; its amount counts on, since the payment may have happened. */
  voidApproval(transactionId: string): void {
    this.#approvals.delete(transactionId);
  }

  /** Counts a day that the ledger has forgotten from `atMs` on, under a name of its own. */
  countSpent(name: string, spent: SpentDay, atMs: number): void {
    this.#sums.countSpent(name, spent, atMs);
  }

  /** Every currency with limits. */
  get currencies(): Iterable<readonly [string, Limits]> {
    return this.#rules.limits;
  }

  /** The sums that the limits are held against as of `nowMs`: the larger of approved and bound. Base units, fees in wei. */
  usedAt(currency: string, nowMs: number): ReturnType<Sums["usedAt"]> {
    return this.#sums.usedAt(currency, nowMs);
  }

  /** The day's sums without the withdrawals of `open`, which the caller counts by itself: base units and wei. */
  countedBeside(currency: string, open: Iterable<string>, nowMs: number): ReturnType<Sums["countedBeside"]> {
    return this.#sums.countedBeside(currency, open, nowMs);
  }

  /** Decides on a new job, or on one whose delay is over. Both times are ledger time. */
  judge(question: Question, requestedAt: number, nowMs: number): Decision {
    const asked = this.#asked(question);
    if (!asked.ok) return { decision: "refuse", code: asked.code };
    const { asset, limits, units } = asked;
    if (nowMs > question.expiresAt) return { decision: "refuse", code: "JOB_EXPIRED" };
    let address = "";
    if (question.address !== "" || question.mode === "auto") {
      const destination = this.#destination(question.address, limits);
      if (!destination.ok) return { decision: "refuse", code: destination.code };
      address = destination.address;
    }
    if (units > limits.maxPerWithdrawalUnits) return { decision: "refuse", code: "POLICY_ABOVE_WITHDRAWAL" };
    const { network, mode } = question;
    const code = holdReason({ limits, units, mode, network, address, requestedAt, nowMs }, this.#paid);
    if (code !== null) return { decision: "hold", code };
    const above = aboveWindow(this.#sums.of(asset.currency), limits, { id: question.transactionId, units }, nowMs);
    if (above !== null) return { decision: "refuse", code: above.code };
    return { decision: "approve", body: approvedBody(question.transactionId, "", asset, address, units) };
  }

  /**
   * Decides on a person's yes to a held withdrawal: every limit applies except the one that held it. A withdrawal bound before a
   * recovery does not expire, and the yes does not count its amount a second time. `needsTwo`: the amount wants the yes of a second
   * person too.
   */
  judgeHeld(
    question: Question,
    { address, approver }: { readonly address: string; readonly approver: string },
    nowMs: number,
    isBound = false,
  ): { readonly ok: true; readonly body: ApprovedBody; readonly needsTwo: boolean } | Refusal {
    const asked = this.#asked(question);
    if (!asked.ok) return asked;
    const { asset, limits, units } = asked;
    if (!isBound && nowMs > question.expiresAt) return refuse("JOB_EXPIRED");
    const destination = this.#destination(address, limits);
    if (!destination.ok) return destination;
    if (units > limits.maxPerWithdrawalUnits) return refuse("POLICY_ABOVE_WITHDRAWAL");
    const windows = this.#sums.of(asset.currency);
    const above = aboveWindow(windows, limits, { id: question.transactionId, units }, nowMs);
    if (above !== null) return above;
    const body = approvedBody(question.transactionId, approver, asset, destination.address, units);
    return { ok: true, body, needsTwo: isAbove(units, limits.twoApproversAboveUnits) };
  }

  /** When the delay for new destinations ends, ledger time; `requestedAt` where the currency has no delay. */
  delayEndsAt(currency: string, requestedAt: number): number {
    return requestedAt + (this.#rules.limits.get(currency)?.newDestination?.delayMs ?? 0);
  }

  /**
   * Facts of a destination for the person who decides: whether it is new, and the paid destination it resembles. `needsTwo` as in
   * `judgeHeld`; false where the currency has no limits.
   */
  regard(
    { currency, network, amount }: Pick<Question, "currency" | "network" | "amount">,
    address: string,
  ): { readonly isNew: boolean; readonly likeness: Paid | null; readonly needsTwo: boolean } {
    const limits = this.#rules.limits.get(currency);
    const asset = this.#rules.assets.get(currency);
    const parsed = parseAmount(amount, asset?.decimal ?? 0);
    return {
      isNew: address !== "" && this.#paid.isNew(network, address),
      likeness: likenessOf(network, address, limits, this.#paid),
      needsTwo: parsed.ok && isAbove(parsed.units, limits?.twoApproversAboveUnits ?? null),
    };
  }

  /**
   * Compares the bytes of a new version with the approval, its fee with the ceilings and, before a nonce is bound, the approval with
   * today's rules. Refuses with POLICY_NOT_AS_APPROVED, POLICY_FEE_ABOVE_WITHDRAWAL, POLICY_FEE_ABOVE_DAY, POLICY_NONE, a code of
   * `describe`, or as `judge` does.
   */
  clear(built: Built, nowMs: number): Compared | Refusal {
    const { currency, transactionId, network, contract } = built.approval;
    const asset = this.#rules.assets.get(currency);
    const limits = this.#rules.limits.get(currency);
    if (asset === undefined || limits === undefined) return refuse("POLICY_NONE", currency);
    // The table may have been edited since; a yes is to the network and contract of its day.
    if (asset.network !== network || asset.contract !== contract)
      return refuse("POLICY_NOT_AS_APPROVED", "the currency's table changed");
    const outdated = built.version === 1 ? this.#outdated(built.approval, limits, nowMs) : null;
    if (outdated !== null) return outdated;
    const compared = compare(built);
    if (!compared.ok) return compared;
    const { feeMaxWei } = compared.description;
    if (feeMaxWei > limits.maxFeeWei) return refuse("POLICY_FEE_ABOVE_WITHDRAWAL", `${feeMaxWei} wei`);
    const { fees } = this.#sums.of(currency);
    const counted = fees.unitsOf(transactionId, nowMs);
    const dearest = dearer(feeMaxWei, counted);
    if (fees.sumAt(nowMs) - counted + dearest > limits.maxFeePerDayWei) return refuse("POLICY_FEE_ABOVE_DAY", `${feeMaxWei} wei`);
    return compared;
  }

  /**
   * Clears bytes whose INTENT stands in the ledger already, after a restart. The fees were weighed before the INTENT and count since
   * then; only the comparison is made again.
   */
  clearRecorded(built: Built, digest: string): Clearance {
    const compared = compare(built);
    invariant(compared.ok, "a recorded intent describes to what was approved");
    invariant(compared.clearance.digest === digest, "a recorded intent has the digest of its bytes");
    return compared.clearance;
  }

  /** For a checkpoint, as of ledger time. */
  snapshot(nowMs: number): PolicySnapshot {
    return {
      approvals: [...this.#approvals.values()].map((approval) => [
        approval.transactionId,
        approval.seq,
        approval.currency,
        approval.chain,
        approval.network,
        approval.contract,
        approval.address,
        approval.amountUnits.toString(),
      ]),
      windows: this.#sums.entriesAt(nowMs),
      paid: this.#paid.entries(),
    };
  }

  /** Translates a job into the agent's own terms, or refuses it. */
  #asked(question: Question): Asked | Refusal {
    const asset = this.#rules.assets.get(question.currency);
    if (asset === undefined) return refuse("POLICY_CURRENCY_UNKNOWN", question.currency);
    const limits = this.#rules.limits.get(question.currency);
    if (limits === undefined) return refuse("POLICY_NONE", question.currency);
    if (question.network !== asset.network) return refuse("JOB_NETWORK", question.network);
    if (question.tag !== "") return refuse("JOB_TAG_UNSUPPORTED");
    const amount = parseAmount(question.amount, asset.decimal);
    return amount.ok ? { ok: true, asset, limits, units: amount.units } : amount;
  }

  #destination(text: string, limits: Limits): { readonly ok: true; readonly address: string } | Refusal {
    const parsed = parseAddress(text);
    if (!parsed.ok) return parsed;
    if (parsed.address === this.#rules.own) return refuse("POLICY_DENIED_OWN");
    if (this.#rules.contracts.has(parsed.address)) return refuse("POLICY_DENIED_CONTRACT");
    if (limits.deny.has(parsed.address)) return refuse("POLICY_DENIED");
    if (limits.allow.size > 0 && !limits.allow.has(parsed.address)) return refuse("POLICY_NOT_ALLOWED");
    return parsed;
  }

  /** The reason why an approval may not be bound now, or null: the table may have been edited since, or too much is bound already. */
  #outdated({ transactionId, currency, address, amountUnits }: Approval, limits: Limits, nowMs: number): Refusal | null {
    const destination = this.#destination(address, limits);
    if (!destination.ok) return destination;
    if (amountUnits > limits.maxPerWithdrawalUnits) return refuse("POLICY_ABOVE_WITHDRAWAL");
    const { hourBound, dayBound } = this.#sums.of(currency);
    return aboveWindow({ hour: hourBound, day: dayBound }, limits, { id: transactionId, units: amountUnits }, nowMs);
  }
}

/** `approver` is the person's name, "" for policy itself. */
function approvedBody(
  transactionId: string,
  approver: string,
  { chain, network, contract }: Asset,
  address: string,
  units: bigint,
): ApprovedBody {
  const by = approver === "" ? "policy" : "operator";
  return { kind: "APPROVED", transactionId, by, approver, chain, network, contract, address, amountUnits: units.toString() };
}
