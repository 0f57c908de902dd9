/**
 * A short share of the simulator: some hundred runs without a violation, the same ones twice, bugs
 * put in on purpose found, and a failing run made small. The long run is `npm run simulate --
 * --seeds 200000`.
 */
import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import type { Patch } from "../../lab/kit/patch.ts";
import { isLongTier, share, shareOf } from "../../lab/kit/share.ts";
import type { RunResult } from "../../lab/simulation/run.ts";
import type { ShrunkRun } from "../../lab/simulation/shrink.ts";
import { worlds } from "../../lab/simulation/world/worlds.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const dist = fileURLToPath(new URL("../../dist/lab/simulation/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "simulation-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Summary {
  readonly seeds: number;
  readonly from: number;
  readonly violations: number;
  readonly traceHash: string;
  readonly steps: number;
  readonly elapsedMs: number;
}

/** The command as it is typed; a violation is an exit code of its own. */
async function simulate(...args: readonly string[]): Promise<Summary & { readonly said: string }> {
  const run = promisify(execFile)(process.execPath, [join(dist, "command.js"), "--json", ...args], {
    maxBuffer: 1 << 24,
  });
  const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
  return { ...(JSON.parse(stdout) as Summary), said: stderr };
}

/**
 * The output of a script that has the tree as `tree`, in a process of its own, because a run takes
 * the process's rejections.
 */
async function inTree<T>(patch: Patch | null, script: string): Promise<T> {
  const file = join(folder, `${Math.abs(script.length * 31 + (patch?.file.length ?? 0))}.mjs`);
  const head = [
    `import { buildTree, loadTree } from ${JSON.stringify(join(dist, "tree.js"))};`,
    `import { shrink } from ${JSON.stringify(join(dist, "shrink.js"))};`,
    `const tree = await loadTree(buildTree(${JSON.stringify(patch)}));`,
    `process.on("unhandledRejection", (error) => tree.rejected(error));`,
  ];
  writeFileSync(
    file,
    [
      ...head,
      `const said = await (async () => { ${script} })();`,
      "process.stdout.write(JSON.stringify(said));",
    ].join("\n"),
  );
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--single-threaded", "--min-semi-space-size=64", file],
    {
      maxBuffer: 1 << 26,
    },
  );
  return JSON.parse(stdout) as T;
}

/** The body of a function that gives the first failing run of a tree. */
const huntScript = (tree: string): string =>
  `for (let seed = 1; seed <= 4000; seed += 1) { const run = await ${tree}.runSeed(seed); if (run.violation) return run; } return null;`;

/** One of the kept seeds, each of which showed a bug once. */
interface KeptSeed {
  readonly seed: number;
  readonly why: string;
}
const keptFile = new URL("../vectors/simulation-seeds.json", import.meta.url);
const allKept = JSON.parse(readFileSync(keptFile, "utf8")) as readonly KeptSeed[];
// The offset is drawn, so that the quick tier runs each of them in time.
const kept = shareOf(allKept, 20, randomInt(20));

const withoutSync: Patch = {
  file: "agent/ledger/disk.ts",
  find: "      fdatasync(fd, done);",
  replace: "      process.nextTick(done, null);",
};
const withoutGate: Patch = {
  file: "agent/signer/handlers/release.ts",
  find: "  const releasable = book.releasable(held.seq);",
  replace: "  const releasable = book.releasable(heads.head.seq);",
};
const deafToFailures: Patch = {
  file: "agent/ledger/disk.ts",
  find: "      fdatasync(fd, done);",
  replace: "      fdatasync(fd, () => done(null));",
};

const worldCases = [
  ["two-liars", 40],
  ["false-chain", 12],
  ["shop-cancels", 25],
  ["sequences", 25],
  ["coins", 25],
] as const;

/**
 * The runs of both tiers in the tree without a patch, in one process: to load the tree costs as
 * much as ten seeds. The bug of `withoutGate` is hunted beside it.
 */
interface Runs {
  readonly first: RunResult;
  readonly worlds: Readonly<Record<string, RunResult>>;
  readonly kept: readonly RunResult[];
  readonly again: RunResult;
  readonly other: RunResult;
  readonly caught: RunResult | null;
  readonly sound: RunResult;
}
let started: Promise<Runs> | null = null;
function together(): Promise<Runs> {
  const firsts = Object.fromEntries(worldCases.map(([name]) => [name, worlds[name] + 1]));
  started ??= inTree<Runs>(
    null,
    `const first = await tree.runSeed(7005);
    const worlds = {};
    for (const [name, seed] of Object.entries(${JSON.stringify(firsts)})) worlds[name] = await tree.runSeed(seed);
    const kept = [];
    for (const seed of ${JSON.stringify(kept.map(({ seed }) => seed))}) kept.push(await tree.runSeed(seed));
    const again = await tree.runSeed(7005);
    const other = await tree.runSeed(7006);
    const ill = await loadTree(buildTree(${JSON.stringify(withoutGate)}));
    process.on("unhandledRejection", (error) => ill.rejected(error));
    const hunt = async () => { ${huntScript("ill")} };
    const caught = await hunt();
    return { first, worlds, kept, again, other, caught, sound: await tree.runSeed(caught?.seed ?? 1) };`,
  );
  return started;
}

