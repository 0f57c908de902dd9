/** A key's rights, its rates and its storage, and the gateway's own key and database as files. */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { readGatewayKey } from "../../gateway/auth/gateway-key.ts";
import { addressBlock, createFailureCounter, createRateBuckets } from "../../gateway/auth/rate.ts";
import { openSecret, sealSecret } from "../../gateway/auth/secret-box.ts";
import { revokeMerchantKey } from "../../gateway/operator/accounts.ts";
import { schemaDigest, schemaVersion } from "../../gateway/store/migrations.ts";
import { openStore } from "../../gateway/store/store.ts";
import { readDatabaseBytes } from "../../lab/kit/database-tables.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import {
  type GatewayAnswer,
  handmadeToken,
  startTestGateway,
} from "../../lab/kit/gateway-server.ts";
import { parseApiKey } from "../../protocol/pairing.ts";
import { gateway, knock, oneGateway, path } from "../support/one-gateway.ts";

oneGateway();

describe("a key", () => {
  it("does only what its scopes say", async () => {
    const { apiKey } = gateway.key({ scopes: ["deposit"] });
    const answer = await knock(handmadeToken(apiKey, gateway.clock.nowMs));
    expect([answer.status, answer.body.code, answer.body.scope]).toEqual([
      403,
      "scope_missing",
      "read",
    ]);
    const other = gateway.key({ scopes: ["read"] });
    expect((await knock(handmadeToken(other.apiKey, gateway.clock.nowMs))).status).toBe(200);
    const post = await gateway.send("/api/v1/autoWithdraw", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        signatureToken: handmadeToken(other.apiKey, gateway.clock.nowMs),
      },
      body: "{}",
    });
    expect([post.status, post.body.scope]).toEqual([403, "withdraw:auto"]);
  });

  it("is told it was revoked only when it could have signed", async () => {
    const { keyId, apiKey } = gateway.key({});
    expect((await knock(handmadeToken(apiKey, gateway.clock.nowMs))).status).toBe(200);
    expect(revokeMerchantKey(gateway.operator, keyId).ok).toBe(true);
    const answer = await knock(handmadeToken(apiKey, gateway.clock.nowMs));
    expect([answer.status, answer.body.code]).toEqual([403, "key_revoked"]);
    expect(
      (await knock(handmadeToken(apiKey, gateway.clock.nowMs, { secret: randomBytes(32) }))).status,
    ).toBe(401);
    expect(revokeMerchantKey(gateway.operator, keyId)).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_KEY",
    });
  });

  it("has a secret that stands nowhere in the database, and opens for its own row only", () => {
    const { secret, keyId } = parseApiKey(gateway.merchant.shopKey);
    const { database } = gateway.service.store;
    const file = readDatabaseBytes(database, join(gateway.dir, "gateway.db"));
    expect(file.includes(Buffer.from(keyId))).toBe(true);
    expect(file.includes(Buffer.from(secret))).toBe(false);
    expect(file.includes(Buffer.from(Buffer.from(secret).toString("utf8"), "base64url"))).toBe(
      false,
    );
    const { sealingKey } = gateway.service.key;
    const box = sealSecret(secret, keyId, sealingKey, randomBytes);
    expect(Buffer.from(openSecret(box, keyId, sealingKey)).equals(Buffer.from(secret))).toBe(true);
    expect(() => openSecret(box, "k_0000000000000000", sealingKey)).toThrow(/does not open/);
    expect(() => openSecret(box, keyId, randomBytes(32))).toThrow(/does not open/);
    for (const at of [0, 1, 13, 29, box.length - 1]) {
      const malformed = Uint8Array.from(box);
      malformed[at] = (malformed[at] ?? 0) ^ 1;
      expect(() => openSecret(malformed, keyId, sealingKey), `byte ${at}`).toThrow(/does not open/);
    }
    expect(() => openSecret(box.subarray(0, 29), keyId, sealingKey)).toThrow(/does not open/);
  });
});

