/** `pair` among the other commands; alone it is a process of its own (`main.ts`). */
import type { Command } from "commander";
import { commandOf } from "../command-of.ts";
import type { Terminal } from "../terminal.ts";
import { createPairCommandTable } from "./options.ts";
import type { PairOptions } from "./pair.ts";
import { runPair } from "./run.ts";

/** The command. `run` gets its action, so the caller turns errors into exit codes. */
export function pairCommand(
  run: (act: (terminal: Terminal) => Promise<number>, isJson: boolean) => Promise<void>,
): Command {
  return commandOf(createPairCommandTable()).action((options: PairOptions) =>
    run((terminal) => runPair(options, terminal), options.json === true),
  );
}
