/**
 * Writes that share a transaction: the writes of a turn have one commit, an error of one touches no
 * other, no write is reported before the commit, and all are reported when the commit fails.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSeenTokens } from "../../gateway/auth/replay-guard.ts";
import { markTokenSeen } from "../../gateway/store/jtis.ts";
import { createStore, type Database, type Store, storeOver } from "../../gateway/store/store.ts";

type Raw = InstanceType<typeof DatabaseSync>;

let folder = "";
let store: Store;
let raw: Raw;
let said: string[] = [];
let failing: Error | null = null;
let held: Error | null = null;
let nowMs = 0;

/** The store's own connection, which notes each statement, with a disk that can fail. */
function observed(path: string): Raw {
  raw = new DatabaseSync(path, { enableForeignKeyConstraints: true });
  raw.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  return new Proxy(raw, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name === "exec") {
        return (sql: string) => {
          said.push(sql);
          if (sql === "COMMIT" && failing !== null) throw failing;
          if (sql === "BEGIN IMMEDIATE" && held !== null) throw held;
          target.exec(sql);
        };
      }
      return typeof value === "function"
        ? (value as (...list: unknown[]) => unknown).bind(target)
        : value;
    },
  });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "autowithdraw-together-"));
  const path = join(folder, "gateway.db");
  createStore(path, "f".repeat(16), pino({ level: "silent" })).close();
  said = [];
  failing = null;
  held = null;
  store = storeOver(observed(path), path, pino({ level: "silent" }), () => nowMs);
});

afterEach(() => {
  raw.close();
  rmSync(folder, { recursive: true, force: true });
});

const token = (jti: string) => (database: Database) => {
  markTokenSeen(database, { keyId: "k", jti, expiresAtMs: 1 });
  return jti;
};
const kept = (): readonly string[] =>
  store.database.all<{ jti: string }>("SELECT jti FROM jtis ORDER BY rowid").map(({ jti }) => jti);
const commits = (): number => said.filter((sql) => sql === "COMMIT").length;

describe("writes that share a transaction", () => {
  it("share one commit when they are asked for in one turn, and run in their order", async () => {
    const given = await Promise.all(["a", "b", "c"].map((jti) => store.writeTogether(token(jti))));
    await new Promise((resolve) => setImmediate(resolve));
    expect([given, kept(), commits()]).toEqual([["a", "b", "c"], ["a", "b", "c"], 1]);
  });

  it("are told of nothing before the commit that holds them", async () => {
    const told: string[] = [];
    const both = ["a", "b"].map((jti) =>
      store.writeTogether(token(jti)).then(() => told.push(`${jti} after ${commits()}`)),
    );
    expect(said).toEqual([]);
    await Promise.all(both);
    expect(told).toEqual(["a after 1", "b after 1"]);
  });

  it("take back one that throws, with all that it wrote, and keep its neighbours", async () => {
    const bad = (database: Database): never => {
      token("half")(database);
      throw new Error("no");
    };
    const all = [
      store.writeTogether(token("a")),
      store.writeTogether(bad),
      store.writeTogether(token("b")),
    ];
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(ends[1]).toMatchObject({ reason: { message: "no" } });
    expect([kept(), commits()]).toEqual([["a", "b"], 2]);
  });

  it("all fail, and none is tried again, when another process holds the file", async () => {
    const asked: string[] = [];
    held = Object.assign(new Error("database is locked"), { errcode: 5 });
    const writes = ["a", "b"].map((jti) =>
      store.writeTogether((database) => asked.push(token(jti)(database))),
    );
    const ends = await Promise.allSettled(writes);
    expect(ends.map((end) => (end as PromiseRejectedResult).reason.code)).toEqual([
      "GATEWAY_STORE_BUSY",
      "GATEWAY_STORE_BUSY",
    ]);
    expect([asked, said]).toEqual([[], ["BEGIN IMMEDIATE", "PRAGMA busy_timeout = 0"]]);
  });

  it("refuse one that waits, and keep nothing of it", async () => {
    const late = (database: Database): Promise<string> => Promise.resolve(token("late")(database));
    await expect(store.writeTogether(late)).rejects.toThrow("must not wait");
    expect(kept()).toEqual([]);
  });

  it("all learn of a commit that failed, also those that had thrown nothing", async () => {
    failing = Object.assign(new Error("disk I/O error"), { errcode: 10 });
    const ends = await Promise.allSettled(["a", "b"].map((jti) => store.writeTogether(token(jti))));
    expect(ends.map((end) => (end as PromiseRejectedResult).reason.code)).toEqual([
      "GATEWAY_STORE_POISONED",
      "GATEWAY_STORE_POISONED",
    ]);
    expect(store.poisoned).toBe(true);
  });

  it("stay when a full disk ended the transaction under one of them alone", async () => {
    const full = (): never => {
      raw.exec("ROLLBACK"); // as SQLite does by itself when the disk is full
      throw Object.assign(new Error("database or disk is full"), { errcode: 13 });
    };
    const all = [
      store.writeTogether(token("a")),
      store.writeTogether(full),
      store.writeTogether(token("b")),
    ];
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(ends[1]).toMatchObject({ reason: { code: "GATEWAY_DISK_FULL", effect: "none" } });
    expect(kept()).toEqual(["a", "b"]);
  });

  it("are all refused by a commit without room, and the next ones are taken", async () => {
    failing = Object.assign(new Error("database or disk is full"), { errcode: 13 });
    const ends = await Promise.allSettled(["a", "b"].map((jti) => store.writeTogether(token(jti))));
    expect(ends.map((end) => (end as PromiseRejectedResult).reason.code)).toEqual([
      "GATEWAY_DISK_FULL",
      "GATEWAY_DISK_FULL",
    ]);
    expect([store.poisoned, store.trouble, kept()]).toEqual([false, "full", []]);
    failing = null;
    await store.writeTogether(token("c"));
    expect([store.trouble, kept()]).toEqual(["", ["c"]]);
  });

  it("do not know what a commit left that had no room for the shared memory", async () => {
    failing = Object.assign(new Error("disk I/O error"), { errcode: 4874 });
    await expect(store.writeTogether(token("a"))).rejects.toMatchObject({
      code: "GATEWAY_STORE_POISONED",
      effect: "unknown",
    });
    expect(store.poisoned).toBe(true);
  });

  it("leave the rest to the next turn when there are more than one takes", async () => {
    const names = Array.from({ length: 70 }, (_, at) => `t${at}`);
    await Promise.all(names.map((jti) => store.writeTogether(token(jti))));
    expect([kept(), commits()]).toEqual([names, 3]);
  });
});

