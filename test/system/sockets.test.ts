/**
 * Every listener and every client of the product, by the file that opens it, with the test in which
 * its other end never closes. A file that opens a connection and stands in no row fails the check.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { linkAddress } from "../../agent/courier/link/address.ts";
import { createLink } from "../../agent/courier/link/link.ts";
import { listenLines } from "../../agent/signer/sockets/line-server.ts";
import { createSocketClient } from "../../agent/socket/client.ts";
import { serveMetrics } from "../../base/alerts/metrics/server.ts";
import { useEgress } from "../../base/outgoing/egress.ts";
import { createOutgoingClient, type OutgoingOutcome } from "../../base/outgoing/exchange.ts";
import { createClient } from "../../clients/typescript/client.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { keyPair } from "../support/link-gateway.ts";
import {
  isEnded,
  isLetGo,
  listenNeverClosing,
  openNeverClosing,
} from "../support/never-closing.ts";

const silent = "test/gateway/silent-connections.test.ts";
const here = "test/system/sockets.test.ts";

/** Each row: the file, what it opens, the test with an end that never closes, and its title. */
const rows: readonly (readonly [file: string, opens: string, test: string, title: string])[] = [
  // listeners
  [
    "gateway/api/server.ts",
    "the gateway's API, pages, pairing, /ready, and answers below the framework",
    silent,
    "is let go by the gateway",
  ],
  ["gateway/gateway.ts", "the same, with its port", silent, "is let go by the gateway"],
  ["gateway/hub/hub.ts", "links of the agents", silent, "is let go by the hub"],
  [
    "base/alerts/metrics/server.ts",
    "metrics of gateway and courier",
    here,
    "the metrics listener lets go",
  ],
  ["gateway/reporting/reporting.ts", "the gateway's metrics", here, "the metrics listener lets go"],
  [
    "agent/signer/sockets/line-server.ts",
    "the signer's sockets",
    here,
    "the signer's sockets let go",
  ],
  [
    "agent/signer/main.ts",
    "its sockets for courier and operator",
    here,
    "the signer's sockets let go",
  ],
  [
    "gateway/operator/check.ts",
    "the port, for a moment of check, before anybody can connect",
    here,
    "a port that is only tried",
  ],
  [
    "examples/shop/shop.ts",
    "the example's receiver, by Node's own limits",
    here,
    "every listener and client",
  ],
  // clients
  ["base/outgoing/exchange.ts", "every HTTP request that leaves", here, "an exchange lets go"],
  ["base/outgoing/egress.ts", "the way by a company's proxy", here, "a tunnel lets go"],
  [
    "chains/providers/rpc-post.ts",
    "questions to nodes, by the exchange",
    here,
    "an exchange lets go",
  ],
  ["gateway/prices/ask.ts", "questions to markets, by the exchange", here, "an exchange lets go"],
  [
    "gateway/callbacks/send.ts",
    "callbacks, by the exchange; name servers, by a cancelled resolver",
    here,
    "an exchange lets go",
  ],
  ["base/alerts/queue/send.ts", "alerts and notify, by the exchange", here, "an exchange lets go"],
  [
    "gateway/operator/health.ts",
    "/ready of the own gateway, by the exchange",
    here,
    "an exchange lets go",
  ],
  ["cli/registering/register.ts", "pairing, by the exchange", here, "an exchange lets go"],
  ["cli/doctor/outside.ts", "the gateway's clock, by the exchange", here, "an exchange lets go"],
  ["agent/courier/link/link.ts", "the link to the gateway", here, "the agent's link lets go"],
  [
    "agent/socket/client.ts",
    "the signer's sockets",
    here,
    "a client of the signer's sockets lets go",
  ],
  [
    "agent/courier/main.ts",
    "the signer's socket; metrics",
    here,
    "a client of the signer's sockets lets go",
  ],
  [
    "agent/launcher/terminal-messages.ts",
    "the operator's socket",
    here,
    "a client of the signer's sockets lets go",
  ],
  ["cli/operator.ts", "the operator's socket", here, "a client of the signer's sockets lets go"],
  ["clients/typescript/client.ts", "the shop's requests", here, "the shop's client lets go"],
  [
    "gateway/pages/page-script.ts",
    "the payer's browser, with its own limits",
    here,
    "every listener and client",
  ],
];

/**
 * Calls that open a connection or a listener, of Node, of the packages, and of the product's own
 * parts.
 */
