/**
 * The interface to the nodes of a chain: all questions of the courier and the watcher to a network
 * of any family. Only types: connect.ts opens the interfaces. Every answer on which money depends
 * has the agreement of min(2, configured) nodes. All methods reject with AgentErrors NODE_* of
 * effect none, and may be called twice without harm.
 */
import type { AgentError, Refusal } from "../base/fault.ts";
import type { Result } from "../base/result.ts";
import type { ChainState, UnusableCoin } from "./chain-state.ts";
import type { Coin, Payment, TxParams } from "./family.ts";
import type { NodeStatus } from "./node-view.ts";

/* Finds in blocks, beside what could not be read there. Only types. */

/**
 * A transaction that names one of our accounts, and that a node shows so that it cannot be read.
 */
export interface UnreadTransaction {
  readonly txHash: string; // "" if even the hash cannot be read
  readonly block: number;
  readonly account: string; // of ours; "" if it is unknown
  readonly fault: AgentError;
}

/** An account of ours whose list of a span of blocks cannot be had, where nodes list by account. */
export interface MissingHistory {
  readonly account: string;
  readonly fault: AgentError;
}

/** Finds of some blocks, and the things that could not be read there. */
export interface BlockFinds<T> {
  readonly found: readonly T[];
  readonly unread: readonly UnreadTransaction[];
  /** Accounts of which nothing was found, because their lists cannot be had; without it none. */
  readonly missing?: readonly MissingHistory[];
}

/** Payments to one address that no block has, by any node's word. */
export interface ArrivingPayments {
  readonly isWhole: boolean; // every node answered, and none may have left some out
  readonly payments: readonly ArrivingPayment[];
}

/** One payment in the mempools of nodes. */
export interface ArrivingPayment {
  readonly txHash: string;
  readonly units: bigint;
  readonly isReplaceable: boolean; // its sender may send its coins elsewhere until a block has it
  readonly isSure: boolean; // enough nodes show it, at a fee with which blocks take it
}

/* Answers of nodes to signed bytes. Only types. */

/**
 * The meaning of a node's words about signed bytes.
 * - known: the node has them already
 * - slot-used: this transaction or another has used the slot or the pin
 * - price: the fee is too low
 * - funds: the account cannot pay for the transaction
 * - expired: the attempt's end is past, by the chain time of this node
 * - node: the node takes nothing now, whatever the bytes are
 * - bytes: this node takes these bytes at no fee
 */
export type BroadcastMeaning =
  | "known"
  | "slot-used"
  | "price"
  | "funds"
  | "expired"
  | "node"
  | "bytes";

/**
 * The fate of signed bytes at one node, or at all that were asked.
 * - taken: the node said that it has them
 * - doubtful: the node may have them
 * - refused: the node answered and did not take them
 * - unsent: surely the node has not received them
 */
export type BroadcastStanding = "taken" | "doubtful" | "refused" | "unsent";

/** One node's answer to signed bytes. It decides the fate of no payment. */
export interface NodeAnswer {
  readonly node: string; // scheme, host and port
  readonly standing: BroadcastStanding;
  readonly meaning: BroadcastMeaning | ""; // "" if no row of the family's table fits
  readonly text: string; // the node's own words, cut and cleaned, for the operator
  /** The least price that a refusal names, decimal, in the unit of `LaterOffers.named`. */
  readonly least?: string;
}

/** One answer for all nodes that were asked, by chains/standing.ts. */
export interface BroadcastAnswer extends NodeAnswer {
  readonly byNode: readonly NodeAnswer[];
}

export type { ChainState, StatePart, UnusableCoin } from "./chain-state.ts";
export type {
  BlockRange,
  HeadView,
  MissingAnswer,
  NodeLog,
  NodeStatus,
  NodeToExamine,
  NodeView,
  TokenView,
} from "./node-view.ts";

export interface BlockId {
  readonly number: number;
  readonly hash: string;
}

/** A token for payments, and the decimals that it should have. */
export interface PaidToken {
  readonly contract: string;
  readonly decimal: number;
}

/** A transaction's place in the chain. */
export interface TransactionLocation {
  readonly txHash: string;
  readonly block: number;
  readonly blockHash: string;
}

/** Doubtful: some nodes show the transaction, but too few of them. */
export interface Inclusion {
  readonly location: TransactionLocation | null;
  readonly isDoubtful: boolean;
}

/**
 * The end of one of the attempts asked for. `cancelled`: a zero payment to the account itself
 * succeeded. `moved`: the attempt succeeded but is not the one payment that was asked for.
 * `conflicted`: a final transaction that is no attempt spends the coin that all attempts spend;
 * `txHash` is the newest attempt's, and the block 0.
 */
