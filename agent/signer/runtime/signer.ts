/**
 * The signer around its core. Every request is decided at once, in memory, and answered when its
 * records are on disk, many to one sync. This class owns the order "recorded, signed, recorded,
 * answered" and the statements for the gateway. It reaches disk and keys only through ledger and
 * vault; clock, randomness and sockets are passed in.
 */

import { familyOf } from "../../../chains/families.ts";
import type { ConfiguredChain } from "../../../chains/family.ts";
import type { Job } from "../../../protocol/messages.ts";
import type { Ledger, RecoveredBody } from "../../ledger/ledger.ts";
import { decidingKinds, type RecordBody } from "../../ledger/records.ts";
import { type StopPlace, stopKey } from "../../socket/stops.ts";
import type {
  AccountView,
  CourierAnswers,
  CourierView,
  NetworkStop,
  PushMessage,
  ReplacementPlan,
  ReplacementWish,
} from "../../socket/verbs.ts";
import type { Reply, RequestContext, SignerRun } from "../handlers/context.ts";
import { expireWithdrawals, reconsiderWithdrawals } from "../handlers/decide.ts";
import type { PreparedAttempt } from "../handlers/intent.ts";
import { prepareManualReplacement } from "../handlers/manual-replacement.ts";
import { pauseSigning } from "../handlers/pause.ts";
import { prepareAssigned } from "../handlers/sign.ts";
import { hotWalletOf } from "../policy/own-accounts.ts";
import { canonicalLimits } from "../state/canonical.ts";
import type { Core, CoreSnapshot } from "../state/core.ts";
import { ledgerTime } from "../state/ledger-time.ts";
import { stopCode } from "../state/stops.ts";
import { courierViewOf } from "../state/view.ts";
import type { Withdrawal } from "../state/withdrawal.ts";
import { accountOn } from "./accounts.ts";
import { logRecord } from "./log.ts";
import { Signatures } from "./signatures.ts";
import type { SignerOptions } from "./signer-options.ts";
import { Statements } from "./statements.ts";

type Answer<V extends keyof CourierAnswers> = Reply<CourierAnswers[V]>;

/**
 * The context and the wait for the disk that all requests share: `courier-acts.ts` has the
 * courier's acts, `sockets/operator.ts` the operator's.
 */
export class Signer {
  readonly core: Core;
  readonly run: SignerRun;
  readonly ledger: Ledger;
  readonly #options: SignerOptions;
  readonly #signatures: Signatures;
  readonly statements: Statements;
  #isLockTold = false;
  #isSpeaking = false;
  /** Called with the next sync, whichever request asks for it. */
  #late: (() => void)[] = [];

  constructor(options: SignerOptions) {
    this.#options = options;
    this.core = options.core;
    this.ledger = options.ledger;
    this.run = options.run;
    this.#isLockTold = options.core.locked !== null;
    const { core, ledger, vault, run, next, later } = options;
    this.#signatures = new Signatures({
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
    const view = courierViewOf(withdrawal, this.core.policy);
    return owed.length === 0 ? view : { ...view, owed };
  }

  /** Returns the hot wallet on each chain. */
  accounts(): CourierAnswers["hello"]["accounts"] {
    return Object.keys(this.#options.chains).map((chain) => this.viewOn(chain));
  }

  /** Returns an account on a chain with its next slot; the hot wallet by default. */
  viewOn(chain: string, address?: string): AccountView {
    return accountOn(this.core, this.chain(chain), chain, {
      address,
      hotWalletOn: (network) => this.#accountOn(network),
    });
  }

  #accountOn(network: string): string {
    return hotWalletOf(this.#options.vault.accounts, familyOf(network).name);
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
    for (const { transactionId, prepared } of prepareAssigned(this.context())) {
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
      code: stopCode(this.core.stops.on(network, currency) ?? { ...place, txHashes: [] }),
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
    if (this.core.ruled?.digest !== digest && bodies.some(({ kind }) => decidingKinds.has(kind))) {
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
