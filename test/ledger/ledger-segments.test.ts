/**
 * The ledger's segments and checkpoints: the beginning of a segment, the records that are durable
 * before, and missing or changed files.
 */
import { describe, expect, it } from "vitest";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { zeroHash } from "../../protocol/identity.ts";
import { bodies, codeOf, fresh, reopen, write } from "../support/memory-ledger.ts";

describe("segments", () => {
  it("begin with a checkpoint, and a start reads the newest one only", () => {
    const { disk, ledger } = fresh({ segmentBytesMax: 4000 });
    const all: LedgerRecord[] = [...reopen(disk).records];
    let replayed = 1;
    for (let n = 1; n <= 12; n++) {
      const written = write(disk, ledger, bodies(n));
      all.push(...written);
      replayed += written.length;
      if (!ledger.wantsRotation) continue;
      const checkpoint = ledger.rotate(JSON.stringify({ replayed }));
      expect(checkpoint).toMatchObject({ kind: "CHECKPOINT", seq: replayed + 1 });
      expect(ledger.wantsRotation).toBe(false);
      all.push(checkpoint);
      replayed += 1;
    }
    write(disk, ledger, bodies(13));
    const verified = verifyLedger(disk, testSeal);
    expect(verified).toMatchObject({ records: replayed + 9, head: ledger.head });
    expect(verified.segments).toBeGreaterThanOrEqual(4);
    // Exactly the records after the state that the checkpoint stands for.
    const { ledger: again, checkpoint, records } = reopen(disk);
    expect(records[0]?.kind).toBe("CHECKPOINT");
    expect((checkpoint as { replayed: number }).replayed).toBe((records[0]?.seq ?? 0) - 1);
    // Old hashes and records are found in every segment.
    for (const each of all) {
      expect(ledger.hashAt(each.seq)).toBe(each.hash);
      expect(again.hashAt(each.seq)).toBe(each.hash);
    }
    expect(again.read(1, all.length)).toEqual(all);
    expect(again.hashAt(0)).toBeNull();
    expect(again.hashAt(again.head.seq + 1)).toBeNull();
    // Two checkpoints are kept.
    expect(disk.list().filter((name) => name.startsWith("checkpoint-"))).toHaveLength(2);
    const steps = [...again.verify()];
    expect(steps).toHaveLength(verified.segments);
  });

  it("are never begun before the one they continue is durable", () => {
    const { disk, ledger } = fresh();
    const first = ledger.append(bodies(1));
    ledger.flush(() => {});
    const second = ledger.append(bodies(2));
    const checkpoint = ledger.rotate("{}");
    const third = ledger.append(bodies(3));
    let done = false;
    ledger.flush(() => {
      done = true;
    });
    const images: MemoryDisk[] = [disk.crash(0), disk.crash(200)];
    disk.sync();
    images.push(disk.crash(0), disk.crash(200));
    disk.sync();
    images.push(disk.crash(0));
    expect(done).toBe(true);
    for (const image of images)
      expect(verifyLedger(MemoryDisk.of(reopenedFiles(image)), testSeal).tornBytes).toBe(0);
    expect(reopen(images[0] as MemoryDisk).records).toHaveLength(1);
    expect(reopen(images[2] as MemoryDisk).records.slice(1)).toEqual(first);
    expect(reopen(disk).records).toEqual([checkpoint, ...third]);
    expect(verifyLedger(disk, testSeal).records).toBe(
      1 + first.length + second.length + 1 + third.length,
    );
  });

  it("of a recovered ledger begin no earlier than its state, and all others by the clock", () => {
    const { disk, ledger } = fresh();
    const [last] = ledger.append(bodies(1)).slice(-1);
    const opened = {
      order: "0".repeat(64),
      ledgerEpoch: 2,
      bothRestored: false,
      held: { seq: 0, hash: zeroHash },
      sequence: 0,
      jobHash: zeroHash,
    };
    const atMs = last!.at + 300_000;
    expect(ledger.rotate("{}", undefined, opened, atMs).at).toBe(atMs);
    expect(ledger.append(bodies(1))[0]!.at).toBe(atMs);
    disk.sync();
    const other = fresh().ledger;
    const before = other.append(bodies(1))[0]!.at;
    expect(other.rotate("{}").at).toBeLessThan(before + 300_000);
  });

  it("and checkpoints that are missing, changed or of a later format refuse to start", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, bodies(1));
    ledger.rotate('{"balance":"1"}');
    write(disk, ledger, bodies(2));
    const without = (name: string): MemoryDisk =>
      MemoryDisk.of([...disk.files].filter(([each]) => each !== name));
    const withFile = (name: string, bytes: Uint8Array): MemoryDisk =>
      MemoryDisk.of([...disk.files, [name, bytes] as const]);
    expect(codeOf(() => reopen(without("00000001.jsonl")))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => reopen(without("checkpoint-00000002.bin")))).toBe("LEDGER_DAMAGED");
    expect(
      codeOf(() => reopen(withFile("checkpoint-00000002.bin", Buffer.from('{"balance":"2"}')))),
    ).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => reopen(withFile("00000003.jsonl", new Uint8Array(0))))).toBe(
      "LEDGER_DAMAGED",
    );
    expect(codeOf(() => reopen(withFile("00000003.jsonl2", new Uint8Array(0))))).toBe(
      "LEDGER_NEWER",
    );
    const old = disk.files.get("00000001.jsonl") ?? new Uint8Array(0);
    expect(codeOf(() => reopen(withFile("00000001.jsonl", old.subarray(0, -1))))).toBe(
      "LEDGER_DAMAGED",
    );
    // An old segment is not read at start; verify reads it.
    const edited = Uint8Array.from(old);
    edited[300] = (edited[300] as number) ^ 1;
    const changed = withFile("00000001.jsonl", edited);
    expect(codeOf(() => reopen(changed))).toBe("");
    expect(codeOf(() => verifyLedger(changed, testSeal))).toBe("LEDGER_DAMAGED");
  });
});

function reopenedFiles(disk: MemoryDisk): ReadonlyMap<string, Uint8Array> {
  reopen(disk);
  return disk.files;
}
