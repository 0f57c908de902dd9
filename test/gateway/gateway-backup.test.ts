/**
 * A copy of the gateway's database during writes, the look through a kept copy, the list of keys,
 * and the versions that agents run.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { listAgents, revokeMerchantKey } from "../../gateway/operator/accounts.ts";
import { backUp, checkBackup } from "../../gateway/operator/command.ts";
import { describeKey, listKeys } from "../../gateway/operator/key-list.ts";
import { checkCopy } from "../../gateway/store/copy.ts";
import { inspectStore } from "../../gateway/store/inspect.ts";
import { schemaVersion } from "../../gateway/store/migrations.ts";
import { openStore } from "../../gateway/store/store.ts";
import { isOnPostgres } from "../../lab/kit/fresh-store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { startTestGateway, type TestGateway, testConfig } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { parseApiKey } from "../../protocol/pairing.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

let gateway: TestGateway;
let dir = "";
beforeAll(async () => {
  gateway = await startTestGateway();
  await gateway.pair();
});
afterAll(() => gateway.close());
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "aw-gateway-backup-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const at = (name: string): string => join(dir, name);
const copy = (name: string, overwrite = false) =>
  backUp(gateway.service.store, at(name), gateway.clock.nowMs, overwrite);

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return error.code;
    throw error;
  }
  return "";
}

// Copies of SQLite's file are the subject of the first three.
describe.skipIf(isOnPostgres)("a copy", () => {
  it("of the database has what was committed a moment ago, which a copy of the file alone has not, and opens as a database", () => {
    const { database } = gateway.service.store;
    database.run(
      "INSERT INTO audit (at, actor, act, subject, detail) VALUES (1, 'operator', 'just now', 'x', '')",
    );
    const seen = (path: string): number => {
      const store = openStore(path, silentLog);
      try {
        return (
          store.database.get<{ n: number }>(
            "SELECT count(*) AS n FROM audit WHERE act = 'just now'",
          )?.n ?? -1
        );
      } finally {
        store.close();
      }
    };
    const made = copy("good.db");
    expect(seen(at("good.db"))).toBe(1);
    copyFileSync(join(gateway.dir, "gateway.db"), at("file-alone.db"));
    expect(codeOf(() => seen(at("file-alone.db"))) === "" && seen(at("file-alone.db")) === 1).toBe(
      false,
    );
    expect(made).toMatchObject({
      copiedAt: gateway.clock.nowMs,
      schema: schemaVersion,
      merchants: 1,
    });
    expect(made.agents).toHaveLength(1);
    expect(made.gatewayKey).toBe(gateway.service.key.fingerprint);
  });

  it("of the database into a folder that this user may not use is refused, whether or not anything can be removed there", () => {
    writeFileSync(at("file"), "");
    expect(codeOf(() => copy("file/good.db"))).toBe("GATEWAY_FILE_EXISTS");
    expect(codeOf(() => copy("missing/good.db"))).toBe("GATEWAY_FILE_EXISTS");
    expect(codeOf(() => copy("good.db"))).toBe("");
  });

  it("of the database is one moment's, though others write while it is made", async () => {
    const { store } = gateway.service;
    let written = 0;
    const writing = setInterval(() => {
      store.write((database) => {
        for (const act of ["one", "two"])
          database.run(
            "INSERT INTO audit (at, actor, act, subject, detail) VALUES (2, 'pair', ?, ?, '')",
            act,
            String(written),
          );
      });
      written += 1;
    }, 1);
    const files = {
      database: `sqlite:${join(gateway.dir, "gateway.db")}`,
      keyFile: join(gateway.dir, "gateway.key"),
    };
    writeFileSync(at("config.json"), JSON.stringify({ ...testConfig, ...files }));
    const line = [
      "gateway/gateway.js",
      "backup",
      at("live.db"),
      "--yes",
      "--json",
      "--config",
      at("config.json"),
    ];
    /** Writes that are in a copy, of each of the two kinds. */
    const copied = async (): Promise<readonly [one: number, two: number]> => {
      const done = await new Promise<{ code: unknown; out: string }>((resolve) =>
        execFile(process.execPath, line, { cwd: projectRoot }, (error, stdout, stderr) =>
          resolve({ code: error?.code ?? 0, out: stdout + stderr }),
        ),
      );
      expect(done.code, done.out).toBe(0);
      const raw = new DatabaseSync(at("live.db"), { readOnly: true });
      const n = (act: string) =>
        (
          raw
            .prepare("SELECT count(*) AS n FROM audit WHERE actor = 'pair' AND act = ?")
            .get(act) as { n: number }
        ).n;
      const both = [n("one"), n("two")] as const;
      raw.close();
      return both;
    };
    // On a busy machine a copy may be made between two writes: only one with writes before it and
    // behind it shows anything.
    let [one, two] = [0, 0];
    for (let tries = 0; tries < 20 && (one === 0 || one === written); tries += 1) {
      [one, two] = await copied();
      expect(one).toBe(two);
    }
    clearInterval(writing);
    expect(one).toBeGreaterThan(0);
    expect(one).toBeLessThan(written);
  });

  it("of the database is its owner's alone, leaves nothing beside it, and no secret stands in it", () => {
    const { secret } = parseApiKey(gateway.merchant.apiKey);
    copy("private.db");
    expect(statSync(at("private.db")).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(["private.db"]);
    const bytes = readFileSync(at("private.db"));
    expect(bytes.includes(Buffer.from(secret))).toBe(false);
    expect(bytes.includes(Buffer.from(Buffer.from(secret).toString(), "base64url"))).toBe(false);
    expect(bytes.includes(Buffer.from(gateway.service.key.sealingKey))).toBe(false);
    expect(bytes.includes(Buffer.from(gateway.merchant.keyId))).toBe(true);
  });

  it("of the database goes over no file that is there, unless told; one that cannot be made leaves it as it was", () => {
    writeFileSync(at("mine"), "mine");
    expect(codeOf(() => copy("mine"))).toBe("GATEWAY_FILE_EXISTS");
    expect(readFileSync(at("mine"), "utf8")).toBe("mine");
    expect(codeOf(() => copy(join("no", "folder")))).toBe("GATEWAY_FILE_EXISTS");
    expect(copy("mine", true).merchants).toBe(1);
    expect(readdirSync(dir)).toEqual(["mine"]);
  });
});