describe("a token's one use", () => {
  const seenToken = { keyId: "k", jti: "j".repeat(16), expiresAtMs: 1_000_000 };
  const order = (database: Database): string => token("order")(database);

  it("writes the order and its token in one transaction, and nothing more at its end", async () => {
    const use = createSeenTokens(store).use(seenToken, 5);
    expect(await use.write(order)).toBe("order");
    await use.end();
    expect([kept(), commits()]).toEqual([[seenToken.jti, "order"], 1]);
  });

  it("keeps the token at its end when nothing was written, and when the order threw", async () => {
    const use = createSeenTokens(store).use(seenToken, 5);
    const write = use.write((database) => {
      order(database);
      throw new Error("no");
    });
    await expect(write).rejects.toThrow("no");
    expect(kept()).toEqual([]);
    await use.end();
    expect(kept()).toEqual([seenToken.jti]);
    expect(createSeenTokens(store).has(seenToken)).toBe(true);
  });

  it("is taken from the moment on at which it was given, and back when the database took nothing", async () => {
    const seen = createSeenTokens(store);
    const use = seen.use(seenToken, 5);
    expect(seen.has(seenToken)).toBe(true);
    expect(() => seen.use(seenToken, 5)).toThrow("a token is used once");
    held = Object.assign(new Error("database is locked"), { errcode: 5 });
    await expect(use.write(order)).rejects.toMatchObject({ code: "GATEWAY_STORE_BUSY" });
    await expect(use.end()).rejects.toMatchObject({ code: "GATEWAY_STORE_BUSY" });
    expect(seen.has(seenToken)).toBe(false);
    held = null;
    nowMs += 250; // a held file is asked again after this time
    const again = seen.use(seenToken, 6);
    expect(await again.write(order)).toBe("order");
    await again.end();
    await seen.keep({ ...seenToken, jti: "another" }, 7);
    expect(kept()).toEqual([seenToken.jti, "order", "another"]);
  });

  it("keeps token and order when a neighbour's fault has them tried again alone", async () => {
    const use = createSeenTokens(store).use(seenToken, 5);
    const ends = await Promise.allSettled([
      use.write(order),
      store.writeTogether((): never => {
        throw new Error("no");
      }),
    ]);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(kept()).toEqual([seenToken.jti, "order"]);
  });

  it("marks its key used, and forgets tokens past their time, once a second at most", async () => {
    const seen = createSeenTokens(store);
    const used = (): unknown =>
      store.database.get<{ lastUsedAt: number }>("SELECT lastUsedAt FROM keys WHERE id = 'k'")
        ?.lastUsedAt;
    raw.exec("INSERT INTO merchants (id, name, createdAt) VALUES ('m', 'Shop', 0)");
    raw.exec(
      "INSERT INTO keys (id, merchant, scopes, profile, alg, createdAt) VALUES ('k', 'm', '', 'strict', 'HS256', 0)",
    );
    const at = async (nowMs: number, expiresAtMs: number): Promise<unknown> => {
      await seen.keep({ keyId: "k", jti: `token at ${nowMs}`, expiresAtMs }, nowMs);
      return [used(), kept()];
    };
    expect(await at(1_000, 1_500)).toEqual([1_000, ["token at 1000"]]);
    expect(await at(1_999, 9_000)).toEqual([1_000, ["token at 1000", "token at 1999"]]);
    expect(await at(2_000, 9_000)).toEqual([2_000, ["token at 1999", "token at 2000"]]);
  });
});
