/**
 * The framing of the signer's AF_UNIX sockets, in both directions: a message is one JSON object on
 * a line, and before the line the frames that belong to it, each as a zero byte, its length in four
 * bytes (big-endian) and its bytes. No line begins with a zero byte. The line's field `frames` is
 * their number; in memory it is the list of them. Bounded: a message that is too long ends the
 * connection before all of it is in memory. The messages of one turn of the event loop go out in
 * one write. Sockets are opened elsewhere.
 */
import { AgentError } from "../../base/fault.ts";

/** The longest request with its newline and its frames, where no other limit is given. */
export const lineBytesMax = 1_048_576;
/** The longest request of the courier: an offer with as much evidence as `offered.ts` allows. */
export const courierLineBytesMax = 8_388_608;
/**
 * The longest answer or push: enough for a start with thousands of open withdrawals. The signer is
 * the trusted end.
 */
export const answerBytesMax = 67_108_864;

const newline = 0x0a;
const frameMark = 0x00;
const frameHeaderBytes = 5;

/** The bounds of one message. */
export interface MessageLimits {
  readonly bytesMax: number; // its line and its frames together
  readonly framesMax: number;
}

/** A message ready for the socket: its line, and what goes before the line. */
export interface EncodedMessage {
  readonly line: string;
  readonly frames: readonly Uint8Array[];
}

/**
 * Returns an object as one line. JSON escapes line breaks inside strings, so the newline is always
 * the end.
 */
export function encodeLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** Returns a message whose field `frames`, if it has one, goes as bytes before the line. */
export function encodeMessage(message: object): EncodedMessage {
  const { frames } = message as { readonly frames?: readonly Uint8Array[] };
  if (frames === undefined) return { line: encodeLine(message), frames: [] };
  return { line: encodeLine({ ...message, frames: frames.length }), frames };
}

/**
 * Returns the object of a line with its frames in their place.
 * @throws AgentError SOCKET_FORMAT if the line states another number of frames than came before it
 */
export function withFrames<T extends object>(message: T, frames: readonly Uint8Array[]): T {
  const { frames: stated } = message as { readonly frames?: unknown };
  if (stated === undefined && frames.length === 0) return message;
  if (stated === frames.length) return { ...message, frames };
  throw new AgentError(
    "SOCKET_FORMAT",
    "none",
    "a line states another number of frames than came with it",
  );
}

/** Gathers the messages of one turn of the event loop. */
export class LineWriter {
  readonly #socket: { write(bytes: Uint8Array): unknown };
  readonly #parts: Uint8Array[] = [];
  #held = 0; // bytes of #parts
  #text = "";

  constructor(socket: { write(bytes: Uint8Array): unknown }) {
    this.#socket = socket;
  }

  /** Bytes of frames and UTF-16 units of lines that wait for the end of this turn. */
  get pending(): number {
    return this.#held + this.#text.length;
  }

  /**
   * Sends a message at the end of this turn: in a busy turn, a write for each event costs more than
   * its content.
   */
  write({ line, frames }: EncodedMessage): void {
    if (this.pending === 0) setImmediate(() => this.flush());
    for (const frame of frames) {
      const header = Buffer.alloc(frameHeaderBytes);
      header.writeUInt32BE(frame.length, 1);
      this.#endText();
      this.#keep(header);
      this.#keep(frame);
    }
    this.#text += line;
  }

  /** Sends all waiting messages at once. A second call is harmless. */
  flush(): void {
    if (this.pending === 0) return;
    this.#endText();
    const bytes =
      this.#parts.length === 1 ? (this.#parts[0] as Uint8Array) : Buffer.concat(this.#parts);
    this.#parts.length = 0;
    this.#held = 0;
    this.#socket.write(bytes);
  }

  #endText(): void {
    if (this.#text === "") return;
    this.#keep(Buffer.from(this.#text));
    this.#text = "";
  }

  #keep(part: Uint8Array): void {
    this.#parts.push(part);
    this.#held += part.length;
  }
}

/** Cuts a byte stream into messages. */
export class LineReader {
  readonly #limits: MessageLimits;
  #parts: Uint8Array[] = []; // of the unfinished line, header or frame
  #held = 0;
  #headed: number | null = null; // length of the unfinished frame, null while its header is unfinished
  #isFrame = false;
  #frames: Uint8Array[] = [];
  #spent = 0; // bytes of the frames that wait for their line

  constructor(limits: Partial<MessageLimits> = {}) {
    this.#limits = { bytesMax: lineBytesMax, framesMax: 0, ...limits };
  }

  /**
   * Takes the next bytes and calls `take` with each complete line, without its newline, and the
   * frames before it. All are views of the bytes given.
   * @throws AgentError SOCKET_FORMAT if a message is too long or has too many frames or an empty
   * one; the reader is useless afterwards
   */
  push(chunk: Uint8Array, take: (line: Uint8Array, frames: readonly Uint8Array[]) => void): void {
    let at = 0;
    while (at < chunk.length) {
      if (!this.#isFrame && this.#held === 0 && chunk[at] === frameMark) this.#beginFrame();
      at = this.#isFrame ? this.#readFrame(chunk, at) : this.#readLine(chunk, at, take);
    }
  }

  #readLine(
    chunk: Uint8Array,
    from: number,
    take: (line: Uint8Array, frames: readonly Uint8Array[]) => void,
  ): number {
    const end = chunk.indexOf(newline, from);
    const part = chunk.subarray(from, end < 0 ? chunk.length : end);
    this.#assertFits(part.length + 1);
    this.#keep(part);
    if (end < 0) return chunk.length;
    const frames = this.#frames;
    this.#frames = [];
    this.#spent = 0;
    take(this.#whole(), frames);
    return end + 1;
  }

  #beginFrame(): void {
    if (this.#frames.length === this.#limits.framesMax) {
      const { framesMax } = this.#limits;
      throw new AgentError("SOCKET_FORMAT", "none", `a message has more than ${framesMax} frames`, {
        framesMax,
      });
    }
    this.#isFrame = true;
    this.#headed = null;
  }

  /** Reads a part of a header or of a frame's bytes; the length is judged before the bytes come. */
  #readFrame(chunk: Uint8Array, from: number): number {
    const wanted = this.#headed ?? frameHeaderBytes;
    const part = chunk.subarray(from, from + wanted - this.#held);
    this.#keep(part);
    if (this.#held < wanted) return chunk.length;
    const whole = this.#whole();
    if (this.#headed === null) {
      const length = Buffer.from(whole).readUInt32BE(1);
      this.#assertFits(frameHeaderBytes + length + 1);
      if (length === 0) throw new AgentError("SOCKET_FORMAT", "none", "a frame is empty");
      this.#headed = length;
    } else {
      this.#frames.push(whole);
      this.#spent += frameHeaderBytes + whole.length;
      this.#isFrame = false;
    }
    return from + part.length;
  }

  #keep(part: Uint8Array): void {
    if (part.length > 0) this.#parts.push(part);
    this.#held += part.length;
  }

  #whole(): Uint8Array {
    const whole =
      this.#parts.length === 1 ? (this.#parts[0] as Uint8Array) : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#held = 0;
    return whole;
  }

  #assertFits(bytes: number): void {
    const { bytesMax } = this.#limits;
    if (this.#spent + this.#held + bytes <= bytesMax) return;
    throw new AgentError("SOCKET_FORMAT", "none", `a message is longer than ${bytesMax} bytes`, {
      bytesMax,
    });
  }
}
