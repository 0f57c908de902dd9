import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isLongTier } from "./lab/kit/share.ts";
import budgets from "./test/runner/budgets.json" with { type: "json" };
import { importsFromDist, isBuilt } from "./test/runner/from-dist.ts";
import { checkerFiles, longRows } from "./test/runner/tiers.ts";

/**
 * Files that exchange a module of the product for another (`vi.mock`, or a spy on a module). A
 * worker that runs many files would keep the exchange for its neighbours.
 */
const exchanging = [
  "books/crediting",
  "books/crediting-mutants",
  "books/reconcile",
  "chains/xrp-fake-missing",
  "gateway/deposits-credited",
  "gateway/deposits-restored",
  "gateway/gateway-check",
  "gateway/scan",
  "install/install-credential",
].map((name) => `test/${name}.test.ts`);
for (const file of exchanging) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  if (!existsSync(path) || !/\bvi\.(mock|doMock|spyOn)\(/.test(readFileSync(path, "utf8"))) {
    throw new Error(`vitest.config.ts names ${file}, which exchanges no module`);
  }
}

/** Longest first, by the last measurement: no worker then runs a long file without the others. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const wall = new Map(Object.entries(budgets.files).map(([file, { wallMs }]) => [file, wallMs]));
    const wallOf = ({ moduleId }: TestSpecification): number =>
      wall.get(moduleId.slice(moduleId.lastIndexOf("/test/") + 1)) ?? 2_000;
    return (await super.sort(files)).sort((a, b) => wallOf(b) - wallOf(a));
  }
}

/** Two more than the cores, because tests of real processes wait for two thirds of their time. */
const workers = availableParallelism() + 2;
const checkers = checkerFiles.map((file) => `test/${file}.test.ts`);
const longOnly = longRows.flatMap(({ file, titles }) =>
  titles === undefined ? [`test/${file}.test.ts`] : [],
);
const leftOut = isLongTier ? [] : [...longOnly, ...checkers];
const isOfCheckers = process.env.TEST_TIER === "checkers";
/** Limit of a test: it ends one that hangs, and judges no machine that is slow. */
const hangMs = 900_000;
const shared = {
  setupFiles: ["test/support/plain-output.ts", "test/support/answers-between-tests.ts"],
  runner: "test/runner/runner.ts",
  testTimeout: hangMs,
  hookTimeout: hangMs,
  expect: { poll: { timeout: 120_000 } },
};

export default defineConfig({
  test: {
    reporters: ["default", "./test/runner/failed-reporter.ts"],
    sequence: { sequencer: LongestFirst },
    poolOptions: {
      // As few as there are at most: the pool ends a worker that is idle, also one that it has just
      // given a file.
      forks: { isolate: false, maxForks: workers, minForks: workers },
      threads: { maxThreads: 1, minThreads: 1 },
    },
    projects: [
      {
        plugins: isBuilt() ? [importsFromDist()] : [],
        test: {
          ...shared,
          name: "together",
          include: isOfCheckers ? checkers : ["test/**/*.test.ts"],
          exclude: isOfCheckers ? [] : [...exchanging, ...leftOut],
          pool: "forks",
          poolOptions: { forks: { isolate: false } },
          isolate: false,
          server: { deps: { external: [/\/dist\//] } },
        },
      },
      {
        test: {
          ...shared,
          name: "alone",
          include: isOfCheckers ? [] : exchanging.filter((file) => !leftOut.includes(file)),
          pool: "threads",
          env: { TEST_WORKER: "thread" },
        },
      },
    ],
  },
});
