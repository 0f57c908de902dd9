/**
 * The one client for requests that leave the program: its headers, its bounds, and each address of
 * a name. Reported for other software in VivaPayments/API 2597 and WooCommerce.NET 810 (403 for a
 * request without User-Agent), nodejs/node 40702 and ethers 4331 (localhost is ::1 first),
 * nodejs/node 54359 (a slow address is given up too early).
 */
import { execFile } from "node:child_process";
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import {
  connectionReasonOf,
  createOutgoingClient,
  type OutgoingOutcome,
  type OutgoingRequest,
} from "../../base/outgoing/exchange.ts";
import { version } from "../../base/version.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { runtimeBinary } from "../../lab/nodes.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const closers: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listening(
  server: Pick<Server, "listen" | "address" | "close">,
  host = "127.0.0.1",
): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function asked(
  answer: RequestListener,
  change: Partial<OutgoingRequest> = {},
  host = "127.0.0.1",
): Promise<OutgoingOutcome> {
  const port = await listening(createServer(answer));
  return exchanged(`http://${host}:${port}`, change);
}

function exchanged(
  origin: string,
  change: Partial<OutgoingRequest> = {},
): Promise<OutgoingOutcome> {
  const outgoing = createOutgoingClient({ origin, connectionsMax: 1, idleMs: 0 });
  closers.push(() => outgoing.close());
  const request: OutgoingRequest = {
    method: "GET",
    path: "/",
    bytesMax: 1_000,
    timeoutMs: 5_000,
    ...change,
  };
  return new Promise((resolve) => outgoing.send(request, resolve));
}

describe("a request that leaves", () => {
  it("names the program, asks for no coding, and says what its body is", async () => {
    let seen: IncomingHttpHeaders = {};
    await asked(
      ({ headers }, response) => {
        seen = headers;
        response.end("{}");
      },
      { method: "POST", body: "{}" },
    );
    expect(seen).toMatchObject({
      "user-agent": `autowithdraw/${version}`,
      "accept-encoding": "identity",
      accept: "application/json",
      "content-type": "application/json",
      "content-length": "2",
    });
  });

  it("follows no redirect", async () => {
    const outcome = await asked((_request, response) =>
      response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
    );
    expect(outcome).toMatchObject({ ok: true, status: 302 });
  });

  it("takes an answer up to its bound, and none above", async () => {
    const full = await asked((_request, response) => response.end("x".repeat(1_000)));
    expect(full).toMatchObject({ ok: true, status: 200 });
    const more = await asked((_request, response) => response.end("x".repeat(1_001)));
    expect(more).toMatchObject({ ok: false, kind: "size", isUnsent: false });
  });

  it("refuses a coding that it did not ask for", async () => {
    const coded = await asked((_request, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("{}")),
    );
    expect(coded).toMatchObject({
      ok: false,
      kind: "coding",
      why: "the answer comes as gzip, which was not asked for",
    });
  });

  it("ends in time, with a server that is silent or sends byte after byte", async () => {
    const silent = await asked(() => {}, { timeoutMs: 2_000 });
    expect(silent).toMatchObject({ ok: false, kind: "timeout", isUnsent: false });
    const slow = await asked(
      (_request, response) => {
        const timer = setInterval(() => response.write("x"), 20);
        response.on("close", () => clearInterval(timer));
      },
      { timeoutMs: 300 },
    );
    expect(slow).toMatchObject({ ok: false, kind: "timeout" });
  });

  it("is unsent where no connection stood, and cut where one broke", async () => {
    const tcp = createTcpServer((socket) => socket.once("data", () => socket.destroy()));
    const port = await listening(tcp as never);
    expect(await exchanged(`http://127.0.0.1:${port}`)).toMatchObject({
      kind: "unreachable",
      isUnsent: false,
      isCut: true,
    });
    const gone = createTcpServer();
    const closed = await listening(gone as never);
    await new Promise((resolve) => gone.close(resolve));
    const refused = await exchanged(`http://127.0.0.1:${closed}`);
    expect(refused).toMatchObject({
      kind: "unreachable",
      code: "ECONNREFUSED",
      isUnsent: true,
      isCut: false,
    });
    expect(refused).toMatchObject({ why: `ECONNREFUSED (127.0.0.1 port ${closed})` });
  });

  it("reads the status alone where nobody wants the body", async () => {
    const endless = await asked(
      (_request, response) => {
        const timer = setInterval(() => response.write("x".repeat(100)), 5);
        response.on("close", () => clearInterval(timer));
      },
      { bytesMax: 150, bodyMs: 2_000 },
    );
    expect(endless).toMatchObject({ ok: true, status: 200 });
    expect((endless as { body: Buffer }).body.length).toBe(150);
  });

  it("a request never leaves once it was given up before the connection stood", async () => {
    let hits = 0;
    const port = await listening(
      createServer((_request, response) => response.end(String(++hits))),
    );
    const outgoing = createOutgoingClient({
      origin: `http://127.0.0.1:${port}`,
      connectionsMax: 1,
      idleMs: 0,
    });
    closers.push(() => outgoing.close());
    const request: OutgoingRequest = {
      method: "POST",
      path: "/",
      body: "{}",
      bytesMax: 100,
      timeoutMs: 5_000,
    };
    const outcome = await new Promise<OutgoingOutcome>((resolve) =>
      outgoing.send(request, resolve).abort(),
    );
    expect(outcome).toMatchObject({ ok: false, kind: "aborted", isUnsent: true });
    expect(
      await new Promise<OutgoingOutcome>((resolve) => outgoing.send(request, resolve)),
    ).toMatchObject({
      ok: true,
    });
    expect(hits).toBe(1);
  });
});

