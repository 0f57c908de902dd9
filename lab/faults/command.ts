/**
 * The command of the faults on real processes: one harness, six streams of records that must come
 * to their end. Arguments, progress, figures, exit code. `npm run faults -- --help` tells its
 * options.
 */
import { randomBytes } from "node:crypto";
import { serverProfiles } from "../deposits/server-profiles.ts";
import { readCommandLine } from "../kit/command-line.ts";
import { postgresInstallLine, postgresPrograms } from "../kit/postgres.ts";
import { hasProfile, profiles } from "../kit/provider/profiles.ts";
import { steps } from "./steps/steps.ts";
import type { Report } from "./tally.ts";
import { whyNoTrace } from "./trace.ts";

const numbers = {
  withdrawals: {
    kills: 200,
    moments: 50,
    eio: 50,
    enospc: 50,
    short: 50,
    restores: 20,
    workers: 2,
  },
  deposits: { kills: 20, records: 300, "block-ms": 400 },
  callbacks: { kills: 10, records: 200 },
  steps: { kills: 130, "block-ms": 800 },
  restored: { runs: 10, "block-ms": 500 },
  gateways: { kills: 100, freezes: 100, failovers: 40, restores: 40, "freeze-max-seconds": 60 },
} as const;
type Stream = keyof typeof numbers;
const streams = Object.keys(numbers) as Stream[];
/** Options of one stream that are no numbers, or have no default. */
const others: Readonly<
  Record<Stream, readonly ("only" | "light" | "family" | "profile" | "recovery")[]>
> = {
  withdrawals: ["only", "light"],
  deposits: ["family", "profile"],
  callbacks: [],
  steps: ["only", "family"],
  restored: ["family", "recovery"],
  gateways: [],
};

const stepNumbers = steps.map(({ name }, at) => `${at + 1} ${name}`).join(", ");

const { values, whole, stop } = readCommandLine({
  name: "faults",
  does: "Real processes, killed, on disks that fail, restored, on chains that reorganise; ends with 1 when money or an event is lost or doubled.",
  options: {
    stream: { takes: "NAME", default: "withdrawals", says: `one of ${streams.join(", ")}` },
    kills: {
      takes: "N",
      says: "kill -9: at so many system calls (withdrawals, 200), at so many moments (deposits, 20 on each family; callbacks, 10), at the 13 steps of a payout, as often at each (steps, 130 on each family), or of the active gateway of two (gateways, 100)",
    },
    moments: {
      takes: "N",
      says: "withdrawals: kill -9 and broken connections at so many moments of chance (50)",
    },
    eio: { takes: "N", says: "withdrawals: so many writes and syncs that fail (50)" },
    enospc: { takes: "N", says: "withdrawals: so many writes to a full disk (50)" },
    short: { takes: "N", says: "withdrawals: so many writes cut short (50)" },
    restores: {
      takes: "N",
      says: "withdrawals: so many ledgers and databases restored (20); gateways: so many base backups of PostgreSQL (40)",
    },
    freezes: { takes: "N", says: "gateways: the active one stands still so many times (100)" },
    "freeze-max-seconds": {
      takes: "N",
      says: "gateways: the longest of these times, and most are short (60)",
    },
    failovers: {
      takes: "N",
      says: "gateways: so many primaries of PostgreSQL lost, up to 500 commits ahead of a standby (40)",
    },
    workers: { takes: "N", says: "withdrawals: so many worlds at a time (2)" },
    only: {
      takes: "N",
      says: `withdrawals: plays one planned world again, by its number; steps: kills at one step alone: ${stepNumbers}`,
    },
    runs: {
      takes: "N",
      says: "restored: so many runs of each family, with and without a recovery (10)",
    },
    recovery: { takes: "WHICH", says: "restored: with, without or both (both)" },
    light: { says: "withdrawals: without the whole system on a chain of its own" },
    records: {
      takes: "N",
      says: "deposits: so many requests on each family (300); callbacks: so many records, one deposit in three (200)",
    },
    family: {
      takes: "NAME",
      says: "deposits: evm, tron, bitcoin, litecoin, xrp or each (each); steps: bitcoin, litecoin, xrp or each (each); restored: evm, tron, bitcoin, litecoin, xrp or each (each); bitcoin and litecoin of deposits and steps need what node scripts/utxo-nodes.js brings",
    },
    profile: {
      takes: "NAME[,NAME]",
      says: "deposits: profiles of the nodes, in the place of a pair by the seed; the second is a plain node unless told, or the same on bitcoin, litecoin and xrp",
    },
    profiles: { says: "lists the profiles with their sources, and ends" },
    "block-ms": {
      takes: "N",
      says: "deposits, steps, restored: between two blocks; more on a machine that does much else (400; 800; 500)",
    },
    seed: { takes: "TEXT", says: "the same faults again" },
    json: { says: "ends with one line of JSON" },
  },
});

if (values.profiles) {
  for (const { family, name, isFit, sources } of [...profiles, ...serverProfiles]) {
    const unfit = isFit ? "" : " (no gateway can work with it)";
    process.stdout.write(`${family}: ${name}${unfit}: ${sources.join(", ") || "no limits"}\n`);
  }
  process.exit(0);
}
const isServer = (name: string): boolean => serverProfiles.some((one) => one.name === name);
const stream: Stream =
  streams.find((name) => name === values.stream) ??
  stop(`--stream takes one of ${streams.join(", ")}`);
const isGiven = (name: keyof typeof values): boolean =>
  values[name] !== undefined && values[name] !== false;
