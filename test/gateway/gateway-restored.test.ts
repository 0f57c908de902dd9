/**
 * A copy in the place of a database whose gateway was killed: the files beside it still belong to
 * the old database, and nothing may play them into the copy.
 */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { AgentError } from "../../base/fault.ts";
import { checkGateway } from "../../gateway/operator/check.ts";
import { checkBackup } from "../../gateway/operator/command.ts";
import { openStore } from "../../gateway/store/store.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

let dir: string;
let config: string;
const database = (): string => join(dir, "gateway.db");

/** Another process commits rows to the database and is killed while it has it open. */
function writeAndDie(rows: number): void {
  const script = `const { DatabaseSync } = require("@photostructure/sqlite");
    const raw = new DatabaseSync(process.argv[1]);
    raw.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    const row = raw.prepare("INSERT INTO audit (at, actor, act, subject, detail) VALUES (1, 'x', 'before the kill', 'x', ?)");
    for (let n = 0; n < ${rows}; n += 1) row.run("d".repeat(3000));
    process.kill(process.pid, "SIGKILL");`;
  const died = spawnSync(process.execPath, ["-e", script, database()], { cwd: projectRoot });
  expect(died.signal, String(died.stderr)).toBe("SIGKILL");
}

const command = (...words: readonly string[]) =>
  spawnSync(process.execPath, ["gateway/gateway.js", ...words], {
    cwd: projectRoot,
    encoding: "utf8",
  });

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "aw-gateway-restored-"));
  config = join(dir, "gateway.config.json");
  // By other processes: this one would keep a hand on the database until its garbage is collected.
  expect(command("init", "--dir", dir)).toMatchObject({ status: 0 });
  writeAndDie(20);
  expect(command("backup", join(dir, "gateway.backup"), "--config", config)).toMatchObject({
    status: 0,
  });
  writeAndDie(200);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const attempts = (name: string): readonly number[] => [
  ...readFileSync(join(dir, name)).subarray(18, 20),
];
const bytes = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir).map((name) => [name, readFileSync(join(dir, name)).toString("base64")]),
  );

function rowsIn(path: string): number {
  const store = openStore(path, silentLog);
  try {
    return (
      store.database.get<{ n: number }>(
        "SELECT count(*) AS n FROM audit WHERE act = 'before the kill'",
      )?.n ?? -1
    );
  } finally {
    store.close();
  }
}

function faultOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return `${error.code} ${error.message}`;
    throw error;
  }
  return "";
}

it("a copy beside another database's write-ahead file is opened by nothing, every file stays as it is, and it opens once that file is away", async () => {
  expect(attempts("gateway.db")).toEqual([2, 2]);
  expect(attempts("gateway.backup")).toEqual([1, 1]);
  copyFileSync(join(dir, "gateway.backup"), database());
  const before = bytes();
  expect(before["gateway.db-wal"]?.length).toBeGreaterThan(100_000);
  const refused = `GATEWAY_STORE_WAL ${database()}-wal is of another database: move it and ${database()}-shm away; nothing was changed`;
  expect(faultOf(() => openStore(database(), silentLog))).toBe(refused);
  expect(faultOf(() => checkBackup(database(), null))).toBe(refused);
  const found = (await checkGateway(config, 1_000)).map(
    ({ code, severity }) => `${code} ${severity}`,
  );
  expect(found).toContain("GATEWAY_STORE_WAL error");
  for (const words of [["start"], ["merchant", "list"]]) {
    const done = command(...words, "--config", config);
    expect(done.status, done.stdout).not.toBe(0);
    expect(done.stderr).toContain("gateway.db-wal is of another database");
  }
  expect(bytes()).toEqual(before);
  mkdirSync(join(dir, "old"));
  for (const end of ["-wal", "-shm"])
    renameSync(`${database()}${end}`, join(dir, "old", `gateway.db${end}`));
  expect(command("merchant", "list", "--config", config)).toMatchObject({ status: 0 });
  expect(rowsIn(database())).toBe(20);
});

it("a database whose gateway was killed opens with all that it had committed", () => {
  expect(attempts("gateway.db")).toEqual([2, 2]);
  expect(faultOf(() => checkBackup(database(), null))).toBe("");
  expect(rowsIn(database())).toBe(220);
});

it("a restored copy that was opened once is a live database: it opens again after another kill", () => {
  for (const end of ["-wal", "-shm"]) rmSync(`${database()}${end}`);
  copyFileSync(join(dir, "gateway.backup"), database());
  writeAndDie(3);
  expect(attempts("gateway.db")).toEqual([2, 2]);
  expect(rowsIn(database())).toBe(23);
});