describe.skipIf(isOnPostgres)("a copy that was kept", () => {
  it("is looked through, and must be of this gateway's key where there is one", () => {
    const made = copy("kept.db");
    expect(checkBackup(at("kept.db"), null)).toEqual(made);
    expect(checkBackup(at("kept.db"), gateway.service.key.fingerprint)).toEqual(made);
    expect(codeOf(() => checkBackup(at("kept.db"), "0".repeat(32)))).toBe("GATEWAY_KEY_OTHER");
    expect(readdirSync(dir)).toEqual(["kept.db"]);
  });

  it.each<[string, (path: string) => void, string]>([
    [
      "cut",
      (path) => writeFileSync(path, readFileSync(path).subarray(0, -4096)),
      "GATEWAY_BACKUP_DAMAGED",
    ],
    ["empty", (path) => writeFileSync(path, ""), "GATEWAY_BACKUP_DAMAGED"],
    ["another file", (path) => writeFileSync(path, randomBytes(9000)), "GATEWAY_BACKUP_DAMAGED"],
    ["gone", (path) => rmSync(path), "GATEWAY_BACKUP_DAMAGED"],
    [
      "with a page written over",
      (path) => writeFileSync(path, smashed(readFileSync(path))),
      "GATEWAY_BACKUP_DAMAGED",
    ],
    [
      "with a row that refers to nothing",
      (path) => edited(path, "PRAGMA foreign_keys = OFF; UPDATE keys SET merchant = 'm_none'"),
      "GATEWAY_BACKUP_DAMAGED",
    ],
    [
      "of a later schema",
      (path) => edited(path, "UPDATE meta SET value = '99' WHERE name = 'schema'"),
      "GATEWAY_STORE_VERSION",
    ],
    ["as it was", () => {}, ""],
  ])("a copy that was kept: %s", (_, change, code) => {
    copy("kept.db");
    change(at("kept.db"));
    expect(codeOf(() => checkBackup(at("kept.db"), null))).toBe(code);
    if (code !== "" && existsSync(at("kept.db"))) expect(readdirSync(dir)).toEqual(["kept.db"]);
  });
});

