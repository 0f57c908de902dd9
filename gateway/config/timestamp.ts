/** Formats a time for alarms, acts and lists: ISO 8601 in UTC. Touches nothing. */

/** Largest time of a JavaScript date. A statement of an agent may name any number. */
const dateMsMax = 8.64e15;

export function momentOf(ms: number): string {
  return Math.abs(ms) <= dateMsMax ? new Date(ms).toISOString() : `${ms} ms after 1970`;
}
