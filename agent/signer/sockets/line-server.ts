/**
 * The listening end of the signer's AF_UNIX sockets: bounded lines, bounded requests in flight, and
 * bounded memory for each reader. Input is hostile until it is read. The server never connects
 * anywhere: /proc shows whether a socket file is stale. Sources: unix(7); sd_listen_fds(3) for
 * inherited sockets.
 */
import { chmodSync, lstatSync, readFileSync, unlinkSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { AgentError } from "../../../base/fault.ts";
import { parseJson } from "../../../base/json.ts";
import {
  courierLineBytesMax,
  type EncodedMessage,
  encodeMessage,
  LineReader,
  LineWriter,
  lineBytesMax,
  withFrames,
} from "../../socket/line.ts";
import type { Answer, PushMessage, Request } from "../../socket/verbs.ts";

/** One client. Both calls are harmless after it has gone. */
export interface LineConnection {
  push(message: PushMessage): void;
  close(): void;
}

export interface LineServerOptions {
  /**
   * Called for each well-formed request; `answer` must be called once, now or later. It must not
   * throw.
   */
  readonly onRequest: (
    request: Request,
    answer: (answer: Answer) => void,
    connection: LineConnection,
  ) => void;
  readonly onConnect?: (connection: LineConnection) => void;
  readonly onClose?: (connection: LineConnection) => void;
  readonly onListening: () => void;
  /**
   * Called if the socket could not be opened or failed later; the process is useless without it.
   */
  readonly onFault: (fault: AgentError) => void;
  readonly connectionsMax: number; // further connections are closed at once
  readonly framesMax?: number; // of one request, default none
  readonly requestBytesMax?: number; // of one request with its frames, default lineBytesMax
  // requests of one connection in progress; more stay unread
  readonly outstandingMax: number;
  /** The most unread bytes of answers and pushes before a connection is dropped; default 64 MiB. */
  readonly unreadBytesMax?: number;
}

export interface LineServer {
  /** Sends to every connection. */
  push(message: PushMessage): void;
  /** Stops listening, drops every connection and removes the socket file. Twice is harmless. */
  close(): void;
}

const unreadBytesDefault = 67_108_864;
/**
 * sun_path of unix(7) without its final zero; older runtimes cut a longer path without an error.
 */
const pathBytesMax = 107;
/** The time that a client with broken framing has to read the reason. */
const hangUpMs = 1000;
/** The longest string in a request names the coins of an attempt. */
const jsonLimits = { bytesMax: courierLineBytesMax, stringBytesMax: 16_384 } as const;

/**
 * Listens on a path (0600, a stale file replaced) or on `fd:N`, a listening socket inherited from
 * the service manager.
 */
export function listenLines(address: string, options: LineServerOptions): LineServer {
  return new BoundedServer(address, options);
}

class BoundedServer implements LineServer {
  readonly #options: LineServerOptions;
  readonly #server: Server;
  readonly #connections = new Set<BoundedConnection>();
  readonly #path: string | null;
  #closed = false;

  constructor(address: string, options: LineServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.on("error", (cause: NodeJS.ErrnoException) =>
      options.onFault(listenFault(address, cause)),
    );
    this.#server.on("listening", () => this.#listening());
    const inherited = /^fd:(\d{1,4})$/.exec(address);
    this.#path = inherited === null ? address : null;
    if (inherited !== null) this.#server.listen({ fd: Number(inherited[1]) });
    else this.#listen(address);
  }

  push(message: PushMessage): void {
    const encoded = encodeMessage(message);
    for (const connection of this.#connections) connection.write(encoded);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#server.close(); // Node removes the file it made.
    for (const connection of this.#connections) connection.close();
  }

  #listen(path: string): void {
    try {
      makeWay(path);
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause;
      queueMicrotask(() => this.#options.onFault(cause)); // Never called before the caller has the server.
      return;
    }
    // The file is created inside listen, so the umask leaves no moment with wider permissions.
    const before = process.umask(0o177);
    try {
      this.#server.listen(path);
    } finally {
      process.umask(before);
    }
  }

  #listening(): void {
    try {
      if (this.#path !== null) chmodSync(this.#path, 0o600);
    } catch (cause) {
      this.#options.onFault(listenFault(this.#path ?? "", cause as NodeJS.ErrnoException));
      return;
    }
    this.#options.onListening();
  }

  #accept(socket: Socket): void {
    if (this.#closed || this.#connections.size >= this.#options.connectionsMax) {
      socket.destroy();
      return;
    }
    const connection = new BoundedConnection(socket, this.#options);
    this.#connections.add(connection);
    socket.on("close", () => {
      this.#connections.delete(connection);
      this.#options.onClose?.(connection);
    });
    this.#options.onConnect?.(connection);
  }
}

class BoundedConnection implements LineConnection {
  readonly #socket: Socket;
  readonly #options: LineServerOptions;
  readonly #lines: LineReader;
  readonly #queue: [line: Uint8Array, frames: readonly Uint8Array[]][] = []; // read, not yet worked on
  readonly #out: LineWriter;
  #outstanding = 0;

  constructor(socket: Socket, options: LineServerOptions) {
    this.#socket = socket;
    this.#out = new LineWriter(socket);
    this.#options = options;
    this.#lines = new LineReader({
      bytesMax: options.requestBytesMax ?? lineBytesMax,
      framesMax: options.framesMax ?? 0,
    });
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", () => socket.destroy()); // The other end is gone; `close` follows.
  }

  push(message: PushMessage): void {
    this.write(encodeMessage(message));
  }

  close(): void {
    this.#socket.destroy();
  }

  write(message: EncodedMessage): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    const unread = this.#socket.writableLength + this.#out.pending;
    if (unread > (this.#options.unreadBytesMax ?? unreadBytesDefault)) {
      this.#socket.destroy();
      return;
    }
    this.#out.write(message);
  }

  #read(chunk: Uint8Array): void {
    try {
      this.#lines.push(chunk, (line, frames) => this.#queue.push([line, frames])); // Node never uses a chunk's buffer again.
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause;
      this.#hangUp(cause);
      return;
    }
    this.#work();
  }

  #work(): void {
    while (this.#outstanding < this.#options.outstandingMax && !this.#socket.destroyed) {
      const message = this.#queue.shift();
      if (message === undefined) break;
      this.#take(...message);
    }
    if (this.#queue.length > 0) this.#socket.pause();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }

  #take(line: Uint8Array, frames: readonly Uint8Array[]): void {
    let request: Request;
    try {
      request = withFrames(readRequest(line), frames);
    } catch (cause) {
      if (!(cause instanceof AgentError)) throw cause;
      this.#hangUp(cause);
      return;
    }
    let answered = false;
    this.#outstanding += 1;
    const answer = (each: Answer): void => {
      if (answered) return;
      answered = true;
      this.#outstanding -= 1;
      this.write(encodeMessage(each));
      if (this.#queue.length > 0) queueMicrotask(() => this.#work());
    };
    this.#options.onRequest(request, answer, this);
  }

  /**
   * Answers request 0 with the fault and closes the connection: after one framing error, no later
   * input can be read reliably.
   */
  #hangUp({ code, message }: AgentError): void {
    this.#queue.length = 0;
    this.#socket.pause();
    this.#socket.setTimeout(hangUpMs, () => this.#socket.destroy());
    this.#out.flush();
    const { line } = encodeMessage({ id: 0, ok: false, code, detail: message, effect: "none" });
    this.#socket.end(line, () => this.#socket.destroy());
  }
}

