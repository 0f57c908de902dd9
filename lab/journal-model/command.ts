/**
 * `npm run journal-model`: random histories of money on the gateway's own tables and on a model by
 * another hand, figure by figure; or each mutant of the journal in turn. Ends with 1 when a figure
 * differed or a mutant stayed alive.
 */
import { performance } from "node:perf_hooks";
import { readCommandLine } from "../kit/command-line.ts";
import { huntMutant } from "./hunt.ts";
import { journalMutants } from "./mutants.ts";
import { wordsOf } from "./play.ts";
import { type FailedHistory, playHistories, shrinkFailure } from "./run.ts";

const { values, whole, stop } = readCommandLine({
  name: "journal-model",
  does: "Plays random histories of money on the journal and on its model; ends with 1 when a figure differs.",
  options: {
    histories: {
      takes: "N",
      default: "2000",
      says: "so many histories; with --mutants at most so many for each",
    },
    from: { takes: "SEED", default: "1", says: "the seed of the first; the others follow" },
    mutants: { says: "hunts each mutant of the journal; ends with 1 when one stays alive" },
    only: { takes: "NAMES", says: "these mutants alone, by commas" },
    list: { says: "names the mutants, and ends" },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const toldEachMs = 10_000;
/** Failures that are made small and told. */
const toldMax = 5;

async function playAll(from: number, most: number): Promise<boolean> {
  const begunMs = performance.now();
  const failed: FailedHistory[] = [];
  let toldMs = begunMs;
  const played = await playHistories(
    { from, most },
    {
      onPlayed(seed, failure) {
        if (failure !== null) failed.push({ seed, ...failure });
        if (performance.now() - toldMs > toldEachMs) {
          toldMs = performance.now();
          process.stderr.write(
            `journal-model: ${seed - from + 1} of ${most}, ${failed.length} apart\n`,
          );
        }
        return failed.length < toldMax;
      },
    },
  );
  const seconds = (performance.now() - begunMs) / 1000;
  for (const one of failed) {
    const small = await shrinkFailure(one);
    say(`SEED=${one.seed}, made small:\n${wordsOf(small)}`);
    say(`again: npm run journal-model -- --histories 1 --from ${one.seed}\n`);
  }
  const rate = (played / seconds).toFixed(1);
  say(`${played} histories from ${from}: ${failed.length} apart, ${rate} a second`);
  return failed.length === 0;
}

async function huntAll(from: number, most: number): Promise<boolean> {
  const names = values.only?.split(",") ?? journalMutants.map(({ name }) => name);
  const unknown = names.find((name) => journalMutants.every((one) => one.name !== name));
  if (unknown !== undefined) stop(`there is no mutant ${unknown}; --list names them`);
  const alive: string[] = [];
  for (const mutant of journalMutants.filter(({ name }) => names.includes(name))) {
    const { name, seed, histories, line } = await huntMutant(mutant, { from, most });
    if (seed === null) alive.push(name);
    say(seed === null ? `ALIVE ${name}` : `dead  ${name}: history ${histories}: ${line}`);
  }
  say(`${names.length - alive.length} of ${names.length} mutants are dead`);
  return alive.length === 0;
}

async function main(): Promise<boolean> {
  if (values.list) {
    for (const { name, fault } of journalMutants) say(`${name}: ${fault}`);
    return true;
  }
  const [from, most] = [whole("from"), whole("histories", { least: 1 })];
  return values.mutants ? huntAll(from, most) : playAll(from, most);
}

process.exitCode = (await main()) ? 0 : 1;
