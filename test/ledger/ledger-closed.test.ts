/**
 * Closed and paid withdrawals leave the checkpoint for sorted files that the ledger names. The
 * files are looked up permanently, and are complete after every crash.
 */

import { describe, expect, it } from "vitest";
import type { ArchivedRows, ArchiveKind, ArchiveLookup } from "../../agent/ledger/archive.ts";
import { CopyCheck, copyLedger } from "../../agent/ledger/copy.ts";
import type { LedgerFile } from "../../agent/ledger/folder.ts";
import type { LedgerRecord } from "../../agent/ledger/records.ts";
import { sealContextOfCheckpoint } from "../../agent/ledger/seal.ts";
import { segmentName } from "../../agent/ledger/segment.ts";
import {
  checkSortedFile,
  probeOf,
  type Row,
  SortedFile,
  type SortedFileSource,
  sortedFileOf,
} from "../../agent/ledger/sorted-file.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import type { PolicySnapshot } from "../../agent/signer/policy/policy.ts";
import { describeDestination } from "../../agent/signer/state/in-force.ts";
import type { WithdrawalBookSnapshot } from "../../agent/signer/state/withdrawals.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { Kit, other, shop, twin, txParams } from "../../lab/kit/signer-kit.ts";
import { linesIn } from "../support/forger.ts";
import { bodies, codeOf, fresh, hex, id, reopen, write } from "../support/memory-ledger.ts";
import { places, strideOfRun } from "../support/stride.ts";

const row = (n: number, value = `value ${n}`): Row => ({
  key: Buffer.from(id(n), "hex"),
  value: Buffer.from(value),
});
const rowsOf = (from: number, count: number): Row[] =>
  Array.from({ length: count }, (_, i) => row(from + i));
const closing = (rows: readonly Row[], paid: readonly Row[] = []): ArchivedRows => ({
  closed: rows,
  paid,
});

/** The newest value under a key, without the zeros that fill its row. */
function found(past: ArchiveLookup, n: number, shelf: ArchiveKind = "closed"): string | undefined {
  const key = Buffer.from(id(n), "hex");
  const hit = past.find(shelf, key).find((each) => Buffer.compare(each.key, key) === 0);
  return hit === undefined ? undefined : Buffer.from(hit.value).toString().replace(/\0+$/, "");
}

const sourceOf = (bytes: Uint8Array): SortedFileSource => ({
  size: bytes.length,
  read: (start, end) => Uint8Array.from(bytes.subarray(start, end)),
});

const files = (disk: MemoryDisk, shelf: ArchiveKind): readonly string[] =>
  disk.list().filter((name) => name.startsWith(`${shelf}-`));

/** A disk that keeps what a power failure would find before and after each change. */
class Watched extends MemoryDisk {
  readonly images: MemoryDisk[] = [];

  override create(name: string, bytes: Uint8Array): void {
    this.#around(() => super.create(name, bytes));
  }

  override remove(name: string): void {
    this.#around(() => super.remove(name));
  }

  override open(name: string): LedgerFile {
    const file = super.open(name);
    return { ...file, append: (bytes, done) => this.#around(() => file.append(bytes, done)) };
  }

  #around(act: () => void): void {
    this.images.push(this.crash());
    act();
    this.images.push(this.crash(), this.crash(40));
  }
}

function watched(files: Iterable<readonly [string, Uint8Array]>): Watched {
  const disk = new Watched();
  for (const [name, bytes] of files) disk.files.set(name, bytes);
  return disk;
}

