/**
 * Databases of a PostgreSQL server that tests take one after another. To make one costs half a
 * second, and so each is emptied and taken again when the folder of its test is gone. A database
 * whose tables or triggers a test has changed is left alone.
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { GatewayLog } from "../../base/log.ts";
import { PostgresFault } from "../../gateway/postgres/fault.ts";
import type { PostgresConnection } from "../../gateway/postgres/messages.ts";
import type { Store } from "../../gateway/store/store.ts";
import { connectTo, PostgresDatabases, storeOverConnection } from "./postgres.ts";

interface KeptDatabase {
  readonly url: string;
  readonly shape: number;
  readonly idle: PostgresConnection[]; // open, and no store has one
  stores: number; // that are open
}

/** A number for tables, columns, indexes, functions and triggers. */
const shapeSql = `SELECT hashtext(concat(
    (SELECT string_agg(concat(relname, relhastriggers), ',' ORDER BY oid) FROM pg_class WHERE oid > 16383),
    (SELECT string_agg(attname, ',' ORDER BY attrelid, attnum) FROM pg_attribute WHERE attrelid > 16383),
    (SELECT string_agg(concat(tgname, tgenabled), ',' ORDER BY oid) FROM pg_trigger),
    (SELECT string_agg(conname, ',' ORDER BY oid) FROM pg_constraint))) AS shape`;

/** A table that a test has filled is truncated; to truncate costs more than to delete few rows. */
const emptySql = `DO $$ DECLARE one RECORD; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR one IN SELECT oid::regclass AS name, pg_relation_size(oid) AS size FROM pg_class
        WHERE relkind = 'r' AND oid > 16383 AND relname <> 'leases' AND pg_relation_size(oid) > 0 LOOP
      IF one.name::text = 'meta' THEN
        DELETE FROM meta WHERE name NOT IN ('schema', 'schemaDigest');
      ELSIF one.size > 262144 THEN EXECUTE format('TRUNCATE %s CASCADE', one.name);
      ELSE EXECUTE format('DELETE FROM %s', one.name);
      END IF;
    END LOOP;
    PERFORM setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S';
    UPDATE leases SET holder = '', token = 0, until = 0;
    INSERT INTO meta (name, value) VALUES ('gatewayKey', '');
  END $$`;

const closed = { sqlState: "", message: "the connection is closed", constraint: "" };

const ask = (connection: PostgresConnection, text: string) =>
  connection.ask([{ text, values: [] }])[0]?.rows ?? [];

const shapeOf = (connection: PostgresConnection): number =>
  Number(ask(connection, shapeSql)[0]?.shape);

/** The databases of one process. */
export class KeptDatabases {
  readonly #made: PostgresDatabases;
  readonly #taken = new Map<string, KeptDatabase>(); // by the path that a test gave
  readonly #free: KeptDatabase[] = [];

  /** `urlOf`: the address of a database of the server. */
  constructor(urlOf: (database: string) => string) {
    this.#made = new PostgresDatabases(urlOf);
  }

  /** Gives the path a database with all tables and no rows but those of a new one. */
  take(path: string): void {
    for (const [other, one] of this.#taken) {
      if (one.stores > 0 || existsSync(dirname(other))) continue;
      this.#taken.delete(other);
      if (empty(one)) this.#free.push(one);
    }
    this.#taken.set(path, this.#free.pop() ?? this.#make());
  }

  /** A store over the path's database; null where the path has none. */
  open(path: string, log: GatewayLog): Store | null {
    const kept = this.#taken.get(path);
    if (kept === undefined) return null;
    const connection = kept.idle.pop() ?? connectTo(kept.url);
    kept.stores += 1;
    let isLost = false;
    let isClosed = false;
    const lent: PostgresConnection = {
      ask(asks) {
        if (isClosed) throw new PostgresFault(closed);
        try {
          return connection.ask(asks);
        } catch (error) {
          isLost ||= !(error instanceof PostgresFault) || error.isLost;
          throw error;
        }
      },
      close() {
        if (isClosed) return;
        isClosed = true;
        kept.stores -= 1;
        if (isLost) connection.close();
        else kept.idle.push(connection);
      },
    };
    return storeOverConnection(lent, kept.url, log);
  }

  /** A transaction on a connection of its own; null where the path has no database. */
  openOtherWriter(path: string): { begin(): void; end(): void } | null {
    const database = this.#taken.get(path);
    if (database === undefined) return null;
    const connection = connectTo(database.url);
    return {
      begin() {
        ask(connection, "BEGIN");
        ask(connection, "SELECT 1 FROM leases FOR UPDATE");
      },
      end() {
        ask(connection, "ROLLBACK");
        connection.close();
      },
    };
  }

  #make(): KeptDatabase {
    const url = this.#made.make();
    const connection = connectTo(url);
    return { url, shape: shapeOf(connection), idle: [connection], stores: 0 };
  }
}

/** False where the database cannot be taken again. */
function empty({ url, shape, idle }: KeptDatabase): boolean {
  const [connection] = idle;
  if (connection === undefined) idle.push(connectTo(url));
  try {
    for (const one of idle) {
      ask(one, "ROLLBACK");
      ask(one, "DISCARD TEMP");
      ask(one, "RESET ALL");
    }
    const [first] = idle;
    if (first === undefined || shapeOf(first) !== shape) return false;
    ask(first, emptySql);
    return true;
  } catch (error) {
    if (error instanceof PostgresFault) return false;
    throw error;
  }
}
