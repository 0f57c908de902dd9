/**
 * The messages between agent and gateway, as types. The bytes around them are `envelope.ts`; the
 * rules are docs/protocol.md sections 4 to 7. Every payload is one JSON object, and the strict
 * parser reads it after its signature was verified. Hashes and keys are lower-case hex; times are
 * milliseconds since 1970; amounts are decimal strings of the currency.
 */

import type { JobMode } from "./job-mode.ts";

/** Path of the agents' WebSocket on the gateway. */
export const linkPath = "/agent/v1/link";

/**
 * A position in an agent's ledger: the record's number (1 is the first) and its hash (32 bytes as
 * hex).
 */
export interface AgentLedgerHead {
  readonly seq: number;
  readonly hash: string;
}

/**
 * Kinds of envelope: the byte on the wire; the comment names the key that signs. The names are part
 * of the signed bytes.
 */
export const envelopeKinds = {
  challenge: 1, // gateway key
  hello: 2, // agent's link key
  welcome: 3, // gateway key
  jobs: 4, // gateway key
  ack: 5, // gateway key
  statement: 6, // agent's signer key
  heartbeat: 7, // gateway key one way, link key the other
  recovery: 8, // gateway key; its payload is recovery.ts
  question: 9, // agent's link key
  sightings: 10, // gateway key
} as const;
export type EnvelopeKind = keyof typeof envelopeKinds;

/**
 * The form of the frames that this program knows. The number rises with each kind, and with each
 * field that an earlier program would refuse: 10 are the kinds, 11 has `orders`, `foreign` and
 * `network` of a pause, 12 `endable`, and a sweep with its fee inside, 13 `moved` and `currency`.
 */
export const frameFormNumber = 13;

/** The path of a link for an agent that names the form of the frames that it knows. */
export const linkPathWithFormNumber: string = `${linkPath}?kinds=${frameFormNumber}`;

/** First frame on a link, with which the gateway asks for the agent's identity. */
export interface Challenge {
  readonly nonce: string; // 32 random bytes, hex; answered in Hello
  // the highest kind that the gateway knows; left out to an agent that did not name its own
  readonly kinds?: number;
  readonly at: number;
}

/** The agent's answer, signed by its link key. */
export interface Hello {
  readonly agent: string;
  readonly ledgerEpoch: number;
  readonly answers: string; // the challenge's nonce
  // 32 random bytes that the SIGNER makes for this run; the welcome must repeat them
  readonly nonce: string;
  readonly software: string;
  readonly kinds?: number; // the highest kind that it knows; only agents that are refused leave it out
  readonly open: readonly OpenSlots[];
  readonly at: number;
}

/**
 * The range of slots of one account with open withdrawals in the agent's ledger, as far as the
 * courier serves them.
 */
export interface OpenSlots {
  readonly network: string;
  readonly account: string;
  readonly first: string;
  readonly last: string; // not below the first
}

/**
 * The gateway's welcome, with the durable state that it has of this agent. The signer signs nothing
 * before a welcome for its own run.
 */
export interface Welcome {
  readonly agent: string;
  readonly wallet: string;
  readonly ledgerEpoch: number;
  readonly challenge: string; // Challenge.nonce of this connection, for the signer to repeat
  readonly answers: string; // Hello.nonce
  readonly gatewayHead: AgentLedgerHead | null; // newest ledger head in the gateway's database; null before the first
  // newest of the jobs; 0 and 64 zeros before the first
  readonly jobs: { readonly sequence: number; readonly hash: string };
  readonly at: number;
}

/**
 * A list of jobs. Each job is the exact text whose hash is in the next job. Sending a job
 * again keeps the text; `gatewayHead` and the time are new.
 */
export interface Jobs {
  readonly agent: string;
  readonly wallet: string;
  readonly ledgerEpoch: number;
  readonly gatewayHead: AgentLedgerHead | null;
  readonly at: number;
  readonly jobs: readonly string[]; // JSON texts of Job, rising sequence
  readonly signatures: readonly string[]; // the gateway's signature of each text
}

/**
 * One job: a request to one agent for one withdrawal. The field `previous` of the next job is
 * `jobHash(text)` of this one.
 */
export interface Job {
  readonly agent: string;
  readonly wallet: string;
  readonly network: string; // CAIP-2, e.g. eip155:1; must equal the agent's own table for the currency
  readonly ledgerEpoch: number; // at issue; never above the envelope's
  readonly sequence: number; // 1, 2, 3, … per agent without gaps
  readonly previous: string; // hash of job sequence-1; 64 zeros for the first
  readonly issuedAt: number;
  readonly expiresAt: number; // after this time only a refusal may follow, if nothing is signed yet
  readonly mode: JobMode;
  readonly transactionId: string;
  readonly orderId: string;
  readonly currency: string;
  readonly amount: string; // decimal string in canonical form
  // canonical form of the chain; "" when manual, and always in a sweep and a top-up, for which only
  // the agent chooses the destination
  readonly address: string;
  readonly tag: string;
  /** The ended withdrawal of the same order that this one follows; else absent. */
  readonly renews?: string;
  /** The deposit that this withdrawal pays back, by its transaction id; else absent. */
  readonly refundOf?: string;
  /** The deposit address that a sweep empties or a top-up fills, with its index; else absent. */
  readonly depositIndex?: number;
  readonly depositAddress?: string;
  /** For a sweep: its address's next slot as the gateway knows it; absent without account nonce. */
  readonly depositNext?: string;
}

