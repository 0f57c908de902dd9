/**
 * A new database for a test: a copy of the first one that the process made. The schema costs more
 * than what most tests do with it. `createStore` makes the database where that is the subject. With
 * the address of a PostgreSQL server in TEST_POSTGRES the databases are there.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { pino } from "pino";
import type { GatewayLog } from "../../base/log.ts";
import { createStore, openStore, type Store } from "../../gateway/store/store.ts";
import { KeptDatabases } from "./kept-databases.ts";

const server = process.env.TEST_POSTGRES ?? "";

/** True where the tests of this run have their databases in PostgreSQL. */
export const isOnPostgres = server !== "";

const kept = new KeptDatabases((database) => server.replace("/postgres?", `/${database}?`));

/** Opens the database that a test made at this path. */
export function reopenStore(path: string, log: GatewayLog): Store {
  return kept.open(path, log) ?? openStore(path, log);
}

/** A transaction of another process, which holds the database while it is begun. */
export interface OtherWriter {
  begin(): void;
  end(): void;
}

/** Another process that writes into the database that a test made at this path. */
export function openOtherWriter(path: string): OtherWriter {
  const writer = kept.openOtherWriter(path);
  if (writer !== null) return writer;
  const raw = new DatabaseSync(path);
  return {
    begin: () => raw.exec("BEGIN IMMEDIATE"),
    end() {
      raw.exec("ROLLBACK");
      raw.close();
    },
  };
}

let made: Uint8Array | null = null;

function firstDatabase(): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), "first-database-"));
  try {
    const path = join(folder, "gateway.db");
    createStore(path, "", pino({ level: "silent" })).close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** As `createStore`. @throws Error where the file is there already */
export function freshStore(path: string, fingerprint: string, log: GatewayLog): Store {
  if (isOnPostgres) kept.take(path);
  else {
    made ??= firstDatabase();
    writeFileSync(path, made, { mode: 0o600, flag: "wx" });
  }
  const store = reopenStore(path, log);
  if (fingerprint !== "")
    store.database.run("UPDATE meta SET value = ? WHERE name = 'gatewayKey'", fingerprint);
  return store;
}
