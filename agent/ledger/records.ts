/**
 * The kinds of record in the ledger, as types: what the file means. How lines are written and chained is docs/ledger.md.
 * A record is a fact that already holds; the core folds them in order, live and at start-up, through the same function.
 * Counters and base units are decimal strings; hashes, digests and raw bytes lower-case hex.
 */
import type { Head } from "../../protocol/messages.ts";

/**
 * A version after a recovery.
 * @public
 */
export interface ImportedVersion {
  readonly txHash: string; // "" for an intent of this ledger that was never signed
  readonly feeMax: string; // wei
  readonly own: boolean; // this ledger has it whole under the same number; else only the gateway told of it
  readonly out: boolean; // its bytes may be anywhere: released here, or held by the gateway
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
  /** First counter of an account; the newest one holds, and after the first INTENT there are no more. */
  | { readonly kind: "ADOPTED"; readonly network: string; readonly account: string; readonly nonce: string }
  /** A job the pinned gateway signed, at its place in the chain of jobs. `job` is its exact text. */
  | {
      readonly kind: "REQUESTED";
      readonly transactionId: string;
      readonly sequence: number;
      readonly jobHash: string;
      readonly job: string;
    }
  /** A job whose withdrawal is here already (same content) or that contradicts one: the chain moves on, nothing else does. */
  | {
      readonly kind: "REPEATED";
      readonly transactionId: string;
      readonly sequence: number;
      readonly jobHash: string;
      readonly code: string; // "" same content, else what differs
    }
  /** Policy or a person said yes; counts against the limits from here. `by` is policy or operator. */
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
  /** The first of two people said yes to what `digest` names, and to this destination; nothing counts before the second. */
  | {
      readonly kind: "CONFIRMED";
      readonly transactionId: string;
      readonly approver: string;
      readonly digest: string;
      readonly address: string;
    }
  /** Final, before any signature. `by` courier is a decline (for instance: the call would revert). */
  | {
      readonly kind: "REFUSED";
      readonly transactionId: string;
      readonly by: "policy" | "operator" | "courier";
      readonly approver: string; // the person's name as given, "" for the others
      readonly code: string;
    }
  | { readonly kind: "EXPIRED"; readonly transactionId: string }
  /** The token and every field of one version, before the key is used. */
  | {
      readonly kind: "INTENT";
      readonly transactionId: string;
      readonly version: number;
      readonly network: string;
      readonly account: string;
      readonly nonce: string;
      readonly contract: string;
      readonly address: string;
      readonly amountUnits: string;
      readonly gasLimit: string;
      readonly maxFeePerGas: string;
      readonly maxPriorityFeePerGas: string;
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
  /** The gateway's signed word that its database holds everything up to `acked`; opens the gate for the named versions. */
  | {
      readonly kind: "RELEASED";
      readonly acked: Head;
      readonly released: readonly { readonly transactionId: string; readonly version: number }[];
    }
  /** What the courier says it saw on chain. Never moves a withdrawal to another token. */
  | {
      readonly kind: "OBSERVED";
      readonly transactionId: string;
      readonly stage: "broadcast" | "included" | "final";
      readonly outcome: "" | "paid" | "reverted" | "lost";
      readonly txHash: string;
      readonly block: number;
    }
  /** The gateway acknowledged everything up to `acked` and nothing was waiting at the gate. */
  | { readonly kind: "REPORTED"; readonly acked: Head }
  | { readonly kind: "ALARM"; readonly code: string; readonly detail: string }
  /** The signer stopped signing until a person recovers it. */
  | { readonly kind: "LOCKED"; readonly code: string; readonly detail: string }
  /**
   * A recovery begins, by the gateway's order: what follows up to RECOVERED waits for that record, and counts for nothing when
   * another RECOVERING comes first. `held` is the newest head the gateway held before, seq 0 for none.
   */
  | {
      readonly kind: "RECOVERING";
      readonly order: string;
      readonly epoch: number;
      readonly held: Head;
      readonly sequence: number; // where the chain of jobs goes on
      readonly jobHash: string;
    }
  /** A fact the gateway may have lost, told again: the JSON of a statement's entry without its number and time. */
  | { readonly kind: "RESTATED"; readonly fact: string }
  /** An open withdrawal as it stands from now on: held, and bound for life to `nonce` when there is one. */
  | {
      readonly kind: "IMPORTED";
      readonly transactionId: string;
      readonly job: string; // exact text; "" when this ledger has it already
      readonly network: string;
      readonly address: string; // destination in force, "" while there is none
      readonly account: string; // "" without a token
      readonly nonce: string;
      readonly amountUnits: string; // what counts against the limits, "" when nothing does
      readonly versions: readonly ImportedVersion[]; // all that count, version 1 first
    }
  /** Open here without a token and not open at the gateway any more: never paid by this agent. */
  | { readonly kind: "SETTLED"; readonly transactionId: string }
  /** The recovery holds: a new epoch, no lock, and these watermarks. */
  | {
      readonly kind: "RECOVERED";
      readonly order: string;
      readonly epoch: number;
      readonly accounts: readonly { readonly network: string; readonly account: string; readonly next: string }[];
      readonly spent: readonly { readonly currency: string; readonly units: string; readonly feesWei: string }[];
    }
  /** A person ended the recovery: policy decides by itself again, of what is issued from `issuedBefore` on by the gateway's clock. */
  | { readonly kind: "RESUMED"; readonly issuedBefore: number }
  /** The config.json by which the decisions that follow are made, when it is another than before. */
  | { readonly kind: "POLICY"; readonly digest: string; readonly path: string }
  /** First record of every segment but the first: the folded state of all before is in the named file with this hash. */
  | { readonly kind: "CHECKPOINT"; readonly file: string; readonly sha256: string };

/** @public */
export type RecordKind = RecordBody["kind"];

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
 * A withdrawal that a recovery takes over.
 * @public
 */
export type Imported = Extract<LedgerRecord, { kind: "IMPORTED" }>;
