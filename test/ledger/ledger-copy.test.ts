/**
 * A ledger that is copied while its signer appends: up to a durable record, in complete files that
 * a start takes, and checked again at the destination.
 */
import { describe, expect, it } from "vitest";
import { CopyCheck, copyLedger, type LedgerPart } from "../../agent/ledger/copy.ts";
import type { LedgerDisk } from "../../agent/ledger/folder.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";
import { bodies, codeOf, fresh, paired, reopen, write } from "../support/memory-ledger.ts";

/** A ledger of some segments, and the head after each write. */
function grown(segmentBytesMax = 3000): {
  readonly disk: MemoryDisk;
  readonly heads: readonly AgentLedgerHead[];
} {
  const { disk, ledger } = fresh({ segmentBytesMax });
  const heads: AgentLedgerHead[] = [ledger.durableHead];
  for (let n = 1; n <= 10; n++) {
    write(disk, ledger, bodies(n));
    heads.push(ledger.durableHead);
    if (ledger.wantsRotation) ledger.rotate(JSON.stringify({ n }));
  }
  write(disk, ledger, bodies(11));
  heads.push(ledger.durableHead);
  return { disk, heads };
}

const copied = (disk: LedgerDisk, upTo: AgentLedgerHead | null): LedgerPart[] => [
  ...copyLedger(disk, upTo),
];

function judged(parts: readonly LedgerPart[]) {
  const check = new CopyCheck();
  for (const part of parts) check.take(part);
  return check.finish();
}

const asDisk = (parts: readonly LedgerPart[]): MemoryDisk =>
  MemoryDisk.of(parts.map(({ name, bytes }) => [name, bytes]));

describe("a copy", () => {
  it("ends with exactly the record named, whatever was written since, and a start takes it", () => {
    const { disk, heads } = grown();
    expect(verifyLedger(disk, testSeal).segments).toBeGreaterThanOrEqual(4);
    for (const head of heads.slice(-2)) {
      const parts = copied(disk, head);
      expect(judged(parts)).toMatchObject({ head, agent: paired.agent, wallet: paired.wallet });
      expect(verifyLedger(asDisk(parts), testSeal)).toMatchObject({ head, tornBytes: 0 });
      expect(reopen(asDisk(parts)).ledger.head).toEqual(head);
    }
  });

  it("of a ledger that nobody writes ends with the last complete line", () => {
    const { disk, heads } = grown();
    const newest =
      disk
        .list()
        .filter((name) => name.endsWith(".jsonl"))
        .at(-1) ?? "";
    const torn = '{"seq":999,"prev":"ab';
    disk.files.set(
      newest,
      Buffer.concat([disk.files.get(newest) ?? new Uint8Array(), Buffer.from(torn)]),
    );
    const parts = copied(disk, null);
    expect(judged(parts).head).toEqual(heads.at(-1));
    expect(Buffer.from(parts.find(({ name }) => name === newest)?.bytes ?? []).includes(torn)).toBe(
      false,
    );
  });

  it("of a ledger that grows between any two reads is complete all the same", () => {
    const { disk, ledger } = fresh({ segmentBytesMax: 3000 });
    for (let n = 1; n <= 6; n++) {
      write(disk, ledger, bodies(n));
      if (ledger.wantsRotation) ledger.rotate("{}");
    }
    write(disk, ledger, bodies(7));
    const head = ledger.durableHead;
    let more = 8;
    const growing: LedgerDisk = {
      list: () => disk.list(),
      size: (name) => disk.size(name),
      read: (name, start, end) => {
        write(disk, ledger, bodies(more++));
        if (ledger.wantsRotation) ledger.rotate("{}");
        return disk.read(name, start, end);
      },
      create: () => expect.fail("it only reads"),
      truncate: () => expect.fail("it only reads"),
      remove: () => expect.fail("it only reads"),
      open: () => expect.fail("it only reads"),
      freeBytes: () => 0,
    };
    expect(judged(copied(growing, head)).head).toEqual(head);
    expect(more).toBeGreaterThan(10);
  });

  it("is refused when the signer's record is not in these files", () => {
    const { disk, heads } = grown();
    const last = heads.at(-1) as AgentLedgerHead;
    expect(codeOf(() => copied(disk, { ...last, hash: "00".repeat(32) }))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => copied(disk, { ...last, seq: last.seq + 1 }))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => copied(new MemoryDisk(), null))).toBe("LEDGER_MISSING");
    expect(copied(disk, last).length).toBeGreaterThan(3);
  });

  it("is refused where it arrives with a file changed, gone, doubled, foreign or in another order", () => {
    const { disk, heads } = grown();
    const parts = copied(disk, heads.at(-1) as AgentLedgerHead);
    const segments = parts.filter(({ name }) => name.endsWith(".jsonl"));
    const checkpoints = parts.filter(({ name }) => name.startsWith("checkpoint-"));
    expect(judged(parts).segments).toBe(segments.length);
    const bad: Readonly<Record<string, readonly LedgerPart[]>> = {
      none: [],
      "first gone": parts.slice(1),
      "middle gone": parts.filter((_, at) => at !== 1),
      "newest checkpoint gone": segments,
      doubled: [segments[0] as LedgerPart, ...parts],
      foreign: [...parts, { name: "00000001.json", bytes: new Uint8Array(3) }],
      turned: [...segments].reverse(),
      "checkpoint changed": [
        ...segments,
        { name: checkpoints[0]?.name ?? "", bytes: Buffer.from("{}") },
      ],
    };
    for (const [name, files] of Object.entries(bad)) {
      expect(
        codeOf(() => judged(files)),
        name,
      ).toMatch(/^LEDGER_(DAMAGED|MISSING)$/);
    }
    for (let at = 0; at < segments.length; at++) {
      const one = segments[at] as LedgerPart;
      const bytes = Buffer.from(one.bytes);
      bytes[40] = (bytes[40] ?? 0) ^ 1;
      const changed = parts.map((part) => (part === one ? { name: one.name, bytes } : part));
      expect(
        codeOf(() => judged(changed)),
        one.name,
      ).toBe("LEDGER_DAMAGED");
      const cut = parts.map((part) =>
        part === one ? { name: one.name, bytes: one.bytes.subarray(0, -1) } : part,
      );
      expect(
        codeOf(() => judged(cut)),
        one.name,
      ).toBe("LEDGER_DAMAGED");
    }
  });
});
