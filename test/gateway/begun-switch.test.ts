/**
 * A process that is killed while SQLite changes between its two modes leaves a rollback journal.
 * The next start and every look take such a change back; a journal with anything else in it is
 * refused, and not a byte changes. test/system/upgrade-killed.test.ts makes it with real kills.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { inspectStore } from "../../gateway/store/inspect.ts";
import { schemaVersion } from "../../gateway/store/migrations.ts";
import { createStore, openStore } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "begun-switch-"));
  path = join(dir, "gateway.db");
  createStore(path, "", silentLog).close();
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const pageBytes = 4096;
const sectorBytes = 512;

/** A journal as SQLite leaves it, whose records are these pages. */
function journalOf(records: readonly { readonly number: number; readonly page: Buffer }[]): Buffer {
  const nonce = 77;
  const head = Buffer.alloc(sectorBytes);
  head.write("d9d505f920a163d7", "hex");
  const pages = readFileSync(path).length / pageBytes;
  for (const [at, value] of [records.length, nonce, pages, sectorBytes, pageBytes].entries())
    head.writeUInt32BE(value, 8 + 4 * at);
  return Buffer.concat([
    head,
    ...records.map(({ number, page }) => {
      const record = Buffer.alloc(pageBytes + 8);
      record.writeUInt32BE(number);
      page.copy(record, 4);
      let sum = nonce;
      for (let at = pageBytes - 200; at > 0; at -= 200) sum = (sum + (page[at] ?? 0)) >>> 0;
      record.writeUInt32BE(sum, pageBytes + 4);
      return record;
    }),
  ]);
}

/** The first page of the file with other bytes at some places. */
function firstPage(bytes: Readonly<Record<number, number>>): Buffer {
  const page = Buffer.from(readFileSync(path).subarray(0, pageBytes));
  for (const [at, byte] of Object.entries(bytes)) page[Number(at)] = byte;
  return page;
}

const leave = (...records: readonly { readonly number: number; readonly page: Buffer }[]) =>
  writeFileSync(`${path}-journal`, journalOf(records));

/** SQLite's own word on the file, read by somebody who may not write. */
function errorOfReader(): unknown {
  const raw = new DatabaseSync(path, { readOnly: true });
  try {
    raw.exec("SELECT count(*) FROM merchants");
    return null;
  } catch (error) {
    return (error as { errcode?: unknown }).errcode;
  } finally {
    raw.close();
  }
}

function codeOf(act: () => unknown): string {
  try {
    act();
    return "";
  } catch (error) {
    if (error instanceof AgentError) return error.code;
    throw error;
  }
}

// The two versions in the header: 1 for a rollback journal, 2 for write-ahead.
const modes = [
  ["write-ahead off", { 18: 2, 19: 2, 27: 1, 95: 1 }],
  ["write-ahead on", { 18: 1, 19: 1, 27: 9, 95: 9 }],
] as const;

describe("a change of mode that a killed process had begun", () => {
  it.each(modes)("(%s) is taken back by a look and by a start", (_, header) => {
    leave({ number: 1, page: firstPage(header) });
    expect(errorOfReader()).toBe(776);
    expect(inspectStore(path).version).toBe(schemaVersion);
    expect(existsSync(`${path}-journal`)).toBe(false);
    leave({ number: 1, page: firstPage(header) });
    openStore(path, silentLog).close();
    expect(errorOfReader()).toBe(null);
  });

  it("is found beside the file that a link names", () => {
    leave({ number: 1, page: firstPage({ 18: 2, 19: 2 }) });
    symlinkSync(path, join(dir, "link.db"));
    expect(inspectStore(join(dir, "link.db")).version).toBe(schemaVersion);
  });

  it("is also a journal whose one page was not written whole", () => {
    leave({ number: 1, page: firstPage({ 18: 2, 19: 2 }) });
    writeFileSync(`${path}-journal`, readFileSync(`${path}-journal`).subarray(0, 3_000));
    expect(inspectStore(path).version).toBe(schemaVersion);
  });
});

describe("any other journal", () => {
  it.each([
    ["with another first page", () => leave({ number: 1, page: firstPage({ 47: 99 }) })],
    ["with another page", () => leave({ number: 2, page: firstPage({}) })],
    [
      "with a page behind the first",
      () => leave({ number: 1, page: firstPage({ 18: 2 }) }, { number: 2, page: firstPage({}) }),
    ],
    ["that is none", () => writeFileSync(`${path}-journal`, Buffer.alloc(8_000, 7))],
  ])("%s is refused, and not a byte changes", (_, plant) => {
    plant();
    const before = [readFileSync(path), readFileSync(`${path}-journal`)];
    expect(codeOf(() => inspectStore(path))).toBe("GATEWAY_STORE_WAL");
    expect([readFileSync(path), readFileSync(`${path}-journal`)]).toEqual(before);
  });

  it("stops a start as well", () => {
    leave({ number: 2, page: firstPage({}) });
    const before = readFileSync(path);
    expect(codeOf(() => openStore(path, silentLog))).toBe("GATEWAY_STORE_WAL");
    expect(readFileSync(path)).toEqual(before);
  });
});
