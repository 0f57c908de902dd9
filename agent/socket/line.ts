/**
 * One JSON object per line, in both directions: the framing of the signer's AF_UNIX sockets.
 * Bounded: a line that is too long ends the connection before all of it is in memory. The lines of
 * one turn of the event loop go out in one write. Sockets are opened elsewhere.
 */
import { AgentError } from "../../base/fault.ts";

/** The longest request with its newline. */
export const lineBytesMax = 1_048_576;
/**
 * The longest answer or push: enough for a start with thousands of open withdrawals. The signer is
 * the trusted end.
 */
export const answerBytesMax = 67_108_864;

const newline = 0x0a;

/**
 * Returns an object as one line. JSON escapes line breaks inside strings, so the newline is always
 * the end.
 */
export function encodeLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** Gathers the lines of one turn of the event loop. */
export class LineWriter {
  readonly #socket: { write(bytes: Uint8Array): unknown };
  #text = "";

  constructor(socket: { write(bytes: Uint8Array): unknown }) {
    this.#socket = socket;
  }

  /** UTF-16 units that wait for the end of this turn. */
  get pending(): number {
    return this.#text.length;
  }

  /**
   * Sends a line at the end of this turn: in a busy turn, a write for each event costs more than
   * its content.
   */
  write(line: string): void {
    if (this.#text === "") setImmediate(() => this.flush());
    this.#text += line;
  }

  /** Sends all waiting lines at once. A second call is harmless. */
  flush(): void {
    if (this.#text === "") return;
    const bytes = Buffer.from(this.#text);
    this.#text = "";
    this.#socket.write(bytes);
  }
}

/** Cuts a byte stream into lines. */
export class LineReader {
  readonly #bytesMax: number;
  #parts: Uint8Array[] = [];
  #held = 0;

  constructor(bytesMax: number = lineBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Takes the next bytes and calls `take` with each complete line, without its newline; the line is
   * a view, valid during the call.
   * @throws AgentError SOCKET_FORMAT if a line is too long; the reader is useless afterwards
   */
  push(chunk: Uint8Array, take: (line: Uint8Array) => void): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = chunk.subarray(start, end);
      start = end + 1;
      this.#assertFits(line.length + 1);
      if (this.#held === 0) {
        take(line);
        continue;
      }
      const whole = Buffer.concat([...this.#parts, line]);
      this.#parts = [];
      this.#held = 0;
      take(whole);
    }
    if (start === chunk.length) return;
    const rest = chunk.subarray(start);
    this.#assertFits(rest.length + 1);
    this.#parts.push(rest);
    this.#held += rest.length;
  }

  #assertFits(bytes: number): void {
    if (this.#held + bytes <= this.#bytesMax) return;
    throw new AgentError("SOCKET_FORMAT", "none", `a line is longer than ${this.#bytesMax} bytes`, { bytesMax: this.#bytesMax });
  }
}
