/**
 * Reasons for which a fault passes by itself: no person has to change a setting or a file of the
 * product before the same start or the same write works. Disk: no room, or it takes no writes now.
 * Marks: the file of deposit addresses beside the database takes no writes now. Listener: another
 * process has the port or socket, or the address is not this machine's yet. Owner: another process
 * runs on the same state, and may be about to end. Held: another process holds the file for a
 * moment. Names: a name server does not answer. Nodes: what other machines answer, or do not.
 */
export type PassingCause = "disk" | "marks" | "listener" | "owner" | "held" | "names" | "nodes";

/**
 * One row of the table of codes: [kind, effect, reader, meaning, advice to the operator, passes].
 */
export type CodeRow = readonly [
  "refusal" | "fault" | "alarm",
  "none" | "done" | "unknown",
  "merchant" | "operator" | "log",
  string,
  string,
  PassingCause?,
];
