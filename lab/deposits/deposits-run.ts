/** The command around `deposits/`: arguments, progress, figures, exit code. */
import { randomBytes } from "node:crypto";
import { readCommandLine } from "../rig/command-line.ts";
import { hasProfile, profiles } from "../rig/provider/profiles.ts";
import { type FamilyName, familyNames, playFamily } from "./families.ts";
import type { DepositReport } from "./world.ts";

const { values, whole, stop } = readCommandLine({
  name: "deposits",
  does: "Deposits of every shape on chains that reorganise, processes killed; ends with 1 when a unit is lost, credited or swept twice.",
  options: {
    family: { takes: "NAME", default: "each", says: "evm, tron or each" },
    deposits: { takes: "N", default: "300", says: "so many deposit requests on each family" },
    kills: { takes: "N", default: "20", says: "so many kill -9 of gateway, signer, courier and whole agent, on each" },
    profile: {
      takes: "NAME[,NAME]",
      says: "profiles of the nodes, in the place of a pair by the seed; the second is a plain node unless told",
    },
    profiles: { says: "lists the profiles with their sources, and ends" },
    "block-ms": { takes: "N", default: "400", says: "between two blocks; more on a machine that does much else" },
    seed: { takes: "TEXT", says: "the same plan again" },
    json: { says: "ends with one line of JSON" },
  },
});
const deposits = whole("deposits", { least: 1, most: 10_000 });
const kills = whole("kills", { most: 10_000 });
const blockMs = whole("block-ms", { least: 100, most: 10_000 });
const { family } = values;
if (values.profiles) {
  for (const { family: of, name, isFit, sources } of profiles)
    process.stdout.write(
      `${of}: ${name}${isFit ? "" : " (no gateway can work with it)"}: ${sources.join(", ") || "no limits"}\n`,
    );
  process.exit(0);
}
const [first, second = "plain node"] = values.profile?.split(",") ?? [];
for (const name of [first, second])
  if (name !== undefined && !hasProfile(name)) stop(`no profile is called ${name}; see --profiles`);
const named: readonly [string, string] | undefined = first === undefined ? undefined : [first, second];
const isFamily = (name: string): name is FamilyName => (familyNames as readonly string[]).includes(name);
if (family !== "each" && !isFamily(family)) stop(`--family takes each or one of ${familyNames.join(", ")}`);
const seed = values.seed ?? randomBytes(6).toString("hex");
const say = (line: string): void => void process.stderr.write(`deposits: ${line}\n`);
say(`seed ${seed}; again with: npm run deposits -- --family ${family} --deposits ${deposits} --kills ${kills} --seed ${seed}`);

const spoken = (sums: Readonly<Record<string, string>>): string =>
  Object.entries(sums)
    .map(([currency, amount]) => `${amount} ${currency}`)
    .join(", ");

function tell(report: DepositReport): void {
  const { kills: killed, ends } = report;
  const counted = (all: Readonly<Record<string, number>>): string =>
    Object.entries(all)
      .map(([name, count]) => `${count} ${name}`)
      .join(", ");
  const lines = [
    `nodes: ${report.profiles.join(" and ")}; ${report.early} addresses were used before`,
    `${report.deposits} requests: ${counted(ends)}, ${report.lateMoney} with late money`,
    `${report.payments} payments; ${report.reorganisations} reorganisations of ${report.blocksReplaced} blocks: ${report.paymentsMoved} payments in another block, ${report.paymentsAnew} made anew, ${report.paymentsLost} gone; ${report.ownDropped} of the agent's dropped`,
    `kill -9: ${counted(killed)}`,
    `arrived ${spoken(report.arrived)}`,
    `credited ${spoken(report.credited)}`,
    `${report.sweeps} sweeps, ${report.topUps} top-ups: swept ${spoken(report.swept)} for ${report.fees} in fees`,
    `left on addresses ${spoken(report.left)}; available ${spoken(report.available)}`,
    `${report.violations.length} violations; ${report.seconds} s`,
  ];
  for (const line of lines) process.stdout.write(`${report.family}: ${line}\n`);
  for (const violation of report.violations) process.stdout.write(`violation: ${violation}\n`);
}

const reports: DepositReport[] = [];
for (const name of isFamily(family) ? [family] : familyNames) {
  const report = await playFamily(name, {
    ...{ deposits, kills, seed, blockMs, untilExpired: true, say },
    ...(named === undefined ? {} : { profiles: named }),
  });
  reports.push(report);
  if (!values.json) tell(report);
}
const isFine = reports.every(({ violations }) => violations.length === 0);
if (values.json) process.stdout.write(`${JSON.stringify({ seed, ok: isFine, families: reports })}\n`);
process.exit(isFine ? 0 : 1);
