/** The watcher as other rooms see it. Only types. */
import type { WatcherNodes } from "../../chains/nodes.ts";
import type { Fault } from "../faults/fault.ts";
import type { ClockState } from "../own-clock.ts";
import type { ChainStatus } from "./chain-status.ts";

/** The loops of all chains, and their view for other rooms. */
export interface Watcher {
  /** True after every chain was read, and while none is stale. */
  ready(): boolean;
  chainStatus(): readonly ChainStatus[];
  /**
   * For a payment in a block that is not final yet: the number of blocks from its own to the head;
   * null if unknown.
   */
  confirmations(transactionId: string): number | null;
  /**
   * The reasons why currencies are out of service, by their ids: their contracts do not confirm
   * their decimals, or no balance in them can be read.
   */
  outOfService(): ReadonlyMap<string, string>;
  /**
   * When the newest pass that read a network's blocks to the tip had asked for the tip; null before
   * the first.
   */
  readAt(network: string): number | null;
  /** The waits for the chains that had begun when that pass began; null before the first. */
  waitsRead(network: string): number | null;
  /** The judgement of this machine's clock by the chains that have a preset. */
  ownClock(): ClockState;
  /** The faults of single items that stand, on every chain, oldest first. */
  faults(): readonly Fault[];
  /**
   * Since when a currency cannot be read, or an address in it; null if both can. Unix milliseconds.
   */
  unreadSince(place: {
    readonly network: string;
    readonly currency: string;
    readonly address: string;
  }): number | null;
  /** True while a network's final block is much older than usual, and new blocks come. */
  isLate(network: string): boolean;
  /** The nodes of a network, for questions beside the passes; undefined for another network. */
  readerOf(network: string): WatcherNodes | undefined;
  /** Ends the loops; resolves when nothing more is written. Harmless to call again. */
  close(): Promise<void>;
}
