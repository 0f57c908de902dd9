/**
 * The messages of the agent's own processes to the signer, over its two AF_UNIX sockets. Types and
 * their limits; `line.ts` has the framing. One JSON object per line, at most courierLineBytesMax or
 * lineBytesMax. Amounts and slots beyond 2^53 are decimal strings; bytes are hex, but for complete
 * envelopes, which go as they are before the line (`frames`). Every verb is idempotent: a repeat
 * gets the same answer and changes nothing.
 */
import type { TxParams } from "../../chains/family.ts";
import type { JobMode } from "../../protocol/job-mode.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import type { Sightings } from "../../protocol/sightings.ts";
import type { ConfigRead } from "./config-read.ts";
import type { CourierStatus, WaitView } from "./courier-status.ts";
import type { BatchAnswers, BatchRequest, BatchVerb } from "./each.ts";
import type { FirstSlotView, SlotCountClaim } from "./first-slot.ts";
import { evidenceFramesMax, type FramedOffer } from "./offered.ts";
import type { OutgoingView, RecoveryPlan } from "./recovery-plan.ts";
import type { WithdrawalState } from "./states.ts";
import type { ForeignSpend, NetworkStop, PausedView, StoppedView } from "./stops.ts";
import type {
  CoinLookReport,
  EndPlan,
  ManualReplaceView,
  NoLimitRoomView,
  StuckView,
  UnreachableSlotOrCoinView,
} from "./stuck.ts";
import type { SignerSummary } from "./summary.ts";

/* The form of a line on either socket, before its verb is read. Only types. */

/** A line from client to signer. */
export type Request = { readonly id: number; readonly verb: string } & Readonly<
  Record<string, unknown>
>;
/** A line back. `effect` as in base/fault.ts. */
export type Answer =
  | ({ readonly id: number; readonly ok: true } & Readonly<Record<string, unknown>>)
  | {
      readonly id: number;
      readonly ok: false;
      readonly code: string;
      readonly detail: string;
      readonly effect: "none" | "done" | "unknown";
    };

/* The limits in force as operators see them, with the used part of each. Only types. */

/**
 * The limits of a currency in force and their used parts. Decimal strings of the currency, fees in
 * the native coin; "" if there is no such limit. Used: the larger sum of approved and assigned
 * amounts within the last 60 minutes or 24 hours.
 */
export interface LimitView {
  readonly currency: string;
  readonly network: string; // CAIP-2
  readonly contract: string; // "" for the native coin
  readonly maxPerWithdrawal: string;
  readonly maxPerHour: string;
  readonly maxPerDay: string;
  readonly holdAbove: string;
  readonly twoApproversAbove: string;
  readonly manualReplaceAbove: string;
  // 0 for no delay
  readonly newDestination: { readonly holdAbove: string; readonly delayMinutes: number };
  readonly maxFee: string;
  readonly maxFeePerDay: string;
  readonly maxTip: string;
  readonly tipUnit: string; // unit of maxTip, such as gwei; "" if the chain has no tip
  readonly allow: number; // destinations on the list, 0 for no list
  readonly deny: number;
  readonly usedInHour: string;
  readonly usedInDay: string;
  readonly usedFeesInDay: string;
  readonly sweeps: SweepLimitView | null; // null if sweeps are not allowed
}

/**
 * The limits of a currency's sweeps and their top-ups, with the used parts; decimal strings of the
 * native coin. The fee ceilings apply to each of the two kinds separately.
 */
export interface SweepLimitView {
  readonly maxFee: string;
  readonly maxFeePerDay: string;
  readonly usedFeesInDay: string;
  readonly maxTopUp: string;
  readonly maxTopUpPerDay: string;
  readonly usedTopUpsInDay: string;
  readonly usedTopUpFeesInDay: string;
}

export type { CourierStatus, WaitView } from "./courier-status.ts";
export type {
  OutgoingView,
  RecoveryAccountView,
  RecoveryPlan,
  RecoveryWithdrawalView,
} from "./recovery-plan.ts";
export type { WithdrawalState } from "./states.ts";
export type { ForeignSpend, NetworkStop, PausedView, StoppedView } from "./stops.ts";
export type {
  CoinLookReport,
  EndPlan,
  ManualReplaceView,
  NoLimitRoomView,
  StuckView,
  UnreachableSlotOrCoinView,
} from "./stuck.ts";

