/**
 * The process of `pair`, which holds mnemonic, encKey and apiKey: no package is in it but those
 * that the threat model names (scripts/bundle.js). It reads its options by itself.
 */
import "../../base/no-inspector.ts";
import { helpOf, readCommandLine } from "../../agent/launcher/command-line.ts";
import {
  exitCodes,
  exitVerdictOfError,
  formatExitVerdict,
} from "../../agent/launcher/exit-status.ts";
import { programVersion } from "../../base/version.ts";
import { formatTerminalSafeJson } from "../../base/visible.ts";
import { processTerminal } from "../terminal.ts";
import { createPairCommandTable } from "./options.ts";
import type { PairOptions } from "./pair.ts";
import { runPair } from "./run.ts";

/** Resolves with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const terminal = processTerminal();
  try {
    const table = createPairCommandTable();
    const asked = readCommandLine(table, argv);
    if (asked.is === "options") return await runPair(asked.options as PairOptions, terminal);
    terminal.out(asked.is === "help" ? helpOf(table) : `${programVersion}\n`);
    return exitCodes.fine;
  } catch (error) {
    const verdict = exitVerdictOfError(error);
    const { code, message, hint } = verdict;
    if (argv.includes("--json"))
      terminal.out(`${formatTerminalSafeJson({ ok: false, code, message, hint })}\n`);
    terminal.err(formatExitVerdict(verdict, "pair"));
    return verdict.exitCode;
  }
}
