/**
 * The signer's log: one JSON line per event on a writer that is passed in. It has no place for a
 * secret: values are short texts, counts and flags, and nothing in this process hands it bytes. May
 * be lost without harm; what happened is in the ledger. The launcher relays the lines, and puts the
 * priority before them where the journal reads.
 */
import { type AgentEvent, agentEvents } from "../../../protocol/events.ts";
import { logLine } from "../../../protocol/log.ts";
import type { LedgerRecord } from "../../ledger/records.ts";

/** @public */
export type LogContext = Readonly<Record<string, string | number | boolean>>;
/** @public */
export type Log = (event: AgentEvent, message: string, context?: LogContext) => void;

/**
 * Lines as docs/events.md has them, each at its event's level. Long texts are cut.
 * @public
 */
export function createLog(write: (line: string) => void, clock: () => number): Log {
  return (event, message, context = {}) => {
    const level = agentEvents[event][1];
    write(`${logLine({ at: clock(), level, process: "signer", event, message }, context)}\n`);
  };
}

/**
 * Says of a record what its operator should see at once: an alarm, a lock, another policy.
 * @public
 */
export function logRecord(log: Log, record: LedgerRecord): void {
  if (record.kind === "ALARM") log("ledger-alarm", record.detail, { code: record.code });
  if (record.kind === "POLICY") log("policy-changed", "policy changed", { path: record.path, digest: record.digest });
  if (record.kind === "LOCKED") log("signer-locked", `locked: ${record.detail}`, { code: record.code });
}