describe("the simulator", () => {
  it("finds nothing in four hundred runs", async () => {
    const runs = share(400);
    const { violations, said, seeds, steps } = await simulate("--seeds", String(runs));
    expect(said).toBe("");
    expect({ violations, seeds }).toEqual({ violations: 0, seeds: runs });
    expect(steps).toBeGreaterThan(runs * 250);
  });

  it.each(worldCases)("finds nothing in the world %s", async (world, count) => {
    if (!isLongTier) {
      expect((await together()).worlds[world]).toMatchObject({
        seed: worlds[world] + 1,
        violation: null,
      });
      return;
    }
    const { violations, said, seeds } = await simulate(
      "--world",
      world,
      "--seeds",
      String(count),
      "--workers",
      "1",
    );
    expect(said).toBe("");
    expect({ violations, seeds }).toEqual({ violations: 0, seeds: count });
  });

  it("finds nothing in the seeds that once showed a bug", async () => {
    const { kept: runs } = await together();
    expect(runs.map(({ seed, violation }) => ({ seed, violation }))).toEqual(
      kept.map(({ seed }) => ({ seed, violation: null })),
    );
  });

  it("runs a seed the same way after other seeds, and another seed in another way", async () => {
    const { first, again, other } = await together();
    expect(again.hash).toBe(first.hash);
    expect(other.hash).not.toBe(first.hash);
  });

  it("does the same again, whatever ran before and in how many processes, and something else on another seed", async () => {
    const seeds = "24";
    const one = await simulate("--seeds", seeds, "--from", "7000", "--workers", "1");
    const two = await simulate("--seeds", seeds, "--from", "7000", "--workers", "2");
    const other = await simulate("--seeds", seeds, "--from", "7001", "--workers", "2");
    expect(two.traceHash).toBe(one.traceHash);
    expect(two.steps).toBe(one.steps);
    expect(other.traceHash).not.toBe(one.traceHash);
    const [first, second] = await inTree<readonly RunResult[]>(
      null,
      "return [await tree.runSeed(7005), await tree.runSeed(7005)];",
    );
    expect(second?.hash).toBe(first?.hash);
  });

  it.each([
    ["a ledger that does not wait for its disk", withoutSync, /durable/],
    ["a gate that opens for more than was acknowledged", withoutGate, /./],
    ["a disk whose failures nobody learns", deafToFailures, /durable/],
  ])("catches %s", async (_, patch, invariant) => {
    if (patch === withoutGate) {
      const { caught, sound } = await together();
      expect(caught?.violation?.invariant).toMatch(invariant);
      expect(sound).toMatchObject({ seed: caught?.seed, violation: null });
      return;
    }
    const caught = await inTree<RunResult | null>(patch, huntScript("tree"));
    expect(caught?.violation?.invariant).toMatch(invariant);
    const sound = await inTree<RunResult>(null, `return tree.runSeed(${caught?.seed});`);
    expect(sound.violation).toBeNull();
  });

  it("makes a failing run small, and the small one fails the same way", async () => {
    const script = `for (let seed = 1; ; seed += 1) {
      const run = await tree.runSeed(seed);
      if (run.violation === null || run.taken.length < 16) continue;
      const shrunk = await shrink(tree, run);
      return { run, shrunk, again: await tree.runSeed(seed, { only: new Set(shrunk.faults), isReadable: false }) };
    }`;
    const { run, shrunk, again } = await inTree<{
      run: RunResult;
      shrunk: ShrunkRun;
      again: RunResult;
    }>(deafToFailures, script);
    expect(shrunk.faults.length).toBeLessThanOrEqual(run.taken.length / 3);
    expect(shrunk.faults.some((fault) => fault.startsWith("a sync fails#"))).toBe(true);
    expect(again.violation?.invariant).toBe(run.violation?.invariant);
    expect(again.hash).toBe(shrunk.result.hash);
  });

  it("says so when a patch does not fit", async () => {
    writeFileSync(
      join(folder, "patch.json"),
      JSON.stringify({ ...withoutSync, find: "nowhere in the file" }),
    );
    await expect(simulate("--seeds", "1", "--patch", join(folder, "patch.json"))).rejects.toThrow();
  });
});
