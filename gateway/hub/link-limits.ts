/**
 * How long each part of a link may take, how much may wait in it, and the codes it is closed with.
 */

/**
 * Close codes of the link, RFC 6455 section 7.4.2; docs/protocol.md section 4 says what each asks
 * of the agent.
 */
export const closeCodes = {
  replaced: 4000, // a newer connection of the same agent took over
  refused: 4001, // unknown agent, wrong key, or released
  protocol: 4002, // a frame that cannot be
  epoch: 4003, // an older epoch than the one granted
  locked: 4004, // this agent's word contradicted the database
  silent: 4005, // no hello in time, or no beat
  busy: 4006, // the database did not take it: come again
  behind: 4009, // the database lacks what the agent has: reconnect, and resend after the welcome's echo
} as const;
export type CloseReason = keyof typeof closeCodes;

/** Milliseconds, and bytes waiting in a connection. */
export interface LinkLimits {
  readonly helloMs: number;
  readonly beatMs: number;
  readonly deadMs: number; // without a valid frame
  readonly resendMs: number; // for jobs that found no answer on this connection
  readonly fillBytesMax: number; // no more jobs are queued above this
  readonly sendBytesMax: number; // above this the connection is cut
}

/** docs/protocol.md, sections 4 and 5.3. */
export const linkLimits: LinkLimits = {
  helloMs: 10_000,
  beatMs: 15_000,
  deadMs: 35_000,
  resendMs: 30_000,
  fillBytesMax: 256 * 1024,
  sendBytesMax: 1024 * 1024,
};
