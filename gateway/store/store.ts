/**
 * The gateway's database file, opened with WAL and synchronous=FULL. Both settings are read back,
 * because the library opens a WAL file with NORMAL and would then lose acknowledged commits in a
 * power cut. There is one connection, one writer at a time, and statements are kept. A full disk
 * and a file that another process holds refuse the write, and nothing happened. After a commit
 * whose sync failed, nobody knows the content of the disk: the store is poisoned and the process
 * must end. Sources: schema.ts; sqlite.org/wal.html; sqlite.org/pragma.html#pragma_synchronous.
 */
import { closeSync, existsSync, openSync, statSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { AgentError, Bug, invariant } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { isDiskFull, unusableStoreFault, walBytesMax } from "./disk.ts";
import { createGroupCommit } from "./group-commit.ts";
import { isDatabaseBusyError, isUncommittedError } from "./library-errors.ts";
import { schemaDigest, schemaVersion } from "./migrations.ts";
import { readMeta } from "./read-meta.ts";
import { changesRemembered, RowMemory } from "./row-memory.ts";
import { schema } from "./schema.ts";
import { requireNewestSchema } from "./schema-check.ts";
import type { SqlScalar, Statements } from "./statements.ts";
import { type Trouble, WriteTrouble } from "./write-trouble.ts";

/*
 * The transactions of a store: one at a time on its one connection, each durable when it returns.
 * Tells refused writes, of which nothing stays, from a commit with an unknown outcome. Source:
 * sqlite.org/lang_transaction.html, "Response To Errors Within A Transaction".
 */

interface WriterOptions {
  readonly raw: InstanceType<typeof DatabaseSync>;
  readonly database: Statements; // the same connection
  readonly path: string; // for messages
  readonly log: GatewayLog;
  readonly busyTimeoutMs: number;
  readonly monotonic: () => number; // milliseconds
}

class Writer {
  readonly #options: WriterOptions;
  readonly #listeners: (() => void)[] = [];
  readonly trouble: WriteTrouble;
  #isPoisoned = false;
  #isWriting = false;

  constructor(options: WriterOptions) {
    const { raw, busyTimeoutMs, monotonic } = options;
    this.#options = options;
    const waitFor = (ms: number): void => raw.exec(`PRAGMA busy_timeout = ${ms}`);
    this.trouble = new WriteTrouble(
      { probe: () => this.#probe(), waitFor },
      busyTimeoutMs,
      monotonic,
    );
  }

  /** True after a commit with an unknown outcome. */
  get isPoisoned(): boolean {
    return this.#isPoisoned;
  }

  onPoisoned(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Runs `fn` in one transaction, which is rolled back unless its result `stays`. */
  run<T>(fn: (database: Statements) => T, stays: (result: T) => boolean): T {
    if (this.trouble.isHeld && this.trouble.now() === "held") throw this.#held();
    return this.#transact(fn, stays);
  }

  #transact<T>(fn: (database: Statements) => T, stays: (result: T) => boolean): T {
    const { raw, database, path } = this.#options;
    if (this.#isPoisoned)
      throw new AgentError(
        "GATEWAY_STORE_POISONED",
        "unknown",
        `the database ${path} failed earlier`,
        { path },
      );
    invariant(!this.#isWriting, "a database transaction inside another one");
    this.#begin();
    this.#isWriting = true;
    try {
      const result = fn(database);
      if (result instanceof Promise) throw new Bug("a database transaction must not wait");
      if (stays(result)) this.#commit();
      else raw.exec("ROLLBACK");
      return result;
    } catch (error) {
      this.#rollBack();
      throw this.#refused(error);
    } finally {
      this.#isWriting = false;
    }
  }

  #begin(): void {
    try {
      this.#options.raw.exec("BEGIN IMMEDIATE");
    } catch (error) {
      if (!isDatabaseBusyError(error)) throw this.#refused(error);
      this.trouble.begin("held");
      throw this.#held(error);
    }
    this.trouble.endHeld();
  }

  #commit(): void {
    try {
      this.#options.raw.exec("COMMIT");
    } catch (error) {
      throw isUncommittedError(error) ? error : this.#poison(error);
    }
    this.trouble.end();
  }

  /** SQLite rolls back by itself after some errors, such as a full disk; its autocommit tells. */
  #rollBack(): void {
    const { raw } = this.#options;
    if (!raw.isTransaction) return;
    try {
      raw.exec("ROLLBACK");
    } catch (error) {
      throw this.#poison(error);
    }
  }

  /** Writes the file's own number again, which is a page of the file and no row of a table. */
  #probe(): void {
    if (this.#isWriting || this.#isPoisoned) return;
    const { raw } = this.#options;
    try {
      this.#transact(
        () => {
          const row = raw.prepare("PRAGMA user_version").get() as { readonly user_version: number };
          raw.exec(`PRAGMA user_version = ${row.user_version}`);
        },
        () => true,
      );
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
    }
  }

  #held(cause?: unknown): AgentError {
    const { path } = this.#options;
    return new AgentError(
      "GATEWAY_STORE_BUSY",
      "none",
      `${path} is held by another process`,
      { path },
      { cause },
    );
  }

  /** The fault of a write of which nothing stays; every other error is returned unchanged. */
  #refused(error: unknown): unknown {
    if (!isDiskFull(error)) return error;
    this.trouble.begin("full");
    const { path } = this.#options;
    return new AgentError(
      "GATEWAY_DISK_FULL",
      "none",
      `the disk of ${path} is full`,
      { path },
      { cause: error },
    );
  }

  #poison(cause: unknown): AgentError {
    const { path, log } = this.#options;
    if (!this.#isPoisoned) {
      this.#isPoisoned = true;
      log.error(
        { event: "store-failed", err: cause, path },
        "the database failed while committing; nothing more is written",
      );
      for (const listener of this.#listeners) listener();
    }
    return new AgentError(
      "GATEWAY_STORE_POISONED",
      "unknown",
      `the database ${path} failed while committing`,
      { path },
      { cause },
    );
  }
}

