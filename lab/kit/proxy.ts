/**
 * A TCP proxy that can fail on purpose: reset, stall, refuse, swallow one way, delay. For loopback
 * addresses only.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

/** How new and open connections are treated. */
type ProxyMode = "open" | "stalled" | "refusing" | "half" | "slow";

/** How long each piece waits in `slow`. */
const slowMs = 40;

export interface TcpProxy {
  readonly port: number;
  /** Resets every open connection now; new ones go through again. */
  cut(): void;
  /**
   * `stalled`: bytes wait; `refusing`: connections are reset; `half`: what the target says
   * vanishes, and the connection with it is useless from then on; `slow`: every piece comes late.
   * Going back to `open` lets waiting bytes flow.
   */
  mode(next: ProxyMode): void;
  close(): Promise<void>;
}

/** Listens on a free loopback port and forwards to `targetPort` on loopback. */
export async function startProxy(targetPort: number): Promise<TcpProxy> {
  let mode: ProxyMode = "open";
  const pairs = new Set<{ near: Socket; far: Socket }>();
  const forward = (from: Socket, to: Socket, isAnswer: boolean): void => {
    let last = Promise.resolve();
    from.on("data", (chunk: Buffer) => {
      if (mode === "half" && isAnswer) return;
      if (mode === "slow")
        last = last.then(() => new Promise((resolve) => setTimeout(resolve, slowMs)));
      // In order, also when the mode changes while something waits.
      last = last.then(() => {
        if (to.destroyed || to.write(chunk)) return;
        from.pause();
        to.once("drain", () => from.resume());
      });
    });
    from.on("end", () => {
      last = last.then(() => void to.end());
    });
  };
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
    forward(near, far, false);
    forward(far, near, true);
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
