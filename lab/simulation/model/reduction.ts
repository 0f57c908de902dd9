/**
 * Reductions that make the small model small: steps that need not be taken apart, and parts of a
 * state that no longer matter. Each says why nothing is missed. Touches nothing.
 */
import { heldOf, isPrefix, ownerOf } from "./facts.ts";
import type { Events, Found, MutantName, Sentence } from "./mutants.ts";
import {
  agentBases,
  cellOf,
  events,
  field,
  fieldCount,
  greets,
  locks,
  nonceOf,
  seconds,
  serves,
  stageOf,
  stages,
} from "./state.ts";

/** One search. */
export interface Setup {
  readonly allowed: Events;
  readonly mutant: MutantName | null;
  readonly grain: Grain;
}

/**
 * The steps that a search takes apart. *fine*: everything. *coarse*: two things fewer, each of
 * which only widens what can happen. (a) An INTENT goes with the first signature: nobody need ask
 * for a signed withdrawal again, and the gateway's head is compared by signatures alone, which fits
 * more often. An INTENT that never gets its signature only uses up a nonce, so a ledger may begin
 * one higher. (b) A run loses its greeting with its ledger or epoch only: one that is greeted can
 * be greeted again, and do all that one which is not can do. So a crash is a step where it takes
 * more than the greeting away, which it does in mutants. *whole*: also (c) what is signed is
 * committed at once. A statement changes nothing before its commit, so it may as well be signed
 * then, and what is never committed need never be signed. Only a ledger that is taken away can have
 * held more, and does: `World` lets it hold anything that it might. (d) A ledger that the gateway
 * will never take up again signs no more.
 */
export type Grain = "fine" | "coarse" | "whole";

