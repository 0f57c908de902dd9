/**
 * Deals the questions of a pass to merchants in turn. The merchant with the fewest questions in the
 * pass comes next, and of several the one that was asked about longest ago. So a merchant with
 * thousands of things delays nobody, and a share that somebody does not use is the others'. Pure
 * bookkeeping. Source: docs/architecture.md section 8.
 */

/** The turn of one thing. */
export interface PassTurn {
  readonly merchant: string; // "" for nobody's
  readonly questions: number; // that it costs
  /**
   * Lets things of one merchant come by the time when they were last asked about; without it as
   * they are listed.
   */
  readonly id?: string;
}

export class MerchantTurns {
  readonly #asked = new Map<string, number>(); // by id; a larger number is later
  readonly #dealt = new Map<string, number>(); // by merchant
  readonly #inPass = new Map<string, number>(); // questions by merchant
  #time = 0;

  /** Begins a pass: nobody has had a question yet. */
  beginPass(): void {
    this.#inPass.clear();
  }

  /** The merchant of these that comes next; null of none. */
  next(merchants: Iterable<string>): string | null {
    return this.#inOrder(merchants)[0] ?? null;
  }

  /** Notes questions about a merchant's things. */
  count(merchant: string, questions: number): void {
    this.#time += 1;
    this.#dealt.set(merchant, this.#time);
    this.#inPass.set(merchant, this.#questionsOf(merchant) + questions);
  }

  /**
   * Things for at most `questionsMax` questions, but at least one thing. A merchant whose next
   * thing does not fit any more waits for the next pass, and comes first there.
   */
  deal<One>(
    things: readonly One[],
    questionsMax: number,
    turnOf: (one: One) => PassTurn,
  ): readonly One[] {
    const queues = this.#queuesOf(things, turnOf);
    const taken: One[] = [];
    let left = questionsMax;
    while (queues.size > 0 && left > 0) {
      const order = this.#inOrder(queues.keys());
      const least = this.#questionsOf(order[0] as string);
      for (const merchant of order) {
        if (left <= 0 || this.#questionsOf(merchant) > least) break;
        const queue = queues.get(merchant) as { one: One; turn: PassTurn }[];
        const { one, turn } = queue.pop() as { one: One; turn: PassTurn };
        const isFitting = taken.length === 0 || turn.questions <= left;
        if (!isFitting || queue.length === 0) queues.delete(merchant);
        if (!isFitting) continue;
        taken.push(one);
        left -= turn.questions;
        this.count(merchant, turn.questions);
        if (turn.id !== undefined) this.#asked.set(turn.id, this.#time);
      }
    }
    return taken;
  }

  /** Forgets all things except these. */
  keep(ids: ReadonlySet<string>): void {
    for (const id of this.#asked.keys()) if (!ids.has(id)) this.#asked.delete(id);
  }

  #questionsOf(merchant: string): number {
    return this.#inPass.get(merchant) ?? 0;
  }

  #inOrder(merchants: Iterable<string>): readonly string[] {
    const dealtAt = (merchant: string): number => this.#dealt.get(merchant) ?? 0;
    return [...merchants].sort(
      (a, b) => this.#questionsOf(a) - this.#questionsOf(b) || dealtAt(a) - dealtAt(b),
    );
  }

  /** Things by merchant, the next at the end. */
  #queuesOf<One>(
    things: readonly One[],
    turnOf: (one: One) => PassTurn,
  ): Map<string, { one: One; turn: PassTurn }[]> {
    const queues = new Map<string, { one: One; turn: PassTurn }[]>();
    for (const one of things) {
      const turn = turnOf(one);
      const queue = queues.get(turn.merchant);
      if (queue === undefined) queues.set(turn.merchant, [{ one, turn }]);
      else queue.push({ one, turn });
    }
    const askedAt = ({ turn: { id } }: { readonly turn: PassTurn }): number =>
      id === undefined ? 0 : (this.#asked.get(id) ?? 0);
    for (const queue of queues.values()) queue.sort((a, b) => askedAt(a) - askedAt(b)).reverse();
    return queues;
  }
}
