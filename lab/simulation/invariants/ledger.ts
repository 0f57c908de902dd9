/**
 * Invariants about one agent's ledger, followed record by record as it becomes durable: the
 * write-ahead of every signature, and an order of records that never goes back.
 */
import { unsealRecordBytes } from "../../../agent/ledger/codec.ts";
import type { LedgerRecord } from "../../../agent/ledger/records.ts";
import type { Withdrawal as Kept } from "../../../agent/signer/state/withdrawal.ts";
import { zeroHash } from "../../../protocol/identity.ts";
import type { AgentLedgerHead } from "../../../protocol/messages.ts";
import { seal } from "../world/setting.ts";
import type { RecoveredRecord, Terms } from "./limits.ts";
import type { End } from "./payments.ts";
import { RecordInvariants } from "./records.ts";
import { must, Violation } from "./violation.ts";

/** The facts that one agent's ledger is compared with. A job is genuine if the gateway made it. */
interface LedgerTerms extends Terms {
  readonly isGenuine: (job: string) => boolean;
  /**
   * Whether what an honest courier called the end is so on chain; `txHashes` are all that were
   * signed for this withdrawal.
   */
  readonly isTrue: (end: End, txHashes: readonly string[]) => boolean;
  /** Whether the chain can still pay a withdrawal with a slot, or has paid it. */
  readonly mayBePaid: (transactionId: string) => boolean;
  /** Whether no block can ever take these bytes, or those that left by this hash. */
  readonly isVoid: (txHash: string, raw: string) => boolean;
  /** Whether what the courier says is its nodes' word, and no lie of its own. */
  readonly isHonest: boolean;
  /** Whether a block ever held this transaction; always, where the courier lies. */
  readonly isPlaced: (txHash: string) => boolean;
  /**
   * Whether the chain may count more than the ledger: somebody else used the account, a copy was
   * restored, or the courier lies.
   */
  readonly mayBeAhead: () => boolean;
  /** Whether somebody else used this nonce of the account, for good. */
  readonly isForeign: (nonce: string) => boolean;
}

/** The records of a withdrawal that a ledger must not hold if it may have forgotten a signature. */
const decisions: ReadonlySet<string> = new Set([
  ...[
    "POLICY",
    "APPROVED",
    "REFUSED",
    "HELD",
    "CONFIRMED",
    "EXPIRED",
    "INTENT",
    "SIGNED",
    "RELEASED",
  ],
]);

export class DurableLedger {
  readonly name: string;
  records: LedgerRecord[] = [];
  readonly #intents = new Set<string>(); // digests
  readonly #signed = new Map<string, string>(); // raw bytes, by withdrawal and attempt
  readonly #rawOf = new Map<string, string>(); // signed bytes, by hash
  readonly #released = new Set<string>(); // raw bytes
  readonly #lost = new Set<string>(); // nonces that the courier said another transaction used
  /** By withdrawal, as the newest opening kept it. */
  readonly #kept = new Map<string, Kept>();
  /**
   * From a RECOVERED for both to RECOVERY_FINISHED each yes is an operator's, who looks at the
   * chain as well.
   */
  #isHolding = false;
  #rest = "";
  /** Records of a write whose last line has not come yet. */
  #unended: LedgerRecord[] = [];
  #isTorn = false;
  /** Each added record was there before. */
  #isReread = false;
  /**
   * The head that the gateway held when a restore took all records after `from` away. Until the
   * ledger holds that head, or was recovered, nothing may be decided or signed any more.
   */
  lacked: (AgentLedgerHead & { readonly from: number }) | null = null;
  /** The folder is being restored: less than was durable may be there. */
  mayMiss = false;

  readonly #terms: LedgerTerms;
  #invariants: RecordInvariants;

  constructor(terms: LedgerTerms) {
    this.name = terms.name;
    this.#terms = terms;
    this.#invariants = new RecordInvariants(terms);
  }