describe("a sorted file", () => {
  const { bytes, root } = sortedFileOf(rowsOf(1, 700));
  const named = { file: "closed-00000001.bin", root };

  it("finds every row of it and no other, however long its values", () => {
    const file = new SortedFile(sourceOf(bytes), named);
    const past: ArchiveLookup = { find: (_, key) => file.find(key) };
    expect(file.blocks).toBeGreaterThan(3);
    const wrong = [];
    for (let n = 1; n <= 3000; n++)
      if (found(past, n) !== (n <= 700 ? `value ${n}` : undefined)) wrong.push(n);
    expect(wrong).toEqual([]);
    const one = sortedFileOf([row(1, "")]);
    expect(
      new SortedFile(sourceOf(one.bytes), { ...named, root: one.root }).find(row(1).key),
    ).toHaveLength(1);
  });

  it("gives all rows that begin alike, over the edges of its blocks", () => {
    const alike = Array.from({ length: 300 }, (_, n) => {
      const key = Buffer.concat([
        Buffer.from(hex(`half ${Math.floor(n / 100)}`, 8), "hex"),
        Buffer.from(hex(`end ${n}`, 8), "hex"),
      ]);
      return { key, value: Buffer.from(String(n).padStart(60)) };
    });
    const made = sortedFileOf([...alike, ...rowsOf(1, 200)]);
    const file = new SortedFile(sourceOf(made.bytes), { ...named, root: made.root });
    for (const half of [0, 100, 200]) {
      const hits = file
        .find(alike[half]!.key)
        .map(({ value }) => Number(Buffer.from(value).toString()));
      expect(hits.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => half + i));
    }
  });

  it("is read seldom for what is not in it", () => {
    let reads = 0;
    const count = <T>(read: T): T => {
      reads += 1;
      return read;
    };
    const counted = {
      ...sourceOf(bytes),
      read: (start: number, end: number) => count(bytes.subarray(start, end)),
    };
    const file = new SortedFile(counted, named);
    reads = 0;
    for (let n = 10_000; n < 20_000; n++)
      if (file.mayHold(probeOf(row(n).key))) file.find(row(n).key);
    expect(reads).toBeLessThan(300);
    reads = 0;
    file.find(row(7).key);
    expect(reads).toBeLessThanOrEqual(2);
  });

  it("that changed by any bit, was cut or goes on is not taken for whole", () => {
    const small = sortedFileOf(rowsOf(1, 12));
    const own = { file: "closed-00000001.bin", root: small.root };
    checkSortedFile(sourceOf(small.bytes), own);
    for (const bit of places(small.bytes.length * 8, strideOfRun())) {
      const changed = Uint8Array.from(small.bytes);
      changed[bit >> 3] = changed[bit >> 3]! ^ (1 << (bit & 7));
      expect(codeOf(() => checkSortedFile(sourceOf(changed), own))).toBe("LEDGER_DAMAGED");
    }
    for (const size of places(small.bytes.length, strideOfRun()))
      expect(codeOf(() => checkSortedFile(sourceOf(small.bytes.subarray(0, size)), own))).toBe(
        "LEDGER_DAMAGED",
      );
    expect(
      codeOf(() => checkSortedFile(sourceOf(Buffer.concat([small.bytes, small.bytes])), own)),
    ).toBe("LEDGER_DAMAGED");
    expect(
      codeOf(() => checkSortedFile(sourceOf(small.bytes), { ...own, root: hex("other", 32) })),
    ).toBe("LEDGER_DAMAGED");
  });
});

/** A ledger whose newest checkpoint names one file of each kind. */
function shelved(): MemoryDisk {
  const { disk, ledger } = fresh();
  write(disk, ledger, bodies(1));
  ledger.rotate("{}", closing(rowsOf(1, 200), rowsOf(500, 3)));
  write(disk, ledger, bodies(2));
  return disk;
}

