/**
 * The questions of a gateway and of an idle agent together to each of two servers, by a clock of
 * the test: in an hour, on a preset of each family, against what public servers of the chain
 * allow and against the table of docs/chains.md. A shorter time counts as many times as it goes
 * into an hour. A check asks all that these two ask.
 */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { lookAtNode } from "../../chains/connect.ts";
import { chainPresets } from "../../chains/presets.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { isLongTier, share } from "../../lab/kit/share.ts";
import { currenciesOn, openHourChain, presetNamed } from "../support/hour-chains.ts";
import { type IdlePrograms, openIdlePrograms } from "../support/idle-hour.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

let opened: IdlePrograms | null = null;
afterEach(async () => {
  await opened?.close();
  opened = null;
});

/** The rows of the table, by preset: the most asked servers' figures, and what is allowed. */
const page = readFileSync(`${projectRoot}/docs/chains.md`, "utf8");
const rowForm = /^\| `([a-z-]+)` \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+|–) \| (.*) \|$/gm;
const figure = (text: string): number => Number(text.replaceAll(",", ""));
const table = new Map(
  [...page.matchAll(rowForm)].map(
    ([, name = "", first = "", other = "", allowed = "", source = ""]) => [
      name,
      { first: figure(first), other: figure(other), allowed, source },
    ],
  ),
);

/** Chains whose blocks are minutes apart need an hour; the others show all of it in minutes. */
const spanOf = (blockMs: number): number => {
  if (blockMs >= minuteMs) return hourMs;
  return isLongTier ? 5 * minuteMs : minuteMs;
};

const real = Object.entries(chainPresets).filter(([, { isTest }]) => !isTest);
/** One of each family, and Litecoin, whose blocks are four times as many. */
const measured = ["ethereum", "tron", "bitcoin", "litecoin", "xrp"];
const played = real.filter(([name]) => measured.includes(name));

describe("the questions of an hour in which nobody pays", () => {
  it.each(played)(
    "are on %s at most those of the page, and within what its public servers allow",
    async (name, preset) => {
      const programs = await openIdlePrograms(name);
      opened = programs;
      await programs.pass(2 * minuteMs);
      const spanMs = spanOf(preset.blockMs);
      const asked = (await programs.pass(spanMs)).map((count) => (count * hourMs) / spanMs);
      expect(programs.faults).toEqual([]);
      expect(programs.states).toBeGreaterThan(0);
      const { first, other } = table.get(name) ?? { first: 0, other: 0 };
      const [most = 0, least = 0] = [...asked].sort((a, b) => b - a);
      expect(
        [most, least].map((count, at) => Math.round(count) <= [first, other][at]!),
        `${name}: ${most} and ${least}`,
      ).toEqual([true, true]);
      // The page's figures are no larger than needed.
      expect(most).toBeGreaterThan(0.7 * first);
      expect(least).toBeGreaterThan(0.7 * other);
    },
  );

  it("have a row of the page for each that is measured, with the limits of its public servers", () => {
    expect([...table.keys()].sort()).toEqual([...measured].sort());
    for (const [name, { publicServers = {} }] of played) {
      const limits = Object.values(publicServers).map(({ questionsPerHour }) => questionsPerHour);
      const { first = 0, allowed = "" } = table.get(name) ?? {};
      expect(allowed, name).toBe(
        limits.length === 0 ? "–" : Math.min(...limits).toLocaleString("en-US"),
      );
      if (limits.length > 0) expect(first, name).toBeLessThan(Math.min(...limits));
    }
  });
});

describe("the check of a server", () => {
  it.each(played.filter(([name]) => name !== "litecoin"))(
    "asks on %s all that gateway and agent ask",
    async (name) => {
      const programs = await openIdlePrograms(name);
      opened = programs;
      await programs.pass(share(10, 3) * minuteMs);
      const work = new Set(programs.chain.asked().flat());
      const chain = await openHourChain(name);
      try {
        const { lines } = presetNamed(name);
        chain.fund(programs.hot, programs.nowMs);
        const contracts = currenciesOn(name).flatMap(([, { lines: of }]) =>
          of.contract === undefined ? [] : [of.contract],
        );
        const [url = ""] = chain.urls;
        expect((await lookAtNode({ chain: lines, url, contracts, timeoutMs: 20_000 })).code).toBe(
          "",
        );
        const checked = new Set(chain.asked()[0]);
        expect([...work].filter((form) => !checked.has(form))).toEqual([]);
        expect(work.size).toBeGreaterThan(4);
      } finally {
        await chain.close();
      }
    },
  );
});
