/**
 * Connections at the gateway's own listener that never close, send no request, or read no answer:
 * each is let go, and one address block holds few of them. Loopback has no limit, so the
 * connections of these tests say they came from elsewhere.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectSecure } from "node:tls";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { closeSoonMs } from "../../base/close-soon.ts";
import { limitSilentConnections, silentConnectionsPerBlockMax } from "../../gateway/api/server.ts";
import { networkBlock } from "../../gateway/auth/rate.ts";
import { startHub } from "../../gateway/hub/hub.ts";
import { isLinkNetwork } from "../../gateway/store/agent-state.ts";
import { memoryMarks } from "../../lab/kit/address-marks.ts";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { until as untilIn } from "../../lab/kit/processes.ts";
import { openNeverClosing } from "../support/never-closing.ts";

const gateways: TestGateway[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const gateway of gateways.splice(0)) await gateway.close();
});

/** The address of the next connections, as the gateway sees it. */
let from: (index: number) => string = () => "203.0.113.7";

async function started(
  change: object = {},
  lines: { readonly event: string }[] = [],
): Promise<TestGateway & { port: number }> {
  const log = pino(
    { level: "warn" },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const gateway = await startTestGateway(change, log);
  gateways.push(gateway);
  let index = 0;
  gateway.server.server.prependListener("connection", (socket: Socket) => {
    Object.defineProperty(socket, "remoteAddress", { value: from(index++) });
  });
  return { ...gateway, port: (gateway.server.server.address() as AddressInfo).port };
}

/** Opens connections that send `first`, one after the other. */
async function open(port: number, count: number, first = ""): Promise<Socket[]> {
  const opened: Socket[] = [];
  for (let index = 0; index < count; index += 1) {
    const socket = await openNeverClosing({ port, host: "127.0.0.1" }, first);
    socket.resume();
    opened.push(socket);
  }
  sockets.push(...opened);
  return opened;
}

const until = (what: string, look: () => Promise<true | undefined>): Promise<true> =>
  untilIn(what, 20_000, look);
const heldBy = ({ server }: TestGateway): Promise<number> =>
  new Promise((resolve, reject) =>
    server.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
/** Waits until the gateway holds so many connections. */
const holds = (gateway: TestGateway, count: number): Promise<unknown> =>
  until(`${count} connections`, async () => ((await heldBy(gateway)) === count ? true : undefined));

const head = (text: string): string => `${text}\r\nHost: 127.0.0.1\r\n`;
const whole = `${head("GET /health HTTP/1.1")}\r\n`;

describe("a connection that never closes", () => {
  const kinds: Readonly<Record<string, string>> = {
    "sends nothing": "",
    "stops in its headers": head("GET /health HTTP/1.1"),
    "stops in its body": `${head("POST /agent/v1/pair HTTP/1.1")}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    "sends no HTTP": "\u0016\u0003\u0001garbage\r\n\r\n",
    "sends too many headers": `${head("GET /health HTTP/1.1")}X-Long: ${"x".repeat(17_000)}\r\n\r\n`,
    "upgrades elsewhere": `${head("GET /elsewhere HTTP/1.1")}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    "wants a tunnel": `${head("CONNECT 127.0.0.1:80 HTTP/1.1")}\r\n`,
    "wants a 100 first": `${head("POST /agent/v1/pair HTTP/1.1")}Expect: 100-continue\r\nContent-Length: 9\r\n\r\n`,
    "sends a body that is too large": `${head("POST /agent/v1/pair HTTP/1.1")}Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n`,
    "is answered and asks no more": whole,
    "reads no answer": `${head("GET /openapi.json HTTP/1.1")}\r\n`.repeat(200),
  };

  it.each(Object.entries(kinds))("and %s is let go by the gateway", async (kind, first) => {
    from = () => "127.0.0.1";
    const gateway = await started();
    expect(gateway.server.server.timeout).toBeGreaterThan(gateway.server.server.keepAliveTimeout);
    // The limits of docs/api.md, in less time. The limit of silence ends only what no other ends,
    // so that it hides no answer that keeps its connection.
    const timeout = kind === "reads no answer" ? 1_000 : 0;
    Object.assign(gateway.server.server, {
      headersTimeout: 300,
      requestTimeout: 600,
      keepAliveTimeout: 300,
      timeout,
    });
    const socket = await openNeverClosing({ port: gateway.port, host: "127.0.0.1" }, first);
    sockets.push(socket);
    if (kind !== "reads no answer") socket.resume();
    await holds(gateway, 1);
    await holds(gateway, 0);
  });

  it("gets its answer whole before it is let go", async () => {
    from = () => "127.0.0.1";
    const gateway = await started();
    const socket = await openNeverClosing({ port: gateway.port, host: "127.0.0.1" });
    sockets.push(socket);
    let answer = "";
    socket.on("data", (text) => {
      answer += String(text);
    });
    // More than one reading of the gateway's: the rest arrives after the answer was written.
    socket.write(`${head("GET /health HTTP/1.1")}X-Long: ${"x".repeat(400_000)}\r\n\r\n`);
    await holds(gateway, 0);
    expect(answer).toMatch(/^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/);
    expect(closeSoonMs).toBeLessThan(10_000);
  });
});

describe("links at the hub", () => {
  it.each([
    ["has headers above the limit", `X-Long: ${"x".repeat(9_000)}\r\n`, {}],
    ["says no hello", "", { helloMs: 50 }],
  ])("a link that never closes and %s is let go by the hub", async (_what, headers, limits) => {
    const gateway = await startTestGateway();
    gateways.push(gateway);
    const { store, signals, log, key, config, clock } = gateway.service;
    const server = createHttpServer();
    const marks = memoryMarks();
    const hub = startHub({
      server,
      store,
      signals,
      log,
      config,
      clock,
      marks,
      gatewayKey: key.privateKey,
      run: "run",
      limits,
      answerQuestion: async () => null,
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const upgrade = `${head("GET /agent/v1/link HTTP/1.1")}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n`;
    const socket = await openNeverClosing({ port, host: "127.0.0.1" }, `${upgrade}${headers}\r\n`);
    sockets.push(socket);
    let answer = "";
    socket.on("data", (text) => {
      answer += String(text);
    });
    const count = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_error, held) => resolve(held)));
    await until("let go", async () => (answer !== "" && (await count()) === 0 ? true : undefined));
    expect(answer).toMatch(headers === "" ? /^HTTP\/1\.1 101 / : /^HTTP\/1\.1 431 /);
    await hub.close();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("an address block", () => {
  it("holds 64 connections without a request, the newest ones, and is told of once", async () => {
    const lines: { readonly event: string; readonly block?: string }[] = [];
    from = (index) => `203.0.113.${index % 250}`;
    const gateway = await started({}, lines);
    const crowd = await open(gateway.port, silentConnectionsPerBlockMax + 20);
    await holds(gateway, silentConnectionsPerBlockMax);
    await until("the oldest gone", async () =>
      crowd.slice(0, 20).every(({ readableEnded }) => readableEnded) ? true : undefined,
    );
    expect(crowd.slice(20).some(({ readableEnded }) => readableEnded)).toBe(false);
    const crowded = lines.filter(({ event }) => event === "connections-crowded");
    expect(crowded).toEqual([expect.objectContaining({ block: "203.0.113.0/24" })]);
    // Its twin: another block has places of its own.
    from = () => "203.0.114.7";
    await open(gateway.port, silentConnectionsPerBlockMax);
    await holds(gateway, 2 * silentConnectionsPerBlockMax);
  });

  it("may hold any number of connections that have sent a whole request", async () => {
    from = () => "2001:db8:0:1::7";
    const gateway = await started();
    const asked = await open(gateway.port, silentConnectionsPerBlockMax, whole);
    const withBody = await open(
      gateway.port,
      silentConnectionsPerBlockMax,
      `${head("POST /agent/v1/pair HTTP/1.1")}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    );
    const silent = await open(gateway.port, silentConnectionsPerBlockMax);
    await holds(gateway, 3 * silentConnectionsPerBlockMax);
    // Its twin: half a body is no whole request.
    const half = `${head("POST /agent/v1/pair HTTP/1.1")}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{`;
    await open(gateway.port, silentConnectionsPerBlockMax, half);
    await holds(gateway, 3 * silentConnectionsPerBlockMax);
    await until("the silent ones gone", async () =>
      silent.every(({ readableEnded }) => readableEnded) ? true : undefined,
    );
    expect([...asked, ...withBody].some(({ readableEnded }) => readableEnded)).toBe(false);
  });

  it("of a named proxy has no limit: 1,000 kept connections behind one proxy", async () => {
    from = () => "203.0.113.7";
    const gateway = await started({ trustProxy: ["203.0.113.7"] });
    const kept = await open(gateway.port, 1_000);
    await holds(gateway, 1_000);
    const answered = kept.map((socket) => new Promise((resolve) => socket.once("data", resolve)));
    for (const socket of kept) socket.write(whole);
    await Promise.all(answered);
    expect(await heldBy(gateway)).toBe(1_000);
  });

  it.each([
    ["203.0.113.9", "203.0.113.200", "198.51.100.9"],
    ["2001:db8:0:1::9", "2001:db8:0:1:ffff::9", "2001:db8:0:2::9"],
  ])(
    "with a paired agent, %s, has no limit: many agents of one address",
    async (agent, neighbour, outsider) => {
      from = () => "127.0.0.1";
      const gateway = await started();
      expect((await gateway.pair()).status).toBe(200);
      const { database } = gateway.service.store;
      const block = agent.includes(":") ? networkBlock(agent) : agent;
      database.run("UPDATE agents SET linkBlock = ?", block);
      expect(
        [neighbour, outsider].map((address) => isLinkNetwork(database, networkBlock(address))),
      ).toEqual([true, false]);
      from = () => neighbour;
      const before = await heldBy(gateway);
      await open(gateway.port, 3 * silentConnectionsPerBlockMax);
      await holds(gateway, before + 3 * silentConnectionsPerBlockMax);
      database.run("UPDATE agents SET unpairedAt = 1");
      expect(isLinkNetwork(database, networkBlock(neighbour))).toBe(false);
    },
  );

  it("of this machine has no limit", async () => {
    from = (index) => (index % 2 === 0 ? "127.0.0.1" : "::1");
    const gateway = await started();
    await open(gateway.port, 3 * silentConnectionsPerBlockMax);
    await holds(gateway, 3 * silentConnectionsPerBlockMax);
  });
});

describe("the places of a listener", () => {
  const nobody = (): boolean => false;
  /** Opens ten connections more than a block has places, on a listener that counts everybody. */
  async function crowd(
    server: HttpServer,
    isForHub: boolean,
    first: (port: number) => Promise<Socket>,
  ): Promise<number> {
    limitSilentConnections({
      server,
      isUnlimited: nobody,
      isOfAgent: nobody,
      isForHub: () => isForHub,
      onCrowded: () => {},
    });
    server.on("upgrade", (_request, socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    for (let index = 0; index < silentConnectionsPerBlockMax + 10; index += 1)
      sockets.push(await first(port));
    const held = await new Promise<number>((resolve) =>
      server.getConnections((_error, count) => resolve(count)),
    );
    server.close();
    return held;
  }

  it.each([
    [true, silentConnectionsPerBlockMax + 10],
    [false, silentConnectionsPerBlockMax],
  ])("do not count upgrades that the hub takes over (%s)", async (isForHub, want) => {
    const upgrade = `${head("GET /agent/v1/link HTTP/1.1")}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    const server = createHttpServer();
    const seen = async (port: number): Promise<Socket> => {
      const arrived = once(server, "upgrade");
      const socket = await openNeverClosing({ port, host: "127.0.0.1" }, upgrade);
      await arrived;
      return socket;
    };
    expect(await crowd(server, isForHub, seen)).toBe(want);
  });

  it.each([
    ["asks", silentConnectionsPerBlockMax + 10],
    ["asks nothing", silentConnectionsPerBlockMax],
    ["does not begin its handshake", silentConnectionsPerBlockMax],
  ])("with TLS count a connection that %s", async (what, want) => {
    const dir = mkdtempSync(join(tmpdir(), "places-"));
    const files = ["-keyout", join(dir, "key"), "-out", join(dir, "pem")];
    const kind = [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-subj",
      "/CN=places",
    ];
    execFileSync("openssl", [...kind, ...files], { stdio: "ignore" });
    const pair = { cert: readFileSync(join(dir, "pem")), key: readFileSync(join(dir, "key")) };
    rmSync(dir, { recursive: true });
    const server = createHttpsServer(pair, (_request, response) => void response.end());
    const opened = async (port: number): Promise<Socket> => {
      if (what === "does not begin its handshake")
        return openNeverClosing({ port, host: "127.0.0.1" });
      const socket = connectSecure({ port, host: "127.0.0.1", rejectUnauthorized: false });
      socket.on("error", () => {});
      await once(socket, "secureConnect");
      if (what === "asks") {
        socket.write(whole);
        await once(socket, "data");
      }
      return socket;
    };
    expect(await crowd(server, false, opened)).toBe(want);
  });
});
