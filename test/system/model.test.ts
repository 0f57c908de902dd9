/**
 * The small model: smaller configurations to their fixpoints, and every mutant caught in its own,
 * whose twin without it is clean.
 */
import { describe, expect, it } from "vitest";
import { checkConfiguration, checkMutant, configurations } from "../../lab/simulation/model/check.ts";
import { type Events, mutants } from "../../lab/simulation/model/mutants.ts";
import {
  cellOf,
  fieldCount,
  isWithin,
  nonceOf,
  nonces,
  pack,
  packCanonical,
  stageOf,
  unpack,
  words,
} from "../../lab/simulation/model/state.ts";

const none: Events = { rollback: false, restore: false, copy: false, other: false, again: false };

describe("the small model", () => {
  it.each([
    ["one agent", { rollback: true, restore: true }, "fine"],
    ["a copy", { copy: true }, "fine"],
    ["one agent", { rollback: true, restore: true }, "whole"],
    ["a copy and a rollback", { copy: true, rollback: true }, "whole"],
    ["a takeover and a restore", { other: true, restore: true }, "whole"],
  ] as const)("the model of %s with %o reaches its fixpoint, %s", (name, events, grain) => {
    const done = checkConfiguration({ name, events: { ...none, ...events }, grain });
    expect(done.trace).toEqual([]);
    expect(done).toMatchObject({ broken: null, isComplete: true });
    expect(done.states).toBeGreaterThan(1000);
  });

  it("the small model searches the whole scope in its command", () => {
    const whole = configurations.filter((one) => one.grain === "whole").map(({ events }) => events);
    for (const event of Object.keys(none) as (keyof Events)[])
      expect(
        whole.some((events) => events[event]),
        event,
      ).toBe(true);
    expect(whole.every((events) => events.rollback && events.restore && (events.copy || events.other))).toBe(true);
  });

  const sound = new Map<string, ReturnType<typeof checkConfiguration>>();
  const twinOf = (events: Events, grain: (typeof mutants)[number]["grain"]) => {
    const key = JSON.stringify([events, grain]);
    const twin = sound.get(key) ?? checkConfiguration({ name: "twin", events, grain });
    sound.set(key, twin);
    return twin;
  };

  it.each(mutants.map((mutant) => [mutant.name, mutant] as const))("the small model catches %s", (_name, mutant) => {
    const { broken, trace } = checkMutant(mutant);
    expect(broken).toBe(mutant.breaks);
    expect(trace.at(-1)).toMatch(new RegExp(`: ${mutant.breaks}$`));
    // Three events at once are a minute's search: they lie within what the command searches whole.
    if (Object.values(mutant.events).filter(Boolean).length < 3)
      expect(twinOf(mutant.events, mutant.grain)).toMatchObject({ broken: null, isComplete: true });
  });

  it("the small model has a name, and one only, for every mutant", () => {
    expect(mutants.length).toBeGreaterThanOrEqual(12);
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
  });
});

describe("a packed state", () => {
  it("a packed state gives back every field", () => {
    const state = new Uint16Array(fieldCount);
    const key = new Uint32Array(words);
    const read = new Uint16Array(fieldCount);
    for (let at = 0; at < fieldCount; at++) {
      state.fill(0);
      state[at] = 1;
      pack(state, key);
      unpack(key, 0, read);
      expect([...read]).toEqual([...state]);
    }
  });

  it("a packed state is the same for two that differ in the withdrawals' names alone", () => {
    const [one, other, third] = [0, 1, 2].map(() => new Uint32Array(words)) as [Uint32Array, Uint32Array, Uint32Array];
    const state = new Uint16Array(fieldCount);
    state[0] = cellOf(2, 3);
    packCanonical(state, one);
    state[1] = state[0];
    state[0] = 0;
    packCanonical(state, other);
    expect([...other]).toEqual([...one]);
    state[1] = cellOf(2, 4);
    packCanonical(state, third);
    expect([...third]).not.toEqual([...one]);
  });

  it("a packed state tells a ledger's earlier part from another ledger's", () => {
    for (let nonce = nonces.least; nonce <= nonces.most; nonce++) {
      const cell = cellOf(3, nonce);
      expect([stageOf(cell), nonceOf(cell)]).toEqual([3, nonce]);
      expect(isWithin(cellOf(2, nonce), cell)).toBe(true);
      expect(isWithin(cell, cellOf(2, nonce))).toBe(false);
      expect(isWithin(cellOf(2, (nonce % nonces.most) + 1), cell)).toBe(false);
    }
    expect(isWithin(0, 0)).toBe(true);
    expect(isWithin(cellOf(1, 1), 0)).toBe(false);
  });
});