export interface ChainOutcome {
  readonly outcome: "paid" | "reverted" | "moved" | "cancelled" | "conflicted";
  readonly txHash: string;
  readonly block: number;
}

/**
 * The closed slots of an account on chain: the counts at the head, with the mempool, and at the
 * final block.
 */
export interface SlotCounts {
  readonly latest: bigint;
  readonly pending: bigint;
  readonly final: bigint;
  readonly quorum: number; // number of nodes that agree on the final block's count
  /**
   * True if so many nodes gave all three counts alike. Otherwise `latest` and `pending` are the
   * highest that so many have reached.
   */
  readonly isSame: boolean;
}

/**
 * The lowest slot that an account can ever use, where accounts begin late: enough nodes agree that
 * a final block, closed at `absentMs`, did not have it. Bytes signed later are in none up to it.
 */
export interface BeginningProof {
  readonly slot: string;
  readonly absentMs: number; // Unix milliseconds
}

/** A signed attempt whose inclusion is asked for. */
export interface SignedAttempt {
  readonly txHash: string;
  readonly isCancel: boolean;
  readonly pin?: string; // txHash:output, perhaps with its amount, if such a coin excludes
}

export interface ObservedNodes {
  readonly status: () => readonly NodeStatus[];
  readonly close: () => void;
}

/** The questions of payments. */
export interface SenderNodes extends ObservedNodes {
  /** The newest block, from one node. */
  tip(): Promise<BlockId>;
  chainState(account: string): Promise<ChainState>;
  /**
   * The compute limit that a payment needs, with room. Refuses with NODE_WOULD_REVERT if the chain
   * would not execute the payment.
   */
  computeLimit(
    account: string,
    payment: WantedPayment,
  ): Promise<{ readonly ok: true; readonly computeLimit: bigint } | Refusal>;
  /**
   * Locations of these attempts of an account, in the same order; null if the nodes could not
   * answer.
   */
  locations(
    account: string,
    wanted: readonly LocationQuestion[],
  ): Promise<readonly (Inclusion | null)[]>;
  /** Null until one of the attempts, or another spend of their pin, is final. */
  chainOutcome(
    payment: WantedPaymentFrom,
    attempts: readonly SignedAttempt[],
  ): Promise<ChainOutcome | null>;
  /** True if the chain has this block. */
  holds(block: number, blockHash: string): Promise<boolean>;
  closed(account: string): Promise<SlotCounts>;
  /** Null if the nodes do not show it. Present where an account begins above the first slot. */
  began?(account: string): Promise<BeginningProof | null>;
  /** Judges all these attempts together; present if attempts exclude each other by expiry. */
  findVoid?(account: string, attempts: readonly VoidQuestion[]): Promise<VoidAnswer>;
  /** The agreed final spender of each coin, as txHash:output; null for none, or no answer. */
  spentBy?(coins: readonly string[]): Promise<readonly (string | null)[]>;
  /**
   * If a node shows the transaction that made each coin; null where too few answer. Present where
   * the chain has coins.
   */
  coinsSeen?(coins: readonly string[]): Promise<readonly (CoinVisibility | null)[]>;
  /**
   * The transactions that made the coins of these parameters, as hex, in their order; present where
   * the chain has coins.
   */
  evidence?(txParams: TxParams): Promise<readonly string[]>;
  /**
   * Sends signed bytes to every node, and answers at the first that took them; never rejects. Only
   * the same bytes are ever sent again.
   */
  broadcast(raw: string): Promise<BroadcastAnswer>;
}

/** Whether a node shows the transaction that made a coin, in a block or a mempool. */
export interface CoinVisibility {
  readonly isShown: boolean;
  readonly chainMs: number; // the final block's own time, Unix milliseconds
}

/** An attempt that may be void: no block takes it after the chain time `validUntilMs`. */
export interface VoidQuestion {
  readonly txHash: string;
  readonly validUntilMs: number; // chain time, milliseconds since 1970
}

/**
 * Void: no block has any of these attempts and none can take one any more, as `quorum` nodes
 * agree. Only the chain's own time counts.
 */
export interface VoidAnswer {
  readonly isVoid: boolean;
  readonly chainMs: number; // time of the newest final block that enough nodes have
  readonly block: number; // that block's number
  readonly quorum: number;
}

/** All attempts that were released on one slot. */
export interface LocationQuestion {
  readonly slot: string;
  readonly txHashes: readonly string[];
}

export type WantedPayment = Pick<
  Payment,
  "contract" | "destination" | "tag" | "amountUnits" | "isFeeInside"
>;

export type WantedPaymentFrom = WantedPayment & Pick<Payment, "account">;

