/** An option whose value was left out never takes the next option for it, in either program. */
import type { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { commandTree } from "../../cli/main.ts";
import { buildGatewayCommands as gatewayTree } from "../../gateway/command.ts";

const programs = [
  ["autowithdraw", commandTree],
  ["autowithdraw-gateway", gatewayTree],
] as const;

/** The commands that do something, by the words to type. */
function leavesOf(command: Command, words: readonly string[] = []): readonly (readonly string[])[] {
  const inner = command.commands.flatMap((one) => leavesOf(one, [...words, one.name()]));
  return inner.length === 0 ? [words] : inner;
}

function silence(command: Command): void {
  command
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });
  for (const child of command.commands) silence(child);
}

/** Whether the command's act began when the line was typed. */
async function acts(
  make: () => Command,
  words: readonly string[],
  typed: (leaf: Command) => readonly string[],
): Promise<boolean> {
  const root = make();
  silence(root);
  const leaf = words.reduce(
    (command, name) => command.commands.find((one) => one.name() === name) as Command,
    root,
  );
  let hasBegun = false;
  leaf.action(() => {
    hasBegun = true;
  });
  await root.parseAsync([...words, ...typed(leaf)], { from: "user" }).catch(() => {});
  return hasBegun;
}

const isOpenText = (option: Option): boolean =>
  option.argChoices === undefined && option.parseArg === undefined;

/** The words of a line with this option, and all else that the command needs. */
function lineWith(leaf: Command, long: string, value: string): readonly string[] {
  const others = leaf.options.filter((one) => one.mandatory && one.long !== long);
  return [
    ...leaf.registeredArguments.filter(({ required }) => required).map(() => "x"),
    ...others.flatMap((one) => [one.long ?? "", ...(one.required ? ["x"] : [])]),
    ...[long, value],
  ];
}

describe.each(programs)("%s", (_, make) => {
  const options = leavesOf(make()).flatMap((words) => {
    const leaf = words.reduce(
      (command, name) => command.commands.find((one) => one.name() === name) as Command,
      make(),
    );
    return leaf.options
      .filter(({ required }) => required)
      .map((option) => [words, option] as const);
  });

  it("has options with a value", () => {
    expect(options.length).toBeGreaterThan(20);
  });

  it("does nothing where a value was left out before another option", async () => {
    const begun: string[] = [];
    for (const [words, { long }] of options)
      if (await acts(make, words, (leaf) => lineWith(leaf, long ?? "", "--json")))
        begun.push(`${words.join(" ")} ${long}`);
    expect(begun).toEqual([]);
  });

  it("acts where the value is there", async () => {
    const open = options.filter(([, option]) => isOpenText(option));
    expect(open.length).toBeGreaterThan(10);
    const idle: string[] = [];
    for (const [words, { long }] of open)
      if (!(await acts(make, words, (leaf) => lineWith(leaf, long ?? "", "x"))))
        idle.push(`${words.join(" ")} ${long}`);
    expect(idle).toEqual([]);
  });
});
