/**
 * Rows of keys and merchants that each request reads: kept in memory, and never older than the turn
 * of the event loop in which somebody changed them.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  insertKey,
  markKeyRevoked,
  readCachedKey,
  setKeyExpiry,
} from "../../gateway/store/keys.ts";
import {
  insertMerchant,
  readCachedMerchant,
  setMerchantPage,
} from "../../gateway/store/merchants.ts";
import { createStore, openStore, type Store } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";

let folder: string;
let store: Store;
let other: Store; // of another process

const id = `k_${"1".repeat(16)}`;
const merchant = "m_1";
const key = {
  id,
  merchant,
  scopes: "read",
  profile: "strict",
  alg: "EdDSA",
  secretBox: null,
  publicKey: "",
  createdAt: 1,
} as const;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "row-memory-"));
  const path = join(folder, "gateway.db");
  store = createStore(path, "f".repeat(32), silentLog);
  store.write((database) => {
    insertMerchant(database, { id: merchant, name: "Shop", language: "en", createdAt: 1 });
    insertKey(database, key);
  });
  other = openStore(path, silentLog);
});
afterEach(() => {
  other.close();
  store.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("a row of a key", () => {
  it("is read once, and a merchant's as well", async () => {
    const get = vi.spyOn(store.database, "get");
    for (let time = 0; time < 5; time += 1) {
      expect(readCachedKey(store, id)).toMatchObject({ id, revokedAt: null });
      expect(readCachedMerchant(store, merchant)).toMatchObject({ name: "Shop" });
      await turn();
    }
    const asked = get.mock.calls.map(([sql]) => sql).filter((sql) => !sql.startsWith("PRAGMA"));
    expect(asked.filter((sql) => sql.includes("keys"))).toHaveLength(1);
    expect(asked.filter((sql) => sql.includes("merchants"))).toHaveLength(1);
  });

  it("that another process revoked is revoked in the next turn", async () => {
    expect(readCachedKey(store, id)?.revokedAt).toBe(null);
    other.write((database) => markKeyRevoked(database, id, 7));
    await turn();
    expect(readCachedKey(store, id)?.revokedAt).toBe(7);
    other.write((database) =>
      setMerchantPage(database, merchant, { shownName: "New", contact: "", origins: "" }),
    );
    await turn();
    expect(readCachedMerchant(store, merchant)?.shownName).toBe("New");
  });

  it("that this process changed is changed at once", () => {
    expect(readCachedKey(store, id)?.expiresAt).toBe(null);
    store.write((database) => setKeyExpiry(database, id, 9));
    expect(readCachedKey(store, id)?.expiresAt).toBe(9);
  });

  it("is not kept from a transaction, which may be rolled back", () => {
    const undone = new Error("undone");
    const change = (): void =>
      store.write((database) => {
        markKeyRevoked(database, id, 7);
        expect(readCachedKey(store, id)?.revokedAt).toBe(7);
        throw undone;
      });
    expect(change).toThrow(undone);
    expect(readCachedKey(store, id)?.revokedAt).toBe(null);
  });

  it("that is not there is looked for each time, and found once it is there", () => {
    const next = `k_${"2".repeat(16)}`;
    expect(readCachedKey(store, next)).toBe(undefined);
    store.write((database) => insertKey(database, { ...key, id: next }));
    expect(readCachedKey(store, next)).toMatchObject({ id: next });
  });

  it("cannot be changed in memory", () => {
    const row = readCachedKey(store, id) as { scopes: string };
    expect(() => {
      row.scopes = "all";
    }).toThrow(TypeError);
  });
});