/**
 * Confirms that the gateway's database durably holds the ledger's entries up to this head. Opens
 * the release gate.
 * `ended`: withdrawals that are final on chain, as the gateway's own nodes agree; the signer
 * deletes their bytes only after this statement.
 * `void`: signed transactions that are in no block and that no block can take any more, as the
 * gateway's own nodes agree. Left out if there is none, and always if a slot excludes a second
 * payment.
 * `unreachable`: open sweeps whose slot the chain's final count cannot reach, and open withdrawals
 * whose pin no node of the gateway has shown for an hour, in each ack; `endable`: those of them
 * that its nodes have missed for 24 hours of chain time. Left out if there is none.
 * `recalled`: open withdrawals whose shop no longer wants them, as far as the gateway knows of no
 * signature, in each ack. The signer refuses those without a slot. Left out if there is none.
 * `foreign`: final transactions of the agent's accounts that no signature explains, on chains
 * where no count shows them, until the agent's ledger has them; the newest first, if any.
 */
export interface Ack {
  readonly agent: string;
  readonly ledgerEpoch: number;
  readonly head: AgentLedgerHead;
  readonly ended: readonly string[]; // transaction ids
  readonly void?: readonly string[]; // hashes of transactions, as the signed entry has them
  readonly unreachable?: readonly string[]; // transaction ids
  readonly endable?: readonly string[];
  readonly recalled?: readonly string[]; // transaction ids
  readonly foreign?: readonly ForeignTransaction[];
  // no deposit address at or above this index has left, or leaves before the signer holds a higher
  // ceiling; left out if the signer's ceiling is high enough
  readonly ceiling?: number;
  readonly at: number;
}

/** A transaction of one of the agent's accounts that nobody here signed. */
export interface ForeignTransaction {
  readonly network: string;
  readonly account: string;
  readonly txHash: string;
}

/** Heartbeat, every 15 s both ways; `head` is the sender's newest known ledger head. */
export interface Heartbeat {
  readonly agent: string;
  readonly head: AgentLedgerHead | null;
  readonly at: number;
}

/**
 * Records of the ledger that the gateway needs, in ledger order, under the signer's signature. Sent
 * again until acknowledged.
 */
export interface Statement {
  readonly agent: string;
  readonly ledgerEpoch: number;
  readonly handshake: string; // Welcome.challenge of the newest welcome that the signer took; "" before the first
  readonly after: number; // seq of the last record that the receiver must hold, no more and no fewer
  // hash of that record, which tells this ledger from a copy that went another way; zeros for 0
  readonly previous: string;
  readonly head: AgentLedgerHead; // covers every entry
  readonly at: number;
  // digest of the limits that are in force in this run; sent after each welcome, left out elsewhere
  readonly policy?: string;
  // the order that began this recovered ledger; sent until the recovery is acknowledged, left out
  // elsewhere
  readonly recovered?: string;
  readonly entries: readonly Entry[];
}

export type Entry =
  | DecisionEntry
  | SignedEntry
  | ObservedEntry
  | AdoptedEntry
  | AlarmEntry
  | PausedEntry
  | CeilingEntry
  | RecoveredEntry
  | AskedEntry;

/**
 * The agent's answer to a withdrawal. refused and expired are final and were made before any
 * signature.
 */
export interface DecisionEntry {
  readonly kind: "decision";
  readonly seq: number;
  readonly at: number;
  readonly transactionId: string;
  readonly decision: "approved" | "held" | "refused" | "expired";
  readonly code: string; // "" when approved without remark, else from codes.ts
  readonly address: string; // destination in force ("" while a manual one has none)
}

/**
 * A transaction was signed for the withdrawal. Its bytes are not yet released when the gateway
 * first reads this.
 */
export interface SignedEntry {
  readonly kind: "signed";
  readonly seq: number;
  readonly at: number;
  readonly transactionId: string;
  readonly attempt: number; // 1 first, then replacements of the same slot
  readonly network: string;
  readonly account: string; // the sender
  readonly slot: string; // the slot; EVM: the nonce as a decimal string
  readonly txHash: string;
  readonly feeMax: string; // the most this attempt can cost, base units of the native coin
  /**
   * Chain time in milliseconds since 1970 after which no block takes the transaction any more.
   * Present exactly if the chain's family excludes a second payment by expiry.
   */
  readonly validUntilMs?: number;
  /**
   * The coin that all attempts of the withdrawal spend, in the family's own spelling. Present
   * exactly if the chain's family excludes a second payment by the pin.
   */
  readonly pin?: string;
  /**
   * The transaction is an operator's cancel: a zero payment to the account itself. Left out for a
   * payment.
   */
  readonly cancel?: true;
}

