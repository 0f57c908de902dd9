/**
 * The last answer on a connection that is refused. Pure: the socket is passed in. Sources: RFC 9112
 * section 9.6 (a server closes in stages, so that its answer arrives although the other end still
 * writes); RFC 9293 section 3.6 (a half-closed connection lasts as long as the other end likes).
 */

/** The part of a stream that is used here. */
interface ClosableConnection {
  readonly destroyed: boolean;
  readonly writable: boolean;
  on(event: "error", listener: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
  end(bytes: string | Uint8Array): unknown;
  resume(): unknown;
  destroy(): unknown;
}

/** Time for the other end to read the last bytes and to close too. */
export const closeSoonMs = 2_000;

/**
 * Writes the last bytes and ends the connection. Bytes that still come are read and forgotten, so
 * that the other end gets the answer and no reset. An end that does not close by itself loses the
 * connection after two seconds, because a socket that is only ended keeps its descriptor until the
 * other end agrees. Does nothing on a connection that has ended already.
 */
export function closeSoon(socket: ClosableConnection, bytes: string | Uint8Array): void {
  if (socket.destroyed || !socket.writable) return;
  const timer = setTimeout(() => socket.destroy(), closeSoonMs);
  socket.once("close", () => clearTimeout(timer));
  socket.on("error", () => socket.destroy());
  socket.end(bytes);
  socket.resume();
}
