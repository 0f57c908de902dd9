/**
 * The tables of states: each state in which something waits has a person with a command, or a
 * clock. They are held against the stages of records, the tables of the database, the commands of
 * both programs.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, describe, expect, it } from "vitest";
import {
  agentStateEnds,
  endedStates,
  statesOfCourier,
  statesOfSigner,
} from "../../agent/state-ends.ts";
import { endWords, type StateEnd, type StateEnds } from "../../base/state-end.ts";
import { commandTree } from "../../cli/main.ts";
import { buildGatewayCommands as gatewayTree } from "../../gateway/command.ts";
import { shopFlows } from "../../gateway/openapi/page.ts";
import {
  countedStates,
  gatewayStateEnds,
  statesOfTables,
} from "../../gateway/operator/state-ends.ts";
import { gatewayDatabase } from "../../lab/kit/gateway-database.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

const roots: Readonly<Record<string, Command>> = {
  autowithdraw: commandTree(),
  "autowithdraw-gateway": gatewayTree(),
};
const rowsOf = (ends: StateEnds): readonly (readonly [string, StateEnd])[] =>
  Object.entries(ends).flatMap(([group, rows]) =>
    Object.entries(rows).map(([name, row]) => [`${group} ${name}`, row] as const),
  );
const all = [...rowsOf(gatewayStateEnds), ...rowsOf(agentStateEnds)];

/** States that no command ends yet. */
const unended: readonly string[] = ["stuck WATCHER_SLOT_CONSUMED", "stuck PIN_UNREADABLE"];

/** The fault of a row; "" for a good one. */
function faultOf([by, what, evidence, command, effect]: StateEnd): string {
  if (by === "person" && command === "") return "a person without a command";
  if ([what, evidence, effect].some((text) => text === "")) return "an empty cell";
  const [program = "", first = "", second = "", ...rest] = command.split(" ");
  if (!Object.hasOwn(roots, program))
    return command === "" || program === "systemctl" || program === "timedatectl" ? "" : program;
  const known = roots[program]?.commands.find((one) => one.name() === first);
  if (known === undefined) return `${program} ${first}`;
  const inner = known.commands.find((one) => one.name() === second) ?? known;
  if (known.commands.length > 0 && inner === known && second !== "" && !second.startsWith("-"))
    return `${first} ${second}`;
  const words = inner === known ? [second, ...rest] : rest;
  const options = new Set(inner.options.map(({ long }) => long));
  const unknown = words.find((word) => word.startsWith("--") && !options.has(word));
  if (unknown !== undefined) return unknown;
  const lacking = inner.options.find(
    ({ mandatory, long }) => mandatory && !words.includes(long ?? ""),
  );
  if (lacking !== undefined) return `without ${lacking.long}`;
  const given = words.filter(
    (word, at) => /^[A-Z]+$/.test(word) && !(words[at - 1] ?? "").startsWith("--"),
  ).length;
  return given < inner.registeredArguments.filter(({ required }) => required).length
    ? "without an argument"
    : "";
}

