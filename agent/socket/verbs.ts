/**
 * What the agent's own processes say to the signer over its two AF_UNIX sockets. Types and their limits: framing is `line.ts`.
 * One JSON object per line, at most lineBytesMax; amounts and counters beyond 2^53 are decimal strings; bytes are hex, whole
 * envelopes base64. Every verb is idempotent: asking again gives the same answer and changes nothing.
 */
import type { Head } from "../../protocol/messages.ts";
import type { SignerSummary } from "./summary.ts";

/** @public */
export type WithdrawalState =
  | "held" // waits for a person
  | "approved" // policy said yes, nothing bound yet
  | "intent" // token bound and recorded, not yet signed
  | "signed" // signed, bytes still inside the signer
  | "released" // the gateway durably knows the txHash; bytes may be broadcast
  | "broadcast"
  | "included"
  | "paid" // final, success (the courier's word)
  | "reverted" // final, failed on chain
  | "lost" // another transaction consumed the token
  | "refused" // final, nothing was ever signed
  | "expired" // final, nothing was ever signed
  | "quarantined" // open at a recovery with its token bound: only watched, until a person approves it
  | "settled"; // final: a recovery found that the gateway counts it as ended

/**
 * One signed version of a withdrawal. `raw` is present only once released.
 * @public
 */
export interface VersionView {
  readonly version: number;
  readonly txHash: string;
  readonly gasLimit: string;
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
  readonly signedAt: number;
  readonly raw?: string;
  /** Out already, but its bytes are not given: not in this ledger, or the withdrawal is quarantined. Its hash is to be watched. */
  readonly isOut?: true;
}

/**
 * A withdrawal as courier and operators see it.
 * @public
 */
export interface WithdrawalView {
  readonly transactionId: string;
  readonly orderId: string;
  readonly sequence: number;
  readonly mode: "auto" | "manual";
  readonly currency: string;
  readonly chain: string; // name in config.json
  readonly network: string; // CAIP-2
  readonly contract: string; // token contract, "" for the native coin
  readonly decimal: number;
  readonly amount: string; // decimal string
  readonly amountUnits: string;
  readonly address: string;
  readonly tag: string;
  readonly state: WithdrawalState;
  readonly code: string; // why held, refused, expired; "" otherwise
  readonly requestedAt: number;
  readonly changedAt: number;
  readonly expiresAt: number;
  readonly account: string; // paying address
  readonly nonce: string; // bound token, "" before INTENT
  readonly versions: readonly VersionView[];
  readonly approvalDigest: string; // what an approve must name, so that nothing changes between view and yes
}

/**
 * What moves as a withdrawal goes on; all else stays as in the whole view of it. `observed` is answered without bytes.
 * @public
 */
export type WithdrawalStep = Pick<
  WithdrawalView,
  "transactionId" | "state" | "code" | "changedAt" | "account" | "nonce" | "versions"
>;

/**
 * What the courier claims about fees: clamped by policy, never trusted for anything else. Decimal strings, wei.
 * @public
 */
export interface EvmFacts {
  readonly gasLimit: string;
  readonly maxFeePerGas: string;
  readonly maxPriorityFeePerGas: string;
}

/** @public */
export interface AccountView {
  readonly chain: string;
  readonly network: string;
  readonly address: string;
  readonly nextNonce: string; // "" until adopted
}

/**
 * Requests on the courier socket, by verb.
 * @public
 */
