/** Formats and reads times: ISO 8601 in UTC. Touches nothing. */

/** Largest time of a JavaScript date. A statement of an agent may name any number. */
const dateMsMax = 8.64e15;

export function formatTimestampUtc(ms: number): string {
  return Math.abs(ms) <= dateMsMax ? new Date(ms).toISOString() : `${ms} ms after 1970`;
}

const timePattern = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?Z)?$/;

/**
 * The milliseconds since 1970 of a day or a time in UTC; null for another text, and for a day that
 * does not exist, because Date.parse accepts 30 February as 2 March.
 */
export function parseTimestampUtc(text: string): number | null {
  const at = timePattern.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) || !new Date(at).toISOString().startsWith(text.slice(0, 10)) ? null : at;
}
