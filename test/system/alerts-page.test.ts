/**
 * docs/alerts.md against the table of alerts and the command lines: a section for each alert, with
 * the same three parts, and no command that a program does not have.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { alertTable } from "../../base/alerts/queue/table.ts";
import { causes, type Danger, dangerOf } from "../../base/causes.ts";
import { codes } from "../../base/codes.ts";
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

/** The codes of a danger, each with the causes that make it one. */
function codesOf(danger: Danger): string {
  return Object.entries(codes)
    .filter(([, { kind }]) => kind === "alarm")
    .flatMap(([code]) => {
      const ofCode: readonly string[] = Object.hasOwn(causes, code)
        ? Object.keys(causes[code as keyof typeof causes])
        : [""];
      const ofDanger = ofCode.filter((cause) => dangerOf(code, cause) === danger);
      if (ofDanger.length === 0) return [];
      return [
        `\`${code}\`${ofDanger.every((cause) => cause === "") ? "" : ` (${ofDanger.join(", ")})`}`,
      ];
    })
    .join(", ");
}

const dangers = [
  "| `danger` | what it means | codes, with the cause where a code has several | at once |",
  "|---|---|---|---|",
  `| \`theft\` | somebody else may hold the wallet's key | ${codesOf("theft")} | \`autowithdraw pause\`, then compare, then move the funds |`,
  `| \`twice\` | an order may be paid twice, or paid wrongly | ${codesOf("twice")} | \`autowithdraw pause\`, then look the payment up in a block explorer |`,
  "| `work` | no money leaves wrongly | every other code | nothing; in the morning, what the hint says |",
].join("\n");

describe("docs/alerts.md", () => {
  it("names each code that cannot wait first, by its danger; -u writes the table", async () => {
    const [before, rest = ""] = page.split("<!-- dangers -->\n");
    const [, after = ""] = rest.split("<!-- /dangers -->");
    await expect(
      `${before}<!-- dangers -->\n\n${dangers}\n\n<!-- /dangers -->${after}`,
    ).toMatchFileSnapshot("../../docs/alerts.md");
    expect(page.indexOf("<!-- dangers -->")).toBeLessThan(page.indexOf("\n## "));
  });

  it("has a section for each alert, in the order of the table", () => {
    expect([...sections.keys()]).toEqual(Object.keys(alertTable));
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
});