const opening =
  /import \{[^}]*\b(?:connect|createConnection)\b[^}]*\} from "node:(?:net|tls)"|\b(?:createServer|fetch|fastify|createOutgoingClient|createSocketClient|listenLines|serveMetrics|openTunnel)(?:<[^>()]*>)?\(|\bnew (?:WebSocket|WebSocketServer|Pool|Resolver|Server|Socket)\(|\.listen\(|from "node:(?:http|https|http2|dgram|dns)"/;
const product = ["agent", "base", "chains", "cli", "clients", "examples", "gateway", "protocol"];
/** A type is no connection, and a comment neither. */
const code = (text: string): string =>
  text.replace(/^import type .*$|\/\*[\s\S]*?\*\/|^export function .*$/gm, "");

function sources(folder: string): readonly string[] {
  return readdirSync(join(projectRoot, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory()
      ? sources(path)
      : /\.(?:ts|tsx|js)$/.test(path) && !path.endsWith(".d.ts")
        ? [path]
        : [];
  });
}

it("every listener and client of the product stands in the table, with a test whose other end never closes", () => {
  const found = product
    .flatMap(sources)
    .filter((path) => opening.test(code(readFileSync(join(projectRoot, path), "utf8"))));
  expect(rows.map(([file]) => file).sort()).toEqual([...found].sort());
  for (const [file, , test, title] of rows)
    expect(
      readFileSync(join(projectRoot, test), "utf8").split(title).length,
      `${file}: ${title}`,
    ).toBeGreaterThan(1);
});

const dir = mkdtempSync(join(tmpdir(), "sockets-"));
const closers: (() => unknown)[] = [];
const opened: Socket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
  for (const close of closers.splice(0)) close();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function peer(
  place: Parameters<typeof listenNeverClosing>[0],
  answer: (socket: Socket) => void,
) {
  const listening = await listenNeverClosing(place, (socket) => {
    opened.push(socket);
    answer(socket);
  });
  closers.push(() => listening.server.close());
  return listening;
}
const local = { port: 0, host: "127.0.0.1" } as const;
const answered = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const says =
  (text: string) =>
  (socket: Socket): void =>
    void socket.once("data", () => socket.write(text));

/** Waits for the client's end, then proves that nothing of its connection is left. */
async function letsGo(next: Promise<Socket>): Promise<void> {
  const socket = await next;
  await isEnded(socket);
  expect(await isLetGo(socket)).toBe(true);
}

describe("listeners", () => {
  it.each([
    ["asks nothing", ""],
    ["asks half a question", "GET /metrics HTTP/1.1\r\nHost: x\r\n"],
    ["sends no HTTP", "\u0000\r\n\r\n"],
    ["got its answer", "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"],
  ])("the metrics listener lets go of a client that %s", async (_what, first) => {
    const path = join(dir, "metrics.sock");
    await new Promise<void>((resolve, reject) => {
      const text = async (): Promise<string> => "up 1\n";
      const place = { path };
      const served = serveMetrics({
        place,
        text,
        contentType: "text/plain",
        onListen: () => resolve(),
        onFailed: reject,
      });
      closers.push(() => served.close());
    });
    const socket = await openNeverClosing({ path }, first);
    opened.push(socket);
    await isEnded(socket);
    expect(await isLetGo(socket)).toBe(true);
  });

  it("the signer's sockets let go of a client that sends no JSON, of one too many, and of all at their end", async () => {
    const path = join(dir, "lines.sock");
    const server = await new Promise<{ close(): void }>((resolve, reject) => {
      const made = listenLines(path, {
        onRequest: () => {},
        onListening: () => resolve(made),
        onFault: reject,
        connectionsMax: 2,
        outstandingMax: 1,
      });
    });
    closers.push(() => server.close());
    const quiet = await openNeverClosing({ path });
    const noisy = await openNeverClosing({ path }, "no JSON\n");
    const extra = await openNeverClosing({ path });
    opened.push(quiet, noisy, extra);
    for (const socket of [extra, noisy]) {
      await isEnded(socket);
      expect(await isLetGo(socket)).toBe(true);
    }
    const end = isEnded(quiet);
    server.close();
    await end;
    expect(await isLetGo(quiet)).toBe(true);
  });

  it("a port that is only tried is closed in the turn in which it listens, before a connection is taken", () => {
    const text = readFileSync(join(projectRoot, "gateway/operator/check.ts"), "utf8");
    expect(text).toContain("server.listen(port, host, () => server.close(");
  });
});

describe("clients", () => {
  /** An answer is waited for; silence is given up soon. */
  const patience = (isAnswered: boolean): number => (isAnswered ? 20_000 : 300);
  const exchanged = (port: number, idleMs: number, timeoutMs: number): Promise<OutgoingOutcome> => {
    const outgoing = createOutgoingClient({
      origin: `http://127.0.0.1:${port}`,
      connectionsMax: 1,
      idleMs,
    });
    closers.push(() => outgoing.close());
    return new Promise((done) =>
      outgoing.send({ method: "GET", path: "/", bytesMax: 64, timeoutMs }, done),
    );
  };
  it.each([
    ["answers", answered, 0, true],
    ["answers, when the connection is kept", answered, 50, true],
    ["answers nothing", "", 0, false],
    ["stops in its answer", answered.slice(0, -1), 0, false],
    [
      "answers more than was asked for",
      `HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n${"x".repeat(999)}`,
      50,
      false,
    ],
    ["answers no HTTP", "\u0000\u0000\r\n\r\n", 50, false],
  ])("an exchange lets go of a server that %s", async (_what, text, idleMs, ok) => {
    const { port, next } = await peer(local, says(text));
    const arrived = next();
    expect((await exchanged(port, idleMs, patience(ok))).ok).toBe(ok);
    await letsGo(arrived);
  });

  it.each([
    ["says nothing", ""],
    ["refuses", "HTTP/1.1 403 Forbidden\r\n\r\n"],
    ["is no proxy", "220 mail\r\n\r\n"],
    ["opens the way to nobody", "HTTP/1.1 200 OK\r\n\r\n"],
  ])("a tunnel lets go of a proxy that %s", async (_what, text) => {
    const { port, next } = await peer(local, says(text));
    useEgress({ ca: "", proxy: `http://127.0.0.1:${port}`, direct: [] });
    closers.push(() => useEgress({ ca: "", proxy: "", direct: [] }));
    const outgoing = createOutgoingClient({
      origin: "https://node.example",
      connectionsMax: 1,
      idleMs: 0,
      connectMs: 200,
    });
    closers.push(() => outgoing.close());
    const arrived = next();
    const request = { method: "GET", path: "/", bytesMax: 64, timeoutMs: 1_000 } as const;
    expect((await new Promise<OutgoingOutcome>((done) => outgoing.send(request, done))).ok).toBe(
      false,
    );
    await letsGo(arrived);
  });

  it.each([
    ["never answers the upgrade", ""],
    ["refuses the upgrade", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"],
    [
      "upgrades and says no more",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ",
    ],
  ])("the agent's link lets go of a gateway that %s", async (_what, text) => {
    const { port, next } = await peer(local, (socket) => {
      socket.once("data", (head) =>
        socket.write(text.endsWith("Accept: ") ? `${text}${acceptOf(String(head))}\r\n\r\n` : text),
      );
    });
    const arrived = next();
    const [gatewayKey, linkKey] = [keyPair(), keyPair()];
    const link = createLink({
      address: linkAddress(`http://127.0.0.1:${port}`),
      gatewayKey: gatewayKey.publicKey,
      linkKey: linkKey.privateKey,
      self: {
        agent: "ab".repeat(8),
        wallet: "cd".repeat(16),
        ledgerEpoch: 1,
        nonce: "ef".repeat(32),
      },
      software: "test",
      clock: Date.now,
      random: () => 0,
      head: () => null,
      open: () => [],
      times: { handshakeMs: 200, closeMs: 100, baseMs: 60_000, capMs: 60_000 },
      onUp: () => {},
      onRecovery: () => {},
      onFrame: () => {},
      onDown: () => {},
    });
    closers.push(() => link.close());
    await letsGo(arrived);
  });

  it("a client of the signer's sockets lets go of a server that never answers", async () => {
    const path = join(dir, "client.sock");
    const { next } = await peer({ path }, () => {});
    const arrived = next();
    const client = createSocketClient<{ status: object }, { status: object }>(path, {
      timeoutMs: 50,
    });
    await expect(client.request("status", {})).rejects.toMatchObject({ code: "SOCKET_TIMEOUT" });
    client.close();
    await letsGo(arrived);
  });

  it.each([
    ["answers nothing", "", false],
    ["stops in its answer", answered.slice(0, -1), false],
    [
      "answers and closes nothing",
      answered.replace("OK\r\n", "OK\r\nKeep-Alive: timeout=2\r\n"),
      true,
    ],
  ])("the shop's client lets go of a gateway that %s", async (_what, text, hasAnswer) => {
    const { port, next } = await peer(local, says(text));
    const arrived = next();
    const apiKey = `k_${"0".repeat(16)}.${Buffer.alloc(32, 1).toString("base64url")}.${"0".repeat(32)}`;
    const client = createClient({
      baseUrl: `http://127.0.0.1:${port}`,
      key: { apiKey },
      timeoutMs: patience(hasAnswer),
    });
    const result = await client.supportedCurrency();
    expect(result.ok ? "ok" : result.code).toBe(hasAnswer ? "answer_invalid" : "timeout");
    await letsGo(arrived);
  });
});

/** RFC 6455 section 4.2.2. */
function acceptOf(head: string): string {
  const key = /sec-websocket-key: (\S+)/i.exec(head)?.[1] ?? "";
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}
