/**
 * The state of a chain at one block, as its nodes tell it to the courier: the market, the funds of
 * the hot wallet, and the control over it. Only types.
 */
import type { AgentError } from "../base/fault.ts";
import type { Coin, FeeMarket } from "./family.ts";

/**
 * Parts of a chain's state that can lack while its blocks are read. Without `market` there is no
 * new offer, without `funds` or `control` (code or key of the account) no new signature.
 */
export type StatePart = "market" | "funds" | "control";

/** A chain at one block, for every withdrawal there. */
export interface ChainState {
  readonly number: number;
  readonly finalNumber: number;
  /**
   * The final block's own time, milliseconds since 1970; present if attempts exclude each other by
   * expiry.
   */
  readonly chainMs?: number;
  readonly feeMarket: FeeMarket | null; // null if it could not be read
  /** The parts that could not be read, each with its fault; absent if all were. */
  readonly unread?: ReadonlyMap<StatePart, AgentError>;
  /**
   * The hot wallet's funds at the final block, by token contract; "" is the native coin. One that
   * lacks is unknown.
   */
  readonly balances: ReadonlyMap<string, bigint>;
  /** The hot wallet's final coins; present where the chain has coins in the place of balances. */
  readonly coins?: readonly Coin[];
  /** Final coins that no payment can spend: they are in no balance, and not among `coins`. */
  readonly unusable?: readonly UnusableCoin[];
  /**
   * The reason why a token must not be used for payments, by contract: its decimals differ from the
   * configured ones.
   */
  readonly unfit: ReadonlyMap<string, string>;
  readonly accountHasCode: boolean;
  /** True if the account's own key alone does not pay any more; present where keys can change. */
  readonly isKeyChanged?: boolean;
}

/** A coin that the account has and no payment can spend, and the reason in words. */
export interface UnusableCoin {
  readonly id: string;
  readonly units: bigint;
  readonly words: string;
}
