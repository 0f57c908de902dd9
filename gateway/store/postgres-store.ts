/**
 * The store on PostgreSQL. It keeps SQLite's promise word for word: one writer at a time, over all
 * processes, because each writing transaction first takes the one row of the lease; so no two
 * transactions ever run beside each other, and none can be refused for what another one did. The
 * gateway's own transactions also name the lease's number, and one whose lease went to another
 * gateway ends before it writes. Statements without a wanted answer are sent together with the next
 * one. After a lost connection nobody knows what the last transaction did: the store is poisoned
 * and the process must end. Sources: postgresql.org/docs/15/explicit-locking.html (row locks),
 * errcodes-appendix.html, runtime-config-wal.html.
 */
import { AgentError, Bug, invariant } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { translateStatement } from "../postgres/dialect.ts";
import { PostgresFault } from "../postgres/fault.ts";
import { lockWaitMs, statementMs } from "../postgres/limits.ts";
import type { PostgresAnswer, PostgresAsk, PostgresConnection } from "../postgres/messages.ts";
import { translateDefinitions } from "../postgres/schema.ts";
import { createGroupCommit } from "./group-commit.ts";
import { schemaDigest, schemaVersion, statementsOf } from "./migrations.ts";
import { standbyWaitWords, waitsForStandby } from "./postgres-server.ts";
import { changesRemembered, RowMemory } from "./row-memory.ts";
import { schema } from "./schema.ts";
import type { SqlScalar, Statements } from "./statements.ts";
import type { Store } from "./store.ts";
import { WriteTrouble } from "./write-trouble.ts";

/** Errors of the server of which nothing stays, and which end by themselves. */
const lockNotAvailable = "55P03";
const queryCanceled = "57014";
const deadlock = "40P01";
const diskFull = "53100";
const divisionByZero = "22012";
const insufficientPrivilege = "42501";
const lostTurn =
  "gave the lease to another gateway, or a pooler gave the connection to another process of the server";
const heldByProcess = "is held by another process";
const busyStates: readonly string[] = [lockNotAvailable, queryCanceled, deadlock];

const begin: PostgresAsk = { text: "BEGIN", values: [] };
const commit: PostgresAsk = { text: "COMMIT", values: [] };
const rollback: PostgresAsk = { text: "ROLLBACK", values: [] };

/**
 * Fails where no row has the lease any more, and where another process of the server serves the
 * connection than at its beginning; waits for the transaction that has the row.
 */
const takeTurn = ({ serverProcess, token }: PostgresStoreOptions): PostgresAsk => {
  const own = token === null ? "" : " AND token = $2";
  return {
    text: `SELECT 1 / count(*) AS turn FROM (SELECT 1 FROM leases WHERE name = 'gateway' AND pg_backend_pid() = $1${own} FOR UPDATE) AS held`,
    values: token === null ? [serverProcess] : [serverProcess, token],
  };
};

export interface PostgresStoreOptions {
  readonly connection: PostgresConnection;
  readonly name: string; // the database's name, for messages
  readonly serverProcess: number; // that serves this connection; a pooler that changes it is found
  readonly log: GatewayLog;
  readonly token: number | null; // number of the lease under which this process writes; null for a command
  readonly monotonic: () => number;
}

/** A writing statement whose answer nobody wanted yet. */
interface WaitingAsk {
  readonly ask: PostgresAsk;
  answer: PostgresAnswer | null;
}

class Session {
  /** Its functions stand alone, as those of the other engine. */
  readonly database: Statements = {
    run: (sql, ...values) => this.run(sql, ...values),
    get: (sql, ...values) => this.get(sql, ...values),
    all: (sql, ...values) => this.all(sql, ...values),
  };
  readonly #options: PostgresStoreOptions;
  readonly #listeners: (() => void)[] = [];
  readonly #onPeopleChanged: () => void;
  readonly trouble: WriteTrouble;
  #waiting: WaitingAsk[] = [];
  #state: "idle" | "begun" | "sent" = "idle"; // sent: the server knows of the transaction
  #isPoisoned = false;
  #broken = ""; // why it is poisoned, in words
  #holder = heldByProcess; // who keeps this process from writing, in words

  constructor(options: PostgresStoreOptions, onPeopleChanged: () => void) {
    this.#options = options;
    this.#onPeopleChanged = onPeopleChanged;
    const waitFor = (ms: number): void => {
      this.#send([{ text: `SET lock_timeout = ${Math.max(ms, 1)}`, values: [] }]);
    };
    const probe = (): void => this.#probe();
    this.trouble = new WriteTrouble({ probe, waitFor }, lockWaitMs, options.monotonic);
  }

  get isPoisoned(): boolean {
    return this.#isPoisoned;
  }

  get isInTransaction(): boolean {
    return this.#state !== "idle";
  }

  onPoisoned(listener: () => void): void {
    this.#listeners.push(listener);
  }

