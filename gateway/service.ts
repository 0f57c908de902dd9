/**
 * What the gateway's rooms work with in one process: configuration, database, signals, own key, clock and randomness. Made in
 * gateway.ts; the rooms take no more of it than they need.
 */
import type { GatewayLog } from "../protocol/log.ts";
import type { GatewayKey } from "./auth/gateway-key.ts";
import type { GatewayConfig } from "./config.ts";
import type { Signals } from "./store/signals.ts";
import type { Store } from "./store/store.ts";
import type { Waiters } from "./withdrawals/waiters.ts";

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
  /** Blocks on a payment that is not final yet; null when nothing is known. */
  readonly confirmations: (transactionId: string) => number | null;
}
