/**
 * Stands between agent and gateway and keeps every body and frame in clear, so that a test can look
 * for forbidden content.
 */
import { createServer, request } from "node:http";
import { WebSocket, WebSocketServer } from "ws";

export interface Relay {
  readonly url: string;
  /** Everything that passed, both ways. */
  bytes(): Buffer;
  close(): Promise<void>;
}

/** Relays HTTP and the link to `targetUrl`, both on loopback. */
export async function startRelay(targetUrl: string): Promise<Relay> {
  const kept: Buffer[] = [];
  const target = new URL(targetUrl);
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const body = Buffer.concat(chunks);
      kept.push(Buffer.from(JSON.stringify(incoming.headers)), body);
      const onward = request(
        {
          host: target.hostname,
          port: target.port,
          path: incoming.url,
          method: incoming.method,
          headers: { ...incoming.headers, host: target.host },
        },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.on("data", (chunk: Buffer) => {
            kept.push(chunk);
            outgoing.write(chunk);
          });
          answer.on("end", () => outgoing.end());
        },
      );
      onward.on("error", () => outgoing.writeHead(502).end());
      onward.end(body);
    });
  });
  const hub = new WebSocketServer({ server, perMessageDeflate: false });
  hub.on("connection", (near, asked) => {
    const far = new WebSocket(`${targetUrl.replace("http", "ws")}${asked.url}`, {
      perMessageDeflate: false,
    });
    const waiting: Buffer[] = [];
    near.on("message", (data: Buffer) => {
      kept.push(data);
      if (far.readyState === WebSocket.OPEN) far.send(data);
      else waiting.push(data);
    });
    far.on("open", () => {
      for (const data of waiting) far.send(data);
    });
    far.on("message", (data: Buffer) => {
      kept.push(data);
      near.send(data);
    });
    const end = (): void => {
      near.terminate();
      far.terminate();
    };
    near.on("close", end).on("error", end);
    far.on("close", end).on("error", end);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    bytes: () => Buffer.concat(kept),
    async close() {
      for (const client of hub.clients) client.terminate();
      hub.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
