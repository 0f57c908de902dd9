/**
 * Questions about a state: which agent is which, which positions fit each other, which sentence
 * holds. Touches nothing.
 */
import type { Sentence } from "./mutants.ts";
import {
  agentBases,
  cellOf,
  field,
  isWithin,
  locks,
  nonceOf,
  nonces,
  seconds,
  serves,
  stageOf,
  stages,
  withdrawalBits,
} from "./state.ts";

const cellFields = [
  0,
  1,
  agentBases[1],
  agentBases[1] + 1,
  field.ghost,
  field.ghost + 1,
  ...[0, 1, 2, 3, 4, 5, 6, 7].map((i) => field.held + i),
];

/** Whose ledger it is to the gateway: a copy has the first one's identity. */
export function ownerOf(state: Uint16Array, agent: number): number {
  return agent === 1 && state[field.second] === seconds.other ? 1 : 0;
}

export function heldOf(state: Uint16Array, agent: number): number {
  return field.held + 2 * ownerOf(state, agent);
}

/**
 * gateway/hub/session.ts (`#admitHello`): not a released agent, not another epoch than the granted
 * one.
 */
export function isServed(state: Uint16Array, agent: number): boolean {
  const served = state[field.served] as number;
  if (ownerOf(state, agent) === 1) return served === serves.second;
  return served === state[(agentBases[agent] as number) + field.epoch];
}

/**
 * Whether the gateway takes its statements: an agent of a newer epoch than a restored database
 * knows still has those it signed in the older one.
 */
export function isHeard(state: Uint16Array, agent: number): boolean {
  const served = state[field.served] as number;
  if (ownerOf(state, agent) === 1) return served === serves.second;
  return served <= (state[(agentBases[agent] as number) + field.epoch] as number);
}

/**
 * Both cells at `shorter` within those at `longer`. Hashes are compared by content, which takes
 * more for equal than hashes do.
 */
export function isPrefix(state: Uint16Array, shorter: number, longer: number): boolean {
  return (
    isWithin(state[shorter] as number, state[longer] as number) &&
    isWithin(state[shorter + 1] as number, state[longer + 1] as number)
  );
}

/** The database holds everything the agent's ledger has acknowledged. */
export function isAckedHeld(state: Uint16Array, agent: number): boolean {
  const base = agentBases[agent] as number;
  const held = heldOf(state, agent);
  return [0, 1].every((withdrawal) => {
    const nonce = nonceOf(state[base + field.cell + withdrawal] as number);
    return isWithin(cellOf(state[base + field.acked + withdrawal] as number, nonce), state[held + withdrawal] as number);
  });
}

/** The ledger lacks a signature of its own identity that the gateway has acknowledged. */
export function isBlind(state: Uint16Array, agent: number): boolean {
  const cells = (agentBases[agent] as number) + field.cell;
  const held = heldOf(state, agent);
  return [held, held + field.lost - field.held].some((at) =>
    [0, 1].some((withdrawal) => {
      const cell = state[at + withdrawal] as number;
      return stageOf(cell) >= stages.signed && !hasToken(state[cells + withdrawal] as number, nonceOf(cell));
    }),
  );
}

function hasToken(cell: number, nonce: number): boolean {
  return stageOf(cell) >= stages.signed && nonceOf(cell) === nonce;
}

/** The central invariant and the bijection, over what is out. */
export function brokenByRelease(state: Uint16Array): Sentence | null {
  const released = state[field.released] as number;
  const [first, second] = [released & withdrawalBits, released >> nonces.most];
  if ((first & (first - 1)) !== 0 || (second & (second - 1)) !== 0) return "paid twice";
  return (first & second) === 0 ? null : "token shared";
}

/** No nonce was ever bound. */
export function isUntouched(state: Uint16Array): boolean {
  for (const at of cellFields) if (state[at] !== 0) return false;
  return true;
}

/** Stages that some order of the ledger's records passes: nonces are bound in their own order. */
export function isOrdered(stage0: number, stage1: number, cell0: number, cell1: number): boolean {
  if (stage0 === 0 && stage1 > 0) return cell0 === 0 || nonceOf(cell0) > nonceOf(cell1);
  if (stage1 === 0 && stage0 > 0) return cell1 === 0 || nonceOf(cell1) > nonceOf(cell0);
  return true;
}

/**
 * The operator's rule: no payment is forgotten by the database and by a ledger that may sign at
 * once. So a restored gateway hears the old agent out before another takes over
 * (gateway/recovery/hearing.ts has it so), and ledger and gateway are never both put back to before
 * the same payment.
 */
export function isRuleKept(state: Uint16Array): boolean {
  for (let at = field.held; at < field.held + 8; at++) {
    const cell = state[at] as number;
    if (stageOf(cell) < stages.signed) continue;
    const withdrawal = (at - field.held) & 1;
    const nonce = nonceOf(cell);
    if (state[field.token + withdrawal] === nonce) continue;
    for (const agent of [0, 1]) {
      const base = agentBases[agent] as number;
      if (agent === 1 && state[field.second] === seconds.none) continue;
      if (state[base + field.lock] !== locks.open || !isHeard(state, agent)) continue;
      if (!hasToken(state[base + field.cell + withdrawal] as number, nonce)) return false;
    }
  }
  return true;
}
