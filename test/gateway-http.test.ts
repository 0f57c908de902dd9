/** What every operation shares: HTTP at its limits, errors, languages, the station, and the document of the interface. */
import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { languageOf } from "../gateway/api/language.ts";
import { answerCodes } from "../gateway/api/messages.ts";
import { createMerchant } from "../gateway/operator/people.ts";
import { parseApiKey } from "../protocol/pairing.ts";
import { handmadeToken, startTestGateway } from "./support/gateway-server.ts";
import { auto, countOf, db, eachTestItsGateway, gateway, read, ready, withdrawal } from "./support/shop.ts";

eachTestItsGateway();

describe("HTTP", () => {
  const headers = (): Record<string, string> => ({
    "Content-Type": "application/json",
    signatureToken: handmadeToken(gateway.merchant.apiKey, gateway.clock.nowMs),
  });

  /** Writes bytes as they are and gives everything that comes back. */
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1", () => socket.write(text));
      let got = "";
      socket.on("data", (part) => {
        got += part.toString("utf8");
      });
      socket.on("close", () => resolve(got));
      socket.on("error", reject);
    });

  it("demands Content-Type on every operation, GET included, unless configuration excuses GET", async () => {
    const { "Content-Type": _, ...bare } = headers();
    const path = "/api/v1/supportedCurrency";
    const missing = await gateway.send(path, { headers: bare });
    expect([missing.status, missing.body.code]).toEqual([415, "content_type"]);
    for (const type of ["text/plain", "application/jsonp", "application/json-patch+json", "application/x-www-form-urlencoded"]) {
      expect((await gateway.send(path, { headers: { ...bare, "Content-Type": type } })).status, type).toBe(415);
      const sent = { method: "POST", headers: { ...bare, "Content-Type": type }, body: JSON.stringify(withdrawal) };
      expect((await gateway.send("/api/v1/autoWithdraw", sent)).status, type).toBe(415);
    }
    for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/json ;charset=UTF-8"]) {
      expect((await gateway.send(path, { headers: { ...bare, "Content-Type": type } })).status, type).toBe(200);
    }
    const relaxed = await startTestGateway({ contentTypeOnGet: false });
    const token = handmadeToken(relaxed.merchant.apiKey, relaxed.clock.nowMs);
    expect((await relaxed.send(path, { headers: { signatureToken: token } })).status).toBe(200);
    expect(
      (await relaxed.send("/api/v1/autoWithdraw", { method: "POST", headers: { signatureToken: token }, body: "{}" })).status,
    ).toBe(415);
    await relaxed.close();
  });

  it("refuses a body above the limit and takes one at it", async () => {
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

  it("says 404 and 405 in the same shape", async () => {
    for (const path of ["/", "/api/v1", "/api/v1/", "/api/v2/transactions", "/api/v1/Transactions", "/api/v1/transactions/"]) {
      const answer = await gateway.send(path, { headers: headers() });
      expect([answer.status, answer.body.code], path).toEqual([404, "not_found"]);
    }
    const wrong = await gateway.send("/api/v1/autoWithdraw", { headers: headers() });
    expect([wrong.status, wrong.body.code, wrong.headers.allow]).toEqual([405, "method_not_allowed", "POST"]);
    const put = await gateway.send("/api/v1/balance/eth", { method: "PUT", headers: headers(), body: "{}" });
    expect([put.status, put.headers.allow]).toEqual([405, "GET, HEAD"]);
    const head = await gateway.send("/api/v1/supportedCurrency", { method: "HEAD", headers: headers() });
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  it("answers bytes that are not HTTP, too many headers and bad URLs with JSON, and goes on", async () => {
    expect(await raw("nonsense\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"request_invalid"/);
    expect(await raw(`GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/,
    );
    const bad = await gateway.send("/api/v1/balance/%E0%A4%A", { headers: headers() });
    expect([bad.status, bad.body.code]).toEqual([400, "request_invalid"]);
    expect((await read("/supportedCurrency")).status).toBe(200);
  });

  it("gives up on a request that does not arrive in time, within a second of its time", async () => {
    const { server } = gateway.server;
    expect([server.headersTimeout, server.requestTimeout]).toEqual([10_000, 15_000]);
    server.headersTimeout = 200;
    server.requestTimeout = 300;
    const began = performance.now();
    const body = "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    const slow = ["GET /health HTTP/1.1\r\nHost: x\r\n", `POST /agent/v1/pair HTTP/1.1\r\nHost: x\r\n${body}`];
    for (const answer of await Promise.all(slow.map(raw)))
      expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it("holds to the same times with TLS", async (context) => {
    if (spawnSync("openssl", ["version"]).status !== 0) context.skip("this machine lacks openssl: apt-get install openssl");
    const [certificate, key] = [join(gateway.dir, "cert.pem"), join(gateway.dir, "key.pem")];
    const made = ["req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=localhost", "-days", "1"];
    expect(spawnSync("openssl", [...made, "-keyout", key, "-out", certificate]).status).toBe(0);
    const secure = await startTestGateway({ listen: { host: "127.0.0.1", port: 0, tls: { certificate, key } } });
    expect([secure.server.server.headersTimeout, secure.server.server.requestTimeout]).toEqual([10_000, 15_000]);
    await secure.close();
  });

  it("gives every answer an id and no-store, and never quotes what was sent", async () => {
    const answer = await gateway.call("POST", "/api/v1/autoWithdraw", '{"secret-looking":"<script>"}');
    expect(answer.headers["x-request-id"]).toBe(answer.body.requestId);
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.body.field).toBe("secret-looking");
    expect(answer.text).not.toContain("<script>");
  });

  it("answers 503 while another process holds the database, and nothing was created", async () => {
    await ready();
    const { DatabaseSync } = await import("@photostructure/sqlite");
    const other = new DatabaseSync(gateway.service.config.database);
    other.exec("BEGIN IMMEDIATE");
    const waiting = auto();
    const answer = await waiting;
    other.exec("ROLLBACK");
    other.close();
    expect([answer.status, answer.body.code]).toEqual([503, "unavailable"]);
    expect(countOf("transactions")).toBe(0);
    expect((await auto()).status).toBe(200);
  });

  it("answers 500 without a word about the inside when something breaks", async () => {
    await ready();
    db().run("UPDATE agents SET currencies = 'broken'");
    const answer = await auto();
    expect([answer.status, Object.keys(answer.body).sort()]).toEqual([500, ["code", "message", "requestId"]]);
    expect(countOf("transactions")).toBe(0);
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
      ["en, tr", "tr", "tr"],
      ["tr;q=banana, en", "tr", "en"],
      [";;;,,q=", "en", "en"],
      ["tr,".repeat(1000), "en", "en"],
    ];
    for (const [header, fallback, expected] of cases) expect(languageOf(header, fallback), String(header)).toBe(expected);
  });

  it("is named in the answer, errors and successes alike", async () => {
    const turkish = await read("/balance/none", { "Accept-Language": "tr" });
    expect([turkish.body.message, turkish.headers["content-language"], turkish.headers.vary]).toEqual([
      "Para birimi bulunamadı.",
      "tr",
      "Accept-Language",
    ]);
    await ready();
    expect((await auto({}, { "Accept-Language": "tr" })).body.message).toBe("Çekim isteği gönderildi.");
    expect((await auto()).body.message).toBe("The withdrawal request was sent.");
    const stranger = createMerchant(gateway.operator, { name: "Dükkân", language: "tr" });
    const token = handmadeToken(stranger.apiKey, gateway.clock.nowMs);
    const answer = await gateway.send("/api/v1/balance/none", {
      headers: { "Content-Type": "application/json", signatureToken: token },
    });
    expect(answer.headers["content-language"]).toBe("tr");
  });

  it("has both for every code", () => {
    for (const [code, [status, en, tr]] of Object.entries(answerCodes)) {
      expect(status, code).toBeGreaterThanOrEqual(200);
      expect(en.length * tr.length, code).toBeGreaterThan(0);
      expect(en, code).not.toBe(tr);
    }
  });
});

describe("the station", () => {
  it("says alive and ready without a token", async () => {
    expect((await gateway.send("/health")).body).toEqual({ status: "ok" });
    expect((await gateway.send("/ready")).body).toEqual({ status: "ready", checks: [] });
  });
});

describe("docs/api.md", () => {
  const page = new URL("../docs/api.md", import.meta.url);

  it("holds the table of codes (write it anew with -u)", async () => {
    const text = readFileSync(page, "utf8");
    const [before, rest = ""] = text.split("<!-- answers -->\n");
    const [, after = ""] = rest.split("<!-- /answers -->");
    const rows = Object.entries(answerCodes).map(([code, [status, en, tr]]) => `| ${status} | \`${code}\` | ${en} | ${tr} |`);
    const table = ["| status | code | English | Turkish |", "|---|---|---|---|", ...rows].join("\n");
    await expect(`${before}<!-- answers -->\n\n${table}\n\n<!-- /answers -->${after}`).toMatchFileSnapshot("../docs/api.md");
  });

  it("has a shell example that works", async (context) => {
    const script = /```sh\n(KEY_ID[\s\S]*?)```/.exec(readFileSync(page, "utf8"))?.[1] ?? "";
    const tools = spawnSync("sh", ["-c", "command -v openssl && command -v curl"]);
    if (tools.status !== 0) context.skip("this machine lacks openssl or curl: apt-get install openssl curl");
    gateway.clock.nowMs = Date.now();
    const run = (apiKey: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const env = { PATH: process.env.PATH, API_KEY: apiKey, BASE_URL: gateway.url };
        execFile("sh", ["-c", script], { env }, (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
      });
    expect(JSON.parse(await run(gateway.merchant.apiKey))).toHaveLength(3);
    const { keyId, fingerprint } = parseApiKey(gateway.merchant.apiKey);
    const wrong = await run(`${keyId}.${Buffer.alloc(32).toString("base64url")}.${fingerprint}`);
    expect(JSON.parse(wrong).code).toBe("token_invalid");
  });
});
