/**
 * Every step the small model can take, each naming what it abstracts. A step is one act with its sync: what is not on disk is known
 * to nobody, so a crash before the sync is the state before the act. Touches nothing. docs/reliability.md says what is assumed.
 */
import type { Events, MutantName, Sentence } from "./mutants.ts";
import {
  agentBases,
  cellOf,
  field,
  fieldCount,
  greets,
  isWithin,
  locks,
  nonceMax,
  nonceOf,
  raised,
  seconds,
  serves,
  stageOf,
  stages,
} from "./state.ts";
import { World } from "./world.ts";

/** A step for the trace: who did what. */
export type Found = (next: Uint8Array, name: () => string, broken: Sentence | null) => void;

const names = ["first agent", "second agent"] as const;

/** The steps of one configuration. Not for two searches at once: it works in buffers of its own. */
export class Rules {
  readonly #is: (name: MutantName) => boolean;
  readonly #world: World;
  readonly #next = new Uint8Array(fieldCount);
  #state: Uint8Array = this.#next;
  #found: Found = () => {};

  constructor(allowed: Events, mutant: MutantName | null) {
    this.#is = (name) => name === mutant;
    this.#world = new World(allowed, mutant);
  }

  /** Calls `found` with every state that can follow; the array it gets is used again for the next one. */
  each(state: Uint8Array, found: Found): void {
    this.#state = state;
    this.#found = found;
    for (const agent of [0, 1]) {
      if (agent === 1 && state[field.second] === seconds.none) continue;
      this.#agent(agent);
    }
    this.#ghost();
    this.#world.each(state, found);
  }

