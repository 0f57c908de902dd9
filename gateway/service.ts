/**
 * The shared parts of one gateway process: configuration, database, signals, the gateway's key,
 * clock and randomness. Made in gateway.ts; each module takes only the necessary parts.
 */
import type { GatewayLog } from "../base/log.ts";
import type { GatewayKey } from "./auth/gateway-key.ts";
import type { GatewayConfig, GatewayCurrency } from "./config/config.ts";
import type { Fiat } from "./config/fiat.ts";
import type { ClockState } from "./own-clock.ts";
import type { IssuedAddressMarks } from "./store/address-marks.ts";
import type { AddressLook, Signals } from "./store/signals.ts";
import type { Database, Store } from "./store/store.ts";

/**
 * Knows which agents are online and which requests wait: for an agent's first answer, or for a look
 * at the next addresses of an account (withdrawals/waiters.ts).
 */
export interface Waiters {
  online(agentId: string): boolean;
  /**
   * Resolves when the agent has answered this withdrawal or went offline, when `waitMs` have
   * passed, or when the gateway closes. Resolves at once if that is already so. May be called
   * before or after the hub is woken.
   */
  decided(
    database: Database,
    withdrawal: { readonly agent: string; readonly transactionId: string },
    waitMs: number,
  ): Promise<void>;
  /**
   * Like `decided`, for a withdrawal that no agent has been told of, and which is not answered
   * therefore. Must be called before the hub is woken.
   */
  answered(
    withdrawal: { readonly agent: string; readonly transactionId: string },
    waitMs: number,
  ): Promise<void>;
  /**
   * Resolves when this withdrawal's row changed or its agent went offline, when `waitMs` have
   * passed, or when the gateway closes. Must be called before the change can happen.
   */
  changed(
    withdrawal: { readonly agent: string; readonly transactionId: string },
    waitMs: number,
  ): Promise<void>;
  /**
   * Asks the watcher to look at the next addresses of an account. Resolves with true after the
   * look, with false if `waitMs` have passed or the gateway closes.
   */
  looked(look: AddressLook, waitMs: number): Promise<boolean>;
  /** Ends the wait of every request. Harmless to call twice. */
  close(): void;
}

export interface FiatPrice {
  readonly price: bigint; // price of one unit, in 10^-18 (prices/decimal.ts)
  readonly atMs: number; // when it was last right
  readonly isStale: boolean;
  readonly origin: "typed" | "markets";
}

export interface Prices {
  /** The last good price; null if there never was one. */
  of(currency: GatewayCurrency, fiat: Fiat): FiatPrice | null;
  /** True if a price is possible: an operator typed one, or at least two markets are asked. */
  canHave(currency: GatewayCurrency, fiat: Fiat): boolean;
}

export interface Service {
  readonly config: GatewayConfig;
  readonly store: Store;
  readonly signals: Signals;
  readonly key: GatewayKey;
  readonly log: GatewayLog;
  readonly clock: () => number; // milliseconds since 1970
  readonly random: (bytes: number) => Uint8Array;
  readonly waiters: Waiters;
  readonly prices: Prices;
  readonly run: string; // names this process (store/owner.ts)
  /** The number of blocks on a payment that is not final yet; null if unknown. */
  readonly confirmations: (transactionId: string) => number | null;
  /** The marks of deposit addresses next to the database. */
  readonly addressMarks: IssuedAddressMarks;
  /**
   * When the newest pass that read a network's blocks to the newest began; null before the first of
   * this run.
   */
  readonly readAt: (network: string) => number | null;
  /** The waits for the chains that had begun when that pass began (store/restored-database.ts). */
  readonly waitsRead: (network: string) => number | null;
  /**
   * Since when no balance of an address in a currency can be read; null if nothing keeps it from
   * being read. Unix milliseconds.
   */
  readonly unreadSince: (place: {
    readonly network: string;
    readonly currency: string;
    readonly address: string;
  }) => number | null;
  /** True while a network's final block is much older than usual, and new blocks come. */
  readonly isLate: (network: string) => boolean;
  /** The reason why a currency is out of service now; "" if it is in service. */
  readonly outOfService: (currency: string) => string;
  readonly ownClock: () => ClockState; // this machine's clock as the chains judge it
}

/** Numbers of the running process, for the operator on this machine alone. */
export interface GatewayFigures {
  readonly version: string;
  readonly startedAt: string; // ISO 8601, UTC
  readonly agentsConnected: number;
  readonly chains: readonly {
    readonly chain: string;
    readonly head: number | null; // newest block of its nodes
    readonly final: number | null;
    readonly headAgeSeconds: number | null; // by the block's own time
    readonly finalAgeSeconds: number | null; // of the newest final block
    readonly read: number | null; // newest final block whose payments were read
  }[];
}

/** A check of one part of the gateway. It answers fast and never throws. */
export type Probe = () => {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string; // public text
  readonly full?: string; // longer text for the operator, if there is one
  readonly aloneOut?: true; // the other parts work without it
};
