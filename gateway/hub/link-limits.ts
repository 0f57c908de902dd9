/** Time limits and queue limits of a link, and the codes that close it. */

/**
 * Close codes of the link, RFC 6455 section 7.4.2. docs/protocol.md section 4 says how the agent
 * must react to each.
 */
export const closeCodes = {
  replaced: 4000, // a newer connection of the same agent took over
  refused: 4001, // unknown agent, wrong key, or unpaired
  protocol: 4002, // an invalid frame
  ledgerEpoch: 4003, // an older epoch than the granted one
  locked: 4004, // this agent's statement contradicted the database
  silent: 4005, // no hello in time, or no heartbeat
  busy: 4006, // the database did not store it; retry
  upgrade_required: 4010, // the agent's program is of an earlier version: install this one there
  behind: 4009, // the database lacks an entry of the agent; reconnect, and resend after the welcome's head
} as const;
export type CloseReason = keyof typeof closeCodes;

/** An earlier program shows its operator at most 120 characters of this. */
const upgradeWords =
  "upgrade_required: bring this server's agent to the gateway's version: node autowithdraw.js upgrade";

/** The words that go with a close: its name, and for an earlier program also the line to type. */
export function closeWords(reason: CloseReason): string {
  return reason === "upgrade_required" ? upgradeWords : reason;
}

/** Milliseconds, and bytes that wait in a connection. */
export interface LinkLimits {
  readonly helloMs: number;
  readonly heartbeatMs: number;
  readonly deadMs: number; // without a valid frame
  readonly resendMs: number; // for jobs without an answer on this connection
  readonly fillBytesMax: number; // no more jobs are queued above this
  readonly sendBytesMax: number; // above this the connection is cut
  readonly questionMs: number; // questions of an agent that come faster are dropped
  readonly seenMs: number; // between two writes of when a connected agent was last seen
}

/** docs/protocol.md, sections 4 and 5.3. */
export const linkLimits: LinkLimits = {
  helloMs: 10_000,
  heartbeatMs: 15_000,
  deadMs: 35_000,
  resendMs: 30_000,
  fillBytesMax: 256 * 1024,
  sendBytesMax: 1024 * 1024,
  questionMs: 750,
  seenMs: 60_000,
};
