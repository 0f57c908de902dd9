/**
 * Looks whether a PostgreSQL server and one of its databases can keep this gateway's records:
 * settings that lose acknowledged commits, a standby, a pooler that drops a session's settings, a
 * role without rights and foreign tables are refused with one line. Writes nothing. Sources:
 * postgresql.org/docs/15/runtime-config-wal.html, functions-info.html, errcodes-appendix.html.
 */
import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { PostgresFault } from "../postgres/fault.ts";
import { sessionSettings } from "../postgres/limits.ts";
import type { PostgresCell, PostgresConnection } from "../postgres/messages.ts";
import { type DatabaseSummary, inspectMeta } from "./inspect.ts";
import type { Migration } from "./migrations.ts";

/** The database of a connection that may be worked with. */
export interface PostgresServerState {
  readonly serverProcess: number; // that serves the connection
  /** System identifier, timeline and tables: another one of them may lack the last commits. */
  readonly history: string;
}

/** The oldest version with which the tests run. */
const serverVersionMin = 150_000;

type Row = Readonly<Record<string, PostgresCell>>;

/** Settings without which a commit that the server acknowledged may be lost. */
const wantedOn = ["fsync", "full_page_writes"];

const stateQuestion = `SELECT pg_is_in_recovery() AS "isStandby",
  current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
  current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
  current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('default_transaction_read_only') AS "readOnly",
  (SELECT setting FROM pg_settings WHERE name = 'statement_timeout') AS timeout,
  pg_backend_pid() AS process, (SELECT system_identifier::text FROM pg_control_system()) AS system`;

/**
 * The timeline of what is written now; a standby writes nothing. A restored dump makes
 * other tables on the same timeline, whose numbers differ; 0 before there are any.
 */
const historyQuestion = `SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline,
  coalesce(to_regclass('leases')::oid::bigint, 0) AS tables`;

/** A commit waits some milliseconds for a synchronous standby; longer than so, none is there. */
const standbyWaitSeconds = 0.5;

/**
 * Answers with a row while a commit of this database waits for a synchronous standby that is away.
 * Each role sees what its own connections wait for, and all gateways have one role.
 */
export const standbyWaitQuestion = `SELECT 1 AS waits FROM pg_stat_activity
  WHERE wait_event = 'SyncRep' AND datname = current_database()
  AND date_part('epoch', clock_timestamp() - query_start) > ${standbyWaitSeconds}`;
export const standbyWaitWords =
  "waits in a commit for a synchronous standby of the server, and none of them answers";

/**
 * Looks at the server behind a new connection.
 * @throws AgentError GATEWAY_STORE_AWAY for a standby, which may become the primary;
 * GATEWAY_STORE_UNSAFE for a server that would lose commits, or a pooler in between
 */
export function checkPostgresServer(
  connection: PostgresConnection,
  name: string,
): PostgresServerState {
  const row = askOne(connection, stateQuestion);
  const refuse = (code: Code, what: string): never => {
    throw new AgentError(code, "none", `${name} ${what}`, { path: name });
  };
  if (Number(row.isStandby) === 1) refuse("GATEWAY_STORE_AWAY", "is a standby, not the primary");
  if (row.readOnly === "on")
    refuse("GATEWAY_STORE_UNSAFE", "has default_transaction_read_only on, so it takes no writes");
  for (const setting of wantedOn)
    if (row[setting] !== "on")
      refuse("GATEWAY_STORE_UNSAFE", `has ${setting} ${row[setting]}: set it to on`);
  if (row.synchronous_commit === "off")
    refuse("GATEWAY_STORE_UNSAFE", "has synchronous_commit off: set it to on");
  if (row.encoding !== "UTF8")
    refuse("GATEWAY_STORE_UNSAFE", `has the encoding ${row.encoding}: make the database with UTF8`);
  if (Number(row.version) < serverVersionMin)
    refuse("GATEWAY_STORE_UNSAFE", `runs version ${row.version}: this gateway wants 15 or later`);
  if (row.timeout !== sessionSettings.statement_timeout)
    refuse(
      "GATEWAY_STORE_UNSAFE",
      "did not keep the session's settings: a pooler lies in between; name the server itself",
    );
  const { timeline, tables } = askOne(connection, historyQuestion);
  return { serverProcess: Number(row.process), history: `${row.system}/${timeline}/${tables}` };
}

