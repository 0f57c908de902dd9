/**
 * The kept corpora, played again through every target, and a short share of fresh structured input;
 * a long campaign is `npm run fuzz`. Every input ends in a value, a refusal or a fault with its
 * code. SEED=… repeats the fresh share.
 */
import { afterAll, describe, expect, it } from "vitest";
import { campaign } from "../../lab/fuzz/campaign.ts";
import { fileBytesMax, filesMax, readCorpus } from "../../lab/fuzz/corpus.ts";
import { Coverage } from "../../lab/fuzz/coverage.ts";
import { mutate } from "../../lab/fuzz/mutate.ts";
import { runOnce, type Target } from "../../lab/fuzz/target.ts";
import { openTarget, targetNames } from "../../lab/fuzz/targets/all.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share, shareOf } from "../../lab/kit/share.ts";

const seed = seedsOfRun(1)[0] as number;
/**
 * Fresh inputs each, a tenth of them in the quick tier; a database or a signer behind a target
 * makes them dear.
 */
const shares: Readonly<Record<string, number>> = {
  verbs: 60,
  hub: 60,
  http: 60,
  "ledger-images": 200,
  "tron-transfers": 200,
};
const usual = 600;

/** The broken properties, each with the input that shows it. */
async function broken(
  target: Target,
  inputs: Iterable<readonly [string, Uint8Array]>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [name, input] of inputs) {
    try {
      await runOnce(target, input);
    } catch (error) {
      found.push(`${name}: ${String(error)}: ${Buffer.from(input).toString("base64")}`);
    }
  }
  return found;
}

function* fresh(target: Target, count: number): Generator<readonly [string, Uint8Array]> {
  const random = new SeededRandom(seed);
  for (let index = 0; index < count; index++) {
    const input =
      index % 3 === 0
        ? mutate(random.pick(target.seeds), target.seeds, target.words, random)
        : target.make(random);
    yield [`SEED=${seed} input ${index}`, input];
  }
}

describe.each(targetNames)("%s", (name) => {
  let target: Target | null = null;
  const opened = async (): Promise<Target> => {
    target ??= await openTarget(name);
    return target;
  };
  afterAll(async () => target?.close?.());

  it("a fuzz target keeps a corpus of small files", () => {
    const corpus = readCorpus(name);
    expect(corpus.length).toBeGreaterThan(2);
    expect(
      corpus.filter(({ name: file }) => !file.startsWith("failing-")).length,
    ).toBeLessThanOrEqual(filesMax);
    expect(corpus.filter(({ input }) => input.length > fileBytesMax)).toEqual([]);
  });

  it("a fuzz target takes its corpus and every honest input", async () => {
    const all = readCorpus(name).map(({ name: file, input }) => [file, input] as const);
    // Each input that once failed; of those that only reach code, the quick tier takes a tenth.
    const [failing, others] = [true, false].map((isOne) =>
      all.filter(([file]) => file.startsWith("failing-") === isOne),
    ) as [typeof all, typeof all];
    const kept = [...failing, ...shareOf(others, 10, seed)];
    const honest = (await opened()).seeds.map((input, index) => [`seed ${index}`, input] as const);
    expect(await broken(await opened(), [...kept, ...honest]), `SEED=${seed}`).toEqual([]);
  });

  it("the fuzz target %s takes fresh input", async () => {
    expect(
      await broken(await opened(), fresh(await opened(), share(shares[name] ?? usual))),
    ).toEqual([]);
  });
});

describe("a campaign", () => {
  const plain = {
    name: "planted",
    words: [],
    seeds: [new Uint8Array(4)],
    make: () => new Uint8Array(4),
    shapes: {},
  };

  async function hunt(read: (input: Uint8Array) => number): Promise<readonly string[]> {
    const coverage = new Coverage(/test\/support\/planted/);
    coverage.start();
    // Loaded now, since only what is compiled from here on is counted.
    const target = { ...plain, run: (input: Uint8Array) => void read(input) };
    const { failures } = await campaign(target, {
      coverage,
      known: [],
      seed: 7,
      isOver: (runs) => runs > share(5_000),
    });
    coverage.stop();
    return failures.map(({ message }) => message);
  }

  it("finds a mistake behind four bytes in their order, step by step", async () => {
    const coverage = new Coverage(/test\/support\/planted/);
    coverage.start();
    const { readPlanted } = await import("../support/planted.ts");
    const target = { ...plain, run: (input: Uint8Array) => void readPlanted(input) };
    const options = {
      coverage,
      known: [],
      seed: 7,
      isOver: (runs: number) => runs > 200_000,
      failuresMax: 1,
    };
    const { failures, corpus, newBlocks } = await campaign(target, options);
    coverage.stop();
    expect(failures.map(({ message }) => message)).toEqual(["TypeError: planted"]);
    expect(newBlocks).toBeGreaterThan(2);
    expect(corpus.length).toBeGreaterThan(2);
  });

  it("finds nothing where nothing is wrong", async () => {
    expect(await hunt((input) => input.length)).toEqual([]);
  });
});
