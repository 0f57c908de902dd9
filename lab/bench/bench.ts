/**
 * `npm run bench [-- --json] [-- --jobs N] [-- --rounds N] [-- --seconds N]`: the figures that a
 * user feels (`user`), and the whole agent (its real processes) beside a plain build in turn, in
 * the same run, beside what the machine can do at all (`agent`). The plain build runs with ethers
 * as it comes and once more tuned. Figures are medians over the rounds, ratios are medians of each
 * round's own; quote the ratios, they travel better. Each wait has its end, and no round begins
 * that `--seconds` leaves no time for. Then the real gateway process, by itself (bench/gateway.ts),
 * and where asked for idle gateways with few and with many agents, a day of many payouts, the
 * signer with a long history, and what an idle day and 1,000 orders take.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCommandLine } from "../kit/command-line.ts";
import { actsOfRounds, type Card, cardOf, describeCard, markdownOf } from "./card.ts";
import type { GrowthFigures } from "./growth.ts";
import { describeAgent, reportOf } from "./report.ts";

const {
  values,
  whole,
  stop: refuse,
} = readCommandLine({
  name: "bench",
  does: "Measures what a user feels, and the agent beside a plain build and the machine's ceilings; figures are medians over the rounds.",
  options: {
    jobs: { takes: "N", default: "3000", says: "so many jobs in each run" },
    rounds: { takes: "N", says: "so many rounds, however long they take; without it up to 3" },
    seconds: {
      takes: "N",
      says: "no round begins that would last longer than this in all; the first always does; without it and --rounds 360",
    },
    records: { takes: "N", default: "1000000", says: "the gateway's longest list" },
    orders: {
      takes: "LIST",
      default: "10000,1000000,6000000",
      says: "closed orders of each history, by commas",
    },
    payouts: { takes: "N", default: "30000", says: "so many payouts in one day" },
    minutes: {
      takes: "N",
      default: "20",
      says: "resources: so long nobody pays; a day is so many times more",
    },
    only: {
      takes: "NAMES",
      default: "user,agent,gateway",
      says: "by commas: user (the card), agent (beside a plain build), growth (idle gateways with few and many agents), gateway, networks and deposits (of user, each by itself), day, history, resources",
    },
    json: { says: "one line of JSON" },
    markdown: { says: "the card alone, as the table of docs/performance.md" },
  },
});

const say = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

interface Part {
  readonly figures: object;
  readonly text: string;
  readonly card?: Card;
}

/** `user` and `agent` share their rounds, so that their ratios are of the same minutes. */
async function rounds(
  dir: string,
  asked: readonly string[],
  growth: GrowthFigures | undefined,
): Promise<Part> {
  const { longLoads, measureRounds } = await import("./rounds.ts");
  const jobs = whole("jobs", { least: 300, most: 1_000_000 });
  const isBounded = values.rounds === undefined || values.seconds !== undefined;
  const measured = await measureRounds(dir, {
    ...{
      withPlain: asked.includes("agent"),
      withPath: asked.includes("user"),
      loads: longLoads(jobs),
      say,
    },
    most: whole("rounds", { least: 1, most: 50, otherwise: 3 }),
    endsAtMs: isBounded
      ? performance.now() + 1000 * whole("seconds", { least: 1, most: 86_400, otherwise: 360 })
      : Number.POSITIVE_INFINITY,
  });
  const { compared } = measured;
  const users = measured.users.map((user) => (growth === undefined ? user : { ...user, growth }));
  const card = users.length > 0 ? cardOf(users) : undefined;
  const report = compared.plain.length > 0 ? reportOf(compared) : undefined;
  return {
    figures: {
      ...{ rounds: compared.ours.length, jobs, ...report },
      ...(card === undefined ? {} : { card, acts: actsOfRounds(users.map(({ acts }) => acts)) }),
      ...(card === undefined
        ? {}
        : { gatewayActs: actsOfRounds(users.map(({ gatewayActs }) => gatewayActs)) }),
    },
    text: [
      ...(card === undefined ? [] : [describeCard(card)]),
      ...(report === undefined ? [] : [describeAgent(report)]),
    ].join("\n\n"),
    ...(card === undefined ? {} : { card }),
  };
}

