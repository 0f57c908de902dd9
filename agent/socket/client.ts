/**
 * The requesting end of the signer's sockets, for courier and CLI: requests by verb, answers
 * matched by id, pushes as they come. Touches one AF_UNIX socket. Answers come from the signer, the
 * trusted end, and are read with the runtime's own parser.
 */
import { createConnection, type Socket } from "node:net";
import { AgentError } from "../../base/fault.ts";
import { answerBytesMax, encodeMessage, LineReader, LineWriter, withFrames } from "./line.ts";
import { type PushMessage, reportFramesMax } from "./verbs.ts";

/** An answer: the verb's own fields, or a refusal or fault by its code. */
export type SocketAnswer<A> =
  | ({ readonly ok: true } & A)
  | {
      readonly ok: false;
      readonly code: string;
      readonly detail: string;
      readonly effect: "none" | "done" | "unknown";
    };

/**
 * `Requests` and `Answers` map each verb to its fields, for example CourierRequests and
 * CourierAnswers.
 */
export interface SocketClient<
  Requests extends object,
  Answers extends { readonly [V in keyof Requests]?: object },
> {
  /**
   * Sends a request and waits. A refusal is an answer (`ok: false`). Rejects with AgentError
   * SOCKET_UNREACHABLE, SOCKET_BUSY (effect none), SOCKET_CLOSED or SOCKET_TIMEOUT (effect unknown:
   * the signer may have acted; a repeat is harmless).
   */
  request<V extends keyof Requests & keyof Answers & string>(
    verb: V,
    body: Requests[V],
  ): Promise<SocketAnswer<Answers[V]>>;
  /** Sets the one listener for pushes; a later one replaces it. */
  onPush(listener: (push: PushMessage) => void): void;
  /**
   * Calls the listener once after any end of the connection; at once if the connection has ended
   * already.
   */
  onClose(listener: (reason: AgentError) => void): void;
  /** Ends the connection; all waiting requests get SOCKET_CLOSED. A second call is harmless. */
  close(): void;
}

export interface SocketClientOptions {
  readonly timeoutMs: number; // for one answer, including the wait for the connection
  readonly outstandingMax?: number; // requests without an answer yet
}

const outstandingDefault = 1024;

interface PendingRequest {
  readonly resolve: (answer: never) => void;
  readonly reject: (fault: AgentError) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Connects to a socket file; requests may be made at once. A closed client stays closed; the caller
 * makes another.
 */
export function createSocketClient<
  Requests extends object,
  Answers extends { readonly [V in keyof Requests]?: object },
>(path: string, options: SocketClientOptions): SocketClient<Requests, Answers> {
  return new LineClient(path, options) as SocketClient<Requests, Answers>;
}

class LineClient {
  readonly #path: string;
  readonly #socket: Socket;
  readonly #options: SocketClientOptions;
  readonly #lines = new LineReader({ bytesMax: answerBytesMax, framesMax: reportFramesMax });
  readonly #out: LineWriter;
  readonly #waiting = new Map<number, PendingRequest>();
  #nextId = 1;
  #connected = false;
  #ended: AgentError | null = null;
  #pushListener: (push: PushMessage) => void = () => {};
  #closeListener: (reason: AgentError) => void = () => {};

  constructor(path: string, options: SocketClientOptions) {
    const socket = createConnection(path);
    this.#path = path;
    this.#socket = socket;
    this.#options = options;
    this.#out = new LineWriter(socket);
    socket.on("connect", () => {
      this.#connected = true;
    });
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", (cause) => this.#end(this.#lost(cause)));
    socket.on("close", () => this.#end(this.#lost()));
  }

  request(verb: string, body: object): Promise<never> {
    if (this.#ended !== null)
      return Promise.reject(
        new AgentError(this.#ended.code, "none", this.#ended.message, { verb }),
      );
    if (this.#waiting.size >= (this.#options.outstandingMax ?? outstandingDefault)) {
      return Promise.reject(
        new AgentError("SOCKET_BUSY", "none", "too many requests wait on this socket", { verb }),
      );
    }
    const id = this.#nextId++;
    this.#out.write(encodeMessage({ id, verb, ...body }));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(
          new AgentError("SOCKET_TIMEOUT", "unknown", `no answer to ${verb} in time`, {
            verb,
            timeoutMs: this.#options.timeoutMs,
          }),
        );
      }, this.#options.timeoutMs);
      this.#waiting.set(id, { resolve, reject, timer });
    });
  }

  onPush(listener: (push: PushMessage) => void): void {
    this.#pushListener = listener;
  }

  onClose(listener: (reason: AgentError) => void): void {
    if (this.#ended !== null) listener(this.#ended);
    else this.#closeListener = listener;
  }

  close(): void {
    this.#end(new AgentError("SOCKET_CLOSED", "unknown", "the socket was closed on this side"));
  }

  #read(chunk: Uint8Array): void {
    try {
      this.#lines.push(chunk, (line, frames) => this.#take(line, frames));
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause;
      this.#end(cause);
    }
  }

  #take(line: Uint8Array, frames: readonly Uint8Array[]): void {
    if (this.#ended !== null) return;
    const message = withFrames(parseObject(line), frames);
    if (typeof message.push === "string") {
      this.#pushListener(message as unknown as PushMessage);
      return;
    }
    const { id, ...answer } = message;
    const waiting = this.#waiting.get(id as number);
    if (waiting === undefined) {
      if (id === 0)
        throw new AgentError("SOCKET_FORMAT", "none", "the other end could not read a line", {
          code: String(answer.code),
        });
      return; // The request had timed out.
    }
    this.#waiting.delete(id as number);
    clearTimeout(waiting.timer);
    waiting.resolve(answer as never);
  }

  #lost(cause?: Error): AgentError {
    if (this.#connected)
      return new AgentError(
        "SOCKET_CLOSED",
        "unknown",
        "the other end closed the socket",
        {},
        { cause },
      );
    const reason = (cause as NodeJS.ErrnoException | undefined)?.code ?? "";
    return new AgentError(
      "SOCKET_UNREACHABLE",
      "none",
      `nobody answers on the socket ${this.#path}`,
      { reason },
      { cause },
    );
  }

  #end(reason: AgentError): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    this.#socket.destroy();
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(reason);
    }
    this.#waiting.clear();
    this.#closeListener(reason);
  }
}

function parseObject(line: Uint8Array): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.length).toString("utf8"));
  } catch (cause) {
    throw new AgentError("SOCKET_FORMAT", "none", "a line is not JSON", {}, { cause });
  }
  if (typeof value !== "object" || value === null)
    throw new AgentError("SOCKET_FORMAT", "none", "a line is not an object");
  return value as Readonly<Record<string, unknown>>;
}