describe("limits", () => {
  it("the limits of requests turn an address away after too many failures, before any signature work, and let it back in", async () => {
    const small = await startTestGateway({ limits: { failedAuthPerTenMinutes: 3 } });
    const send = (token: string): Promise<GatewayAnswer> =>
      small.send(path, { headers: { "Content-Type": "application/json", signatureToken: token } });
    const good = (): string => handmadeToken(small.merchant.shopKey, small.clock.nowMs);
    const unknown = (): string => {
      const { secret, fingerprint } = parseApiKey(small.merchant.shopKey);
      return handmadeToken(
        `k_0000000000000000.${Buffer.from(secret).toString("utf8")}.${fingerprint}`,
        small.clock.nowMs,
      );
    };
    for (const token of ["wrong", unknown(), ""]) expect((await send(token)).status).toBe(401);
    for (const token of ["wrong", unknown(), ""]) {
      const away = await send(token);
      expect([away.status, away.body.code, away.headers["retry-after"]]).toEqual([
        429,
        "rate_limited",
        "600",
      ]);
    }
    expect((await send(good())).status).toBe(200); // others' garbage locks no key out
    small.clock.nowMs += 600_000;
    expect((await send("wrong")).status).toBe(401);
    await small.close();
  });

  it("the limits of requests never turn away a token that verifies, whatever others sent with its key id from the same address", async () => {
    const small = await startTestGateway({
      limits: { failedAuthPerTenMinutes: 3, readsPerSecond: 1000, writesPerSecond: 2, burst: 1 },
    });
    const send = (token: string): Promise<GatewayAnswer> =>
      small.send(path, { headers: { "Content-Type": "application/json", signatureToken: token } });
    const { shopKey } = small.merchant;
    const good = (): string => handmadeToken(shopKey, small.clock.nowMs);
    const bad = (): string =>
      handmadeToken(shopKey, small.clock.nowMs, { secret: randomBytes(32) });
    for (let i = 0; i < 3; i += 1) expect((await send(bad())).status).toBe(401);
    for (let i = 0; i < 30; i += 1) {
      const away = await send(bad());
      expect([away.status, away.body.code, away.headers["retry-after"]]).toEqual([
        429,
        "rate_limited",
        "600",
      ]);
    }
    expect((await send(good())).status).toBe(200);
    expect((await send(handmadeToken(small.key({}).apiKey, small.clock.nowMs))).status).toBe(200);
    expect((await send("wrong")).status).toBe(401);
    small.clock.nowMs += 600_000;
    expect((await send(bad())).status).toBe(401);
    await small.close();
  });

  it("the limits of requests take nothing from a key's rate for a caught token that comes again and again", async () => {
    const small = await startTestGateway({ limits: { writesPerSecond: 2, burst: 1 } });
    const post = (token: string): Promise<GatewayAnswer> =>
      small.send("/api/v1/createTransactionRequest", {
        method: "POST",
        headers: { "Content-Type": "application/json", signatureToken: token },
        body: "{}",
      });
    const caught = handmadeToken(small.merchant.shopKey, small.clock.nowMs);
    expect((await post(caught)).status).toBe(400); // past the token
    for (let i = 0; i < 10; i += 1) expect((await post(caught)).status).toBe(401);
    expect((await post(handmadeToken(small.merchant.shopKey, small.clock.nowMs))).status).toBe(400);
    // its own do
    expect((await post(handmadeToken(small.merchant.shopKey, small.clock.nowMs))).status).toBe(429);
    await small.close();
  });

  it("the limits of requests count a token that comes again apart from wrong ones, so that a library that repeats a POST fills no counter of theirs", async () => {
    const small = await startTestGateway({
      limits: { failedAuthPerTenMinutes: 3, writesPerSecond: 1000 },
    });
    const post = (token: string): Promise<GatewayAnswer> =>
      small.send("/api/v1/createTransactionRequest", {
        method: "POST",
        headers: { "Content-Type": "application/json", signatureToken: token },
        body: "{}",
      });
    const good = (): string => handmadeToken(small.merchant.shopKey, small.clock.nowMs);
    const bad = (): string =>
      handmadeToken(small.merchant.shopKey, small.clock.nowMs, { secret: randomBytes(32) });
    const used = good();
    expect((await post(used)).status).toBe(400);
    for (let i = 0; i < 3; i += 1) expect((await post(used)).status).toBe(401);
    expect((await post(used)).status).toBe(429); // the counter of repeated tokens
    expect((await post(bad())).status).toBe(401); // the counter of wrong tokens is another
    for (let i = 0; i < 5; i += 1) expect((await post(good())).status).toBe(400);
    await small.close();
  });

  it("the limits of requests are explained in the log alone: requestId, the key's id where it is known, and the reason; never the token", async () => {
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const small = await startTestGateway({ limits: { failedAuthPerTenMinutes: 3 } }, log);
    const { shopKey, shopKeyId } = small.merchant;
    const refusals = async (token: string, method = "GET"): Promise<Record<string, unknown>> => {
      lines.length = 0;
      const headers = { "Content-Type": "application/json", signatureToken: token };
      const target = method === "GET" ? path : "/api/v1/createTransactionRequest";
      const answer = await small.send(target, {
        method,
        headers,
        ...(method === "GET" ? {} : { body: "{}" }),
      });
      const told = lines
        .map((line) => JSON.parse(line))
        .filter(({ event }) => event === "token-refused");
      if (token.length > 40) expect(lines.join("")).not.toContain(token.split(".").at(-1));
      if (told.length === 0) return { status: answer.status };
      expect(told).toHaveLength(1);
      expect(told[0].requestId).toBe(answer.body.requestId);
      return { status: answer.status, keyId: told[0].keyId, reason: told[0].reason };
    };
    const make = (change: Parameters<typeof handmadeToken>[2] = {}): string =>
      handmadeToken(shopKey, small.clock.nowMs, change);
    expect(await refusals("wrong")).toEqual({ status: 401, keyId: "", reason: "not three parts" });
    expect(await refusals(make({ secret: randomBytes(32) }))).toEqual({
      status: 401,
      keyId: shopKeyId,
      reason: "signature",
    });
    expect(await refusals(make({ claims: { exp: 1, iat: 0 } }))).toEqual({
      status: 401,
      keyId: shopKeyId,
      reason: "expired",
    });
    const used = make();
    expect(await refusals(used, "POST")).toEqual({ status: 400 });
    expect(await refusals(used, "POST")).toEqual({
      status: 401,
      keyId: shopKeyId,
      reason: "seen before",
    });
    for (const token of ["", "a.b"]) expect((await refusals(token)).status).toBe(401);
    expect(await refusals("a.b")).toEqual({
      status: 429,
      keyId: "",
      reason: "turned away: too many wrong ones before",
    });
    expect(await refusals(make())).toEqual({ status: 200 });
    await small.close();
  });

  it("the limits of requests warn once of a proxy that nobody named", async () => {
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const forward = async (change: object): Promise<number> => {
      lines.length = 0;
      const small = await startTestGateway(change, log);
      const headers = { "X-Forwarded-For": "203.0.113.7" };
      for (let i = 0; i < 2; i += 1)
        expect((await small.send("/health", { headers })).status).toBe(200);
      await small.close();
      return lines.filter((line) => line.includes("trustProxy")).length;
    };
    expect(await forward({})).toBe(1);
    expect(await forward({ trustProxy: ["127.0.0.1"] })).toBe(0);
  });

  it("the limits of requests hold per key, apart for reads and writes", async () => {
    const small = await startTestGateway({
      limits: { readsPerSecond: 2, writesPerSecond: 1, burst: 1 },
    });
    const read = (): Promise<GatewayAnswer> => small.call("GET", path);
    expect((await read()).headers["ratelimit-remaining"]).toBe("1");
    expect((await read()).status).toBe(200);
    const away = await read();
    expect([away.status, away.headers["retry-after"], away.headers["ratelimit-limit"]]).toEqual([
      429,
      "1",
      "2",
    ]);
    expect((await small.call("POST", "/api/v1/autoWithdraw", {})).status).toBe(400);
    expect((await small.call("POST", "/api/v1/autoWithdraw", {})).status).toBe(429);
    small.clock.nowMs += 500;
    expect((await read()).status).toBe(200);
    await small.close();
  });

  it("the limits of requests count addresses as their owners hold them, in bounded memory", () => {
    expect(addressBlock("::ffff:192.0.2.1")).toBe("192.0.2.1");
    expect(addressBlock("2001:db8:1:2:3:4:5:6")).toBe(addressBlock("2001:db8:1:2::1"));
    expect(addressBlock("2001:db8:1:2::1")).not.toBe(addressBlock("2001:db8:1:3::1"));
    expect(addressBlock("::1")).toBe("0:0:0:0::/64");
    const failures = createFailureCounter(1, 1000);
    failures.fail("first", 0);
    expect(failures.check("first", 999).allowed).toBe(false);
    for (let i = 0; i < 10_000; i += 1) failures.fail(`other ${i}`, 0);
    expect(failures.check("first", 999).allowed).toBe(true);
    const buckets = createRateBuckets(1, 1);
    expect(buckets.take("a", 0).allowed).toBe(true);
    expect(buckets.take("a", 999)).toMatchObject({ allowed: false, waitMs: 1 });
    expect(buckets.take("a", 1000).allowed).toBe(true);
  });
});