  run(sql: string, ...values: readonly SqlScalar[]): { readonly changes: number } {
    if (changesRemembered(sql)) this.#onPeopleChanged();
    if (this.#state === "idle")
      return this.transact(
        () => this.run(sql, ...values),
        () => true,
      );
    const one: WaitingAsk = { ask: askOf(sql, values), answer: null };
    this.#waiting.push(one);
    const flush = (): void => void this.#flush([]);
    return {
      get changes() {
        if (one.answer === null) flush();
        return one.answer?.changes ?? 0;
      },
    };
  }

  get<Row>(sql: string, ...values: readonly SqlScalar[]): Row | undefined {
    return this.all<Row>(sql, ...values)[0];
  }

  all<Row>(sql: string, ...values: readonly SqlScalar[]): Row[] {
    const [answer] = this.#flush([askOf(sql, values)]);
    return (answer?.rows ?? []).map(withoutRowid) as Row[];
  }

  /** Runs `fn` in one transaction, which is rolled back unless its result `stays`. */
  transact<T>(fn: (database: Statements) => T, stays: (result: T) => boolean): T {
    if (this.trouble.isHeld && this.trouble.now() === "held") throw this.#held();
    return this.#transact(fn, stays);
  }

  #transact<T>(fn: (database: Statements) => T, stays: (result: T) => boolean): T {
    if (this.#isPoisoned) throw this.#poisoned();
    invariant(this.#state === "idle", "a database transaction inside another one");
    this.#state = "begun";
    try {
      const result = fn(this.database);
      if (result instanceof Promise) throw new Bug("a database transaction must not wait");
      if (stays(result)) this.#commit();
      else this.#rollBack();
      return result;
    } catch (error) {
      this.#rollBack();
      throw error;
    } finally {
      this.#state = "idle";
      this.#waiting = [];
    }
  }

  /** Sends what waits, and then `asks`; returns the answers to `asks`. */
  #flush(asks: readonly PostgresAsk[]): readonly PostgresAnswer[] {
    const opening = this.#state === "begun" ? [begin, takeTurn(this.#options)] : [];
    if (this.#state === "begun") this.#state = "sent";
    const waiting = this.#waiting;
    this.#waiting = [];
    const answers = this.#send([...opening, ...waiting.map(({ ask }) => ask), ...asks]);
    const [own, later] = [opening.length, opening.length + waiting.length];
    for (const [index, one] of waiting.entries()) one.answer = answers[own + index] ?? null;
    if (opening.length > 0) this.trouble.endHeld();
    return answers.slice(later);
  }

  #commit(): void {
    // Nothing was asked or written: the server knows nothing of the transaction.
    if (this.#state === "begun" && this.#waiting.length === 0) return;
    const [answer] = this.#flush([commit]);
    this.#state = "idle";
    const isDone = answer?.command === "COMMIT" && answer.warning === "";
    if (!isDone) throw this.#poison(`did not acknowledge: ${answer?.command} ${answer?.warning}`);
    this.trouble.end();
  }

  #rollBack(): void {
    const isOpen = this.#state === "sent" && !this.#isPoisoned;
    this.#state = "idle";
    this.#waiting = [];
    if (isOpen) this.#send([rollback]);
  }

  #send(asks: readonly PostgresAsk[]): readonly PostgresAnswer[] {
    if (this.#isPoisoned) throw this.#poisoned();
    try {
      return this.#options.connection.ask(asks);
    } catch (error) {
      throw this.#meaningOf(error);
    }
  }

  /** The fault of what the server refused; an error of a statement is returned unchanged. */
  #meaningOf(error: unknown): unknown {
    if (!(error instanceof PostgresFault)) return error;
    if (error.isLost) return this.#poison(`lost its connection: ${error.message}`, error);
    if (error.sqlState === divisionByZero) return this.#poison(lostTurn, error);
    if (busyStates.includes(error.sqlState)) {
      if (error.sqlState === lockNotAvailable && this.#state === "sent") this.#noteHeld();
      return error.sqlState === queryCanceled ? this.#ended(error) : this.#held(error);
    }
    if (error.sqlState !== diskFull) return error;
    this.trouble.begin("full");
    const { name } = this.#options;
    return new AgentError(
      "GATEWAY_DISK_FULL",
      "none",
      `the disk of ${name} is full`,
      { path: name },
      { cause: error },
    );
  }

  /** The transaction is over before the session's wait is changed. */
  #noteHeld(): void {
    this.#rollBack();
    const isWaiting = waitsForStandby({ ask: (asks) => this.#send(asks) });
    this.#holder = isWaiting ? standbyWaitWords : heldByProcess;
    this.trouble.begin("held");
  }

  #probe(): void {
    if (this.#state !== "idle" || this.#isPoisoned) return;
    try {
      this.#transact(
        () => this.get("SELECT value FROM meta WHERE name = 'schema'"),
        () => true,
      );
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
    }
  }

  #held(cause?: unknown): AgentError {
    const { name: path } = this.#options;
    const words = `${path} ${this.#holder}`;
    return new AgentError("GATEWAY_STORE_BUSY", "none", words, { path }, { cause });
  }