describe("the table of states", () => {
  it("names for each a person with a command that there is, or a clock", () => {
    expect(
      all
        .map(([name, row]) => [name, faultOf(row)])
        .filter(([name, fault]) => fault !== "" && !unended.includes(name ?? "")),
    ).toEqual([]);
    // Their rows are good as soon as a command ends them.
    for (const name of unended)
      expect(faultOf(all.find(([one]) => one === name)?.[1] as StateEnd), name).not.toBe("");
    expect(faultOf(["person", "a", "b", "", "c"])).toBe("a person without a command");
    expect(faultOf(["clock", "a", "b", "", "c"])).toBe("");
    expect(faultOf(["person", "a", "b", "autowithdraw-gateway rows mend NAME", "c"])).toBe(
      "rows mend",
    );
    expect(faultOf(["person", "a", "b", "autowithdraw-gateway rows retry NAME", "c"])).toBe("");
    expect(faultOf(["person", "a", "b", "autowithdraw resume --chain X", "c"])).toBe("--chain");
    expect(faultOf(["person", "a", "b", "autowithdraw-gateway rows retry", "c"])).toBe(
      "without an argument",
    );
    expect(faultOf(["person", "a", "b", "autowithdraw-gateway deposits credit ID", "c"])).toBe(
      "without --reason",
    );
  });

  it("has each open stage of a record, and no stage that there is not", () => {
    const openOf = ({ stages }: (typeof shopFlows)[keyof typeof shopFlows]) =>
      stages.filter(({ status }) => status === 0).map(({ name }) => name);
    const beside: readonly string[] = ["late", "reorged", "unattributed", "recalled"];
    const named = (rows: object): readonly string[] =>
      Object.keys(rows)
        .filter((name) => !beside.includes(name))
        .sort();
    expect(named(gatewayStateEnds.deposits)).toEqual([...openOf(shopFlows.deposit)].sort());
    expect([...named(gatewayStateEnds.withdrawals), "stuck"].sort()).toEqual(
      [...openOf(shopFlows.withdrawal)].sort(),
    );
  });

  const db = gatewayDatabase();
  afterAll(() => db.remove());

  it("has each table of the database, and no other", () => {
    const tables = db.store.database
      .all<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
      )
      .map(({ name }) => name);
    expect(Object.keys(statesOfTables).sort()).toEqual(tables);
    expect(tables.length).toBeGreaterThan(50);
  });

  it("has each stage that a column or a status counts, and each row that they name", () => {
    const names = new Set(all.map(([name]) => name));
    const named = [statesOfTables, countedStates, statesOfSigner, statesOfCourier].flatMap(
      (table) => Object.values(table).flat(),
    );
    expect(named.filter((name) => !names.has(name))).toEqual([]);
    for (const state of endedStates) expect(names.has(`withdrawals ${state}`), state).toBe(false);
  });

  it("gives the words for status: the line to type, or what ends it", () => {
    expect(endWords(gatewayStateEnds.aside.record)).toBe(
      "autowithdraw-gateway rows retry NAME: lists show it whole, once it is corrected",
    );
    expect(endWords(gatewayStateEnds.faults.span)).toBe(
      "ends by itself: read again in each pass; after ten minutes they are a gap",
    );
    expect(endWords(gatewayStateEnds.faults.head)).toContain("; or autowithdraw-gateway check");
  });

  it("is the one place of each line to type and of each sentence: no other source writes it", () => {
    const sources = ["agent", "base/alerts", "cli", "gateway"].flatMap((folder) =>
      readdirSync(join(projectRoot, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts") && !/(?:^|\/)state-ends\.ts$/.test(name))
        .map((name) => ({
          name: `${folder}/${name}`,
          text: readFileSync(join(projectRoot, folder, name), "utf8").replace(
            /^ *(?:\/?\*|\/\/).*$| \/\/ .*$/gm,
            "",
          ),
        })),
    );
    expect(sources.length).toBeGreaterThan(400);
    // Lines that only look have a word of their own in many places.
    const acts = all
      .map(([, [, , , command]]) => command)
      .filter(
        (line) =>
          line.startsWith("autowithdraw") &&
          !/ (?:show|list|status|check|doctor|agents|pair|recover)(?: |$)/.test(line),
      );
    const stems = new Set(
      acts.map((line) => line.replace(/^autowithdraw(?:-gateway)? /, "").replace(/ [A-Z].*/, "")),
    );
    expect([...stems]).toEqual(
      expect.arrayContaining(["deposits revoke", "replace", "resume --network", "faults --retry"]),
    );
    const written = [...stems].flatMap((stem) => {
      const line = new RegExp(
        `(?:autowithdraw(?:-gateway)? |typed\\([\`"])${stem}(?:[\`" ]|$)`,
        "m",
      );
      return sources.filter(({ text }) => line.test(text)).map(({ name }) => `${stem}: ${name}`);
    });
    // The agent cannot read the table of the other program.
    expect(written).toEqual(["sweeps order: cli/diagnosis.ts"]);
    const sentences = all
      .map(([, [, , , , effect]]) => effect)
      .filter((text) => text.split(" ").length >= 5);
    expect(
      sentences.flatMap((text) =>
        sources.filter((one) => one.text.includes(text)).map(({ name }) => `${text}: ${name}`),
      ),
    ).toEqual([]);
  });
});
