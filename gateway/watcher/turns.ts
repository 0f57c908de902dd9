/**
 * Which withdrawals a pass looks at when there are more than it may ask about: one of each agent in
 * turn, those not looked at for the longest first, so that no agent's thousands stand before
 * another's one. Pure bookkeeping, touches nothing.
 */

/** A withdrawal as far as its turn goes. */
export interface Waiting {
  readonly id: string;
  readonly account: string; // its agent's
  readonly hashes: readonly string[]; // a question each
}

export class Turns {
  readonly #looked = new Map<string, number>(); // pass of the last look, by withdrawal
  #pass = 0;
  #since = 0; // whatever was looked at in this pass or later has had its turn
  #key = "";
  #left = 0;

  /** How many still wait for their turn after the last `take`. */
  get left(): number {
    return this.#left;
  }

  /**
   * The next of `open`, up to `questionsMax` together but at least one; every one comes once until
   * `key` changes or `restart`.
   */
  take<One extends Waiting>(open: readonly One[], key: string, questionsMax: number): readonly One[] {
    this.#pass += 1;
    if (key !== this.#key) this.#since = this.#pass;
    this.#key = key;
    const due = open.filter((one) => this.#lookedAt(one) < this.#since);
    const taken: One[] = [];
    let questions = 0;
    for (const one of this.#inTurn(due)) {
      questions += one.hashes.length;
      if (taken.length > 0 && questions > questionsMax) break;
      taken.push(one);
    }
    for (const one of taken) this.#looked.set(one.id, this.#pass);
    this.#left = due.length - taken.length;
    return taken;
  }

  /** Everyone has a turn again; those who waited longest still come first. */
  restart(): void {
    this.#since = this.#pass + 1;
  }

  /** Forgets all but these. */
  keep(ids: ReadonlySet<string>): void {
    for (const id of this.#looked.keys()) if (!ids.has(id)) this.#looked.delete(id);
  }

  #lookedAt(one: Waiting): number {
    return this.#looked.get(one.id) ?? 0;
  }

  *#inTurn<One extends Waiting>(due: readonly One[]): Generator<One> {
    const queues = new Map<string, One[]>();
    for (const one of [...due].sort((a, b) => this.#lookedAt(a) - this.#lookedAt(b))) {
      const queue = queues.get(one.account);
      if (queue === undefined) queues.set(one.account, [one]);
      else queue.push(one);
    }
    for (let place = 0, found = true; found; place += 1) {
      found = false;
      for (const queue of queues.values()) {
        const one = queue[place];
        if (one === undefined) continue;
        found = true;
        yield one;
      }
    }
  }
}
