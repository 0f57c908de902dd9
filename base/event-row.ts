/** The form of a row in the tables of events.ts and events-gateway.ts. Pure. */
import { nameFields } from "./name-fields.ts";

export type Level = "debug" | "info" | "warn" | "error";

/** Meaning and advice are for the operator. */
type Row = readonly [processes: string, level: Level, meaning: string, advice: string];

const fields = ["processes", "level", "meaning", "advice"] as const;

/** A frozen table of events by name. */
export const eventTable = <const T extends Readonly<Record<string, Row>>>(rows: T) =>
  nameFields(fields, rows);

/** The advice of an event that asks nobody for anything. */
export const nothingToDo = "nothing";
