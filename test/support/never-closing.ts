/**
 * Other ends that never close: a socket that goes half-open when its peer ends, stays, and lets the
 * peer keep its descriptor permanently. A test tells with them whether a listener or a client of
 * the product lets go by itself.
 */
import { connect, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";

const probeMs = 20;

/**
 * Resolves when the peer has given its socket up: bytes to it come back as a reset. A peer that has
 * only ended its side takes them permanently.
 */
export function isLetGo(socket: Socket): Promise<true> {
  return new Promise((resolve) => {
    const timer = setInterval(() => socket.destroyed || socket.write("\0"), probeMs);
    const done = (): void => {
      clearInterval(timer);
      socket.destroy();
      resolve(true);
    };
    socket.once("error", done);
    socket.once("close", done);
  });
}

/** Resolves when the peer has ended its side, by a FIN or a reset. */
export function isEnded(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ["end", "error", "close"]) socket.once(event, () => resolve());
    socket.resume();
  });
}

/** A client that says `first` and never closes. */
export function openNeverClosing(
  place: NetConnectOpts,
  first: string | Uint8Array = "",
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...place, allowHalfOpen: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      socket.on("error", () => {});
      if (first.length > 0) socket.write(first);
      resolve(socket);
    });
  });
}

/**
 * A server that does with each connection what `answer` says and never closes one. `next` resolves
 * with the next connection.
 */
export async function listenNeverClosing(
  place: { readonly port: 0; readonly host: string } | { readonly path: string },
  answer: (socket: Socket) => void,
): Promise<{ readonly server: Server; readonly port: number; next(): Promise<Socket> }> {
  const arrived: Socket[] = [];
  const waiting: ((socket: Socket) => void)[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    const wake = waiting.shift();
    if (wake === undefined) arrived.push(socket);
    else wake(socket);
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(place, resolve));
  const address = server.address();
  return {
    server,
    port: typeof address === "object" && address !== null ? address.port : 0,
    next: () => {
      const first = arrived.shift();
      return first !== undefined
        ? Promise.resolve(first)
        : new Promise((resolve) => waiting.push(resolve));
    },
  };
}
