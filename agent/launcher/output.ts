/**
 * The launcher's output: plain lines on a terminal, else the form of docs/events.md. If the journal
 * reads, a priority stands before each line, also of signer and courier. Pure: `write` is passed
 * in.
 */
import { type AgentEvent, agentEvents } from "../../base/events.ts";
import { formatLogLine, priorityOf } from "../../base/log.ts";
import { visibleText } from "../../base/visible.ts";
import { type ExitVerdict, formatExitVerdict } from "./exit-status.ts";

type EventsOf<P extends string> = {
  [N in AgentEvent]: (typeof agentEvents)[N]["processes"] extends P ? N : never;
}[AgentEvent];

export type LauncherEvent = EventsOf<"crypto">;

export interface LauncherOutput {
  /** Reports an event, at the level of the table. */
  say(event: LauncherEvent, message: string): void;
  /**
   * Reports why `crypto` ends: two lines for an operator or a script, one line of the log if the
   * journal reads.
   */
  verdict(verdict: ExitVerdict): void;
  /** Passes on a line of a child. Without a known level the journal treats it as an error. */
  relayLine(line: string, level: unknown): void;
}

export interface LauncherOutputOptions {
  readonly write: (text: string) => void;
  readonly clock: () => number; // Unix milliseconds
  readonly stderr: "terminal" | "journal" | "other";
}

export function createLauncherOutput({
  write,
  clock,
  stderr,
}: LauncherOutputOptions): LauncherOutput {
  const relayLine = (line: string, level: unknown): void => {
    write(`${stderr === "journal" ? priorityOf(level) : ""}${line}\n`);
  };
  const log = (
    event: LauncherEvent,
    message: string,
    context?: Readonly<Record<string, unknown>>,
  ): void => {
    const level = agentEvents[event].level;
    relayLine(
      formatLogLine({ at: clock(), level, process: "crypto", event, message }, context),
      level,
    );
  };
  return {
    say(event, message) {
      if (stderr === "terminal") write(`crypto: ${visibleText(message)}\n`);
      else log(event, message);
    },
    verdict(verdict) {
      const { code, message, hint } = verdict;
      if (stderr === "journal") log("command-fault", message, { code, hint });
      else write(formatExitVerdict(verdict));
    },
    relayLine,
  };
}
