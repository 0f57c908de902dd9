/**
 * One state of the small model: a few dozen small numbers, packed into 160 bits. A *cell* is how
 * far one withdrawal has come in one ledger and with which nonce; two cells are a ledger, or a
 * position in one. Touches nothing.
 */

/** Stages of a cell: INTENT recorded, then the first, second and third version signed. */
export const stages = { intent: 1, signed: 2, last: 4 } as const;
/**
 * The first nonce ever bound is called 3, since nonces are only compared and counted. A ledger may
 * begin two below or above it: near enough to share any of its two, far enough to share none.
 */
export const nonces = { least: 1, first: 3, lastBeginning: 5, most: 7 } as const;

/** A cell: 0 for nothing recorded, else stage and nonce. */
export function cellOf(stage: number, nonce: number): number {
  return stage === 0 ? 0 : 1 + (stage - 1) * nonces.most + (nonce - 1);
}

const cells = Array.from({ length: 1 + stages.last * nonces.most }, (_, cell) => cell);
const stageOfCell = Uint8Array.from(cells, (cell) => (cell === 0 ? 0 : Math.floor((cell - 1) / nonces.most) + 1));
const nonceOfCell = Uint8Array.from(cells, (cell) => (cell === 0 ? 0 : ((cell - 1) % nonces.most) + 1));

export function stageOf(cell: number): number {
  return stageOfCell[cell] as number;
}

export function nonceOf(cell: number): number {
  return nonceOfCell[cell] as number;
}

/** The next stage with the same nonce. */
export function raised(cell: number): number {
  return cell + nonces.most;
}

/**
 * True if `longer` says all that `shorter` says: nothing yet, or the same nonce and at least as
 * far.
 */
export function isWithin(shorter: number, longer: number): boolean {
  return shorter === 0 || (shorter <= longer && nonceOf(shorter) === nonceOf(longer));
}

/** The cell of each field. Agent fields are relative to `agentBases`. */
export const agentBases = [0, 8] as const;
export const agentNames = ["first agent", "second agent"] as const;
export const field = {
  cell: 0, // two cells: the ledger
  // two stages: up to where the ledger holds an acknowledgement; a version below it is released
  acked: 2,
  greet: 4, // this run's, see `greets`
  lock: 5, // see `locks`
  epoch: 6, // 0 or 1: recorded in the ledger at pairing
  soft: 7, // bit per withdrawal: its newest record is not on disk; only where a mutant skips a sync
  second: 16, // kind of the second agent, see `seconds`
  // Two cells: the ledger that a rollback took away, whose statements the courier still has
  ghost: 17,
  ghostOwner: 19, // 0 the first identity, 1 the second
  ghostEpoch: 20,
  held: 21, // two cells each: the gateway's database, of the first and of the second identity
  // two cells each: what a restore took from it, whose acknowledgements the courier still has
  lost: 25,
  served: 29, // whom the gateway serves, see `serves`
  used: 30, // bits, see `events`
  released: 31, // bit withdrawal * 7 + nonce - 1: bytes with this token are out
  token: 32, // two: the gateway's table of tokens, nonce of each withdrawal or 0
  before: 34, // two cells: what the gateway held of the first identity when that paired again
  lostEpoch: 36, // the epoch of the first identity when a restore took `lost`
} as const;
export const fieldCount = 37;

/**
 * States of a run: not greeted; greeted; greeted while the ledger lacks acknowledged records;
 * greeted before, and told since that the gateway went back; the same, and greeted again with an
 * old word.
 */
export const greets = { none: 0, yes: 1, blind: 2, behind: 3, stale: 4 } as const;
/** Open; locked by a record; locked in memory alone, which only a mutant does. */
export const locks = { open: 0, recorded: 1, memory: 2 } as const;
/**
 * No second agent; a copy of the first one's folder; another server with other keys and the same
 * wallet.
 */