/**
 * An observation of the courier on chain. It is a claim, never proof; the gateway looks with its
 * own nodes.
 */
export interface ObservedEntry {
  readonly kind: "observed";
  readonly seq: number;
  readonly at: number;
  readonly transactionId: string;
  /** void: no block has this transaction, and none can take it any more. */
  readonly stage: "broadcast" | "included" | "final" | "void";
  /**
   * Set when final. conflicted: another transaction used the slot. cancelled: the agent's own zero
   * payment to itself used the slot. moved: the agent's own transaction is not what was asked for.
   */
  readonly outcome: "" | "paid" | "reverted" | "conflicted" | "cancelled" | "moved";
  readonly txHash: string;
}

/** The signer adopted the first slot of an account. */
export interface AdoptedEntry {
  readonly kind: "adopted";
  readonly seq: number;
  readonly at: number;
  readonly network: string;
  readonly account: string;
  readonly slot: string;
}

/** An event that an operator must see; `locked` if the signer stopped signing because of it. */
export interface AlarmEntry {
  readonly kind: "alarm";
  readonly seq: number;
  readonly at: number;
  readonly code: string;
  readonly locked: boolean;
}

/**
 * An operator at the agent stopped new signatures, or allows them again; jobs are decided still.
 * With `network`, only first attempts there: by the signer for `txHashes`, which its ledger knows
 * from then on, or by its operator; with `currency`, only in it, and `txHashes` are its own.
 */
export interface PausedEntry {
  readonly kind: "paused";
  readonly seq: number;
  readonly at: number;
  readonly paused: boolean;
  readonly network?: string;
  readonly currency?: string;
  readonly txHashes?: readonly string[]; // at most 16; left out if there is none
}

/** The ledger records that no deposit address at or above this index has left. */
export interface CeilingEntry {
  readonly kind: "ceiling";
  readonly seq: number;
  readonly at: number;
  readonly ceiling: number;
}

/**
 * This order began a recovered ledger, in the statement's epoch. The agent takes jobs from this
 * entry on. Earlier entries of the epoch repeat older records, in case the gateway lost them.
 */
export interface RecoveredEntry {
  readonly kind: "recovered";
  readonly seq: number;
  readonly at: number;
  readonly order: string; // Recovery.order
  // Recovery.held; with the newest job it lets the gateway recognise its own order
  readonly held: AgentLedgerHead | null;
  readonly sequence: number; // Recovery.jobs; the agent asks for the jobs after it
  readonly jobHash: string; // zeros exactly when sequence is 0
}

/**
 * A job at its position in the jobs, sent again to a gateway that may have lost it. The gateway
 * recognises its own signature. A job that only repeated an order takes a position without text.
 */
export interface AskedEntry {
  readonly kind: "asked";
  readonly seq: number;
  readonly at: number;
  readonly transactionId: string;
  // 0 if the job has no position any more, because it was asked before the recovery of the ledger
  readonly sequence: number;
  readonly jobHash: string;
  readonly job: string; // exact text, or "" with its signature
  readonly signature: string;
}

/**
 * The values that pairing binds, sent as exact text under a MAC with the API secret
 * (docs/protocol.md section 3).
 */
export interface PairingTranscript {
  readonly version: 1;
  readonly keyId: string;
  readonly gatewayFingerprint: string;
  readonly signerKey: string; // Ed25519 public key, hex
  readonly linkKey: string; // Ed25519 public key, hex
  readonly wallet: string; // fingerprint of all accounts
  readonly networks: readonly string[]; // CAIP-2 of every configured chain, sorted
  readonly accounts: readonly PairedAccount[]; // for each family the hot wallet, then the deposit account
  // sorted by id; the gateway refuses to pair when its own table differs
  readonly currencies: readonly PairedCurrency[];
  readonly nonce: string;
  readonly at: number;
}

/**
 * An account of the wallet as the gateway knows it. Each account's own key signs the transcript
 * that names the account.
 */
export interface PairedAccount {
  readonly family: string; // a name of the chains' own table
  readonly purpose: "hot" | "deposits";
  readonly id: string; // hot: its address; deposits: the text from which its addresses are derived
}

/**
 * The agent's own row for a currency that has a policy. The gateway reserves `maxFee` in addition
 * to the amount.
 */
export interface PairedCurrency {
  readonly id: string;
  readonly network: string;
  readonly contract: string; // "" native
  readonly decimal: number;
  readonly maxFee: string; // decimal string of the chain's native coin
}
