/**
 * The stream `steps`: real processes killed at each of the 13 steps of a payout, on each of the
 * families; rounds, figures and the table of steps and victims.
 */
import { missing } from "../../utxo-node/daemon.ts";
import { xrpNodeMissing } from "../../xrp-node/xrp-node.ts";
import type { Report } from "../tally.ts";
import type { StepsChain } from "./chain.ts";
import { planOf, type Round, type Victim, victims } from "./plan.ts";
import { type StepName, steps } from "./steps.ts";
import { UtxoStepsChain } from "./utxo-chain.ts";
import { StepsWorld } from "./world.ts";
import { XrpStepsChain } from "./xrp-chain.ts";

export const stepsFamilies = ["bitcoin", "litecoin", "xrp"] as const;
export type StepsFamily = (typeof stepsFamilies)[number];

export interface StepsFaults {
  readonly kills: number;
  readonly seed: string;
  readonly blockMs: number;
  readonly only: number | null; // a step by its number, or all
  readonly say: (line: string) => void;
}

/** Kills by step and victim. */
export type Table = Readonly<Record<StepName, Readonly<Record<Victim, number>>>>;

export interface StepsReport {
  readonly family: StepsFamily;
  readonly kills: number;
  readonly table: Table;
  readonly missed: Readonly<Partial<Record<StepName, number>>>; // rounds that came too late, played again
  readonly twoAtOnce: number;
  readonly reorganisations: number;
  readonly withdrawals: number;
  readonly paidOnce: number;
  readonly seconds: number;
  readonly violations: readonly string[];
}

export interface StepsReports extends Report {
  readonly families: readonly StepsReport[];
}

const opens: Readonly<Record<StepsFamily, (blockMs: number) => Promise<StepsChain>>> = {
  bitcoin: (blockMs) => UtxoStepsChain.open("bitcoin", blockMs),
  litecoin: (blockMs) => UtxoStepsChain.open("litecoin", blockMs),
  xrp: (closeMs) => XrpStepsChain.open(closeMs),
};

/** One sentence where the family cannot run on this machine, else null. */
export function stepsLackOf(family: StepsFamily): string | null {
  return family === "xrp" ? xrpNodeMissing : missing(family);
}

/** Rounds that miss their step are played again, so many times for one kill. */
const triesMax = 15;

/** Plays one family on a chain of its own; what it started is gone afterwards. */
export async function playStepsOf(family: StepsFamily, faults: StepsFaults): Promise<StepsReport> {
  const begunAt = performance.now();
  const tally = new StepsTally();
  const violations: string[] = [];
  const world = await StepsWorld.create(
    await opens[family](faults.blockMs),
    `${faults.seed}/${family}`,
  );
  try {
    const rounds = planOf(`${faults.seed}/${family}`, faults.kills, faults.only);
    for (const round of rounds) {
      const isHit = await strike(world, round, tally);
      const { step, victim, also } = round;
      if (!isHit) violations.push(`${step.name} was not met in ${triesMax} rounds`);
      const words = `${step.name}, ${victim}${also === null ? "" : ` and ${also}`}`;
      faults.say(
        `${family}: ${tally.kills} of ${rounds.length} kills, ${tally.misses} missed; ${words}`,
      );
    }
    violations.push(...(await world.judge()));
  } catch (error) {
    violations.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    await world.close();
  }
  for (const violation of violations) faults.say(`violation: ${family}: ${violation}`);
  const { asked, paid: paidOnce } = world.orders;
  const seconds = Math.round((performance.now() - begunAt) / 1_000);
  return { family, ...tally.figures(), withdrawals: asked.length, paidOnce, seconds, violations };
}

async function strike(world: StepsWorld, round: Round, tally: StepsTally): Promise<boolean> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const { isHit, isReorganised } = await world.strike(round);
    if (isReorganised) tally.reorganisations += 1;
    if (isHit) {
      tally.struck(round);
      return true;
    }
    tally.missed(round);
  }
  return false;
}

class StepsTally {
  readonly #table = Object.fromEntries(
    steps.map(({ name }) => [name, Object.fromEntries(victims.map((victim) => [victim, 0]))]),
  ) as Record<StepName, Record<Victim, number>>;
  readonly #missed: Partial<Record<StepName, number>> = {};
  kills = 0;
  misses = 0;
  twoAtOnce = 0;
  reorganisations = 0;

  struck({ step, victim, also }: Round): void {
    this.#table[step.name][victim] += 1;
    this.kills += 1;
    if (also !== null) this.twoAtOnce += 1;
  }

  missed({ step: { name } }: Round): void {
    this.#missed[name] = (this.#missed[name] ?? 0) + 1;
    this.misses += 1;
  }

  figures() {
    const { kills, twoAtOnce, reorganisations } = this;
    return { kills, table: this.#table, missed: this.#missed, twoAtOnce, reorganisations };
  }
}

/** Plays one family after another. */
export async function playSteps(
  families: readonly StepsFamily[],
  faults: StepsFaults,
): Promise<StepsReports> {
  const reports: StepsReport[] = [];
  for (const family of families) {
    const lack = stepsLackOf(family);
    if (lack === null) reports.push(await playStepsOf(family, faults));
    else faults.say(`*** SKIPPED: ${family}: ${lack}`);
  }
  return {
    families: reports,
    violations: reports.flatMap(({ family, violations }) =>
      violations.map((words) => `${family}: ${words}`),
    ),
    lines: reports.flatMap((report) => linesOf(report).map((line) => `${report.family}: ${line}`)),
  };
}

function linesOf(report: StepsReport): readonly string[] {
  const width = 12;
  const row = (name: string, cells: readonly (string | number)[]): string =>
    name.padEnd(width) + cells.map((cell) => String(cell).padStart(width)).join("");
  const { kills, withdrawals, paidOnce, twoAtOnce, reorganisations, missed, seconds } = report;
  const late = Object.entries(missed).map(([name, count]) => `${count} ${name}`);
  return [
    row("step", [...victims, "missed"]),
    ...steps.map(({ name, says }) => {
      const cells = [...victims.map((victim) => report.table[name][victim]), missed[name] ?? 0];
      return `${row(name, cells)}  ${says}`;
    }),
    `${kills} kills, ${twoAtOnce} of two at once, ${reorganisations} reorganisations; missed ${late.join(", ") || "none"}`,
    `${paidOnce} of ${withdrawals} withdrawals paid exactly once; ${seconds} s`,
  ];
}
