/**
 * The types of the scheduler's memory: the known state of one open withdrawal, of one sending
 * account, and of all together.
 */

import type {
  Coin,
  ExpiryExclusion,
  PinExclusion,
  SlotRules,
  TxParams,
} from "../../../chains/family.ts";
import type {
  ChainState,
  NodeAnswer,
  TransactionLocation,
  VoidAnswer,
} from "../../../chains/nodes.ts";
import type { CourierView, NetworkStop } from "../../socket/verbs.ts";
import type { SchedulerVerb } from "./events.ts";

/** The hand-over of an attempt's bytes to the nodes, in this run. */
export interface OfferToNodes {
  readonly attempt: number;
  readonly txHash: string;
  readonly atMs: number; // of the last hand-over
  readonly firstAtMs: number;
  readonly firstBlock: number | null; // newest block at that time; null when none was known yet
  readonly byNode: ReadonlyMap<string, NodeAnswer>; // the last answer of each node that has got the bytes
}

/** A request to the signer that has no answer yet. */
export interface PendingRequest {
  readonly verb: SchedulerVerb;
  readonly sinceMs: number;
  readonly key: string; // key of an observation, "" otherwise
  isDoubtful: boolean; // the request failed on the way and may have been done
}

/** One open withdrawal. */
export interface ScheduledWithdrawal {
  view: CourierView;
  readonly account: Account;
  readonly amountUnits: bigint;
  readonly openedAtMs: number;
  /** The request to the signer under way. */
  asking: PendingRequest | null;
  /** Nothing is asked for it before this time, nor while `asideBlock` is the newest block. */
  notBeforeMs: number;
  asideBlock: number;
  refusals: number;
  unclearedSinceMs: number | null; // when the signer first wanted the gateway's word on it
  waiting: string; // the reason why it waits, for `status`; "" while it goes on
  gas: { readonly limit: bigint; readonly atMs: number } | null;
  gasAskedAtMs: number | null;
  isTipLow: boolean; // the signer refused the higher tip of the nodes
  /**
   * Steps below the usual offer, for the attempt after so many; the signer refused those above,
   * the last one at this cost.
   */
  lowered: { readonly attempts: number; readonly steps: number; readonly refusedUnits: bigint };
  reverts: { count: number; firstAtMs: number };
  reserved: ReservedUnits;
  asked: TxParams | null; // offer of the last `sign` or `replace`, until the view shows it
  feeAskedWei: bigint; // fee in the last `sign` or `replace`, reserved until the view shows it
  sendingSinceMs: number | null;
  sendNotBeforeMs: number;
  unsent: number; // failed tries in a row
  offer: OfferToNodes | null; // of the newest attempt that was handed to nodes in this run
  location: TransactionLocation | null;
  locatedAtMs: number; // when it was first found there
  looked: LastNodeQuestion; // when it was last looked for
  confirmed: LastNodeQuestion; // last question for its finality; the block is the final one
  isDoubtful: boolean; // some node shows a receipt, but too few nodes show the same one
  misses: number; // number of look-ups in a row without its last inclusion
  chainOutcome: FinalOutcome | null;
  foreign: { count: number; firstAtMs: number };
  told: string; // the last observation the signer accepted
  /** Attempts that the nodes have called void, by hash, with their evidence. */
  readonly voidFound: Map<string, Pick<VoidAnswer, "block" | "quorum">>;
  voidDueAtMs: number; // they are not asked before
  voidTrouble: string; // the fault of the last question, "" if there was none
  coinLookedAtMs: number | null; // when the nodes were last asked for its pin
  isPinMissing: boolean; // no node showed its pin when they last answered
  isAbsent: boolean; // the last answered look-up found it in no block
  stopped: string; // a code: an operator must look, and none of its bytes are sent any more
}

/** The end of the withdrawal on which the nodes agree. */
export interface FinalOutcome {
  readonly outcome: "paid" | "reverted" | "conflicted" | "cancelled" | "moved";
  readonly txHash: string;
  readonly block: number; // 0 when conflicted
}

/** The last question to the nodes: an answer holds for that block, and for a while. */
export interface LastNodeQuestion {
  readonly block: number;
  readonly atMs: number;
  readonly isOpen: boolean; // its answer is still to come
}

export interface ReservedUnits {
  readonly native: bigint;
  readonly token: bigint;
}

