/**
 * How the launcher speaks: plain lines on a terminal, else the one form of docs/events.md; with priorities where the journal reads,
 * also before what signer and courier log through it. Pure: where its lines go is passed in.
 */
import { type AgentEvent, agentEvents } from "../../protocol/events.ts";
import { logLine, priorityOf } from "../../protocol/log.ts";
import { type Verdict, verdictLines } from "./verdict.ts";

type Of<P extends string> = { [N in AgentEvent]: (typeof agentEvents)[N][0] extends P ? N : never }[AgentEvent];

/** @public */
export type LauncherEvent = Of<"crypto">;

/** @public */
export interface Speech {
  say(event: LauncherEvent, message: string): void;
  /** The reason of an end: two lines for a person or a script; one line of the log where the journal reads. */
  verdict(verdict: Verdict): void;
  /** A line of a child; one without a level is none of ours, and so counts as an error. */
  relayLine(line: string, level: unknown): void;
}

/** @public */
export interface SpeechOptions {
  readonly write: (text: string) => void;
  readonly clock: () => number; // Unix milliseconds
  readonly stderr: "terminal" | "journal" | "other";
}

/** @public */
export function createSpeech({ write, clock, stderr }: SpeechOptions): Speech {
  const relayLine = (line: string, level: unknown): void => {
    write(`${stderr === "journal" ? priorityOf(level) : ""}${line}\n`);
  };
  const log = (event: LauncherEvent, message: string, context?: Readonly<Record<string, unknown>>): void => {
    const level = agentEvents[event][1];
    relayLine(logLine({ at: clock(), level, process: "crypto", event, message }, context), level);
  };
  return {
    say(event, message) {
      if (stderr === "terminal") write(`crypto: ${message}\n`);
      else log(event, message);
    },
    verdict(verdict) {
      const { code, message, hint } = verdict;
      if (stderr === "journal") log("command-fault", message, { code, hint });
      else write(verdictLines(verdict));
    },
    relayLine,
  };
}