export type { SqlScalar } from "./statements.ts";

export type Database = Statements;

export interface Store {
  /** For reading, and for single statements that need no transaction. */
  readonly database: Database;
  /** Rows of keys and merchants, which every request reads. */
  readonly remembered: RowMemory;
  /**
   * Runs `fn` in one BEGIN IMMEDIATE … COMMIT and returns when the commit is durable. An error of
   * `fn` rolls back and is thrown on. `fn` is synchronous and must not call write again (a Bug).
   * @throws AgentError GATEWAY_STORE_BUSY and GATEWAY_DISK_FULL (effect none: the next call may
   * work), GATEWAY_STORE_POISONED (effect unknown, and the same for every later call)
   */
  write<T>(fn: (database: Database) => T): T;
  /**
   * Like `write`, in one transaction with all other calls of the same event-loop turn. Resolves
   * when the commit is durable. `fn` may run twice; the first run is then rolled back.
   */
  writeTogether<T>(fn: (database: Database) => T): Promise<T>;
  /** Like `write`, but rolls back if `fn` returns a value that is not ok. */
  writeIfOk<T extends { readonly ok: boolean }>(fn: (database: Database) => T): T;
  /**
   * True after a commit with an unknown outcome; then `onPoisoned` was called and nothing more is
   * written.
   */
  readonly poisoned: boolean;
  /** Why nothing can be written now; asked again at most each 250 ms, so it ends by itself. */
  readonly trouble: Trouble;
  /**
   * Called when the store is poisoned, only once. The process should end, so that a restart reads
   * the real content of the disk.
   */
  onPoisoned(listener: () => void): void;
  /**
   * Closes the file. If no other process has it open, takes the write-ahead file back first, so
   * that `gateway.db` alone is left with everything in it. Harmless to call twice.
   */
  close(): void;
}

