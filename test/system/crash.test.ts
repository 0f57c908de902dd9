/**
 * Twenty kills and broken connections at moments of chance in a stream of withdrawals; the long run
 * is `npm run faults -- --moments 200`.
 */
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { playWithdrawals } from "../../lab/faults/withdrawals.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

it("crypto pays every withdrawal exactly once through twenty strikes", async () => {
  const seed = process.env.SEED ?? randomBytes(6).toString("hex");
  process.stderr.write(`crash: SEED=${seed}\n`);
  const counts = { kills: 0, moments: 20, eio: 0, enospc: 0, short: 0, restores: 0 };
  const report = await playWithdrawals({
    counts,
    seed,
    workers: 1,
    only: null,
    isLight: false,
    say: () => undefined,
  });
  expect(report.violations).toEqual([]);
  expect(report.moments).toBe(20);
  expect(report.paidOnce).toBeGreaterThan(10);
});