export interface CourierRequests {
  hello: Record<never, never>;
  /** A jobs, welcome or recovery envelope, whole, base64. */
  admit: { readonly frame: string };
  sign: { readonly transactionId: string; readonly facts: EvmFacts };
  /** Same token, higher fee. `above` is the version being replaced; a repeat answers the version already made. */
  replace: { readonly transactionId: string; readonly above: number; readonly facts: EvmFacts };
  /** An ack envelope, whole, base64. */
  release: { readonly frame: string };
  decline: { readonly transactionId: string; readonly code: string };
  observed: {
    readonly transactionId: string;
    readonly stage: "broadcast" | "included" | "final";
    readonly outcome: "" | "paid" | "reverted" | "lost";
    readonly txHash: string;
    readonly block: number; // 0 when not in a block
  };
  /** First counter of an account; only while none exists. `witnesses` nodes agreed on latest = pending = final = nonce. */
  adopt: { readonly chain: string; readonly nonce: string; readonly witnesses: number };
  /** The account's final transaction count as `witnesses` agreeing nodes give it. Above the ledger's own: alarm, then lock. */
  account: { readonly chain: string; readonly nonce: string; readonly witnesses: number };
  /** Statements for everything after this seq that the gateway has not acknowledged. */
  report: { readonly after: number };
  /** The courier's view of link and nodes, for `status`. */
  tell: { readonly courier: CourierStatus };
}
/** @public */
export type CourierVerb = keyof CourierRequests;

/**
 * Answers on the courier socket, by verb.
 * @public
 */
export interface CourierAnswers {
  hello: {
    readonly agent: string;
    readonly epoch: number;
    readonly wallet: string;
    readonly head: Head;
    readonly acked: number; // seq up to which the gateway holds this ledger
    readonly nonce: string; // this run's; the link's hello carries it, the welcome must answer it
    readonly greeted: boolean;
    readonly locked: string; // lock code, "" when running
    readonly accounts: readonly AccountView[];
    readonly open: readonly WithdrawalView[]; // everything not final, released bytes included
  };
  admit: { readonly withdrawals: readonly WithdrawalView[] }; // the ones this envelope touched; empty for a welcome
  sign: { readonly withdrawal: WithdrawalStep };
  replace: { readonly withdrawal: WithdrawalStep };
  release: { readonly withdrawals: readonly WithdrawalStep[] }; // newly released, raw included
  decline: { readonly withdrawal: WithdrawalStep };
  observed: { readonly withdrawal: WithdrawalStep };
  adopt: { readonly account: AccountView };
  account: Record<never, never>;
  report: { readonly frames: readonly string[] }; // statement envelopes, base64, in order
  tell: { readonly summary: SignerSummary };
}

/**
 * Sent without being asked. `statement` is for the gateway, a whole envelope as base64 with its place in the ledger beside it;
 * `changed` after an operator or the clock decided.
 * @public
 */
export type Push =
  | { readonly push: "statement"; readonly frame: string; readonly after: number; readonly head: Head }
  | { readonly push: "changed"; readonly withdrawal: WithdrawalView }
  | { readonly push: "locked"; readonly code: string }
  /** A recovery gave the ledger another epoch: whatever was told of the run before counts no more, and the link is dialled anew. */
  | { readonly push: "recovered" };

/** @public */
export interface SignerStatus {
  readonly agent: string;
  readonly epoch: number;
  readonly wallet: string;
  readonly head: Head;
  readonly acked: number;
  readonly greeted: boolean;
  readonly locked: string;
  readonly lockedDetail: string;
  /** RECOVERY_OFFERED: an order is here and waits for `recover`; RECOVERY_HOLD: recovered, all is held until `finish`; else "". */
  readonly recovery: string;
  readonly ledgerWritable: boolean;
  readonly isolation: string; // L0 … L3 with the reason, e.g. "L0 one user"
  readonly encKeyFrom: string; // credential | file | terminal | config
  readonly version: string; // of the program
  readonly startedAt: number;
  /** The config.json in force: where it lies for a person, what it says as a digest (agent/config/digest.ts), when it was read. */
  readonly config: { readonly path: string; readonly digest: string; readonly readAt: number };
  readonly policyChangedAt: number; // ledger time of the first decision under another config.json than before, 0 before any
  readonly limits: readonly LimitView[]; // one a currency that has a policy
  readonly freeBytes: number; // room on the ledger's disk, -1 when it cannot be told
  readonly freeBytesMin: number; // below it nothing new is begun
  readonly counts: Readonly<Record<WithdrawalState, number>>;
  readonly accounts: readonly AccountView[];
  readonly courierConnected: boolean;
  /** The courier's own last word about link and nodes, as it told the signer; null when it never did. */
  readonly courier: CourierStatus | null;
}

