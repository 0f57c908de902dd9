/** Options that many commands share: the state folder, JSON, the places of encKey. */
import { Command } from "commander";
import { readDescriptor } from "./command-of.ts";
import { configOptionWords, stateOptionWords } from "./default-words.ts";
import type { Terminal } from "./terminal.ts";

export interface CommonOptions {
  readonly state?: string;
  readonly json?: boolean;
}

/** Runs a command, and makes an exit code of its result or of its error. */
export type CommandRunner = (
  act: (terminal: Terminal) => Promise<number> | number,
  isJson: boolean,
) => Promise<void>;

/** A command that works on a state folder. */
export function createStateCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option("--state <folder>", stateOptionWords())
    .option("--json", "print one line of JSON");
}

/** A command that opens data sealed under encKey. */
export function addEncKeyOptions(command: Command): Command {
  return command
    .option("--config <file>", configOptionWords("configuration, where encKey may stand"))
    .option("--enc-key-file <file>", "read the encKey in use from this file, mode 0600")
    .option("--enc-key-fd <number>", "read it from this open descriptor", readDescriptor);
}