  #begin(): Uint8Array {
    this.#next.set(this.#state);
    return this.#next;
  }

  #end(name: () => string, broken: Sentence | null = null): void {
    this.#world.normalise(this.#next);
    this.#found(this.#next, name, broken);
  }

  #agent(agent: number): void {
    const state = this.#state;
    const base = agentBases[agent] as number;
    const isServedWrongly = this.#isServedWrongly(agent);
    const isServed = isServedWrongly || this.#world.isServed(state, agent);
    if (isServedWrongly || this.#world.isHeard(state, agent))
      this.#commits(base + field.cell, this.#world.ownerOf(state, agent), base + field.acked, names[agent] as string);
    const lock = state[base + field.lock] as number;
    const greet = state[base + field.greet] as number;
    if (greet !== greets.none || lock === locks.memory || state[base + field.soft] !== 0) this.#crash(agent);
    if (lock !== locks.open) return;
    if (isServed) this.#greet(agent);
    if (this.#is("welcome-of-other-run") && greet === greets.none) this.#greeted(agent, "a welcome of another run");
    if (greet === greets.behind && this.#is("old-welcome-of-run")) this.#stale(agent);
    if (greet === greets.none || greet === greets.behind) return;
    this.#acknowledged(agent);
    for (const withdrawal of [0, 1]) {
      this.#sync(agent, withdrawal);
      if ((state[base + field.cell + withdrawal] as number) === 0) this.#intend(agent, withdrawal);
      else this.#sign(agent, withdrawal);
    }
  }

  #isServedWrongly(agent: number): boolean {
    const state = this.#state;
    if (state[field.served] === serves.second) return this.#is("released-agent-served");
    return this.#is("no-epoch") && this.#world.ownerOf(state, agent) === 0;
  }

  /** agent/signer/run.ts (`beginRun`): a new process is greeted by nobody; agent/signer/ledger: what was not synced is gone. */
  #crash(agent: number): void {
    const next = this.#begin();
    const base = agentBases[agent] as number;
    next[base + field.greet] = greets.none;
    if (next[base + field.lock] === locks.memory) next[base + field.lock] = locks.open;
    const soft = next[base + field.soft] as number;
    for (const withdrawal of [0, 1]) {
      const at = base + field.cell + withdrawal;
      const cell = next[at] as number;
      if ((soft & (1 << withdrawal)) !== 0) next[at] = cellOf(stageOf(cell) - 1, nonceOf(cell));
    }
    next[base + field.soft] = 0;
    this.#end(() => `${names[agent]} crashes and starts again`);
  }

  /** gateway/hub/session.ts (`#greet`) and agent/signer/admission/admission.ts (`admitWelcome`, `holdEcho`). */
  #greet(agent: number): void {
    const state = this.#state;
    const base = agentBases[agent] as number;
    const held = this.#world.heldOf(state, agent);
    if (!this.#world.isPrefix(state, held, base + field.cell) && !this.#is("no-echo")) {
      this.#lock(agent, "is told of records it does not have, and locks");
      return;
    }
    if (this.#world.isAckedHeld(state, agent) || this.#is("no-echo")) this.#greeted(agent, "the welcome");
    else if (this.#is("behind-ignored")) this.#stale(agent);
    else if (state[base + field.greet] !== greets.none) {
      const next = this.#begin();
      next[base + field.greet] = this.#is("old-welcome-of-run") ? greets.behind : greets.none;
      this.#end(() => `${names[agent]} is told that the gateway went back, and signs no more`);
    }
  }

  #greeted(agent: number, by: string): void {
    const base = agentBases[agent] as number;
    const next = this.#begin();
    next[base + field.greet] = this.#world.isBlind(this.#state, agent) ? greets.blind : greets.yes;
    if (next[base + field.greet] !== this.#state[base + field.greet]) this.#end(() => `${names[agent]} is greeted by ${by}`);
  }

  #stale(agent: number): void {
    const next = this.#begin();
    next[(agentBases[agent] as number) + field.greet] = greets.stale;
    this.#end(() => `${names[agent]} is greeted although the gateway went back`);
  }

  /** agent/signer/run.ts (`lock`): a record, so it survives a crash. */
  #lock(agent: number, why: string): void {
    const next = this.#begin();
    next[(agentBases[agent] as number) + field.lock] = this.#is("lock-in-memory") ? locks.memory : locks.recorded;
    this.#end(() => `${names[agent]} ${why}`);
  }

  /**
   * agent/signer/admission/admission.ts (`acknowledge`, `release`), record by record. The courier keeps every acknowledgement, and
   * the gateway may have signed for every prefix of what it held: so any such prefix may be acknowledged at any time.
   */
  #acknowledged(agent: number): void {
    const state = this.#state;
    const base = agentBases[agent] as number;
    const held = this.#world.heldOf(state, agent);
    const lost = held + field.lost - field.held;
    const cells = base + field.cell;
    for (const withdrawal of [0, 1]) {
      const stage = (state[base + field.acked + withdrawal] as number) + 1;
      const cell = state[cells + withdrawal] as number;
      const other = state[cells + 1 - withdrawal] as number;
      if (stage > stageOf(cell)) continue;
      const otherStage = state[base + field.acked + 1 - withdrawal] as number;
      if (stage === stages.intent && otherStage === 0 && other !== 0 && nonceOf(other) < nonceOf(cell)) continue;
      const upTo = cellOf(stage, nonceOf(cell));
      const beside = cellOf(otherStage, nonceOf(other));
      const covers = (at: number): boolean =>
        isWithin(upTo, state[at + withdrawal] as number) && isWithin(beside, state[at + 1 - withdrawal] as number);
      const isHeard = covers(held) || (covers(lost) && !this.#is("ack-before-commit"));
      if (!isHeard && !covers(lost) && !this.#isTakenWrongly(agent, stage + otherStage, held)) continue;
      const next = this.#begin();
      next[base + field.acked + withdrawal] = stage;
      let broken: Sentence | null = null;
      if (stage >= stages.signed) {
        next[field.released] = (next[field.released] as number) | (1 << (withdrawal * nonceMax + nonceOf(cell) - 1));
        const isSoft = ((state[base + field.soft] as number) & (1 << withdrawal)) !== 0 && stage === stageOf(cell);
        broken = this.#world.brokenByRelease(next) ?? (isSoft ? "not on disk" : isHeard ? null : "released unheard");
      }
      const what = stage >= stages.signed ? `releases version ${stage - 1} of` : "has acknowledged the intent of";
      this.#end(() => `${names[agent]} ${what} withdrawal ${withdrawal} at nonce ${nonceOf(cell)}`, broken);
    }
    const isForked = !this.#world.isPrefix(state, held, cells) || !this.#world.isPrefix(state, lost, cells);
    if (isForked && !this.#is("ack-of-any-ledger")) this.#lock(agent, "is shown an acknowledgement of another ledger, and locks");
  }

  #isTakenWrongly(agent: number, records: number, held: number): boolean {
    const state = this.#state;
    if (this.#is("no-release-gate")) return true;
    const known = stageOf(state[held] as number) + stageOf(state[held + 1] as number);
    if (this.#is("ack-of-any-ledger")) return records <= known;
    return this.#is("ack-covers-all") && known > 0 && this.#world.isPrefix(state, held, (agentBases[agent] as number) + field.cell);
  }

  #sync(agent: number, withdrawal: number): void {
    const base = agentBases[agent] as number;
    const soft = this.#state[base + field.soft] as number;
    if ((soft & (1 << withdrawal)) === 0) return;
    const next = this.#begin();
    next[base + field.soft] = soft & ~(1 << withdrawal);
    this.#end(() => `${names[agent]} syncs its newest record of withdrawal ${withdrawal}`);
  }

  /**
   * agent/signer/withdrawal/claims.ts (`adopt`), accounts.ts and tokens.ts (`prepareSign`): the first nonce is the courier's word, every later one
   * the next. The job is not asked for: the courier keeps all lists, and the sentences hold even if anyone may be asked anything.
   */
  #intend(agent: number, withdrawal: number): void {
    const state = this.#state;
    const base = agentBases[agent] as number;
    if (this.#world.isHopeless(state, agent)) return;
    const other = state[base + field.cell + 1 - withdrawal] as number;
    const isFirst = other === 0 || this.#is("adopt-with-tokens");
    const from = isFirst ? 1 : nonceOf(other) + 1;
    // Nonces are only compared and counted, so the first one ever may be called 2.
    const isUntouched = this.#world.isUntouched(state);
    for (let nonce = isUntouched ? 2 : from; nonce <= (isUntouched ? 2 : isFirst ? 3 : from); nonce++) {
      if (nonce > nonceMax) return;
      const next = this.#begin();
      next[base + field.cell + withdrawal] = cellOf(stages.intent, nonce);
      if (this.#is("intent-not-synced")) next[base + field.soft] = (next[base + field.soft] as number) | (1 << withdrawal);
      const broken = other !== 0 && nonceOf(other) === nonce ? "bound anew" : null;
      this.#end(() => `${names[agent]} binds withdrawal ${withdrawal} to nonce ${nonce}`, broken);
    }
  }

  /** agent/signer/withdrawal/tokens.ts (`recorded`, `prepareReplace`) and signer.ts (`#signRecorded`). */
  #sign(agent: number, withdrawal: number): void {
    const state = this.#state;
    const base = agentBases[agent] as number;
    const cell = state[base + field.cell + withdrawal] as number;
    const stage = stageOf(cell);
    const isBump = stage >= stages.signed;
    if (stage === stages.last || (isBump && (state[base + field.acked + withdrawal] as number) < stage)) return;
    const greet = state[base + field.greet] as number;
    const isSoft = ((state[base + field.soft] as number) & (1 << withdrawal)) !== 0;
    let broken: Sentence | null = isSoft && !isBump ? "not on disk" : null;
    if (greet === greets.blind) broken ??= "signed after rollback";
    if (greet === greets.stale) broken ??= "signed while behind";
    if (broken === null && this.#world.isHopeless(state, agent)) return;
    const isAnew = (isBump && this.#is("version-with-new-nonce")) || (!isBump && this.#is("nonce-anew-after-crash"));
    const next = this.#begin();
    if (isAnew) {
      const other = state[base + field.cell + 1 - withdrawal] as number;
      const nonce = Math.max(nonceOf(cell), nonceOf(other)) + 1;
      if (nonce > nonceMax) return;
      next[base + field.cell + withdrawal] = cellOf(stage + 1, nonce);
      this.#end(() => `${names[agent]} signs withdrawal ${withdrawal} at nonce ${nonce} as well`, "bound anew");
      return;
    }
    next[base + field.cell + withdrawal] = raised(cell);
    if (this.#is("signed-not-synced")) next[base + field.soft] = (next[base + field.soft] as number) | (1 << withdrawal);
    this.#end(() => `${names[agent]} signs version ${stage} of withdrawal ${withdrawal} at nonce ${nonceOf(cell)}`, broken);
  }

  /** Statements that were signed before the rollback; the courier may hand them on at any time. */
  #ghost(): void {
    const state = this.#state;
    if (state[field.ghost] === 0 && state[field.ghost + 1] === 0) return;
    const owner = state[field.ghostOwner] as number;
    const served = state[field.served] as number;
    const isHeard = owner === 1 ? served === serves.second : served <= (state[field.ghostEpoch] as number);
    if (isHeard) this.#commits(field.ghost, owner, null, "the lost ledger");
  }

  /** gateway/hub/statements.ts and effect.ts, record by record: what comes must continue what is held, token by token. */
  #commits(cells: number, owner: number, acked: number | null, who: string): void {
    const state = this.#state;
    const held = field.held + 2 * owner;
    if (this.#is("fork-taken")) this.#forks(cells, held, who);
    if (this.#is("gap-taken") && acked !== null) this.#jump(cells, held, acked, who);
    if (!this.#world.isPrefix(state, held, cells)) return;
    for (const withdrawal of [0, 1]) {
      const known = state[held + withdrawal] as number;
      const cell = state[cells + withdrawal] as number;
      if (known === cell) continue;
      const other = state[cells + 1 - withdrawal] as number;
      const isEarly = known === 0 && state[held + 1 - withdrawal] === 0 && other !== 0 && nonceOf(other) < nonceOf(cell);
      if (isEarly) continue;
      const next = this.#begin();
      const to = known === 0 ? cellOf(stages.intent, nonceOf(cell)) : raised(known);
      next[held + withdrawal] = to;
      if (stageOf(to) === stages.signed && !this.#keepToken(next, withdrawal, nonceOf(cell))) continue;
      const said = `${who}'s ${stageOf(to) === stages.intent ? "intent" : `version ${stageOf(to) - 1}`} of withdrawal ${withdrawal}`;
      this.#end(() => `the gateway commits ${said} at nonce ${nonceOf(cell)}`, this.#unheld(next, held));
      if (!this.#is("ack-before-commit")) continue;
      const early = this.#begin();
      early[held + field.lost - field.held + withdrawal] = to;
      early[held + field.lost - field.held + 1 - withdrawal] = early[held + 1 - withdrawal] as number;
      this.#end(() => `the gateway acknowledges ${said} before its commit, and forgets it`);
    }
  }

  /** gateway/store/schema.ts: a token has one withdrawal, a withdrawal one token. False: the agent is locked, nothing is kept. */
  #keepToken(next: Uint8Array, withdrawal: number, nonce: number): boolean {
    const own = next[field.token + withdrawal] as number;
    const isFree = (own === 0 || own === nonce) && next[field.token + 1 - withdrawal] !== nonce;
    if (!isFree && !this.#is("tokens-not-unique")) return false;
    next[field.token + withdrawal] = nonce;
    return true;
  }

  #unheld(next: Uint8Array, held: number): Sentence | null {
    for (const withdrawal of [0, 1]) {
      const cell = next[held + withdrawal] as number;
      if (stageOf(cell) >= stages.signed && next[field.token + withdrawal] !== nonceOf(cell)) return "acknowledged unheld";
    }
    return null;
  }

  /** A mutant: what lies at or below the held number is skipped unseen, whatever ledger it is of. */
  #forks(cells: number, held: number, who: string): void {
    const state = this.#state;
    const [c0, c1] = [state[cells] as number, state[cells + 1] as number];
    const seq = stageOf(state[held] as number) + stageOf(state[held + 1] as number);
    if (seq >= stageOf(c0) + stageOf(c1)) return;
    for (let skipped = Math.max(0, seq - stageOf(c1)); skipped <= Math.min(seq, stageOf(c0)); skipped++) {
      const skips = [skipped, seq - skipped] as const;
      if (!this.#world.isOrdered(skips[0], skips[1], c0, c1)) continue;
      this.#take(cells, held, skips, () => `the gateway takes all of ${who}'s ledger past its own number ${seq}`);
    }
  }

  /** A mutant: a statement after what the agent knows to be acknowledged, though the gateway has forgotten that. */
  #jump(cells: number, held: number, acked: number, who: string): void {
    const state = this.#state;
    const skips = [state[acked] as number, state[acked + 1] as number] as const;
    const isGap = stageOf(state[held] as number) < skips[0] || stageOf(state[held + 1] as number) < skips[1];
    if (isGap) this.#take(cells, held, skips, () => `the gateway takes ${who}'s newest records though older ones are missing`);
  }

  #take(cells: number, held: number, skips: readonly [number, number], name: () => string): void {
    const next = this.#begin();
    for (const withdrawal of [0, 1]) {
      const cell = next[cells + withdrawal] as number;
      next[held + withdrawal] = cell;
      const isNew = (skips[withdrawal] as number) < stages.signed && stageOf(cell) >= stages.signed;
      if (isNew && !this.#keepToken(next, withdrawal, nonceOf(cell))) return;
    }
    this.#end(name, this.#unheld(next, held));
  }
}
