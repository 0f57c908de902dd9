/**
 * Opens the database that the configuration names: a file of SQLite, or a PostgreSQL database that
 * several gateways share. The gateway with the lease is active; every other gateway is a standby
 * and waits for the lease to be free. A lost connection poisons the store and the process ends; the
 * service manager starts the process again. Source: docs/scale.md.
 */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { version } from "../../base/version.ts";
import type { GatewayConfig } from "../config/config.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { nameOfDatabase } from "../postgres/address.ts";
import { openPostgresConnection } from "../postgres/connection.ts";
import type { PostgresConnection } from "../postgres/messages.ts";
import { type DatabaseSummary, inspectStore } from "../store/inspect.ts";
import {
  forgetPresence,
  type GatewayPresence,
  giveUpLease,
  heartbeatMs,
  keepHistory,
  notePresence,
  readActiveRun,
  readHistory,
  readLease,
  renewLease,
  takeLease,
} from "../store/leases.ts";
import { readGatewayKeyFingerprint } from "../store/meta.ts";
import { schemaVersion } from "../store/migrations.ts";
import { checkStoreKeyFingerprint, owningRun, ownStore } from "../store/owner.ts";
import {
  checkPostgresServer,
  inspectPostgres,
  type PostgresServerState,
  standbyWaitWords,
  unreachableFault,
  waitsForStandby,
} from "../store/postgres-server.ts";
import { makePostgresTables, storeOverPostgres } from "../store/postgres-store.ts";
import { upgradePostgres } from "../store/postgres-upgrade.ts";
import { createStore, type Database, openStore, type Store } from "../store/store.ts";

/** The part of the configuration that names the database. */
export type DatabaseSettings = Pick<GatewayConfig, "database" | "postgres">;
type PostgresPlace = NonNullable<GatewayConfig["postgres"]>;

/** The database's name for messages; no password is in it. */
export function databaseName({ database, postgres }: DatabaseSettings): string {
  return postgres === null ? database : nameOfDatabase(postgres.address);
}

interface ReachedServer {
  readonly connection: PostgresConnection;
  readonly name: string;
  readonly state: PostgresServerState;
}

/**
 * Connects to the first server of the list that takes writes.
 * @throws AgentError GATEWAY_STORE_AWAY, GATEWAY_STORE_ACCESS, GATEWAY_STORE_MISSING,
 * GATEWAY_STORE_UNSAFE; of several servers, the fault of the last one
 */
function reachPostgres({ address, passwordFile }: PostgresPlace): ReachedServer {
  const password = passwordFile === null ? "" : readPassword(passwordFile);
  const { servers, ...entry } = address;
  let fault: unknown;
  for (const server of servers) {
    const name = nameOfDatabase({ ...entry, servers: [server] });
    let connection: PostgresConnection | null = null;
    try {
      connection = openPostgresConnection({ ...entry, server, password });
      return { connection, name, state: checkPostgresServer(connection, name) };
    } catch (cause) {
      connection?.close();
      fault = unreachableFault(name, cause);
    }
  }
  throw fault;
}

/** @throws AgentError GATEWAY_STORE_ACCESS */
function readPassword(path: string): string {
  try {
    return Buffer.from(readSecretFile(path)).toString("utf8").trim();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "";
    const message = `databasePasswordFile ${path} cannot be used: ${reason}`;
    throw new AgentError("GATEWAY_STORE_ACCESS", "none", message, { path }, { cause });
  }
}

/** Works with a connection and closes it. */
function withPostgres<T>(place: PostgresPlace, work: (reached: ReachedServer) => T): T {
  const reached = reachPostgres(place);
  try {
    return work(reached);
  } finally {
    reached.connection.close();
  }
}

/**
 * The key and the version of the database's tables. Writes nothing.
 * @throws AgentError as `inspectStore`; for PostgreSQL as `openDatabase`
 */
export function inspectDatabase({ database, postgres }: DatabaseSettings): DatabaseSummary {
  if (postgres === null) return inspectStore(database);
  return withPostgres(postgres, ({ connection, name }) => inspectPostgres(connection, name));
}

