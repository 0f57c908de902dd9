/**
 * What befalls the small model from outside: rollback, restore, copies and takeovers, each at most once and each only while the
 * operator's rule holds; and what of a state no longer matters. Touches nothing.
 */
import type { Events, MutantName, Sentence } from "./mutants.ts";
import type { Found } from "./rules.ts";
import {
  agentBases,
  cellOf,
  events,
  field,
  fieldCount,
  greets,
  isWithin,
  locks,
  nonceOf,
  seconds,
  serves,
  stageOf,
  stages,
} from "./state.ts";

const cellFields = [0, 1, agentBases[1], agentBases[1] + 1, field.ghost, field.ghost + 1, ...[0, 1, 2, 3, 4, 5, 6, 7].map((i) => field.held + i)];

const names = ["first agent", "second agent"] as const;

/** A prefix of a ledger with what it holds acknowledged. */
interface Prefix {
  readonly cells: readonly [number, number];
  readonly acked: readonly [number, number];
}

export class World {
  readonly #allowed: Events;
  readonly #mutant: MutantName | null;
  readonly #next = new Uint8Array(fieldCount);

  constructor(allowed: Events, mutant: MutantName | null) {
    this.#allowed = allowed;
    this.#mutant = mutant;
  }

  /** Whose ledger it is to the gateway: a copy has the first one's identity. */
  ownerOf(state: Uint8Array, agent: number): number {
    return agent === 1 && state[field.second] === seconds.other ? 1 : 0;
  }

  heldOf(state: Uint8Array, agent: number): number {
    return field.held + 2 * this.ownerOf(state, agent);
  }

  /** gateway/hub/session.ts (`#admitHello`): not a released agent, not another epoch than the granted one. */
  isServed(state: Uint8Array, agent: number): boolean {
    const served = state[field.served] as number;
    if (this.ownerOf(state, agent) === 1) return served === serves.second;
    return served === state[(agentBases[agent] as number) + field.epoch];
  }

  /**
   * Whether the gateway takes its statements: an agent of a newer epoch than a restored database knows still has those it signed
   * in the older one.
   */
  isHeard(state: Uint8Array, agent: number): boolean {
    const served = state[field.served] as number;
    if (this.ownerOf(state, agent) === 1) return served === serves.second;
    return served <= (state[(agentBases[agent] as number) + field.epoch] as number);
  }

  /** Both cells at `shorter` within those at `longer`. Hashes are compared by content, which takes more for equal than hashes do. */
  isPrefix(state: Uint8Array, shorter: number, longer: number): boolean {
    return (
      isWithin(state[shorter] as number, state[longer] as number) &&
      isWithin(state[shorter + 1] as number, state[longer + 1] as number)
    );
  }

  /** The database holds everything the agent's ledger has acknowledged. */
  isAckedHeld(state: Uint8Array, agent: number): boolean {
    const base = agentBases[agent] as number;
    const held = this.heldOf(state, agent);
    return [0, 1].every((withdrawal) => {
      const nonce = nonceOf(state[base + field.cell + withdrawal] as number);
      return isWithin(cellOf(state[base + field.acked + withdrawal] as number, nonce), state[held + withdrawal] as number);
    });
  }

  /** The ledger lacks a signature of its own identity that the gateway has acknowledged. */
  isBlind(state: Uint8Array, agent: number): boolean {
    const cells = (agentBases[agent] as number) + field.cell;
    const held = this.heldOf(state, agent);
    return [held, held + field.lost - field.held].some((at) =>
      [0, 1].some((withdrawal) => {
        const cell = state[at + withdrawal] as number;
        return stageOf(cell) >= stages.signed && !this.#hasToken(state[cells + withdrawal] as number, nonceOf(cell));
      }),
    );
  }

