/**
 * A chain node's address that counts the calls which pass to it and the bytes that come back,
 * without reading either: what an operator's node, or its bill, sees of a program. For loopback
 * addresses only.
 */
import { connect, createServer, type Socket } from "node:net";

export interface CountedNode {
  readonly url: string;
  /** Calls so far; each call of a batch counts. */
  calls(): number;
  /** Bytes that the node sent so far, with the heads of its answers. */
  bytes(): number;
  /** Resolves with `performance.now()` of the moment when the text first passes to the node. */
  passed(text: string): Promise<number>;
  close(): Promise<void>;
}

/** Stands once in each call of JSON-RPC. */
export const rpcMark = '"method":';
/** Stands once in each request of HTTP, where a call has a request of its own. */
export const requestMark = " HTTP/1.1\r\n";
/** Texts that are waited for are not longer than this, since a piece may end within one. */
const textMax = 64;

/** How often the mark ends in `text` behind its first `from` characters. */
function countOf(mark: string, text: string, from: number): number {
  let count = 0;
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) {
    if (at + mark.length > from) count += 1;
  }
  return count;
}

/** Listens on a free port and hands everything on to the node at `target`. */
export async function countCalls(target: string, mark = rpcMark): Promise<CountedNode> {
  const { port: targetPort, pathname } = new URL(target);
  let calls = 0;
  let bytes = 0;
  const waited = new Map<string, (atMs: number) => void>();
  const sockets = new Set<Socket>();
  const look = (piece: Buffer, tail: string): string => {
    const text = tail + piece.toString("latin1");
    calls += countOf(mark, text, tail.length);
    for (const [wanted, found] of waited) {
      if (!text.includes(wanted)) continue;
      waited.delete(wanted);
      found(performance.now());
    }
    return text.slice(-textMax);
  };
  const server = createServer((near) => {
    const far = connect(Number(targetPort), "127.0.0.1");
    let tail = "";
    near.on("data", (piece: Buffer) => {
      tail = look(piece, tail);
    });
    far.on("data", (piece: Buffer) => {
      bytes += piece.length;
    });
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      const end = (): void => {
        near.destroy();
        far.destroy();
      };
      socket.on("error", end).on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}${pathname === "/" ? "" : pathname}`,
    calls: () => calls,
    bytes: () => bytes,
    passed: (text) => new Promise((resolve) => waited.set(text, resolve)),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
