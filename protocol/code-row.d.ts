/** One row of the table of codes: [kind, effect, who sees it, meaning, what the operator does]. */
export type CodeRow = readonly [
    "refusal" | "fault" | "alarm",
    "none" | "done" | "unknown",
    "merchant" | "operator" | "log",
    string,
    string
];
