/**
 * Events that reach the small model from outside: rollback, restore, copies and takeovers, each at
 * most once and each only while the operator's rule holds. Touches nothing.
 */
import { isOrdered, isRuleKept, ownerOf } from "./facts.ts";
import type { Found } from "./mutants.ts";
import type { Reduction, Setup } from "./reduction.ts";
import {
  agentBases,
  cellOf,
  events,
  field,
  fieldCount,
  greets,
  locks,
  agentNames as names,
  nonceOf,
  nonces,
  raised,
  seconds,
  serves,
  stageOf,
  stages,
} from "./state.ts";

/** A prefix of a ledger with what it holds acknowledged. */
interface Prefix {
  readonly cells: readonly [number, number];
  readonly acked: readonly [number, number];
}

export class World {
  readonly #setup: Setup;
  readonly #reduction: Reduction;
  readonly #next = new Uint16Array(fieldCount);

  constructor(setup: Setup, reduction: Reduction) {
    this.#setup = setup;
    this.#reduction = reduction;
  }

  /** Everything from outside that may happen next. */
  each(state: Uint16Array, found: Found): void {
    if (!this.#reduction.isDone(state, events.rollback)) {
      this.#rollback(state, 0, found);
      if (state[field.second] !== seconds.none) this.#rollback(state, 1, found);
    }
    if (!this.#reduction.isDone(state, events.restore)) this.#restore(state, found);
    if (state[field.second] === seconds.none) {
      if (this.#setup.allowed.copy) this.#copy(state, found);
      if (this.#setup.allowed.other && state[field.served] !== serves.second) this.#takeOver(state, found);
    }
    if (!this.#reduction.isDone(state, events.again) && state[field.served] === serves.first) this.#pairAgain(state, found);
  }

  #emit(found: Found, name: () => string, isFree: boolean): void {
    if (!isFree && !isRuleKept(this.#next)) return;
    this.#reduction.normalise(this.#next);
    found(this.#next, name, null);
  }

  /** Every earlier prefix of the ledger at `base`, with every acknowledged part of it. */
  *#prefixes(state: Uint16Array, base: number): Generator<Prefix> {
    const [c0, c1] = [state[base + field.cell] as number, state[base + field.cell + 1] as number];
    const [a0, a1] = [state[base + field.acked] as number, state[base + field.acked + 1] as number];
    for (let s0 = 0; s0 <= stageOf(c0); s0++) {
      for (let s1 = 0; s1 <= stageOf(c1); s1++) {
        if (!this.#reduction.isStage(s0) || !this.#reduction.isStage(s1) || !isOrdered(s0, s1, c0, c1)) continue;
        for (let k0 = 0; k0 <= Math.min(s0, a0); k0++) {
          for (let k1 = 0; k1 <= Math.min(s1, a1); k1++) {
            // A second version follows the release of the first, and so on.
            if (k0 < s0 - 1 && s0 > stages.signed) continue;
            if (k1 < s1 - 1 && s1 > stages.signed) continue;
            if (!this.#reduction.isStage(k0) || !this.#reduction.isStage(k1)) continue;
            if (!this.#reduction.isCoarse && !isOrdered(k0, k1, c0, c1)) continue;
            yield { cells: [cellOf(s0, nonceOf(c0)), cellOf(s1, nonceOf(c1))], acked: [k0, k1] };
          }
        }
      }
    }
  }

  #put(prefix: Prefix, base: number): void {
    const next = this.#next;
    next.fill(0, base, base + field.epoch);
    next.set(prefix.cells, base + field.cell);
    next.set(prefix.acked, base + field.acked);
    next[base + field.soft] = 0;
  }

  /** A state folder from a backup; what its ledger had said since stays in the courier's hands. */
  #rollback(state: Uint16Array, agent: number, found: Found): void {
    const base = agentBases[agent] as number;
    const next = this.#next;
    const ghosts = this.#ghosts(state, base);
    for (const prefix of this.#prefixes(state, base)) {
      for (let epoch = 0; epoch <= (state[base + field.epoch] as number); epoch++) {
        for (const ghost of ghosts) {
          next.set(state);
          this.#put(prefix, base);
          next[base + field.epoch] = epoch;
          next.set(ghost, field.ghost);
          next[field.ghostOwner] = ownerOf(state, agent);
          next[field.ghostEpoch] = state[base + field.epoch] as number;
          next[field.used] = (state[field.used] as number) | events.rollback;
          const name = (): string =>
            `${names[agent]}'s ledger, which held ${ghost.map(spell).join(" and ")}, is put back to ${told(prefix)}`;
          this.#emit(found, name, this.#setup.mutant === "both-restored");
        }
      }
    }
  }

  /**
   * The ledger that is taken away; where signing and committing are one step, with anything it may
   * have signed beside.
   */
  #ghosts(state: Uint16Array, base: number): readonly (readonly [number, number])[] {
    const cells = [state[base + field.cell] as number, state[base + field.cell + 1] as number] as const;
    if (!this.#reduction.isFused) return [cells];
    const more = [0, 1].map((withdrawal) => {
      const cell = cells[withdrawal] as number;
      const stage = stageOf(cell);
      if (stage > 0) {
        const isOpen = stage < stages.last && (state[base + field.acked + withdrawal] as number) >= stage;
        return isOpen ? [cell, raised(cell)] : [cell];
      }
      const other = cells[1 - withdrawal] as number;
      const candidates = other === 0 ? [1, 2, 3, 4, 5, 6] : [nonceOf(other) + 1].filter((nonce) => nonce <= nonces.most);
      return [0, ...candidates.map((nonce) => cellOf(stages.signed, nonce))];
    }) as [number[], number[]];
    const pairs = more[0].flatMap((c0) => more[1].map((c1) => [c0, c1] as const));
    return pairs.filter(
      ([c0, c1]) => cells[0] !== 0 || cells[1] !== 0 || c0 === 0 || c1 === 0 || Math.abs(nonceOf(c0) - nonceOf(c1)) === 1,
    );
  }

  /**
   * The same folder a second time, as it is or from a backup, run beside the original with the same
   * keys.
   */
  #copy(state: Uint16Array, found: Found): void {
    const next = this.#next;
    for (const prefix of this.#prefixes(state, agentBases[0])) {
      next.set(state);
      this.#put(prefix, agentBases[1]);
      next[agentBases[1] + field.epoch] = state[field.epoch] as number;
      next[field.second] = seconds.copy;
      this.#emit(found, () => `a copy of the state folder is started with ${told(prefix)}`, false);
    }
  }

  /**
   * gateway/operator/people.ts (`releaseAgent`), then gateway/pairing (`first`): other keys, same
   * wallet, an empty ledger.
   */
  #takeOver(state: Uint16Array, found: Found): void {
    const next = this.#next;
    next.set(state);
    next[field.second] = seconds.other;
    next[field.served] = serves.second;
    this.#emit(
      found,
      () => "the operator releases the first agent, the second one pairs",
      this.#setup.mutant === "takeover-unheard",
    );
  }

  /**
   * gateway/pairing (`again`) and agent/signer/state/core.ts (PAIRED): the same keys, a new epoch.
   */
  #pairAgain(state: Uint16Array, found: Found): void {
    for (const agent of [0, 1]) {
      const base = agentBases[agent] as number;
      if (agent === 1 && state[field.second] !== seconds.copy) continue;
      if (state[base + field.lock] !== locks.open || state[base + field.epoch] !== 0) continue;
      this.#next.set(state);
      this.#next[base + field.epoch] = 1;
      this.#next[base + field.greet] = greets.none;
      this.#next[field.served] = serves.again;
      this.#next[field.used] = (state[field.used] as number) | events.again;
      this.#next.set(state.subarray(field.held, field.held + 2), field.before);
      this.#emit(found, () => `${names[agent]} pairs again: a new epoch`, false);
    }
  }

  /**
   * The database from a backup: any earlier state of it. The courier keeps the acknowledgements
   * that it made since.
   */
  #restore(state: Uint16Array, found: Found): void {
    const now = state[field.served] as number;
    for (const [h0, h1] of this.#earlier(state, field.held)) {
      for (const [h2, h3] of this.#earlier(state, field.held + 2)) {
        for (let served = 0; served <= now; served++) {
          if (served !== serves.second && (h2 !== 0 || h3 !== 0)) continue;
          if (
            served === now &&
            h0 === state[field.held] &&
            h1 === state[field.held + 1] &&
            h2 === state[field.held + 2] &&
            h3 === state[field.held + 3]
          )
            continue;
          this.#next.set(state);
          this.#next.set(state.subarray(field.held, field.held + 4), field.lost);
          this.#next.set([h0, h1, h2, h3], field.held);
          for (const withdrawal of [0, 1]) {
            const cells = [h0, h1, h2, h3].filter((cell, at) => (at & 1) === withdrawal && stageOf(cell) >= stages.signed);
            this.#next[field.token + withdrawal] = Math.max(0, ...cells.map(nonceOf));
          }
          this.#next[field.lostEpoch] = state[field.served] === serves.again ? 1 : 0;
          this.#next[field.served] = served;
          this.#next[field.used] = (state[field.used] as number) | events.restore;
          const name = (): string => `the gateway's database is put back to ${[h0, h1, h2, h3].map(spell).join(" ")}`;
          this.#emit(found, name, this.#setup.mutant === "both-restored");
        }
      }
    }
  }

  *#earlier(state: Uint16Array, held: number): Generator<readonly [number, number]> {
    const [c0, c1] = [state[held] as number, state[held + 1] as number];
    for (let s0 = 0; s0 <= stageOf(c0); s0++) {
      for (let s1 = 0; s1 <= stageOf(c1); s1++) {
        if (!this.#reduction.isStage(s0) || !this.#reduction.isStage(s1)) continue;
        if (this.#reduction.isCoarse || isOrdered(s0, s1, c0, c1)) yield [cellOf(s0, nonceOf(c0)), cellOf(s1, nonceOf(c1))];
      }
    }
  }
}

function spell(cell: number): string {
  return cell === 0
    ? "nothing"
    : `${stageOf(cell) === stages.intent ? "intent" : `version ${stageOf(cell) - 1}`}@${nonceOf(cell)}`;
}

function told({ cells }: Prefix): string {
  return cells.map(spell).join(" and ");
}
