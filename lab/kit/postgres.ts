/**
 * A PostgreSQL server of a test's own, in a scratch folder and on a socket there, and databases of
 * the gateway in it. Debian's package has the programs; a machine without them skips such tests
 * aloud. The server compares texts by a language's rules, as a person's server may: the tables must
 * not depend on these. Source: postgresql.org/docs/15/app-initdb.html.
 */
import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GatewayLog } from "../../base/log.ts";
import { parseDatabaseUrl } from "../../gateway/postgres/address.ts";
import { openPostgresConnection } from "../../gateway/postgres/connection.ts";
import type { OneServerAddress, PostgresConnection } from "../../gateway/postgres/messages.ts";
import type { CopySide } from "../../gateway/store/copy-rows.ts";
import { makePostgresTables, storeOverPostgres } from "../../gateway/store/postgres-store.ts";
import type { Store } from "../../gateway/store/store.ts";

/** The line that brings the server to a machine. */
export const postgresInstallLine = "apt-get install postgresql";

/** The folder of the server's programs; null on a machine without them. */
export function postgresPrograms(): string | null {
  const folders = [17, 16, 15].map((version) => `/usr/lib/postgresql/${version}/bin`);
  return folders.find((folder) => existsSync(join(folder, "initdb"))) ?? null;
}

export interface PostgresServer {
  readonly folder: string; // folder of its socket
  /** The address of one of its databases. */
  urlOf(database: string): string;
  /** Starts a standby of this server, which follows without the server's waiting for it. */
  makeReplica(): PostgresServer;
  cutOff(): void; // a standby gets nothing more from its primary
  promote(): void; // a standby becomes the primary
  /** Copies all that the server has now; the copy lies in the server's folder. */
  takeBackup(): PostgresBackup;
  kill(): void; // nothing is written any more; the folder stays
  stop(): void;
}

/** A copy of a server's data. */
export interface PostgresBackup {
  /** Starts a server on the copy, with a history of its own. To be called once. */
  restore(): PostgresServer;
}

/** The system's user that the package made; the server does not run as root. */
function idsOfPostgres(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync("/etc/passwd", "utf8").match(/^postgres:[^:]*:(\d+):(\d+):/m);
  if (line === null) throw new Error(`no user postgres: ${postgresInstallLine}`);
  return { uid: Number(line[1]), gid: Number(line[2]) };
}

/**
 * Ends the server and removes its folder when this process is gone, however it ended: the pipe
 * between them is closed then. Returns how to send the guard away.
 */
function guardServer(
  folder: string,
  programs: string,
  ids: ReturnType<typeof idsOfPostgres>,
): () => void {
  const script = 'read _; "$0" -D "$1/data" -m immediate -w stop; rm -rf "$1"';
  const guard = spawn("sh", ["-c", script, join(programs, "pg_ctl"), folder], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    ...ids,
  });
  guard.unref();
  (guard.stdin as Socket).unref();
  return () => void guard.kill();
}

type Settings = Readonly<Record<string, string>>;

/** Starts a server with the settings of a production, but for `settings`. */
export function startPostgres(settings: Settings = {}): PostgresServer {
  const locale = ["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"];
  const how = ["-U", "gateway", "-A", "trust", "-E", "UTF8", "--no-sync", ...locale];
  return startServer((run, data) => run("initdb", "-D", data, ...how), settings);
}

/** Runs one of the server's programs, as the server's user. */
type ProgramRunner = (program: string, ...words: readonly string[]) => void;

/** Starts a server on the data that `make` puts into the given folder. */
function startServer(
  make: (run: ProgramRunner, data: string) => void,
  settings: Settings,
): PostgresServer {
  const programs = postgresPrograms();
  if (programs === null) throw new Error(`no PostgreSQL here: ${postgresInstallLine}`);
  const ids = idsOfPostgres();
  const folder = mkdtempSync(join(tmpdir(), "postgres-"));
  if (ids !== undefined) chownSync(folder, ids.uid, ids.gid);
  const sendGuardAway = guardServer(folder, programs, ids);
  const data = join(folder, "data");
  const run: ProgramRunner = (program, ...words) => {
    const { status, stderr } = spawnSync(join(programs, program), words, {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
      ...ids,
    });
    if (status !== 0) throw new Error(`${program}: ${stderr}`);
  };
  make(run, data);
  // Shared memory is a file of the folder too: a server that is cut off leaves nothing elsewhere.
  const places = { unix_socket_directories: folder, dynamic_shared_memory_type: "mmap" };
  const given = { listen_addresses: "", ...places, ...settings };
  const options = Object.entries(given).map(([name, value]) => `-c ${name}='${value}'`);
  const log = join(folder, "log");
  const urlOf = (database: string): string => `postgres:///${database}?host=${folder}&user=gateway`;
  let backups = 0;
  run("pg_ctl", "-D", data, "-l", log, "-w", "-o", options.join(" "), "start");
  return {
    folder,
    urlOf,
    makeReplica() {
      const copy = ["-h", folder, "-U", "gateway", "-R", "-X", "stream", "-c", "fast"];
      return startServer((run, target) => run("pg_basebackup", "-D", target, ...copy), settings);
    },
    cutOff() {
      askDatabase(urlOf("postgres"), "ALTER SYSTEM SET primary_conninfo = ''");
      askDatabase(urlOf("postgres"), "SELECT pg_reload_conf()");
      waitFor(urlOf("postgres"), "SELECT count(*) = 0 AS done FROM pg_stat_wal_receiver");
    },
    promote: () => run("pg_ctl", "-D", data, "-w", "promote"),
    takeBackup() {
      backups += 1;
      const copy = join(folder, `backup-${backups}`);
      run("pg_basebackup", "-D", copy, "-h", folder, "-U", "gateway", "-X", "stream", "-c", "fast");
      return { restore: () => restoreServer(copy, settings) };
    },
    kill: () => run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"),
    stop() {
      sendGuardAway();
      if (existsSync(join(data, "postmaster.pid")))
        run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop");
      rmSync(folder, { recursive: true });
    },
  };
}

