/**
 * The places of connections without a hello yet. There are few places, but a new connection always
 * gets one. If none is free, the oldest silent connection of the most crowded address block loses
 * its place. So an attacker with one block (rate.ts) displaces only its own connections. An
 * attacker with thousands of blocks displaces no block that an agent used for a hello before. A
 * connection after its hello has no place here.
 */

export const pendingPerBlock = 20; // agents behind one address that connect at the same moment
export const pendingInAll = 1000;

export class PendingConnections<Connection> {
  readonly #isKnown: (block: string) => boolean;
  readonly #silent = new Map<string, Set<Connection>>(); // by block; in each the oldest first
  readonly #blocks = new Map<Connection, string>();

  /** `isKnown` is true if an agent's hello came from this block before. */
  constructor(isKnown: (block: string) => boolean) {
    this.#isKnown = isKnown;
  }

  /**
   * Takes the new connection. Returns the connection that made room for it, for the caller to
   * cut, or null.
   */
  enter(newcomer: Connection, block: string): Connection | null {
    const own = this.#silent.get(block) ?? new Set();
    const crowded = own.size >= pendingPerBlock ? own : this.#blocks.size >= pendingInAll ? this.#mostCrowded() : null;
    const [oldest = null] = crowded ?? [];
    if (oldest !== null) this.leave(oldest);
    own.add(newcomer);
    this.#silent.set(block, own);
    this.#blocks.set(newcomer, block);
    return oldest;
  }

  /** Removes a connection after its hello or its end. Harmless to call twice. */
  leave(connection: Connection): void {
    const block = this.#blocks.get(connection);
    if (block === undefined) return;
    const left = this.#silent.get(block);
    this.#blocks.delete(connection);
    left?.delete(connection);
    if (left?.size === 0) this.#silent.delete(block);
  }

  /** Known blocks come last, so that they make room only for each other. */
  #mostCrowded(): Set<Connection> | null {
    const byCrowd = [...this.#silent].sort(([, one], [, other]) => other.size - one.size);
    const [first] = byCrowd;
    return (byCrowd.find(([block]) => !this.#isKnown(block)) ?? first)?.[1] ?? null;
  }
}
