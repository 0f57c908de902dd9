/**
 * Places for connections that have said no hello yet. They are few, and a newcomer always gets one:
 * where there is none left, the longest silent connection of the most crowded address block loses
 * its own. So whoever holds one block (rate.ts) crowds out only himself, and whoever holds
 * thousands crowds out no block that an agent greeted from before. Connections that greeted need no
 * place.
 */

/** @public */
export const placesPerBlock = 20; // agents behind one address that dial at the same moment
/** @public */
export const placesInAll = 1000;

/** @public */
export class Places<Connection> {
  readonly #isKnown: (block: string) => boolean;
  readonly #silent = new Map<string, Set<Connection>>(); // by block; oldest first in each
  readonly #blocks = new Map<Connection, string>();

  /** `isKnown` says whether an agent greeted from this block before. */
  constructor(isKnown: (block: string) => boolean) {
    this.#isKnown = isKnown;
  }

  /**
   * Gives the newcomer a place. Answers with the connection that lost its own for it, for the
   * caller to cut; null when none did.
   */
  enter(newcomer: Connection, block: string): Connection | null {
    const own = this.#silent.get(block) ?? new Set();
    const crowded = own.size >= placesPerBlock ? own : this.#blocks.size >= placesInAll ? this.#mostCrowded() : null;
    const [oldest = null] = crowded ?? [];
    if (oldest !== null) this.leave(oldest);
    own.add(newcomer);
    this.#silent.set(block, own);
    this.#blocks.set(newcomer, block);
    return oldest;
  }

  /** The connection greeted, or is gone. Twice is harmless. */
  leave(connection: Connection): void {
    const block = this.#blocks.get(connection);
    if (block === undefined) return;
    const left = this.#silent.get(block);
    this.#blocks.delete(connection);
    left?.delete(connection);
    if (left?.size === 0) this.#silent.delete(block);
  }

  /** Known blocks come last, so that they lose a place only to each other. */
  #mostCrowded(): Set<Connection> | null {
    const byCrowd = [...this.#silent].sort(([, one], [, other]) => other.size - one.size);
    const [first] = byCrowd;
    return (byCrowd.find(([block]) => !this.#isKnown(block)) ?? first)?.[1] ?? null;
  }
}