/**
 * Starts a server on the copy in a folder, as a recovery without an archive: all that the copy has
 * comes back, under the next timeline. Source: postgresql.org/docs/15/continuous-archiving.html.
 */
function restoreServer(copy: string, settings: Settings): PostgresServer {
  const server = startServer((_, data) => {
    renameSync(copy, data);
    const signal = join(data, "recovery.signal");
    writeFileSync(signal, "");
    const ids = idsOfPostgres();
    if (ids !== undefined) chownSync(signal, ids.uid, ids.gid);
    appendFileSync(join(data, "postgresql.auto.conf"), "restore_command = 'false'\n");
  }, settings);
  waitFor(server.urlOf("postgres"), "SELECT NOT pg_is_in_recovery() AS done");
  return server;
}

const doneMs = 20_000;
const doneEveryMs = 50;

/** Asks a question again until its column `done` is true. @throws Error after some seconds */
function waitFor(url: string, question: string): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let leftMs = doneMs; leftMs > 0; leftMs -= doneEveryMs) {
    if (Number(askDatabase(url, question)[0]?.done) === 1) return;
    Atomics.wait(pause, 0, 0, doneEveryMs);
  }
  throw new Error(`not within ${doneMs} ms: ${question}`);
}

/** The address of a URL that the test itself wrote; the server asks for no password. */
export function addressOf(url: string): OneServerAddress {
  const address = parseDatabaseUrl(url);
  if (typeof address === "string") throw new Error(address);
  const { servers, ...entry } = address;
  return { ...entry, server: servers[0] ?? { host: "", port: 0 }, password: "" };
}

/** Sends one statement to a database, on a connection of its own. */
export function askDatabase(
  url: string,
  text: string,
): readonly Readonly<Record<string, unknown>>[] {
  const connection = connectTo(url);
  try {
    return connection.ask([{ text, values: [] }])[0]?.rows ?? [];
  } finally {
    connection.close();
  }
}

/** Makes databases of the gateway: the tables once, and every later one as a copy. */
export class PostgresDatabases {
  readonly #urlOf: (database: string) => string;
  readonly #prefix: string;
  #count = 0;

  /** `urlOf`: the address of a database of the server. */
  constructor(urlOf: (database: string) => string) {
    this.#urlOf = urlOf;
    this.#prefix = `t${process.pid}_${Date.now().toString(36)}_`;
  }

  /** Makes a database with all tables and returns its address. */
  make(): string {
    const first = `${this.#prefix}first`;
    const admin = this.#urlOf("postgres");
    if (this.#count === 0) {
      askDatabase(admin, `CREATE DATABASE ${first}`);
      const connection = connectTo(this.#urlOf(first));
      makePostgresTables(connection, "", first);
      connection.close();
    }
    this.#count += 1;
    const name = `${this.#prefix}${this.#count}`;
    askDatabase(admin, `CREATE DATABASE ${name} TEMPLATE ${first}`);
    return this.#urlOf(name);
  }
}

export const connectTo = (url: string): PostgresConnection =>
  openPostgresConnection(addressOf(url));

/** A store over a connection to the database of `url`. */
export function storeOverConnection(
  connection: PostgresConnection,
  url: string,
  log: GatewayLog,
  token: number | null = null,
): Store {
  // The server of many tests syncs nothing, so it is not judged.
  const [answer] = connection.ask([{ text: "SELECT pg_backend_pid() AS process", values: [] }]);
  const serverProcess = Number(answer?.rows[0]?.process);
  const monotonic = (): number => performance.now();
  return storeOverPostgres({ connection, name: url, serverProcess, log, token, monotonic });
}

/** A store over a database of PostgreSQL, as a command opens it, or under a lease's number. */
export function openTestStore(url: string, log: GatewayLog, token: number | null = null): Store {
  return storeOverConnection(connectTo(url), url, log, token);
}

/** A database of PostgreSQL as the source or the target of a copy. */
export const postgresSide = (url: string, log: GatewayLog): CopySide => ({
  engine: "postgres",
  name: url,
  store: openTestStore(url, log),
});