  /** By its limit of time, or by a person. */
  #ended(cause: PostgresFault): AgentError {
    const { name: path } = this.#options;
    const words = `${path} ended a statement, whose limit is ${statementMs / 1_000} s: ${cause.message}`;
    return new AgentError("GATEWAY_STORE_BUSY", "none", words, { path }, { cause });
  }

  #poisoned(cause?: unknown): AgentError {
    const { name: path } = this.#options;
    const words = `the database ${path} ${this.#broken}; nothing more is written`;
    return new AgentError("GATEWAY_STORE_POISONED", "unknown", words, { path }, { cause });
  }

  #poison(how: string, cause?: unknown): AgentError {
    const { name: path, log } = this.#options;
    if (!this.#isPoisoned) {
      this.#isPoisoned = true;
      this.#broken = how;
      log.error(
        { event: "store-failed", err: cause, path },
        `${path} ${this.#broken}; nothing more is written`,
      );
      for (const listener of this.#listeners) listener();
    }
    return this.#poisoned(cause);
  }
}

/** A statement of this program, in PostgreSQL's words. */
export function askOf(sql: string, values: readonly SqlScalar[]): PostgresAsk {
  return translateStatement(sql, values);
}

/** PostgreSQL needs a column for SQLite's own number of a row; no row of this program has it. */
function withoutRowid(row: Readonly<Record<string, unknown>>): unknown {
  if (!("rowid" in row)) return row;
  const { rowid: _, ...rest } = row;
  return rest;
}

/** The row that every write takes first (`takeTurn`), and the gateways (leases.ts). */
const sharedTables = [
  `CREATE TABLE leases (
  name TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL, until INTEGER NOT NULL) STRICT;`,
  `CREATE TABLE gateways (name TEXT PRIMARY KEY, run TEXT NOT NULL, version TEXT NOT NULL,
  digest TEXT NOT NULL, state TEXT NOT NULL, heartbeatAt INTEGER NOT NULL) STRICT;`,
];

/**
 * Makes all tables in an empty database, in one transaction. The database belongs to the gateway
 * key of this fingerprint permanently. `name` is for messages.
 * @throws AgentError GATEWAY_STORE_EXISTS, GATEWAY_STORE_ACCESS
 */
export function makePostgresTables(
  connection: PostgresConnection,
  fingerprint: string,
  name: string,
): void {
  const count = "SELECT count(*) AS tables FROM pg_tables WHERE schemaname = current_schema()";
  const [found] = connection.ask([{ text: count, values: [] }]);
  if (Number(found?.rows[0]?.tables) > 0) {
    const message = `${name} has tables already`;
    throw new AgentError("GATEWAY_STORE_EXISTS", "none", message, { path: name });
  }
  try {
    connection.ask(makingAll(fingerprint));
  } catch (cause) {
    if (!(cause instanceof PostgresFault) || cause.sqlState !== insufficientPrivilege) throw cause;
    const message = `the role of ${name} may not make tables: ${cause.message}`;
    throw new AgentError("GATEWAY_STORE_ACCESS", "none", message, { path: name }, { cause });
  }
}

function makingAll(fingerprint: string): readonly PostgresAsk[] {
  const meta = (key: string, value: string): PostgresAsk => ({
    text: "INSERT INTO meta (name, value) VALUES ($1, $2)",
    values: [key, value],
  });
  const definitions = translateDefinitions([...statementsOf(schema), ...sharedTables]);
  return [
    begin,
    ...definitions.map((text) => ({ text, values: [] })),
    {
      text: "INSERT INTO leases (name, holder, token, until) VALUES ('gateway', '', 0, 0)",
      values: [],
    },
    meta("schema", String(schemaVersion)),
    meta("schemaDigest", schemaDigest),
    meta("gatewayKey", fingerprint),
    commit,
  ];
}

/** A store over an open connection; commands of an operator have no number of the lease. */
export function storeOverPostgres(options: PostgresStoreOptions): Store {
  const { connection } = options;
  const session: Session = new Session(options, () => remembered.forget());
  let turn = 0; // a command on another machine may have changed a row in each turn
  const remembered: RowMemory = new RowMemory({
    get: (sql, ...values) => session.get(sql, ...values),
    version: () => {
      turn += 1;
      return turn;
    },
    isInTransaction: () => session.isInTransaction,
  });
  return {
    database: session.database,
    remembered,
    get poisoned() {
      return session.isPoisoned;
    },
    get trouble() {
      return session.trouble.now();
    },
    onPoisoned: (listener) => session.onPoisoned(listener),
    write: (fn) => session.transact(fn, () => true),
    writeTogether: createGroupCommit((fn) => session.transact(fn, () => true)),
    writeIfOk: (fn) => session.transact(fn, ({ ok }) => ok),
    close: () => connection.close(),
  };
}
