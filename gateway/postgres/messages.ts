/** The messages between the gateway and the thread that holds the connection. */
import type { DatabaseAddress, ServerPlace } from "./address.ts";

/** A value of a column, in both directions. */
export type PostgresCell = string | number | bigint | Uint8Array | null;

/** One statement in PostgreSQL's words. */
export interface PostgresAsk {
  readonly text: string;
  readonly values: readonly PostgresCell[];
}

export interface PostgresAnswer {
  readonly rows: readonly Readonly<Record<string, PostgresCell>>[];
  readonly changes: number; // rows that the statement wrote; of a reading one, those that it found
  readonly command: string; // the server's own word for what it did, such as COMMIT or ROLLBACK
  readonly warning: string; // the server's warning with it; "" without one
}

/** Why a statement was not done. */
export interface PostgresRefusal {
  /** The five characters of the server's error; "" if the connection was lost. */
  readonly sqlState: string;
  readonly message: string;
  readonly constraint: string; // name of the constraint that refused a row, or ""
}

/** The address of one server, and how to enter it. */
export type OneServerAddress = Omit<DatabaseAddress, "servers"> & {
  readonly server: ServerPlace;
  readonly password: string; // "" for none
};

/** The thread's first words: how to reach the server. */
export interface ConnectionOrder {
  readonly address: OneServerAddress;
  readonly timeoutMs: number; // limit of the opening
  readonly settings: Readonly<Record<string, string>>; // set when the session begins
  /** Becomes 1 with each answer, and the waiting thread wakes. */
  readonly bell: Int32Array;
}

/** Answers up to the first refusal: what comes behind a refused statement was not done either. */
export interface PostgresReply {
  readonly answers: readonly PostgresAnswer[];
  readonly refusal: PostgresRefusal | null;
}

export interface PostgresConnection {
  /**
   * Sends statements in their order, without waiting between them, and returns all answers. A
   * connection without an answer after `waitMs` is lost; by default the time of a usual statement.
   * @throws PostgresFault (fault.ts) of the first refused statement; later ones were not done
   */
  ask(asks: readonly PostgresAsk[], waitMs?: number): readonly PostgresAnswer[];
  /** Harmless to call twice. */
  close(): void;
}
