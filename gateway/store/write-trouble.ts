/**
 * Remembers that the database takes no writes now, and asks again. A file that another process
 * holds costs one wait of the busy time-out; after it every write is refused at once, because a
 * wait blocks the whole process, and a probe each 250 ms finds the end. On a full disk each write
 * is tried, which costs nothing, and a probe finds the end when no write comes. Source:
 * sqlite.org/rescode.html (SQLITE_BUSY, SQLITE_FULL).
 */

/** Why nothing can be written now; "" if nothing is known to stand against it. */
export type Trouble = "" | "held" | "full";

/** The connection's own part. */
export interface Connection {
  /** Writes something that changes nothing, and takes note here of how it went. */
  probe(): void;
  /** Sets how long a statement waits for a file that another process holds. */
  waitFor(ms: number): void;
}

const probeMs = 250;

export class WriteTrouble {
  readonly #connection: Connection;
  readonly #busyMs: number;
  readonly #monotonic: () => number;
  #trouble: Trouble = "";
  #askedAt = 0;

  /** `busyMs` is the connection's own wait, to which it goes back; `monotonic` in milliseconds. */
  constructor(connection: Connection, busyMs: number, monotonic: () => number) {
    this.#connection = connection;
    this.#busyMs = busyMs;
    this.#monotonic = monotonic;
  }

  /** Takes note of a write that failed. */
  begin(trouble: "held" | "full"): void {
    if (trouble === "full") this.endHeld();
    else if (this.#trouble !== "held") this.#connection.waitFor(0);
    this.#trouble = trouble;
    this.#askedAt = this.#monotonic();
  }

  /** Takes note of a write that is durable. */
  end(): void {
    this.endHeld();
    this.#trouble = "";
  }

  /** Takes note that the file could be had. */
  endHeld(): void {
    if (this.#trouble !== "held") return;
    this.#connection.waitFor(this.#busyMs);
    this.#trouble = "";
  }

  /** True if another process held the file at the last try. */
  get isHeld(): boolean {
    return this.#trouble === "held";
  }

  /** The trouble of now, asked again if the last answer is 250 ms old. */
  now(): Trouble {
    if (this.#trouble === "" || this.#monotonic() - this.#askedAt < probeMs) return this.#trouble;
    this.#askedAt = this.#monotonic();
    this.#connection.probe();
    return this.#trouble;
  }
}
