/**
 * The signer's log: one JSON line for each event, to a writer that the caller passes in. No secret
 * can get into the log: values are short texts, counts and flags, and no code of this process
 * passes bytes. Lines may be lost without harm, because the ledger holds what happened. The
 * launcher relays the lines and adds a priority in front if the journal reads them.
 */
import { type AgentEvent, agentEvents } from "../../../base/events.ts";
import { formatLogLine } from "../../../base/log.ts";
import type { LedgerRecord } from "../../ledger/records.ts";

export type LogContext = Readonly<Record<string, string | number | boolean>>;
export type Log = (event: AgentEvent, message: string, context?: LogContext) => void;

/**
 * Returns a log that writes lines as docs/events.md describes, each at its event's level. Long
 * texts are cut.
 */
export function createLog(write: (line: string) => void, clock: () => number): Log {
  return (event, message, context = {}) => {
    const level = agentEvents[event].level;
    write(`${formatLogLine({ at: clock(), level, process: "signer", event, message }, context)}\n`);
  };
}

/** Logs a record that the operator should see at once: an alarm, a lock, another policy. */
export function logRecord(log: Log, record: LedgerRecord): void {
  if (record.kind === "ALARM") log("ledger-alarm", record.detail, { code: record.code });
  if (record.kind === "POLICY")
    log("policy-changed", "policy changed", { path: record.path, digest: record.digest });
  if (record.kind === "LOCKED")
    log("signer-locked", `locked: ${record.detail}`, { code: record.code });
}
