/**
 * What the agent's own processes say to the signer over its two AF_UNIX sockets. Types and their
 * limits: framing is `line.ts`. One JSON object per line, at most lineBytesMax; amounts and
 * counters beyond 2^53 are decimal strings; bytes are hex, whole envelopes base64. Every verb is
 * idempotent: asking again gives the same answer and changes nothing.
 */

import type { Facts } from "../../chains/family.ts";
import type { JobMode } from "../../protocol/job-mode.ts";
import type { Head } from "../../protocol/messages.ts";
import type { CourierStatus, WaitView } from "./courier-status.ts";
import type { EachAnswers, EachRequest, EachVerb } from "./each.ts";
import type { CountRequest, FirstSlotView } from "./first-slot.ts";
import type { LimitView } from "./limit-view.ts";
import type { RecoveryPlan, SpendView } from "./recovery-plan.ts";
import type { WithdrawalState } from "./states.ts";
import type { EndPlan, NoRoomView, ResignView, StuckView, UnreachableView } from "./stuck.ts";
import type { SignerSummary } from "./summary.ts";

export type { CourierStatus, WaitView } from "./courier-status.ts";
export type { LimitView, SweepLimitView } from "./limit-view.ts";
export type { RecoveryAccountView, RecoveryPlan, RecoveryWithdrawalView, SpendView } from "./recovery-plan.ts";
export type { WithdrawalState } from "./states.ts";
export type { EndPlan, NoRoomView, ResignView, StuckView, UnreachableView } from "./stuck.ts";

/**
 * One signed version of a withdrawal. `raw` is present only once released.
 * @public
 */
export interface VersionView {
  readonly version: number;
  readonly txHash: string;
  readonly facts: Facts | null; // null when only the sum of its fees is known
  readonly feeMax: string; // the most it may cost, in units of the fee coin
  readonly signedAt: number;
  readonly raw?: string;
  /** Chain time, milliseconds since 1970: as `SignedEntry.until`. */
  readonly until?: number;
  /** Who has said that it is dead; absent while nobody has. Another version needs both. */
  readonly dead?: "gateway" | "courier" | "both";
  /** Pays nothing, to the paying account itself. */
  readonly isCancel?: true;
  /**
   * Out already, but its bytes are not given: not in this ledger, or the withdrawal is quarantined.
   * Its hash is to be watched.
   */
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
  readonly mode: JobMode;
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
  readonly payer: string; // the address that pays, or will
  readonly account: string; // paying address, "" before INTENT
  readonly slot: string; // bound to it, "" before INTENT
  readonly versions: readonly VersionView[];
  /**
   * Nothing will happen to it any more: it ended unsigned, or the gateway has said as well that it
   * ended.
   */
  readonly isOver: boolean;
  /** A person has cancelled it: where versions end by waiting, no other one follows. */
  readonly isCancelling?: boolean;
  // what an approve must name, so that nothing changes between view and yes
  readonly approvalDigest: string;
}

/**
 * What moves as a withdrawal goes on; all else stays as in the whole view of it. `observed` is
 * answered without bytes.
 * @public
 */
export type WithdrawalStep = Pick<
  WithdrawalView,
  "transactionId" | "state" | "code" | "changedAt" | "account" | "slot" | "versions" | "isOver"
>;

/** @public */
export interface AccountView {
  readonly chain: string;
  readonly network: string;
  readonly address: string;
  readonly nextSlot: string; // "" until adopted
  readonly deposit?: true; // an address for deposits that a sweep empties; else the hot account
}

/**
 * Requests on the courier socket, by verb.
 * @public
 */