/** The reductions of one search. */
export class Reduction {
  readonly isCoarse: boolean;
  readonly isFused: boolean;
  readonly #setup: Setup;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.isCoarse = setup.grain !== "fine";
    this.isFused = setup.grain === "whole";
  }

  /** A stage that the model has: a coarse one knows no INTENT without its signature. */
  isStage(stage: number): boolean {
    return !this.isCoarse || stage !== stages.intent;
  }

  /** Nothing this ledger signs can ever be held again: the gateway went another way for good. */
  isHopeless(state: Uint16Array, agent: number): boolean {
    return this.isFused && this.isDone(state, events.restore) && this.#isAstray(state, agent);
  }

  #isAstray(state: Uint16Array, agent: number): boolean {
    const base = agentBases[agent] as number;
    const served = state[field.served] as number;
    const isOwn = ownerOf(state, agent) === 0;
    if (isOwn && (served === serves.second || (served === serves.again && state[base + field.epoch] === 0))) return true;
    return !isPrefix(state, heldOf(state, agent), base + field.cell);
  }

  isDone(state: Uint16Array, event: number): boolean {
    const isAllowed =
      event === events.restore
        ? this.#setup.allowed.restore
        : event === events.again
          ? this.#setup.allowed.again
          : this.#setup.allowed.rollback;
    return !isAllowed || ((state[field.used] as number) & event) !== 0;
  }

  /**
   * The cells of the positions that the gateway signed for in this agent's epoch. Another epoch's
   * frames are refused unread (agent/signer/acts/echo.ts, `foreignTo`).
   */
  acknowledgedOf(state: Uint16Array, agent: number): readonly number[] {
    const held = heldOf(state, agent);
    const lost = held + field.lost - field.held;
    const epoch = state[(agentBases[agent] as number) + field.epoch] as number;
    const served = state[field.served] as number;
    if (ownerOf(state, agent) === 1) return [held, lost];
    const found = served === serves.second || served === epoch || this.#setup.mutant === "no-epoch" ? [held] : [];
    if (state[field.lostEpoch] === epoch) found.push(lost);
    if (epoch === 0) found.push(field.before);
    return found;
  }

  /**
   * Clears what can make no difference any more, so that states that differ in nothing else are
   * one.
   */
  normalise(next: Uint16Array): void {
    for (const owner of [0, 1]) {
      const held = field.held + 2 * owner;
      const lost = field.lost + 2 * owner;
      if (isPrefix(next, lost, held)) next.fill(0, lost, lost + 2);
    }
    const isRestoreDone = this.isDone(next, events.restore);
    const isCopyDone = next[field.second] !== seconds.none || !this.#setup.allowed.copy;
    for (const agent of [0, 1]) {
      if (agent === 1 && next[field.second] === seconds.none) continue;
      const base = agentBases[agent] as number;
      const isHopeless = this.isHopeless(next, agent) && this.isDone(next, events.rollback) && isCopyDone;
      if (isHopeless && (next[base + field.greet] === greets.none || !this.#canRelease(next, agent))) {
        next[base + field.lock] = locks.recorded;
      }
      if (next[base + field.lock] !== locks.recorded) continue;
      next[base + field.greet] = greets.none;
      next[base + field.soft] = 0;
      if (!this.isDone(next, events.rollback) || !isCopyDone) continue;
      // From here it only speaks: statements of what its ledger holds.
      next.fill(0, base + field.acked, base + field.acked + 2);
      if (isRestoreDone && (this.#isAstray(next, agent) || isPrefix(next, base, heldOf(next, agent)))) {
        next.fill(0, base, base + field.greet);
        next[base + field.epoch] = 0;
      }
    }
    if (isPrefix(next, field.lost, field.held)) next[field.lostEpoch] = 0;
    if (this.isDone(next, events.rollback) && isCopyDone && !this.#isBeforeOfUse(next))
      next.fill(0, field.before, field.before + 2);
    this.#clearGhost(next, isRestoreDone);
  }

  /**
   * An agent of the older epoch still has something of its ledger to be acknowledged by what the
   * gateway said in that epoch.
   */
  #isBeforeOfUse(next: Uint16Array): boolean {
    return [0, 1].some((agent) => {
      const base = agentBases[agent] as number;
      if (ownerOf(next, agent) !== 0 || next[base + field.epoch] !== 0 || next[base + field.lock] !== locks.open) return false;
      return [0, 1].some((withdrawal) => {
        const said = next[field.before + withdrawal] as number;
        const cell = next[base + field.cell + withdrawal] as number;
        const isSame = said !== 0 && nonceOf(said) === nonceOf(cell);
        return isSame && (next[base + field.acked + withdrawal] as number) < Math.min(stageOf(said), stageOf(cell));
      });
    });
  }

  /**
   * Cuts from a ledger that leads nowhere what nobody can acknowledge; false when nothing is left
   * to be released.
   */
  #canRelease(next: Uint16Array, agent: number): boolean {
    const base = agentBases[agent] as number;
    const acknowledged = this.acknowledgedOf(next, agent);
    let isLeft = false;
    for (const withdrawal of [0, 1]) {
      const cell = next[base + field.cell + withdrawal] as number;
      const acked = next[base + field.acked + withdrawal] as number;
      let most = acked;
      for (const at of acknowledged) {
        const said = next[at + withdrawal] as number;
        if (said !== 0 && nonceOf(said) === nonceOf(cell)) most = Math.max(most, Math.min(stageOf(said), stageOf(cell)));
      }
      next[base + field.cell + withdrawal] = cellOf(most, nonceOf(cell));
      isLeft ||= most > acked;
    }
    return isLeft;
  }

  #clearGhost(next: Uint16Array, isRestoreDone: boolean): void {
    const owner = next[field.ghostOwner] as number;
    const held = field.held + 2 * owner;
    const isMute = isRestoreDone && (!isPrefix(next, held, field.ghost) || isPrefix(next, field.ghost, held));
    const isSaid = [0, 1].some(
      (agent) =>
        ownerOf(next, agent) === owner &&
        (next[(agentBases[agent] as number) + field.epoch] as number) >= (next[field.ghostEpoch] as number) &&
        isPrefix(next, field.ghost, (agentBases[agent] as number) + field.cell),
    );
    if (isMute || isSaid) next.fill(0, field.ghost, field.ghostEpoch + 1);
  }

  /** The stage after `stage`. */
  after(stage: number): number {
    return stage === 0 && this.isCoarse ? stages.signed : stage + 1;
  }
}

/** The buffer in which a step is made, and to whom it is told. */
export class Steps {
  readonly next = new Uint16Array(fieldCount);
  state: Uint16Array = this.next;
  #found: Found = () => {};
  readonly #reduction: Reduction;

  constructor(reduction: Reduction) {
    this.#reduction = reduction;
  }

  from(state: Uint16Array, found: Found): void {
    this.state = state;
    this.#found = found;
  }

  begin(): Uint16Array {
    this.next.set(this.state);
    return this.next;
  }

  end(name: () => string, broken: Sentence | null = null): void {
    this.#reduction.normalise(this.next);
    this.#found(this.next, name, broken);
  }
}