  #hasToken(cell: number, nonce: number): boolean {
    return stageOf(cell) >= stages.signed && nonceOf(cell) === nonce;
  }

  /** The central invariant and the bijection, over what is out. */
  brokenByRelease(state: Uint8Array): Sentence | null {
    const released = state[field.released] as number;
    const [first, second] = [released & 15, released >> 4];
    if ((first & (first - 1)) !== 0 || (second & (second - 1)) !== 0) return "paid twice";
    return (first & second) === 0 ? null : "token shared";
  }

  /** No nonce was ever bound. */
  isUntouched(state: Uint8Array): boolean {
    for (const at of cellFields) if (state[at] !== 0) return false;
    return true;
  }

  /** Stages that some order of the ledger's records passes: nonces are bound in their own order. */
  isOrdered(stage0: number, stage1: number, cell0: number, cell1: number): boolean {
    if (stage0 === 0 && stage1 > 0) return cell0 === 0 || nonceOf(cell0) > nonceOf(cell1);
    if (stage1 === 0 && stage0 > 0) return cell1 === 0 || nonceOf(cell1) > nonceOf(cell0);
    return true;
  }

  /** Nothing this ledger signs can ever be held again: the gateway went another way for good. */
  isHopeless(state: Uint8Array, agent: number): boolean {
    if (!this.#isDone(state, events.restore)) return false;
    if (this.#mutant !== null) return false;
    return this.#isAstray(state, agent);
  }

  #isAstray(state: Uint8Array, agent: number): boolean {
    const base = agentBases[agent] as number;
    const served = state[field.served] as number;
    const isOwn = this.ownerOf(state, agent) === 0;
    if (isOwn && (served === serves.second || (served === serves.again && state[base + field.epoch] === 0))) return true;
    return !this.isPrefix(state, this.heldOf(state, agent), base + field.cell);
  }

  #isDone(state: Uint8Array, event: number): boolean {
    const isAllowed = event === events.restore ? this.#allowed.restore : this.#allowed.rollback;
    return !isAllowed || ((state[field.used] as number) & event) !== 0;
  }

  /**
   * The operator's rule: no payment is forgotten by the database and by a ledger that may sign at once. So a restored gateway hears
   * the old agent out before another takes over, and ledger and gateway are never both put back to before the same payment.
   */
  isRuleKept(state: Uint8Array): boolean {
    for (let at = field.held; at < field.held + 8; at++) {
      const cell = state[at] as number;
      if (stageOf(cell) < stages.signed) continue;
      const withdrawal = (at - field.held) & 1;
      const nonce = nonceOf(cell);
      if (state[field.token + withdrawal] === nonce) continue;
      for (const agent of [0, 1]) {
        const base = agentBases[agent] as number;
        if (agent === 1 && state[field.second] === seconds.none) continue;
        if (state[base + field.lock] !== locks.open || !this.isHeard(state, agent)) continue;
        if (!this.#hasToken(state[base + field.cell + withdrawal] as number, nonce)) return false;
      }
    }
    return true;
  }

  /** Everything from outside that may happen next. */
  each(state: Uint8Array, found: Found): void {
    if (!this.#isDone(state, events.rollback)) {
      this.#rollback(state, 0, found);
      if (state[field.second] !== seconds.none) this.#rollback(state, 1, found);
    }
    if (!this.#isDone(state, events.restore)) this.#restore(state, found);
    if (state[field.second] === seconds.none) {
      if (this.#allowed.copy) this.#copy(state, found);
      if (this.#allowed.other && state[field.served] !== serves.second) this.#takeOver(state, found);
    }
    if (this.#allowed.again && state[field.served] === serves.first) this.#pairAgain(state, found);
  }

  #emit(found: Found, name: () => string, isFree: boolean): void {
    if (!isFree && !this.isRuleKept(this.#next)) return;
    this.normalise(this.#next);
    found(this.#next, name, null);
  }

  /** Every earlier prefix of the ledger at `base`, with every acknowledged part of it. */
  *#prefixes(state: Uint8Array, base: number): Generator<Prefix> {
    const [c0, c1] = [state[base + field.cell] as number, state[base + field.cell + 1] as number];
    const [a0, a1] = [state[base + field.acked] as number, state[base + field.acked + 1] as number];
    for (let s0 = 0; s0 <= stageOf(c0); s0++) {
      for (let s1 = 0; s1 <= stageOf(c1); s1++) {
        if (!this.isOrdered(s0, s1, c0, c1)) continue;
        for (let k0 = 0; k0 <= Math.min(s0, a0); k0++) {
          for (let k1 = 0; k1 <= Math.min(s1, a1); k1++) {
            // A second version follows the release of the first, and so on.
            if (k0 < s0 - 1 && s0 > stages.signed) continue;
            if (k1 < s1 - 1 && s1 > stages.signed) continue;
            if (!this.isOrdered(k0, k1, c0, c1)) continue;
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
  #rollback(state: Uint8Array, agent: number, found: Found): void {
    const base = agentBases[agent] as number;
    const next = this.#next;
    for (const prefix of this.#prefixes(state, base)) {
      for (let epoch = 0; epoch <= (state[base + field.epoch] as number); epoch++) {
        next.set(state);
        this.#put(prefix, base);
        next[base + field.epoch] = epoch;
        next[field.ghost] = state[base + field.cell] as number;
        next[field.ghost + 1] = state[base + field.cell + 1] as number;
        next[field.ghostOwner] = this.ownerOf(state, agent);
        next[field.ghostEpoch] = state[base + field.epoch] as number;
        next[field.used] = (state[field.used] as number) | events.rollback;
        this.#emit(found, () => `${names[agent]}'s ledger is put back to ${told(prefix)}`, this.#mutant === "both-restored");
      }
    }
  }

  /** The same folder a second time, as it is or from a backup, run beside the original with the same keys. */
  #copy(state: Uint8Array, found: Found): void {
    const next = this.#next;
    for (const prefix of this.#prefixes(state, agentBases[0])) {
      next.set(state);
      this.#put(prefix, agentBases[1]);
      next[agentBases[1] + field.epoch] = state[field.epoch] as number;
      next[field.second] = seconds.copy;
      this.#emit(found, () => `a copy of the state folder is started with ${told(prefix)}`, false);
    }
  }

  /** gateway/operator/people.ts (`releaseAgent`), then gateway/pairing (`first`): other keys, same wallet, an empty ledger. */
  #takeOver(state: Uint8Array, found: Found): void {
    const next = this.#next;
    next.set(state);
    next[field.second] = seconds.other;
    next[field.served] = serves.second;
    this.#emit(found, () => "the operator releases the first agent, the second one pairs", this.#mutant === "takeover-unheard");
  }

  /** gateway/pairing (`again`) and agent/signer/core.ts (PAIRED): the same keys, a new epoch. */
  #pairAgain(state: Uint8Array, found: Found): void {
    for (const agent of [0, 1]) {
      const base = agentBases[agent] as number;
      if (agent === 1 && state[field.second] !== seconds.copy) continue;
      if (state[base + field.lock] !== locks.open || state[base + field.epoch] !== 0) continue;
      this.#next.set(state);
      this.#next[base + field.epoch] = 1;
      this.#next[base + field.greet] = greets.none;
      this.#next[field.served] = serves.again;
      this.#emit(found, () => `${names[agent]} pairs again: a new epoch`, false);
    }
  }

  /** The database from a backup: any earlier state of it. What it had acknowledged since stays in the courier's hands. */
  #restore(state: Uint8Array, found: Found): void {
    for (const [h0, h1] of this.#earlier(state, field.held)) {
      for (const [h2, h3] of this.#earlier(state, field.held + 2)) {
        for (let served = 0; served <= (state[field.served] as number); served++) {
          if (served !== serves.second && (h2 !== 0 || h3 !== 0)) continue;
          this.#next.set(state);
          this.#next.set(state.subarray(field.held, field.held + 4), field.lost);
          this.#next.set([h0, h1, h2, h3], field.held);
          for (const withdrawal of [0, 1]) {
            const cells = [h0, h1, h2, h3].filter((cell, at) => (at & 1) === withdrawal && stageOf(cell) >= stages.signed);
            this.#next[field.token + withdrawal] = Math.max(0, ...cells.map(nonceOf));
          }
          this.#next[field.served] = served;
          this.#next[field.used] = (state[field.used] as number) | events.restore;
          const name = (): string => `the gateway's database is put back to ${[h0, h1, h2, h3].map(spell).join(" ")}`;
          this.#emit(found, name, this.#mutant === "both-restored");
        }
      }
    }
  }

  *#earlier(state: Uint8Array, held: number): Generator<readonly [number, number]> {
    const [c0, c1] = [state[held] as number, state[held + 1] as number];
    for (let s0 = 0; s0 <= stageOf(c0); s0++) {
      for (let s1 = 0; s1 <= stageOf(c1); s1++) {
        if (this.isOrdered(s0, s1, c0, c1)) yield [cellOf(s0, nonceOf(c0)), cellOf(s1, nonceOf(c1))];
      }
    }
  }

  /** Clears what can make no difference any more, so that states that differ in nothing else are one. */
  normalise(next: Uint8Array): void {
    for (const owner of [0, 1]) {
      const held = field.held + 2 * owner;
      const lost = field.lost + 2 * owner;
      if (this.isPrefix(next, lost, held)) next.fill(0, lost, lost + 2);
    }
    const isRestoreDone = this.#isDone(next, events.restore);
    const isCopyDone = next[field.second] !== seconds.none || !this.#allowed.copy;
    for (const agent of [0, 1]) {
      if (agent === 1 && next[field.second] === seconds.none) continue;
      const base = agentBases[agent] as number;
      const isHopeless = this.isHopeless(next, agent) && this.#isDone(next, events.rollback) && isCopyDone;
      if (isHopeless && next[base + field.greet] === greets.none) next[base + field.lock] = locks.recorded;
      if (next[base + field.lock] !== locks.recorded) continue;
      next[base + field.greet] = greets.none;
      next[base + field.soft] = 0;
      if (!this.#isDone(next, events.rollback) || !isCopyDone) continue;
      // From here it only speaks: statements of what its ledger holds.
      next.fill(0, base + field.acked, base + field.acked + 2);
      if (isRestoreDone && (this.#isAstray(next, agent) || this.isPrefix(next, base, this.heldOf(next, agent)))) {
        next.fill(0, base, base + field.greet);
        next[base + field.epoch] = 0;
      }
    }
    this.#clearGhost(next, isRestoreDone);
  }

  #clearGhost(next: Uint8Array, isRestoreDone: boolean): void {
    const owner = next[field.ghostOwner] as number;
    const held = field.held + 2 * owner;
    const isMute =
      isRestoreDone && (!this.isPrefix(next, held, field.ghost) || this.isPrefix(next, field.ghost, held));
    const isSaid = [0, 1].some(
      (agent) =>
        this.ownerOf(next, agent) === owner &&
        (next[(agentBases[agent] as number) + field.epoch] as number) >= (next[field.ghostEpoch] as number) &&
        this.isPrefix(next, field.ghost, (agentBases[agent] as number) + field.cell),
    );
    if (isMute || isSaid) next.fill(0, field.ghost, field.ghostEpoch + 1);
  }
}

function spell(cell: number): string {
  return cell === 0 ? "nothing" : `${stageOf(cell) === stages.intent ? "intent" : `version ${stageOf(cell) - 1}`}@${nonceOf(cell)}`;
}

function told({ cells }: Prefix): string {
  return cells.map(spell).join(" and ");
}