/**
 * Names a commit that waits for a synchronous standby of PostgreSQL, which keeps each start from
 * its first write; "" if none waits.
 * @throws AgentError as `openDatabase`
 */
export function findStandbyWait({ postgres }: DatabaseSettings): string {
  if (postgres === null) return "";
  return withPostgres(postgres, ({ connection, name }) =>
    waitsForStandby(connection) ? `${name} ${standbyWaitWords}` : "",
  );
}

function storeOfServer(
  { connection, name, state: { serverProcess } }: ReachedServer,
  log: GatewayLog,
  token: number | null,
): Store {
  const monotonic = (): number => performance.now();
  return storeOverPostgres({ connection, name, serverProcess, log, token, monotonic });
}

/**
 * Opens the database for one command; nothing is taken from a running gateway.
 * @throws AgentError as `openStore`; for PostgreSQL GATEWAY_STORE_AWAY, GATEWAY_STORE_ACCESS,
 * GATEWAY_STORE_MISSING, GATEWAY_STORE_UNSAFE, GATEWAY_STORE_VERSION, GATEWAY_STORE_OLDER
 */
export function openDatabase({ database, postgres }: DatabaseSettings, log: GatewayLog): Store {
  if (postgres === null) return openStore(database, log);
  const reached = reachPostgres(postgres);
  try {
    requireTables(reached);
    return storeOfServer(reached, log, null);
  } catch (error) {
    reached.connection.close();
    throw error;
  }
}

/** @throws AgentError GATEWAY_STORE_OLDER, and as `inspectPostgres` */
function requireTables({ connection, name }: ReachedServer): DatabaseSummary {
  const found = inspectPostgres(connection, name);
  if (!found.isOlder) return found;
  const message = `${name} has tables of version ${found.version}, and this gateway has version ${schemaVersion}: start it once, while no gateway of the earlier version runs`;
  throw new AgentError("GATEWAY_STORE_OLDER", "none", message, { path: name });
}

/** The run of the gateway that works on the database now; null if there is none. */
export function findActiveRun(
  { database, postgres }: DatabaseSettings,
  store: Store,
): string | null {
  return postgres === null ? owningRun(database) : readActiveRun(store.database);
}

/**
 * Makes all tables for the gateway key of this fingerprint, in a new file or in an empty database.
 * @throws AgentError GATEWAY_STORE_EXISTS, and as `openDatabase`
 */
export function createDatabase(
  { database, postgres }: DatabaseSettings,
  fingerprint: string,
  log: GatewayLog,
): void {
  if (postgres === null) {
    createStore(database, fingerprint, log).close();
    return;
  }
  withPostgres(postgres, ({ connection, name }) => {
    makePostgresTables(connection, fingerprint, name);
  });
}

export interface JoinOptions {
  readonly log: GatewayLog;
  readonly fingerprint: string; // fingerprint of the gateway's key
  readonly clock: () => number; // Unix milliseconds
  /** A standby found the lease free: start again, and perhaps become the active gateway. */
  readonly onFree: () => void;
}

/** A database that this process works on until `close`. */
export interface JoinedDatabase {
  readonly store: Store;
  readonly run: string; // unique among all processes that ever ran on the database
  readonly isActive: boolean; // false: another gateway has the lease, and this one is a standby
  /** Why the newest commits may be missing since the last start; "" if the server is the same. */
  readonly newHistory: string;
  /** Keeps the server's history; belongs into the transaction that acts on a new one. */
  keepHistory(database: Database): void;
  /** Lets the others see this gateway, and keeps the lease. To be called once. */
  beginHeartbeats(): void;
  close(): void; // harmless to call twice
}

/**
 * Takes the local lock, and of a PostgreSQL database the lease if it is free. Tables of an earlier
 * version in PostgreSQL are upgraded first, while no gateway is active.
 * @throws AgentError GATEWAY_STORE_OWNED, GATEWAY_KEY_OTHER, and as `openDatabase` and
 * `upgradePostgres`
 */
