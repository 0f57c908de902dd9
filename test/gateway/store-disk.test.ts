/**
 * A database that cannot be used, by cause: only a damaged one is answered with a backup. Reports
 * of the kind: groue/GRDB.swift #1251 (a full disk, and the database was wiped for it),
 * atuinsh/atuin #2334 (a full disk read as an error of input and output, 4874),
 * go-gitea/gitea #7413 (no word of the disk) and dolthub/doltlite #1409 (SQLITE_FULL read as a
 * general error).
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { codes } from "../../base/codes.ts";
import { answerOfError } from "../../gateway/api/server.ts";
import type { Service } from "../../gateway/service.ts";
import { freeBytesOf, isDiskFull, unusableStoreFault } from "../../gateway/store/disk.ts";
import { openStore } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "store-disk-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const sqlite = (errcode: number): Error => Object.assign(new Error("from SQLite"), { errcode });
const system = (code: string): Error => Object.assign(new Error("from the system"), { code });

it.each([
  ["a full database file", sqlite(13), "GATEWAY_DISK_FULL"],
  ["no room for the shared memory beside it", sqlite(4874), "GATEWAY_DISK_FULL"],
  ["no space for a file", system("ENOSPC"), "GATEWAY_DISK_FULL"],
  ["a quota that is used up", system("EDQUOT"), "GATEWAY_DISK_FULL"],
  ["an error of the disk while syncing", sqlite(10 | (4 << 8)), "GATEWAY_DISK_FAILED"],
  ["a disk that is mounted to be read alone", sqlite(8), "GATEWAY_DISK_FAILED"],
  ["a file of another user", sqlite(14), "GATEWAY_STORE_ACCESS"],
  ["too many open files", system("EMFILE"), "GATEWAY_STORE_ACCESS"],
  ["pages that contradict each other", sqlite(11), "GATEWAY_STORE_INVALID"],
  ["a file that is no database", sqlite(26), "GATEWAY_STORE_INVALID"],
])("%s has a code of its own", (_what, cause, code) => {
  expect(unusableStoreFault("/gateway.db", cause).code).toBe(code);
  expect(codes[code as keyof typeof codes].advice.includes("restore the newest backup")).toBe(
    code === "GATEWAY_STORE_INVALID",
  );
});

it("a file that is no database is damaged", () => {
  const path = join(folder, "gateway.db");
  writeFileSync(path, "x".repeat(8192));
  expect(() => openStore(path, silentLog)).toThrow(
    expect.objectContaining({ code: "GATEWAY_STORE_INVALID" }),
  );
});

it("an order that meets a full disk is told to come again, and any other fault is not", () => {
  const service = { log: silentLog } as unknown as Service;
  expect(answerOfError(sqlite(13), service, "r")).toMatchObject({ code: "unavailable" });
  expect(answerOfError(sqlite(1), service, "r")).toMatchObject({ code: "internal" });
  expect(isDiskFull(new Error("other"))).toBe(false);
});

it("the room on a disk is told where there is one", () => {
  expect(freeBytesOf(join(folder, "gateway.db"))).toBeGreaterThan(0);
  expect(freeBytesOf("/no such folder/gateway.db")).toBeNull();
});
