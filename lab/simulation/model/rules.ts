/**
 * Every step the agents of the small model can take, each naming what it abstracts. A step is one
 * act with its sync: what is not on disk is known to nobody, so a crash before the sync is the
 * state before the act. Touches nothing.
 */
import { brokenByRelease, heldOf, isAckedHeld, isBlind, isHeard, isPrefix, isServed, isUntouched, ownerOf } from "./facts.ts";
import { Gateway } from "./gateway.ts";
import type { Found, MutantName, Sentence } from "./mutants.ts";
import { Reduction, type Setup, Steps } from "./reduction.ts";
import {
  agentBases,
  cellOf,
  field,
  greets,
  isWithin,
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
import { World } from "./world.ts";

/** The steps of one configuration. Not for two searches at once: it works in buffers of its own. */
export class Rules {
  readonly #setup: Setup;
  readonly #reduction: Reduction;
  readonly #steps: Steps;
  readonly #gateway: Gateway;
  readonly #world: World;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.#reduction = new Reduction(setup);
    this.#steps = new Steps(this.#reduction);
    this.#gateway = new Gateway(setup, this.#reduction, this.#steps);
    this.#world = new World(setup, this.#reduction);
  }

  #is(name: MutantName): boolean {
    return this.#setup.mutant === name;
  }

  /**
   * Calls `found` with every state that can follow; the array it gets is used again for the next
   * one.
   */
  each(state: Uint16Array, found: Found): void {
    this.#steps.from(state, found);
    for (const agent of [0, 1]) {
      if (agent === 1 && state[field.second] === seconds.none) continue;
      this.#agent(agent);
    }
    this.#gateway.ghost();
    this.#world.each(state, found);
  }

  #agent(agent: number): void {
    const state = this.#steps.state;
    const base = agentBases[agent] as number;
    const isServedWrongly = this.#isServedWrongly(agent);
    const isWelcome = isServedWrongly || isServed(state, agent);
    if (isServedWrongly || isHeard(state, agent))
      this.#gateway.commits(base + field.cell, ownerOf(state, agent), base + field.acked, names[agent] as string);
    const lock = state[base + field.lock] as number;
    const greet = state[base + field.greet] as number;
    const hasMore = lock === locks.memory || state[base + field.soft] !== 0;
    if (hasMore || (greet !== greets.none && !this.#reduction.isCoarse)) this.#crash(agent);
    if (lock !== locks.open) return;
    if (isWelcome) this.#greet(agent);
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
    const state = this.#steps.state;
    if (state[field.served] === serves.second) return this.#is("released-agent-served");
    return this.#is("no-epoch") && ownerOf(state, agent) === 0;
  }

  /**
   * agent/signer/acts/run.ts (`beginRun`): a new process is greeted by nobody; agent/ledger: what
   * was not synced is gone.
   */
  #crash(agent: number): void {
    const next = this.#steps.begin();
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
    this.#steps.end(() => `${names[agent]} crashes and starts again`);
  }

  /** gateway/hub/session.ts (`#greet`) and agent/signer/acts (`admitWelcome`, `holdEcho`). */
  #greet(agent: number): void {
    const state = this.#steps.state;
    const base = agentBases[agent] as number;
    const held = heldOf(state, agent);
    if (!isPrefix(state, held, base + field.cell) && !this.#is("no-echo")) {
      this.#lock(agent, "is told of records it does not have, and locks");
      return;
    }
    if (isAckedHeld(state, agent) || this.#is("no-echo")) this.#greeted(agent, "the welcome");
    else if (this.#is("behind-ignored")) this.#stale(agent);
    else if (state[base + field.greet] !== greets.none && (!this.#reduction.isCoarse || this.#is("old-welcome-of-run"))) {
      const next = this.#steps.begin();
      next[base + field.greet] = this.#is("old-welcome-of-run") ? greets.behind : greets.none;
      this.#steps.end(() => `${names[agent]} is told that the gateway went back, and signs no more`);
    }
  }

  #greeted(agent: number, by: string): void {
    const base = agentBases[agent] as number;
    const next = this.#steps.begin();
    next[base + field.greet] = isBlind(this.#steps.state, agent) ? greets.blind : greets.yes;
    if (next[base + field.greet] !== this.#steps.state[base + field.greet])
      this.#steps.end(() => `${names[agent]} is greeted by ${by}`);
  }

  #stale(agent: number): void {
    const next = this.#steps.begin();
    next[(agentBases[agent] as number) + field.greet] = greets.stale;
    this.#steps.end(() => `${names[agent]} is greeted although the gateway went back`);
  }

  /** agent/signer/acts/run.ts (`lock`): a record, so it survives a crash. */
  #lock(agent: number, why: string): void {
    const next = this.#steps.begin();
    next[(agentBases[agent] as number) + field.lock] = this.#is("lock-in-memory") ? locks.memory : locks.recorded;
    this.#steps.end(() => `${names[agent]} ${why}`);
  }

  /**
   * agent/signer/acts/ack.ts (`acknowledge`, `release`), record by record. The courier keeps every
   * acknowledgement, and the gateway may have signed for every prefix of what it held: so any such
   * prefix may be acknowledged at any time.
   */
  #acknowledged(agent: number): void {
    const state = this.#steps.state;
    const base = agentBases[agent] as number;
    const held = heldOf(state, agent);
    const lost = held + field.lost - field.held;
    const cells = base + field.cell;
    const acknowledged = this.#reduction.acknowledgedOf(state, agent);
    for (const withdrawal of [0, 1]) {
      const stage = this.#reduction.after(state[base + field.acked + withdrawal] as number);
      const cell = state[cells + withdrawal] as number;
      const other = state[cells + 1 - withdrawal] as number;
      if (stage > stageOf(cell)) continue;
      const otherStage = state[base + field.acked + 1 - withdrawal] as number;
      if (
        !this.#reduction.isCoarse &&
        stage === stages.intent &&
        otherStage === 0 &&
        other !== 0 &&
        nonceOf(other) < nonceOf(cell)
      )
        continue;
      const upTo = cellOf(stage, nonceOf(cell));
      const beside = cellOf(otherStage, nonceOf(other));
      const covers = (at: number): boolean =>
        isWithin(upTo, state[at + withdrawal] as number) && isWithin(beside, state[at + 1 - withdrawal] as number);
      const isAcknowledged = acknowledged.some(covers);
      const isHeard = isAcknowledged && (!this.#is("ack-before-commit") || covers(held));
      if (!isAcknowledged && !this.#isTakenWrongly(agent, stage + otherStage, held)) continue;
      const next = this.#steps.begin();
      next[base + field.acked + withdrawal] = stage;
      let broken: Sentence | null = null;
      if (stage >= stages.signed) {
        next[field.released] = (next[field.released] as number) | (1 << (withdrawal * nonces.most + nonceOf(cell) - 1));
        const isSoft = ((state[base + field.soft] as number) & (1 << withdrawal)) !== 0 && stage === stageOf(cell);
        broken = brokenByRelease(next) ?? (isSoft ? "not on disk" : isHeard ? null : "released unheard");
      }
      const what = stage >= stages.signed ? `releases version ${stage - 1} of` : "has acknowledged the intent of";
      this.#steps.end(() => `${names[agent]} ${what} withdrawal ${withdrawal} at nonce ${nonceOf(cell)}`, broken);
    }
    const isForked = !isPrefix(state, held, cells) || !isPrefix(state, lost, cells);
    if (isForked && !this.#is("ack-of-any-ledger")) this.#lock(agent, "is shown an acknowledgement of another ledger, and locks");
  }

  #isTakenWrongly(agent: number, records: number, held: number): boolean {
    const state = this.#steps.state;
    if (this.#is("no-release-gate")) return true;
    const known = stageOf(state[held] as number) + stageOf(state[held + 1] as number);
    if (this.#is("ack-of-any-ledger")) return records <= known;
    return this.#is("ack-covers-all") && known > 0 && isPrefix(state, held, (agentBases[agent] as number) + field.cell);
  }

  #sync(agent: number, withdrawal: number): void {
    const base = agentBases[agent] as number;
    const soft = this.#steps.state[base + field.soft] as number;
    if ((soft & (1 << withdrawal)) === 0) return;
    const next = this.#steps.begin();
    next[base + field.soft] = soft & ~(1 << withdrawal);
    this.#steps.end(() => `${names[agent]} syncs its newest record of withdrawal ${withdrawal}`);
  }

  /**
   * agent/signer/acts (`adopt`, `prepareSign`) and state/accounts.ts: the first nonce is the
   * courier's word, every later one the next. The job is not asked for: the courier keeps all
   * lists, and the sentences hold even if anyone may be asked anything.
   */
  #intend(agent: number, withdrawal: number): void {
    const state = this.#steps.state;
    const base = agentBases[agent] as number;
    if (this.#reduction.isHopeless(state, agent)) return;
    const other = state[base + field.cell + 1 - withdrawal] as number;
    const isFirst = other === 0 || this.#is("adopt-with-tokens");
    const from = isFirst ? nonces.least : nonceOf(other) + 1;
    // Nonces are only compared and counted, so the first one ever may be called 3.
    const isFirstEver = isUntouched(state);
    const isAtOnce = this.#reduction.isFused && this.#brokenBySigning(agent) === null;
    const last = nonces.lastBeginning + (this.#reduction.isFused ? 1 : 0);
    for (let nonce = isFirstEver ? nonces.first : from; nonce <= (isFirstEver ? nonces.first : isFirst ? last : from); nonce++) {
      if (nonce > nonces.most) return;
      const next = this.#steps.begin();
      next[base + field.cell + withdrawal] = cellOf(this.#reduction.after(0), nonce);
      if (this.#is("intent-not-synced")) next[base + field.soft] = (next[base + field.soft] as number) | (1 << withdrawal);
      if (isAtOnce && !this.#gateway.commitAtOnce(agent, withdrawal)) continue;
      const broken =
        other !== 0 && nonceOf(other) === nonce ? "bound anew" : this.#reduction.isCoarse ? this.#brokenBySigning(agent) : null;
      const also = this.#reduction.isCoarse ? " and signs version 1" : "";
      this.#steps.end(() => `${names[agent]} binds withdrawal ${withdrawal} to nonce ${nonce}${also}`, broken);
    }
  }

  #brokenBySigning(agent: number): Sentence | null {
    const greet = this.#steps.state[(agentBases[agent] as number) + field.greet] as number;
    if (greet === greets.blind) return "signed after rollback";
    return greet === greets.stale ? "signed while behind" : null;
  }

  /** agent/signer/acts (`recorded`, `prepareReplace`) and rim/signer.ts (`signBound`). */
  #sign(agent: number, withdrawal: number): void {
    const state = this.#steps.state;
    const base = agentBases[agent] as number;
    const cell = state[base + field.cell + withdrawal] as number;
    const stage = stageOf(cell);
    const isBump = stage >= stages.signed;
    if (stage === stages.last || (isBump && (state[base + field.acked + withdrawal] as number) < stage)) return;
    const isSoft = ((state[base + field.soft] as number) & (1 << withdrawal)) !== 0;
    const broken: Sentence | null = isSoft && !isBump ? "not on disk" : this.#brokenBySigning(agent);
    if (broken === null && this.#reduction.isHopeless(state, agent)) return;
    const isAnew = (isBump && this.#is("version-with-new-nonce")) || (!isBump && this.#is("nonce-anew-after-crash"));
    const next = this.#steps.begin();
    if (isAnew) {
      const other = state[base + field.cell + 1 - withdrawal] as number;
      const nonce = Math.max(nonceOf(cell), nonceOf(other)) + 1;
      if (nonce > nonces.most) return;
      next[base + field.cell + withdrawal] = cellOf(stage + 1, nonce);
      this.#steps.end(() => `${names[agent]} signs withdrawal ${withdrawal} at nonce ${nonce} as well`, "bound anew");
      return;
    }
    next[base + field.cell + withdrawal] = raised(cell);
    if (broken === null && this.#reduction.isFused && !this.#gateway.commitAtOnce(agent, withdrawal)) return;
    if (this.#is("signed-not-synced")) next[base + field.soft] = (next[base + field.soft] as number) | (1 << withdrawal);
    this.#steps.end(() => `${names[agent]} signs version ${stage} of withdrawal ${withdrawal} at nonce ${nonceOf(cell)}`, broken);
  }
}