export interface CourierRequests {
  hello: Record<never, never>;
  /** A jobs, welcome or recovery envelope, whole, base64. */
  admit: { readonly frame: string };
  sign: { readonly transactionId: string; readonly facts: Facts };
  /**
   * Same slot, higher fee; where versions end by waiting, the next one once all before are dead.
   * `above` is the version being replaced; a repeat answers the version already made.
   */
  replace: { readonly transactionId: string; readonly above: number; readonly facts: Facts };
  /** An ack envelope, whole, base64. */
  release: { readonly frame: string };
  decline: { readonly transactionId: string; readonly code: string };
  observed: {
    readonly transactionId: string;
    readonly stage: "broadcast" | "included" | "final" | "dead";
    readonly outcome: "" | "paid" | "reverted" | "lost" | "cancelled";
    readonly txHash: string;
    // 0 when not in a block; of one that is dead the final block seen past its end
    readonly block: number;
    readonly witnesses?: number; // with dead and nothing else: nodes that said so
  };
  each: EachRequest<CourierRequests[EachVerb]>;
  adopt: CountRequest;
  account: CountRequest;
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
    readonly paused: boolean; // a person stopped new signatures
    readonly accounts: readonly AccountView[];
    // everything that is not over, released bytes included
    readonly open: readonly WithdrawalView[];
  };
  // the ones this envelope touched; empty for a welcome
  admit: { readonly withdrawals: readonly WithdrawalView[] };
  sign: { readonly withdrawal: WithdrawalStep };
  replace: { readonly withdrawal: WithdrawalStep };
  // newly released, raw included, and newly called ended
  release: { readonly withdrawals: readonly WithdrawalStep[] };
  decline: { readonly withdrawal: WithdrawalStep };
  observed: { readonly withdrawal: WithdrawalStep };
  each: EachAnswers<{ readonly withdrawal: WithdrawalStep }>;
  adopt: { readonly account: AccountView };
  account: Record<never, never>;
  report: { readonly frames: readonly string[] }; // statement envelopes, base64, in order
  tell: { readonly summary: SignerSummary };
}

/**
 * Sent without being asked. `statement` is for the gateway, a whole envelope as base64 with its
 * place in the ledger beside it; `changed` after an operator or the clock decided.
 * @public
 */
export type Push =
  | { readonly push: "statement"; readonly frame: string; readonly after: number; readonly head: Head }
  | { readonly push: "changed"; readonly withdrawal: WithdrawalView }
  | { readonly push: "locked"; readonly code: string }
  | { readonly push: "paused"; readonly paused: boolean }
  /** The gateway has been told again all that it lost, and greets this run. */
  | { readonly push: "greeted" }
  /**
   * A ledger was opened in another epoch: whatever was told of the run before counts no more, and
   * the link is dialled anew.
   */
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
  /**
   * RECOVERY_OFFERED: an order is here and waits for `recover`; RECOVERY_HOLD: both went back, all
   * is held until `finish`; else "".
   */
  readonly recovery: string;
  // the gateway went back and is told again what it lost; nothing new is taken meanwhile
  readonly isTellingAgain: boolean;
  // both clocks ahead of the newest block, above an hour; 0 below that or where no node told
  readonly clockAheadMs: number;
  readonly ledgerAheadMs: number; // newest record ahead of this server's clock
  readonly paused: PausedView | null;
  /**
   * The withdrawal that waits longer than `stuckAfterMinutes` of config.json; of several, the one
   * whose slot comes first.
   */
  readonly stuck: StuckView | null;
  /** Absent when nobody's word is wanted for another version. */
  readonly resign?: ResignView;
  /** Absent when no other version waits for a limit of the hour or the day. */
  readonly noRoom?: NoRoomView;
  /** Absent when the gateway names no sweep that the chain cannot reach. */
  readonly unreachable?: UnreachableView;
  readonly ledgerWritable: boolean;
  readonly ledgerReadOnly?: true; // its file system takes no writes
  readonly isolation: string; // L0 … L3 with the reason, e.g. "L0 one user"
  readonly encKeyFrom: string; // credential | file | terminal | config
  readonly nodesOfGateway: readonly string[]; // chains whose nodes count as named by the service
  readonly version: string; // of the program
  readonly startedAt: number;
  /**
   * The config.json in force: where it lies for a person, what it says as a digest
   * (agent/config/digest.ts), when it was read.
   */
  readonly config: { readonly path: string; readonly digest: string; readonly readAt: number };
  // ledger time of the first decision under another config.json than before, 0 before any
  readonly policyChangedAt: number;
  readonly policyDigest: string; // of the limits in force, as the gateway hears it
  // what in them lets more through than the ones decided by before, a sentence each
  readonly policyLooser: readonly string[];
  readonly limits: readonly LimitView[]; // one a currency that has a policy
  readonly freeBytes: number; // room on the ledger's disk, -1 when it cannot be told
  readonly freeBytesMin: number; // below it nothing new is begun
  readonly counts: Readonly<Record<WithdrawalState, number>>;
  readonly accounts: readonly AccountView[];
  readonly courierConnected: boolean;
  /** What the courier told the signer last of link and nodes; null when it never did. */
  readonly courier: CourierStatus | null;
}

