/**
 * The rounds of a run of the stream `steps`: a step, a victim and what the seed adds to them. Every
 * step has as many kills as the others, and meets each victim as often, one more or less.
 */
import { pick, type Random, seeded, shuffled } from "../tally.ts";
import { type Step, steps } from "./steps.ts";

export const victims = ["signer", "courier", "gateway"] as const;
export type Victim = (typeof victims)[number];

export interface Round {
  readonly step: Step;
  readonly victim: Victim;
  /** Killed in the same moment, or null. */
  readonly also: Victim | null;
  /** A held call goes on to the node, or its answer to the courier. */
  readonly passes: boolean;
  /** Another order is on its way. */
  readonly hasCompany: boolean;
  /** After the kill another block takes the place of the newest one. */
  readonly reorganises: boolean;
  /** Before the gateway is started again. */
  readonly pauseMs: number;
}

const alsoBelow = 0.2;
const companyBelow = 0.3;
const reorganisesBelow = 0.2;
const pauseMsMax = 500;

/** With `only`, all rounds are for the step of this number, 1 first. */
export function planOf(seed: string, kills: number, only: number | null): readonly Round[] {
  const order = seeded(`${seed}/order`);
  const meant = only === null ? steps : steps.slice(only - 1, only);
  const rounds: Round[] = [];
  for (let pass = 0; rounds.length < kills; pass += 1)
    for (const step of shuffled(order, meant).slice(0, kills - rounds.length))
      rounds.push(roundOf(seeded(`${seed}/round ${rounds.length}`), step, victimOf(step, pass)));
  return rounds;
}

function victimOf(step: Step, pass: number): Victim {
  return victims[(steps.indexOf(step) + pass) % victims.length] as Victim;
}

function roundOf(random: Random, step: Step, victim: Victim): Round {
  const others = victims.filter((one) => one !== victim);
  const also = random() < alsoBelow ? pick(random, others) : null;
  const passes = random() < 0.5;
  const hasCompany = random() < companyBelow;
  const reorganises = random() < reorganisesBelow;
  return { step, victim, also, passes, hasCompany, reorganises, pauseMs: random() * pauseMsMax };
}