/** One signed attempt of a withdrawal. `raw` is present only after its release. */
export interface AttemptView {
  readonly attempt: number;
  readonly txHash: string;
  readonly txParams: TxParams | null; // null if only its highest fee is known
  readonly feeMax: string; // the highest cost, in units of the fee coin
  /** As `SignedEntry.pin`. */
  readonly pin?: string;
  readonly signedAt: number;
  readonly raw?: string;
  /** Chain time, milliseconds since 1970: as `SignedEntry.validUntilMs`. */
  readonly validUntilMs?: number;
  /**
   * The sides that have stated that it is void; absent before the first. Another attempt needs
   * both.
   */
  readonly voidBy?: "gateway" | "courier" | "both";
  /** A zero payment to the account itself. */
  readonly isCancel?: true;
  /**
   * Released already, but without its bytes: they are not in this ledger, or the withdrawal is
   * quarantined. The courier watches its hash.
   */
  readonly isOut?: true;
}

/** A withdrawal as the courier sees it: only the fields that it reads. */
export interface CourierView {
  readonly transactionId: string;
  readonly sequence: number;
  readonly mode: JobMode;
  readonly currency: string;
  readonly chain: string; // name in config.json
  readonly network: string; // CAIP-2
  readonly contract: string; // token contract, "" for the native coin
  readonly amount: string; // decimal string
  readonly amountUnits: string;
  readonly address: string;
  readonly tag: string; // "" for none
  readonly state: WithdrawalState;
  readonly code: string; // why held, refused, expired; "" otherwise
  readonly changedAt: number;
  readonly sender: string; // the address that pays, or will pay
  readonly account: string; // sender, "" before INTENT
  readonly slot: string; // its slot, "" before INTENT
  readonly attempts: readonly AttemptView[];
  /**
   * Nothing will happen to it any more: it ended unsigned, or the gateway has confirmed its end as
   * well.
   */
  readonly isOver: boolean;
  /**
   * While an operator must decide: the facts for an alert. The job, which the courier carried, has
   * both.
   */
  readonly awaited?: ApprovalDetails;
  /** Coins that each attempt has to spend, as `PinExclusion.coins` (`OwedCoins`). */
  readonly owed?: readonly string[];
}

/** The facts of a withdrawal that waits for an operator, for an alert. */
export interface ApprovalDetails {
  readonly order: string; // the shop's own reference
  readonly endsAtMs: number; // Unix milliseconds
}

/** A withdrawal as operators see it. No answer on the courier's socket has this type. */
export interface OperatorView extends CourierView {
  readonly orderId: string;
  readonly decimal: number;
  readonly requestedAt: number;
  readonly expiresAt: number;
  /** An operator has cancelled it; with exclusion by expiry, no other attempt follows. */
  readonly isCancelling?: boolean;
  /** The reason why `end` does not end one that no block takes yet; "" for none. */
  readonly left?: string;
  // named by an approval, so that nothing changes between view and yes
  readonly approvalDigest: string;
}

/**
 * The changing part of a withdrawal; all else stays as in its complete view. The answer to
 * `observed` has no bytes.
 */
export type ChangedWithdrawalPart = Pick<
  CourierView,
  "transactionId" | "state" | "code" | "changedAt" | "account" | "slot" | "attempts" | "isOver"
>;

export interface AccountView {
  readonly chain: string;
  readonly network: string;
  readonly address: string;
  readonly nextSlot: string; // "" until adopted
  readonly deposit?: true; // a deposit address that a sweep empties; else the hot wallet
}

/** The most frames of one request of the courier, and of one answer to it. */
export const requestFramesMax: number = evidenceFramesMax;
export const reportFramesMax = 8;