export const seconds = { none: 0, copy: 1, other: 2 } as const;
/**
 * The first identity in its first epoch; after it paired again; the second identity, the first one
 * being released.
 */
export const serves = { first: 0, again: 1, second: 2 } as const;
/** Bits of `used`. */
export const events = { rollback: 1, restore: 2, again: 4 } as const;

const widths: readonly number[] = [
  ...[5, 5, 3, 3, 3, 2, 1, 2],
  ...[5, 5, 3, 3, 3, 2, 1, 2],
  ...[2, 5, 5, 1, 1],
  ...[5, 5, 5, 5, 5, 5, 5, 5],
  ...[2, 3, 14, 3, 3, 5, 5, 1],
];

/** Words of a packed state. */
export const words = 5;

/** word and shift of each field; none straddles two words. */
const places = widths.map(() => ({ word: 0, shift: 0 }));
let word = 0;
let used = 0;
for (const [index, width] of widths.entries()) {
  if (used + width > 32) {
    word += 1;
    used = 0;
  }
  places[index] = { word, shift: used };
  used += width;
}
const wordOf = Uint8Array.from(places, (place) => place.word);
const shiftOf = Uint8Array.from(places, (place) => place.shift);
const maskOf = Uint32Array.from(widths, (width) => 2 ** width - 1);

export function pack(state: Uint16Array, into: Uint32Array): void {
  into.fill(0);
  for (let i = 0; i < fieldCount; i++) {
    const at = wordOf[i] as number;
    into[at] = (into[at] as number) | ((state[i] as number) << (shiftOf[i] as number));
  }
}

export function unpack(from: Uint32Array, offset: number, state: Uint16Array): void {
  for (let i = 0; i < fieldCount; i++) {
    state[i] = ((from[offset + (wordOf[i] as number)] as number) >>> (shiftOf[i] as number)) & (maskOf[i] as number);
  }
}

/** The bits of one withdrawal in `released`. */
export const withdrawalBits = 2 ** nonces.most - 1;

/** Nothing has happened: one agent, paired and served. */
export function initialState(): Uint16Array {
  return new Uint16Array(fieldCount);
}

const pairs = [
  field.cell,
  field.acked,
  agentBases[1],
  agentBases[1] + field.acked,
  field.ghost,
  21,
  23,
  25,
  27,
  field.token,
  field.before,
];
const image = new Uint16Array(fieldCount);
const other = new Uint32Array(words);

function exchange(state: Uint16Array, a: number, b: number): void {
  const kept = state[a] as number;
  state[a] = state[b] as number;
  state[b] = kept;
}

/** The two withdrawals change names. */
function swapWithdrawals(state: Uint16Array): void {
  for (const at of pairs) exchange(state, at, at + 1);
  for (const base of agentBases) {
    const soft = state[base + field.soft] as number;
    state[base + field.soft] = ((soft & 1) << 1) | (soft >> 1);
  }
  const released = state[field.released] as number;
  state[field.released] = ((released & withdrawalBits) << nonces.most) | (released >> nonces.most);
}

/** A copy and its original change places: nothing but their place tells them apart. */
function swapAgents(state: Uint16Array): void {
  for (let i = 0; i < agentBases[1]; i++) exchange(state, i, i + agentBases[1]);
}

function keepLess(into: Uint32Array): void {
  pack(image, other);
  for (let i = 0; i < words; i++) {
    const a = other[i] as number;
    const b = into[i] as number;
    if (a > b) return;
    if (a < b) break;
  }
  into.set(other);
}

/**
 * Packs the least of the images that differ only in names: withdrawals always, agents when one is a
 * copy of the other.
 */
export function packCanonical(state: Uint16Array, into: Uint32Array): void {
  image.set(state);
  pack(image, into);
  swapWithdrawals(image);
  keepLess(into);
  if (state[field.second] !== seconds.copy) return;
  swapAgents(image);
  keepLess(into);
  swapWithdrawals(image);
  keepLess(into);
}
