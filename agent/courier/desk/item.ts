/**
 * The shapes of the desk's memory: what is known of one open withdrawal, of one paying account, and
 * of all of them.
 */

import type { Slots, Waiting } from "../../../chains/family.ts";
import type { BlockFacts, Death, Place } from "../../../chains/nodes.ts";
import type { WithdrawalView } from "../../socket/verbs.ts";
import type { DeskVerb } from "./events.ts";

/** The last time bytes of this withdrawal were handed to the nodes, in this run. */
export interface Sent {
  readonly version: number;
  readonly txHash: string;
  readonly atMs: number;
  readonly firstAtMs: number; // of this version
  readonly firstBlock: number | null; // newest block at that time; null when none was known yet
  readonly isUnderpriced: boolean; // a node said so
  readonly isExpired: boolean; // likewise: its end is past
  readonly declined: Declined | null; // null once a node has said that it has it
}

/** The last refusal of a version by every node that was asked. */
export interface Declined {
  readonly words: string; // of a node, with its address
  readonly isIncurable: boolean; // by a higher price
}

/** A request to the signer that has no answer yet. */
export interface Ask {
  readonly verb: DeskVerb;
  readonly sinceMs: number;
  readonly key: string; // of an observation, "" otherwise
  isDoubtful: boolean; // it failed on the way and may have been done
}

/** One open withdrawal. */
export interface Item {
  view: WithdrawalView;
  readonly account: Account;
  readonly amountUnits: bigint;
  readonly openedAtMs: number;
  /** The one request to the signer that is under way. */
  asking: Ask | null;
  /** Nothing is asked for it before this time, nor while `asideBlock` is the newest block. */
  notBeforeMs: number;
  asideBlock: number;
  refusals: number;
  waiting: string; // why it does not go on, for `status`; "" when it does
  gas: { readonly limit: bigint; readonly atMs: number } | null;
  gasAskedAtMs: number | null;
  isTipLow: boolean; // the signer refused a tip that was the higher of the nodes' figures
  reverts: { count: number; firstAtMs: number };
  reserved: Reserve;
  feeAskedWei: bigint; // fee named in the last `sign` or `replace`, bound until the view shows it
  sendingSinceMs: number | null;
  sendNotBeforeMs: number;
  unsent: number; // failed tries in a row
  sent: Sent | null;
  place: Place | null;
  placedAtMs: number; // when it was first found there
  looked: Asked; // when it was last looked for
  confirmed: Asked; // when its finality was last asked for; the block is the final one
  isDoubtful: boolean; // some node shows a receipt, and not enough of them the same one
  misses: number; // looks in a row that did not find it where it was
  verdict: Final | null;
  foreign: { count: number; firstAtMs: number };
  told: string; // the last observation the signer accepted
  /** Versions that the nodes have called dead, by hash, and how. */
  readonly dead: Map<string, Pick<Death, "block" | "witnesses">>;
  deadDueAtMs: number; // they are not asked before
  deadTrouble: string; // the fault of the last asking, "" where there was none
  isAbsent: boolean; // the last look that was answered found it in no block
  stopped: string; // a code: a person must look, and no byte of it is sent any more
}

/** What the nodes agree to be the end of it. */
export interface Final {
  readonly outcome: "paid" | "reverted" | "lost" | "cancelled";
  readonly txHash: string;
  readonly block: number; // 0 when lost
}

/** When something was last asked of the nodes: an answer holds for that block, and for a while. */
export interface Asked {
  readonly block: number;
  readonly atMs: number;
}

export interface Reserve {
  readonly native: bigint;
  readonly token: bigint;
}

/** One paying account of a chain: the hot one, or an address for deposits that a sweep empties. */
export interface Account {
  readonly isDeposit: boolean;
  readonly chain: string;
  readonly network: string;
  readonly address: string;
  readonly slots: Slots; // of its family
  readonly waiting: Waiting | null; // how it excludes, null where a slot does
  nextSlot: string; // "" until adopted
  facts: BlockFacts | null;
  /** The newest block heard of; at times the facts are of the one before. */
  head: number;
  /**
   * How many were found in a block since the block before: as many are looked for first in the next
   * one.
   */
  foundLately: number;
  away: string; // code of the nodes' fault, "" when they answer
  /** Approved and waiting for `sign`, by lane, in order of sequence. */
  readonly queues: Map<string, Item[]>;
  /** Bound to a slot or about to be. */
  readonly flight: Set<Item>;
  /** Those of the flight that are in no block, as far as this desk has seen. */
  readonly pending: Set<Item>;
  /**
   * Those of the flight that are in no block by what the signer was told: what it counts against
   * its own limit.
   */
  readonly unincluded: Set<Item>;
  reservedNative: bigint;
  readonly reservedTokens: Map<string, bigint>;
  /** Final, but younger than the balances at hand: still bound until those include it. */
  settling: { readonly block: number; readonly contract: string; readonly reserve: Reserve }[];
  counters: Counted;
  askingDead: number | null; // since when the nodes are being asked for dead versions
}

/** What the nodes count of the account's transactions. */
export interface Counted {
  askedAtMs: number | null;
  dueAtMs: number;
  detail: string;
  /** The first that is in no block and in no pool, by the last answer; "" before the first. */
  highest: string;
  /**
   * The first that is in no block, by the last answer, and when that came; null when there is none.
   */
  latest: { readonly slot: string; readonly atMs: number } | null;
}

export interface Book {
  greeted: boolean;
  locked: string;
  readonly items: Map<string, Item>;
  readonly accounts: Map<string, Account>; // by `accountKey`
  paused: boolean; // a person stopped new signatures
  /** Recently closed and when, so that a late view does not open them again. */
  readonly closed: Map<string, number>;
  /**
   * Whose end the signer was told, and the gateway has not confirmed: they count as open at the
   * next hello.
   */
  readonly awaiting: Map<string, { readonly account: Account; readonly slot: string }>;
  refreshDueAtMs: number; // not asked before
  helloAtMs: number; // the last answer
}
