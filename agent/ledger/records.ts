/**
 * The kinds of record in the ledger, as types: what the file means. How lines are written and
 * chained is docs/ledger.md. A record is a fact that already holds; the core folds them in order,
 * live and at start-up, through the same function. Counters and base units are decimal strings;
 * hashes, digests and raw bytes lower-case hex.
 */
import type { Facts } from "../../chains/family.ts";
import type { Head } from "../../protocol/messages.ts";

/**
 * A sorted file as a CHECKPOINT or OPENED record names it.
 * @public
 */
export interface NamedFile {
  readonly file: string;
  readonly root: string; // covers all of it
}

/**
 * The sorted files of a checkpoint, oldest first: docs/ledger.md section 9.
 * @public
 */
export interface NamedFiles {
  readonly closed: readonly NamedFile[];
  readonly paid: readonly NamedFile[];
}

/** @public */
export type RecordBody =
  /** First record, and again at each later pairing: who this ledger belongs to. */
  | {
      readonly kind: "PAIRED";
      readonly agent: string;
      readonly merchant: string;
      readonly wallet: string;
      readonly epoch: number;
      readonly gatewayKey: string; // Ed25519 public key, hex
    }
  /**
   * First counter of an account; the newest one holds, and after the first INTENT there are no
   * more.
   */
  | { readonly kind: "ADOPTED"; readonly network: string; readonly account: string; readonly slot: string }
  /**
   * A job the pinned gateway signed, at its place in the chain of jobs. `job` is its exact text.
   */
  | {
      readonly kind: "REQUESTED";
      readonly transactionId: string;
      readonly sequence: number;
      readonly jobHash: string;
      readonly job: string;
      readonly signature: string; // of that text, by the gateway
    }
  /**
   * A job whose withdrawal is here already (same content) or that contradicts one: the chain moves
   * on, nothing else does.
   */
  | {
      readonly kind: "REPEATED";
      readonly transactionId: string;
      readonly sequence: number;
      readonly jobHash: string;
      readonly code: string; // "" same content, else what differs
    }
  /**
   * Policy or a person said yes; counts against the limits from here. `by` is policy or operator.
   */
  | {
      readonly kind: "APPROVED";
      readonly transactionId: string;
      readonly by: "policy" | "operator";
      readonly approver: string; // the name that whoever asked gave, "" for policy
      readonly chain: string;
      readonly network: string;
      readonly contract: string; // "" native
      readonly address: string;
      readonly amountUnits: string;
    }
  | { readonly kind: "HELD"; readonly transactionId: string; readonly code: string }
  /**
   * The first of two people said yes to what `digest` names, and to this destination; nothing
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
   * Final, before any signature. `by` courier is a decline (for instance: the call would revert).
   */
  | {
      readonly kind: "REFUSED";
      readonly transactionId: string;
      readonly by: "policy" | "operator" | "courier";
      readonly approver: string; // the person's name as given, "" for the others
      readonly code: string;
    }
  | { readonly kind: "EXPIRED"; readonly transactionId: string }
  /**
   * The token and every field of one version, before the key is used. One that pays nothing to its
   * own account is a cancel.
   */
  | {
      readonly kind: "INTENT";
      readonly transactionId: string;
      readonly version: number;
      readonly network: string;
      readonly account: string;
      readonly slot: string;
      readonly contract: string;
      readonly address: string;
      readonly amountUnits: string;
      readonly facts: Facts; // of its offer, in the family's own fields
      readonly feeMax: string; // the most it may cost
      readonly digest: string;
      readonly unsigned: string;
    }
  /** The finished transaction, before a byte of it leaves the signer. */
  | {
      readonly kind: "SIGNED";
      readonly transactionId: string;
      readonly version: number;
      readonly digest: string;
      readonly txHash: string;
      readonly raw: string;
    }
  /**
   * The gateway's signed word that its database holds everything up to `acked`; opens the gate for
   * the named versions.
   */
  | {
      readonly kind: "RELEASED";
      readonly acked: Head;
      readonly released: readonly { readonly transactionId: string; readonly version: number }[];
    }
  /** What the courier says it saw on chain. Never moves a withdrawal to another token. */
  | {
      readonly kind: "OBSERVED";
      readonly transactionId: string;
      readonly stage: "broadcast" | "included" | "final" | "dead"; // dead: of this transaction alone
      readonly outcome: "" | "paid" | "reverted" | "lost" | "cancelled";
      readonly txHash: string;
      readonly block: number;
    }
  /**
   * The gateway's signed word that these withdrawals have ended: only then are their bytes
   * forgotten.
   */
  | { readonly kind: "ENDED"; readonly ended: readonly string[] }
  /**
   * The gateway's signed word that no block can take these transactions any more, and none has one
   * of them.
   */
  | { readonly kind: "DEAD"; readonly txHashes: readonly string[] }
  /**
   * A person has the INTENT that follows made, by the verb that `act` names. Where versions end by
   * waiting none follows: the next version may be made, or none any more. `end` stands in front of
   * the EXPIRED of a sweep whose slot the chain cannot reach.
   */
  | {
      readonly kind: "UNSTUCK";
      readonly transactionId: string;
      readonly act: "replace" | "cancel" | "end";
      readonly approver: string;
    }
  /** A person stopped new signatures, or lets them go on. */
  | { readonly kind: "PAUSED"; readonly paused: boolean; readonly approver: string }
  /**
   * The gateway's signed word that no deposit address at or above this place has left: it takes a
   * higher one before one does.
   */
  | { readonly kind: "CEILING"; readonly ceiling: number }
  /** The gateway acknowledged everything up to `acked` and nothing was waiting at the gate. */
  | { readonly kind: "REPORTED"; readonly acked: Head }
  | { readonly kind: "ALARM"; readonly code: string; readonly detail: string }
  /** The signer stopped signing until a person recovers it. */
  | { readonly kind: "LOCKED"; readonly code: string; readonly detail: string }
  /**
   * A person ended what OPENED began for both: policy decides by itself again, of what the gateway
   * issues from `issuedBefore` on.
   */
  | { readonly kind: "RESUMED"; readonly issuedBefore: number }
  /**
   * The config.json by which the decisions that follow are made, when it is another than before;
   * its limits, a line a currency.
   */
  | { readonly kind: "POLICY"; readonly digest: string; readonly path: string; readonly limits: readonly string[] }
  /**
   * First record of a segment: the folded state of all before is in the named file with this hash,
   * and what is closed or paid for good in the sorted files, oldest first.
   */
  | ({ readonly kind: "CHECKPOINT"; readonly file: string; readonly sha256: string } & NamedFiles)
  /**
   * First record of a segment like CHECKPOINT, and the beginning of a new ledger in a new epoch:
   * the file holds the state that the gateway's order and the ledger before it come to together.
   */
  | ({
      readonly kind: "OPENED";
      readonly file: string;
      readonly sha256: string;
      readonly order: string;
      readonly epoch: number;
      readonly both: boolean; // ledger and gateway went back: what has no slot is held for a person
      readonly held: Head; // newest head that the gateway held before, seq 0 for none
      readonly sequence: number; // where the chain of jobs goes on
      readonly jobHash: string;
    } & NamedFiles);

