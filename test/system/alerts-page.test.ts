/**
 * docs/alerts.md against the table of alerts and the command lines: a section for each alert, with
 * the same three parts, and no command that a program does not have.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { alertTable } from "../../base/alerts/queue/table.ts";
import { commandTree } from "../../cli/main.ts";
import { buildGatewayCommands as gatewayTree } from "../../gateway/command.ts";
import { projectRoot } from "../../lab/kit/kit.ts";

const page = readFileSync(join(projectRoot, "docs/alerts.md"), "utf8");
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((part) => [part.slice(0, part.indexOf("\n")), part] as const),
);
const roots: Readonly<Record<string, Command>> = {
  autowithdraw: commandTree(),
  "autowithdraw-gateway": gatewayTree(),
};

/** Commands in code marks, as words: `autowithdraw show ID`. */
const callsIn = (text: string): readonly string[][] =>
  [...text.matchAll(/`(autowithdraw(?:-gateway)? [^`]+)`/g)].map(([, words = ""]) =>
    words.split(/\s+/),
  );

/** The part of a call that its program does not have; "" for a good one. */
function unknownIn([program = "", first = "", second = "", ...rest]: readonly string[]): string {
  const command = roots[program]?.commands.find((one) => one.name() === first);
  if (command === undefined) return `${program} ${first}`;
  const inner =
    command.commands.find((one) => one.name() === second) ??
    command.commands.find((one) => one.name() === "list") ??
    command;
  const known = new Set(inner.options.map(({ long }) => long));
  return [second, ...rest].find((word) => word.startsWith("--") && !known.has(word)) ?? "";
}

/** The calls of a line of the gateway's list: `sweeps list | show ID [--json]` has two. */
const callsOfLine = (line: string): readonly string[][] => {
  const bare = line.replace(/\[[^\]]*\]/g, (option) => option.replaceAll(" | ", " "));
  const [first = "", ...more] = bare.replace(/[[\]…]/g, "").split(/ \| (?=[a-z])/);
  const [group = ""] = first.split(" ");
  const others = more.map((part) => (part.startsWith(`${group} `) ? part : `${group} ${part}`));
  return [first, ...others].map((words) => ["autowithdraw-gateway", ...words.trim().split(/\s+/)]);
};

describe("docs/alerts.md", () => {
  it("has a section for each alert, in the order of the table", () => {
    expect([...sections.keys()]).toEqual(Object.keys(alertTable));
    // The codes that cannot wait come before all sections.
    expect(page.indexOf("`danger`")).toBeLessThan(page.indexOf("\n## "));
  });

  it.each([...sections])("docs/alerts.md, %s: money, look and do, each with words", (_, text) => {
    for (const part of ["Money", "Look", "Do"])
      expect(text).toMatch(new RegExp(`^\\*\\*${part}\\*\\*: \\S+ \\S+`, "m"));
  });

  it("types only commands and options that the programs have", () => {
    const calls = callsIn(page);
    expect(calls.length).toBeGreaterThan(30);
    expect(
      calls
        .map((call) => [call.join(" "), unknownIn(call)])
        .filter(([, unknown]) => unknown !== ""),
    ).toEqual([]);
    expect(unknownIn("autowithdraw-gateway withdrawals --merchants ID".split(" "))).toBe(
      "--merchants",
    );
    expect(unknownIn("autowithdraw-gateway sweep".split(" "))).toBe("autowithdraw-gateway sweep");
  });

  it.each(["api", "first-money", "gateway"])(
    "docs/%s.md types commands and options of the programs as well",
    (name) => {
      const text = readFileSync(join(projectRoot, `docs/${name}.md`), "utf8");
      const lines = [...text.matchAll(/^node gateway\/gateway\.js ([^#\n]+)/gm)].flatMap(
        ([, words = ""]) => callsOfLine(words),
      );
      const calls = [...callsIn(text), ...lines];
      expect(calls.length).toBeGreaterThan(0);
      expect(
        calls
          .map((call) => [call.join(" "), unknownIn(call)])
          .filter(([, unknown]) => unknown !== ""),
      ).toEqual([]);
    },
  );
});
