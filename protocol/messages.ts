/**
 * What agent and gateway say to each other, as types. The bytes around them are `envelope.ts`; the
 * rules are docs/protocol.md sections 4 to 7. Every payload is one JSON object, parsed by the
 * strict parser after its signature was verified. Hashes and keys are lower-case hex; times are
 * milliseconds since 1970; amounts are decimal strings of the currency.
 */

import type { JobMode } from "./job-mode.ts";

/**
 * Path of the agents' WebSocket on the gateway.
 * @public
 */
export const linkPath = "/agent/v1/link";

/**
 * A position in an agent's ledger: the record's number (1 is the first) and its hash (32 bytes as
 * hex).
 * @public
 */
export interface Head {
  readonly seq: number;
  readonly hash: string;
}

/**
 * Kinds of envelope: the byte on the wire, and who signs it. The names are part of what is signed.
 * @public
 */
export const envelopeKinds = {
  challenge: 1, // gateway key
  hello: 2, // agent's link key
  welcome: 3, // gateway key
  jobs: 4, // gateway key
  ack: 5, // gateway key
  statement: 6, // agent's signer key
  beat: 7, // gateway key one way, link key the other
  recovery: 8, // gateway key; its payload is recovery.ts
} as const;
/** @public */
export type EnvelopeKind = keyof typeof envelopeKinds;

/**
 * First frame on a link: the gateway asks who is there.
 * @public
 */
export interface Challenge {
  readonly nonce: string; // 32 random bytes, hex; answered in Hello
  readonly at: number;
}

/**
 * The agent's answer, signed by its link key.
 * @public
 */
export interface Hello {
  readonly agent: string;
  readonly epoch: number;
  readonly answers: string; // the challenge's nonce
  // 32 random bytes made by the SIGNER for this run; the welcome must answer it
  readonly nonce: string;
  readonly software: string;
  readonly open: readonly OpenSlots[];
  readonly at: number;
}

/**
 * Tokens of one account between which withdrawals of the agent's ledger are open, as far as the
 * courier serves them.
 * @public
 */
export interface OpenSlots {
  readonly network: string;
  readonly account: string;
  readonly first: string;
  readonly last: string; // not below the first
}

/**
 * The gateway's greeting: what it durably knows of this agent. The signer signs nothing before it
 * has seen one for its run.
 * @public
 */
export interface Welcome {
  readonly agent: string;
  readonly wallet: string;
  readonly epoch: number;
  readonly challenge: string; // Challenge.nonce of this connection, for the signer to repeat
  readonly answers: string; // Hello.nonce
  readonly echo: Head | null; // newest ledger head in the gateway's database; null before the first
  // newest job of the chain; 0 and 64 zeros before the first
  readonly jobs: { readonly sequence: number; readonly hash: string };
  readonly at: number;
}

/**
 * A list of jobs. Each job is the exact text that was chained; resending keeps the text and renews
 * echo and time.
 * @public
 */
export interface Jobs {
  readonly agent: string;
  readonly wallet: string;
  readonly epoch: number;
  readonly echo: Head | null;
  readonly at: number;
  readonly jobs: readonly string[]; // JSON texts of Job, rising sequence
  readonly signatures: readonly string[]; // of each text, by the gateway
}

/**
 * One job: one withdrawal asked of one agent. `jobHash(text)` of this one is `previous` of the
 * next.
 * @public
 */
export interface Job {
  readonly agent: string;
  readonly wallet: string;
  readonly network: string; // CAIP-2, e.g. eip155:1; must equal the agent's own table for the currency
  readonly epoch: number; // at issue; never above the envelope's
  readonly sequence: number; // 1, 2, 3, … per agent without gaps
  readonly previous: string; // hash of job sequence-1; 64 zeros for the first
  readonly issuedAt: number;
  readonly expiresAt: number; // after this only a refusal may follow while nothing is signed
  readonly mode: JobMode;
  readonly transactionId: string;
  readonly orderId: string;
  readonly currency: string;
  readonly amount: string; // decimal string in canonical form
  // canonical form of the chain; "" when manual, and always in a sweep and a top-up: the agent
  // alone says where those go
  readonly address: string;
  readonly tag: string;
  /**
   * The address for deposits that a sweep empties or a top-up fills, with its place; else absent.
   */
  readonly depositIndex?: number;
  readonly depositAddress?: string;
  /**
   * For a sweep: the slot that its address gives next, as the gateway knows it; absent where the
   * chain counts none.
   */
  readonly depositNext?: string;
}