/** Requests on the courier socket, by verb. */
export interface CourierRequests {
  /** `config` is left out by a program that only looks. */
  hello: { readonly config?: ConfigRead };
  /** One complete jobs, welcome or recovery envelope. */
  admit: { readonly frames: readonly Uint8Array[] };
  sign: FramedOffer & { readonly transactionId: string };
  /**
   * Same slot, higher fee; with exclusion by expiry, the next attempt after all earlier ones are
   * void. `above` is the attempt to replace; a repeat returns the existing attempt.
   */
  replace: FramedOffer & { readonly transactionId: string; readonly above: number };
  /** One complete ack envelope, or one of sightings. */
  release: { readonly frames: readonly Uint8Array[] };
  sightings: { readonly frames: readonly Uint8Array[] };
  decline: { readonly transactionId: string; readonly code: string };
  observed: {
    readonly transactionId: string;
    readonly stage: "broadcast" | "included" | "final" | "void";
    readonly outcome: "" | "paid" | "reverted" | "conflicted" | "cancelled" | "moved";
    readonly txHash: string;
    // 0 if in no block; for a void attempt, the final block seen past its end
    readonly block: number;
    readonly quorum?: number; // only with void: the number of nodes that agreed
  };
  each: BatchRequest<CourierRequests[BatchVerb]>;
  adopt: SlotCountClaim;
  account: SlotCountClaim;
  /** Statements for everything after this seq that the gateway has not acknowledged. */
  report: { readonly after: number };
  foreign: ForeignSpend;
  unseen: CoinLookReport;
  /** The courier's view of link and nodes, for `status`. */
  tell: { readonly courier: CourierStatus };
}
export type CourierVerb = keyof CourierRequests;

/** Answers on the courier socket, by verb. */
export interface CourierAnswers {
  hello: {
    readonly agent: string;
    readonly ledgerEpoch: number;
    readonly wallet: string;
    readonly head: AgentLedgerHead;
    readonly acked: number; // seq up to which the gateway holds this ledger
    readonly nonce: string; // this run's id; the link's hello carries it, and the welcome must repeat it
    readonly handshakeDone: boolean;
    readonly locked: string; // lock code, "" when running
    readonly paused: boolean; // an operator stopped new signatures
    readonly stopped: readonly NetworkStop[]; // networks on which no first attempt is signed
    readonly config: ConfigRead; // the signer's
    readonly accounts: readonly AccountView[];
    // every withdrawal that is not over, with released bytes
    readonly open: readonly CourierView[];
  };
  // the withdrawals that this envelope touched; empty for a welcome
  admit: { readonly withdrawals: readonly CourierView[] };
  sign: { readonly withdrawal: ChangedWithdrawalPart };
  replace: { readonly withdrawal: ChangedWithdrawalPart };
  // newly released, with raw, and newly ended
  release: { readonly withdrawals: readonly ChangedWithdrawalPart[] };
  sightings: Pick<Sightings, "coins" | "next" | "orders">;
  decline: { readonly withdrawal: ChangedWithdrawalPart };
  observed: { readonly withdrawal: ChangedWithdrawalPart };
  each: BatchAnswers<{ readonly withdrawal: ChangedWithdrawalPart }>;
  adopt: { readonly account: AccountView };
  account: Record<never, never>;
  report: { readonly frames: readonly Uint8Array[] }; // statement envelopes, in order
  foreign: Record<never, never>;
  unseen: Record<never, never>;
  tell: { readonly summary: SignerSummary };
}

/**
 * Messages without a request. `statement` is for the gateway, one complete envelope with its place
 * in the ledger; `changed` follows a decision of an operator or the clock.
 */
export type PushMessage =
  | {
      readonly push: "statement";
      readonly frames: readonly Uint8Array[];
      readonly after: number;
      readonly head: AgentLedgerHead;
    }
  | { readonly push: "changed"; readonly withdrawal: CourierView }
  | { readonly push: "locked"; readonly code: string }
  | ({ readonly push: "paused"; readonly paused: boolean } & Partial<NetworkStop>)
  /** The resync is done, and the handshake of this run with it. */
  | { readonly push: "handshake" }
  /**
   * A recovery began a ledger in another epoch: reports about the earlier run do not count any
   * more, and the courier opens the link again.
   */
  | { readonly push: "recovered" };

