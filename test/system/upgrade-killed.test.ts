/**
 * The database of tree 4d8fbe51 is upgraded by a process that is killed at a write or sync, or
 * finds no room at one: the file is whole, of the version that a step had made, and the next start
 * ends as if nothing had been. In the long tier 300 kills and 60 full disks, spread over all such
 * calls.
 */
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inspectStore } from "../../gateway/store/inspect.ts";
import { migrateStore } from "../../gateway/store/migrate.ts";
import { schemaVersion } from "../../gateway/store/migrations.ts";
import {
  type Point,
  pointsIn,
  readTrace,
  startedUnder,
  whyNoTrace,
} from "../../lab/faults/trace.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { share } from "../../lab/kit/share.ts";
import { type Fixture, unpackFixture } from "../../lab/store-fixture/opened.ts";
import { startsTheBuild } from "../support/built.ts";
import { catalogueOf, contentOf, seenIn } from "../support/catalogue.ts";

const missing = whyNoTrace();
if (missing !== "") process.stderr.write(`\n*** SKIPPED here: killed upgrades; ${missing}\n\n`);

startsTheBuild();

const program = join(projectRoot, "dist", "lab", "faults", "upgrade-process.js");
const syscalls = ["pwrite64", "fsync", "fdatasync", "ftruncate", "unlink", "rename"];
const nowMs = 1_700_000_000_000;
const unbroken = '{"code":""}\n';

let dir: string;
let fixture: Fixture;
let points: readonly Point[];
let whole: readonly string[];

/** All of a database; step 15 begins a clock at the time of the upgrade, which is left out. */
const stateOf = (path: string): readonly string[] =>
  seenIn(path, (raw) => [...catalogueOf(raw), ...contentOf(raw)]).map((line) =>
    line.startsWith("unexplained {") ? line.replace(/"firstAt":\d{13}\b/, "") : line,
  );

/** A copy of the fixture's database in a folder of its own. */
function copyOf(name: string): string {
  mkdirSync(join(dir, name));
  copyFileSync(fixture.database, join(dir, name, "gateway.db"));
  return join(dir, name, "gateway.db");
}

/** Upgrades under a tracer. @returns what the process printed; "" of one that was killed */
async function upgrade(path: string, inject?: string): Promise<string> {
  const traced = { syscalls, ...(inject === undefined ? {} : { inject }) };
  const [strace = "", ...words] = startedUnder(`${path}.trace`, traced);
  const child = spawn(strace, [...words, process.execPath, program, path], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => {
    printed += chunk.toString("utf8");
  });
  await new Promise((resolve) => child.once("close", resolve));
  return printed;
}

/** So many of the points, evenly spread. */
const spread = (all: readonly Point[], count: number): readonly Point[] =>
  Array.from(
    { length: Math.min(count, all.length) },
    (_, at) => all[Math.floor(((at + 0.5) * all.length) / count)] as Point,
  );

/** Two at a time. */
async function each<T>(all: readonly T[], act: (one: T, at: number) => Promise<void>) {
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < all.length; at = next++) await act(all[at] as T, at);
  };
  await Promise.all([work(), work()]);
}

/** The file is whole, and one more start makes of it what an upgrade without a break makes. */
function expectWhole(path: string, point: Point): void {
  const { version } = inspectStore(path);
  expect(version, JSON.stringify(point)).toBeLessThanOrEqual(schemaVersion);
  expect(migrateStore(path, { log: silentLog, nowMs }).to).toBe(schemaVersion);
  expect(stateOf(path), JSON.stringify(point)).toEqual(whole);
  rmSync(join(path, ".."), { recursive: true });
}

describe.skipIf(missing !== "")("an upgrade of an earlier tree's database", () => {
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "upgrade-killed-"));
    fixture = unpackFixture(join(projectRoot, "test", "store-fixture"));
    const path = copyOf("whole");
    expect(await upgrade(path)).toBe(unbroken);
    points = pointsIn(readTrace(`${path}.trace`));
    whole = stateOf(path);
  });
  afterAll(() => {
    fixture.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  it("that is killed at a write or sync goes on at the next start", async () => {
    expect(points.length).toBeGreaterThan(300);
    const struck = spread(points, share(300, 6));
    const versions = new Set<number>();
    let killed = 0;
    await each(struck, async (point, at) => {
      const path = copyOf(`kill-${at}`);
      const { syscall, nth } = point;
      const printed = await upgrade(path, `${syscall}:signal=KILL:when=${nth}`);
      if (printed === "") killed += 1;
      else expect(printed).toBe(unbroken);
      versions.add(inspectStore(path).version);
      expectWhole(path, point);
    });
    // A run makes a few calls more or less than another one, so the last points may not be met.
    expect(killed).toBeGreaterThanOrEqual(share(290, 5));
    // The kills fell before the first step, after the last, and between.
    expect([...versions].length).toBeGreaterThanOrEqual(share(10, 2));
  });

  it("that finds no room says so, and goes on when there is room", async () => {
    const writes = points.filter(({ syscall }) => syscall === "pwrite64");
    const codes = new Set<string>();
    const full = '{"code":"GATEWAY_DISK_FULL"}\n';
    await each(spread(writes, share(60, 2)), async (point, at) => {
      const path = copyOf(`full-${at}`);
      const printed = await upgrade(path, `pwrite64:error=ENOSPC:when=${point.nth}+`);
      // After the last step nothing is written that the database needs.
      if (printed === unbroken) expect(inspectStore(path).version).toBe(schemaVersion);
      else expect(printed).toBe(full);
      codes.add(printed);
      expectWhole(path, point);
    });
    expect([...codes]).toContain(full);
    expect(readdirSync(dir)).toEqual(["whole"]);
  });
});