for (const other of streams)
  for (const name of [...Object.keys(numbers[other]), ...others[other]] as (keyof typeof values)[])
    if (isGiven(name) && !(name in numbers[stream]) && !others[stream].some((own) => own === name))
      stop(`the stream ${stream} has no --${name}`);
const seed = values.seed ?? randomBytes(6).toString("hex");
const say = (line: string): void => void process.stderr.write(`faults: ${line}\n`);

/** The numbers of one stream, as told or by default. */
function numbersOf<S extends Stream>(of: S): Record<keyof (typeof numbers)[S] & string, number> {
  const own = Object.entries(numbers[of]) as [keyof typeof values, number][];
  const read = own.map(
    ([name, otherwise]) => [name, whole(name, { ...rangeOf(name), otherwise })] as const,
  );
  const told = others[of]
    .filter(isGiven)
    .map((name) => (values[name] === true ? `--${name}` : `--${name} "${values[name]}"`));
  const args = [...read.map(([name, number]) => `--${name} ${number}`), ...told].join(" ");
  say(`seed ${seed}; again with: npm run faults -- --stream ${of} ${args} --seed ${seed}`);
  return Object.fromEntries(read) as Record<keyof (typeof numbers)[S] & string, number>;
}

function rangeOf(name: string): { readonly least?: number; readonly most: number } {
  if (name === "block-ms") return { least: 100, most: 10_000 };
  if (name === "freeze-max-seconds") return { least: 6, most: 600 };
  if (name === "workers") return { least: 1, most: 64 };
  return name === "records" ? { least: 1, most: 100_000 } : { most: 1_000_000 };
}

/** Those that were asked for; one that is named has to be able to run. */
function familiesOf<F extends string>(
  names: readonly F[],
  lackOfOne: (family: F) => string | null,
): readonly F[] {
  const { family = "each" } = values;
  const families = names.filter((name) => family === "each" || family === name);
  const [first] = families;
  if (first === undefined) return stop(`--family takes each or one of ${names.join(", ")}`);
  const lack = family === "each" ? null : lackOfOne(first);
  return lack === null ? families : stop(lack);
}

/** Each stream loads its own worlds, once it is known that it plays. */
const plays: Readonly<Record<Stream, () => Promise<Report>>> = {
  async withdrawals() {
    const { workers, ...counts } = numbersOf("withdrawals");
    const { moments, ...traced } = counts;
    const missing = Object.values(traced).some((count) => count > 0) ? whyNoTrace() : "";
    if (missing !== "")
      stop(`${missing}; without it there are only --moments, with every other number 0`);
    const only = values.only === undefined ? null : whole("only", { most: 1_000_000 });
    const { playWithdrawals } = await import("./withdrawals.ts");
    return playWithdrawals({ counts, seed, say, workers, only, isLight: values.light });
  },
  async deposits() {
    const { familyNames, lackOf, playDeposits } = await import("../deposits/families.ts");
    const families = familiesOf(familyNames, lackOf);
    const [first, second = first !== undefined && isServer(first) ? first : "plain node"] =
      values.profile?.split(",") ?? [];
    for (const name of [first, second])
      if (name !== undefined && !hasProfile(name) && !isServer(name))
        stop(`no profile is called ${name}; see --profiles`);
    const { "block-ms": blockMs, ...rest } = numbersOf("deposits");
    const pair = first === undefined ? {} : { profiles: [first, second] as const };
    return playDeposits(families, { ...rest, ...pair, seed, blockMs, untilExpired: true, say });
  },
  async callbacks() {
    const { CallbacksWorld } = await import("./callbacks-world.ts");
    return (
      await CallbacksWorld.create({ ...numbersOf("callbacks"), seed, untilExpired: true, say })
    ).play();
  },
  async steps() {
    const { playSteps, stepsFamilies, stepsLackOf } = await import("./steps/play.ts");
    const families = familiesOf(stepsFamilies, stepsLackOf);
    const only = values.only === undefined ? null : whole("only", { least: 1, most: steps.length });
    const { kills, "block-ms": blockMs } = numbersOf("steps");
    return playSteps(families, { kills, blockMs, seed, only, say });
  },
  async restored() {
    const { playRestored, restoredFamilies, restoredLackOf } = await import("./restored/play.ts");
    const families = familiesOf(restoredFamilies, restoredLackOf);
    const { recovery = "both" } = values;
    const recoveries = (["without", "with"] as const).filter(
      (one) => recovery === "both" || recovery === one,
    );
    if (recoveries.length === 0) return stop("--recovery takes with, without or both");
    const { runs, "block-ms": blockMs } = numbersOf("restored");
    return playRestored(families, { runs, recoveries, blockMs, seed, say });
  },
  async gateways() {
    if (postgresPrograms() === null)
      stop(`the stream gateways needs PostgreSQL: ${postgresInstallLine}`);
    const { "freeze-max-seconds": seconds, ...counts } = numbersOf("gateways");
    const { playGateways } = await import("./gateways/play.ts");
    return playGateways({ ...counts, freezeMsMax: seconds * 1_000, seed, say });
  },
};

const { lines, violations, ...figures } = await plays[stream]();
const isFine = violations.length === 0;
if (values.json)
  process.stdout.write(`${JSON.stringify({ stream, seed, ok: isFine, ...figures, violations })}\n`);
else {
  for (const violation of violations) process.stdout.write(`violation: ${violation}\n`);
  for (const line of lines) process.stdout.write(`${line}\n`);
  process.stdout.write(`${violations.length} violations\n`);
}
process.exit(isFine ? 0 : 1);
