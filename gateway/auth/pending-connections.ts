/**
 * The places of connections that have not shown yet who they are: without a whole request at the
 * API, without a hello at the hub. There are few places, but a new connection always gets one. If
 * none is free, the oldest silent connection of the most crowded address block loses its place. So
 * an attacker with one block (rate.ts) displaces only its own connections. An attacker with
 * thousands of blocks displaces no block that an agent used for a hello before, and an agent's own
 * block has no limit of its own: all agents behind one address may connect at the same time.
 */

export interface PendingLimits {
  readonly perBlock: number;
  readonly inAll: number;
}

export class PendingConnections<Connection> {
  readonly #limits: PendingLimits;
  readonly #isKnown: (block: string) => boolean;
  readonly #silent = new Map<string, Set<Connection>>(); // by block; in each the oldest first
  readonly #blocks = new Map<Connection, string>();

  /** `isKnown` is true if an agent's hello came from this block before. */
  constructor(limits: PendingLimits, isKnown: (block: string) => boolean) {
    this.#limits = limits;
    this.#isKnown = isKnown;
  }

  /**
   * Takes the new connection. Returns the connection that made room for it, for the caller to
   * cut, or null.
   */
  enter(newcomer: Connection, block: string): Connection | null {
    const own = this.#silent.get(block) ?? new Set();
    const [oldest = null] = this.#crowded(own, block) ?? [];
    if (oldest !== null) this.leave(oldest);
    own.add(newcomer);
    this.#silent.set(block, own);
    this.#blocks.set(newcomer, block);
    return oldest;
  }

  /** Removes a connection after its request, its hello or its end. Harmless to call twice. */
  leave(connection: Connection): void {
    const block = this.#blocks.get(connection);
    if (block === undefined) return;
    const left = this.#silent.get(block);
    this.#blocks.delete(connection);
    left?.delete(connection);
    if (left?.size === 0) this.#silent.delete(block);
  }

  /** The connections of which one has to make room; null if there is room. */
  #crowded(own: Set<Connection>, block: string): Set<Connection> | null {
    const isFull = this.#blocks.size >= this.#limits.inAll;
    if (own.size >= this.#limits.perBlock && (isFull || !this.#isKnown(block))) return own;
    return isFull ? this.#mostCrowded() : null;
  }

  /** Known blocks come last, so that they make room only for each other. */
  #mostCrowded(): Set<Connection> | null {
    const byCrowd = [...this.#silent].sort(([, one], [, other]) => other.size - one.size);
    const [first] = byCrowd;
    return (byCrowd.find(([block]) => !this.#isKnown(block)) ?? first)?.[1] ?? null;
  }
}
