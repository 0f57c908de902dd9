/**
 * Rows that a bug or a fault kept from being shown, told or judged. A job that turns one stored row
 * into text and changes nothing is guarded: what it throws is a value, the row is set aside with an
 * alarm, and the next row goes on. Everywhere else a bug ends the process, and the error names the
 * row that was in work (last-item.ts). Source: docs/operations.md section 7.
 */
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { alarmPrefix, recordAct } from "./audit.ts";
import type { Statements as Database } from "./statements.ts";
import type { Store } from "./store.ts";

/**
 * `record`: a row of deposits or transfers, shown; `change`: of callbackChanges, told; `event`: of
 * callbackEvents, signed; `value`: of completions, valued; `judgement`: a deposit, judged.
 */
export type RowKind = "record" | "change" | "event" | "value" | "judgement";

export interface RowKey {
  readonly kind: RowKind;
  readonly id: string;
  readonly about: string; // text for `find`: the transaction that the row belongs to
}

export interface AsideRow extends RowKey {
  readonly code: string; // a fault's own; "BUG" for a bug
  readonly stack: string;
  readonly at: number; // Unix milliseconds
}

export type GuardedResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown };

const stackCharactersMax = 4_000;
/**
 * SQLite's ERROR, TOOBIG, CONSTRAINT, MISMATCH and RANGE: the statement or its values, not the
 * disk.
 */
const codesOfRow: readonly number[] = [1, 18, 19, 20, 25];

/** True if another row would not meet the same error, as it would if the database itself failed. */
function isOfRow(error: unknown): boolean {
  if (error instanceof AgentError) return !/^GATEWAY_(?:STORE|DISK)_/.test(error.code);
  const code = (error as { readonly errcode?: unknown } | null)?.errcode;
  return typeof code !== "number" || codesOfRow.includes(code & 0xff);
}

/**
 * Runs a job that turns one stored row into text and changes nothing. A failure of the database
 * itself is thrown on; anything else that the job throws is the row's.
 */
export function runGuarded<T>(job: () => T): GuardedResult<T> {
  try {
    return { ok: true, value: job() };
  } catch (error) {
    if (!isOfRow(error)) throw error;
    return { ok: false, error };
  }
}

/**
 * As `guarded`, inside the caller's transaction, for a job that also writes: what it wrote before
 * it failed is taken back.
 */
export function guardedWrite<T>(database: Database, job: () => T): GuardedResult<T> {
  database.run("SAVEPOINT guarded");
  const done = runGuarded(job);
  if (!done.ok) database.run("ROLLBACK TO guarded");
  database.run("RELEASE guarded");
  return done;
}

/**
 * Sets a row aside, with an alarm, inside the caller's transaction.
 * @returns false if it is aside already
 */
export function insertAsideRow(
  database: Database,
  key: RowKey,
  error: unknown,
  at: number,
): boolean {
  const { kind, id, about } = key;
  const code = error instanceof AgentError ? error.code : "BUG";
  const stack = (error instanceof Error ? (error.stack ?? error.message) : String(error)).slice(
    0,
    stackCharactersMax,
  );
  const sql =
    "INSERT OR IGNORE INTO setAside (kind, id, about, code, stack, at) VALUES (?, ?, ?, ?, ?, ?)";
  if (database.run(sql, kind, id, about, code, stack, at).changes === 0) return false;
  const reason = error instanceof Error ? error.message : String(error);
  const detail = `${kind}/${id} is set aside: ${reason.slice(0, 200)}; look at it with: autowithdraw-gateway find ${about}`;
  recordAct(database, {
    at,
    actor: "gateway",
    act: `${alarmPrefix}ROW_SET_ASIDE`,
    subject: about,
    detail,
  });
  return true;
}

export function isRowAside(database: Database, kind: RowKind, id: string): boolean {
  return database.get("SELECT 1 FROM setAside WHERE kind = ? AND id = ?", kind, id) !== undefined;
}

/** The parts that set a row aside outside of any transaction. */
export interface AsideKeeper {
  readonly store: Store;
  readonly log?: Pick<GatewayLog, "error">;
  readonly clock: () => number;
}

/** Logs that a row was set aside, with the stack of the error. */
export function logAsideRow(
  log: Pick<GatewayLog, "error">,
  { kind, id, about }: RowKey,
  error: unknown,
): void {
  log.error(
    { event: "row-set-aside", kind, id, about, err: error },
    "a stored row is set aside; the others go on",
  );
}

/**
 * Sets a row aside in a transaction of its own. A database that is busy or full does not stop the
 * reader of the next rows: the row is met again.
 */
export function setRowAside({ store, log, clock }: AsideKeeper, key: RowKey, error: unknown): void {
  if (isRowAside(store.database, key.kind, key.id)) return;
  try {
    const isNew = store.write((database) => insertAsideRow(database, key, error, clock()));
    if (isNew && log !== undefined) logAsideRow(log, key, error);
  } catch (cause) {
    if (isOfRow(cause)) throw cause;
  }
}

/** All of them, oldest first. */
export function listAside(database: Database): readonly AsideRow[] {
  return database.all<AsideRow>(
    "SELECT kind, id, about, code, stack, at FROM setAside ORDER BY at, kind, id",
  );
}

/**
 * Ends the setting aside of these rows: each is tried again when it is met next.
 * @returns the rows; none if no row is named so
 */
export function forgetAside(database: Database, name: string): readonly AsideRow[] {
  const named = listAside(database).filter(
    ({ kind, id, about }) => name === `${kind}/${id}` || name === id || name === about,
  );
  for (const { kind, id } of named)
    database.run("DELETE FROM setAside WHERE kind = ? AND id = ?", kind, id);
  return named;
}

const inWork = new WeakMap<object, RowKey>();

/**
 * Runs a job on one row whose failure ends the process. A bug that the job throws remembers the
 * row, and a start after two such ends sets the row aside.
 */
export function runTrackingRow<T>(key: RowKey, job: () => T): T {
  try {
    return job();
  } catch (error) {
    if (error instanceof Error && !(error instanceof AgentError)) inWork.set(error, key);
    throw error;
  }
}

/** The row that was in work when a bug was thrown; null if none was. */
export function rowOfBug(error: unknown): RowKey | null {
  return error instanceof Error ? (inWork.get(error) ?? null) : null;
}
