/**
 * The door to the nodes of a chain: all that the courier and the watcher ask of a network, whatever
 * its family. Types alone: connect.ts opens the doors. Every answer that money goes by is the word
 * of min(2, configured) nodes; all reject with AgentErrors NODE_* of effect none, and asking twice
 * is harmless everywhere.
 */
import type { Code } from "../protocol/codes.ts";
import type { Refusal } from "../protocol/fault.ts";
import type { Facts, Payment, Price } from "./family.ts";
import type { NodeStatus } from "./node-view.ts";

export type { HeadView, Lack, NodeLog, NodeQuestion, NodeStatus, NodeView, TokenView } from "./node-view.ts";

/** @public */
export interface BlockId {
  readonly number: number;
  readonly hash: string;
}

/**
 * A chain at one block, for every withdrawal there.
 * @public
 */
export interface BlockFacts {
  readonly number: number;
  readonly finalNumber: number;
  /** The final block's own time, milliseconds since 1970; there where versions end by waiting. */
  readonly chainMs?: number;
  readonly price: Price;
  /** The paying account's funds at the final block, by token contract; "" is the native coin. */
  readonly balances: ReadonlyMap<string, bigint>;
  /** Why tokens are not to be paid with, by contract: they count otherwise than configured. */
  readonly unfit: ReadonlyMap<string, string>;
  readonly accountHasCode: boolean;
}

/**
 * A token that is paid with, and the decimals that it should have.
 * @public
 */
export interface PaidToken {
  readonly contract: string;
  readonly decimal: number;
}

/**
 * A transaction's place in the chain.
 * @public
 */
export interface Place {
  readonly txHash: string;
  readonly block: number;
  readonly blockHash: string;
}

/**
 * Doubtful: some nodes show it, and not enough of them.
 * @public
 */
export interface Found {
  readonly place: Place | null;
  readonly isDoubtful: boolean;
}

/**
 * The end of one of the versions asked for. `cancelled`: a payment of nothing to oneself succeeded;
 * `moved`: it succeeded and is not the one payment that was asked for.
 * @public
 */
export interface Verdict {
  readonly outcome: "paid" | "reverted" | "moved" | "cancelled";
  readonly txHash: string;
  readonly block: number;
}

/**
 * The closed slots of an account, by the chain: how many at the head, with the pool, and at the
 * final block.
 * @public
 */
export interface Counters {
  readonly latest: bigint;
  readonly pending: bigint;
  readonly final: bigint;
  readonly witnesses: number; // nodes that said this of the final block
  /**
   * So many said all three alike; else `latest` and `pending` are the highest that so many have
   * reached.
   */
  readonly isSame: boolean;
}

/**
 * A node's answer to signed bytes. accepted: it took them now · known: it has them already ·
 * slot-consumed: the slot is used, by this transaction or another · underpriced: the fee is too low
 * · funds: the account cannot pay for it · expired: the version's end is past, as this node's chain
 * tells the time · unsent: surely no node has seen them · unknown: anything else.
 * @public
 */
export type BroadcastOutcome =
  | "accepted"
  | "known"
  | "slot-consumed"
  | "underpriced"
  | "funds"
  | "expired"
  | "unsent"
  | "unknown";

/** @public */
export interface BroadcastAnswer {
  readonly outcome: BroadcastOutcome;
  readonly text: string; // the node's own words, cut and cleaned, for people
  /**
   * The node answered, and did not take the bytes: whether a dearer version could be taken instead.
   * With several nodes only where each of them refused or has surely not seen the bytes.
   */
  readonly refusal?: "curable" | "incurable";
  readonly node?: string; // whose words these are: scheme, host and port
}

/**
 * A signed version that is looked for.
 * @public
 */
export interface SignedVersion {
  readonly txHash: string;
  readonly isCancel: boolean;
}

/** @public */
export interface Watched {
  readonly status: () => readonly NodeStatus[];
  readonly close: () => void;
}

/**
 * The questions of whoever pays.
 * @public
 */
export interface PayerNodes extends Watched {
  /** The newest block, one node's word. */
  tip(): Promise<BlockId>;
  facts(account: string): Promise<BlockFacts>;
  /**
   * Work that a payment needs, with room. Refuses with NODE_WOULD_REVERT when the chain would not
   * carry it out.
   */
  work(account: string, payment: WantedPayment): Promise<{ readonly ok: true; readonly work: bigint } | Refusal>;
  /**
   * Places of these versions of an account, in the same order; null where the nodes could not
   * answer.
   */
  places(account: string, wanted: readonly PlaceQuestion[]): Promise<readonly (Found | null)[]>;
  /** Null until one of the versions is final. */
  verdict(payment: PaidFrom, versions: readonly SignedVersion[]): Promise<Verdict | null>;
  /** Whether the chain has this block. */
  holds(block: number, blockHash: string): Promise<boolean>;
  closed(account: string): Promise<Counters>;
  /** Of all these versions together; there where versions end by waiting. */
  dead?(account: string, versions: readonly DeadQuestion[]): Promise<Death>;
  /** Signed bytes to every node; never rejects. Only the same bytes are ever sent again. */
  broadcast(raw: string): Promise<BroadcastAnswer>;
}

/**
 * A version that may be dead: no block takes it once the chain is past `untilMs`.
 * @public
 */
export interface DeadQuestion {
  readonly txHash: string;
  readonly untilMs: number; // chain time, milliseconds since 1970
}

/**
 * Dead: no block can take any of the versions asked for any more, and none has one of them, as
 * `witnesses` nodes say. By the chain's own time alone.
 * @public
 */
export interface Death {
  readonly isDead: boolean;
  readonly chainMs: number; // of the newest final block that enough nodes have
  readonly block: number; // that block's number
  readonly witnesses: number;
}

