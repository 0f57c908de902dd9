/** A fault of the database, by the number that the server gives it. */
import type { PostgresRefusal } from "./messages.ts";

/** A statement that the server refused, or a connection that is lost. */
export class PostgresFault extends Error {
  override readonly name = "PostgresFault";
  /** postgresql.org/docs/15/errcodes-appendix.html; "" if the connection was lost. */
  readonly sqlState: string;
  readonly constraint: string;

  constructor({ sqlState, message, constraint }: PostgresRefusal) {
    super(message);
    this.sqlState = sqlState;
    this.constraint = constraint;
  }

  /** True if nobody knows what became of the statements, and nothing can be asked any more. */
  get isLost(): boolean {
    return this.sqlState === "";
  }
}