/**
 * No longer, because it blocks the whole process; and only for the first write that meets a held
 * file.
 */
const busyTimeoutMs = 1_000;
/**
 * Pages that are kept in memory. SQLite's own 2 MiB hold no day's orders with their indexes, and
 * then each statement reads its pages from the file again.
 */
const cacheKiB = 32_768;
/**
 * Pages in the write-ahead file that start a checkpoint. A page that many commits changed is then
 * written into the database once.
 */
const checkpointPages = 4_000;
type Statement = ReturnType<InstanceType<typeof DatabaseSync>["prepare"]>;

/** `onChanged` is called behind each statement that changes a row which may be remembered. */
function cachedDatabase(raw: InstanceType<typeof DatabaseSync>, onChanged: () => void): Database {
  const statements = new Map<string, Statement>();
  const statement = (sql: string): Statement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const made = raw.prepare(sql);
    statements.set(sql, made);
    return made;
  };
  const changing = new Map<string, boolean>();
  const isChanging = (sql: string): boolean => {
    const known = changing.get(sql);
    if (known !== undefined) return known;
    const is = changesRemembered(sql);
    changing.set(sql, is);
    return is;
  };
  return {
    run: (sql, ...values) => {
      const { changes } = statement(sql).run(...values);
      if (isChanging(sql)) onChanged();
      return { changes: Number(changes) };
    },
    get: <Row>(sql: string, ...values: readonly SqlScalar[]) =>
      statement(sql).get(...values) as Row | undefined,
    all: <Row>(sql: string, ...values: readonly SqlScalar[]) =>
      statement(sql).all(...values) as Row[],
  };
}

function readPragma(raw: InstanceType<typeof DatabaseSync>, name: string): string {
  const row = raw.prepare(`PRAGMA ${name}`).get() as Record<string, unknown> | undefined;
  return String(row === undefined ? "" : Object.values(row)[0]);
}

/**
 * Opens a file with the settings that this store needs; a migration alone goes without foreign
 * keys. @throws AgentError GATEWAY_STORE_UNSAFE, and errors of SQLite
 */