describe("the ledger's files of what is closed", () => {
  it("the ledger's files of closed withdrawals are named in the CHECKPOINT record and found by the next start", () => {
    const disk = shelved();
    const { ledger, records } = reopen(disk);
    expect(records[0]).toMatchObject({
      closed: [{ file: "closed-00000001.bin" }],
      paid: [{ file: "paid-00000002.bin" }],
    });
    for (let n = 1; n <= 200; n++) expect(found(ledger.past, n)).toBe(`value ${n}`);
    expect(found(ledger.past, 501, "paid")).toBe("value 501");
    expect(found(ledger.past, 501)).toBeUndefined();
    expect(found(ledger.past, 7, "paid")).toBeUndefined();
    verifyLedger(disk, testSeal);
  });

  it("the ledger's files of closed withdrawals refuse the start when one is missing, cut, or another than the ledger names", () => {
    const disk = shelved();
    const bytes = disk.files.get("closed-00000001.bin")!;
    const start = (change: (files: Map<string, Uint8Array>) => void): string => {
      const changed = MemoryDisk.of(disk.files);
      change(changed.files);
      return codeOf(() => reopen(changed));
    };
    expect(start(() => {})).toBe("");
    expect(start((all) => all.delete("closed-00000001.bin"))).toBe("LEDGER_DAMAGED");
    expect(start((all) => all.delete("paid-00000002.bin"))).toBe("LEDGER_DAMAGED");
    expect(start((all) => all.set("closed-00000001.bin", bytes.subarray(0, -1)))).toBe(
      "LEDGER_DAMAGED",
    );
    expect(start((all) => all.set("closed-00000001.bin", sortedFileOf(rowsOf(2, 199)).bytes))).toBe(
      "LEDGER_DAMAGED",
    );
  });

  it("the ledger's files of closed withdrawals name themselves when a row changed, at its look-up and to verify", () => {
    const disk = shelved();
    const bytes = Uint8Array.from(disk.files.get("closed-00000001.bin")!);
    const at = Buffer.from(bytes).indexOf(Buffer.from(id(7), "hex"));
    bytes[at + 20] = bytes[at + 20]! ^ 1;
    disk.files.set("closed-00000001.bin", bytes);
    const { ledger } = reopen(disk);
    expect(() => found(ledger.past, 7)).toThrow(/closed-00000001\.bin: .* not what was written/);
    expect(codeOf(() => found(ledger.past, 7))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => verifyLedger(disk, testSeal))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => [...ledger.verify()])).toBe("LEDGER_DAMAGED");
  });

  it("the ledger's files of closed withdrawals are whole after a crash at any step of beginning a segment, and what no record names goes", () => {
    const first = shelved();
    const disk = watched(first.files);
    const { ledger } = reopen(disk);
    write(disk, ledger, bodies(3));
    disk.images.length = 0;
    ledger.append(bodies(4));
    ledger.rotate("{}", closing(rowsOf(201, 50), rowsOf(600, 2)));
    write(disk, ledger, bodies(5));
    expect(disk.images.length).toBeGreaterThan(10);
    const seen = new Set<number>();
    for (const image of [...disk.images, disk]) {
      const { ledger: found2, records } = reopen(image as MemoryDisk);
      const [checkpoint] = records as readonly [LedgerRecord & { kind: "CHECKPOINT" }];
      seen.add(checkpoint.closed.length);
      for (let n = 1; n <= 250; n++) {
        expect(found(found2.past, n)).toBe(
          n <= 200 || checkpoint.closed.length === 2 ? `value ${n}` : undefined,
        );
      }
      expect(files(image as MemoryDisk, "closed")).toHaveLength(checkpoint.closed.length);
      expect(files(image as MemoryDisk, "paid")).toHaveLength(checkpoint.paid.length);
      verifyLedger(image as MemoryDisk, testSeal);
    }
    expect([...seen].sort()).toEqual([1, 2]);
  });

  it("the ledger's files of closed withdrawals go into a copy, which is refused without one of them or with another", () => {
    const disk = shelved();
    const parts = [...copyLedger(disk, null)];
    const judge = (some: typeof parts): string =>
      codeOf(() => {
        const check = new CopyCheck();
        for (const part of some) check.take(part);
        check.finish();
      });
    expect(parts.map(({ name }) => name)).toContain("closed-00000001.bin");
    expect(judge(parts)).toBe("");
    expect(judge(parts.filter(({ name }) => !name.startsWith("closed-")))).toBe("LEDGER_DAMAGED");
    expect(judge(parts.filter(({ name }) => !name.startsWith("paid-")))).toBe("LEDGER_DAMAGED");
    const flipped = Uint8Array.from(disk.files.get("closed-00000001.bin")!);
    flipped[30] = flipped[30]! ^ 1;
    expect(
      judge(
        parts.map((part) => (part.name.startsWith("closed-") ? { ...part, bytes: flipped } : part)),
      ),
    ).toBe("LEDGER_DAMAGED");
    expect(judge([...parts, { name: "closed-00000009.bin", bytes: flipped }])).toBe(
      "LEDGER_DAMAGED",
    );
    const put = MemoryDisk.of(parts.map(({ name, bytes }) => [name, bytes] as const));
    expect(found(reopen(put).ledger.past, 42)).toBe("value 42");
  });
});

