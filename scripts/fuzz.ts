/**
 * The command around `fuzz/`: a campaign of so many seconds against each target. `--keep` replaces the corpora in test/corpora by
 * what reaches most with least, and adds what failed under the name `failing-…`; `--input FILE` runs one file, to look into it.
 */
import { randomInt } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { campaign, type Failure, type Outcome } from "./fuzz/campaign.ts";
import { corpusFolder, fileBytesMax, nameOf, readCorpus, writeCorpus } from "./fuzz/corpus.ts";
import { Coverage } from "./fuzz/coverage.ts";
import { runOnce } from "./fuzz/target.ts";
import { openTarget, targetNames } from "./fuzz/targets/all.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    target: { type: "string", default: "all" },
    seed: { type: "string" },
    input: { type: "string" },
    keep: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

function stop(line: string): never {
  process.stderr.write(`fuzz: ${line}\n`);
  process.exit(2);
}

const seconds = Number(values.seconds);
if (!Number.isSafeInteger(seconds) || seconds < 1 || seconds > 86_400) stop("--seconds takes a whole number from 1 to 86400");
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
if (!Number.isSafeInteger(seed) || seed < 0) stop("--seed takes a whole number");
const names = values.target === "all" ? targetNames : [values.target];
const unknown = names.find((name) => !targetNames.includes(name));
if (unknown !== undefined) stop(`there is no target ${unknown}; there are all, ${targetNames.join(", ")}`);

if (values.input === undefined) await fuzzAll();
else {
  const target = await openTarget(names[0] as string);
  await runOnce(target, new Uint8Array(readFileSync(values.input)));
  await target.close?.();
  process.stderr.write("fuzz: every sentence holds\n");
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
  const outcome = await campaign(target, { coverage, known, seed, isOver: () => performance.now() > until });
  await target.close?.();
  for (const failure of outcome.failures) tell(name, failure);
  if (values.keep)
    writeCorpus(
      name,
      outcome.corpus.filter((input) => input.length <= fileBytesMax),
    );
  return outcome;
}

/** What failed is shown, and kept as a file when asked for. */
function tell(name: string, { input, message }: Failure): void {
  process.stderr.write(`fuzz: ${name}: ${message}\nfuzz: ${name}: input ${Buffer.from(input).toString("base64")}\n`);
  if (!values.keep) return;
  mkdirSync(corpusFolder(name), { recursive: true });
  writeFileSync(join(corpusFolder(name), `failing-${nameOf(input)}`), input);
}