/**
 * The limits of a currency in force and how much of them is used. Decimal strings of the currency, fees of the chain's own coin; ""
 * where there is no such limit. Used: the larger sum of what was approved and what was bound within the last 60 minutes or 24 hours.
 * @public
 */
export interface LimitView {
  readonly currency: string;
  readonly maxPerWithdrawal: string;
  readonly maxPerHour: string;
  readonly maxPerDay: string;
  readonly holdAbove: string;
  readonly twoApproversAbove: string;
  readonly newDestination: { readonly holdAbove: string; readonly delayMinutes: number }; // 0 for no delay
  readonly maxFee: string;
  readonly maxFeePerDay: string;
  readonly allow: number; // destinations on the list, 0 for no list
  readonly deny: number;
  readonly usedInHour: string;
  readonly usedInDay: string;
  readonly usedFeesInDay: string;
}

/**
 * Most characters of each text in the courier's status.
 * @public
 */
export const statusTextMax = 1024;

/**
 * The courier's view of the outside, given to the signer with `tell` so that `status` has one place to ask.
 * @public
 */
export interface CourierStatus {
  readonly at: number;
  readonly link: "up" | "down";
  readonly linkDetail: string; // why down, since when, next try
  readonly chains: readonly {
    readonly chain: string;
    readonly ok: boolean;
    readonly isAsking: boolean; // not ok yet only because no node has answered or failed to
    readonly detail: string; // last block seen, or what is wrong
    readonly block: number;
    readonly nativeBalance: string; // wei at the last final block, "" when unknown
  }[];
  readonly waiting: readonly { readonly transactionId: string; readonly why: string }[]; // e.g. funds, fee ceiling
  /** Median time from a job frame's arrival to its signature on disk, over the newest 256; microseconds, 0 before the first. */
  readonly durableMedianUs: number;
  readonly configDigest: string; // of the config.json the courier goes by
  /** How telling somebody goes (`notify`); null when nobody is to be told. */
  readonly notify: { readonly ok: boolean; readonly detail: string } | null;
  readonly lowFunds: readonly { readonly currency: string; readonly has: string; readonly wanted: string }[]; // decimal strings
}

/**
 * One account in a recovery. Counters are decimal strings, "" where nothing is known.
 * @public
 */
export interface RecoveryAccountView {
  readonly network: string;
  readonly account: string;
  readonly ledgerNext: string;
  readonly gatewayNext: string;
  readonly chainCount: string; // final transactions, as the courier's nodes agree
  readonly next: string; // the first token that will be given to anybody
  /** Tokens that earlier recoveries passed over, that no open withdrawal has and that the gateway does not know any more: at most these. */
  readonly passed: number;
  readonly passedFrom: string; // the first of them, "" for none
}

/**
 * What a recovery would do to one withdrawal. `here` is its state in this ledger, "" when the ledger does not know it.
 * @public
 */
export interface RecoveryWithdrawalView {
  readonly transactionId: string;
  readonly orderId: string;
  readonly currency: string;
  readonly amount: string;
  readonly address: string;
  readonly here: WithdrawalState | "";
  readonly becomes: "held" | "quarantined" | "settled";
  readonly nonce: string; // its token for life, "" without one
  readonly txHashes: readonly string[]; // known versions, "" for one that was never signed
}

/**
 * Everything a yes to a recovery is a yes to. `withdrawals` may be cut; `digest` covers all of them.
 * @public
 */
