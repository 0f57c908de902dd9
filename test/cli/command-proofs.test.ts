/**
 * The table of commands: each command of both programs has a place in its manual page, a completion
 * and a test that types it beside real processes, and so has each option that ends a state.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { agentStateEnds } from "../../agent/state-ends.ts";
import type { StateEnds } from "../../base/state-end.ts";
import { commandTree } from "../../cli/main.ts";
import { buildGatewayCommands as gatewayTree } from "../../gateway/command.ts";
import { gatewayStateEnds } from "../../gateway/operator/state-ends.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";
import { agentProofs, type CommandProof, gatewayProofs } from "./command-proofs.ts";

startsTheBuild();

const programs = [
  ["autowithdraw", commandTree(), agentProofs],
  ["autowithdraw-gateway", gatewayTree(), gatewayProofs],
] as const;

/** The commands that do something, by the words to type: a group alone lists. */
function commandsOf(root: Command): ReadonlyMap<string, Command> {
  const leaves = (
    command: Command,
    words: readonly string[],
  ): readonly (readonly [string, Command])[] => {
    const inner = command.commands.flatMap((one) => leaves(one, [...words, one.name()]));
    const isOwn = words.length > 0 && (inner.length === 0 || command.options.length > 0);
    return isOwn ? [[words.join(" "), command], ...inner] : inner;
  };
  return new Map(leaves(root, []));
}

