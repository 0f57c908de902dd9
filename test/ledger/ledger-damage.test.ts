/**
 * The start on a ledger that was damaged or written by others: every cut, a flipped bit in every
 * byte, lines taken out, doubled or exchanged, crashes while writing, newer
 * attempts, and lines that are right each by itself.
 */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createLedger, type openLedger } from "../../agent/ledger/ledger.ts";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import { AgentError } from "../../base/fault.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";
import { bodies, codeOf, fresh, hex, id, paired, reopen, write } from "../support/memory-ledger.ts";
import { places, strideOfRun } from "../support/stride.ts";

/** A ledger of 20 records in one file, and the same in two segments. */
function twenty(rotated: boolean): {
  disk: MemoryDisk;
  file: string;
  records: readonly LedgerRecord[];
} {
  const { disk, ledger } = fresh();
  write(disk, ledger, bodies(1));
  const state = JSON.stringify({ replayed: 10 });
  if (rotated) ledger.rotate(state);
  write(disk, ledger, []);
  write(
    disk,
    ledger,
    rotated ? bodies(2) : [...bodies(2), { kind: "EXPIRED", transactionId: id(3) }],
  );
  const { records } = reopen(disk);
  return { disk, file: rotated ? "00000002.jsonl" : "00000001.jsonl", records };
}

/** Opens an image and returns the number of records that are left, or the code of the refusal. */
function outcome(disk: MemoryDisk, records: readonly LedgerRecord[]): number | string {
  let opened: ReturnType<typeof openLedger>;
  try {
    opened = reopen(disk);
  } catch (error) {
    if (error instanceof AgentError) return error.code;
    throw error;
  }
  const kept = opened.records;
  // A record's hash covers all of it.
  if (kept.at(-1)?.hash !== records[kept.length - 1]?.hash) return "another record";
  if (opened.tornBytes > 0) expect(verifyLedger(disk, testSeal).tornBytes).toBe(0); // It was cut.
  return kept.length;
}

describe.each([false, true])("damage, rotated: %s", (rotated) => {
  const { disk, file, records } = twenty(rotated);
  const whole = disk.files.get(file) ?? new Uint8Array(0);
  const image = (bytes: Uint8Array): MemoryDisk =>
    MemoryDisk.of([...disk.files, [file, bytes] as const]);
  const ends: number[] = [];
  for (const [at, byte] of whole.entries()) if (byte === 0x0a) ends.push(at + 1);
  /** Records up to the end of each write: one record, then one or two writes of several lines. */
  const writes = rotated ? [1, 10] : [1, 10, 20];
  const beforeLast = writes.at(-2) as number;

  it("a ledger cut at every length gives its complete writes or a refusal", async () => {
    expect(records).toHaveLength(rotated ? 10 : 20);
    const stride = strideOfRun();
    let tried = 0;
    for (const length of new Set([0, ...places(whole.length, stride)])) {
      tried += 1;
      if (tried % 256 === 0) await new Promise(setImmediate);
      const lines = ends.filter((end) => end <= length).length;
      const complete = writes.filter((end) => end <= lines).at(-1) ?? 0;
      const expected =
        complete > 0 ? complete : rotated || length > 0 ? "LEDGER_DAMAGED" : "LEDGER_MISSING";
      const found = outcome(image(whole.subarray(0, length)), records);
      if (found !== expected) expect([length, found]).toEqual([length, expected]);
    }
  });

  it("a flipped bit in any byte is refused, unless a zero byte in the last line looks torn", async () => {
    const lastLine = ends.at(-2) ?? 0;
    const random = new SeededRandom(seedsOfRun(1)[0] as number);
    let [tried, cut] = [0, 0];
    for (const at of places(whole.length, strideOfRun())) {
      tried += 1;
      // The test runner waits for messages of this worker; this lets them out.
      if (tried % 256 === 0) await new Promise(setImmediate);
      const bytes = Uint8Array.from(whole);
      bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
      const found = outcome(image(bytes), records);
      if (found === "LEDGER_DAMAGED" || found === "LEDGER_FORGED" || found === "LEDGER_NEWER")
        continue;
      expect([at >= lastLine, bytes[at], found, random.seed]).toEqual([
        true,
        0,
        beforeLast,
        random.seed,
      ]);
      cut += 1;
    }
    expect(tried).toBeGreaterThan(share(whole.length) - 1);
    expect(cut).toBeLessThan(10);
  });

  it("a last write with holes is cut and kept aside; one with a good record behind is refused", () => {
    const start = ends.at(-3) ?? 0;
    const holes = Uint8Array.from(whole);
    holes.fill(0, start + 40, whole.length - 40);
    const torn = image(holes);
    expect(outcome(torn, records)).toBe(beforeLast);
    expect(torn.list().filter((name) => name.startsWith("torn-"))).toHaveLength(1);
    const middle = Uint8Array.from(whole);
    middle.fill(0, start + 40, start + 80);
    expect(outcome(image(middle), records)).toBe("LEDGER_DAMAGED");
  });

  it("a line taken out, doubled or exchanged is refused with its file and line", () => {
    const lines = Buffer.from(whole).toString().trimEnd().split("\n");
    const edits: [string, string[], number][] = [
      ["removed", [...lines.slice(0, 4), ...lines.slice(5)], 5],
      ["doubled", [...lines.slice(0, 5), ...lines.slice(4)], 6],
      [
        "exchanged",
        [...lines.slice(0, 4), lines[5] as string, lines[4] as string, ...lines.slice(6)],
        5,
      ],
    ];
    for (const [name, edited, line] of edits) {
      const edit = image(Buffer.from(`${edited.join("\n")}\n`));
      let fault: unknown;
      try {
        reopen(edit);
      } catch (error) {
        fault = error;
      }
      expect([name, fault]).toMatchObject([
        name,
        { code: "LEDGER_DAMAGED", context: { file, line } },
      ]);
    }
    expect(outcome(image(Buffer.from(`${lines.join("\n")}\n`)), records)).toBe(records.length);
  });
});