/**
 * The gateway's database durably holds the ledger's entries up to this head. Opens the release
 * gate. `ended`: withdrawals that the chain has ended for good, as the gateway's own nodes agree;
 * the signer forgets their bytes on this word alone. `dead`: signed transactions that no block can
 * take any more and none has, as the gateway's own nodes agree; left out where there is none, as it
 * always is where a slot excludes. `unreachable`: open sweeps whose slot the chain's final count
 * cannot reach, all of them in each ack; left out where there is none.
 * @public
 */
export interface Ack {
  readonly agent: string;
  readonly epoch: number;
  readonly head: Head;
  readonly ended: readonly string[]; // transaction ids
  readonly dead?: readonly string[]; // hashes of transactions, as the signed entry has them
  readonly unreachable?: readonly string[]; // transaction ids
  // no address for deposits at or above this place has left, or leaves before the signer holds a
  // higher one; left out where the signer holds enough
  readonly ceiling?: number;
  readonly at: number;
}

/**
 * Heartbeat, every 15 s both ways; `head` is the sender's newest known ledger head.
 * @public
 */
export interface Beat {
  readonly agent: string;
  readonly head: Head | null;
  readonly at: number;
}

/**
 * Ledger facts the gateway needs, in ledger order, under the signer's signature; resent until
 * acknowledged.
 * @public
 */
export interface Statement {
  readonly agent: string;
  readonly epoch: number;
  readonly greeted: string; // Welcome.challenge of the newest welcome that the signer took; "" while it has taken none
  readonly after: number; // the receiver holds the ledger up to this seq, no less and no more
  // hash of that record: of this very ledger, not of a copy that went another way; zeros for 0
  readonly previous: string;
  readonly head: Head; // covers every entry
  readonly at: number;
  // digest of the limits that the signer goes by in this run; said after each greeting, left out
  // elsewhere
  readonly policy?: string;
  // the order that opened this ledger; said until its opening is acknowledged, left out elsewhere
  readonly opened?: string;
  readonly entries: readonly Entry[];
}

/** @public */
export type Entry =
  | DecisionEntry
  | SignedEntry
  | ObservedEntry
  | AdoptedEntry
  | AlarmEntry
  | PausedEntry
  | CeilingEntry
  | OpenedEntry
  | AskedEntry;

/**
 * The agent's answer to a withdrawal. refused and expired are final and were made before any
 * signature.
 * @public
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
 * A transaction was signed for the withdrawal; not yet released when the gateway first reads this.
 * @public
 */
export interface SignedEntry {
  readonly kind: "signed";
  readonly seq: number;
  readonly at: number;
  readonly transactionId: string;
  readonly version: number; // 1 first, then fee bumps of the same slot
  readonly network: string;
  readonly account: string; // paying address
  readonly slot: string; // exclusion token, EVM: the nonce as a decimal string
  readonly txHash: string;
  readonly feeMax: string; // the most this version can cost, base units of the native coin
  /**
   * Chain time, milliseconds since 1970, at whose passing no block takes it any more. There exactly
   * where the chain's family excludes a second payment by waiting.
   */
  readonly until?: number;
  /** It pays nothing, to the account itself: a person's cancel. Left out of what pays. */
  readonly cancel?: true;
}

/**
 * What the courier saw on chain: a claim, never proof; the gateway looks for itself.
 * @public
 */
