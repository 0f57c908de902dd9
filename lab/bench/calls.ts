/**
 * A chain node's address that counts the JSON-RPC calls which pass to it, without reading them as
 * JSON: what an operator's node, or its bill, sees of a program. For loopback addresses only.
 */
import { connect, createServer, type Socket } from "node:net";

export interface CountedNode {
  readonly url: string;
  /** Calls so far; each call of a batch counts. */
  calls(): number;
  /** Resolves with `performance.now()` of the moment when the text first passes to the node. */
  passed(text: string): Promise<number>;
  close(): Promise<void>;
}

const callMark = '"method":';
/** Texts that are waited for are not longer than this, since a piece may end within one. */
const textMax = 64;

/** How often the mark ends in `text` behind its first `from` characters. */
function countOf(text: string, from: number): number {
  let count = 0;
  for (let at = text.indexOf(callMark); at >= 0; at = text.indexOf(callMark, at + 1)) {
    if (at + callMark.length > from) count += 1;
  }
  return count;
}

/** Listens on a free port and hands everything on to the node at `target`. */
export async function countCalls(target: string): Promise<CountedNode> {
  let calls = 0;
  const waited = new Map<string, (atMs: number) => void>();
  const sockets = new Set<Socket>();
  const look = (piece: Buffer, tail: string): string => {
    const text = tail + piece.toString("latin1");
    calls += countOf(text, tail.length);
    for (const [wanted, found] of waited) {
      if (!text.includes(wanted)) continue;
      waited.delete(wanted);
      found(performance.now());
    }
    return text.slice(-textMax);
  };
  const server = createServer((near) => {
    const far = connect(Number(new URL(target).port), "127.0.0.1");
    let tail = "";
    near.on("data", (piece: Buffer) => {
      tail = look(piece, tail);
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
    url: `http://127.0.0.1:${port}`,
    calls: () => calls,
    passed: (text) => new Promise((resolve) => waited.set(text, resolve)),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
