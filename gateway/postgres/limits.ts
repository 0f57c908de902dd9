/**
 * How long a statement may take. The caller sleeps until the answer is there, so each limit is the
 * time in which nothing else is served. Source: postgresql.org/docs/15/runtime-config-client.html.
 */

/** To open a connection. */
export const connectMs = 5_000;
/** The server ends a statement after it. */
export const statementMs = 5_000;
/** For the transaction of another process; only the first write that meets one waits so long. */
export const lockWaitMs = 1_000;
/** For an answer: the server's own limits end a statement earlier, so the connection is lost. */
export const answerMs = statementMs + 2_000;

/** For all statements of an upgrade of the tables, while no gateway serves. */
export const upgradeMs = 3_600_000;

/**
 * For a process that stands still within a transaction, which holds the lease's row; shorter than a
 * lease, so that the next gateway need not wait for the row (store/leases.ts).
 */
const lockedMs = 5_000;

/** The settings of a session. */
export const sessionSettings = {
  application_name: "autowithdraw",
  statement_timeout: String(statementMs),
  lock_timeout: String(lockWaitMs),
  idle_in_transaction_session_timeout: String(lockedMs),
  default_transaction_isolation: "read committed",
  client_encoding: "UTF8",
} as const;
