/**
 * The command around `faults/callbacks-world.ts`: arguments, progress, one line of JSON at the end,
 * exit code.
 */
import { randomBytes } from "node:crypto";
import { readCommandLine } from "../rig/command-line.ts";
import { CallbacksWorld } from "./callbacks-world.ts";

const { values, whole } = readCommandLine({
  name: "callbacks",
  does: "A gateway killed while receivers die, hang and refuse; ends with 1 when an event is lost or the stock verifier refuses one.",
  options: {
    records: { takes: "N", default: "200", says: "so many withdrawals and deposits, one deposit in three" },
    kills: { takes: "N", default: "10", says: "kill -9 of the gateway" },
    seed: { takes: "TEXT", says: "the same moments again" },
    json: { says: "ends with one line of JSON" },
  },
});
const records = whole("records", { least: 1, most: 100_000 });
const kills = whole("kills", { most: 100_000 });
const seed = values.seed ?? randomBytes(6).toString("hex");
const say = (line: string): void => void process.stderr.write(`callbacks: ${line}\n`);
say(`seed ${seed}; again with: npm run callbacks -- --records ${records} --kills ${kills} --seed ${seed}`);
const world = await CallbacksWorld.create({ records, kills, seed, untilExpired: true, say });
const report = await world.play();
if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
else {
  for (const violation of report.violations) process.stdout.write(`violation: ${violation}\n`);
  for (const [type, count] of Object.entries(report.types)) process.stdout.write(`${type}: ${count}\n`);
  const { events, messages, repeats, switchedOff, seconds } = report;
  process.stdout.write(
    `${report.records} records, ${report.kills} kills: all ${events} events arrived, ${messages} messages of which ${repeats} repeats; ` +
      `${switchedOff} times switched off by 410 and on again; ${report.violations.length} violations; ${seconds} s\n`,
  );
}
process.exit(report.violations.length === 0 ? 0 : 1);
