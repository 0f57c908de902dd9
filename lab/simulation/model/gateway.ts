/**
 * The gateway's part of the small model: what it commits of what agents state, and thereby
 * acknowledges. Touches nothing. Abstracts gateway/hub/statements.ts, gateway/hub/effect.ts and
 * gateway/store/schema.ts.
 */
import { heldOf, isHeard, isOrdered, isPrefix } from "./facts.ts";
import type { MutantName, Sentence } from "./mutants.ts";
import type { Reduction, Setup, Steps } from "./reduction.ts";
import { agentBases, cellOf, field, nonceOf, serves, stageOf, stages } from "./state.ts";

export class Gateway {
  readonly #setup: Setup;
  readonly #reduction: Reduction;
  readonly #steps: Steps;

  constructor(setup: Setup, reduction: Reduction, steps: Steps) {
    this.#setup = setup;
    this.#reduction = reduction;
    this.#steps = steps;
  }

  #is(name: MutantName): boolean {
    return this.#setup.mutant === name;
  }

  /**
   * gateway/hub/statements.ts and effect.ts, record by record: what comes must continue what is
   * held, token by token.
   */
  commits(cells: number, owner: number, acked: number | null, who: string): void {
    const state = this.#steps.state;
    const held = field.held + 2 * owner;
    if (this.#is("fork-taken")) this.#forks(cells, held, who);
    if (this.#is("gap-taken") && acked !== null) this.#jump(cells, held, acked, who);
    if (!isPrefix(state, held, cells)) return;
    for (const withdrawal of [0, 1]) {
      const known = state[held + withdrawal] as number;
      const cell = state[cells + withdrawal] as number;
      if (known === cell) continue;
      const other = state[cells + 1 - withdrawal] as number;
      const isEarly =
        !this.#reduction.isCoarse &&
        known === 0 &&
        state[held + 1 - withdrawal] === 0 &&
        other !== 0 &&
        nonceOf(other) < nonceOf(cell);
      if (isEarly) continue;
      const next = this.#steps.begin();
      const to = cellOf(this.#reduction.after(stageOf(known)), nonceOf(cell));
      next[held + withdrawal] = to;
      if (stageOf(to) === stages.signed && !this.#keepToken(next, held, withdrawal, nonceOf(cell))) continue;
      const said = `${who}'s ${stageOf(to) === stages.intent ? "intent" : `version ${stageOf(to) - 1}`} of withdrawal ${withdrawal}`;
      this.#steps.end(() => `the gateway commits ${said} at nonce ${nonceOf(cell)}`, this.#unheld(next, held));
      if (!this.#is("ack-before-commit")) continue;
      const early = this.#steps.begin();
      early[held + field.lost - field.held + withdrawal] = to;
      early[held + field.lost - field.held + 1 - withdrawal] = early[held + 1 - withdrawal] as number;
      this.#steps.end(() => `the gateway acknowledges ${said} before its commit, and forgets it`);
    }
  }

  /**
   * gateway/store/schema.ts and gateway/hub/effect.ts (`signedEffect`): a token has one withdrawal,
   * a withdrawal one token and one agent. False: the agent is locked, nothing is kept.
   */
  #keepToken(next: Uint16Array, held: number, withdrawal: number, nonce: number): boolean {
    const others = held === field.held ? field.held + 2 : field.held;
    if (stageOf(next[others + withdrawal] as number) >= stages.signed) return false;
    const own = next[field.token + withdrawal] as number;
    const isFree = (own === 0 || own === nonce) && next[field.token + 1 - withdrawal] !== nonce;
    if (!isFree && !this.#is("tokens-not-unique")) return false;
    next[field.token + withdrawal] = nonce;
    return true;
  }

  #unheld(next: Uint16Array, held: number): Sentence | null {
    for (const withdrawal of [0, 1]) {
      const cell = next[held + withdrawal] as number;
      if (stageOf(cell) >= stages.signed && next[field.token + withdrawal] !== nonceOf(cell)) return "acknowledged unheld";
    }
    return null;
  }

  /**
   * A mutant: what lies at or below the held number is skipped unseen, whatever ledger it is of.
   */
  #forks(cells: number, held: number, who: string): void {
    const state = this.#steps.state;
    const [c0, c1] = [state[cells] as number, state[cells + 1] as number];
    const seq = stageOf(state[held] as number) + stageOf(state[held + 1] as number);
    if (seq >= stageOf(c0) + stageOf(c1)) return;
    for (let skipped = Math.max(0, seq - stageOf(c1)); skipped <= Math.min(seq, stageOf(c0)); skipped++) {
      const skips = [skipped, seq - skipped] as const;
      if (!isOrdered(skips[0], skips[1], c0, c1)) continue;
      this.#take(cells, held, skips, () => `the gateway takes all of ${who}'s ledger past its own number ${seq}`);
    }
  }

  /**
   * A mutant: a statement after what the agent knows to be acknowledged, though the gateway has
   * forgotten that.
   */
  #jump(cells: number, held: number, acked: number, who: string): void {
    const state = this.#steps.state;
    const skips = [state[acked] as number, state[acked + 1] as number] as const;
    const isGap = stageOf(state[held] as number) < skips[0] || stageOf(state[held + 1] as number) < skips[1];
    if (isGap) this.#take(cells, held, skips, () => `the gateway takes ${who}'s newest records though older ones are missing`);
  }

  #take(cells: number, held: number, skips: readonly [number, number], name: () => string): void {
    const next = this.#steps.begin();
    for (const withdrawal of [0, 1]) {
      const cell = next[cells + withdrawal] as number;
      next[held + withdrawal] = cell;
      const isNew = (skips[withdrawal] as number) < stages.signed && stageOf(cell) >= stages.signed;
      if (isNew && !this.#keepToken(next, held, withdrawal, nonceOf(cell))) return;
    }
    this.#steps.end(name, this.#unheld(next, held));
  }

  /** Statements that were signed before the rollback; the courier may hand them on at any time. */
  ghost(): void {
    const state = this.#steps.state;
    if (state[field.ghost] === 0 && state[field.ghost + 1] === 0) return;
    const owner = state[field.ghostOwner] as number;
    const served = state[field.served] as number;
    const isHeard = owner === 1 ? served === serves.second : served <= (state[field.ghostEpoch] as number);
    if (isHeard) this.commits(field.ghost, owner, null, "the lost ledger");
  }

  /**
   * Once no ledger and no database can go back any more, a signature matters only when it is
   * committed, and it may as well be made just before. So both are one step. False when the gateway
   * would not take it now.
   */
  commitAtOnce(agent: number, withdrawal: number): boolean {
    const next = this.#steps.next;
    const cells = (agentBases[agent] as number) + field.cell;
    const held = heldOf(next, agent);
    const cell = next[cells + withdrawal] as number;
    if (!isHeard(next, agent) || next[held + withdrawal] !== this.#steps.state[cells + withdrawal]) return false;
    if (!isPrefix(next, held, cells)) return false;
    if (stageOf(cell) === stages.signed && !this.#keepToken(next, held, withdrawal, nonceOf(cell))) return false;
    next[held + withdrawal] = cell;
    return true;
  }
}