export function openSqliteFile(
  path: string,
  keys: "withKeys" | "withoutKeys" = "withKeys",
): InstanceType<typeof DatabaseSync> {
  const hasKeys = keys === "withKeys";
  const raw = new DatabaseSync(path, {
    timeout: busyTimeoutMs,
    enableForeignKeyConstraints: hasKeys,
  });
  try {
    // The checkpoint syncs data that a killed process left only in the kernel's cache, before
    // anything is reported.
    raw.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${walBytesMax};
       PRAGMA cache_size = -${cacheKiB}; PRAGMA wal_autocheckpoint = ${checkpointPages};
       PRAGMA wal_checkpoint(PASSIVE);`,
    );
    const got = {
      journal: readPragma(raw, "journal_mode"),
      synchronous: readPragma(raw, "synchronous"),
      keys: readPragma(raw, "foreign_keys"),
    };
    if (got.journal !== "wal" || got.synchronous !== "2" || got.keys !== (hasKeys ? "1" : "0")) {
      throw new AgentError(
        "GATEWAY_STORE_UNSAFE",
        "none",
        `${path} did not take WAL with synchronous=FULL`,
        {
          path,
          ...got,
        },
      );
    }
    return raw;
  } catch (error) {
    raw.close();
    throw error;
  }
}

/**
 * Statements that are kept hold the file open beyond `close`, so SQLite's own clean-up at the last
 * close would not come. Leaving the write-ahead mode does the same: it needs the file alone, and
 * changes nothing while another process has it open.
 */
export function leaveWalMode(raw: InstanceType<typeof DatabaseSync>): void {
  try {
    raw.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE");
  } catch {
    // Another process has the file open, or the disk is full: the write-ahead file stays, and the
    // next start reads it.
  }
}

/**
 * A store over an open connection with the settings of `openStore`; `path` is for messages,
 * `monotonic` in milliseconds.
 */
export function storeOver(
  raw: InstanceType<typeof DatabaseSync>,
  path: string,
  log: GatewayLog,
  monotonic: () => number = () => performance.now(),
): Store {
  const database = cachedDatabase(raw, () => remembered.forget());
  const remembered: RowMemory = new RowMemory({
    get: (sql, ...values) => database.get(sql, ...values),
    version: () =>
      database.get<{ readonly data_version: number }>("PRAGMA data_version")?.data_version ?? -1,
    isInTransaction: () => raw.isTransaction,
  });
  const writer = new Writer({ raw, database, path, log, busyTimeoutMs, monotonic });
  return {
    database,
    remembered,
    get poisoned() {
      return writer.isPoisoned;
    },
    get trouble() {
      return writer.trouble.now();
    },
    onPoisoned: (listener) => writer.onPoisoned(listener),
    write: (fn) => writer.run(fn, () => true),
    writeTogether: createGroupCommit((fn) => writer.run(fn, () => true)),
    writeIfOk: (fn) => writer.run(fn, ({ ok }) => ok),
    close() {
      if (!raw.isOpen) return;
      if (!writer.isPoisoned) leaveWalMode(raw);
      raw.close();
    },
  };
}

/**
 * Opens the existing database file at `path`.
 * @throws AgentError GATEWAY_STORE_MISSING (a database is never made silently, because an empty one
 * has forgotten every withdrawal), GATEWAY_STORE_INVALID, GATEWAY_DISK_FULL, GATEWAY_DISK_FAILED,
 * GATEWAY_STORE_ACCESS, GATEWAY_STORE_VERSION, GATEWAY_STORE_OLDER, GATEWAY_STORE_UNSAFE,
 * GATEWAY_STORE_BUSY, GATEWAY_STORE_WAL
 */
export function openStore(path: string, log: GatewayLog): Store {
  if (!existsSync(path))
    throw new AgentError("GATEWAY_STORE_MISSING", "none", `there is no database file ${path}`, {
      path,
    });
  try {
    // The size is checked first, because opening an empty file turns it into a database.
    if (statSync(path).size === 0) throw invalid(path, "is empty and was not made by init");
    // Before it is opened for work, because that changes the file, and another version's file must
    // stay as it is.
    const meta = readMeta(path);
    requireNewestSchema(path, (name) => meta.get(name) ?? "");
    return storeOver(openSqliteFile(path), path, log);
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    if (isDatabaseBusyError(cause))
      throw new AgentError(
        "GATEWAY_STORE_BUSY",
        "none",
        `${path} is held by another process`,
        { path },
        { cause },
      );
    throw unusableStoreFault(path, cause);
  }
}

function invalid(path: string, reason: string): AgentError {
  return new AgentError("GATEWAY_STORE_INVALID", "none", `${path} ${reason}`, { path });
}

/**
 * Makes the database file, readable only by its owner, with all tables, and opens it. The file
 * belongs to the gateway key of this fingerprint permanently.
 * @throws AgentError GATEWAY_STORE_EXISTS
 */
export function createStore(path: string, fingerprint: string, log: GatewayLog): Store {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    throw new AgentError(
      "GATEWAY_STORE_EXISTS",
      "none",
      `the database file ${path} cannot be made, or is there already`,
      { path },
      { cause },
    );
  }
  const raw = openSqliteFile(path);
  raw.exec(`BEGIN IMMEDIATE; ${schema}`);
  const meta = raw.prepare("INSERT INTO meta (name, value) VALUES (?, ?)");
  meta.run("schema", String(schemaVersion));
  meta.run("schemaDigest", schemaDigest);
  meta.run("gatewayKey", fingerprint);
  raw.exec("COMMIT");
  return storeOver(raw, path, log);
}
