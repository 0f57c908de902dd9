/**
 * A short share of the faults on real processes; the long run is `npm run faults -- --kills 2000
 * --eio 500 --enospc 500 --short 500 --restores 200`. Needs strace that may attach; without it
 * everything here is skipped loudly. Findings are kept as cases of their own.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Counterpart } from "../../lab/faults/counterpart.ts";
import { makeGatewayFolder, startGateway } from "../../lab/faults/gateway-folder.ts";
import { GatewayWorld } from "../../lab/faults/gateway-world.ts";
import { Disk } from "../../lab/faults/pages.ts";
import { losePower, unsyncedIn } from "../../lab/faults/power.ts";
import { makeSignerFolder, recordsOf, segmentsOf } from "../../lab/faults/signer-folder.ts";
import { SignerWorld } from "../../lab/faults/signer-world.ts";
import { seeded } from "../../lab/faults/tally.ts";
import { callsIn, pointsIn, readTrace, startedUnder, whyNoTrace } from "../../lab/faults/trace.ts";
import { playWithdrawals } from "../../lab/faults/withdrawals.ts";
import { FakeChain, serveChain } from "../../lab/kit/fake-chain.ts";
import { childrenOf } from "../../lab/kit/processes.ts";
import { isLongTier, share } from "../../lab/kit/share.ts";
import { startsTheBuild } from "../support/built.ts";

const missing = whyNoTrace();
if (missing !== "")
  process.stderr.write(`\n*** SKIPPED here: faults on real processes; ${missing}\n\n`);

const folder = (): string => mkdtempSync(join(tmpdir(), "autowithdraw-faults-"));

describe("a trace", () => {
  const log = [
    '7 write(19</l/1.jsonl>, ""..., 100) = 100',
    "8 fdatasync(19</l/1.jsonl> <unfinished ...>",
    '7 write(19</l/1.jsonl>, ""..., 50) = 50',
    "8 <... fdatasync resumed>)          = 0",
    '7 openat(AT_FDCWD</>, "/l/2.tmp", O_WRONLY|O_CREAT|O_EXCL, 0600) = 20</l/2.tmp>',
    '7 write(20</l/2.tmp>, ""..., 9) = 9',
    "7 fsync(20</l/2.tmp>) = -1 EIO (Input/output error) (INJECTED)",
    '7 rename("/l/2.tmp", "/l/2") = 0',
  ].join("\n");

  it("counts each call by its busiest thread", () => {
    expect(pointsIn(log).filter(({ syscall }) => syscall === "write")).toEqual([
      { syscall: "write", nth: 1 },
      { syscall: "write", nth: 2 },
      { syscall: "write", nth: 3 },
    ]);
    expect(callsIn(log)[1]).toMatchObject({
      syscall: "fdatasync",
      value: 0,
      begunAt: 1,
      endedAt: 3,
    });
  });

  it("a sync covers the writes before its beginning, and a failed one none", () => {
    const { files, names } = unsyncedIn(log, "/l", new Map([["/l/1.jsonl", 1000]]));
    expect(files.get("/l/1.jsonl")).toEqual({ written: 1150, synced: 1100 });
    expect(files.get("/l/2")).toEqual({ written: 9, synced: 0 });
    expect(names.map(({ kind }) => kind)).toEqual(["create", "rename"]);
  });
});

describe.skipIf(missing !== "")("faults on real processes", () => {
  startsTheBuild();

  it("a short share of each holds", async () => {
    const seed = process.env.SEED ?? randomBytes(6).toString("hex");
    process.stderr.write(`faults: SEED=${seed}\n`);
    const ofDisk = ["eio", "enospc", "short"] as const;
    const drawn = Math.floor(seeded(seed)() * ofDisk.length);
    // The quick tier plays one fault of a disk, drawn by the seed.
    const [eio, enospc, short] = ofDisk.map((_, at) => (isLongTier ? 3 : Number(at === drawn))) as [
      number,
      number,
      number,
    ];
    const counts = { kills: share(8, 1), moments: 0, eio, enospc, short, restores: share(3, 1) };
    const report = await playWithdrawals({
      counts,
      seed,
      workers: 2,
      only: null,
      isLight: true,
      say: () => undefined,
    });
    expect(report.violations).toEqual([]);
    expect(report).toMatchObject(counts);
    expect(report.withdrawals).toBeGreaterThan(share(12, 2));
    expect(report.paidOnce).toBe(report.withdrawals);
  });

  it("records that a killed signer left unsynced are durable before the gateway receives them", async () => {
    const counterpart = new Counterpart(generateKeyPairSync("ed25519").privateKey);
    const dir = folder();
    const world = new SignerWorld(
      dir,
      await makeSignerFolder(dir, counterpart.identity),
      counterpart,
      seeded("kept"),
    );
    for (const nth of [1, 3]) {
      const point = { syscall: "fdatasync", nth };
      expect(
        await world.strike(
          "signing",
          { kind: "kill", point, aftermath: "speak and lose power" },
          2,
        ),
      ).toBe(true);
    }
    expect(await world.close()).toEqual([]);
  });

  it("writes that a killed gateway left unsynced are durable before it listens", async () => {
    const world = await GatewayWorld.create(folder(), seeded("kept"));
    const point = { syscall: "fsync", nth: 2 };
    expect(await world.strike({ kind: "kill", point, aftermath: "start" }, 1)).toBe(true);
    const running = await world.up();
    running.child.kill("SIGKILL");
    await running.ended;
    const file = join(world.folder.dir, "listening");
    const traced = await startGateway(
      world.folder,
      startedUnder(file, { syscalls: ["fsync", "fdatasync", "listen"] }),
    );
    const calls = callsIn(readTrace(file));
    for (const pid of childrenOf(traced.pid, "gateway.js")) process.kill(pid, "SIGKILL");
    await traced.ended;
    const listens = calls.findIndex(({ syscall }) => syscall === "listen");
    const synced = calls.findIndex(
      ({ syscall, args }) => syscall !== "listen" && args.includes("gateway.db-wal"),
    );
    expect(listens).toBeGreaterThan(0);
    expect(synced).toBeGreaterThanOrEqual(0);
    expect(synced).toBeLessThan(listens);
    expect(await world.close()).toEqual([]);
  });
});

it("a lost page and a lost tail are seen by what looks for them", async () => {
  const counterpart = new Counterpart(generateKeyPairSync("ed25519").privateKey);
  const made = await makeSignerFolder(folder(), counterpart.identity);
  const [file = ""] = segmentsOf(made);
  expect(recordsOf(made)).toHaveLength(1);
  const told = losePower(
    { files: new Map([[file, { written: 999, synced: 10 }]]), names: [] },
    () => 0,
  );
  expect(told).toContain("unsynced bytes lost");
  expect(recordsOf(made)).toHaveLength(0);
  made.lock.release();
  const node = await serveChain(new FakeChain());
  const gateway = await makeGatewayFolder(folder(), node.url);
  const disk = new Disk([gateway.database]);
  disk.follow(`1 pwrite64(3<${gateway.database}>, "\\x00\\x01", 2, 0) = 2`);
  expect(() => disk.assertWhole()).toThrow(/does not tell all/);
  await node.close();
});
