/**
 * A balancer of loopback for several gateways: it asks each one's `/ready`, as docs/scale.md,
 * section 3, asks of a real balancer.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const askEveryMs = 500;
const askMs = 1_000; // an answer of /ready that takes longer is none

/** Whether a gateway takes orders, answers at all, or neither. */
export type Readiness = "ready" | "not ready" | "away";

/** Asks the gateway on a port of loopback. */
export async function askReady(port: number): Promise<Readiness> {
  try {
    const signal = AbortSignal.timeout(askMs);
    const answer = await fetch(`http://127.0.0.1:${port}/ready`, { signal });
    await answer.arrayBuffer();
    return answer.ok ? "ready" : "not ready";
  } catch {
    return "away";
  }
}

/**
 * One address for all gateways. A new connection goes to the gateway that is ready; while none is,
 * to one that answers, whose 503 the caller gets. Connections to any other gateway are cut when a
 * gateway becomes ready, because agents and shops would stay on them.
 */
export class Balancer {
  readonly #ports: readonly number[];
  readonly #server: Server;
  readonly #pairs = new Set<{ readonly near: Socket; readonly far: Socket; readonly to: number }>();
  #target: number | null = null;
  #isClosed = false;

  constructor(ports: readonly number[]) {
    this.#ports = ports;
    this.#server = createServer((near) => this.#forward(near));
  }

  /** Listens on a free port of loopback and returns the port. */
  async open(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    void this.#look();
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  async #look(): Promise<void> {
    while (!this.#isClosed) {
      const answers = await Promise.all(this.#ports.map(askReady));
      const portThat = (is: Readiness): number | null => this.#ports[answers.indexOf(is)] ?? null;
      const ready = portThat("ready");
      this.#target = ready ?? portThat("not ready");
      if (ready !== null) this.#cut((to) => to !== ready);
      await sleep(askEveryMs);
    }
  }

  #forward(near: Socket): void {
    const to = this.#target;
    if (to === null) {
      near.resetAndDestroy();
      return;
    }
    const far = connect(to, "127.0.0.1");
    const pair = { near, far, to };
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on("error", end).on("close", end);
    near.pipe(far).pipe(near);
  }

  #cut(isMeant: (port: number) => boolean): void {
    for (const { near, far, to } of this.#pairs)
      if (isMeant(to)) {
        near.destroy();
        far.destroy();
      }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cut(() => true);
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
