/**
 * The work of `npm run model`: searches every configuration to its fixpoint, and every mutant up to
 * the sentence that it must break. Touches nothing.
 */
import { allEvents, type Events, type Mutant, mutants, type Sentence } from "./mutants.ts";
import type { Grain } from "./reduction.ts";
import { type SearchResult, search } from "./search.ts";

/** Far more than any configuration has; one that grows past it is not called finished. */
const statesMax = 60_000_000;

/** One search of the protocol as it is. */
export interface Configuration {
  readonly name: string;
  readonly events: Events;
  readonly grain: Grain;
}

const none: Events = { rollback: false, restore: false, copy: false, other: false, again: false };

/**
 * Those called whole are the model's scope; fine ones take every step of a part of it apart. A copy
 * and another server are two ways to have two agents, so each has its own.
 */
export const configurations: readonly Configuration[] = [
  { name: "one agent, fine", events: { ...none, rollback: true, restore: true }, grain: "fine" },
  { name: "a copy and a restored gateway, fine", events: { ...none, copy: true, restore: true }, grain: "fine" },
  { name: "a copy that pairs again, fine", events: { ...none, copy: true, again: true }, grain: "fine" },
  { name: "a takeover, fine", events: { ...none, other: true }, grain: "fine" },
  { name: "a takeover, whole", events: { ...allEvents, copy: false, again: false }, grain: "whole" },
  { name: "a copy, whole", events: { ...allEvents, other: false }, grain: "whole" },
];

export interface ConfigurationResult {
  readonly name: string;
  readonly states: number;
  readonly depth: number;
  readonly isComplete: boolean; // its fixpoint was reached
  readonly broken: Sentence | null;
  readonly trace: readonly string[];
}

export interface MutantResult {
  readonly name: string;
  readonly without: string;
  readonly broken: Sentence | null; // null: it survived
  readonly states: number;
  readonly trace: readonly string[];
}

/** How far a search is: a line for people. */
type Tell = (line: string) => void;

/** Searches one configuration. */
export function checkConfiguration({ name, events, grain }: Configuration, tell: Tell = () => {}): ConfigurationResult {
  const told = (states: number, depth: number): void => tell(`${name}: ${states} states at depth ${depth}`);
  return { name, ...search({ allowed: events, mutant: null, grain }, null, statesMax, told) };
}

/** Searches one mutant's own configuration for the sentence it must break. */
export function checkMutant(mutant: Mutant): MutantResult {
  const { name, without, events, breaks, grain } = mutant;
  const setup = { allowed: events, mutant: name, grain };
  const { broken, states, trace }: SearchResult = search(setup, breaks, statesMax);
  return { name, without, broken, states, trace };
}

/** One line of JSON, as it is printed. */
export interface Report {
  readonly states: number; // all configurations together
  readonly depth: number; // the deepest configuration's
  readonly violations: number; // configurations that broke a sentence or were not finished
  readonly mutants: number;
  readonly caught: number;
  readonly elapsedMs: number;
  readonly configurations: readonly Pick<ConfigurationResult, "name" | "states" | "depth">[];
}

/**
 * Everything, one after the other.
 * @param now milliseconds of a monotone clock
 */
export function checkModel(
  now: () => number,
  tell: Tell,
): { readonly report: Report; readonly searched: readonly ConfigurationResult[]; readonly tried: readonly MutantResult[] } {
  const begunMs = now();
  const searched = configurations.map((configuration) => checkConfiguration(configuration, tell));
  const tried = mutants.map(checkMutant);
  const report: Report = {
    states: searched.reduce((sum, { states }) => sum + states, 0),
    depth: Math.max(...searched.map(({ depth }) => depth)),
    violations: searched.filter(({ broken, isComplete }) => broken !== null || !isComplete).length,
    mutants: tried.length,
    caught: tried.filter(({ broken }) => broken !== null).length,
    elapsedMs: Math.round(now() - begunMs),
    configurations: searched.map(({ name, states, depth }) => ({ name, states, depth })),
  };
  return { report, searched, tried };
}
