/**
 * The one lease of a database that several gateways share: who has it is the active gateway, and
 * every other one is a standby. The database's clock alone counts its time. Each holder has a
 * number of its own, which every transaction of that gateway names (postgres-store.ts), so a holder
 * that slept for long changes no row. Each gateway also keeps a row that shows it to a person.
 * These two tables are PostgreSQL's alone; a database of SQLite has one gateway, by a lock on a
 * file (owner.ts).
 */
import { standbyWaitQuestion } from "./postgres-server.ts";
import { requireNewestSchema } from "./schema-check.ts";
import type { Database, Store } from "./store.ts";

/** A lease lasts so long without being renewed. */
export const leaseMs = 10_000;
/** The holder renews it, and a standby looks at it, this often. */
export const heartbeatMs = 2_500;
/** The row of a gateway that has not been seen for so long is forgotten. */
const goneMs = 7 * 24 * 60 * 60 * 1000;

const now = "CAST(date_part('epoch', clock_timestamp()) * 1000 AS INTEGER)";

/** The lease as the database's clock sees it now. */
export interface LeaseState {
  readonly run: string; // run of the gateway that has it; "" none
  readonly token: number; // rises with each holder
  readonly leftMs: number; // 0 or less: free
}

/** Answers with a LeaseState. The numbers rise from 0, which is nobody's. */
export const leaseStateSql = `SELECT holder AS run, token, until - ${now} AS leftMs FROM leases WHERE name = 'gateway'`;

export function readLease(database: Database): LeaseState {
  return database.get<LeaseState>(leaseStateSql) ?? { run: "", token: 0, leftMs: 0 };
}

/** The run of the active gateway; null if there is none. */
export function readActiveRun(database: Database): string | null {
  const { run, leftMs } = readLease(database);
  return leftMs > 0 && run !== "" ? run : null;
}

/**
 * Takes the lease for `run`, if no other gateway has it. `name` is the database's, for messages.
 * @returns its number, or null
 * @throws AgentError GATEWAY_STORE_VERSION if a later gateway has upgraded the tables meanwhile
 */
export function takeLease(store: Store, run: string, name: string): number | null {
  return store.write((database) => {
    const metaOf = (key: string): string =>
      database.get<{ value: string }>("SELECT value FROM meta WHERE name = ?", key)?.value ?? "";
    requireNewestSchema(name, metaOf);
    const { token, leftMs } = readLease(database);
    if (leftMs > 0) return null;
    const sql = `UPDATE leases SET holder = ?, token = ?, until = ${now} + ? WHERE name = 'gateway'`;
    database.run(sql, run, token + 1, leaseMs);
    return token + 1;
  });
}

/** Harmless to call twice. The caller's transaction names the number. */
export function renewLease(database: Database): void {
  database.run(`UPDATE leases SET until = ${now} + ? WHERE name = 'gateway'`, leaseMs);
}

/** Gives the lease back, so that a standby takes over at once. Harmless to call twice. */
export function giveUpLease(database: Database): void {
  database.run("UPDATE leases SET until = 0 WHERE name = 'gateway'");
}

/** A gateway as it shows itself to the others and to a person. */
export interface GatewayPresence {
  readonly name: string; // machine and port
  readonly run: string;
  readonly version: string;
  readonly digest: string; // digest of the settings that all gateways must share
  readonly state: "active" | "standby";
}

export interface ShownGateway extends Omit<GatewayPresence, "state"> {
  readonly state: "active" | "standby" | "was active"; // by the lease, and not by its own word
  readonly heartbeatAgeMs: number; // since its newest heartbeat, by the database's clock
}

/** Writes the gateway's row, and forgets those of gateways that have gone. */
export function notePresence(database: Database, gateway: GatewayPresence): void {
  const { name, run, version, digest, state } = gateway;
  database.run(
    `INSERT INTO gateways (name, run, version, digest, state, heartbeatAt) VALUES (?, ?, ?, ?, ?, ${now})
     ON CONFLICT (name) DO UPDATE SET run = excluded.run, version = excluded.version,
       digest = excluded.digest, state = excluded.state, heartbeatAt = excluded.heartbeatAt`,
    ...[name, run, version, digest, state],
  );
  database.run(`DELETE FROM gateways WHERE heartbeatAt < ${now} - ?`, goneMs);
}

/** Forgets the gateway's row, at its clean end. Harmless to call twice. */
export function forgetPresence(database: Database, name: string, run: string): void {
  database.run("DELETE FROM gateways WHERE name = ? AND run = ?", name, run);
}

/** All gateways that have been seen lately, by name. */
export function listPresences(database: Database): readonly ShownGateway[] {
  const sql = `SELECT name, run, version, digest, ${now} - heartbeatAt AS heartbeatAgeMs,
    CASE WHEN run = (SELECT holder FROM leases WHERE until > ${now}) THEN 'active'
      WHEN state = 'active' THEN 'was active' ELSE state END AS state
    FROM gateways ORDER BY name`;
  return database.all<ShownGateway>(sql);
}

/** Whether a commit of this database waits for a synchronous standby now. */
export const isStandbyAwaited = (database: Database): boolean =>
  database.get(standbyWaitQuestion) !== undefined;

/** A PostgreSQL standby as its primary sees it. */
export interface ReplicaState {
  readonly name: string; // application_name
  readonly mode: string; // sync, async, quorum, potential
  readonly state: string;
  readonly lagBytes: number | null; // null where the role may not see it (grant pg_monitor)
}

/** The database's own standbys, as far as the role may see them. */
export function listReplicas(database: Database): readonly ReplicaState[] {
  return database.all<ReplicaState>(
    `SELECT application_name AS name, coalesce(sync_state, '') AS mode, coalesce(state, '') AS state,
       CAST(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) AS INTEGER) AS lagBytes
     FROM pg_stat_replication ORDER BY application_name`,
  );
}

/** Bytes of the database on the server's disk. */
export function measureDatabaseBytes(database: Database): number {
  const sql = "SELECT pg_database_size(current_database()) AS bytes";
  return database.get<{ readonly bytes: number }>(sql)?.bytes ?? 0;
}

/** The server's history in which this database was last worked with. */
export interface KnownHistory {
  readonly history: string; // system identifier and timeline; "" before the first start
  readonly sinceMs: number; // Unix milliseconds
}

export function readHistory(database: Database): KnownHistory {
  const sql = "SELECT value FROM meta WHERE name = 'history'";
  const text = database.get<{ readonly value: string }>(sql)?.value;
  if (text === undefined) return { history: "", sinceMs: 0 };
  return JSON.parse(text) as KnownHistory;
}

/** Harmless to call twice. */
export function keepHistory(database: Database, known: KnownHistory): void {
  database.run(
    "INSERT INTO meta (name, value) VALUES ('history', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    JSON.stringify(known),
  );
}
