/**
 * Signs in order: INTENT on disk, the key, SIGNED on disk, the answer. Many requests wait for a
 * shared sync and then for the single core that signs. A few are signed at a time, so that the
 * first are on disk and reported while the next are made. Reaches disk and keys only through ledger
 * and vault.
 */

import { AgentError, type Refusal, refuse } from "../../../base/fault.ts";
import { familyTransactionsOf } from "../../../chains/transactions.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { ChangedWithdrawalPart } from "../../socket/verbs.ts";
import {
  type Reply,
  type RequestContext,
  refuseIfGateClosed,
  refuseIfPaused,
  type SignerRun,
} from "../handlers/context.ts";
import { refuseIfFirstAttemptStopped } from "../handlers/foreign.ts";
import type { PreparedAttempt, SignWork } from "../handlers/intent.ts";
import type { Core } from "../state/core.ts";
import { Fifo } from "../state/fifo.ts";
import { changedWithdrawalPartOf } from "../state/view.ts";
import {
  hasNonVoidExpiringAttempt,
  isCancelling,
  isOver,
  type Withdrawal,
} from "../state/withdrawal.ts";
import type { Vault } from "../vault/vault.ts";

/**
 * Signatures made in one turn of the event loop: about ten milliseconds without any other request.
 */
const perTurnMax = 32;

type SignReply = Reply<{ readonly withdrawal: ChangedWithdrawalPart }>;

interface SignaturesOptions {
  readonly core: Core;
  readonly ledger: Ledger;
  readonly vault: Vault;
  readonly run: SignerRun;
  readonly commit: RequestContext["commit"];
  readonly context: () => RequestContext;
  /** Calls back when everything recorded so far is on disk. */
  readonly whenDurable: (act: () => void) => void;
  /** Calls back once, after the requests that arrived meanwhile. */
  readonly next: (act: () => void) => void;
}

/** The signatures under way of one signer. */
export class PendingSignatures {
  readonly #options: SignaturesOptions;
  /**
   * All requests that wait for a signature, by withdrawal and attempt; requests for the same
   * attempt share it.
   */
  readonly #waiting = new Map<string, SignReply[]>();
  /** Work whose INTENT is on disk, oldest first. */
  readonly #ripe = new Fifo<SignWork>();
  #leftInTurn = perTurnMax;
  #isTurnEnding = false;

  constructor(options: SignaturesOptions) {
    this.#options = options;
  }

  /** Answers at once with an existing result, or after the signature is made and on disk. */
  carryOut(prepared: PreparedAttempt, transactionId: string, reply: SignReply): void {
    const { core, whenDurable } = this.#options;
    if (!prepared.ok) {
      whenDurable(() => reply(prepared));
      return;
    }
    const { work } = prepared;
    if (work === null) {
      const withdrawal = core.book.find(transactionId);
      const answer =
        withdrawal === undefined
          ? refuse("WITHDRAWAL_UNKNOWN")
          : { ok: true as const, withdrawal: changedWithdrawalPartOf(withdrawal) };
      whenDurable(() => reply(answer));
      return;
    }
    const others = this.#waiting.get(keyOf(work));
    if (others !== undefined) {
      others.push(reply);
      return;
    }
    this.#waiting.set(keyOf(work), [reply]);
    whenDurable(() => {
      this.#ripe.push(work);
      this.#goOn();
    });
  }

  #goOn(): void {
    while (this.#leftInTurn > 0) {
      const work = this.#ripe.shift();
      if (work === undefined) break;
      this.#leftInTurn -= 1;
      this.#sign(work);
    }
    if (this.#isTurnEnding || this.#leftInTurn === perTurnMax) return;
    this.#isTurnEnding = true;
    this.#options.next(() => {
      this.#isTurnEnding = false;
      this.#leftInTurn = perTurnMax;
      this.#goOn();
    });
  }

  #sign(work: SignWork): void {
    const { core, ledger, vault, commit, whenDurable } = this.#options;
    const waiting = this.#waiting.get(keyOf(work)) ?? [];
    this.#waiting.delete(keyOf(work));
    const withdrawal = core.book.find(work.transactionId);
    // Other requests may have come between record and signature: a lock, the end of an earlier
    // attempt, or a yes to a recovery.
    const closed = refuseIfGateClosed(this.#options.context());
    const paused = work.clearance.isCancel ? null : stoppedFor(this.#options, work, withdrawal);
    // A ledger that was recovered meanwhile does not contain this intent.
    const isKnown = withdrawal?.attempts[work.attempt - 1]?.intentSeq === work.intentSeq;
    if (
      closed !== null ||
      paused !== null ||
      withdrawal === undefined ||
      !isKnown ||
      isTooLate(withdrawal, work)
    ) {
      for (const reply of waiting) reply(closed ?? paused ?? refuse("WITHDRAWAL_CLOSED"));
      return;
    }
    try {
      const { transactionId, attempt, clearance, unsigned, account } = work;
      const signatures = vault.sign(clearance, ledger.receipt(work.intentSeq));
      // This checks that the signature is the account's. So a result of a faulty machine or of
      // another key never reaches SIGNED.
      const { raw, txHash } = familyTransactionsOf(withdrawal.job.network).attach(
        unsigned,
        signatures,
        account,
      );
      const rawHex = `0x${Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString("hex")}`;
      commit([
        { kind: "SIGNED", transactionId, attempt, digest: clearance.digest, txHash, raw: rawHex },
      ]);
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause;
      for (const reply of waiting) reply(cause);
      return;
    }
    const answer = { ok: true as const, withdrawal: changedWithdrawalPartOf(withdrawal) };
    whenDurable(() => {
      for (const reply of waiting) reply(answer);
    });
  }
}

/** Returns the stop that came since the record: of everything, or of first attempts. */
function stoppedFor(
  options: SignaturesOptions,
  { attempt }: SignWork,
  withdrawal: Withdrawal | undefined,
): Refusal | null {
  const everywhere = refuseIfPaused(options);
  if (everywhere !== null || attempt > 1 || withdrawal === undefined) return everywhere;
  return refuseIfFirstAttemptStopped(options, withdrawal.job);
}

/**
 * True if it is too late to sign. A cancel is signed until the gateway confirms the end. A payment
 * is not signed in quarantine or after a cancel. With exclusion by expiry, none is signed while
 * another can still be paid.
 */
function isTooLate(withdrawal: Withdrawal, { clearance }: SignWork): boolean {
  if (isOver(withdrawal) || hasNonVoidExpiringAttempt(withdrawal)) return true;
  return !clearance.isCancel && (withdrawal.state === "quarantined" || isCancelling(withdrawal));
}

function keyOf({ transactionId, attempt }: SignWork): string {
  return `${transactionId} ${attempt}`;
}
