/** One row of the table of codes: [kind, effect, reader, meaning, advice to the operator]. */
export type CodeRow = readonly [
  "refusal" | "fault" | "alarm",
  "none" | "done" | "unknown",
  "merchant" | "operator" | "log",
  string,
  string,
];
