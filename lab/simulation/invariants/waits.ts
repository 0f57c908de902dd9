/**
 * Invariants about each durable record if only time excludes a payment: another attempt, and an end
 * without a payment, follow two words that every attempt before is void; timestamps rise; no
 * attempt lives longer than allowed; above a limit an operator says so first. Follows the records
 * of one ledger and reads nothing else.
 */
import type { LedgerRecord } from "../../../agent/ledger/records.ts";
import type { Withdrawal as Kept } from "../../../agent/signer/state/withdrawal.ts";
import type { Withdrawal } from "./limits.ts";
import { must } from "./violation.ts";

type RecordOf<K extends LedgerRecord["kind"]> = Extract<LedgerRecord, { kind: K }>;

/** Words that an attempt is void, and since when it has a hash. */
interface Attempt {
  txHash: string; // "" until signed
  byGateway: boolean;
  byCourier: boolean;
}

interface WaitingWithdrawal {
  readonly attempts: Attempt[];
  ordered: "" | "replace" | "cancel"; // an operator's newest word, since the newest attempt
}

const lifetimeMsMax = 600_000;

export class Waits {
  readonly #waiting = new Map<string, WaitingWithdrawal>(); // by withdrawal
  readonly #ownerOf = new Map<string, Attempt>(); // by hash
  readonly #timestamps = new Map<string, bigint>(); // the newest, by account
  readonly #manualReplaceAbove: (one: Withdrawal) => bigint | null;
  readonly #endMax: () => number;

  constructor(manualReplaceAbove: (one: Withdrawal) => bigint | null, endMax: () => number) {
    this.#manualReplaceAbove = manualReplaceAbove;
    this.#endMax = endMax;
  }

  #of(transactionId: string): WaitingWithdrawal {
    const known = this.#waiting.get(transactionId) ?? { attempts: [], ordered: "" };
    this.#waiting.set(transactionId, known);
    return known;
  }

  intends(
    one: Withdrawal,
    { transactionId, account, txParams }: RecordOf<"INTENT">,
    say: () => string,
  ): void {
    const waiting = this.#of(transactionId);
    const [timestamp, validUntilMs] = [
      BigInt(txParams.timestampMs ?? 0),
      BigInt(txParams.expirationMs ?? 0),
    ];
    must(
      timestamp > (this.#timestamps.get(account) ?? -1n),
      "no timestamp of an account comes twice",
      say,
    );
    must(
      validUntilMs <= timestamp + BigInt(lifetimeMsMax),
      "no attempt lives longer than is allowed",
      say,
    );
    must(Number(validUntilMs) <= this.#endMax(), "no attempt ends long after everything else", say);
    must(this.#isOver(waiting), "another attempt follows two words that all before are void", say);
    must(waiting.ordered !== "cancel", "no paying attempt gets a slot after a cancel", say);
    const limit = waiting.attempts.length === 0 ? null : this.#manualReplaceAbove(one);
    must(
      limit === null || one.units <= limit || waiting.ordered === "replace",
      "another attempt of so much is an operator's",
      say,
    );
    waiting.ordered = "";
    this.#timestamps.set(account, timestamp);
    waiting.attempts.push({ txHash: "", byGateway: false, byCourier: false });
  }

  signed({ transactionId, attempt, txHash }: RecordOf<"SIGNED">): void {
    const made = this.#of(transactionId).attempts[attempt - 1];
    if (made === undefined) return;
    made.txHash = txHash;
    this.#ownerOf.set(txHash, made);
  }

  manualReplacement({ transactionId, act }: RecordOf<"MANUAL_REPLACEMENT">): void {
    // A sweep is ended where slots are counted, and no attempt there ends by expiry.
    if (act !== "end") this.#of(transactionId).ordered = act;
  }

  voidByGateway({ txHashes }: RecordOf<"VOID">): void {
    for (const txHash of txHashes) {
      const attempt = this.#ownerOf.get(txHash);
      if (attempt !== undefined) attempt.byGateway = true;
    }
  }

  /** The courier calls one void. */
  called({ transactionId, txHash }: RecordOf<"OBSERVED">, say: () => string): void {
    const attempt = this.#of(transactionId).attempts.find((one) => one.txHash === txHash);
    must(attempt !== undefined, "a void hash is an attempt of its withdrawal", say);
    if (attempt !== undefined) attempt.byCourier = true;
  }

  /** A block has it, the courier says: it takes back what it called void. */
  seen({ transactionId, stage, txHash }: RecordOf<"OBSERVED">): void {
    const attempt = this.#of(transactionId).attempts.find((one) => one.txHash === txHash);
    if (attempt !== undefined && stage !== "broadcast") attempt.byCourier = false;
  }

  /** This attempt is void by two words: an end that somebody told of it before was none. */
  isVoid(transactionId: string, txHash: string): boolean {
    const attempt = this.#waiting.get(transactionId)?.attempts.find((one) => one.txHash === txHash);
    return attempt?.byGateway === true && attempt.byCourier;
  }

  /**
   * It has a slot and ends unpaid: by time, since an operator cancelled it, or since the gateway
   * knows the end of what a recovered ledger kept.
   */
  expires(
    { job, isKept, isEnded }: Withdrawal,
    { transactionId, at }: RecordOf<"EXPIRED">,
    say: () => string,
  ): void {
    const waiting = this.#of(transactionId);
    must(
      this.#isOver(waiting),
      "a withdrawal with a slot ends unpaid when all its attempts are void",
      say,
    );
    must(
      at > job.expiresAt || waiting.ordered === "cancel" || (isKept && isEnded),
      "nothing runs out before its time",
      say,
    );
  }

  /**
   * A recovered ledger keeps these; of what it was told it knows the hashes and what the order
   * said.
   */
  keeps({ transactionId, attempts, account }: Kept): void {
    const before = this.#waiting.get(transactionId);
    const kept = attempts.map(({ txHash, voidBy, validUntilMs = 0 }): Attempt => {
      const known = before?.attempts.find((one) => one.txHash === txHash);
      const newest = this.#timestamps.get(account) ?? -1n;
      if (BigInt(validUntilMs) > newest && known === undefined)
        this.#timestamps.set(account, BigInt(validUntilMs));
      return (
        known ?? {
          txHash,
          byGateway: voidBy === "gateway" || voidBy === "both",
          byCourier: voidBy === "courier" || voidBy === "both",
        }
      );
    });
    for (const attempt of kept) this.#ownerOf.set(attempt.txHash, attempt);
    this.#waiting.set(transactionId, { attempts: kept, ordered: before?.ordered ?? "" });
  }

  /** A recovered ledger leaves it out: no attempt of it ever left, and none that is signed can. */
  forgets(transactionId: string): void {
    this.#waiting.delete(transactionId);
  }

  #isOver({ attempts }: WaitingWithdrawal): boolean {
    return attempts.every(
      ({ txHash, byGateway, byCourier }) => txHash === "" || (byGateway && byCourier),
    );
  }
}

/** A sweep whose top-up ended without a payment gets no coins, and ends with it. */
export function hasLostTopUp({ job }: Withdrawal, all: Iterable<Withdrawal>): boolean {
  if (job.mode !== "sweep") return false;
  const isItsTopUp = (other: Withdrawal): boolean =>
    other.job.mode === "topup" && other.job.orderId === job.transactionId;
  return [...all].some((other) => isItsTopUp(other) && other.decision === "ended");
}