/** A question for several rights at once asks for any of them, so each is asked alone. */
const closedTableQuestion = `SELECT min(tablename) AS closed
  FROM pg_tables, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS wanted
  WHERE schemaname = current_schema()
  AND NOT has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), wanted)`;

/**
 * The key and the version of the tables behind a connection.
 * @throws AgentError GATEWAY_STORE_MISSING for a database without this program's tables,
 * GATEWAY_STORE_ACCESS for a role that may not use all of them, GATEWAY_STORE_VERSION,
 * GATEWAY_STORE_AWAY for a connection that is lost meanwhile
 */
export function inspectPostgres(
  connection: PostgresConnection,
  name: string,
  steps?: readonly Migration[],
): DatabaseSummary {
  try {
    return inspectTables(connection, name, steps);
  } catch (cause) {
    throw unreachableFault(name, cause);
  }
}

function inspectTables(
  connection: PostgresConnection,
  name: string,
  steps?: readonly Migration[],
): DatabaseSummary {
  const { found } = askOne(connection, "SELECT to_regclass('meta') IS NOT NULL AS found");
  if (Number(found) !== 1) {
    const words = `${name} has no tables of a gateway: make them with init --database URL`;
    throw new AgentError("GATEWAY_STORE_MISSING", "none", words, { path: name });
  }
  const { closed } = askOne(connection, closedTableQuestion);
  if (closed !== null) {
    const words = `the role of ${name} may not read and write the table ${closed}: make it the owner`;
    throw new AgentError("GATEWAY_STORE_ACCESS", "none", words, { path: name });
  }
  const [answer] = connection.ask([{ text: "SELECT name, value FROM meta", values: [] }]);
  const meta = new Map(answer?.rows.map(({ name: key, value }) => [String(key), String(value)]));
  return inspectMeta(name, meta, steps);
}

/** Whether a commit of this database waits for a synchronous standby now. */
export function waitsForStandby(connection: Pick<PostgresConnection, "ask">): boolean {
  const [answer] = connection.ask([{ text: standbyWaitQuestion, values: [] }]);
  return answer?.rows.length !== 0;
}

function askOne(connection: PostgresConnection, text: string): Row {
  return connection.ask([{ text, values: [] }])[0]?.rows[0] ?? {};
}

/** Refused by its rules of entry: the role, its password, or a line of pg_hba.conf. */
const refusedStates = ["28P01", "28000", "42501"];
const unknownDatabase = "3D000";
const wordsOfPooler = /unsupported startup parameter/;
const wordsOfNoTls = /before secure TLS connection/;

/** The fault of a connection that was not made, or was lost before its first transaction. */
export function unreachableFault(name: string, cause: unknown): unknown {
  if (!(cause instanceof PostgresFault)) return cause;
  const { sqlState, message } = cause;
  const tlsAdvice = wordsOfNoTls.test(message)
    ? "; a server without TLS needs ssl = on and a certificate, or sslmode=disable on a line that nobody else reads"
    : "";
  const [code, words] = refusedStates.includes(sqlState)
    ? (["GATEWAY_STORE_ACCESS", `refuses this gateway: ${message}`] as const)
    : sqlState === unknownDatabase
      ? (["GATEWAY_STORE_MISSING", `is not there: ${message}`] as const)
      : wordsOfPooler.test(message)
        ? ([
            "GATEWAY_STORE_UNSAFE",
            `is behind a pooler: ${message}; name the server itself`,
          ] as const)
        : (["GATEWAY_STORE_AWAY", `cannot be reached: ${message}${tlsAdvice}`] as const);
  return new AgentError(code, "none", `${name} ${words}`, { path: name }, { cause });
}
