/**
 * Writes that share a transaction: one commit for those of a turn, each alone in what it throws,
 * none told before the commit, all told when there is none.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keepToken } from "../../gateway/store/jtis.ts";
import { createStore, type Database, type Store, storeOver } from "../../gateway/store/store.ts";

type Raw = InstanceType<typeof DatabaseSync>;

let folder = "";
let store: Store;
let raw: Raw;
let said: string[] = [];
let failing: Error | null = null;

/** The store's own connection, with an ear at BEGIN and COMMIT, and a disk that can fail. */
function heard(path: string): Raw {
  raw = new DatabaseSync(path, { enableForeignKeyConstraints: true });
  raw.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  return new Proxy(raw, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (name === "exec") {
        return (sql: string) => {
          said.push(sql);
          if (sql === "COMMIT" && failing !== null) throw failing;
          target.exec(sql);
        };
      }
      return typeof value === "function" ? (value as (...list: unknown[]) => unknown).bind(target) : value;
    },
  });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "autowithdraw-together-"));
  const path = join(folder, "gateway.db");
  createStore(path, "f".repeat(16), pino({ level: "silent" })).close();
  said = [];
  failing = null;
  store = storeOver(heard(path), path, pino({ level: "silent" }));
});

afterEach(() => {
  raw.close();
  rmSync(folder, { recursive: true, force: true });
});

const token = (jti: string) => (database: Database) => {
  keepToken(database, { keyId: "k", jti, expiresAtMs: 1 });
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

  it("writes that share a transaction are told of nothing before the commit that holds them", async () => {
    const told: string[] = [];
    const both = ["a", "b"].map((jti) => store.writeTogether(token(jti)).then(() => told.push(`${jti} after ${commits()}`)));
    expect(said).toEqual([]);
    await Promise.all(both);
    expect(told).toEqual(["a after 1", "b after 1"]);
  });

  it("writes that share a transaction take back one that throws, with all that it wrote, and keep its neighbours", async () => {
    const bad = (database: Database): never => {
      token("half")(database);
      throw new Error("no");
    };
    const all = [store.writeTogether(token("a")), store.writeTogether(bad), store.writeTogether(token("b"))];
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(ends[1]).toMatchObject({ reason: { message: "no" } });
    expect([kept(), commits()]).toEqual([["a", "b"], 1]);
  });

  it("writes that share a transaction refuse one that waits, and keep nothing of it", async () => {
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

  it("all learn of a fault that ended the transaction under one of them, and nothing stays", async () => {
    const full = (): never => {
      raw.exec("ROLLBACK"); // as SQLite does by itself when the disk is full
      throw new Error("database or disk is full");
    };
    const all = [store.writeTogether(token("a")), store.writeTogether(full), store.writeTogether(token("b"))];
    const ends = await Promise.allSettled(all);
    expect(ends.map((end) => String((end as PromiseRejectedResult).reason))).toEqual(
      Array.from({ length: 3 }, () => "Error: database or disk is full"),
    );
    expect(kept()).toEqual([]);
    expect(await store.writeTogether(token("c"))).toBe("c");
    expect(kept()).toEqual(["c"]);
  });

  it("writes that share a transaction leave the rest to the next turn when there are more than one takes", async () => {
    const names = Array.from({ length: 70 }, (_, at) => `t${at}`);
    await Promise.all(names.map((jti) => store.writeTogether(token(jti))));
    expect([kept(), commits()]).toEqual([names, 3]);
  });
});
