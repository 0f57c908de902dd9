/**
 * The rules that all operations share: HTTP at its limits, errors, languages, the service routes,
 * and the document of the interface.
 */

import { spawnSync } from "node:child_process";
import { createServer, STATUS_CODES } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import pino from "pino";
import { describe, expect, it } from "vitest";
import { languageOf } from "../../gateway/answer/language.ts";
import { answerCodes } from "../../gateway/answer/messages.ts";
import { createMerchant } from "../../gateway/operator/accounts.ts";
import { openOtherWriter } from "../../lab/kit/fresh-store.ts";
import { handmadeToken, startTestGateway } from "../../lab/kit/gateway-server.ts";
import {
  auto,
  countOf,
  db,
  eachTestItsGateway,
  gateway,
  many,
  read,
  ready,
  withdrawal,
} from "../support/shop.ts";
import { until } from "../support/until.ts";

eachTestItsGateway();

describe("HTTP", () => {
  const headers = (): Record<string, string> => ({
    "Content-Type": "application/json",
    signatureToken: handmadeToken(gateway.merchant.shopKey, gateway.clock.nowMs),
  });

  /** Writes bytes as they are and gives everything that comes back. */
  const raw = (text: string, port = Number(new URL(gateway.url).port)): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1", () => socket.write(text));
      let got = "";
      socket.on("data", (part) => {
        got += part.toString("utf8");
      });
      socket.on("close", () => resolve(got));
      socket.on("error", reject);
    });

  it("the gateway over HTTP demands a Content-Type of JSON on a POST, and none but JSON on a GET", async () => {
    const { "Content-Type": _, ...bare } = headers();
    const path = "/api/v1/supportedCurrency";
    expect((await gateway.send(path, { headers: bare })).status).toBe(200);
    const missing = await gateway.send("/api/v1/autoWithdraw", {
      method: "POST",
      headers: bare,
      body: "{}",
    });
    expect([missing.status, missing.body.code]).toEqual([415, "content_type"]);
    for (const type of [
      "text/plain",
      "application/jsonp",
      "application/json-patch+json",
      "application/x-www-form-urlencoded",
    ]) {
      expect(
        (await gateway.send(path, { headers: { ...bare, "Content-Type": type } })).status,
        type,
      ).toBe(415);
      const sent = {
        method: "POST",
        headers: { ...bare, "Content-Type": type },
        body: JSON.stringify(withdrawal),
      };
      expect((await gateway.send("/api/v1/autoWithdraw", sent)).status, type).toBe(415);
    }
    for (const type of [
      "application/json; charset=utf-16",
      'application/json; charset="latin1"',
      "application/json;charset=utf-80",
    ]) {
      expect(
        (await gateway.send(path, { headers: { ...bare, "Content-Type": type } })).status,
        type,
      ).toBe(415);
    }
    for (const type of [
      "application/json; charset=utf-8",
      'application/json; charset="UTF8"; v=1',
      "Application/JSON",
      "application/json ;charset=UTF-8",
    ]) {
      expect(
        (await gateway.send(path, { headers: { ...bare, "Content-Type": type } })).status,
        type,
      ).toBe(200);
    }
  });

  it("the gateway over HTTP refuses every content coding, also of a body that is plain", async () => {
    await ready();
    const path = "/api/v1/autoWithdraw";
    const send = (coding: string): ReturnType<typeof gateway.send> =>
      gateway.send(path, {
        method: "POST",
        headers: { ...headers(), "Content-Encoding": coding },
        body: JSON.stringify({ ...withdrawal, orderId: `coded ${coding}`.replace(" ", "-") }),
      });
    for (const coding of ["gzip", "br", "identity, gzip", "x"]) {
      const refused = await send(coding);
      expect(
        [refused.status, refused.body.code, refused.headers["accept-encoding"]],
        coding,
      ).toEqual([415, "content_encoding", "identity"]);
    }
    expect((await send("identity")).status).toBe(200);
  });

  it("the gateway over HTTP refuses a body above the limit and takes one at it", async () => {
    await ready();
    const fill = (bytes: number): string => {
      const text = JSON.stringify({ ...withdrawal, orderId: "big" });
      return text + " ".repeat(bytes - text.length);
    };
    const over = await gateway.call("POST", "/api/v1/autoWithdraw", fill(16_385));
    expect([over.status, over.body.code]).toEqual([413, "body_too_large"]);
    expect((await gateway.call("POST", "/api/v1/autoWithdraw", fill(16_384))).status).toBe(200);
    const chunked = await gateway.send("/api/v1/autoWithdraw", {
      method: "POST",
      headers: { ...headers(), "Transfer-Encoding": "chunked" },
      body: fill(100_000),
    });
    expect(chunked.status).toBe(413);
  });

  it("the gateway over HTTP says 404 and 405 in the same shape", async () => {
    for (const path of [
      "/",
      "/api/v1",
      "/api/v1/",
      "/api/v2/transactions",
      "/api/v1/Transactions",
      "/api/v1/transactions/",
    ]) {
      const answer = await gateway.send(path, { headers: headers() });
      expect([answer.status, answer.body.code], path).toEqual([404, "not_found"]);
    }
    const wrong = await gateway.send("/api/v1/autoWithdraw", { headers: headers() });
    expect([wrong.status, wrong.body.code, wrong.headers.allow]).toEqual([
      405,
      "method_not_allowed",
      "POST",
    ]);
    const put = await gateway.send("/api/v1/balance/eth", {
      method: "PUT",
      headers: headers(),
      body: "{}",
    });
    expect([put.status, put.headers.allow]).toEqual([405, "GET, HEAD"]);
    const head = await gateway.send("/api/v1/supportedCurrency", {
      method: "HEAD",
      headers: headers(),
    });
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  it("the gateway over HTTP answers bytes that are not HTTP, too many headers and bad URLs with JSON, and goes on", async () => {
    for (const [lines, status, code] of [
      ["GET /health HTTP/1.1", 400, "request_invalid"], // no Host
      ["GET /health HTTP/1.1\r\nHost: x\r\nExpect: tea", 417, "expectation_failed"],
      ["CONNECT example.org:443 HTTP/1.1\r\nHost: x", 405, "method_not_allowed"],
      [
        "GET /elsewhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket",
        404,
        "not_found",
      ],
    ] as const) {
      const answer = await raw(`${lines}\r\nX-A: 1\r\n\r\n`.replace("X-A: 1", "Connection: close"));
      expect(answer, lines).toMatch(
        new RegExp(`^HTTP/1\\.1 ${status} ${STATUS_CODES[status]}\\r\\n[\\s\\S]*"code":"${code}"`),
      );
    }
    expect(await raw("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 200 /,
    );
    expect(await raw("nonsense\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*"code":"request_invalid"/,
    );
    expect(await raw(`GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/,
    );
    const bad = await gateway.send("/api/v1/balance/%E0%A4%A", { headers: headers() });
    expect([bad.status, bad.body.code]).toEqual([400, "request_invalid"]);
    expect((await read("/supportedCurrency")).status).toBe(200);
  });

  it("the gateway over HTTP writes no error when somebody hangs up in the middle of a body", async () => {
    const lines: string[] = [];
    const logged = await startTestGateway(
      many,
      pino({ level: "info" }, { write: (line: string) => void lines.push(line) }),
    );
    let hasClosed = false;
    logged.server.server.on("connection", (server) => server.on("close", () => (hasClosed = true)));
    const socket = connect(Number(new URL(logged.url).port), "127.0.0.1");
    const head =
      "POST /agent/v1/pair HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99";
    const half = `${head}\r\n\r\n{`;
    await new Promise((resolve) => socket.write(half, resolve));
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.destroy();
    await until(() => hasClosed);
    await new Promise((resolve) => setImmediate(resolve));
    await logged.close();
    expect(lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
  });

  it("the gateway over HTTP gives up on a request that does not arrive in time, sooner than a server that looks every half a minute", async () => {
    const { server } = gateway.server;
    expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 15_000]);
    server.headersTimeout = 200;
    server.requestTimeout = 300;
    const body = "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    const slow = [
      "GET /health HTTP/1.1\r\nHost: x\r\n",
      `POST /agent/v1/pair HTTP/1.1\r\nHost: x\r\n${body}`,
    ];
    // The same times, looked at as often as Node does by itself.
    const usual = createServer({ headersTimeout: 200, requestTimeout: 300 });
    await new Promise<void>((done) => usual.listen(0, "127.0.0.1", done));
    const first = ["none: the other server was first"];
    const late = raw(slow[0] as string, (usual.address() as AddressInfo).port).then(
      () => first,
      () => first,
    );
    for (const answer of await Promise.race([late, Promise.all(slow.map((text) => raw(text)))]))
      expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/);
    usual.closeAllConnections();
    usual.close();
    await late;
  });

  it("the gateway over HTTP holds to the same times with TLS", async (context) => {
    if (spawnSync("openssl", ["version"]).status !== 0)
      context.skip("this machine lacks openssl: apt-get install openssl");
    const [certificate, key] = [join(gateway.dir, "cert.pem"), join(gateway.dir, "key.pem")];
    const made = [
      "req",
      "-x509",
      "-newkey",
      "ed25519",
      "-nodes",
      "-subj",
      "/CN=localhost",
      "-days",
      "1",
    ];
    expect(spawnSync("openssl", [...made, "-keyout", key, "-out", certificate]).status).toBe(0);
    const secure = await startTestGateway({
      listen: { host: "127.0.0.1", port: 0, tls: { certificate, key } },
    });
    expect([secure.server.server.headersTimeout, secure.server.server.requestTimeout]).toEqual([
      10_000, 15_000,
    ]);
    await secure.close();
  });

  it("the gateway over HTTP gives every answer an id and no-store, and never quotes what was sent", async () => {
    const answer = await gateway.call(
      "POST",
      "/api/v1/autoWithdraw",
      '{"secret-looking":"<script>"}',
    );
    expect(answer.headers["x-request-id"]).toBe(answer.body.requestId);
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.body.field).toBe("secret-looking");
    expect(answer.text).not.toContain("<script>");
  });

  it("the gateway over HTTP answers 503 while another process holds the database, and nothing was created", async () => {
    await ready();
    const other = openOtherWriter(gateway.service.config.database);
    other.begin();
    const waiting = auto();
    const answer = await waiting;
    other.end();
    expect([answer.status, answer.body.code]).toEqual([503, "unavailable"]);
    expect(["deposits", "transfers"].map(countOf)).toEqual([0, 0]);
    // A file that was held is looked at again a quarter of a second later.
    await until(() => gateway.service.store.trouble === "");
    expect((await auto()).status).toBe(200);
  });

  it("the gateway over HTTP answers 500 without a word about the inside when something breaks", async () => {
    await ready();
    db().run("UPDATE agents SET currencies = 'broken'");
    const answer = await auto();
    expect([answer.status, Object.keys(answer.body).sort()]).toEqual([
      500,
      ["code", "message", "requestId"],
    ]);
    expect(["deposits", "transfers"].map(countOf)).toEqual([0, 0]);
  });
});

describe("the language of messages", () => {
  it("follows Accept-Language with its weights, then the merchant's, then English", () => {
    const cases: [string | undefined, "en" | "tr", "en" | "tr"][] = [
      [undefined, "en", "en"],
      [undefined, "tr", "tr"],
      ["tr", "en", "tr"],
      ["tr-TR,tr;q=0.9,en;q=0.8", "en", "tr"],
      ["TR-tr", "en", "tr"],
      ["en;q=0.5, tr;q=0.6", "en", "tr"],
      ["en;q=0.6, tr;q=0.5", "tr", "en"],
      ["de, fr;q=0.9", "tr", "tr"],
      ["tr;q=0", "en", "en"],
      ["tr;q=0", "tr", "tr"],
      ["*;q=0.1, tr;q=0", "tr", "en"],
      ["*", "tr", "tr"],
      ["de;q=1, en;q=0.1", "tr", "en"],
      ["en, tr", "tr", "en"],
      ["tr, en", "en", "tr"],
      ["tr-TR, en-US", "en", "tr"],
      ["tr;q=0.5, en;q=0.5", "en", "tr"],
      ["*, en", "tr", "tr"],
      ["de, en, *", "tr", "en"],
      ["en;q=0, tr", "en", "tr"],
      ["tr;q=0.1, en;q=0.5, tr;q=0.5", "en", "tr"],
      ["tr;q=banana, en", "tr", "en"],
      [";;;,,q=", "en", "en"],
      ["tr,".repeat(1000), "en", "en"],
    ];
    for (const [header, fallback, expected] of cases)
      expect(languageOf(header, fallback), String(header)).toBe(expected);
  });

  it("is named in the answer, errors and successes alike", async () => {
    const turkish = await read("/balance/none", { "Accept-Language": "tr" });
    expect([
      turkish.body.message,
      turkish.headers["content-language"],
      turkish.headers.vary,
    ]).toEqual(["Para birimi bulunamadı.", "tr", "Accept-Language"]);
    await ready();
    expect((await auto({}, { "Accept-Language": "tr" })).body.message).toBe(
      "Çekim isteği gönderildi.",
    );
    expect((await auto()).body.message).toBe("The withdrawal request was sent.");
    const outsider = createMerchant(gateway.operator, { name: "Dükkân", language: "tr" });
    const token = handmadeToken(outsider.shopKey, gateway.clock.nowMs);
    const answer = await gateway.send("/api/v1/balance/none", {
      headers: { "Content-Type": "application/json", signatureToken: token },
    });
    expect(answer.headers["content-language"]).toBe("tr");
  });

  it("has words in both for every code", () => {
    for (const [code, { status, en, tr }] of Object.entries(answerCodes)) {
      expect(status, code).toBeGreaterThanOrEqual(200);
      expect(en.length * tr.length, code).toBeGreaterThan(0);
      expect(en, code).not.toBe(tr);
    }
  });
});

describe("the station", () => {
  it("the service routes say alive and ready without a token", async () => {
    expect((await gateway.send("/health")).body).toEqual({ status: "ok" });
    expect((await gateway.send("/ready")).body).toEqual({ status: "ready", checks: [] });
  });
});
