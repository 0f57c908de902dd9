/**
 * Twenty real crashes and cuts in a stream of withdrawals; the long run is `npm run crash --
 * --kills 200`.
 */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { crashRun } from "../../lab/faults/crash.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

it("crypto pays every withdrawal exactly once through twenty strikes", { timeout: 420_000 }, async () => {
  const seed = process.env.SEED ?? randomBytes(6).toString("hex");
  process.stderr.write(`crash: SEED=${seed}\n`);
  const report = await crashRun(20, seed, () => undefined);
  expect(report.violations).toEqual([]);
  expect(report.paid).toBeGreaterThan(10);
  expect(report.ledgerRecords).toBeGreaterThan(report.paid * 5);
});
