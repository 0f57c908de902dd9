/**
 * The signer around its core. Every request is decided at once, in memory, and answered when its
 * records are on disk, many to one sync. This class owns the order "recorded, signed, recorded,
 * answered" and the statements for the gateway. It reaches disk and keys only through ledger and
 * vault; clock, randomness and sockets are passed in.
 */

import type { KeyObject } from "node:crypto";
import type { AgentError } from "../../../base/fault.ts";
import { familyOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import { sealEnvelope } from "../../../protocol/envelope.ts";
import { zeroHash } from "../../../protocol/identity.ts";
import type { AgentLedgerHead, Job, Statement } from "../../../protocol/messages.ts";
import type { ConfigSource } from "../../config/settings.ts";
import type { Ledger, RecoveredBody } from "../../ledger/ledger.ts";
import {
  type LedgerRecord,
  type RecordBody,
  recordKindsUnderLimits,
} from "../../ledger/records.ts";
import { type StopPlace, stopKey } from "../../socket/stops.ts";
import {
  type AccountView,
  type CourierAnswers,
  type CourierView,
  type NetworkStop,
  type PushMessage,
  type ReplacementPlan,
  type ReplacementWish,
  reportFramesMax,
} from "../../socket/verbs.ts";
import type { Reply, RequestContext, SignerRun } from "../handlers/context.ts";
import { expireWithdrawals, reconsiderWithdrawals } from "../handlers/decide.ts";
import type { PreparedAttempt } from "../handlers/intent.ts";
import { prepareManualReplacement } from "../handlers/manual-replacement.ts";
import { pauseSigning } from "../handlers/pause.ts";
import { prepareUnsignedIntents } from "../handlers/sign.ts";
import { hotWalletAddressOf } from "../policy/own-accounts.ts";
import { canonicalLimits, limitsDigest } from "../state/canonical.ts";
import type { Core, CoreSnapshot } from "../state/core.ts";
import { type StatementBatch, statementBatchesOf } from "../state/entries.ts";
import { ledgerTime } from "../state/ledger-time.ts";
import { resyncEntries } from "../state/resync.ts";
import { codeOfStop } from "../state/stops.ts";
import { withdrawalForCourier } from "../state/view.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import type { Vault } from "../vault/vault.ts";
import { accountOnNetwork } from "./accounts.ts";
import { type Log, logRecord } from "./log.ts";
import { PendingSignatures } from "./signatures.ts";
import type { StopMark } from "./stop-mark.ts";

/*
 * The signer's statements to the gateway: durable records that concern the gateway, under the
 * signer's own key, in ledger order. Each is pushed once; the courier asks for them again from the
 * gateway's head on. Touches no disk and no socket.
 */

interface StatementsOptions {
  readonly core: Core;
  readonly ledger: Ledger;
  readonly run: SignerRun;
  readonly signerKey: () => KeyObject;
  readonly push: (message: PushMessage) => void;
  /** Calls back once, a little later. */
  readonly later: (act: () => void) => void;
}

/** Keeps the last stated record and the statements to come. Frames are complete envelopes. */
class Statements {
  readonly #options: StatementsOptions;
  #statedSeq = 0;
  #isSpeechLate = false;
  readonly #policy: string;

  constructor(options: StatementsOptions) {
    this.#options = options;
    this.#policy = limitsDigest(canonicalLimits(options.core.policy.rules));
  }

  /** Pushes durable records that were not pushed yet. A repeat is harmless. */
  speak(isDue = false): void {
    const { core, ledger, push, later, run } = this.#options;
    if (ledger.durableHead.seq <= this.#statedSeq) return;
    // During a resync the courier asks for these records in order; new records follow.
    if (run.resync !== null && this.#statedSeq < run.resync.to) return;
    const batches = this.#batches(Math.max(this.#statedSeq, core.heads.acked.seq));
    // An approval is usually followed by its signature, so one statement for both saves half of the
    // messages.
    if (!isDue && batches.every(isApprovals)) {
      if (this.#isSpeechLate) return;
      this.#isSpeechLate = true;
      later(() => {
        this.#isSpeechLate = false;
        this.speak(true);
      });
      return;
    }
    for (const batch of batches) {
      const { after, head } = batch;
      push({ push: "statement", frames: [this.#frame(batch, false)], after, head });
    }
    this.#statedSeq = batches.at(-1)?.head.seq ?? this.#statedSeq;
  }

  /** Restarts after a recovery: nothing was stated yet in the new epoch. */
  restart(): void {
    this.#statedSeq = 0;
  }

  /**
   * Returns the first unacknowledged statements after `after`; their content is not pushed as well.
   * If there are none, a statement without entries reports each time that the handshake is done,
   * because no answer shows whether the previous one reached the gateway.
   */
  after(after: number): readonly Uint8Array[] {
    const { core, ledger, run } = this.#options;
    if (run.resync !== null && after < run.resync.to) return this.#again(after);
    const from = Math.max(after, core.heads.acked.seq);
    const batches = this.#batches(from).slice(0, reportFramesMax);
    this.#statedSeq = Math.max(
      this.#statedSeq,
      batches.at(-1)?.head.seq ?? Math.min(from, ledger.durableHead.seq),
    );
    if (batches.length > 0) return batches.map((batch) => this.#frame(batch, true));
    const word = this.#nothingNew(from);
    if (this.#handshakeAt(word.head) === "") return [];
    this.#statedSeq = Math.max(this.#statedSeq, word.head.seq);
    return [this.#frame(word, true)];
  }

  /**
   * Returns the records that a rolled-back gateway has lost, read from the ledger. A statement
   * follows even if none of the records concerns the gateway, so that its head moves on.
   */
  #again(after: number): readonly Uint8Array[] {
    const { core, ledger } = this.#options;
    const read = (from: number, to: number): readonly LedgerRecord[] => ledger.read(from, to);
    const part = resyncEntries({ core, read, to: ledger.durableHead.seq }, after);
    const hashAt = (seq: number): string | null => ledger.hashAt(seq);
    const reached = { seq: part.reached, hash: hashAt(part.reached) ?? zeroHash };
    const batches = statementBatchesOf(part.entries, after, reached, hashAt);
    this.#statedSeq = part.reached;
    return batches.map((batch) => this.#frame(batch, true));
  }

  /**
   * Repeats the last stated head, which the gateway holds when this statement arrives. A repeat
   * makes no record, and an older head says nothing about later records. Before the first
   * statement, the durable head is named.
   */
  #nothingNew(said: number): StatementBatch {
    const { core, ledger } = this.#options;
    const seq = said > ledger.durableHead.seq ? core.heads.acked.seq : said;
    if (seq === 0) return { after: 0, previous: zeroHash, head: ledger.durableHead, entries: [] };
    const hash = this.#hashAt(seq) ?? zeroHash;
    return { after: seq, previous: hash, head: { seq, hash }, entries: [] };
  }

  #hashAt(seq: number): string | null {
    return this.#options.core.heads.hashAt(seq) ?? this.#options.ledger.hashAt(seq);
  }

  /**
   * Returns the challenge of the handshake that a statement up to `head` may confirm. A
   * confirmation means that the gateway lacks nothing, so neither a locked signer nor a signer
   * during a resync sends one.
   */
  #handshakeAt(head: AgentLedgerHead): string {
    const { core, run } = this.#options;
    return core.locked !== null || !run.handshakeDone || head.seq < (core.recovered?.seq ?? 0)
      ? ""
      : run.handshake;
  }

  #batches(after: number): readonly StatementBatch[] {
    const { core, ledger } = this.#options;
    return core.outbox.batches(after, ledger.durableHead, (seq) => this.#hashAt(seq));
  }

  /**
   * Seals a statement. One that the courier asked for, as after each handshake, also names the
   * digest of this run's limits.
   */
  #frame({ after, previous, head, entries }: StatementBatch, isAsked: boolean): Uint8Array {
    const { core, signerKey } = this.#options;
    const { agent, ledgerEpoch } = core.paired;
    const isRecovering = core.recovered !== null && core.heads.acked.seq < core.recovered.seq;
    const statement: Statement = {
      agent,
      ledgerEpoch,
      handshake: this.#handshakeAt(head),
      after,
      previous,
      head,
      at: core.heads.at,
      ...(isAsked ? { policy: this.#policy } : {}),
      ...(isRecovering ? { recovered: core.recovered.order } : {}),
      entries,
    };
    return sealEnvelope("statement", statement, signerKey());
  }
}

function isApprovals({ entries }: StatementBatch): boolean {
  return entries.every((entry) => entry.kind === "decision" && entry.decision === "approved");
}

/*
 * Everything that a signer is made of, passed in: state, ledger, vault, clocks, and the receivers
 * of its messages.
 */

export interface SignerParts {
  readonly core: Core; // with the complete ledger replayed
  readonly ledger: Ledger;
  readonly vault: Vault;
  /** A new run of this process; the ledger's time comes from the same run. */
  readonly run: SignerRun;
  readonly clock: () => number; // local
  readonly monotonic: () => number; // milliseconds
  readonly chains: Readonly<Record<string, ConfiguredChain>>; // by name in the settings
  readonly config: Pick<ConfigSource, "path" | "digest">; // the configuration by which the core decides
  readonly push: (message: PushMessage) => void; // to every courier connected
  readonly log: Log;
  /** The mark outside the ledger for pause and lock; absent in tests without such a file. */
  readonly mark?: StopMark;
  /** Calls back once, at the end of this turn of the event loop, after the answers. */
  readonly soon: (act: () => void) => void;
  /**
   * Calls back once, a little later, so that records without waiting clients share a sync with
   * later records.
   */
  readonly later: (act: () => void) => void;
  /** Calls back once, after the requests that arrived meanwhile; long work continues then. */
  readonly next: (act: () => void) => void;
  /** The disk failed: nothing is answered any more, and the process must end. */
  readonly onPoisoned: (fault: AgentError) => void;
}

type Answer<V extends keyof CourierAnswers> = Reply<CourierAnswers[V]>;

/**
 * The context and the wait for the disk that all requests share: `courier-acts.ts` has the
 * courier's acts, `sockets/operator.ts` the operator's.
 */
export class Signer {
  readonly core: Core;
  readonly run: SignerRun;
  readonly ledger: Ledger;
  readonly #options: SignerParts;
  readonly #signatures: PendingSignatures;
  readonly statements: Statements;
  #isLockTold = false;
  #isSpeaking = false;
  /** Called with the next sync, whichever request asks for it. */
  #late: (() => void)[] = [];

  constructor(options: SignerParts) {
    this.#options = options;
    this.core = options.core;
    this.ledger = options.ledger;
    this.run = options.run;
    this.#isLockTold = options.core.locked !== null;
    const { core, ledger, vault, run, next, later } = options;
    this.#signatures = new PendingSignatures({
      core,
      ledger,
      vault,
      run,
      next,
      commit: (bodies) => this.#commit(bodies),
      context: () => this.context(),
      whenDurable: (act) => this.whenDurable(act),
    });
    this.statements = new Statements({
      core,
      ledger,
      run,
      later,
      signerKey: () => vault.signerKey,
      push: options.push,
    });
    run.isReadOnly = ledger.readOnly;
    // A read-only disk accepts no mark and nothing is signed; the mark is read at the next start.
    if (!ledger.readOnly) this.#append(options.mark?.lost(core) ?? []);
    this.ledger.flush((fault) => fault !== null && options.onPoisoned(fault));
  }

  /** Returns the context of one request, at ledger time. */
  context(): RequestContext {
    const { core, run } = this;
    const localMs = this.#options.clock();
    const monotonicMs = this.#options.monotonic();
    return {
      core,
      run,
      localMs,
      monotonicMs,
      // A handshake in the middle of a request starts ledger time again.
      get nowMs() {
        return Math.max(core.heads.at, ledgerTime(run, localMs, monotonicMs));
      },
      accountOn: (network) => this.#accountOn(network),
      fullDisk: () => this.ledger.refusal,
      hashAt: (seq) => this.ledger.hashAt(seq),
      open: (state, body) => this.#open(state, body),
      commit: (bodies, parsed) => this.#commit(bodies, parsed),
    };
  }

  /**
   * Calls `act` when everything recorded so far is on disk. The caller computes its answer before.
   */
  whenDurable(act: () => void): void {
    const late = this.#late;
    this.#late = [];
    this.ledger.flush((fault) => {
      if (fault !== null) {
        this.#options.onPoisoned(fault);
        return;
      }
      for (const each of late) each();
      act();
      this.#speakSoon();
    });
  }

  /** Sends statements after the answers of this turn, because a client waits for the answers. */
  #speakSoon(): void {
    if (this.#isSpeaking) return;
    this.#isSpeaking = true;
    this.#options.soon(() => {
      this.#isSpeaking = false;
      this.#speak();
    });
  }

  /** As `whenDurable`, for records without waiting clients: no sync is requested at once. */
  whenDurableLater(act: () => void): void {
    this.#late.push(act);
    if (this.#late.length > 1) return;
    this.#options.later(() => {
      if (this.#late.length > 0) this.whenDurable(() => {});
    });
  }

  /**
   * Runs once a second: ends withdrawals that ran out, judges those whose delay is over, starts the
   * successor of a long segment, and merges old files.
   */
  tick(): void {
    if (this.ledger.readOnly) return;
    this.changed(expireWithdrawals(this.context()));
    this.changed(reconsiderWithdrawals(this.context()));
    if (this.ledger.wantsRotation) {
      const { state, leaving } = this.core.checkpoint();
      this.core.apply(this.ledger.rotate(JSON.stringify(state), leaving));
      this.whenDurable(() => {});
    }
    if (this.ledger.hasRoom()) this.ledger.past.tend();
  }

  /** Sends a message to every courier connected. */
  push(message: PushMessage): void {
    this.#options.push(message);
  }

  /** Calls `act` when what is recorded so far is on disk, after the answers of this turn. */
  whenDurableSoon(act: () => void): void {
    this.#options.soon(() => this.whenDurable(act));
  }

  /** Sends the courier the withdrawals that another party moved. */
  changed(withdrawals: readonly Withdrawal[]): void {
    if (withdrawals.length === 0) return;
    const views = withdrawals.map((withdrawal) => this.view(withdrawal));
    this.whenDurable(() => {
      for (const withdrawal of views) this.push({ push: "changed", withdrawal });
    });
  }

  /** Restarts the courier with the new epoch after a recovery. */
  restarted(): void {
    this.#isLockTold = false;
    this.statements.restart();
    this.push({ push: "recovered" });
  }

  view(withdrawal: Withdrawal): CourierView {
    const owed = this.core.owed.of(withdrawal.transactionId);
    const view = withdrawalForCourier(withdrawal, this.core.policy);
    return owed.length === 0 ? view : { ...view, owed };
  }

  /** Returns the hot wallet on each chain. */
  accounts(): CourierAnswers["hello"]["accounts"] {
    return Object.keys(this.#options.chains).map((chain) => this.viewOn(chain));
  }

  /** Returns an account on a chain with its next slot; the hot wallet by default. */
  viewOn(chain: string, address?: string): AccountView {
    return accountOnNetwork(this.core, this.chain(chain), chain, {
      address,
      hotWalletOn: (network) => this.#accountOn(network),
    });
  }

  #accountOn(network: string): string {
    return hotWalletAddressOf(this.#options.vault.accounts, familyOf(network).addressSpace.name);
  }

  /** Signs a prepared attempt, and reports the end of a withdrawal that had run out before. */
  sign(prepared: PreparedAttempt, transactionId: string, reply: Answer<"sign">): void {
    const withdrawal = this.core.book.find(transactionId);
    if (!prepared.ok && prepared.code === "JOB_EXPIRED" && withdrawal !== undefined)
      this.changed([withdrawal]);
    this.#signatures.carryOut(prepared, transactionId, reply);
  }

  /**
   * Signs recorded intents before any new slot is used: after each handshake, and when an operator
   * releases a withdrawal that a recovered ledger keeps.
   */
  signAssigned(): void {
    for (const { transactionId, prepared } of prepareUnsignedIntents(this.context())) {
      this.#signatures.carryOut(prepared, transactionId, (answer) => {
        const withdrawal = this.core.book.find(transactionId);
        const isMoved = ("ok" in answer && answer.ok) || withdrawal?.state === "quarantined";
        if (isMoved && withdrawal !== undefined) this.changed([withdrawal]);
      });
    }
  }

  /**
   * Makes the attempt of a plan that an operator saw and ordered. The courier receives it once it
   * is signed.
   */
  manualReplacement(
    wish: ReplacementWish,
    plan: ReplacementPlan,
    approver: string,
    reply: Answer<"replace">,
  ): void {
    const { transactionId } = wish;
    this.#signatures.carryOut(
      prepareManualReplacement(this.context(), wish, plan, approver),
      transactionId,
      (answer) => {
        const withdrawal = this.core.book.find(transactionId);
        if ("ok" in answer && answer.ok && withdrawal !== undefined) this.changed([withdrawal]);
        reply(answer);
      },
    );
  }

  /** Pauses new signatures or allows them again; then intents that waited are signed first. */
  pause(
    isPaused: boolean,
    approver: string,
    where: Partial<StopPlace> = {},
  ): ReturnType<typeof pauseSigning> {
    const done = pauseSigning(this.context(), isPaused, approver, where);
    if (!done.ok) return done;
    this.whenDurable(() => this.push({ push: "paused", paused: isPaused, ...this.#stopOn(where) }));
    if (!isPaused) this.signAssigned();
    return done;
  }

  /** Carries an act out, and tells the courier of the networks and currencies that it stopped. */
  stopping<T>(act: () => T): T {
    const before = new Set(this.core.stops.networks().map(stopKey));
    const done = act();
    for (const stop of this.core.stops.networks())
      if (!before.has(stopKey(stop)))
        this.whenDurable(() => this.push({ push: "paused", paused: true, ...this.#stopOn(stop) }));
    return done;
  }

  /** The place of a push, with the code of its stop as it is now. */
  #stopOn({ network, currency }: Partial<StopPlace>): Partial<NetworkStop> {
    if (network === undefined) return {};
    const place = currency === undefined ? { network } : { network, currency };
    return {
      ...place,
      code: codeOfStop(this.core.stops.on(network, currency) ?? { ...place, txHashes: [] }),
    };
  }

  /**
   * Returns a chain by name. The name comes from a request, so a name that every object has is no
   * chain.
   */
  chain(name: string): ConfiguredChain | undefined {
    return Object.hasOwn(this.#options.chains, name) ? this.#options.chains[name] : undefined;
  }

  /** Loads the recovered state as a start would read it: from the text in the file. */
  #open(recovered: CoreSnapshot, body: RecoveredBody): void {
    this.core.load(recovered);
    const { state, leaving } = this.core.checkpoint();
    const text = JSON.stringify(state);
    const record = this.ledger.rotate(text, leaving, body, recovered.heads.at);
    this.core.load(JSON.parse(text) as CoreSnapshot);
    this.core.apply(record);
    this.#keepMark();
  }

  #commit(bodies: readonly RecordBody[], parsed?: Job): ReturnType<RequestContext["commit"]> {
    const { path, digest } = this.#options.config;
    // The POLICY record comes just before the first decision under the new configuration. Before
    // the handshake, it is not known whether the ledger is complete.
    if (
      this.core.ruled?.digest !== digest &&
      bodies.some(({ kind }) => recordKindsUnderLimits.has(kind))
    ) {
      this.#append([
        { kind: "POLICY", digest, path, limits: canonicalLimits(this.core.policy.rules) },
      ]);
    }
    return this.#append(bodies, parsed);
  }

  #append(bodies: readonly RecordBody[], parsed?: Job): ReturnType<RequestContext["commit"]> {
    const records = this.ledger.append(bodies);
    for (const record of records) {
      this.core.apply(
        parsed !== undefined && record.kind === "REQUESTED" ? { ...record, parsed } : record,
      );
      logRecord(this.#options.log, record);
    }
    this.#keepMark();
    return records;
  }

  #keepMark(): void {
    const { mark } = this.#options;
    if (mark?.hold(this.core) === true) this.whenDurableLater(() => mark.settle(this.core));
  }

  /**
   * Sends what became durable with the last sync and concerns others: a new lock, and statements
   * for the gateway.
   */
  #speak(): void {
    const { locked } = this.core;
    if (locked !== null && !this.#isLockTold) {
      this.#isLockTold = true;
      this.whenDurable(() => this.push({ push: "locked", code: locked.code }));
    }
    this.statements.speak();
  }
}
