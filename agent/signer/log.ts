/**
 * The signer's log: one JSON line per event on a writer that is passed in. It has no place for a secret: values are short texts,
 * counts and flags, and nothing in this process hands it bytes. May be lost without harm; what happened is in the ledger.
 */

/** @public */
export type LogLevel = "info" | "warn" | "error";
/** @public */
export type LogContext = Readonly<Record<string, string | number | boolean>>;
/** @public */
export type Log = (level: LogLevel, message: string, context?: LogContext) => void;

const textMax = 512;

/**
 * Lines of `{at, level, process, message, …}`. Long texts are cut.
 * @public
 */
export function createLog(write: (line: string) => void, clock: () => number): Log {
  return (level, message, context = {}) => {
    const fields = Object.entries(context).map(([name, value]) => [
      name,
      typeof value === "string" ? value.slice(0, textMax) : value,
    ]);
    const at = new Date(clock()).toISOString();
    write(`${JSON.stringify({ ...Object.fromEntries(fields), at, level, process: "signer", message })}\n`);
  };
}