export interface ObservedEntry {
  readonly kind: "observed";
  readonly seq: number;
  readonly at: number;
  readonly transactionId: string;
  /** dead: no block can take this transaction any more, and none has it. */
  readonly stage: "broadcast" | "included" | "final" | "dead";
  /**
   * Set when final. lost: another transaction consumed the token; cancelled: a payment of nothing
   * to oneself did, of the agent's own.
   */
  readonly outcome: "" | "paid" | "reverted" | "lost" | "cancelled";
  readonly txHash: string;
}

/**
 * The signer adopted an account's first counter.
 * @public
 */
export interface AdoptedEntry {
  readonly kind: "adopted";
  readonly seq: number;
  readonly at: number;
  readonly network: string;
  readonly account: string;
  readonly slot: string;
}

/**
 * Something a person must see; `locked` when the signer stopped signing over it.
 * @public
 */
export interface AlarmEntry {
  readonly kind: "alarm";
  readonly seq: number;
  readonly at: number;
  readonly code: string;
  readonly locked: boolean;
}

/**
 * A person at the agent stopped new signatures, or lets them go on. Orders are still taken and
 * decided.
 * @public
 */
export interface PausedEntry {
  readonly kind: "paused";
  readonly seq: number;
  readonly at: number;
  readonly paused: boolean;
}

/**
 * The ledger holds that no address for deposits at or above this place has left.
 * @public
 */
export interface CeilingEntry {
  readonly kind: "ceiling";
  readonly seq: number;
  readonly at: number;
  readonly ceiling: number;
}

/**
 * A new ledger was opened by this order, in the statement's epoch: from this entry on jobs are
 * taken. What stands before it in the epoch is told again, for a gateway that may have lost it.
 * @public
 */
export interface OpenedEntry {
  readonly kind: "opened";
  readonly seq: number;
  readonly at: number;
  readonly order: string; // Recovery.order
  // Recovery.held: by this and the newest job the gateway knows its own order
  readonly held: Head | null;
  readonly sequence: number; // Recovery.jobs: the agent asks for those after it
  readonly jobHash: string; // zeros exactly when sequence is 0
}

/**
 * A job at its place in the chain, told again to a gateway that may have lost it: the gateway knows
 * it by its own signature. A job that only repeated an order has no text here; its place is taken
 * all the same.
 * @public
 */
export interface AskedEntry {
  readonly kind: "asked";
  readonly seq: number;
  readonly at: number;
  readonly transactionId: string;
  // 0 where it stands in no chain any more: it was asked before the ledger was opened
  readonly sequence: number;
  readonly jobHash: string;
  readonly job: string; // exact text, or "" with its signature
  readonly signature: string;
}

/**
 * What pairing binds, sent as exact text under a MAC with the API secret (docs/protocol.md section
 * 3).
 * @public
 */
export interface PairingTranscript {
  readonly version: 2;
  readonly keyId: string;
  readonly gatewayFingerprint: string;
  readonly signerKey: string; // Ed25519 public key, hex
  readonly linkKey: string; // Ed25519 public key, hex
  readonly wallet: string; // fingerprint of all accounts
  readonly networks: readonly string[]; // CAIP-2 of every configured chain, sorted
  readonly accounts: readonly PairedAccount[]; // of each family the hot one, then the one for deposits
  // sorted by id; the gateway refuses to pair when its own table differs
  readonly currencies: readonly PairedCurrency[];
  readonly nonce: string;
  readonly at: number;
}

/**
 * An account of the wallet, as others know it. Each account's own key signs the transcript that
 * names it.
 * @public
 */
export interface PairedAccount {
  readonly family: string; // a name of the chains' own table
  readonly purpose: "hot" | "deposits";
  readonly id: string; // hot: its address; deposits: the text that its addresses are derived from
}

/**
 * The agent's own row for a currency it has a policy for; `maxFee` is what the gateway reserves
 * beside the amount.
 * @public
 */
export interface PairedCurrency {
  readonly id: string;
  readonly network: string;
  readonly contract: string; // "" native
  readonly decimal: number;
  readonly maxFee: string; // decimal string of the chain's native coin
}