describe("a crash while writing", () => {
  it("keeps what was durable, and the write only as one, for every number of bytes that reached the disk", () => {
    const { disk, ledger } = fresh();
    const durable = write(disk, ledger, bodies(1)).length + 1;
    const wanted = ledger.append(bodies(2));
    ledger.flush(() => {});
    const stride = strideOfRun();
    // From nothing of the write to all of it.
    for (const kept of new Set([
      0,
      ...[...places(Math.ceil(4_000 / 7), stride)].map((at) => at * 7),
      4_000,
    ])) {
      const found = disk.crash(kept);
      const opened = reopen(found);
      // A write is there as one or not at all.
      expect([[], wanted]).toContainEqual(opened.records.slice(durable));
      write(found, opened.ledger, bodies(3));
      expect(verifyLedger(found, testSeal).records).toBe(opened.records.length + 9);
    }
  });
});

describe("a ledger that does not open", () => {
  it("a ledger that is missing or empty does not open", () => {
    const { disk } = fresh();
    expect(codeOf(() => reopen(new MemoryDisk()))).toBe("LEDGER_MISSING");
    expect(codeOf(() => reopen(MemoryDisk.of([["00000001.jsonl", new Uint8Array(0)]])))).toBe(
      "LEDGER_MISSING",
    );
    expect(codeOf(() => verifyLedger(new MemoryDisk(), testSeal))).toBe("LEDGER_MISSING");
    expect(codeOf(() => createLedger(disk, paired, () => 0, testSeal))).toBe("LEDGER_EXISTS");
    expect(codeOf(() => reopen(disk))).toBe("");
  });

  /**
   * A line as another attempt with the wallet's key might write it: closed rightly, with any
   * content.
   */
  const forge = (
    seq: number,
    prev: string,
    at: number,
    fields: string,
    isSealed = true,
  ): string => {
    const covered = `{"seq":${seq},"prev":"${prev}","at":${at},${fields}`;
    const own = createHash("sha256").update(`autowithdraw/2 ledger\n${covered}`).digest("hex");
    return `${covered},"hash":"${own}"${isSealed ? `,"mac":"${testSeal.macOf(own)}"` : ""}}\n`;
  };
  const begin = JSON.stringify(paired).slice(1, -1);
  const open = (text: string): string =>
    codeOf(() => reopen(MemoryDisk.of([["00000001.jsonl", Buffer.from(text)]])));

  it("a ledger with a kind or a shape of a newer version does not open, though its hashes are right", () => {
    const first = (fields: string): string => open(forge(1, "0".repeat(64), 1, fields));
    expect(first(begin)).toBe("");
    expect(first(`${begin},"shard":1`)).toBe("LEDGER_NEWER");
    expect(first(begin.replace("PAIRED", "MERGED"))).toBe("LEDGER_NEWER");
    expect(first(begin.replace("PAIRED", "toString"))).toBe("LEDGER_NEWER");
    expect(first(`${begin},"ledgerEpoch":2`)).toBe("LEDGER_DAMAGED");
    expect(first(`"kind":"EXPIRED","transactionId":"${id(1)}"`)).toBe("LEDGER_DAMAGED");
  });

  it("a ledger whose lines do not continue each other does not open, though their own hashes are right", () => {
    const first = forge(1, "0".repeat(64), 10, begin);
    const { hash } = JSON.parse(first);
    const second = (seq: number, prev: string, at: number): string =>
      open(first + forge(seq, prev, at, `"kind":"EXPIRED","transactionId":"${id(1)}"`));
    expect(second(2, hash, 10)).toBe("");
    expect(second(3, hash, 10)).toBe("LEDGER_DAMAGED");
    expect(second(2, hex("another", 32), 10)).toBe("LEDGER_DAMAGED");
    expect(second(2, hash, 9)).toBe("LEDGER_DAMAGED");
    const checkpoint = '"kind":"CHECKPOINT","file":"checkpoint-00000002.bin","sha256":"';
    expect(
      open(first + forge(2, hash, 10, `${checkpoint}${hex("state", 32)}","closed":[],"paid":[]`)),
    ).toBe("LEDGER_DAMAGED");
  });

  it("damage is seen by a running ledger when it reads back", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, bodies(1));
    const text = Buffer.from(disk.files.get("00000001.jsonl") ?? []).toString();
    const lines = text.split("\n");
    const { prev } = JSON.parse(lines[2] as string);
    // As long as the line it replaces.
    const fields = `"kind":"HELD","transactionId":"${id(1)}","code":"POLICY_MANUA_"`;
    disk.files.set(
      "00000001.jsonl",
      Buffer.from(text.replace(`${lines[2]}\n`, forge(3, prev, 1000, fields, false))),
    );
    expect(disk.size("00000001.jsonl")).toBe(text.length + 3); // "ü €" has three bytes more than units.
    expect(codeOf(() => ledger.read(3, 3))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => ledger.read(4, 10))).toBe("");
  });
});