/** One sending account of a chain: the hot wallet, or a deposit address that a sweep empties. */
export interface Account {
  readonly isDeposit: boolean;
  readonly chain: string;
  readonly network: string;
  readonly address: string;
  readonly slots: SlotRules; // slots of its family
  readonly expiryExclusion: ExpiryExclusion | null; // its family's exclusion by expiry, null if another one holds
  readonly pinExclusion: PinExclusion | null; // its family's exclusion by the pin, null if the chain has no coins
  nextSlot: string; // "" until adopted
  isUnbegun: boolean; // it begins again, as the signer said of a first attempt
  chainState: ChainState | null;
  /** The newest known block; at times the state is of the one before. */
  head: number;
  /**
   * The number of withdrawals found in the block before. The next block is searched for as many
   * first.
   */
  foundLately: number;
  away: string; // code of the nodes' fault, "" when they answer
  busyAtMs: number; // when a withdrawal was last open or expected
  /** Approved and waiting for `sign`, by limit group, in order of sequence. */
  readonly queues: Map<string, ScheduledWithdrawal[]>;
  /** Withdrawals with a slot, or about to get one. */
  readonly flight: Set<ScheduledWithdrawal>;
  /** Withdrawals of `flight` in no block, as far as this scheduler has seen. */
  readonly pending: Set<ScheduledWithdrawal>;
  /**
   * Withdrawals of `flight` in no block, as reported to the signer, which applies a limit to their
   * number.
   */
  readonly unincluded: Set<ScheduledWithdrawal>;
  /**
   * Tokens whose contract refused a transfer of this account to itself, with the time until which
   * nothing of them is asked for.
   */
  readonly refusing: Map<string, number>;
  /** The time at which nodes last estimated a transfer of a token without an objection. */
  readonly transferable: Map<string, number>;
  reservedNative: bigint;
  readonly reservedTokens: Map<string, bigint>;
  /** Final withdrawals, newer than the known balances; reserved until the balances include them. */
  settling: {
    readonly block: number;
    readonly contract: string;
    readonly reserve: ReservedUnits;
  }[];
  slotCounts: AccountCounts;
  askingVoid: number | null; // time of the open question for void attempts
  naming: NamedCoins; // the coins that the gateway has named
  ownCoins: OwnCoins;
  held: HeldCoins;
  /** The last offer that waits for other coins, and all that it was made of; null if none does. */
  waitingOffer: WaitingOffer | null;
}

/** The coins that withdrawals of `flight` may spend; none on chains without coins. */
export interface HeldCoins {
  /** Each withdrawal's coins, none twice. */
  readonly byItem: Map<ScheduledWithdrawal, ReadonlySet<string>>;
  /** The number of withdrawals by coin. */
  readonly counts: Map<string, number>;
  /**
   * Coins that are not offered before a time, newest last: the signer knows them as spent, though
   * nodes that are behind show them, or as another withdrawal's.
   */
  readonly left: Map<string, { readonly untilMs: number; readonly isSpent: boolean }>;
  version: number; // rises with each change
  /** The coins of a list that no withdrawal held at a version, and that are not left. */
  free: {
    readonly listed: readonly Coin[];
    readonly version: number;
    readonly coins: readonly Coin[];
  } | null;
}

/** An offer that waits, and all that it was made of. While that is the same, so is the answer. */
export interface WaitingOffer {
  readonly answer: "unnamed" | null;
  readonly item: ScheduledWithdrawal;
  readonly view: ScheduledWithdrawal["view"];
  readonly gas: ScheduledWithdrawal["gas"];
  readonly lowered: ScheduledWithdrawal["lowered"];
  readonly chainState: ChainState | null;
  readonly held: number; // version
  readonly named: number; // version
  readonly untilMs: number; // then the gateway may be asked for further coins
}

/** The account's final coins as listed last, and those that left the list without an attempt. */
export interface OwnCoins {
  listed: ReadonlySet<string>;
  readonly gone: Map<string, { readonly sinceMs: number; dueAtMs: number; tries: number }>;
}

/** The coins of an account that the gateway named in this run, and those it was asked for. */
export interface NamedCoins {
  readonly named: Set<string>;
  version: number; // of `named`, rises with each change
  readonly asked: Map<string, { readonly tries: number; readonly dueAtMs: number }>;
  dueAtMs: number; // no question before
  sinceMs: number | null; // since when the gateway has been silent about what is needed
  slotAskedAtMs: number | null; // when the gateway was last asked for the account's first slot
}

/** The nodes' counts of the account's transactions. */
export interface AccountCounts {
  askedAtMs: number | null;
  dueAtMs: number;
  detail: string;
  /** The first slot in no block and no mempool, by the last answer; "" before the first. */
  highest: string;
  /**
   * The first slot in no block by the last answer, and the time of that answer; null when there is
   * none.
   */
  latest: { readonly slot: string; readonly atMs: number } | null;
}

export interface SchedulerBook {
  handshakeDone: boolean;
  locked: string;
  readonly items: Map<string, ScheduledWithdrawal>;
  readonly accounts: Map<string, Account>; // by `accountKey`
  paused: boolean; // an operator stopped new signatures
  readonly stopped: Map<string, NetworkStop["code"]>; // networks and currencies in which no first attempt is signed, by `stopKey`
  unreachable: ReadonlySet<string>; // withdrawals that no block takes, as the gateway says
  /** Recently closed withdrawals with the time, so a late view does not open them again. */
  readonly closed: Map<string, number>;
  /**
   * Withdrawals whose end the signer recorded and the gateway has not confirmed; they count as open
   * at the next hello.
   */
  readonly awaiting: Map<string, { readonly account: Account; readonly slot: string }>;
  refreshDueAtMs: number; // not asked before
  helloAtMs: number; // the last answer
}