export interface RecoveryPlan {
  readonly digest: string;
  readonly order: string;
  readonly at: number; // when the gateway made the order
  readonly epoch: number;
  readonly newEpoch: number;
  readonly locked: string;
  readonly lockedDetail: string;
  readonly head: Head; // of this ledger
  readonly gatewayHead: Head | null;
  /**
   * The gateway's head is in this ledger: then it is the gateway that went back, and it is told again what it lost. If not, this ledger
   * went back, or the gateway to before an earlier recovery.
   */
  readonly isGatewayBehind: boolean;
  /** It lacks nothing that it ever confirmed, as after a crash: neither side went back, or both together. */
  readonly isOnlyUnheard: boolean;
  /** No person has ended the recovery before this one: what it warned of may be known by now in part, and holds on all the same. */
  readonly isUnfinished: boolean;
  readonly jobs: { readonly here: number; readonly gateway: number };
  readonly accounts: readonly RecoveryAccountView[];
  readonly withdrawals: readonly RecoveryWithdrawalView[];
  readonly held: number;
  readonly quarantined: number;
  readonly settled: number;
  readonly imported: number; // of the first two, how many this ledger had forgotten
  readonly restated: number; // facts told to the gateway again
}

/**
 * What a person who decides should know of a withdrawal that waits, beyond the withdrawal itself.
 * @public
 */
export interface WaitView {
  readonly until: number; // when policy decides by itself, 0 when it never does
  readonly isNew: boolean; // nothing was ever paid to the destination on its network
  /** The paid destination that it could be taken for, with the last payment to it. */
  readonly likeness: { readonly address: string; readonly at: number; readonly amount: string; readonly currency: string } | null;
  readonly needsTwo: boolean; // two people must say yes
  readonly confirmed: { readonly approver: string; readonly address: string; readonly at: number } | null; // the first yes of two
}

/**
 * Most characters of the name that whoever decides gives; visible ASCII.
 * @public
 */
export const approverMax = 64;

/**
 * Requests on the operator socket. `approver` is a name that whoever asks gives themselves, visible ASCII.
 * @public
 */
export interface OperatorRequests {
  status: Record<never, never>;
  list: { readonly openOnly: boolean; readonly limit: number };
  /** `address`: where an approve would send one that has no address, so that `wait` is of that. */
  show: { readonly transactionId: string; readonly address?: string };
  /** `digest` is WithdrawalView.approvalDigest as shown; `address` only when the withdrawal has none. */
  approve: { readonly transactionId: string; readonly digest: string; readonly address: string; readonly approver: string };
  refuse: { readonly transactionId: string; readonly approver: string };
  /** Shows what the gateway's order would do (`digest` ""), or does exactly that. */
  recover: { readonly digest: string };
  /** Ends a recovery: policy decides by itself again. What is still held or quarantined stays so. */
  finish: Record<never, never>;
  /** Reads the whole ledger back and checks every hash. */
  verify: Record<never, never>;
}
/** @public */
export type OperatorVerb = keyof OperatorRequests;
/** @public */
export interface OperatorAnswers {
  status: { readonly status: SignerStatus };
  list: { readonly withdrawals: readonly WithdrawalView[] };
  show: { readonly withdrawal: WithdrawalView; readonly history: readonly LedgerLine[]; readonly wait: WaitView | null };
  /** `wait` is there while a second person's yes is wanted, or this one's was there before. */
  approve: { readonly withdrawal: WithdrawalView; readonly wait: WaitView | null };
  refuse: { readonly withdrawal: WithdrawalView };
  recover: { readonly plan: RecoveryPlan; readonly done: boolean };
  finish: { readonly held: number; readonly quarantined: number };
  verify: { readonly records: number; readonly segments: number; readonly head: Head };
}
/** @public */
export interface LedgerLine {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly detail: string;
}

/**
 * A line from client to signer.
 * @public
 */
export type Request = { readonly id: number; readonly verb: string } & Readonly<Record<string, unknown>>;
/**
 * A line back. `effect` as in protocol/fault.ts.
 * @public
 */
export type Answer =
  | ({ readonly id: number; readonly ok: true } & Readonly<Record<string, unknown>>)
  | {
      readonly id: number;
      readonly ok: false;
      readonly code: string;
      readonly detail: string;
      readonly effect: "none" | "done" | "unknown";
    };
