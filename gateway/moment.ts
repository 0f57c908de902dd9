/**
 * A moment as people read it in alarms, acts and lists: ISO 8601 in UTC. Touches nothing.
 */

/** Beyond it JavaScript has no date. A statement of an agent may name any number. */
const dateMsMax = 8.64e15;

/** @public */
export function momentOf(ms: number): string {
  return Math.abs(ms) <= dateMsMax ? new Date(ms).toISOString() : `${ms} ms after 1970`;
}
