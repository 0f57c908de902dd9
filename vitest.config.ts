import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The slowest test files, longest first. They start first, so no worker runs one of them without
 * the others at the end. Without this list the runner sorts by file size, which is no measure: a
 * run of a minute and a half is a file of nineteen lines.
 */
const longest = [
  "system/operators-night",
  "system/simulation",
  "system/many-chains", // it compares two paces: next to others that mostly wait
  "system/recovery-process",
  "system/deposits",
  "system/steps-process",
  "system/crash",
  "system/sweeps-process",
  "pairing/pairing",
  "system/takeover-process",
  "system/tron-payouts-process",
  "keystore/copies-process",
  "system/faults",
  "system/rollback",
  "launcher/launcher",
  "system/mutants",
  "cli/doctor",
  "chains/tron-node-deposits",
  "ledger/ledger-images",
  "launcher/launcher-reload",
  "system/fuzz-growth",
  "system/secrecy",
  "pairing/pairing-input",
  "install/trusted",
  "system/fuzz",
  "install/runtime-coins",
  "install/runtime",
  "ledger/ledger-forged-process",
  "install/install-image",
  "gateway/gateway-process",
  "install/release-archive",
  "ledger/ledger-damage",
  "examples/testnets-process",
  "system/walls",
].map((name) => fileURLToPath(new URL(`test/${name}.test.ts`, import.meta.url)));

for (const file of longest) if (!existsSync(file)) throw new Error(`vitest.config.ts names ${file}, which is not there`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = new Map(longest.map((file, at) => [file, at]));
    const placeOf = ({ moduleId }: TestSpecification): number => place.get(moduleId) ?? longest.length;
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/support/plain-output.ts", "test/support/answers-between-tests.ts"],
    pool: "forks",
    // Two more than the two cores, because tests of real processes wait for two thirds of their
    // time. The night in a booted machine is one of them from beginning to end.
    poolOptions: { forks: { maxForks: 4, minForks: 1 } },
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ["default"],
  },
});
