/**
 * Copies the database while a gateway writes: one snapshot by VACUUM INTO under another name, which
 * is checked, synced and only then renamed. Also checks a copy that was kept. Sources:
 * sqlite.org/lang_vacuum.html; sqlite.org/pragma.html.
 */
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { AgentError, reasonOf } from "../../base/fault.ts";
import type { Migration } from "./migrations.ts";
import { readKnownSchemaVersion } from "./schema-check.ts";
import type { Database } from "./store.ts";
import { refuseOthersWal } from "./stray-wal.ts";

/** The contents of a copy, as the copy itself states them. */
export interface StoreCopy {
  readonly copiedAt: number; // milliseconds since 1970
  readonly schema: number;
  readonly gatewayKey: string; // fingerprint of the copy's gateway key
  readonly merchants: number;
  readonly transactions: number;
  readonly agents: readonly {
    readonly id: string;
    readonly ledgerEpoch: number;
    readonly headSeq: number;
    readonly headHash: string;
  }[];
}

type SqliteDatabase = InstanceType<typeof DatabaseSync>;

/** Files that SQLite makes next to an open database. */
const sidecars = ["-journal", "-wal", "-shm"];

/**
 * Copies the database behind `database` to `path`, mode 0600. An earlier file there is replaced at
 * the end, in one step.
 * @throws AgentError GATEWAY_FILE_EXISTS if the copy cannot be made, GATEWAY_BACKUP_DAMAGED; no new
 * file remains
 */
export function copyStore(
  database: Pick<Database, "run">,
  path: string,
  nowMs: number,
  steps?: readonly Migration[],
): StoreCopy {
  const unfinished = `${path}.tmp`;
  const remove = (): void => {
    for (const end of ["", ...sidecars]) rmSync(`${unfinished}${end}`, { force: true });
  };
  try {
    remove();
    const { O_WRONLY, O_CREAT, O_EXCL } = constants;
    // VACUUM INTO fills an empty file and keeps its mode.
    closeSync(openSync(unfinished, O_WRONLY | O_CREAT | O_EXCL, 0o600));
    database.run("VACUUM INTO ?", unfinished);
    stamp(unfinished, nowMs);
    const copy = checkCopy(unfinished, steps);
    sync(unfinished, constants.O_RDONLY);
    renameSync(unfinished, path);
    sync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
    return copy;
  } catch (cause) {
    try {
      remove();
    } catch {
      // If no file can be removed in the folder, none was made there.
    }
    if (cause instanceof AgentError) throw cause;
    throw new AgentError(
      "GATEWAY_FILE_EXISTS",
      "none",
      `${path} cannot be made: ${reasonOf(cause)}`,
      { path },
      { cause },
    );
  }
}

function stamp(path: string, nowMs: number): void {
  const raw = new DatabaseSync(path);
  try {
    raw
      .prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('copiedAt', ?)")
      .run(String(nowMs));
  } finally {
    raw.close();
  }
}

function sync(path: string, flags: number): void {
  const fd = openSync(path, flags);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Reads all of a copy: every page, every index, every reference between rows. Changes nothing. The
 * copy's tables may be of an earlier version.
 * @throws AgentError GATEWAY_BACKUP_DAMAGED, GATEWAY_STORE_VERSION, GATEWAY_STORE_WAL
 */
export function checkCopy(path: string, steps?: readonly Migration[]): StoreCopy {
  const damaged = (problem: string, cause?: unknown): AgentError =>
    new AgentError("GATEWAY_BACKUP_DAMAGED", "none", `${path} ${problem}`, { path }, { cause });
  // Opening an empty file would turn it into a database.
  if (!existsSync(path) || !statSync(path).isFile() || statSync(path).size === 0)
    throw damaged("is no copy of a database");
  let raw: SqliteDatabase | null = null;
  try {
    refuseOthersWal(path);
    raw = new DatabaseSync(path, { readOnly: true });
    const found = raw.prepare("PRAGMA integrity_check").all() as { integrity_check: string }[];
    if (found.length !== 1 || found[0]?.integrity_check !== "ok")
      throw damaged(`is damaged: ${found[0]?.integrity_check ?? ""}`);
    const loose = raw.prepare("PRAGMA foreign_key_check").all() as { table: string }[];
    if (loose.length > 0)
      throw damaged(
        `is damaged: ${loose.length} rows of ${loose[0]?.table} refer to rows that are not there`,
      );
    return contents(raw, path, steps);
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    throw damaged(`is no copy of a gateway's database, or is damaged: ${reasonOf(cause)}`, cause);
  } finally {
    raw?.close();
  }
}

function contents(
  raw: SqliteDatabase,
  path: string,
  steps: readonly Migration[] | undefined,
): StoreCopy {
  const value = (name: string): string =>
    (
      raw.prepare("SELECT value FROM meta WHERE name = ?").get(name) as
        | { value: string }
        | undefined
    )?.value ?? "";
  const count = (table: string): number =>
    (raw.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;
  const schema = readKnownSchemaVersion(path, value, steps);
  return {
    copiedAt: Number(value("copiedAt") || "0"),
    schema,
    gatewayKey: value("gatewayKey"),
    merchants: count("merchants"),
    transactions: transactionTables(raw).reduce((sum, table) => sum + count(table), 0),
    agents: raw
      .prepare("SELECT id, ledgerEpoch, headSeq, headHash FROM agents ORDER BY pairedAt, id")
      .all() as unknown as StoreCopy["agents"],
  };
}

/** The tables of transactions; a copy of an earlier version has another one. */
function transactionTables(raw: SqliteDatabase): readonly string[] {
  const names = "'deposits', 'transfers', 'transactions'";
  const sql = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN (${names})`;
  return (raw.prepare(sql).all() as { name: string }[]).map(({ name }) => name);
}
