/** The command around `crash.ts`: arguments, progress, exit code. */
import { randomBytes } from "node:crypto";
import { readCommandLine } from "../rig/command-line.ts";
import { crashRun } from "./crash.ts";

const { values, whole } = readCommandLine({
  name: "crash",
  does: "Kills and cuts the real processes in a stream of withdrawals; ends with 1 when one is not paid exactly once.",
  options: {
    kills: { takes: "N", default: "200", says: "so many kills and cuts" },
    seed: { takes: "TEXT", says: "the same moments again" },
    json: { says: "ends with one line of JSON" },
  },
});
const kills = whole("kills", { least: 1, most: 100_000 });
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
