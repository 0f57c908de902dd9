/**
 * Serves metrics at one address: a socket file of this user, or a port of this machine. Answers
 * only GET /metrics. If the address is in use, the server tries again without end, because a
 * process must not end for a problem that passes by itself.
 */
import { rmSync } from "node:fs";
import { createServer, type Server } from "node:http";

export type ListenAddress =
  | { readonly path: string }
  | { readonly host: string; readonly port: number };

export interface MetricsServerOptions {
  readonly place: ListenAddress;
  readonly text: () => Promise<string>; // called for each request
  readonly contentType: string;
  readonly onListen: (where: string) => void;
  /** Called at the first failure, and again only after the server has listened. */
  readonly onFailed: (why: string) => void;
  readonly retryMs?: number;
}

const retryMsDefault = 5000;
const connectionsMax = 8;
/** A place is given back this soon by a client that asks nothing, or does not read its answer. */
const requestTimeoutMs = 5000;
const timeoutCheckMs = 1000;

/** Starts at once. `close` may be repeated without harm. */
export function serveMetrics(options: MetricsServerOptions): { close(): void } {
  const { place, onListen, onFailed, retryMs = retryMsDefault } = options;
  let server: Server | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isTold = false;
  const start = (): void => {
    server = createMetricsServer(options);
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (!isTold) onFailed(error.code ?? error.message);
      isTold = true;
      timer = setTimeout(start, retryMs);
    });
    server.once("listening", () => {
      isTold = false;
      onListen("path" in place ? place.path : `${place.host}:${place.port}`);
    });
    // An earlier process left this file. The lock of the state folder excludes another process now.
    if ("path" in place) rmSync(place.path, { force: true });
    server.listen(place);
  };
  start();
  return {
    close() {
      if (timer !== null) clearTimeout(timer);
      server?.close();
      server?.closeAllConnections();
    },
  };
}

function createMetricsServer({ text, contentType }: MetricsServerOptions): Server {
  const limits = {
    maxHeaderSize: 8192,
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: timeoutCheckMs,
  };
  const server = createServer(limits, (request, response) => {
    const isAsked = request.url?.split("?")[0] === "/metrics";
    if (!isAsked || request.method !== "GET") {
      response
        .writeHead(isAsked ? 405 : 404, {
          "content-type": "text/plain",
          ...(isAsked ? { allow: "GET" } : {}),
        })
        .end();
      return;
    }
    text().then(
      (body) => response.writeHead(200, { "content-type": contentType }).end(body),
      () => response.writeHead(500).end(),
    );
  });
  server.maxConnections = connectionsMax;
  server.setTimeout(requestTimeoutMs);
  return server;
}