/** The expected content of an attempt, to compare its bytes with. */
export interface ExpectedAttempt {
  readonly payment: Payment;
  readonly txParams: TxParams | null;
  readonly txHash: string;
  readonly isCancel: boolean;
}

/**
 * Reads signed bytes without any code of their builder. Returns "" if their content is `said`, else
 * the difference. Throws for bytes that are no transaction.
 */
export type IndependentReading = (raw: string, said: ExpectedAttempt) => Promise<string>;

/** A final transaction that ended a withdrawal. */
export interface EndingTransaction {
  readonly txHash: string;
  readonly block: number;
  readonly feeUnits: bigint; // its cost, in units of the fee coin
}

/** A final attempt that is not exactly the payment asked for. */
export interface PaymentMismatch {
  readonly kind: "stuck";
  readonly code: "WATCHER_CONTENT_DIFFERS";
  readonly detail: string;
  /** The attempt; null if none ended the withdrawal alone, or if it is not the account's own. */
  readonly final: EndingTransaction | null;
  /** The attempt asks a token's contract for exactly the payment, so the contract did otherwise. */
  readonly isContracts: boolean;
}

/** The end of a withdrawal, as the watcher judges it by all its attempts. */
export type Judgement =
  | { readonly kind: "completed"; readonly final: EndingTransaction }
  | {
      readonly kind: "failed";
      readonly code: "chain_reverted" | "chain_slot_consumed" | "cancelled";
      readonly final: EndingTransaction;
    }
  | {
      readonly kind: "stuck";
      readonly code: "WATCHER_SLOT_CONSUMED" | "PIN_UNREADABLE";
      readonly detail: string;
      readonly by?: EndingTransaction; // the final transaction that used the slot or the coin, if it is known
    }
  | PaymentMismatch
  /** The account began above its slot: no block takes an attempt signed after `absentMs`. */
  | { readonly kind: "unreachable"; readonly absentMs: number; readonly detail: string }
  | { readonly kind: "confirming"; readonly txHash: string; readonly block: number }
  | { readonly kind: "waiting" };

/** A block as the watcher reads it. Only the family's own questions use its content. */
export interface WatchedBlock extends BlockId {
  readonly parentHash: string;
  readonly content: unknown;
}

/**
 * A payment in a block. `index` is its index among the payments of one transaction, -1 for the
 * native coin.
 */
export interface DetectedPayment {
  readonly txHash: string;
  readonly index: number;
  readonly address: string;
  readonly contract: string;
  readonly amountUnits: bigint;
  readonly block: number;
  readonly blockHash: string;
}

/** A transaction of an account on its slot, and the receiver that it names. */
export interface OutgoingTransaction {
  readonly account: string;
  readonly slot: string; // "" if the chain has none
  readonly txHash: string;
  readonly block: number;
  readonly receiver: string;
  readonly tag: string; // "" for none
  readonly contract: string;
  readonly amountUnits: bigint;
  readonly content: unknown;
}

/** A transaction of an account that no block has yet, by the word of a node. */
export type UnconfirmedTransaction = Omit<OutgoingTransaction, "block" | "slot" | "content">;

/**
 * The questions of the gateway's watcher. With `isAgreed` the answer needs enough nodes; otherwise
 * one node's answer shows progress.
 */