/**
 * All versions that were let out on one slot.
 * @public
 */
export interface PlaceQuestion {
  readonly slot: string;
  readonly txHashes: readonly string[];
}

/** @public */
export type WantedPayment = Pick<Payment, "contract" | "destination" | "amountUnits">;

/** @public */
export type PaidFrom = WantedPayment & Pick<Payment, "account">;

/**
 * A version in words, to compare its bytes with.
 * @public
 */
export interface Said {
  readonly payment: Payment;
  readonly facts: Facts | null;
  readonly txHash: string;
  readonly isCancel: boolean;
}

/**
 * Reads signed bytes with code that shares nothing with the code that built them; "" when they say
 * `said`, else the difference. Throws for bytes that are no transaction.
 * @public
 */
export type IndependentReading = (raw: string, said: Said) => Promise<string>;

/**
 * A final transaction that ended a withdrawal.
 * @public
 */
export interface Ending {
  readonly txHash: string;
  readonly block: number;
  readonly feeUnits: bigint; // that it cost, in units of the fee coin
}

/**
 * The end of a withdrawal as the watcher judges it by all its versions.
 * @public
 */
export type Judgement =
  | { readonly kind: "completed"; readonly final: Ending }
  | {
      readonly kind: "failed";
      readonly code: "chain_reverted" | "chain_slot_consumed" | "cancelled";
      readonly final: Ending;
    }
  | { readonly kind: "stuck"; readonly code: Code; readonly detail: string }
  | { readonly kind: "confirming"; readonly txHash: string; readonly block: number }
  | { readonly kind: "waiting" };

/**
 * A block as the watcher reads it; its content is for the family's own questions.
 * @public
 */
export interface WatchedBlock extends BlockId {
  readonly parentHash: string;
  readonly content: unknown;
}

/**
 * A payment in a block. `index` is its place among those of one transaction, -1 for the native
 * coin.
 * @public
 */
export interface SeenPayment {
  readonly txHash: string;
  readonly index: number;
  readonly address: string;
  readonly contract: string;
  readonly amountUnits: bigint;
  readonly block: number;
  readonly blockHash: string;
}

/**
 * A transaction of an account, on its slot, and whom it says it pays.
 * @public
 */
export interface Spend {
  readonly account: string;
  readonly slot: string; // "" where the chain knows none
  readonly txHash: string;
  readonly block: number;
  readonly receiver: string;
  readonly contract: string;
  readonly amountUnits: bigint;
  readonly content: unknown;
}

/**
 * The questions of the gateway's watcher. `isAgreed`: on the word of enough nodes; else one node's,
 * for showing progress.
 * @public
 */
export interface WatcherNodes extends Watched {
  tip(): Promise<BlockId>;
  finalTip(): Promise<BlockId>;
  block(number: number, isAgreed: boolean): Promise<WatchedBlock>;
  /** Seconds since 1970 of a block, one node's word. */
  timestamp(number: number): Promise<number>;
  /**
   * At the end of a block, agreed; where nodes tell of their newest final block alone, of it or of
   * a later one.
   */
  balance(account: string, contract: string, block: number): Promise<bigint>;
  /** As `balance` for each question, in their order, in bounded batches; rejects when one does. */
  balances(questions: readonly BalanceQuestion[], block: number): Promise<readonly bigint[]>;
  /**
   * Whether each account was ever used, as far as the chain keeps that: it sent a transaction, or,
   * where accounts are made by their first coins, it exists. At the end of a block as `balance`,
   * agreed.
   */
  wereUsed(accounts: readonly string[], block: number): Promise<readonly boolean[]>;
  /** True where `balance` may be of a later block. */
  readonly tellsNewestBalances?: boolean;
  /** The decimals that a token names, agreed. */
  decimals(contract: string): Promise<bigint>;
  /**
   * Payments of these contracts ("" the native coin) to any of the addresses, in blocks that follow
   * one another. Failed ones, and token transfers of nothing, are left out.
   */
  payments(
    blocks: readonly WatchedBlock[],
    contracts: readonly string[],
    addresses: AddressBook,
    isAgreed: boolean,
  ): Promise<readonly SeenPayment[]>;
  /** Transactions of these accounts in agreed blocks. */
  spends(blocks: readonly WatchedBlock[], accounts: ReadonlySet<string>): readonly Spend[];
  hasFailed(txHash: string): Promise<boolean>;
  /**
   * The most that a payment costs by the market of now, with room for a dearer one, in units of the
   * fee coin. Refuses with NODE_WOULD_REVERT.
   */
  cost(account: string, payment: WantedPayment): Promise<{ readonly ok: true; readonly feeUnits: bigint } | Refusal>;
  /** Judges a withdrawal by a final spend of its slot that is none of its versions. */
  judgeSpend(payment: Payment, spend: Spend): Promise<Judgement>;
  /** As `PayerNodes` has it; there where slots are counted. */
  closed?(account: string): Promise<Counters>;
  /** Of all these versions together; there where versions end by waiting. */
  dead?(account: string, versions: readonly DeadQuestion[]): Promise<Death>;
  /** For the withdrawals of one pass: questions that several of them share are asked once. */
  pass(final: BlockId): WatcherPass;
}

/**
 * A balance that is asked for: of a token's contract, or "" for the native coin.
 * @public
 */
export interface BalanceQuestion {
  readonly account: string;
  readonly contract: string;
}

/** @public */
export interface AddressBook {
  readonly size: number;
  has(address: string): boolean;
  all(): Iterable<string>;
}

/** @public */
export interface WatcherPass {
  /** Judges a withdrawal by all its versions, oldest first. */
  judge(payment: Payment, txHashes: readonly string[]): Promise<Judgement>;
}
