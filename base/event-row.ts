/** The form of a row in the tables of events.ts and events-gateway.ts. Pure. */

export type Level = "debug" | "info" | "warn" | "error";

/** Meaning and advice are for the operator. */
type Row = readonly [processes: string, level: Level, meaning: string, advice: string];

/** A frozen table of events by name. */
export const eventTable = <const T extends Readonly<Record<string, Row>>>(rows: T): Readonly<T> =>
  Object.freeze(rows);

/** The advice of an event that asks nobody for anything. */
export const nothing = "nothing";