/**
 * Reads one line as a request. @throws AgentError SOCKET_FORMAT for anything but strict JSON with
 * an id from 1 and a verb
 */
export function readRequest(line: Uint8Array): Request {
  let value: unknown;
  try {
    value = parseJson(line, jsonLimits);
  } catch (cause) {
    throw new AgentError("SOCKET_FORMAT", "none", "a request is not strict JSON", {}, { cause });
  }
  const request = value as Request;
  const sound = typeof value === "object" && value !== null && !Array.isArray(value);
  if (
    !sound ||
    !Number.isSafeInteger(request.id) ||
    request.id < 1 ||
    typeof request.verb !== "string"
  ) {
    throw new AgentError("SOCKET_FORMAT", "none", "a request has an id from 1 and a verb");
  }
  return request;
}

/**
 * Checks the path, and removes a socket file on which no process listens any more. The state
 * folder's lock already excludes a second agent; this check guards against a foreign program at the
 * same path. @throws AgentError SOCKET_IN_USE, SOCKET_LISTEN
 */
function makeWay(path: string): void {
  if (Buffer.byteLength(path) > pathBytesMax) {
    throw new AgentError("SOCKET_LISTEN", "none", `the socket's path ${path} is too long`, {
      path,
      pathBytesMax,
    });
  }
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (!found.isSocket())
      throw new AgentError(
        "SOCKET_LISTEN",
        "none",
        `${path}, the socket's place, is taken by another file`,
        { path },
      );
    if (hasListener(path))
      throw new AgentError("SOCKET_IN_USE", "none", `another process listens on ${path}`, { path });
    unlinkSync(path);
  } catch (cause) {
    throw cause instanceof AgentError ? cause : listenFault(path, cause as NodeJS.ErrnoException);
  }
}

/**
 * True if a process listens on the path. Columns of the table: Num RefCount Protocol Flags Type St
 * Inode Path; a listening socket has the flag 0x10000 (proc(5), /proc/net/unix).
 */
function hasListener(path: string): boolean {
  let table: string;
  try {
    table = readFileSync("/proc/self/net/unix", "utf8");
  } catch {
    return false; // The service manager hides the table; then only this service uses the folder.
  }
  return table.split("\n").some((row) => {
    const fields = row.trim().split(/\s+/);
    return (
      fields.slice(7).join(" ") === path && (Number.parseInt(fields[3] ?? "", 16) & 0x10000) !== 0
    );
  });
}

function listenFault(address: string, cause: NodeJS.ErrnoException): AgentError {
  const reason = cause.code ?? "";
  const code = reason === "EADDRINUSE" ? "SOCKET_IN_USE" : "SOCKET_LISTEN";
  return new AgentError(
    code,
    "none",
    `the socket ${address} cannot be opened for listening (${reason})`,
    { address, reason },
    { cause },
  );
}