  /** Bytes that became durable at the end of a segment. */
  take(bytes: Uint8Array): void {
    const lines = (this.#rest + Buffer.from(bytes).toString("utf8")).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#read(line);
  }

  /**
   * Everything on the drive. Records that were durable are there, unless somebody took them away.
   */
  reread(files: ReadonlyMap<string, Uint8Array>): void {
    const before = this.records;
    this.records = [];
    this.#rest = "";
    this.#unended = [];
    this.#isTorn = false;
    this.#intents.clear();
    this.#signed.clear();
    this.#released.clear();
    this.#lost.clear();
    this.#kept.clear();
    this.#isHolding = false;
    this.#invariants = new RecordInvariants(this.#terms);
    this.#isReread = true;
    for (const name of [...files.keys()].filter((each) => each.endsWith(".jsonl")).sort()) {
      this.#rest = "";
      this.take(files.get(name) as Uint8Array);
    }
    this.#isReread = false;
    if (this.mayMiss) return;
    const isThere = before.every((record, index) => this.records[index]?.hash === record.hash);
    must(
      isThere,
      "a durable record is never lost",
      () => `${this.name}: ${before.length} records, ${this.records.length} found`,
    );
  }

  /** A write counts as one, by the MAC of its last line. */
  #read(line: string): void {
    try {
      if (this.#isTorn) return;
      const parsed = JSON.parse(line) as LedgerRecord & { readonly mac?: string };
      this.#unended.push(
        unsealRecordBytes(parsed, seal, { file: this.name, line: this.records.length + 1 }),
      );
      if (parsed.mac !== undefined) for (const record of this.#unended.splice(0)) this.#add(record);
    } catch (error) {
      if (error instanceof Violation) throw error;
      this.#isTorn = true; // The next start cuts it, with all behind it, or refuses to start.
    }
  }

  /** Long: the rules of each kind of record. */
  #add(record: LedgerRecord): void {
    const last = this.records.at(-1);
    const goesOn =
      record.seq === (last?.seq ?? 0) + 1 &&
      record.prev === (last?.hash ?? zeroHash) &&
      record.at >= (last?.at ?? 0);
    if (!goesOn && record.seq <= (last?.seq ?? 0)) return;
    must(goesOn, "the ledger goes on", () => `${this.name}: ${record.seq} after ${last?.seq ?? 0}`);
    this.records.push(record);
    const isGenuine = record.kind !== "REQUESTED" || this.#terms.isGenuine(record.job);
    must(isGenuine, "only the gateway's jobs are recorded", () => `${this.name}: ${record.seq}`);
    const decides = !this.#isReread && decisions.has(record.kind) && this.#isRolledBack;
    must(
      !decides,
      "a rollback is seen before the next decision",
      () => `${this.name}: ${record.kind}`,
    );
    this.#invariants.add(record);
    const signs =
      !this.#isReread &&
      (record.kind === "INTENT" || record.kind === "SIGNED") &&
      this.isToldOfForeign;
    must(
      !signs,
      "nothing is signed once the agent was told of a foreign use",
      () => `${this.name}: ${record.seq}`,
    );
    if (record.kind === "RECOVERY_FINISHED") this.#isHolding = false;
    // The way back from a restore, by an operator's yes to the gateway's order. A power cut may
    // show first that it is on disk.
    if (record.kind === "RECOVERED" && this.lacked !== null && record.seq > this.lacked.from)
      this.lacked = null;
    if (record.kind === "RECOVERED") this.#open(record);
    // A payment of several coins has a digest for each.
    if (record.kind === "INTENT")
      for (const each of record.digest.match(/.{64}/g) ?? []) this.#intents.add(each);
    if (record.kind === "SIGNED") {
      this.#signed.set(`${record.transactionId} ${record.attempt}`, record.raw);
      this.#rawOf.set(record.txHash, record.raw);
    }
    if (record.kind === "RELEASED") {
      for (const { transactionId, attempt } of record.released) {
        this.#released.add(this.#signed.get(`${transactionId} ${attempt}`) ?? "");
      }
    }
    if (record.kind === "ALARM" && record.code === "CHAIN_SLOT_AHEAD") {
      must(
        this.#terms.mayBeAhead(),
        "no node makes the chain's count up",
        () => `${this.name}: ${record.detail}`,
      );
    }
    if (
      record.kind === "EXPIRED" &&
      !this.#isReread &&
      this.#nonceOf(record.transactionId) !== ""
    ) {
      const mayBePaid = this.#terms.mayBePaid(record.transactionId);
      must(
        !mayBePaid,
        "a withdrawal that an operator ended can never be paid",
        () => `${this.name}: ${JSON.stringify(record)}`,
      );
    }
    if (record.kind === "VOID")
      for (const txHash of record.txHashes) this.#isVoid(txHash, "the gateway");
    if (record.kind === "OBSERVED" && record.stage === "void" && this.#terms.isHonest)
      this.#isVoid(record.txHash, "the courier");
    if (record.kind === "OBSERVED" && record.stage === "included") {
      const isTrue = this.#terms.isPlaced(record.txHash);
      must(
        isTrue,
        "an attempt that the ledger calls included was in a block",
        () => `${this.name}: ${record.txHash}`,
      );
    }
    if (record.kind === "OBSERVED" && record.stage === "final") {
      const isTrue = this.#terms.isTrue(record, this.#hashesOf(record.transactionId));
      must(
        isTrue,
        "an end in the ledger is the end on chain",
        () => `${this.name}: ${JSON.stringify(record)}`,
      );
      if (record.outcome === "conflicted") this.#lost.add(this.#nonceOf(record.transactionId));
    }
  }

  /** This ledger's own attempts in the gateway's order count as released by it. */
  #open(record: RecoveredRecord): void {
    this.#isHolding ||= record.bothRestored;
    this.#kept.clear();
    for (const one of this.#terms.stateOf(record).book.open) {
      this.#kept.set(one.transactionId, one);
      for (const { raw, txHash, voidBy } of one.attempts) {
        if (raw !== "") this.#released.add(raw);
        const isSaid =
          voidBy === "gateway" ||
          voidBy === "both" ||
          (voidBy === "courier" && this.#terms.isHonest);
        if (isSaid) this.#isVoid(txHash, "a recovered ledger");
      }
    }
  }

  /** The source of the statement does not matter. */
  #isVoid(txHash: string, who: string): void {
    const raw = this.#rawOf.get(txHash) ?? "";
    must(
      this.#terms.isVoid(txHash, raw),
      "a void attempt can come into no block",
      () => `${this.name}: ${who}, ${txHash}`,
    );
  }