describe("many files", () => {
  it("are joined eight by eight, the newest row of a key counts, and nothing is lost at any step", () => {
    const { disk: first } = fresh();
    const disk = watched(first.files);
    let { ledger } = reopen(disk);
    const newest = new Map<number, string>();
    let most = 0;
    for (let round = 0; round < 80; round++) {
      // Row 1 is written again each time, as a settled withdrawal that was asked for again.
      const numbers = [1, ...Array.from({ length: 5 }, (_, i) => 2 + round * 5 + i)];
      for (const n of numbers) newest.set(n, `value ${n} of ${round}`);
      const rows = numbers.map((n) => row(n, newest.get(n)));
      ledger.rotate("{}", closing(rows, round % 3 === 0 ? [row(1000 + round)] : []));
      write(disk, ledger, [{ kind: "EXPIRED", transactionId: id(round) }]);
      disk.images.length = 0;
      ledger.past.tend();
      for (const image of disk.images) {
        const { past } = reopen(image).ledger;
        for (const n of numbers) expect(found(past, n)).toBe(newest.get(n));
      }
      most = Math.max(most, ledger.past.named.closed.length);
      if (round % 7 === 6) ledger = reopen(disk).ledger;
    }
    expect(most).toBeLessThan(16);
    for (const past of [ledger.past, reopen(disk.crash()).ledger.past]) {
      for (const [n, value] of newest) expect(found(past, n)).toBe(value);
      for (let round = 0; round < 80; round += 3)
        expect(found(past, 1000 + round, "paid")).toBe(`value ${1000 + round}`);
      expect(found(past, 5000)).toBeUndefined();
    }
    // A start leaves those that the record names.
    const { named } = reopen(disk).ledger.past;
    expect(files(disk, "closed")).toHaveLength(named.closed.length);
    verifyLedger(disk, testSeal);
    const numbers = disk.list().flatMap((name) => /^(?:closed|paid)-(\d+)/.exec(name)?.[1] ?? []);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("stay as they are when one has changed or the disk fails", () => {
    const { disk, ledger } = fresh();
    for (let round = 0; round < 8; round++) {
      ledger.rotate("{}", closing(rowsOf(round * 10, 10)));
      write(disk, ledger, [{ kind: "EXPIRED", transactionId: id(round) }]);
    }
    const bytes = disk.files.get("closed-00000003.bin")!;
    disk.files.set(
      "closed-00000003.bin",
      bytes.map((byte, at) => (at === 0 ? byte ^ 1 : byte)),
    );
    expect(codeOf(() => ledger.past.tend())).toBe("LEDGER_DAMAGED");
    expect(ledger.poisoned).toBe(false);
    disk.files.set("closed-00000003.bin", bytes);
    disk.broken = new Error("ENOSPC");
    expect(codeOf(() => ledger.past.tend())).toBe("LEDGER_POISONED");
    disk.broken = null;
    ledger.past.tend();
    expect(ledger.past.named.closed).toHaveLength(1);
  });
});

describe("an order that closed before a checkpoint", () => {
  /** Some orders paid, one refused, all closed, and put away by a new segment after each. */
  function closed(): { readonly kit: Kit; readonly paid: string; readonly refused: string } {
    const kit = new Kit({ segmentBytesMax: 1_000 }).ready();
    const paid = pay(kit, "old");
    const refused = kit.request({ orderId: "refused", amount: "9000" }).transactionId;
    kit.acknowledge();
    for (let n = 0; n < 3; n++) pay(kit, `more-${n}`, other);
    turn(kit);
    return { kit, paid, refused };
  }

  function pay(kit: Kit, orderId: string, address = shop): string {
    const transactionId = close(kit, orderId, address);
    turn(kit);
    return transactionId;
  }

  function close(kit: Kit, orderId: string, address = shop): string {
    const { transactionId, attempts } = kit.pay({ orderId, address });
    const txHash = attempts[0]?.txHash ?? "";
    kit.ask("observed", { transactionId, stage: "final", outcome: "paid", txHash, block: 7 });
    kit.acknowledge();
    return transactionId;
  }

  function turn(kit: Kit): void {
    kit.signer.tick();
    kit.settle();
  }

  function checkpointOf({ disk }: Kit): {
    readonly book: WithdrawalBookSnapshot;
    readonly policy: PolicySnapshot;
  } {
    const name =
      disk
        .list()
        .filter((each) => each.startsWith("checkpoint-"))
        .at(-1) ?? "";
    const segment = Number(/\d{8}/.exec(name)?.[0]);
    const { seq } = JSON.parse(linesIn(disk, segmentName(segment))[0] ?? "") as LedgerRecord;
    return JSON.parse(
      Buffer.from(
        testSeal.open(
          sealContextOfCheckpoint(segment, seq),
          disk.files.get(name) ?? Buffer.alloc(0),
        ) ?? [],
      ).toString(),
    );
  }

  it("is not in the checkpoint any more", () => {
    const { kit } = closed();
    const { book, policy } = checkpointOf(kit);
    expect(book.closed).toEqual([]);
    expect(policy.paid).toEqual([]);
    expect(files(kit.disk, "closed").length).toBeGreaterThan(1);
  });

  for (const [when, start] of [
    ["in the same run", () => {}],
    ["after a start", (kit: Kit) => kit.crash()],
  ] as const) {
    it(`gets its old answer ${when}`, () => {
      const { kit, paid, refused } = closed();
      start(kit);
      kit.handshake();
      const before = kit.core.book.count("paid");
      expect(before).toBe(4);
      for (const [orderId, transactionId, change] of [
        ["old", paid, {}],
        ["refused", refused, { amount: "9000" }],
      ] as const) {
        kit.request({ orderId, ...change });
        expect(kit.records().at(-1)).toMatchObject({ kind: "REPEATED", transactionId, code: "" });
        kit.ask("sign", { transactionId, txParams });
      }
      expect(kit.kinds().filter((kind) => kind === "SIGNED")).toHaveLength(4);
      expect(kit.core.book.count("paid")).toBe(4);
      expect(kit.core.book.count("refused")).toBe(1);
      expect(kit.core.book.stateOf(paid)).toBe("paid");
      expect(kit.core.book.stateOf(refused)).toBe("refused");
    });

    it(`is a contradiction that names the field ${when}`, () => {
      const { kit, paid } = closed();
      start(kit);
      kit.handshake();
      for (const [change, code] of [
        [{ amount: "2" }, "WITHDRAWAL_EXISTS_DIFFERENT_AMOUNT"],
        [{ address: other }, "WITHDRAWAL_EXISTS_DIFFERENT_ADDRESS"],
        [{ currency: "eth" }, "WITHDRAWAL_EXISTS_DIFFERENT_CURRENCY"],
        [{ tag: "7" }, "WITHDRAWAL_EXISTS_DIFFERENT_TAG"],
      ] as const) {
        kit.request({ orderId: "old", ...change });
        expect(kit.records().slice(-2)).toMatchObject([
          { kind: "REPEATED", transactionId: paid, code },
          { kind: "ALARM", code },
        ]);
      }
    });
  }

  it("is not answered for when its row has changed: the fault names the file", () => {
    const { kit, paid } = closed();
    for (const name of files(kit.disk, "closed")) {
      const bytes = Uint8Array.from(kit.disk.files.get(name)!);
      const at = Buffer.from(bytes).indexOf(Buffer.from(paid, "hex"));
      if (at < 0) continue;
      bytes[at + 16] = bytes[at + 16]! ^ 1;
      kit.disk.files.set(name, bytes);
    }
    kit.crash();
    kit.handshake();
    kit.gateway.job({ orderId: "old" }, kit.now);
    const records = kit.records().length;
    const answer = kit.admit(kit.gateway.jobs([kit.gateway.texts.at(-1)!], { at: kit.now }));
    expect(answer).toMatchObject({ ok: false, code: "LEDGER_DAMAGED" });
    expect(answer.detail).toMatch(/closed-\d{8}\.bin/);
    expect(kit.records()).toHaveLength(records);
  });

  it("stays in files that are joined only while the disk has room", () => {
    const { kit } = closed();
    for (let n = 0; n < 20 && files(kit.disk, "closed").length < 7; n++) pay(kit, `again-${n}`);
    close(kit, "the-eighth");
    kit.disk.free = 0;
    kit.signer.ledger.freeBytes();
    turn(kit);
    expect(kit.signer.ledger.past.named.closed).toHaveLength(8);
    kit.disk.free = Number.MAX_SAFE_INTEGER;
    turn(kit);
    expect(kit.signer.ledger.past.named.closed).toHaveLength(1);
  });

  it("left a known destination, and one that resembles it is held", () => {
    for (const start of [() => {}, (kit: Kit) => kit.crash()]) {
      const { kit } = closed();
      start(kit);
      kit.handshake();
      const { policy } = kit.core;
      expect(policy.paid.entries()).toEqual([]);
      expect(
        describeDestination(
          policy,
          { currency: "usdt", network: "eip155:31337", tag: "", amount: "1" },
          shop,
        ),
      ).toMatchObject({
        isNew: false,
        likeness: null,
      });
      expect(
        describeDestination(
          policy,
          { currency: "usdt", network: "eip155:1", tag: "", amount: "1" },
          shop,
        ),
      ).toMatchObject({
        isNew: true,
        likeness: null,
      });
      expect(kit.request({ address: twin })).toMatchObject({
        state: "held",
        code: "POLICY_LOOKALIKE",
      });
      const { likeness } = describeDestination(
        policy,
        { currency: "usdt", network: "eip155:31337", tag: "", amount: "1" },
        twin,
      );
      expect(likeness).toMatchObject({ address: shop, amount: "1.5", currency: "usdt" });
    }
  });
});
