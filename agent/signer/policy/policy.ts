/**
 * Policy: approve, hold or refuse what is asked; then clear what was built, or refuse it. Nothing is payable by default. Sums are
 * folded from the ledger on ledger time, so no clock, crash or repeat loosens a limit. Pure: state and question in, answer out.
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
import { heldFor, isAbove, likenessOf } from "./holds.ts";
import type { Asset, Limits, Rules } from "./rules.ts";
import { aboveWindow, countAtLeast, dearer, makeWindows, type Windows } from "./sums.ts";
import type { WindowEntries } from "./window.ts";

type ApprovedBody = Extract<RecordBody, { kind: "APPROVED" }>;

/**
 * What policy looks at in a job.
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
  /** Currency; then approved in the hour and the day, fees, bound in the hour and the day. */
  readonly windows: readonly (readonly [string, WindowEntries, WindowEntries, WindowEntries, WindowEntries?, WindowEntries?])[];
  readonly paid: PaidEntries;
}

/**
 * The rules of this run and what the ledger says was approved. Only `fold` changes it.
 * @public
 */
export class Policy {
  readonly #rules: Rules;
  readonly #approvals = new Map<string, Approval>();
  readonly #windows = new Map<string, Windows>();
  readonly #paid: Destinations;

  constructor(rules: Rules, snapshot?: PolicySnapshot) {
    this.#rules = rules;
    this.#paid = new Destinations(snapshot?.paid);
    for (const [transactionId, seq, currency, chain, network, contract, address, units] of snapshot?.approvals ?? []) {
      const fields = { transactionId, seq, currency, chain, network, contract, address, amountUnits: BigInt(units) };
      this.#approvals.set(transactionId, makeApproval(fields));
    }
    for (const [currency, hour, day, fees, hourBound, dayBound] of snapshot?.windows ?? []) {
      this.#windows.set(currency, makeWindows({ hour, day, fees, hourBound, dayBound }));
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

  /** `currency` is that of the withdrawal the record is about. */
  fold(record: LedgerRecord, currency: string): void {
    switch (record.kind) {
      case "APPROVED": {
        const { transactionId, seq, chain, network, contract, address } = record;
        const amountUnits = BigInt(record.amountUnits);
        this.#approvals.set(
          transactionId,
          makeApproval({ transactionId, seq, currency, chain, network, contract, address, amountUnits }),
        );
        const windows = this.#windowsOf(currency);
        // After a recovery it may be counting already: then from now on, as a whole, and once.
        for (const window of [windows.hour, windows.day]) {
          window.remove(transactionId);
          window.add(transactionId, record.at, amountUnits);
        }
        return;
      }
      case "REFUSED":
      case "EXPIRED": {
        // Both come before any INTENT only, so the amount can no longer be paid and stops counting.
        this.#approvals.delete(record.transactionId);
        const windows = this.#windowsOf(currency);
        windows.hour.remove(record.transactionId);
        windows.day.remove(record.transactionId);
        return;
      }
      case "INTENT": {
        const feeMaxWei = BigInt(record.gasLimit) * BigInt(record.maxFeePerGas);
        const { fees, hourBound, dayBound } = this.#windowsOf(currency);
        const before = fees.unitsOf(record.transactionId, record.at);
        // The dearest version counts, from the newest one's time: never less than what the chain may take.
        fees.remove(record.transactionId);
        fees.add(record.transactionId, record.at, dearer(feeMaxWei, before));
        if (record.version > 1) return;
        const amountUnits = BigInt(record.amountUnits);
        hourBound.add(record.transactionId, record.at, amountUnits);
        dayBound.add(record.transactionId, record.at, amountUnits);
        return;
      }
      case "OBSERVED":
        if (record.stage === "final") this.#approvals.delete(record.transactionId);
        return;
      default:
        return;
    }
  }

  /**
   * A recovery holds a withdrawal: an earlier yes is void. With a token its amount and fee count from now on, unless they do already,
   * whatever the limits say; without one nothing of it counts.
   */
  recover(record: Imported, currency: string, atMs: number): void {
    const { transactionId, nonce } = record;
    this.#approvals.delete(transactionId);
    const windows = this.#windowsOf(currency);
    if (nonce === "") {
      windows.hour.remove(transactionId);
      windows.day.remove(transactionId);
      return;
    }
    const units = record.amountUnits === "" ? 0n : BigInt(record.amountUnits);
    for (const window of [windows.hour, windows.day, windows.hourBound, windows.dayBound]) {
      countAtLeast(window, transactionId, units, atMs);
    }
    const feeMaxWei = record.versions.reduce((most, { feeMax }) => dearer(most, BigInt(feeMax)), 0n);
    countAtLeast(windows.fees, transactionId, feeMaxWei, atMs);
  }

  /** A withdrawal was seen paid for good: its destination is no new one any more. */
  learn(network: string, paid: Paid): void {
    this.#paid.pay(network, paid);
  }

  /** An earlier yes to what a recovery found ended is void; it counts on, since it may have been paid. */
  voidApproval(transactionId: string): void {
    this.#approvals.delete(transactionId);
  }

  /** What a forgotten day came to counts from now on, under a name of its own. */
  countSpent(
    name: string,
    spent: { readonly currency: string; readonly units: string; readonly feesWei: string },
    atMs: number,
  ): void {
    const { hour, day, hourBound, dayBound, fees } = this.#windowsOf(spent.currency);
    for (const window of [hour, day, hourBound, dayBound]) countAtLeast(window, name, BigInt(spent.units), atMs);
    countAtLeast(fees, name, BigInt(spent.feesWei), atMs);
  }

  /** Every currency with limits. */
  get currencies(): Iterable<readonly [string, Limits]> {
    return this.#rules.limits;
  }

  /** What counts against the limits as of `nowMs`: the larger of approved and bound. Base units, fees in wei. */
  usedAt(currency: string, nowMs: number): { readonly hourUnits: bigint; readonly dayUnits: bigint; readonly feesWei: bigint } {
    const { hour, day, hourBound, dayBound, fees } = this.#windowsOf(currency);
    return {
      hourUnits: dearer(hour.sumAt(nowMs), hourBound.sumAt(nowMs)),
      dayUnits: dearer(day.sumAt(nowMs), dayBound.sumAt(nowMs)),
      feesWei: fees.sumAt(nowMs),
    };
  }

  /** What counts in the day's windows beside the withdrawals named: base units and wei. */
  countedBeside(currency: string, open: Iterable<string>, nowMs: number): { readonly units: bigint; readonly feesWei: bigint } {
    const { dayBound, fees } = this.#windowsOf(currency);
    let units = dayBound.sumAt(nowMs);
    let feesWei = fees.sumAt(nowMs);
    for (const id of open) {
      units -= dayBound.unitsOf(id, nowMs);
      feesWei -= fees.unitsOf(id, nowMs);
    }
    return { units, feesWei };
  }

  /** Answers a new job, or one whose delay is over. Both times are ledger time. */
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
    const code = heldFor({ limits, units, mode, network, address, requestedAt, nowMs }, this.#paid);
    if (code !== null) return { decision: "hold", code };
    const above = aboveWindow(this.#windowsOf(asset.currency), limits, { id: question.transactionId, units }, nowMs);
    if (above !== null) return { decision: "refuse", code: above.code };
    return { decision: "approve", body: approvedBody(question.transactionId, "", asset, address, units) };
  }

  /**
   * A person says yes to a held withdrawal with this destination: every limit holds but what held it. A bound one, from
   * before a recovery, does not expire, and a sum in which it counts already is not made larger by the yes. `needsTwo` says that the
   * amount wants the yes of a second person beside this one.
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
    const windows = this.#windowsOf(asset.currency);
    const above = aboveWindow(windows, limits, { id: question.transactionId, units }, nowMs);
    if (above !== null) return above;
    const body = approvedBody(question.transactionId, approver, asset, destination.address, units);
    return { ok: true, body, needsTwo: isAbove(units, limits.twoApproversAboveUnits) };
  }

  /** When the delay for new destinations ends, ledger time; the time of the request itself where there is none. */
  delayEndsAt(currency: string, requestedAt: number): number {
    return requestedAt + (this.#rules.limits.get(currency)?.newDestination?.delayMs ?? 0);
  }

  /**
   * What a person should know of a destination, beside the address itself: whether it is new, and what it could be taken for. `needsTwo`
   * as `judgeHeld`; false where the currency has no limits.
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
   * Compares the bytes of a new version with the approval, its fee with the ceilings and, before a token is bound, the approval with
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
    const { fees } = this.#windowsOf(currency);
    const counted = fees.unitsOf(transactionId, nowMs);
    const dearest = dearer(feeMaxWei, counted);
    if (fees.sumAt(nowMs) - counted + dearest > limits.maxFeePerDayWei) return refuse("POLICY_FEE_ABOVE_DAY", `${feeMaxWei} wei`);
    return compared;
  }

  /**
   * Clears bytes whose INTENT stands in the ledger already, after a restart: the fees were weighed then and count since then, the
   * comparison is made again.
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
      windows: [...this.#windows]
        .map(
          ([currency, { hour, day, fees, hourBound, dayBound }]) =>
            [
              currency,
              ...([hour.entriesAt(nowMs), day.entriesAt(nowMs), fees.entriesAt(nowMs)] as const),
              ...([hourBound.entriesAt(nowMs), dayBound.entriesAt(nowMs)] as const),
            ] as const,
        )
        .filter(([, , day, fees]) => day.length + fees.length > 0)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
      paid: this.#paid.entries(),
    };
  }

  /** What a job asks for, in the agent's own terms. */
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

  /** Why what was approved may not be bound now: the table may have been edited since, or too much is bound already. */
  #outdated({ transactionId, currency, address, amountUnits }: Approval, limits: Limits, nowMs: number): Refusal | null {
    const destination = this.#destination(address, limits);
    if (!destination.ok) return destination;
    if (amountUnits > limits.maxPerWithdrawalUnits) return refuse("POLICY_ABOVE_WITHDRAWAL");
    const { hourBound, dayBound } = this.#windowsOf(currency);
    return aboveWindow({ hour: hourBound, day: dayBound }, limits, { id: transactionId, units: amountUnits }, nowMs);
  }

  #windowsOf(currency: string): Windows {
    let windows = this.#windows.get(currency);
    if (windows === undefined) {
      windows = makeWindows();
      this.#windows.set(currency, windows);
    }
    return windows;
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
