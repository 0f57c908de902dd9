/**
 * A word that was meant as an option and was taken as the value of the option before it, as the
 * parser of commands does where a value is left out. So no value begins with two dashes, not even
 * behind an equals sign. Pure.
 */

/** The parts of a parsed command that are looked at. */
interface ParsedCommand {
  readonly options: readonly { readonly flags: string; attributeName(): string }[];
  readonly parent: ParsedCommand | null; // the group, which may take the same option
  opts(): Readonly<Record<string, unknown>>;
}

/** Returns the problem, e.g. `--payment needs a value, not --reason`; null if there is none. */
export function findSwallowedOption(command: ParsedCommand): string | null {
  const values = command.opts();
  for (const option of command.options) {
    const given = values[option.attributeName()];
    const taken = (Array.isArray(given) ? given : [given]).find(
      (one) => typeof one === "string" && one.startsWith("--"),
    );
    if (taken !== undefined) return `${option.flags.split(" ")[0]} needs a value, not ${taken}`;
  }
  return command.parent === null ? null : findSwallowedOption(command.parent);
}
