/**
 * Tables of an earlier version in PostgreSQL come to this program's: whole or not at all, once, and
 * never under a gateway that works with them. The result is compared with a new database.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import type { GatewayConfig } from "../../gateway/config/config.ts";
import { inspectDatabase, joinDatabase, openDatabase } from "../../gateway/database/database.ts";
import { parseDatabaseUrl } from "../../gateway/postgres/address.ts";
import { translateDefinitions } from "../../gateway/postgres/schema.ts";
import { readLease, takeLease } from "../../gateway/store/leases.ts";
import {
  digestOfVersion,
  type Migration,
  migrations,
  schemaVersion,
} from "../../gateway/store/migrations.ts";
import { upgradePostgres } from "../../gateway/store/postgres-upgrade.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import {
  askDatabase,
  connectTo,
  openTestStore,
  PostgresDatabases,
  type PostgresServer,
  postgresInstallLine,
  postgresPrograms,
  startPostgres,
} from "../../lab/kit/postgres.ts";
import { startsTheBuild } from "../support/built.ts";
import { databaseOfVersion, seenIn } from "../support/catalogue.ts";

/** The first version of which databases in PostgreSQL exist. */
const firstVersion = 23;

describe.skipIf(postgresPrograms() === null)(
  `an upgrade in PostgreSQL (${postgresInstallLine})`,
  () => {
    startsTheBuild();
    let server: PostgresServer;
    let databases: PostgresDatabases;
    let dir: string;
    beforeAll(() => {
      server = startPostgres();
      databases = new PostgresDatabases(server.urlOf);
      dir = mkdtempSync(join(tmpdir(), "postgres-upgrade-"));
    });
    afterAll(() => {
      server?.stop();
      rmSync(dir, { recursive: true, force: true });
    });

    let made = 0;
    /** The tables of version 23, as SQLite's own steps make them, in PostgreSQL's words. */
    function old(): string {
      made += 1;
      const path = join(dir, `${made}.db`);
      databaseOfVersion(path, firstVersion);
      const definitions = seenIn(path, (raw) =>
        (
          raw
            .prepare(
              "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
            )
            .all() as { sql: string }[]
        ).map(({ sql }) => `${sql.replaceAll(/"(\w+)"/g, "$1")};`),
      );
      const url = databases.make();
      const tables = definitions.filter((sql) => sql.startsWith("CREATE TABLE"));
      const others = definitions.filter((sql) => !sql.startsWith("CREATE TABLE"));
      const texts = translateDefinitions([
        ...tables,
        ...others,
        "CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL, until INTEGER NOT NULL) STRICT;",
        "CREATE TABLE gateways (name TEXT PRIMARY KEY, run TEXT NOT NULL, version TEXT NOT NULL, digest TEXT NOT NULL, state TEXT NOT NULL, heartbeatAt INTEGER NOT NULL) STRICT;",
      ]);
      const rows = [
        "INSERT INTO leases VALUES ('gateway', 'old run', 7, 0)",
        `INSERT INTO meta VALUES ('schema', '${firstVersion}'), ('schemaDigest', '${digestOfVersion(firstVersion)}'), ('gatewayKey', 'f')`,
        `INSERT INTO merchants (id, name, "createdAt") VALUES ('m1', 'Shop', 0)`,
      ];
      const connection = connectTo(url);
      connection.ask(
        ["DROP SCHEMA public CASCADE", "CREATE SCHEMA public", ...texts, ...rows].map((text) => ({
          text,
          values: [],
        })),
      );
      connection.close();
      return url;
    }

    function upgrade(url: string, steps?: readonly Migration[]): void {
      const connection = connectTo(url);
      try {
        const how = { connection, name: "the database", log: silentLog };
        upgradePostgres(steps === undefined ? how : { ...how, steps });
      } finally {
        connection.close();
      }
    }

    const codeOf = (act: () => unknown): string => {
      try {
        act();
        return "";
      } catch (error) {
        if (error instanceof AgentError) return `${error.code} ${error.effect}`;
        throw error;
      }
    };

    /** Columns, indexes, constraints, triggers and their functions, a sorted line each. */
    const catalogue = `SELECT line FROM (
        SELECT concat_ws(' ', 'column', table_name, column_name, data_type, is_nullable, column_default, collation_name, is_identity) AS line
          FROM information_schema.columns WHERE table_schema = 'public'
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT concat_ws(' ', proname, prosrc) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      ) AS lines ORDER BY line`;
    const catalogueOf = (url: string): readonly string[] => {
      const store = openTestStore(url, silentLog);
      try {
        return store.database
          .all<{ line: string }>(catalogue)
          .map(({ line }) => line.replaceAll(/\s+/g, " "));
      } finally {
        store.close();
      }
    };

    it("makes the tables of a new database, keeps the rows, and does nothing a second time", () => {
      const url = old();
      expect(catalogueOf(url)).not.toEqual(catalogueOf(databases.make()));
      upgrade(url);
      expect(catalogueOf(url)).toEqual(catalogueOf(databases.make()));
      const store = openTestStore(url, silentLog);
      expect(store.database.get("SELECT name FROM merchants WHERE id = 'm1'")).toEqual({
        name: "Shop",
      });
      expect(readLease(store.database)).toMatchObject({ run: "", token: 8 });
      upgrade(url);
      expect(readLease(store.database)).toMatchObject({ run: "", token: 8 });
      expect(takeLease(store, "new run", "the database")).toBe(9);
      store.close();
    });

    it("waits for the end of a gateway that is active, and changes nothing until then", () => {
      const url = old();
      askDatabase(
        url,
        "UPDATE leases SET until = (date_part('epoch', now()) * 1000)::bigint + 60000",
      );
      const before = catalogueOf(url);
      const connection = connectTo(url);
      const how = { connection, name: "the database", log: silentLog };
      expect(codeOf(() => upgradePostgres(how))).toBe("GATEWAY_STORE_OLDER none");
      expect(catalogueOf(url)).toEqual(before);
      // The refused upgrade holds nothing: another process and the same connection go on.
      askDatabase(url, "UPDATE leases SET until = 0");
      upgradePostgres(how);
      connection.close();
      expect(catalogueOf(url)).not.toEqual(before);
    });

    it("takes a step back that does not fit, or whose check fails, with all before it", () => {
      const url = old();
      const before = catalogueOf(url);
      const with24 = (sql: string): readonly Migration[] => [
        ...migrations.slice(0, firstVersion),
        { version: 24, name: "good", sql: "CREATE TABLE good (a TEXT NOT NULL) STRICT;\n" },
        { version: 25, name: "made-up", sql },
      ];
      for (const sql of [
        "INSERT INTO merchants (id) VALUES ('m2');\n",
        "ALTER TABLE nobody ADD COLUMN a TEXT;\n",
        "ALTER TABLE keys ADD COLUMN more TEXT;\n-- check: SELECT count(*) = 7 FROM merchants\n",
      ]) {
        expect(
          codeOf(() => upgrade(url, with24(sql))),
          sql,
        ).toBe("GATEWAY_STORE_UPGRADE none");
        expect(catalogueOf(url)).toEqual(before);
      }
      upgrade(
        url,
        with24(
          "ALTER TABLE keys ADD COLUMN more TEXT;\n-- check: SELECT count(*) = 1 FROM merchants\n",
        ),
      );
      expect(
        catalogueOf(url).filter((line) => /^column (?:good|keys more)/.test(line)),
      ).toHaveLength(2);
    });

    it("drops a trigger with its function, makes another, and an index", () => {
      const url = old();
      const sql = `DROP TRIGGER callbackDepositMade;
CREATE TRIGGER callbackDepositMade AFTER INSERT ON deposits BEGIN
  UPDATE deposits SET callbackStatus = 1 WHERE id = NEW.id;
END;
DROP INDEX auditBySubject;
CREATE INDEX auditByAct ON audit (act);
`;
      upgrade(url, [...migrations.slice(0, firstVersion), { version: 24, name: "made-up", sql }]);
      const after = catalogueOf(url);
      expect(after.filter((line) => line.startsWith("callbackDepositMade "))).toHaveLength(1);
      expect(after.some((line) => line.includes('"callbackStatus" = 1'))).toBe(true);
      expect(after.some((line) => line.includes('"auditBySubject"'))).toBe(false);
      expect(after.some((line) => line.includes('"auditByAct"'))).toBe(true);
    });

    it("says that another process holds the lease's row, and upgrades once it is free", () => {
      const url = old();
      const other = connectTo(url);
      other.ask([
        { text: "BEGIN", values: [] },
        { text: "SELECT 1 FROM leases FOR UPDATE", values: [] },
      ]);
      expect(codeOf(() => upgrade(url))).toBe("GATEWAY_STORE_BUSY none");
      other.ask([{ text: "ROLLBACK", values: [] }]);
      other.close();
      upgrade(url);
    });

    it("names a role that does not own the tables", () => {
      const url = old();
      askDatabase(
        url,
        "CREATE ROLE guest; GRANT USAGE ON SCHEMA public TO guest; GRANT ALL ON ALL TABLES IN SCHEMA public TO guest",
      );
      const connection = connectTo(url);
      connection.ask([{ text: "SET ROLE guest", values: [] }]);
      const how = { connection, name: "the database", log: silentLog };
      expect(codeOf(() => upgradePostgres(how))).toBe("GATEWAY_STORE_ACCESS none");
      connection.close();
      upgrade(url);
    });

    it("is made by a start of the gateway, and by no command", () => {
      const url = old();
      const address = parseDatabaseUrl(url);
      if (typeof address === "string") throw new Error(address);
      const config = {
        database: join(dir, `gateway-${made}.postgres`),
        postgres: { address, passwordFile: null },
        listen: { port: 1 },
      } as unknown as GatewayConfig;
      expect(inspectDatabase(config)).toMatchObject({ version: firstVersion, isOlder: true });
      expect(codeOf(() => openDatabase(config, silentLog))).toBe("GATEWAY_STORE_OLDER none");
      const joined = joinDatabase(config, {
        ...{ log: silentLog, fingerprint: "f", clock: () => 0, onFree: () => {} },
      });
      expect(joined.isActive).toBe(true);
      expect(inspectDatabase(config)).toMatchObject({ version: schemaVersion, isOlder: false });
      joined.close();
      openDatabase(config, silentLog).close();
    });

    it("gives the lease to no program whose tables the database has no more", () => {
      const url = databases.make();
      const store = openTestStore(url, silentLog);
      askDatabase(url, `UPDATE meta SET value = '${schemaVersion + 1}' WHERE name = 'schema'`);
      expect(codeOf(() => takeLease(store, "run", "the database"))).toBe(
        "GATEWAY_STORE_VERSION none",
      );
      expect(readLease(store.database)).toMatchObject({ run: "", token: 0 });
      store.close();
    });
  },
);
