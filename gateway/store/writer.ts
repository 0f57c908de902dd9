/**
 * The transactions of a store: one at a time on its one connection, each durable when it returns.
 * Tells refused writes, of which nothing stays, from a commit with an unknown outcome. Source:
 * sqlite.org/lang_transaction.html, "Response To Errors Within A Transaction".
 */
import type { DatabaseSync } from "@photostructure/sqlite";
import { AgentError, Bug, invariant } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import { isDiskFull } from "./disk.ts";
import { isBusy, isUncommitted } from "./library-errors.ts";
import type { Statements } from "./statements.ts";
import { WriteTrouble } from "./trouble.ts";

export interface WriterOptions {
  readonly raw: InstanceType<typeof DatabaseSync>;
  readonly database: Statements; // the same connection
  readonly path: string; // for messages
  readonly log: GatewayLog;
  readonly busyTimeoutMs: number;
  readonly monotonic: () => number; // milliseconds
}

export class Writer {
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
      if (!isBusy(error)) throw this.#refused(error);
      this.trouble.begin("held");
      throw this.#held(error);
    }
    this.trouble.endHeld();
  }

  #commit(): void {
    try {
      this.#options.raw.exec("COMMIT");
    } catch (error) {
      throw isUncommitted(error) ? error : this.#poison(error);
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