function smashed(bytes: Buffer): Buffer {
  bytes.fill(0xaa, 4096, bytes.length - 4096);
  return bytes;
}

function edited(path: string, sql: string): void {
  const raw = new DatabaseSync(path);
  raw.exec(sql);
  raw.close();
}

describe.skipIf(isOnPostgres)("a database of another version", () => {
  it("or digest is refused, and a look changes nothing in it", () => {
    const others = [
      `UPDATE meta SET value = '${schemaVersion + 1}' WHERE name = 'schema'`,
      "UPDATE meta SET value = '0' WHERE name = 'schema'",
      "UPDATE meta SET value = 'aa' WHERE name = 'schemaDigest'",
      "DELETE FROM meta WHERE name = 'schemaDigest'",
    ];
    for (const [number, sql] of others.entries()) {
      const path = at(`other-${number}.db`);
      copy(`other-${number}.db`);
      edited(path, sql);
      const before = readFileSync(path);
      expect(codeOf(() => inspectStore(path))).toBe("GATEWAY_STORE_VERSION");
      expect(codeOf(() => checkCopy(path))).toBe("GATEWAY_STORE_VERSION");
      expect(readFileSync(path).equals(before)).toBe(true);
      expect(codeOf(() => openStore(path, silentLog))).toBe("GATEWAY_STORE_VERSION");
    }
    copy("same.db");
    openStore(at("same.db"), silentLog).close();
  });
});

describe("key list", () => {
  it("has every key with what it may do and when it was used, never a secret", () => {
    const shop = gateway.key({ scopes: ["read", "deposit"], profile: "strict" });
    const old = gateway.key({ scopes: ["read"], alg: "EdDSA" });
    expect(revokeMerchantKey(gateway.operator, old.keyId).ok).toBe(true);
    const listed = listKeys(gateway.operator, undefined);
    if (!listed.ok) throw new Error(listed.code);
    const one = (id: string) => listed.keys.find(({ keyId }) => keyId === id);
    const now = new Date(gateway.clock.nowMs).toISOString();
    expect(one(shop.keyId)).toEqual({
      keyId: shop.keyId,
      merchantId: gateway.merchant.merchantId,
      merchant: one(shop.keyId)?.merchant,
      scopes: ["read", "deposit"],
      profile: "strict",
      alg: "HS256",
      createdAt: now,
      lastUsedAt: "",
      revokedAt: "",
      expiresAt: "",
      allowedAddresses: [],
      pairingUsed: false,
    });
    expect(one(old.keyId)).toMatchObject({ alg: "EdDSA", revokedAt: now });
    expect(one(gateway.merchant.keyId)).toMatchObject({ pairingUsed: true });
    expect(one(gateway.merchant.keyId)?.lastUsedAt).not.toBe("");
    expect(listed.keys.at(-1)?.keyId).toBe(old.keyId);
    const text = JSON.stringify(listed) + listed.keys.map(describeKey).join("\n");
    for (const { apiKey } of [shop, old, gateway.merchant])
      expect(text).not.toContain(apiKey.split(".")[1]);
    expect(
      listed.keys
        .map(describeKey)
        .join("\n")
        .split("\n")
        .every((line) => line.length <= 80),
    ).toBe(true);
    expect(listKeys(gateway.operator, "m_0000000000000000")).toEqual({
      ok: false,
      code: "GATEWAY_UNKNOWN_MERCHANT",
    });
    expect(listKeys(gateway.operator, gateway.merchant.merchantId)).toEqual(listed);
  });
});

describe("agents", () => {
  it("say no software before the first handshake", () => {
    expect(listAgents(gateway.operator).map(({ software }) => software)).toEqual([""]);
  });
});