/** The options in the lines of the states, those aside that their command always needs. */
function endingOptions(program: string, commands: ReadonlyMap<string, Command>): readonly string[] {
  const lines = ([gatewayStateEnds, agentStateEnds] as readonly StateEnds[]).flatMap((ends) =>
    Object.values(ends).flatMap((group) =>
      Object.values(group).flatMap(([, , , line, effect]) => [
        line,
        ...[...effect.matchAll(/`([^`]+)`/g)].map(([, one]) => one ?? ""),
      ]),
    ),
  );
  const found = lines.flatMap((line) => {
    const words = line.replace(new RegExp(`^${program} `), "");
    const [name, command] = [...commands]
      .filter(([one]) => `${words} `.startsWith(`${one} `))
      .at(-1) ?? ["", undefined];
    const options = (command?.options ?? []).filter(
      ({ mandatory, long }) => !mandatory && long !== "--reason",
    );
    return options
      .filter(({ long }) => words.split(" ").includes(long ?? ""))
      .map(({ long }) => `${name} ${long}`);
  });
  return [...new Set(found)];
}

/** A source without its comments and the titles of its tests; "" for none. */
function codeOf(name: string): string {
  const path = join(projectRoot, name);
  if (!existsSync(path)) return "";
  return readFileSync(path, "utf8")
    .replace(/\/\*[\s\S]*?\*\/|^ *\/\/.*$/gm, "")
    .replace(/\b(?:it|describe)(?:\.\w+(?:\([^)]*\))?)*\(\s*(["'`])(?:(?!\1)[^\\]|\\.)*\1/g, "");
}

/** True if a source types a command: its words behind each other, in one string or in several. */
function types(code: string, command: string): boolean {
  const [words, option] = command.split(" --");
  const between = `(?:["'\`]?,?\\s*["'\`]?)\\s*`;
  const typed = (words ?? "").split(" ").join(between);
  const rest = option === undefined ? "" : `(?:${between}|[^;]{0,80}["'\` ])--${option}`;
  return new RegExp(`["'\` ]${typed}${rest}["'\` ]`).test(code);
}

function faultOf({ command, file, kit, why }: CommandProof): string {
  if (file === "") return why.length >= 20 ? "" : "neither a test nor a reason";
  if (why !== "") return "a test and a reason";
  const test = codeOf(`test/${file}.test.ts`);
  if (kit !== undefined && !test.includes(`/${basename(kit)}"`))
    return `test/${file}.test.ts does not use ${kit}`;
  return types(kit === undefined ? test : codeOf(kit), command)
    ? ""
    : `${kit ?? `test/${file}.test.ts`} does not type it`;
}

/** The words that a bash offers behind the words of each line, whose last word has begun so. */
function offered(
  program: string,
  lines: readonly (readonly [words: string, last: string])[],
): readonly (readonly string[])[] {
  const script = `source ${join(projectRoot, "dist", "completion", program)}
while IFS='|' read -r begun typed; do
  read -r -a COMP_WORDS <<< "${program} $typed"
  COMP_WORDS+=("$begun")
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  _${program}
  printf '%s ' "\${COMPREPLY[@]}"
  printf '\\n'
done`;
  const input = lines.map(([words, last]) => `${last}|${words}\n`).join("");
  const out = execFileSync("bash", ["--norc", "-c", script], { encoding: "utf8", input });
  return out.split("\n").map((line) => line.split(" "));
}

describe.each(programs)("the commands of %s", (program, root, proofs) => {
  const commands = commandsOf(root);
  const listed = [...commands.keys(), ...endingOptions(program, commands)];

  it("the table has each command, each option that ends a state, and no other", () => {
    expect(listed.length).toBeGreaterThan(25);
    expect(proofs.map(({ command }) => command).sort()).toEqual([...listed].sort());
  });

  it("each is typed beside real processes by the test that its row names, or has a reason", () => {
    expect(
      proofs.map((row) => [row.command, faultOf(row)]).filter(([, fault]) => fault !== ""),
    ).toEqual([]);
  });

  it("each is in the manual page with what it does and each of its options", () => {
    const bare = readFileSync(join(projectRoot, "dist", "man", `${program}.1`), "utf8")
      .replaceAll("\\-", "-")
      .replaceAll("\\(dq", '"')
      .replaceAll("\\&", "");
    const sections = new Map(
      bare.split(/^\.SS "/m).map((text) => [(text.split('"')[0] ?? "").replace(/ <.*/, ""), text]),
    );
    for (const [name, command] of commands) {
      const section = sections.get(`${program} ${name}`) ?? "";
      expect(section, name).toContain(command.description());
      for (const option of command.options)
        if (!option.hidden) expect(section, name).toContain(`.B ${option.flags}`);
    }
  });

  it("each is completed, and so is each option that ends a state", () => {
    const asked = listed.map((name) => {
      const [words = "", option] = name.split(" --");
      const before = words.split(" ");
      if (option !== undefined) return { name, words, last: "--", wanted: `--${option}` };
      return { name, words: before.slice(0, -1).join(" "), last: "", wanted: before.at(-1) ?? "" };
    });
    const found = offered(
      program,
      asked.map(({ words, last }) => [words, last] as const),
    );
    for (const [at, { name, wanted }] of asked.entries()) expect(found[at], name).toContain(wanted);
  });
});

describe("the table of commands", () => {
  const file = "system/deposit-commands-process";

  it("refuses a row whose test does not type it, and one without a reason", () => {
    expect(faultOf({ command: "deposits revoke", file, why: "" })).toBe("");
    expect(faultOf({ command: "faults --give-up", file, why: "" })).toBe("");
    expect(faultOf({ command: "deposits mend", file, why: "" })).toContain("does not type it");
    expect(faultOf({ command: "deposits revoke --mend", file, why: "" })).toContain(
      "does not type it",
    );
    expect(faultOf({ command: "deposits revoke", file: "system/nothing", why: "" })).toContain(
      "does not type it",
    );
    expect(faultOf({ command: "deposits revoke", file: "", why: "" })).toBe(
      "neither a test nor a reason",
    );
    expect(
      faultOf({ command: "deposits revoke", file, kit: "test/support/pty.ts", why: "" }),
    ).toContain("does not use");
    expect(
      faultOf({ command: "deposits revoke", file, kit: "test/support/operator-world.ts", why: "" }),
    ).toContain("type it");
  });

  it("finds each option in the lines of the states", () => {
    expect(endingOptions("autowithdraw-gateway", commandsOf(gatewayTree()))).toEqual(
      expect.arrayContaining([
        "faults --retry",
        "faults --give-up",
        "deposits credit --payment",
        "callbacks redeliver --callback",
      ]),
    );
    expect(endingOptions("autowithdraw", commandsOf(commandTree()))).toEqual(
      expect.arrayContaining(["resume --network", "resume --currency", "recover --finish"]),
    );
  });
});