describe("the gateway's own files", () => {
  it("are refused when others can read the key, when it is gone, and when it is no key", () => {
    const file = gateway.service.config.keyFile;
    expect(readGatewayKey(file).fingerprint).toBe(gateway.service.key.fingerprint);
    chmodSync(file, 0o640);
    expect(() => readGatewayKey(file)).toThrow(
      expect.objectContaining({ code: "GATEWAY_KEY_OPEN" }),
    );
    chmodSync(file, 0o600);
    expect(() => readGatewayKey(`${file}.gone`)).toThrow(
      expect.objectContaining({ code: "GATEWAY_KEY_MISSING" }),
    );
    const other = join(gateway.dir, "other.key");
    writeFileSync(other, "no key", { mode: 0o600 });
    expect(() => readGatewayKey(other)).toThrow(
      expect.objectContaining({ code: "GATEWAY_KEY_INVALID" }),
    );
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({
      format: "pem",
      type: "pkcs8",
    });
    writeFileSync(other, rsa, { mode: 0o600 });
    expect(() => readGatewayKey(other)).toThrow(
      expect.objectContaining({ code: "GATEWAY_KEY_INVALID" }),
    );
  });

  // The file is the subject.
  it.skipIf(isOnPostgres)("are refused when the database is gone or another version's", () => {
    const { log, config, store } = gateway.service;
    expect(() => openStore(`${config.database}.gone`, log)).toThrow(
      expect.objectContaining({ code: "GATEWAY_STORE_MISSING" }),
    );
    openStore(config.database, log).close();
    const meta = (name: string, value: string) =>
      store.database.run("UPDATE meta SET value = ? WHERE name = ?", value, name);
    const refused = expect.objectContaining({ code: "GATEWAY_STORE_VERSION" });
    meta("schema", "99");
    expect(() => openStore(config.database, log)).toThrow(refused);
    meta("schema", String(schemaVersion));
    openStore(config.database, log).close();
    // Until the first release the tables change under one version, and the digest tells them apart.
    meta("schemaDigest", "0".repeat(64));
    expect(() => openStore(config.database, log)).toThrow(refused);
    meta("schemaDigest", schemaDigest);
    openStore(config.database, log).close();
    expect(store.database.get("PRAGMA synchronous")).toEqual({ synchronous: 2 });
    expect(store.database.get("PRAGMA journal_mode")).toEqual({ journal_mode: "wal" });
  });
});
