/**
 * Brings the tables of an earlier version in PostgreSQL to this program's, by the same steps as
 * those of SQLite: all in one transaction, while no gateway is active. A gateway of the earlier
 * version that sleeps meanwhile changes no row afterwards, because its number of the lease ends
 * here. Source: docs/scale.md, Upgrade.
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { PostgresFault } from "../postgres/fault.ts";
import { upgradeMs } from "../postgres/limits.ts";
import type { PostgresAsk, PostgresCell, PostgresConnection } from "../postgres/messages.ts";
import { translateStep } from "../postgres/schema.ts";
import { leaseStateSql } from "./leases.ts";
import {
  checksOf,
  digestOfVersion,
  type Migration,
  migrations,
  statementsOf,
} from "./migrations.ts";
import { inspectPostgres, unreachableFault } from "./postgres-server.ts";
import { askOf } from "./postgres-store.ts";

export interface PostgresUpgradeOptions {
  readonly connection: PostgresConnection;
  readonly name: string; // the database's name, for messages
  readonly log: GatewayLog;
  /** All steps from the first version on; other ones than this program's in tests alone. */
  readonly steps?: readonly Migration[];
}

type Row = Readonly<Record<string, PostgresCell>>;

/** Classes of the server's errors that say: the statement does not fit these tables. */
const misfitClasses: readonly string[] = ["22", "23", "42"];
const insufficientPrivilege = "42501";
/** Another process holds the lease's row or a table: lock_not_available, query_canceled. */
const heldStates: readonly string[] = ["55P03", "57014"];

/**
 * Upgrades the tables behind a connection. Does nothing to tables of this version. Harmless to call
 * twice.
 * @throws AgentError GATEWAY_STORE_OLDER while another gateway is active, GATEWAY_STORE_UPGRADE for
 * a step that does not fit and was taken back, GATEWAY_STORE_BUSY, GATEWAY_STORE_AWAY
 */
export function upgradePostgres(options: PostgresUpgradeOptions): void {
  const { connection, name, log } = options;
  const ask = (text: string): readonly Row[] =>
    connection.ask([{ text, values: [] }], upgradeMs)[0]?.rows ?? [];
  try {
    connection.ask([
      { text: "BEGIN", values: [] },
      { text: `SET LOCAL statement_timeout = ${upgradeMs}`, values: [] },
    ]);
    const done = upgradeInside(options, ask);
    // Within the time of a usual commit, which may wait for a synchronous standby that is away.
    connection.ask([{ text: "COMMIT", values: [] }]);
    for (const { version, name: words } of done)
      log.info(
        { event: "database-upgraded", version, name: words },
        `the database's tables have version ${version} now: ${words}`,
      );
  } catch (error) {
    throw faultAfter(error, name, () => ask("ROLLBACK"));
  }
}

/** Takes the steps, and returns them; none if another start came first. */
function upgradeInside(
  { connection, name, steps = migrations }: PostgresUpgradeOptions,
  ask: (text: string) => readonly Row[],
): readonly Migration[] {
  ask("SELECT 1 FROM leases WHERE name = 'gateway' FOR UPDATE");
  const { version } = inspectPostgres(connection, name, steps);
  if (version === steps.length) return [];
  refuseWhileActive(ask(translated(leaseStateSql))[0] ?? {}, name, version);
  for (const step of steps.slice(version)) runStep(step, name, ask);
  const meta = (key: string, value: string): PostgresAsk =>
    askOf("UPDATE meta SET value = ? WHERE name = ?", [value, key]);
  connection.ask([
    meta("schema", String(steps.length)),
    meta("schemaDigest", digestOfVersion(steps.length, steps)),
    askOf("UPDATE leases SET holder = '', token = token + 1, until = 0 WHERE name = 'gateway'", []),
  ]);
  return steps.slice(version);
}

const translated = (sql: string): string => askOf(sql, []).text;

/** @throws AgentError GATEWAY_STORE_OLDER */
function refuseWhileActive({ run, leftMs }: Row, name: string, found: number): void {
  if (Number(leftMs) <= 0) return;
  const message = `${name} has tables of version ${found}, and the gateway ${run} of that version is active: stop all gateways of that version; the next start of this gateway upgrades the tables`;
  throw new AgentError("GATEWAY_STORE_OLDER", "none", message, { path: name, found });
}

/** @throws AgentError GATEWAY_STORE_UPGRADE */
function runStep(
  { version, name: words, sql }: Migration,
  name: string,
  ask: (text: string) => readonly Row[],
): void {
  const misfit = (problem: string, cause?: unknown): AgentError =>
    new AgentError(
      "GATEWAY_STORE_UPGRADE",
      "none",
      `the step to version ${version} (${words}) does not fit ${name}: ${problem}; it was taken back`,
      { path: name, version },
      { cause },
    );
  try {
    for (const text of translateStep(statementsOf(sql))) ask(text);
    for (const question of checksOf(sql))
      if (Number(Object.values(ask(translated(question))[0] ?? {})[0]) !== 1)
        throw misfit(`this is not so: ${question}`);
  } catch (error) {
    if (!(error instanceof PostgresFault) || error.sqlState === insufficientPrivilege) throw error;
    throw misfitClasses.includes(error.sqlState.slice(0, 2)) ? misfit(error.message, error) : error;
  }
}

/** The fault of an upgrade that was not made; takes it back where the connection is still there. */
function faultAfter(error: unknown, name: string, rollBack: () => void): unknown {
  if (error instanceof PostgresFault && error.isLost) return unreachableFault(name, error);
  rollBack();
  if (!(error instanceof PostgresFault)) return error;
  if (!heldStates.includes(error.sqlState)) return unreachableFault(name, error);
  const message = `${name} is held by another process, so its tables were not upgraded: ${error.message}`;
  return new AgentError("GATEWAY_STORE_BUSY", "none", message, { path: name }, { cause: error });
}
