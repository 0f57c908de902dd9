/**
 * The kinds of record in the ledger, as types: the meaning of the file. docs/ledger.md describes
 * how lines are written and linked. A record is a fact that already holds; the core applies records
 * in order, live and at start-up, with the same function. Slots and base units are decimal strings;
 * hashes, digests and raw bytes are lower-case hex.
 */
import type { TxParams } from "../../chains/family.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";

/** A sorted file as a CHECKPOINT or RECOVERED record names it. */
export interface NamedSortedFile {
  readonly file: string;
  readonly root: string; // covers the complete file
}

/** The sorted files of a checkpoint, oldest first: docs/ledger.md section 9. */
export interface NamedFiles {
  readonly closed: readonly NamedSortedFile[];
  readonly paid: readonly NamedSortedFile[];
}

export type RecordBody =
  /** The owner of this ledger. First record, and again at each later pairing. */
  | {
      readonly kind: "PAIRED";
      readonly agent: string;
      readonly merchant: string;
      readonly wallet: string;
      readonly ledgerEpoch: number;
      readonly gatewayKey: string; // Ed25519 public key, hex
    }
  /** The first slot of an account. The newest record holds, and none follows the first INTENT. */
  | {
      readonly kind: "ADOPTED";
      readonly network: string;
      readonly account: string;
      readonly slot: string;
    }
  /** A job that the pinned gateway signed, at its number in the jobs. `job` is its exact text. */
  | {
      readonly kind: "REQUESTED";
      readonly transactionId: string;
      readonly sequence: number;
      readonly jobHash: string;
      readonly job: string;
      readonly signature: string; // the gateway's, over the exact text
    }
  /**
   * A job whose withdrawal is here already (same content) or that contradicts one. Only the jobs'
   * number moves on.
   */
  | {
      readonly kind: "REPEATED";
      readonly transactionId: string;
      readonly sequence: number;
      readonly jobHash: string;
      readonly code: string; // "" for the same content, else the difference
    }
  /**
   * Policy or an operator approved; the amount counts against the limits from here. `by` is policy
   * or operator.
   */
  | {
      readonly kind: "APPROVED";
      readonly transactionId: string;
      readonly by: "policy" | "operator";
      readonly approver: string; // the name that the caller gave, "" for policy
      readonly chain: string;
      readonly network: string;
      readonly contract: string; // "" native
      readonly address: string;
      readonly tag?: string; // left out for none
      readonly amountUnits: string;
    }
  | { readonly kind: "HELD"; readonly transactionId: string; readonly code: string }
  /**
   * The first of two operators approved the content of `digest` and this destination; nothing
   * counts before the second.
   */
  | {
      readonly kind: "CONFIRMED";
      readonly transactionId: string;
      readonly approver: string;
      readonly digest: string;
      readonly address: string;
    }
  /**
   * Final, before any signature. `by` courier is a decline (for instance because the call would
   * revert), `by` shop a recall, which the gateway signed.
   */
  | {
      readonly kind: "REFUSED";
      readonly transactionId: string;
      readonly by: "policy" | "operator" | "courier" | "shop";
      readonly approver: string; // the operator's name as given, "" for the others
      readonly code: string;
    }
  | { readonly kind: "EXPIRED"; readonly transactionId: string }
  /**
   * The slot and every field of one attempt, before the key is used. A zero payment to the account
   * itself is a cancel.
   */
  | {
      readonly kind: "INTENT";
      readonly transactionId: string;
      readonly attempt: number;
      readonly network: string;
      readonly account: string;
      readonly slot: string;
      readonly contract: string;
      readonly address: string;
      readonly tag?: string; // left out for none
      readonly amountUnits: string;
      readonly txParams: TxParams; // the transaction parameters, in the family's own fields
      readonly feeMax: string; // the highest possible fee
      readonly digest: string;
      readonly unsigned: string;
    }
  /** The finished transaction, before a byte of it leaves the signer. */
  | {
      readonly kind: "SIGNED";
      readonly transactionId: string;
      readonly attempt: number;
      readonly digest: string;
      readonly txHash: string;
      readonly raw: string;
    }
  /**
   * The gateway's signed statement that its database holds everything up to `acked`; opens the gate
   * for the named attempts.
   */
  | {
      readonly kind: "RELEASED";
      readonly acked: AgentLedgerHead;
      readonly released: readonly { readonly transactionId: string; readonly attempt: number }[];
    }
  /** The courier's observation of the chain. Never moves a withdrawal to another slot. */
  | {
      readonly kind: "OBSERVED";
      readonly transactionId: string;
      readonly stage: "broadcast" | "included" | "final" | "void"; // void: only about this transaction
      readonly outcome: "" | "paid" | "reverted" | "conflicted" | "cancelled" | "moved";
      readonly txHash: string;
      readonly block: number;
    }
  /** The gateway's signed statement on ended withdrawals; their bytes are forgotten only then. */
  | { readonly kind: "ENDED"; readonly ended: readonly string[] }
  /**
   * The gateway's signed statement that these transactions are void: in no block, and no block can
   * take them any more.
   */
  | { readonly kind: "VOID"; readonly txHashes: readonly string[] }
  /**
   * An operator orders the following INTENT, by the verb that `act` names. With exclusion by expiry
   * none follows: the next attempt may be made, or no more. `end` stands in front of the EXPIRED of
   * a withdrawal that no block takes; with `isFirstYes` it is the first of two operators', and
   * nothing follows. `coins` are those that its renewal has to spend, as `PinExclusion.coins`.
   */
  | {
      readonly kind: "MANUAL_REPLACEMENT";
      readonly transactionId: string;
      readonly act: "replace" | "cancel" | "end";
      readonly approver: string;
      readonly isFirstYes?: true;
      readonly coins?: readonly string[];
    }
  /**
   * The courier's nodes show the transaction that made the withdrawal's pin in no block and no
   * mempool, for so much watched chain time up to the final block of `chainMs`; both 0 once they
   * show it again.
   */
  | {
      readonly kind: "UNSEEN";
      readonly transactionId: string;
      readonly watchedMs: number;
      readonly chainMs: number;
    }
  /**
   * An operator stopped new signatures or allowed them again. With `network`, only first attempts
   * there: `approver` is then "gateway" or "courier" if the signer stopped it itself, because of
   * the foreign transactions in `txHashes`. With `currency` as well, only first attempts in it: the
   * signer stopped it by the courier's word, because what its own `txHashes` moved is not what was
   * asked for.
   */
  | {
      readonly kind: "PAUSED";
      readonly paused: boolean;
      readonly approver: string;
      readonly network?: string;
      readonly currency?: string;
      readonly txHashes?: readonly string[];
    }
  /**
   * An operator frees a coin, named without its amount, that closed withdrawals have spent: the
   * chain undid their final transaction, and other payments may spend the coin.
   */
  | {
      readonly kind: "COIN_FREED";
      readonly network: string;
      readonly coin: string;
      readonly approver: string;
    }
  /**
   * The gateway's signed statement that no deposit address at or above this index has left; the
   * gateway waits for a higher ceiling before more addresses leave.
   */
  | { readonly kind: "CEILING"; readonly ceiling: number }
  /** The gateway acknowledged everything up to `acked` and nothing was waiting at the gate. */
  | { readonly kind: "REPORTED"; readonly acked: AgentLedgerHead }
  | { readonly kind: "ALARM"; readonly code: string; readonly detail: string }
  /** The signer stopped signing until an operator recovers it. */
  | { readonly kind: "LOCKED"; readonly code: string; readonly detail: string }
  /**
   * An operator ended the hold that RECOVERED began after both sides were restored: policy decides
   * by itself again on jobs issued from `issuedBefore` on.
   */
  | { readonly kind: "RECOVERY_FINISHED"; readonly issuedBefore: number }
  /**
   * A new config.json for the decisions that follow, with its limits, one line for each currency.
   */
  | {
      readonly kind: "POLICY";
      readonly digest: string;
      readonly path: string;
      readonly limits: readonly string[];
    }
  /**
   * First record of a segment. The named file with this hash holds the state of all earlier
   * records; the sorted files hold closed withdrawals and paid destinations, oldest first.
   */
  | ({ readonly kind: "CHECKPOINT"; readonly file: string; readonly sha256: string } & NamedFiles)
  /**
   * First record of a segment like CHECKPOINT, and the beginning of a recovered ledger in a new
   * epoch. The file holds the state made from the gateway's order and the old ledger.
   */
  | ({
      readonly kind: "RECOVERED";
      readonly file: string;
      readonly sha256: string;
      readonly order: string;
      readonly ledgerEpoch: number;
      readonly bothRestored: boolean; // ledger and gateway were both restored: withdrawals without a slot are held for an operator
      readonly held: AgentLedgerHead; // newest head that the gateway held before, seq 0 for none
      readonly sequence: number; // the job after which the numbers continue
      readonly jobHash: string;
    } & NamedFiles);