async function growth(): Promise<Part & { readonly measured: GrowthFigures }> {
  const { describeGrowth, longGrowth, measureGrowth } = await import("./growth.ts");
  say(`idle gateways with ${longGrowth.few} and ${longGrowth.many} agents`);
  const measured = await measureGrowth(longGrowth);
  return { measured, figures: { growth: measured }, text: describeGrowth(measured) };
}

/** Figures of `user` by themselves, in a world of their own, once. */
async function ofUser(name: "networks" | "deposits"): Promise<Part> {
  const { longLoads } = await import("./rounds.ts");
  const { measureAlone } = await import("./user-parts.ts");
  const { path } = longLoads(0);
  const figures = await measureAlone(name, path);
  return { figures: { [name]: figures }, text: JSON.stringify(figures, null, 2) };
}

/** Each part by its names; it loads what it measures, once it is asked for. */
const parts: readonly {
  readonly names: readonly string[];
  readonly play: (dir: string, asked: string[]) => Promise<Part>;
}[] = [
  {
    names: ["user", "agent", "growth"],
    async play(dir, asked) {
      const grown = asked.includes("growth") ? await growth() : undefined;
      const played = asked.some((name) => name === "user" || name === "agent")
        ? await rounds(dir, asked, grown?.measured)
        : undefined;
      return {
        ...played,
        figures: { ...played?.figures, ...grown?.figures },
        text: [played?.text, grown?.text].filter((text) => text !== undefined).join("\n\n"),
      };
    },
  },
  { names: ["networks"], play: () => ofUser("networks") },
  { names: ["deposits"], play: () => ofUser("deposits") },
  {
    names: ["gateway"],
    async play(dir) {
      const { describeGateway, measureGateway } = await import("./gateway.ts");
      const records = whole("records", { least: 1, most: 10_000_000 });
      say(`the gateway, with a list of ${records} records`);
      const gateway = await measureGateway(join(dir, "gateway"), records);
      return { figures: { gateway }, text: describeGateway(gateway) };
    },
  },
  {
    names: ["day"],
    async play(dir) {
      const { describeDay, measureDay } = await import("./day.ts");
      const day = await measureDay(
        join(dir, "day"),
        whole("payouts", { least: 1000, most: 1_000_000 }),
      );
      return { figures: { day }, text: describeDay(day) };
    },
  },
  {
    names: ["resources"],
    async play() {
      const { measureResources, tableOf } = await import("./resources.ts");
      const idleMs = 60_000 * whole("minutes", { least: 1, most: 1_440 });
      say(`an idle gateway and agent, for ${idleMs / 60_000} minutes, then 1,000 orders`);
      const resources = await measureResources({
        orders: 1_000,
        idleMs,
        settleMs: 75_000,
        blockMs: 12_000,
      });
      return { figures: { resources }, text: tableOf(resources) };
    },
  },
  {
    names: ["history"],
    async play(dir) {
      const { describeHistory, measureHistory } = await import("./history.ts");
      const history = await measureHistory(
        values.orders.split(",").map(Number),
        join(dir, "history"),
      );
      return { figures: { history }, text: describeHistory(history) };
    },
  },
];

async function main(): Promise<void> {
  const asked = values.only.split(",");
  const known = parts.flatMap(({ names }) => names);
  const unknown = asked.find((name) => !known.includes(name));
  if (unknown !== undefined) refuse(`there is no part ${unknown}; there are ${known.join(", ")}`);
  if (values.markdown && !asked.includes("user"))
    refuse("--markdown prints the card, which is a figure of user");
  const dir = mkdtempSync(join(tmpdir(), "autowithdraw-bench-"));
  try {
    const measured: Part[] = [];
    for (const { names, play } of parts)
      if (names.some((name) => asked.includes(name))) measured.push(await play(dir, asked));
    process.stdout.write(`${printed(measured)}\n`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function printed(measured: readonly Part[]): string {
  if (values.markdown)
    return measured
      .flatMap(({ card }) => (card === undefined ? [] : [markdownOf(card)]))
      .join("\n");
  if (values.json)
    return JSON.stringify(Object.assign({}, ...measured.map(({ figures }) => figures)));
  return measured.map(({ text }) => text).join("\n\n");
}

await main();
process.exit(0);
