/**
 * A command of a process that parses its own options, for help, manual and completion of the whole.
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { type CommandTable, formatOptionFlags } from "../agent/launcher/command-line.ts";

/** The number of an open descriptor. */
export function readDescriptor(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("A descriptor is a small number.");
  return Number(text);
}

export function commandOf({ name, words, options }: CommandTable): Command {
  const command = new Command(name).description(words);
  for (const row of options) {
    const option = new Option(formatOptionFlags(row), row.words);
    if (row.choices !== undefined) option.choices(row.choices);
    if (row.byDefault !== undefined) option.default(row.byDefault);
    if (row.isDescriptor === true) option.argParser(readDescriptor);
    command.addOption(option);
  }
  return command;
}