/**
 * Who stopped new signatures, as they named themselves, and when by ledger time.
 * @public
 */
export interface PausedView {
  readonly at: number;
  readonly approver: string;
}

/**
 * What a person wants of a withdrawal that does not go on. Figures as the family spells them, ""
 * for the signer's own choice.
 * @public
 */
export interface UnstickWish {
  readonly transactionId: string;
  readonly act: "replace" | "cancel";
  readonly facts: Facts;
}

/**
 * The version that would be made, or was.
 * @public
 */
export interface UnstickPlan {
  readonly act: "replace" | "cancel"; // a dearer version of what was cancelled is a cancel
  readonly version: number;
  // empty where versions end by waiting: the order only says that there may be another, or none
  readonly facts: Facts;
}

/**
 * Most characters of each text in the courier's status.
 * @public
 */
export const statusTextMax = 1024;

/**
 * Most characters of the name that whoever decides gives; visible ASCII.
 * @public
 */
export const approverMax = 64;

/**
 * Requests on the operator socket. `approver` is a name that whoever asks gives themselves, visible
 * ASCII.
 * @public
 */
export interface OperatorRequests {
  status: Record<never, never>;
  list: { readonly openOnly: boolean; readonly limit: number };
  /** `address`: where an approve would send one that has no address, so that `wait` is of that. */
  show: { readonly transactionId: string; readonly address?: string };
  /** `digest` is WithdrawalView.approvalDigest as shown; `address` only where it has none. */
  approve: { readonly transactionId: string; readonly digest: string; readonly address: string; readonly approver: string };
  refuse: { readonly transactionId: string; readonly approver: string };
  /** Shows the version to be made (`plan` null), or makes exactly the one that was shown. */
  unstick: UnstickWish & { readonly plan: UnstickPlan | null; readonly approver: string };
  /** Shows what ending a sweep that the chain cannot reach means (`slot` ""), or ends it. */
  end: { readonly transactionId: string; readonly slot: string; readonly approver: string };
  /** Stops new signatures, or lets them go on. */
  pause: { readonly paused: boolean; readonly approver: string };
  /**
   * Shows the ledger that the gateway's order would open (`digest` ""), or opens what was shown.
   * `both`: the gateway went back too.
   */
  recover: { readonly digest: string; readonly both: boolean };
  /**
   * Ends the holding where both went back: policy decides by itself again. What is held or
   * quarantined stays so. `isLook` only shows.
   */
  finish: { readonly isLook?: boolean };
  // slot: "" only shows; any other must be what the nodes count. address: for deposits, one that is
  // swept; absent for the hot account
  adopt: { readonly chain: string; readonly slot: string; readonly address?: string };
  /** Reads the whole ledger back and checks every hash. */
  verify: Record<never, never>;
}
/** @public */
export type OperatorVerb = keyof OperatorRequests;
/** @public */
export interface OperatorAnswers {
  status: { readonly status: SignerStatus };
  list: { readonly withdrawals: readonly WithdrawalView[] };
  show: {
    readonly withdrawal: WithdrawalView;
    readonly history: readonly LedgerLine[];
    readonly wait: WaitView | null;
    readonly spends: readonly SpendView[]; // that may have paid it already
  };
  /** `wait` is there while a second person's yes is wanted, or this one's was there before. */
  approve: { readonly withdrawal: WithdrawalView; readonly wait: WaitView | null };
  refuse: { readonly withdrawal: WithdrawalView };
  unstick: { readonly withdrawal: WithdrawalView; readonly plan: UnstickPlan };
  end: { readonly withdrawal: WithdrawalView; readonly plan: EndPlan };
  pause: { readonly paused: boolean };
  recover: { readonly plan: RecoveryPlan; readonly done: boolean };
  finish: {
    readonly held: number;
    readonly quarantined: number;
    // that no order asked for since the opening stands beside
    readonly spends: readonly SpendView[];
  };
  adopt: { readonly first: FirstSlotView };
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