export interface WatcherNodes extends ObservedNodes {
  /** An address whose key nobody has, for questions that belong to nobody. */
  readonly nobody: string;
  tip(): Promise<BlockId>;
  finalTip(): Promise<BlockId>;
  block(number: number, isAgreed: boolean): Promise<WatchedBlock>;
  /** Time of a block from one node, in seconds since 1970. */
  timestamp(number: number): Promise<number>;
  /** The agreed balance at the end of a block, or of a later one (`tellsNewestBalances`). */
  balance(account: string, contract: string, block: number): Promise<bigint>;
  /**
   * As `balance` for each question, in their order, in bounded batches. One that cannot be answered
   * costs none of the others. Rejects with NODE_CLOSED only.
   */
  balances(
    questions: readonly BalanceQuestion[],
    block: number,
  ): Promise<readonly Result<bigint>[]>;
  /**
   * Says for each account if it was ever used, as far as the chain keeps this. A used account sent
   * a transaction, or exists on a chain where the first coins make an account. At the end of a
   * block as `balance`, agreed; results as those of `balances`.
   */
  wereUsed(accounts: readonly string[], block: number): Promise<readonly Result<boolean>[]>;
  /** True if nodes give only balances of their newest final block. */
  readonly tellsNewestBalances?: boolean;
  /** True if `payments` reads whole blocks: more addresses cost no further question. */
  readonly readsWholeBlocks?: boolean;
  /**
   * The highest head that any node has shown, where `balance` may be of a later block: no balance
   * is of a block above it.
   */
  readonly highestHead?: () => Promise<number>;
  /** The decimals that a token names, agreed. */
  decimals(contract: string): Promise<bigint>;
  /**
   * Payments of these contracts ("" the native coin) to any of the addresses, in blocks that follow
   * one another. Leaves out failed payments and token transfers of zero. A transaction that cannot
   * be read ends nothing: it is named, and none of its payments is found.
   */
  payments(
    blocks: readonly WatchedBlock[],
    contracts: readonly string[],
    addresses: WatchedAddresses,
    isAgreed: boolean,
  ): Promise<BlockFinds<DetectedPayment>>;
  /**
   * Transactions of these accounts in blocks that follow one another; as `payments`. With
   * `isAgreed`, the default, the blocks are agreed ones.
   */
  outgoing(
    blocks: readonly WatchedBlock[],
    accounts: ReadonlySet<string>,
    isAgreed?: boolean,
  ): Promise<BlockFinds<OutgoingTransaction>>;
  /**
   * Transactions of an account that no block has, by any node's word; present if nodes show them.
   * Rejects if fewer nodes answer than must agree, or if one may have left some out.
   */
  unconfirmed?(account: string): Promise<readonly UnconfirmedTransaction[]>;
  /**
   * Payments to each address that no block has; present if nodes show them. One answer an address,
   * in the order of the addresses. For people who wait, and never for credit.
   */
  arriving?(addresses: readonly string[]): Promise<readonly Result<ArrivingPayments>[]>;
  /**
   * The payment of the native coin to an account by one transaction in a final block, as enough
   * nodes show it; null if they show none. Present where tags tell payments apart. Rejects with
   * NODE_DISAGREE if fewer show it than must agree.
   */
  paymentBy?(txHash: string, account: string): Promise<DetectedPayment | null>;
  hasFailed(txHash: string): Promise<boolean>;
  /**
   * The most that a payment costs at the present fee market, with room for a replacement, in units
   * of the fee coin. Refuses with NODE_WOULD_REVERT.
   */
  cost(account: string, payment: WantedPayment): Promise<SweepCost | Refusal>;
  /** Judges a withdrawal by a final transaction on its slot that is none of its attempts. */
  judgeOutgoing(payment: Payment, outgoingTx: OutgoingTransaction): Promise<Judgement>;
  /** As in `SenderNodes`; present if the chain counts slots. */
  closed?(account: string): Promise<SlotCounts>;
  /**
   * Says for each coin if it is there for a payment: the transaction that made it is final, pays
   * exactly the account, and nothing that a node shows spends it. Present where the chain has
   * coins.
   */
  sightedCoins?(account: string, coins: readonly Coin[]): Promise<readonly boolean[]>;
  /**
   * The coins in an account's newest balance that no payment can spend, as `balance` read them.
   * Present where the chain has coins.
   */
  unusableCoins?(account: string): readonly UnusableCoin[];
  /** If a node shows the transaction that made a coin; no, only if enough answer and none does. */
  isCoinShown?(coin: string): Promise<boolean>;
  /** The next slot by the agreed final count; present if the chain counts slots. */
  nextSlot?(account: string): Promise<NextSlot>;
  /** Judges all these attempts together; present if attempts exclude each other by expiry. */
  findVoid?(account: string, attempts: readonly VoidQuestion[]): Promise<VoidAnswer>;
  /**
   * For the withdrawals of one pass: a question that several of them share is asked only once.
   * `payouts`: how many will be judged, about; 1 by default. Many are worth a question in advance.
   */
  pass(final: BlockId, payouts?: number): WatcherPass;
}

/** `isUnused`: the account never sent a transaction, which the agreed ledgers show. */
export interface NextSlot {
  readonly slot: string;
  readonly isUnused: boolean;
}

export interface SweepCost {
  readonly ok: true;
  readonly feeUnits: bigint;
  /** Coins that no payment can take; absent where there are none. */
  readonly unusable?: readonly UnusableCoin[];
  /**
   * The most of the amount that one transaction can take out of the account, by coins that are
   * worth their fetching; absent if that is all of it.
   */
  readonly mostUnits?: bigint;
}

/** A question for a balance: of a token's contract, or "" for the native coin. */
export interface BalanceQuestion {
  readonly account: string;
  readonly contract: string;
}

export interface WatchedAddresses {
  readonly size: number;
  has(address: string): boolean;
  all(): Iterable<string>;
}

export interface WatcherPass {
  /**
   * Judges a withdrawal by all its attempts, oldest first. `pin` is the coin that they all spend,
   * "" on chains without coins.
   */
  judge(payment: Payment, txHashes: readonly string[], pin: string): Promise<Judgement>;
}