describe("the reason of an exchange that failed", () => {
  it("names each address that refused", () => {
    const at = (address: string) =>
      Object.assign(new Error("no"), { code: "ECONNREFUSED", address, port: 8545 });
    const all = Object.assign(new AggregateError([at("::1"), at("127.0.0.1")]), {
      code: "ECONNREFUSED",
    });
    expect(connectionReasonOf(all)).toEqual({
      code: "ECONNREFUSED",
      text: "ECONNREFUSED (::1 port 8545, 127.0.0.1 port 8545)",
    });
    expect(connectionReasonOf(new Error("no", { cause: at("::1") })).text).toBe(
      "ECONNREFUSED (::1 port 8545)",
    );
    expect(connectionReasonOf(undefined)).toEqual({ code: "", text: "connection failed" });
  });
});

describe("a name with several addresses", () => {
  const script = `
    const dns = require("node:dns");
    dns.lookup = (host, options, found) => found(null, [{ address: "::1", family: 6 }, { address: "127.0.0.1", family: 4 }]);
    import(process.argv[1]).then(({ createOutgoingClient }) => {
      const outgoing = createOutgoingClient({ origin: "http://node.example:" + process.argv[2], connectionsMax: 1, idleMs: 0 });
      const request = { method: "GET", path: "/", bytesMax: 100, timeoutMs: 5000 };
      outgoing.send(request, ({ ok, status, why }) => { console.log(ok ? status : why); outgoing.close(); });
    });`;
  const module = join(projectRoot, "dist", "base", "outgoing", "exchange.js");
  const ask = async (binary: string, port: number) =>
    (
      await promisify(execFile)(binary, ["-e", script, module, String(port)], { timeout: 30_000 })
    ).stdout.trim();

  it("is reached at the second one, on this Node and on the least one", async (context) => {
    const port = await listening(createServer((_request, response) => response.end("ok")));
    expect(await ask(process.execPath, port)).toBe("200");
    const least = await runtimeBinary("18");
    if (least === null) return context.skip();
    expect(await ask(least, port)).toBe("200");
  });

  it("is unreachable with each address named where none answers", async () => {
    const gone = createTcpServer();
    const port = await listening(gone as never);
    await new Promise((resolve) => gone.close(resolve));
    expect(await ask(process.execPath, port)).toBe(
      `ECONNREFUSED (::1 port ${port}, 127.0.0.1 port ${port})`,
    );
  });
});