export function joinDatabase(config: GatewayConfig, options: JoinOptions): JoinedDatabase {
  const { postgres, database } = config;
  if (postgres === null) return joinFile(config, options);
  const reached = reachPostgres(postgres);
  try {
    const { connection, name } = reached;
    const { gatewayKey, isOlder } = inspectPostgres(connection, name);
    checkStoreKeyFingerprint(gatewayKey, options.fingerprint, { ...config, database: name });
    const ownership = ownStore(database);
    try {
      if (isOlder) upgradePostgres({ connection, name, log: options.log });
      const first = storeOfServer(reached, options.log, null);
      const token = takeLease(first, ownership.run, name);
      const store = token === null ? first : storeOfServer(reached, options.log, token);
      return new SharedDatabase(config, { ...options, reached, ownership, store, token });
    } catch (error) {
      ownership.release();
      throw error;
    }
  } catch (error) {
    reached.connection.close();
    throw error;
  }
}

function joinFile(config: GatewayConfig, { log, fingerprint }: JoinOptions): JoinedDatabase {
  const store = openStore(config.database, log);
  try {
    checkStoreKeyFingerprint(readGatewayKeyFingerprint(store.database), fingerprint, config);
    const { run, release } = ownStore(config.database);
    const close = (): void => {
      store.close();
      release();
    };
    const alone = {
      isActive: true,
      newHistory: "",
      keepHistory: () => {},
      beginHeartbeats: () => {},
    };
    return { store, run, ...alone, close };
  } catch (error) {
    store.close();
    throw error;
  }
}

interface SharedOptions extends JoinOptions {
  readonly reached: ReachedServer;
  readonly ownership: ReturnType<typeof ownStore>;
  readonly store: Store;
  readonly token: number | null;
}

class SharedDatabase implements JoinedDatabase {
  readonly store: Store;
  readonly run: string;
  readonly isActive: boolean;
  readonly newHistory: string;
  readonly #options: SharedOptions;
  readonly #presence: GatewayPresence;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(config: GatewayConfig, options: SharedOptions) {
    const { store, ownership, token } = options;
    this.#options = options;
    this.store = store;
    this.run = ownership.run;
    this.isActive = token !== null;
    this.newHistory = this.#compareHistory();
    this.#presence = {
      name: `${hostname()}:${config.listen.port}`,
      run: this.run,
      version,
      digest: digestOf(config),
      state: this.isActive ? "active" : "standby",
    };
  }

  /** A server with another history may lack the last commits of the one before. */
  #compareHistory(): string {
    const { history } = this.#options.reached.state;
    const known = readHistory(this.store.database).history;
    return known === "" || known === history ? "" : `its server was ${known}, and is ${history}`;
  }

  keepHistory(database: Database): void {
    const { clock, reached } = this.#options;
    const { history } = reached.state;
    if (readHistory(database).history !== history)
      keepHistory(database, { history, sinceMs: clock() });
  }

  beginHeartbeats(): void {
    this.#timer = setInterval(() => this.#sendHeartbeat(), heartbeatMs);
    this.#sendHeartbeat();
  }

  #sendHeartbeat(): void {
    const { store, log, onFree } = this.#options;
    try {
      store.write((database) => {
        if (this.isActive) renewLease(database);
        notePresence(database, this.#presence);
      });
      if (this.isActive || readLease(store.database).leftMs > 0) return;
      if (this.#timer !== null) clearInterval(this.#timer);
      onFree();
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      log.warn({ event: "lease-unrenewed", code: error.code }, error.message);
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { store, ownership, log } = this.#options;
    if (this.#timer !== null) clearInterval(this.#timer);
    try {
      if (!store.poisoned)
        store.write((database) => {
          if (this.isActive) giveUpLease(database);
          forgetPresence(database, this.#presence.name, this.run);
        });
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      log.warn({ event: "lease-unrenewed", code: error.code }, error.message);
    }
    store.close();
    ownership.release();
  }
}

/** Names the settings that all gateways on one database must share; the rest is a machine's own. */
function digestOf(config: GatewayConfig): string {
  const own = ["listen", "trustProxy", "database", "postgres", "keyFile", "metrics", "logLevel"];
  const shared = Object.entries(config).filter(([name]) => !own.includes(name));
  // The time of the file differs where a copy was made.
  const text = JSON.stringify(shared, (name, value) =>
    typeof value === "bigint" ? value.toString() : name === "changedAtMs" ? undefined : value,
  );
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
