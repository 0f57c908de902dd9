/**
 * Selects the withdrawals of a pass if there are more than the pass may ask about. Takes one of
 * each agent in turn, longest waiting first, so that an agent with thousands does not delay the
 * others. Pure bookkeeping, touches nothing.
 */

/** The fields of a withdrawal that decide its turn. */
export interface Waiting {
  readonly id: string;
  readonly account: string; // account of its agent
  readonly hashes: readonly string[]; // one question for each
}

export class RoundRobin {
  readonly #looked = new Map<string, number>(); // newest pass that took it, by withdrawal
  #pass = 0;
  #since = 0; // a withdrawal taken in this pass or later has had its turn
  #key = "";
  #left = 0;

  /** The number of withdrawals that still wait for their turn after the last `take`. */
  get left(): number {
    return this.#left;
  }

  /**
   * The next of `open`, up to `questionsMax` questions in total but at least one withdrawal. Each
   * withdrawal comes only once until `key` changes or `restart` is called.
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

  /** Gives every withdrawal a turn again; the longest waiting still come first. */
  restart(): void {
    this.#since = this.#pass + 1;
  }

  /** Removes all withdrawals except these. */
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
