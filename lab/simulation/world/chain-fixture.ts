/**
 * The ground of a run: one chain with its nodes, their faults, and the judge that compares money
 * with the chain. One for each family of chains; the world around is the same. Types alone.
 */
import type { SightedCoin } from "../../../protocol/sightings.ts";
import type { Money } from "../invariants/money.ts";
import type { Chain } from "./chain.ts";
import type { FaultKind, Plan } from "./plan.ts";

/** The run on this ground. */
export interface JudgedRun {
  readonly plan: Plan;
  readonly isFaulty: boolean;
  /** Asks invariants; one that does not hold ends the run. */
  holds(check: () => void): void;
  /** Time goes on without anybody; it counts for nobody's patience. */
  leap(ms: number, why: string): void;
}

export type Strikes = (kind: FaultKind, label: string) => boolean;

/** The parameters that a taken courier names, in the family's form. */
export interface Hostilities {
  /** As an honest one has it, for a token unless told. */
  fair(contract?: string, transactionId?: string): Readonly<Record<string, string>>;
  txParams(transactionId?: string): Readonly<Record<string, string>>;
  /** As a hurried one has it: with a lower compute limit than it needs. */
  hurried(transactionId?: string): Readonly<Record<string, string>>;
  /** The transactions that made the coins of these parameters, where a chain has coins. */
  evidence?(txParams: Readonly<Record<string, string>>): readonly string[];
  /** Coins that courier and gateway have agreed to name, of which the chain has none. */
  madeUp?(): readonly SightedCoin[];
  /** A hash that no attempt has. */
  readonly noHash: string;
}

/** The account's payments as a block explorer shows them. */
export interface Explorer {
  /** Hashes of transactions that no final block has. */
  readonly young: readonly string[];
  /** Those among them that no block takes at the market's rate. */
  readonly dear: readonly string[];
  /** Whether a final transaction of the account pays this address this amount. */
  hasPaid(address: string, units: bigint): boolean;
}

export interface ChainFixture {
  readonly money: Money;
  /** The account's count of transactions; null if the chain has none. */
  readonly evm: Chain | null;
  /** The list of payments where nothing is counted; null where the chain itself is looked at. */
  readonly explorer: Explorer | null;
  /** The account's next number, as the chain counts; null where nothing is counted, or was yet. */
  readonly counted: string | null;
  /** The own time of the newest block, Unix milliseconds. */
  readonly headMs: number;
  /** Payments from outside that no block has yet. */
  readonly incoming: number;
  readonly hostilities: Hostilities;
  /** Parameters that leave all figures to the product, and a price that an operator names. */
  readonly openTxParams: Readonly<Record<string, string>>;
  readonly namedTxParams: Readonly<Record<string, string>>;
  /** All figures named, for a replacement of an attempt of which a recovery kept only the hash. */
  readonly fullTxParams: Readonly<Record<string, string>>;
  /** Blocks come from now on. */
  start(world: JudgedRun): void;
  /** Faults that are there from the beginning. */
  begin(plan: Plan): void;
  /** Faults of this moment. */
  strike(strikes: Strikes, plan: Plan): void;
  calmDown(): void;
  /** The market falls to what it was, when it is given, or rises; @returns what it was. */
  market(before: bigint | null): bigint;
  /** Hashes of payments from outside, and of what others made. */
  readonly outside: ReadonlySet<string>;
  /** Somebody with the same key uses the account. */
  outgoingElsewhere(): void;
  /** Somebody pays a deposit address. */
  payIn(address: string, contract: string, units: bigint): void;
  /** Whether more lies at an address than a sweep would leave. */
  isLeft(address: string, contract: string): boolean;
  /** Whether a block ever held it. */
  wasPlaced(txHash: string): boolean;
  /** Whether no block can ever take these bytes, or those that left by this hash. */
  isVoid(txHash: string, raw: string): boolean;
  /** Whether it is so of what left by this hash, as somebody sees who asks the chain itself. */
  isGone(txHash: string): boolean;
  /** Bytes that somebody kept reach the network. @returns its answer */
  publish(raw: string): string;
  /** What waits in the pool is nowhere any more. @returns how to publish each, by hash */
  conceal?(): ReadonlyMap<string, () => void>;
  /** All that ever left is published, and time goes on until it has ended. */
  finish(isOver: () => boolean): void;
  /** Whether the chain has still to take one at this slot, or before it. */
  hasStillToCome(slot: string): boolean;
  /** Whether each slot below this one ended on chain, in words where they did not. */
  unended(next: string): string;
}
