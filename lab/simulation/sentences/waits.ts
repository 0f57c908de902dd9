/**
 * Sentences about each durable record if only time excludes a payment: another version, and an end
 * without a payment, follow two words that every version before is dead; stamps rise; no version
 * lives longer than allowed; above a limit a person says so first. Follows the records of one
 * ledger and reads nothing else.
 */
import type { LedgerRecord } from "../../../agent/ledger/records.ts";
import type { Withdrawal as Kept } from "../../../agent/signer/state/withdrawal.ts";
import type { Withdrawal } from "./limits.ts";
import { must } from "./violation.ts";

type RecordOf<K extends LedgerRecord["kind"]> = Extract<LedgerRecord, { kind: K }>;

/** Words that a version is dead, and since when it has a hash. */
interface Version {
  txHash: string; // "" until signed
  byGateway: boolean;
  byCourier: boolean;
}

interface Waiting {
  readonly versions: Version[];
  ordered: "" | "replace" | "cancel"; // a person's newest word, since the newest version
}

const lifeMsMax = 600_000;

export class Waits {
  readonly #waiting = new Map<string, Waiting>(); // by withdrawal
  readonly #ownerOf = new Map<string, Version>(); // by hash
  readonly #stamps = new Map<string, bigint>(); // the newest, by account
  readonly #resignAbove: (one: Withdrawal) => bigint | null;
  readonly #endMax: () => number;

  constructor(resignAbove: (one: Withdrawal) => bigint | null, endMax: () => number) {
    this.#resignAbove = resignAbove;
    this.#endMax = endMax;
  }

  #of(transactionId: string): Waiting {
    const known = this.#waiting.get(transactionId) ?? { versions: [], ordered: "" };
    this.#waiting.set(transactionId, known);
    return known;
  }

  intends(one: Withdrawal, { transactionId, account, facts }: RecordOf<"INTENT">, say: () => string): void {
    const waiting = this.#of(transactionId);
    const [stamp, until] = [BigInt(facts.timestampMs ?? 0), BigInt(facts.expirationMs ?? 0)];
    must(stamp > (this.#stamps.get(account) ?? -1n), "no stamp of an account comes twice", say);
    must(until <= stamp + BigInt(lifeMsMax), "no version lives longer than is allowed", say);
    must(Number(until) <= this.#endMax(), "no version ends long after everything else", say);
    must(this.#isOver(waiting), "another version follows two words that all before are dead", say);
    must(waiting.ordered !== "cancel", "nothing that pays is bound after a cancel", say);
    const limit = waiting.versions.length === 0 ? null : this.#resignAbove(one);
    must(limit === null || one.units <= limit || waiting.ordered === "replace", "another version of so much is a person's", say);
    waiting.ordered = "";
    this.#stamps.set(account, stamp);
    waiting.versions.push({ txHash: "", byGateway: false, byCourier: false });
  }

  signed({ transactionId, version, txHash }: RecordOf<"SIGNED">): void {
    const made = this.#of(transactionId).versions[version - 1];
    if (made === undefined) return;
    made.txHash = txHash;
    this.#ownerOf.set(txHash, made);
  }

  unstuck({ transactionId, act }: RecordOf<"UNSTUCK">): void {
    // A sweep is ended where slots are counted, and no version there ends by waiting.
    if (act !== "end") this.#of(transactionId).ordered = act;
  }

  dead({ txHashes }: RecordOf<"DEAD">): void {
    for (const txHash of txHashes) {
      const version = this.#ownerOf.get(txHash);
      if (version !== undefined) version.byGateway = true;
    }
  }

  /** The courier calls one dead. */
  called({ transactionId, txHash }: RecordOf<"OBSERVED">, say: () => string): void {
    const version = this.#of(transactionId).versions.find((one) => one.txHash === txHash);
    must(version !== undefined, "what is called dead is a version of its withdrawal", say);
    if (version !== undefined) version.byCourier = true;
  }

  /** A block has it, the courier says: it takes back what it called dead. */
  seen({ transactionId, stage, txHash }: RecordOf<"OBSERVED">): void {
    const version = this.#of(transactionId).versions.find((one) => one.txHash === txHash);
    if (version !== undefined && stage !== "broadcast") version.byCourier = false;
  }

  /** This version is dead by two words: an end that somebody told of it before was none. */
  isDead(transactionId: string, txHash: string): boolean {
    const version = this.#waiting.get(transactionId)?.versions.find((one) => one.txHash === txHash);
    return version?.byGateway === true && version.byCourier;
  }

  /**
   * It has a slot and ends unpaid: by time, since a person cancelled it, or since the gateway knows
   * the end of what an opened ledger kept.
   */
  expires({ job, isKept, isEnded }: Withdrawal, { transactionId, at }: RecordOf<"EXPIRED">, say: () => string): void {
    const waiting = this.#of(transactionId);
    must(this.#isOver(waiting), "what has a slot ends unpaid when all of it is dead", say);
    must(at > job.expiresAt || waiting.ordered === "cancel" || (isKept && isEnded), "nothing runs out before its time", say);
  }

  /**
   * An opened ledger keeps these; of what it was told it knows the hashes and what the order said.
   */
  keeps({ transactionId, versions, account }: Kept): void {
    const before = this.#waiting.get(transactionId);
    const kept = versions.map(({ txHash, dead, until = 0 }): Version => {
      const known = before?.versions.find((one) => one.txHash === txHash);
      const newest = this.#stamps.get(account) ?? -1n;
      if (BigInt(until) > newest && known === undefined) this.#stamps.set(account, BigInt(until));
      return (
        known ?? { txHash, byGateway: dead === "gateway" || dead === "both", byCourier: dead === "courier" || dead === "both" }
      );
    });
    for (const version of kept) this.#ownerOf.set(version.txHash, version);
    this.#waiting.set(transactionId, { versions: kept, ordered: before?.ordered ?? "" });
  }

  #isOver({ versions }: Waiting): boolean {
    return versions.every(({ txHash, byGateway, byCourier }) => txHash === "" || (byGateway && byCourier));
  }
}
