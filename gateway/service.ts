/**
 * What the gateway's rooms work with in one process: configuration, database, signals, own key,
 * clock and randomness. Made in gateway.ts; the rooms take no more of it than they need.
 */
import type { GatewayLog } from "../protocol/log.ts";
import type { GatewayKey } from "./auth/gateway-key.ts";
import type { GatewayConfig, GatewayCurrency } from "./config.ts";
import type { Fiat } from "./fiat.ts";
import type { AddressMarks } from "./store/address-marks.ts";
import type { Signals } from "./store/signals.ts";
import type { Database, Store } from "./store/store.ts";

/**
 * Who is online, and which requests wait for an agent's first answer (withdrawals/waiters.ts).
 * @public
 */
export interface Waiters {
  online(agentId: string): boolean;
  /**
   * Resolves when the agent has answered this withdrawal, went offline, `waitMs` have passed, or
   * the gateway closes; at once when one of these holds already. Call it before the hub is woken,
   * or after: nothing is missed.
   */
  decided(
    database: Database,
    withdrawal: { readonly agent: string; readonly transactionId: string },
    waitMs: number,
  ): Promise<void>;
  /** Lets every waiting request go on; harmless twice. */
  close(): void;
}

/** @public */
export interface Price {
  readonly price: bigint; // of one whole unit, in 10^-18 (prices/decimal.ts)
  readonly atMs: number; // when it was last right
  readonly isStale: boolean;
  readonly origin: "typed" | "markets";
}

/** @public */
export interface Prices {
  /** The last good price; null when there never was one. */
  of(currency: GatewayCurrency, fiat: Fiat): Price | null;
  /** Whether a price can ever come: somebody typed one, or two markets at least are asked. */
  canHave(currency: GatewayCurrency, fiat: Fiat): boolean;
}

/** @public */
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
  /** Blocks on a payment that is not final yet; null when nothing is known. */
  readonly confirmations: (transactionId: string) => number | null;
  /** The marks of deposit addresses beside the database. */
  readonly addressMarks: AddressMarks;
  /** Whether all of a network was read by a pass that began at this time or later. */
  readonly isRead: (network: string, sinceMs: number) => boolean;
  /** Why a currency is out of service just now, "" when it is not. */
  readonly outOfService: (currency: string) => string;
}
