/**
 * The runner of each test file. It takes the tests that only the long tier runs out of the quick
 * one before it tells anybody of them: they are no "skipped" tests, which stand for something that
 * a machine lacks. It measures what the file costs.
 */
import type { File, Suite, Task } from "@vitest/runner";
import { VitestTestRunner } from "vitest/runners";
import { isLongTier } from "../../lab/kit/share.ts";
import { CostMeter } from "./cost.ts";
import { isLongOnly, withoutHeading } from "./tiers.ts";

type OnCollected = ((files: File[]) => Promise<void>) | undefined;

/** Removes the tests of the long tier below a suite, and the headings that then have none. */
function keepQuick(suite: Suite, file: string, above: readonly string[]): void {
  suite.tasks = suite.tasks.filter((task: Task) => {
    if (task.type !== "suite")
      return !isLongOnly(
        file,
        [...above, withoutHeading(above.at(-1) ?? "", task.name)].join(" > "),
      );
    keepQuick(task, file, [...above, task.name]);
    return task.tasks.length > 0;
  });
}

export default class ProjectRunner extends VitestTestRunner {
  #meter: CostMeter | null = null;

  constructor(config: ConstructorParameters<typeof VitestTestRunner>[0]) {
    super(config);
    // The runner puts its own function, which reports the tests, into this place.
    let report: OnCollected;
    const prune: OnCollected = async (files) => {
      for (const file of files)
        if (!isLongTier) keepQuick(file, file.name.replace(/^test\/|\.test\.ts$/g, ""), []);
      await report?.(files);
    };
    Object.defineProperty(this, "onCollected", {
      get: () => report && prune,
      set: (given: OnCollected) => {
        report = given;
      },
    });
  }

  override onCollectStart(file: File): void {
    this.#meter = new CostMeter(file.name);
  }

  onBeforeRunFiles(): void {
    this.#meter?.markLoaded();
  }

  override onAfterRunFiles(): void {
    super.onAfterRunFiles();
    this.#meter?.end();
  }
}
