/**
 * The command around `fuzz/`: a campaign of so many seconds against each target. `--keep` replaces
 * the corpora in test/corpora by what reaches most with least, and adds what failed under the name
 * `failing-…`; `--input FILE` runs one file, to look into it.
 */
import { randomInt } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readCommandLine } from "../kit/command-line.ts";
import { campaign, type Failure, type Outcome } from "./campaign.ts";
import { corpusFolder, fileBytesMax, nameOf, readCorpus, writeCorpus } from "./corpus.ts";
import { Coverage } from "./coverage.ts";
import { runOnce } from "./target.ts";
import { openTarget, targetNames } from "./targets/all.ts";

const { values, whole, stop } = readCommandLine({
  name: "fuzz",
  does: "Feeds everything that reads foreign bytes, guided by coverage; ends with 1 when an invariant did not hold.",
  options: {
    seconds: { takes: "N", default: "10", says: "so long against each target" },
    target: { takes: "NAME", default: "all", says: `one of ${targetNames.join(", ")}` },
    seed: { takes: "N", says: "where chance begins" },
    input: { takes: "FILE", says: "runs this file alone, against one target" },
    keep: { says: "renews test/corpora, and keeps there what failed" },
    json: { says: "ends with one line of JSON" },
  },
});
const seconds = whole("seconds", { least: 1, most: 86_400 });
const seed = whole("seed", { most: 2 ** 31 - 1, otherwise: randomInt(2 ** 31) });
const names = values.target === "all" ? targetNames : [values.target];
const unknown = names.find((name) => !targetNames.includes(name));
if (unknown !== undefined)
  stop(`there is no target ${unknown}; there are all, ${targetNames.join(", ")}`);

if (values.input === undefined) await fuzzAll();
else {
  const target = await openTarget(names[0] as string);
  await runOnce(target, new Uint8Array(readFileSync(values.input)));
  await target.close?.();
  process.stderr.write("fuzz: every invariant holds\n");
}

async function fuzzAll(): Promise<void> {
  const args = `--seconds ${seconds} --target ${values.target} --seed ${seed}`;
  process.stderr.write(`fuzz: seed ${seed}; again with: npm run fuzz -- ${args}\n`);
  const coverage = new Coverage();
  coverage.start();
  const startedAt = performance.now();
  const targets = [];
  for (const name of names) {
    const { runs, corpus, newBlocks, failures } = await fuzz(name, coverage);
    targets.push({ name, runs, corpus: corpus.length, newBlocks, failures: failures.length });
    process.stderr.write(
      `fuzz: ${name}: ${runs} runs, ${corpus.length} inputs, ${newBlocks} new blocks, ${failures.length} failures\n`,
    );
  }
  coverage.stop();
  const failures = targets.reduce((sum, target) => sum + target.failures, 0);
  const report = { targets, failures, seed, elapsedMs: Math.round(performance.now() - startedAt) };
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : `${failures} failures\n`);
  process.exit(failures === 0 ? 0 : 1);
}

async function fuzz(name: string, coverage: Coverage): Promise<Outcome> {
  const target = await openTarget(name);
  const until = performance.now() + seconds * 1_000;
  const known = readCorpus(name).map(({ input }) => input);
  const outcome = await campaign(target, {
    coverage,
    known,
    seed,
    isOver: () => performance.now() > until,
  });
  await target.close?.();
  for (const failure of outcome.failures) tell(name, failure);
  if (values.keep)
    writeCorpus(
      name,
      outcome.corpus.filter((input) => input.length <= fileBytesMax),
    );
  return outcome;
}

/** Failing input is shown, and kept as a file if asked for. */
function tell(name: string, { input, message }: Failure): void {
  process.stderr.write(
    `fuzz: ${name}: ${message}\nfuzz: ${name}: input ${Buffer.from(input).toString("base64")}\n`,
  );
  if (!values.keep) return;
  mkdirSync(corpusFolder(name), { recursive: true });
  writeFileSync(join(corpusFolder(name), `failing-${nameOf(input)}`), input);
}
