/** The command around `faults.ts`: arguments, progress, one line of JSON at the end, exit code. */
import { randomBytes } from "node:crypto";
import { readCommandLine } from "../rig/command-line.ts";
import { faultsRun } from "./faults.ts";
import { whyNoTrace } from "./trace.ts";

const { values, whole } = readCommandLine({
  name: "faults",
  does: "Real processes, killed, on disks that fail, put back; ends with 1 when one paid twice or forgot a payment.",
  options: {
    kills: { takes: "N", default: "200", says: "kill -9 at so many system calls" },
    eio: { takes: "N", default: "50", says: "so many writes and syncs that fail" },
    enospc: { takes: "N", default: "50", says: "so many writes to a full disk" },
    short: { takes: "N", default: "50", says: "so many writes cut short" },
    restores: { takes: "N", default: "20", says: "so many ledgers and databases put back" },
    lanes: { takes: "N", default: "2", says: "so many at a time" },
    seed: { takes: "TEXT", says: "the same faults again" },
    only: { takes: "N", says: "plays one planned world again, by its number" },
    light: { says: "without the whole system on a chain of its own" },
    json: { says: "ends with one line of JSON" },
  },
});

const countRange = { most: 1_000_000 };
const missing = whyNoTrace();
if (missing !== "") {
  process.stderr.write(`faults: ${missing}\n`);
  process.exit(2);
}
const seed = values.seed ?? randomBytes(6).toString("hex");
const counts = {
  kills: whole("kills", countRange),
  eio: whole("eio", countRange),
  enospc: whole("enospc", countRange),
  shortWrites: whole("short", countRange),
  restores: whole("restores", countRange),
};
const asked = `--kills ${counts.kills} --eio ${counts.eio} --enospc ${counts.enospc} --short ${counts.shortWrites}`;
process.stderr.write(
  `faults: seed ${seed}; again with: npm run faults -- ${asked} --restores ${counts.restores} --seed ${seed}\n`,
);
const report = await faultsRun({
  ...{ counts, seed, lanes: Math.max(1, whole("lanes", { most: 64 })), isLight: values.light },
  ...(values.only === undefined ? {} : { only: whole("only", countRange) }),
  say: (line) => process.stderr.write(`faults: ${line}\n`),
});
if (values.json) {
  const { violations, ...figures } = report;
  process.stdout.write(`${JSON.stringify({ ...figures, violations: violations.length, findings: violations })}\n`);
} else {
  for (const violation of report.violations) process.stdout.write(`violation: ${violation}\n`);
  for (const [words, count] of Object.entries(report.detail).sort()) process.stdout.write(`${count}  ${words}\n`);
  const { kills, eio, enospc, shortWrites, restores, withdrawals, paidOnce, violations } = report;
  process.stdout.write(
    `${kills} kills, ${eio} EIO, ${enospc} ENOSPC, ${shortWrites} short writes, ${restores} restores; ${paidOnce} of ${withdrawals} withdrawals paid exactly once; ${violations.length} violations\n`,
  );
}
process.exit(report.violations.length === 0 ? 0 : 1);