  #hashesOf(transactionId: string): readonly string[] {
    const signed = this.records.flatMap((one) =>
      one.kind === "SIGNED" && one.transactionId === transactionId ? [one.txHash] : [],
    );
    return [
      ...signed,
      ...(this.#kept.get(transactionId)?.attempts ?? []).map(({ txHash }) => txHash),
    ];
  }

  /**
   * The courier said of a nonce that another transaction used it, and somebody else's did, for
   * good.
   */
  get isToldOfForeign(): boolean {
    return !this.#isHolding && [...this.#lost].some(this.#terms.isForeign);
  }

  #nonceOf(transactionId: string): string {
    const kept = this.#kept.get(transactionId);
    if (kept !== undefined) return kept.slot;
    const intent = [...this.records]
      .reverse()
      .find((one) => one.kind === "INTENT" && one.transactionId === transactionId);
    return intent?.kind === "INTENT" ? intent.slot : "";
  }

  /**
   * The very record that went missing may be written again, the same in every byte: then nothing is
   * missing.
   */
  get #isRolledBack(): boolean {
    return this.lacked !== null && this.records[this.lacked.seq - 1]?.hash !== this.lacked.hash;
  }

  /** Ledger time until which the limits held back what was approved, 0 when they never did. */
  heldBackUntil(transactionId: string): number {
    return this.#invariants.heldBackUntil(transactionId);
  }

  /** Withdrawals whose bytes left, and of which no block was seen yet. */
  get onTheirWay(): readonly string[] {
    const left = this.records.flatMap((one) =>
      one.kind === "RELEASED" ? one.released.map((each) => each.transactionId) : [],
    );
    const seen = this.records.flatMap((one) =>
      one.kind === "OBSERVED" && one.stage !== "broadcast" ? [one.transactionId] : [],
    );
    return left.filter((id) => !seen.includes(id));
  }

  /** Withdrawals that wait for an operator. */
  get held(): readonly string[] {
    const held = this.records.flatMap((one) => (one.kind === "HELD" ? [one.transactionId] : []));
    const decided = this.records.flatMap((one) =>
      one.kind === "APPROVED" || one.kind === "REFUSED" ? [one.transactionId] : [],
    );
    return held.filter((id) => !decided.includes(id));
  }

  get head(): AgentLedgerHead {
    const last = this.records.at(-1);
    return { seq: last?.seq ?? 0, hash: last?.hash ?? zeroHash };
  }

  /** A key is about to sign. */
  signs(digest: string): void {
    must(!this.#isRolledBack, "a rollback is seen before the next signature", () => this.name);
    must(
      this.#intents.has(digest),
      "the key is used after its intent is durable",
      () => `${this.name}: ${digest}`,
    );
  }

  /** Bytes leave. */
  leaves(raw: string): void {
    must(this.#released.has(raw), "bytes leave after their release is durable", () => this.name);
  }

  /** A statement leaves. */
  states({ seq, hash }: AgentLedgerHead): void {
    must(
      this.records[seq - 1]?.hash === hash,
      "the gateway learns of each durable record",
      () => `${this.name}: ${seq}`,
    );
  }
}