export interface SignerStatus {
  readonly agent: string;
  readonly ledgerEpoch: number;
  readonly wallet: string;
  readonly head: AgentLedgerHead;
  readonly acked: number;
  readonly handshakeDone: boolean;
  readonly locked: string;
  readonly lockedDetail: string;
  /**
   * RECOVERY_OFFERED: a recovery offer waits for `recover`; RECOVERY_HOLD: both were restored and
   * everything is held until `finish`; else "".
   */
  readonly recovery: string;
  // a resync of the rolled-back gateway is under way; nothing new is taken meanwhile
  readonly isResyncing: boolean;
  // lead of both clocks over the newest block, if above an hour; 0 below that or without a block
  // from a node
  readonly clockAheadMs: number;
  readonly ledgerAheadMs: number; // lead of the newest record over this server's clock
  readonly paused: PausedView | null;
  /** Networks and currencies in which no first attempt is signed; absent if there is none. */
  readonly stopped?: readonly StoppedView[];
  /**
   * The withdrawal that has waited longer than `stuckAfterMinutes` of config.json; of several, the
   * one with the lowest slot.
   */
  readonly stuck: StuckView | null;
  /** Absent if no operator's order for another attempt is needed. */
  readonly manualReplace?: ManualReplaceView;
  /** Absent if no other attempt waits for a limit of the hour or the day. */
  readonly noRoom?: NoLimitRoomView;
  /** Absent if the gateway names no sweep that the chain cannot reach. */
  readonly unreachable?: UnreachableSlotOrCoinView;
  readonly ledgerWritable: boolean;
  readonly ledgerReadOnly?: true; // its file system is read-only
  readonly isolation: string; // level 0 to 3 with the reason, e.g. "level 0: one user"
  readonly encKeyFrom: string; // credential | file | terminal | config
  readonly nodesOfGateway: readonly string[]; // chains whose nodes come from the gateway's service
  readonly version: string; // the program's
  readonly startedAt: number;
  /**
   * The config.json in force: its path for operators, its digest (agent/config/digest.ts), the time
   * of reading.
   */
  readonly config: { readonly path: string; readonly digest: string; readonly readAt: number };
  // ledger time of the first decision under a different config.json than before, 0 before any
  readonly policyChangedAt: number;
  readonly policyDigest: string; // digest of the limits in force, as the gateway receives it
  // the limits that allow more than those of earlier decisions, a sentence each
  readonly policyLooser: readonly string[];
  readonly limits: readonly LimitView[]; // one for each currency that has a policy
  readonly freeBytes: number; // room on the ledger's disk, -1 if unknown
  readonly freeBytesMin: number; // nothing new is begun below this
  readonly counts: Readonly<Record<WithdrawalState, number>>;
  readonly accounts: readonly AccountView[];
  readonly courierConnected: boolean;
  /** The courier's last report on link and nodes; null before the first. */
  readonly courier: CourierStatus | null;
}

/**
 * An operator's wish for a withdrawal that does not continue. Numbers as the family writes them, ""
 * for the signer's own choice.
 */
export interface ReplacementWish {
  readonly transactionId: string;
  readonly act: "replace" | "cancel";
  readonly txParams: TxParams;
}

/** The attempt that would be made, or was made. */
export interface ReplacementPlan {
  readonly act: "replace" | "cancel"; // a replacement of a cancelled withdrawal is a cancel
  readonly attempt: number;
  // empty with exclusion by expiry: the order only allows another attempt, or none
  readonly txParams: TxParams;
}

/** The most characters of each text in the courier's status. */
export const statusTextMax = 1024;

/** The most withdrawals in one answer of `list`. */
export const withdrawalsListMax = 500;

/** The most characters of an operator's name; visible ASCII. */
export const approverMax = 64;

/** The withdrawals that `list` is about; each field that is missing lets all through. */
export interface ListFilter {
  readonly order?: string; // its orderId, complete
  readonly address?: string; // its destination, complete
  readonly since?: number; // ms since 1970
  readonly until?: number;
}

