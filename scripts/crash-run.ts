/** The command around `crash.ts`: arguments, progress, exit code. */
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { crashRun } from "./crash.ts";

const { values } = parseArgs({
  options: { kills: { type: "string", default: "200" }, seed: { type: "string" }, json: { type: "boolean", default: false } },
});
const kills = Number(values.kills);
if (!Number.isSafeInteger(kills) || kills < 1 || kills > 100_000) {
  process.stderr.write("crash: --kills takes a whole number from 1 to 100000\n");
  process.exit(2);
}
const seed = values.seed ?? randomBytes(6).toString("hex");
process.stderr.write(`crash: seed ${seed}; again with: npm run crash -- --kills ${kills} --seed ${seed}\n`);
const report = await crashRun(kills, seed, (line) => process.stderr.write(`crash: ${line}\n`));
if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
else {
  for (const violation of report.violations) process.stdout.write(`violation: ${violation}\n`);
  process.stdout.write(
    `${report.withdrawals} withdrawals: ${report.paid} paid exactly once, ${report.failed} Failed with no payment; ${report.violations.length} violations\n`,
  );
}
process.exit(report.ok ? 0 : 1);
