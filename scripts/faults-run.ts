/** The command around `faults.ts`: arguments, progress, one line of JSON at the end, exit code. */
import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { whyNoTrace } from "./faults/trace.ts";
import { faultsRun } from "./faults.ts";

const text = (value: string) => ({ type: "string", default: value }) as const;
const { values } = parseArgs({
  options: {
    kills: text("200"),
    eio: text("50"),
    enospc: text("50"),
    short: text("50"),
    restores: text("20"),
    lanes: text("2"),
    seed: { type: "string" },
    only: { type: "string" },
    light: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

function whole(name: "kills" | "eio" | "enospc" | "short" | "restores" | "lanes" | "only", most: number): number {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value >= 0 && value <= most) return value;
  process.stderr.write(`faults: --${name} takes a whole number up to ${most}\n`);
  process.exit(2);
}

const missing = whyNoTrace();
if (missing !== "") {
  process.stderr.write(`faults: ${missing}\n`);
  process.exit(2);
}
const seed = values.seed ?? randomBytes(6).toString("hex");
const counts = {
  kills: whole("kills", 1_000_000),
  eio: whole("eio", 1_000_000),
  enospc: whole("enospc", 1_000_000),
  shortWrites: whole("short", 1_000_000),
  restores: whole("restores", 1_000_000),
};
const asked = `--kills ${counts.kills} --eio ${counts.eio} --enospc ${counts.enospc} --short ${counts.shortWrites}`;
process.stderr.write(
  `faults: seed ${seed}; again with: npm run faults -- ${asked} --restores ${counts.restores} --seed ${seed}\n`,
);
const report = await faultsRun({
  ...{ counts, seed, lanes: Math.max(1, whole("lanes", 64)), isLight: values.light },
  ...(values.only === undefined ? {} : { only: whole("only", 1_000_000) }),
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