export type RecordKind = RecordBody["kind"];

/** Kinds that depend on the limits in force. */
export const recordKindsUnderLimits: ReadonlySet<RecordKind> = new Set([
  "APPROVED",
  "HELD",
  "CONFIRMED",
  "REFUSED",
  "INTENT",
]);

/**
 * True if an INTENT is a cancel: a zero payment to its own account that uses the slot up. No
 * payment is one, because an approval is never for zero.
 */
export function isCancel(
  intent: Pick<
    Extract<RecordBody, { kind: "INTENT" }>,
    "contract" | "address" | "account" | "amountUnits"
  >,
): boolean {
  return intent.amountUnits === "0" && intent.contract === "" && intent.address === intent.account;
}

/** A record as it is in the file: number, link to the one before, ledger time, body, own hash. */
export type LedgerRecord = RecordBody & {
  readonly seq: number;
  readonly prev: string;
  readonly at: number; // never lower than the record before it
  readonly hash: string;
};

/** A record that is first in a segment and stands for all earlier ones. */
export type FirstRecord = Extract<LedgerRecord, { kind: "CHECKPOINT" | "RECOVERED" }>;

export function isFirstRecord(record: LedgerRecord | undefined): record is FirstRecord {
  return record?.kind === "CHECKPOINT" || record?.kind === "RECOVERED";
}

/** A RECOVERED record without its kind and the files' names and hashes. */
export type RecoveredBody = Omit<
  Extract<RecordBody, { kind: "RECOVERED" }>,
  "kind" | "file" | "sha256" | keyof NamedFiles
>;
