/**
 * How a reader of the protocol ended, in the words of the vectors, and every reader of a payload by
 * its name there.
 */
import { expect } from "vitest";
import { AgentError } from "../../base/fault.ts";
import {
  parseAck,
  parseChallenge,
  parseHeartbeat,
  parseHello,
  parseJob,
  parseJobs,
  parseStatement,
  parseWelcome,
} from "../../protocol/payloads.ts";
import { parseRecoveryPart } from "../../protocol/recovery.ts";
import { parseSightings, parseSightingsQuestion } from "../../protocol/sightings.ts";

/**
 * The outcome in the words of a vector: the value, or the code. A crash of any other kind is no
 * outcome.
 */
export function outcomeOf(run: () => unknown): {
  readonly outcome: string;
  readonly value?: unknown;
} {
  try {
    return { outcome: "ok", value: run() };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    expect(error.message).not.toBe("");
    return { outcome: error.code };
  }
}

/** Without prototypes, as JSON.parse would give it. */
export const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

export const payloadReaders: Readonly<Record<string, (text: string | Uint8Array) => unknown>> = {
  challenge: parseChallenge,
  hello: parseHello,
  welcome: parseWelcome,
  jobs: parseJobs,
  job: parseJob,
  ack: parseAck,
  heartbeat: parseHeartbeat,
  question: parseSightingsQuestion,
  sightings: parseSightings,
  statement: parseStatement,
  recovery: parseRecoveryPart,
};