/** @public */
export type RecordKind = RecordBody["kind"];

/**
 * Kinds that follow from the limits in force.
 * @public
 */
export const decidingKinds: ReadonlySet<RecordKind> = new Set(["APPROVED", "HELD", "CONFIRMED", "REFUSED", "INTENT"]);

/**
 * Whether an INTENT pays nothing, to its own account: it uses the slot up. No payment does, for an
 * approval is for something.
 * @public
 */
export function isCancel(
  intent: Pick<Extract<RecordBody, { kind: "INTENT" }>, "contract" | "address" | "account" | "amountUnits">,
): boolean {
  return intent.amountUnits === "0" && intent.contract === "" && intent.address === intent.account;
}

/**
 * A record as it stands in the file: number, link to the one before, ledger time, body, own hash.
 * @public
 */
export type LedgerRecord = RecordBody & {
  readonly seq: number;
  readonly prev: string;
  readonly at: number; // never lower than the record before it
  readonly hash: string;
};

/**
 * A record that stands first in a segment, for all before it.
 * @public
 */
export type Beginning = Extract<LedgerRecord, { kind: "CHECKPOINT" | "OPENED" }>;

/** @public */
export function isBeginning(record: LedgerRecord | undefined): record is Beginning {
  return record?.kind === "CHECKPOINT" || record?.kind === "OPENED";
}

/**
 * All of an OPENED record but its file's name and hash.
 * @public
 */
export type OpenedBody = Omit<Extract<RecordBody, { kind: "OPENED" }>, "kind" | "file" | "sha256" | keyof NamedFiles>;
