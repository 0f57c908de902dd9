/** Writes the files that failed, by path from the project's root, for scripts/test.js. */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reporter, TestModule } from "vitest/node";

const root = fileURLToPath(new URL("../..", import.meta.url));

export default class FailedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const failed = modules
      .filter((module) => !module.ok())
      .map((module) => `${relative(root, module.moduleId)}\n`);
    if (process.env.TEST_FAILED_FILE) writeFileSync(process.env.TEST_FAILED_FILE, failed.join(""));
  }
}