/** Requests on the operator socket. `approver` is the name that the caller gives, visible ASCII. */
export interface OperatorRequests {
  status: Record<never, never>;
  /** `since` and `until` are about the time of the request; `until` itself is left out. */
  list: { readonly openOnly: boolean; readonly limit: number } & ListFilter;
  /**
   * `address`: the destination that an approval would give, so that `wait` is about that address.
   */
  show: { readonly transactionId: string; readonly address?: string };
  /**
   * `digest` is OperatorView.approvalDigest as shown; `address` only if the withdrawal has none.
   */
  approve: {
    readonly transactionId: string;
    readonly digest: string;
    readonly address: string;
    readonly approver: string;
  };
  refuse: { readonly transactionId: string; readonly approver: string };
  /** Shows the attempt to be made (`plan` null), or makes exactly the one that was shown. */
  manualReplacement: ReplacementWish & {
    readonly plan: ReplacementPlan | null;
    readonly approver: string;
  };
  /** Shows the effect of ending a sweep that the chain cannot reach (`slot` ""), or ends it. */
  end: { readonly transactionId: string; readonly slot: string; readonly approver: string };
  /**
   * Frees a coin that a closed withdrawal has spent, named without its amount; `isLook` only shows
   * the withdrawal.
   */
  freeCoin: {
    readonly chain: string;
    readonly coin: string;
    readonly approver: string;
    readonly isLook?: boolean;
  };
  /**
   * Stops new signatures, or allows them again; with the name of a chain, first attempts there.
   * With a currency, which the signer itself stopped, first attempts in it are allowed again.
   */
  pause: {
    readonly paused: boolean;
    readonly approver: string;
    readonly network?: string;
    readonly currency?: string;
  };
  /**
   * Shows the ledger that the gateway's order would begin (`digest` ""), or begins the one that was
   * shown. `both`: the gateway was restored too. `uncounted`: names of chains that are recovered
   * without a count of their nodes. A repeat is refused, because the first has used the order up.
   */
  recover: {
    readonly digest: string;
    readonly bothRestored: boolean;
    readonly uncounted?: readonly string[];
  };
  /**
   * Ends the hold after both were restored: policy decides by itself again. Held and quarantined
   * withdrawals stay so. `isLook` only shows.
   */
  finish: { readonly isLook?: boolean };
  // slot: "" only shows; any other must be the nodes' count. address: a deposit address that is
  // swept; absent for the hot wallet
  adopt: { readonly chain: string; readonly slot: string; readonly address?: string };
  /** Reads the complete ledger back and checks every hash. */
  verify: Record<never, never>;
}
export type OperatorVerb = keyof OperatorRequests;
export interface OperatorAnswers {
  status: { readonly status: SignerStatus };
  list: { readonly withdrawals: readonly OperatorView[] };
  show: {
    readonly withdrawal: OperatorView;
    readonly history: readonly LedgerLine[];
    readonly wait: WaitView | null;
    readonly outgoing: readonly OutgoingView[]; // transactions that may have paid it already
  };
  /**
   * `wait` is present while a second operator's yes is needed, or if this operator had approved
   * before.
   */
  approve: { readonly withdrawal: OperatorView; readonly wait: WaitView | null };
  refuse: { readonly withdrawal: OperatorView };
  manualReplacement: {
    readonly withdrawal: OperatorView;
    readonly plan: ReplacementPlan;
    // the chain's fee market by the courier's last report, decimal strings; null if it knows none
    readonly feeMarket: Readonly<Record<string, string>> | null;
  };
  end: { readonly withdrawal: OperatorView; readonly plan: EndPlan };
  freeCoin: { readonly spent: SpentCoinView };
  pause: { readonly paused: boolean; readonly network?: string; readonly currency?: string };
  recover: { readonly plan: RecoveryPlan; readonly done: boolean };
  finish: {
    readonly held: number;
    readonly quarantined: number;
    // transactions without an order since the recovery
    readonly outgoing: readonly OutgoingView[];
  };
  adopt: { readonly first: FirstSlotView };
  verify: { readonly records: number; readonly segments: number; readonly head: AgentLedgerHead };
}

/** A coin, and the newest closed withdrawal that has spent it. */
export interface SpentCoinView {
  readonly chain: string;
  readonly network: string;
  readonly coin: string; // without its amount
  readonly transactionId: string;
  readonly orderId: string;
  readonly state: WithdrawalState;
  readonly txHash: string; // of its transaction that spent the coin; "" if another one did
  readonly isFree: boolean; // an operator has freed it since
}

export interface LedgerLine {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly detail: string;
}
