/**
 * The help of a program with many commands: they stand in groups, each under a heading. Pure; the
 * package that reads the command line is passed in, and each shape here is a part of its own.
 */

/** Headings in their order, each with the names of its commands in their order. */
export type CommandGroups = readonly (readonly [heading: string, names: readonly string[]])[];

interface NamedCommand {
  name(): string;
}

/** The package's formatter of help, as far as groups use it. */
interface Formatter<C extends NamedCommand> {
  formatHelp(command: C, formatter: never): string;
  formatItem(term: string, width: number, description: string, formatter: never): string;
  longestSubcommandTermLength(command: C, formatter: never): number;
  subcommandDescription(command: C): string;
  subcommandTerm(command: C): string;
  visibleCommands(command: C): C[];
}

/**
 * A `formatHelp` that shows the commands of `root` under the headings of `groups`. A command that
 * no group names stands at the end, so none is hidden.
 */
export function groupedHelp<C extends NamedCommand>(
  root: C,
  groups: CommandGroups,
): (command: C, formatter: Formatter<C>) => string {
  return (command, formatter) => {
    // An own property shadows the method of the class, which prints all commands as one list.
    const plain = Object.getPrototypeOf(formatter) as Formatter<C>;
    const asGiven = (given: Formatter<C>): string =>
      plain.formatHelp.call(formatter, command, given as never);
    if (command !== root) return asGiven(formatter);
    const bare = Object.assign(Object.create(formatter) as Formatter<C>, {
      visibleCommands: () => [],
    });
    return `${asGiven(bare)}\n${listed(command, formatter, groups)}`;
  };
}

function listed<C extends NamedCommand>(
  root: C,
  formatter: Formatter<C>,
  groups: CommandGroups,
): string {
  const width = formatter.longestSubcommandTermLength(root, formatter as never);
  const visible = formatter.visibleCommands(root);
  const grouped = new Set(groups.flatMap(([, names]) => names));
  const rest = visible.map((command) => command.name()).filter((name) => !grouped.has(name));
  const item = (command: C): string =>
    formatter.formatItem(
      formatter.subcommandTerm(command),
      width,
      formatter.subcommandDescription(command),
      formatter as never,
    );
  return [...groups, ["Help", rest] as const]
    .map(([heading, names]) => {
      const own = names.flatMap((name) => visible.filter((command) => command.name() === name));
      return own.length === 0 ? "" : `${heading}:\n${own.map(item).join("\n")}\n`;
    })
    .filter((text) => text !== "")
    .join("\n");
}
