/** A TCP proxy that can fail on purpose: cut (reset), stall (accept and forward nothing), refuse. For loopback addresses only. */
import { connect, createServer, type Server, type Socket } from "node:net";

/** How new and open connections are treated. */
export type ProxyMode = "open" | "stalled" | "refusing";

export interface TcpProxy {
  readonly port: number;
  /** Resets every open connection now; new ones go through again. */
  cut(): void;
  /** `stalled`: bytes wait; `refusing`: new connections are reset at once. Going back to `open` lets waiting bytes flow. */
  mode(next: ProxyMode): void;
  close(): Promise<void>;
}

/** Listens on a free loopback port and forwards to `targetPort` on loopback. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  let mode: ProxyMode = "open";
  const pairs = new Set<{ near: Socket; far: Socket }>();
  const server: Server = createServer((near) => {
    if (mode === "refusing") {
      near.resetAndDestroy();
      return;
    }
    const far = connect(targetPort, "127.0.0.1");
    const pair = { near, far };
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    near.on("error", end).on("close", end);
    far.on("error", end).on("close", end);
    near.pipe(far);
    far.pipe(near);
    if (mode === "stalled") {
      near.pause();
      far.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    port,
    cut() {
      for (const { near, far } of pairs) {
        near.resetAndDestroy();
        far.resetAndDestroy();
      }
    },
    mode(next) {
      mode = next;
      for (const { near, far } of pairs) {
        if (next === "stalled") {
          near.pause();
          far.pause();
        } else if (next === "refusing") {
          near.resetAndDestroy();
          far.resetAndDestroy();
        } else {
          near.resume();
          far.resume();
        }
      }
    },
    async close() {
      for (const { near, far } of pairs) {
        near.destroy();
        far.destroy();
      }
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
