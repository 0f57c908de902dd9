/** What a database itself says of its tables, and all that it holds, on both engines. */
import { readFileSync } from "node:fs";
import { isConstraintError } from "../../gateway/store/library-errors.ts";
import type { Database } from "../../gateway/store/store.ts";
import { isOnPostgres } from "./fresh-store.ts";

export interface ColumnOfTable {
  readonly name: string;
  readonly type: string; // SQLite's word for it
  readonly notnull: 0 | 1;
}

/** The columns of a table in their order, without PostgreSQL's column for a row's number. */
export function listColumns(
  database: Database,
  table: string,
  isPostgres = isOnPostgres,
): readonly ColumnOfTable[] {
  const sql = isPostgres ? ofPostgres : ofSqlite;
  return database.all<ColumnOfTable>(sql, table);
}

const ofSqlite = 'SELECT name, type, "notnull" FROM pragma_table_info(?) ORDER BY cid';

const ofPostgres = `SELECT attname AS name, CASE atttypid WHEN 20 THEN 'INTEGER' WHEN 25 THEN 'TEXT' WHEN 17 THEN 'BLOB' END AS type,
    attnotnull AS notnull
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  WHERE c.relname = ? AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> 'rowid' ORDER BY a.attnum`;

/** The tables, in the order of their names. */
export function listTables(database: Database, isPostgres = isOnPostgres): readonly string[] {
  const sql = isPostgres
    ? "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'public') ORDER BY 1"
    : "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1";
  return database.all<{ name: string }>(sql).map(({ name }) => name);
}

/** Every byte that the database keeps: its file, or what is in each column of each row. */
export function readDatabaseBytes(database: Database, file: string): Buffer {
  if (!isOnPostgres) {
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return readFileSync(file);
  }
  const cells = listTables(database).flatMap((table) =>
    database.all<Record<string, unknown>>(`SELECT * FROM ${table}`).flatMap(Object.values),
  );
  return Buffer.concat(
    cells.map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell) : Buffer.from(`${cell} `))),
  );
}

/** True if a rule of a table refuses what `act` writes. */
export function isRefused(act: () => unknown): boolean {
  try {
    act();
    return false;
  } catch (error) {
    return isConstraintError(error);
  }
}
