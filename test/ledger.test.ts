/**
 * The ledger: its bytes, group commit, receipts, every cut and every flipped bit, crashes, segments, and the order of system calls
 * as the kernel sees it.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ledgerDisk } from "../agent/signer/ledger/disk.ts";
import { createLedger, type Ledger, openLedger } from "../agent/signer/ledger/ledger.ts";
import { assertStateLocked } from "../agent/signer/ledger/lock.ts";
import { isReceipt } from "../agent/signer/ledger/receipt.ts";
import type { LedgerRecord, RecordBody } from "../agent/signer/ledger/records.ts";
import { verifyLedger } from "../agent/signer/ledger/verify.ts";
import { AgentError, Bug } from "../protocol/fault.ts";
import { MemoryDisk } from "./support/ledger-disk.ts";

const hex = (text: string, bytes: number): string =>
  createHash("sha512")
    .update(text)
    .digest("hex")
    .slice(0, bytes * 2);
const id = (n: number): string => hex(`id ${n}`, 16);

const paired: RecordBody & { kind: "PAIRED" } = {
  kind: "PAIRED",
  agent: hex("agent", 8),
  merchant: "m_1",
  wallet: hex("wallet", 16),
  epoch: 1,
  gatewayKey: hex("gateway", 32),
};

/** Ten records that make one withdrawal, of every kind that carries text, lists and nested objects. */
function bodies(n: number): readonly RecordBody[] {
  const transactionId = id(n);
  const money = { contract: "", address: `0x${hex(`to ${n}`, 20)}`, amountUnits: String(10n ** 18n + BigInt(n)) };
  const digest = hex(`digest ${n}`, 32);
  return [
    {
      kind: "REQUESTED",
      transactionId,
      sequence: n,
      jobHash: hex(`job ${n}`, 32),
      job: `{"orderId":"o-${n}","note":"J *@ \\" ü €"}`,
    },
    { kind: "HELD", transactionId, code: "POLICY_MANUAL" },
    { kind: "APPROVED", transactionId, by: "operator", chain: "local", network: "eip155:1", ...money },
    {
      kind: "INTENT",
      transactionId,
      version: 1,
      network: "eip155:1",
      account: `0x${hex("account", 20)}`,
      nonce: String(n),
      ...money,
      gasLimit: "21000",
      maxFeePerGas: "2000000000",
      maxPriorityFeePerGas: "1000000000",
      digest,
      unsigned: hex(`unsigned ${n}`, 48),
    },
    { kind: "SIGNED", transactionId, version: 1, digest, txHash: `0x${hex(`tx ${n}`, 32)}`, raw: hex(`raw ${n}`, 64) },
    { kind: "RELEASED", acked: { seq: 3, hash: hex("acked", 32) }, released: [{ transactionId, version: 1 }] },
    { kind: "OBSERVED", transactionId, stage: "final", outcome: "paid", txHash: `0x${hex(`tx ${n}`, 32)}`, block: 7 },
    { kind: "REPORTED", acked: { seq: 3, hash: hex("acked", 32) } },
    { kind: "ALARM", code: "NODE_DISAGREE", detail: "two nodes, two answers" },
  ];
}

function fresh(options: { segmentBytesMax?: number; roomBytesMin?: number } = {}): {
  disk: MemoryDisk;
  ledger: Ledger;
  time: { now: number };
} {
  const disk = new MemoryDisk();
  const time = { now: 1000 };
  createLedger(disk, paired, () => time.now);
  return { disk, time, ledger: reopen(disk, time, options).ledger };
}

function reopen(disk: MemoryDisk, time = { now: 1000 }, options: { segmentBytesMax?: number; roomBytesMin?: number } = {}) {
  return openLedger({ disk, clock: () => time.now, ...options });
}

function write(disk: MemoryDisk, ledger: Ledger, records: readonly RecordBody[]): readonly LedgerRecord[] {
  const written = ledger.append(records);
  let result: AgentError | null | undefined;
  ledger.flush((error) => {
    result = error;
  });
  while (result === undefined) disk.sync();
  expect(result).toBeNull();
  return written;
}

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return error.code;
    throw error;
  }
  return "";
}

describe("a ledger's bytes", () => {
  it("are the ones in docs/ledger.md", () => {
    const { disk, ledger, time } = fresh();
    time.now = 2000;
    write(disk, ledger, [{ kind: "HELD", transactionId: "00112233445566778899aabbccddeeff", code: "POLICY_MANUAL" }]);
    const text = Buffer.from(disk.files.get("00000001.jsonl") ?? []).toString();
    const vector = JSON.parse(readFileSync(new URL("vectors/ledger.json", import.meta.url), "utf8"));
    expect(text).toBe(vector.lines.map((line: string) => `${line}\n`).join(""));
    // Independent of the codec: SHA-256 over the domain and everything before the hash field.
    let prev = "0".repeat(64);
    for (const line of vector.lines as string[]) {
      const record = JSON.parse(line);
      expect(record.prev).toBe(prev);
      prev = createHash("sha256")
        .update(`autowithdraw/1 ledger\n${line.slice(0, line.lastIndexOf(',"hash":"'))}`)
        .digest("hex");
      expect(record.hash).toBe(prev);
    }
  });

  it("read back as they were appended, every kind", () => {
    const { disk, ledger } = fresh();
    const written = write(disk, ledger, [
      { kind: "ADOPTED", network: "eip155:1", account: `0x${hex("account", 20)}`, nonce: "0" },
      ...bodies(1),
      { kind: "REPEATED", transactionId: id(1), sequence: 2, jobHash: hex("again", 32), code: "" },
      { kind: "REFUSED", transactionId: id(2), by: "courier", code: "NODE_WOULD_REVERT" },
      { kind: "EXPIRED", transactionId: id(3) },
      { kind: "LOCKED", code: "LEDGER_BEHIND", detail: "" },
    ]);
    const { records, tornBytes } = reopen(disk);
    expect(records.slice(1)).toEqual(written);
    expect(tornBytes).toBe(0);
    expect(verifyLedger(disk)).toMatchObject({ records: 15, segments: 1, head: ledger.durableHead });
    expect(ledger.read(2, 15)).toEqual(written);
  });

  it("hold nothing that could not be read back", () => {
    const { ledger } = fresh();
    const held = { kind: "HELD", transactionId: id(1), code: "POLICY_MANUAL" } as const;
    for (const bad of [
      { ...held, transactionId: "short" },
      { ...held, code: "lower" },
      { ...held, more: 1 },
      { ...held, kind: "UNKNOWN" },
    ]) {
      expect(() => ledger.append([bad as unknown as RecordBody])).toThrow(Bug);
    }
    expect(ledger.append([held])).toHaveLength(1);
  });

  it("carry a time that never goes back", () => {
    const { disk, ledger, time } = fresh();
    time.now = 5000;
    write(disk, ledger, [{ kind: "EXPIRED", transactionId: id(1) }]);
    time.now = 10;
    expect(write(disk, ledger, [{ kind: "EXPIRED", transactionId: id(2) }])[0]?.at).toBe(5000);
    expect(write(disk, reopen(disk, { now: 20 }).ledger, [{ kind: "EXPIRED", transactionId: id(3) }])[0]?.at).toBe(5000);
  });
});

describe("group commit", () => {
  it("answers each waiter only once its own records are durable, and shares syncs", () => {
    const { disk, ledger } = fresh();
    const order: string[] = [];
    const append = (name: string): void => {
      const [record] = ledger.append([{ kind: "EXPIRED", transactionId: id(1) }]);
      ledger.flush((error) => {
        expect(error).toBeNull();
        expect(ledger.durableHead.seq).toBeGreaterThanOrEqual(record?.seq ?? Number.NaN);
        order.push(name);
      });
    };
    append("first");
    for (let i = 0; i < 100; i++) append(`waiter ${i}`);
    expect(order).toEqual([]);
    expect(ledger.head.seq).toBe(102);
    expect(ledger.durableHead.seq).toBe(1);
    disk.sync();
    expect(order).toEqual(["first"]);
    disk.sync();
    expect(order).toHaveLength(101);
    expect(disk.syncs).toBe(2);
    expect(disk.appending).toBe(false);
  });

  it("gathers what the callbacks append into one write", () => {
    const { disk, ledger } = fresh();
    let finished = 0;
    for (let i = 0; i < 50; i++) {
      ledger.append([{ kind: "EXPIRED", transactionId: id(i) }]);
      ledger.flush(() => {
        ledger.append([{ kind: "EXPIRED", transactionId: id(i) }]);
        ledger.flush(() => {
          finished += 1;
        });
      });
    }
    for (let i = 0; i < 10; i++) disk.sync();
    expect(finished).toBe(50);
    expect(disk.syncs).toBe(3); // The first alone; the other 49 with the first one's second; the last 49.
  });

  it("answers at once when nothing is pending, and waits for the sync under way otherwise", () => {
    const { disk, ledger } = fresh();
    let called = 0;
    ledger.flush(() => called++);
    expect(called).toBe(1);
    ledger.append([{ kind: "EXPIRED", transactionId: id(1) }]);
    ledger.flush(() => called++);
    ledger.flush(() => called++);
    expect(called).toBe(1);
    disk.sync();
    expect(called).toBe(3);
  });

  it("poisons the process on the first failed sync and stays so", () => {
    const { disk, ledger } = fresh();
    const errors: (AgentError | null)[] = [];
    ledger.append([{ kind: "EXPIRED", transactionId: id(1) }]);
    ledger.flush((error) => errors.push(error));
    ledger.append([{ kind: "EXPIRED", transactionId: id(2) }]);
    ledger.flush((error) => errors.push(error));
    disk.broken = Object.assign(new Error("i/o error"), { code: "EIO" });
    disk.sync();
    expect(errors.map((error) => error?.code)).toEqual(["LEDGER_POISONED", "LEDGER_POISONED"]);
    expect(errors[0]?.effect).toBe("unknown");
    disk.broken = null;
    expect(ledger.poisoned).toBe(true);
    expect(codeOf(() => ledger.append([{ kind: "EXPIRED", transactionId: id(3) }]))).toBe("LEDGER_POISONED");
    expect(codeOf(() => ledger.rotate("{}"))).toBe("LEDGER_POISONED");
    ledger.flush((error) => errors.push(error));
    expect(errors[2]?.code).toBe("LEDGER_POISONED");
    expect(ledger.durableHead.seq).toBe(1);
    expect(reopen(disk).records).toHaveLength(1);
  });
});

describe("receipts", () => {
  it("are given for durable INTENT records only", () => {
    const { disk, ledger } = fresh();
    const records = ledger.append(bodies(1));
    const intent = records.find((record) => record.kind === "INTENT");
    if (intent?.kind !== "INTENT") throw new Error("no INTENT");
    expect(() => ledger.receipt(intent.seq)).toThrow(Bug);
    ledger.flush(() => {});
    expect(() => ledger.receipt(intent.seq)).toThrow(Bug);
    disk.sync();
    expect(() => ledger.receipt(intent.seq - 1)).toThrow(Bug);
    for (const from of [ledger, ledger, reopen(disk).ledger]) {
      const receipt = from.receipt(intent.seq);
      expect(isReceipt(receipt)).toBe(true);
      expect(receipt).toMatchObject({ transactionId: id(1), version: 1, digest: intent.digest, seq: intent.seq });
    }
  });

  it("cannot be imitated", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, bodies(1));
    const receipt = ledger.receipt(5);
    const copy = { transactionId: receipt.transactionId, version: 1, digest: receipt.digest, seq: 5 };
    expect(isReceipt(copy)).toBe(false);
    expect(isReceipt(Object.create(receipt))).toBe(false);
    expect(isReceipt(Object.setPrototypeOf(copy, Object.getPrototypeOf(receipt)))).toBe(false);
    expect(() => Reflect.construct(receipt.constructor, [Symbol("ledger"), copy])).toThrow(Bug);
    expect(isReceipt(receipt)).toBe(true);
  });
});

/** A ledger of 20 records in one file, and the same in two segments. */
function twenty(rotated: boolean): { disk: MemoryDisk; file: string; records: readonly LedgerRecord[] } {
  const { disk, ledger } = fresh();
  write(disk, ledger, bodies(1));
  const state = JSON.stringify({ folded: 10 });
  if (rotated) ledger.rotate(state);
  write(disk, ledger, bodies(2));
  if (!rotated) write(disk, ledger, [{ kind: "EXPIRED", transactionId: id(3) }]);
  const { records } = reopen(disk);
  return { disk, file: rotated ? "00000002.jsonl" : "00000001.jsonl", records };
}

/** Opens an image and says what became of it: how many of the records are left, or the code it was refused with. */
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
  if (opened.tornBytes > 0) expect(verifyLedger(disk).tornBytes).toBe(0); // It was cut.
  return kept.length;
}

describe.each([false, true])("damage, rotated: %s", (rotated) => {
  const { disk, file, records } = twenty(rotated);
  const whole = disk.files.get(file) ?? new Uint8Array(0);
  const image = (bytes: Uint8Array): MemoryDisk => MemoryDisk.of([...disk.files, [file, bytes] as const]);
  const ends: number[] = [];
  for (const [at, byte] of whole.entries()) if (byte === 0x0a) ends.push(at + 1);

  it("of every truncation length: the records that are whole, or a refusal", () => {
    expect(records).toHaveLength(rotated ? 10 : 20);
    for (let length = 0; length < whole.length; length++) {
      const complete = ends.filter((end) => end <= length).length;
      const expected = complete > 0 ? complete : rotated || length > 0 ? "LEDGER_DAMAGED" : "LEDGER_MISSING";
      expect([length, outcome(image(whole.subarray(0, length)), records)]).toEqual([length, expected]);
    }
  });

  it("of every single bit: a refusal, save where a zero byte in the last line looks torn", () => {
    const lastLine = ends.at(-2) ?? 0;
    let cut = 0;
    for (let at = 0; at < whole.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const bytes = Uint8Array.from(whole);
        bytes[at] = (bytes[at] as number) ^ (1 << bit);
        const found = outcome(image(bytes), records);
        if (found === "LEDGER_DAMAGED" || found === "LEDGER_NEWER") continue;
        expect([at >= lastLine, bytes[at], found]).toEqual([true, 0, records.length - 1]);
        cut += 1;
      }
    }
    expect(cut).toBeLessThan(10);
  });

  it("of a write with holes at its end is cut and kept aside; with a good record behind it is refused", () => {
    const start = ends.at(-3) ?? 0;
    const holes = Uint8Array.from(whole);
    holes.fill(0, start + 40, whole.length - 40);
    const torn = image(holes);
    expect(outcome(torn, records)).toBe(records.length - 2);
    expect(torn.list().filter((name) => name.startsWith("torn-"))).toHaveLength(1);
    const middle = Uint8Array.from(whole);
    middle.fill(0, start + 40, start + 80);
    expect(outcome(image(middle), records)).toBe("LEDGER_DAMAGED");
  });

  it("of a line taken out, doubled or exchanged is refused, naming file and line", () => {
    const lines = Buffer.from(whole).toString().trimEnd().split("\n");
    const edits: [string, string[], number][] = [
      ["removed", [...lines.slice(0, 4), ...lines.slice(5)], 5],
      ["doubled", [...lines.slice(0, 5), ...lines.slice(4)], 6],
      ["exchanged", [...lines.slice(0, 4), lines[5] as string, lines[4] as string, ...lines.slice(6)], 5],
    ];
    for (const [name, edited, line] of edits) {
      const edit = image(Buffer.from(`${edited.join("\n")}\n`));
      let fault: unknown;
      try {
        reopen(edit);
      } catch (error) {
        fault = error;
      }
      expect([name, fault]).toMatchObject([name, { code: "LEDGER_DAMAGED", context: { file, line } }]);
    }
    expect(outcome(image(Buffer.from(`${lines.join("\n")}\n`)), records)).toBe(records.length);
  });
});

describe("a crash while writing", () => {
  it("keeps what was durable, and at most more, for every number of bytes that reached the disk", () => {
    const { disk, ledger } = fresh();
    const durable = write(disk, ledger, bodies(1)).length + 1;
    const wanted = ledger.append(bodies(2));
    ledger.flush(() => {});
    for (let kept = 0; kept < 4000; kept += 7) {
      const found = disk.crash(kept);
      const opened = reopen(found);
      expect(opened.records.length).toBeGreaterThanOrEqual(durable);
      expect(opened.records.slice(durable)).toEqual(wanted.slice(0, opened.records.length - durable));
      write(found, opened.ledger, bodies(3));
      expect(verifyLedger(found).records).toBe(opened.records.length + 9);
    }
  });
});

describe("segments", () => {
  it("begin with a checkpoint, and a start reads the newest one only", () => {
    const { disk, ledger } = fresh({ segmentBytesMax: 4000 });
    const all: LedgerRecord[] = [...reopen(disk).records];
    let folded = 1;
    for (let n = 1; n <= 12; n++) {
      const written = write(disk, ledger, bodies(n));
      all.push(...written);
      folded += written.length;
      if (!ledger.wantsRotation) continue;
      const checkpoint = ledger.rotate(JSON.stringify({ folded }));
      expect(checkpoint).toMatchObject({ kind: "CHECKPOINT", seq: folded + 1 });
      expect(ledger.wantsRotation).toBe(false);
      all.push(checkpoint);
      folded += 1;
    }
    write(disk, ledger, bodies(13));
    const verified = verifyLedger(disk);
    expect(verified).toMatchObject({ records: folded + 9, head: ledger.head });
    expect(verified.segments).toBeGreaterThanOrEqual(4);
    // Exactly the records after the state that the checkpoint stands for.
    const { ledger: again, checkpoint, records } = reopen(disk);
    expect(records[0]?.kind).toBe("CHECKPOINT");
    expect((checkpoint as { folded: number }).folded).toBe((records[0]?.seq ?? 0) - 1);
    // Old hashes and records are found in whatever segment they stand.
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
    for (const image of images) expect(verifyLedger(MemoryDisk.of(reopenedFiles(image))).tornBytes).toBe(0);
    expect(reopen(images[0] as MemoryDisk).records).toHaveLength(1);
    expect(reopen(images[2] as MemoryDisk).records.slice(1)).toEqual(first);
    expect(reopen(disk).records).toEqual([checkpoint, ...third]);
    expect(verifyLedger(disk).records).toBe(1 + first.length + second.length + 1 + third.length);
  });

  it("and checkpoints that are missing, changed or of a later format refuse to start", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, bodies(1));
    ledger.rotate('{"balance":"1"}');
    write(disk, ledger, bodies(2));
    const without = (name: string): MemoryDisk => MemoryDisk.of([...disk.files].filter(([each]) => each !== name));
    const withFile = (name: string, bytes: Uint8Array): MemoryDisk => MemoryDisk.of([...disk.files, [name, bytes] as const]);
    expect(codeOf(() => reopen(without("00000001.jsonl")))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => reopen(without("checkpoint-00000002.json")))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => reopen(withFile("checkpoint-00000002.json", Buffer.from('{"balance":"2"}'))))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => reopen(withFile("00000003.jsonl", new Uint8Array(0))))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => reopen(withFile("00000003.jsonl2", new Uint8Array(0))))).toBe("LEDGER_NEWER");
    const old = disk.files.get("00000001.jsonl") ?? new Uint8Array(0);
    expect(codeOf(() => reopen(withFile("00000001.jsonl", old.subarray(0, -1))))).toBe("LEDGER_DAMAGED");
    // An old segment is not read at start; verify reads it.
    const edited = Uint8Array.from(old);
    edited[300] = (edited[300] as number) ^ 1;
    const changed = withFile("00000001.jsonl", edited);
    expect(codeOf(() => reopen(changed))).toBe("");
    expect(codeOf(() => verifyLedger(changed))).toBe("LEDGER_DAMAGED");
  });
});

function reopenedFiles(disk: MemoryDisk): ReadonlyMap<string, Uint8Array> {
  reopen(disk);
  return disk.files;
}

describe("what does not open", () => {
  it("is a ledger that is missing or empty", () => {
    const { disk } = fresh();
    expect(codeOf(() => reopen(new MemoryDisk()))).toBe("LEDGER_MISSING");
    expect(codeOf(() => reopen(MemoryDisk.of([["00000001.jsonl", new Uint8Array(0)]])))).toBe("LEDGER_MISSING");
    expect(codeOf(() => verifyLedger(new MemoryDisk()))).toBe("LEDGER_MISSING");
    expect(codeOf(() => createLedger(disk, paired, () => 0))).toBe("LEDGER_EXISTS");
    expect(codeOf(() => reopen(disk))).toBe("");
  });

  /** A line as another program might write it: closed by a right hash, whatever it says. */
  const forge = (seq: number, prev: string, at: number, fields: string): string => {
    const covered = `{"seq":${seq},"prev":"${prev}","at":${at},${fields}`;
    return `${covered},"hash":"${createHash("sha256").update(`autowithdraw/1 ledger\n${covered}`).digest("hex")}"}\n`;
  };
  const begin = JSON.stringify(paired).slice(1, -1);
  const open = (text: string): string => codeOf(() => reopen(MemoryDisk.of([["00000001.jsonl", Buffer.from(text)]])));

  it("is one with a kind or a shape of a newer version, its hashes being right", () => {
    const first = (fields: string): string => open(forge(1, "0".repeat(64), 1, fields));
    expect(first(begin)).toBe("");
    expect(first(`${begin},"shard":1`)).toBe("LEDGER_NEWER");
    expect(first(begin.replace("PAIRED", "MERGED"))).toBe("LEDGER_NEWER");
    expect(first(begin.replace("PAIRED", "toString"))).toBe("LEDGER_NEWER");
    expect(first(`${begin},"epoch":2`)).toBe("LEDGER_DAMAGED");
    expect(first(`"kind":"EXPIRED","transactionId":"${id(1)}"`)).toBe("LEDGER_DAMAGED");
  });

  it("is one whose lines do not continue each other, their own hashes being right", () => {
    const first = forge(1, "0".repeat(64), 10, begin);
    const { hash } = JSON.parse(first);
    const second = (seq: number, prev: string, at: number): string =>
      open(first + forge(seq, prev, at, `"kind":"EXPIRED","transactionId":"${id(1)}"`));
    expect(second(2, hash, 10)).toBe("");
    expect(second(3, hash, 10)).toBe("LEDGER_DAMAGED");
    expect(second(2, hex("another", 32), 10)).toBe("LEDGER_DAMAGED");
    expect(second(2, hash, 9)).toBe("LEDGER_DAMAGED");
    const checkpoint = '"kind":"CHECKPOINT","file":"checkpoint-00000002.json","sha256":"';
    expect(open(first + forge(2, hash, 10, `${checkpoint}${hex("state", 32)}"`))).toBe("LEDGER_DAMAGED");
  });

  it("is seen by a running ledger when it reads back", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, bodies(1));
    const text = Buffer.from(disk.files.get("00000001.jsonl") ?? []).toString();
    const lines = text.split("\n");
    const { prev } = JSON.parse(lines[2] as string);
    const fields = `"kind":"HELD","transactionId":"${id(1)}","code":"POLICY_MANUA_"`; // As long as the line it replaces.
    disk.files.set("00000001.jsonl", Buffer.from(text.replace(`${lines[2]}\n`, forge(3, prev, 1000, fields))));
    expect(disk.size("00000001.jsonl")).toBe(text.length + 3); // "ü €" has three bytes more than units.
    expect(codeOf(() => ledger.read(3, 3))).toBe("LEDGER_DAMAGED");
    expect(codeOf(() => ledger.read(4, 10))).toBe("");
  });
});

describe("room on the disk", () => {
  it("is asked for anew after every commit, and found again when space returns", () => {
    const { disk, ledger } = fresh({ roomBytesMin: 1000 });
    expect(ledger.hasRoom()).toBe(true);
    disk.free = 999;
    write(disk, ledger, [{ kind: "EXPIRED", transactionId: id(1) }]);
    expect(ledger.hasRoom()).toBe(false);
    disk.free = 1000;
    expect(ledger.hasRoom()).toBe(true);
  });
});

describe("on a real disk", () => {
  const folders: string[] = [];
  const folder = (): string => {
    const made = mkdtempSync(join(tmpdir(), "ledger-"));
    folders.push(made);
    return made;
  };
  afterEach(() => {
    for (const each of folders.splice(0)) rmSync(each, { recursive: true });
  });

  it("is durable, private and readable again", async () => {
    const place = join(folder(), "signer", "ledger");
    const disk = ledgerDisk(place);
    expect(codeOf(() => openLedger({ disk, clock: () => 1 }))).toBe("LEDGER_MISSING");
    mkdirSync(place, { recursive: true, mode: 0o700 });
    writeFileSync(join(place, "00000001.jsonl.tmp"), "what a crash left of a file that was never finished");
    expect(disk.list()).toEqual([]);
    createLedger(disk, paired, () => 1);
    const { ledger } = openLedger({ disk, clock: () => 2, segmentBytesMax: 20_000 });
    const flush = (): Promise<AgentError | null> => new Promise((resolve) => ledger.flush(resolve));
    let folded = 1;
    for (let n = 1; n <= 30; n++) {
      ledger.append(bodies(n));
      folded += 9;
      expect(await flush()).toBeNull();
      if (!ledger.wantsRotation) continue;
      ledger.rotate(JSON.stringify({ folded }));
      folded += 1;
    }
    expect(await flush()).toBeNull();
    expect(ledger.hasRoom()).toBe(true);
    expect(verifyLedger(disk)).toMatchObject({ records: folded, head: ledger.durableHead });
    for (const name of readdirSync(place)) expect(statSync(join(place, name)).mode & 0o777).toBe(0o600);
    expect(statSync(place).mode & 0o777).toBe(0o700);
    ledger.close();
    ledger.close();
    const torn = join(
      place,
      disk
        .list()
        .filter((name) => name.endsWith(".jsonl"))
        .sort()
        .at(-1) ?? "",
    );
    writeFileSync(torn, '{"seq":', { flag: "a" });
    const again = openLedger({ disk: ledgerDisk(place), clock: () => 3 });
    expect(again.tornBytes).toBe(7);
    expect(again.ledger.head.seq).toBe(folded);
    again.ledger.close();
  });

  it("a failed write ends it", async () => {
    const disk = ledgerDisk(folder());
    createLedger(disk, paired, () => 1);
    const full = { ...disk, open: () => appendingTo("/dev/full") };
    const { ledger } = openLedger({ disk: full, clock: () => 2 });
    ledger.append(bodies(1));
    const fault = await new Promise<AgentError | null>((resolve) => ledger.flush(resolve));
    expect(fault).toMatchObject({ code: "LEDGER_POISONED", cause: { code: "ENOSPC" } });
  });

  it("the lock handed down must be held, and on the right file", () => {
    const lock = join(folder(), "lock");
    const other = `${lock}-other`;
    writeFileSync(other, "");
    const fd = openSync(lock, "w");
    try {
      expect(codeOf(() => assertStateLocked(fd, lock))).toBe("LEDGER_UNLOCKED");
      expect(spawnSync("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "ignore", fd] }).status).toBe(0);
      expect(codeOf(() => assertStateLocked(fd, lock))).toBe("");
      expect(codeOf(() => assertStateLocked(fd, other))).toBe("LEDGER_UNLOCKED");
      expect(codeOf(() => assertStateLocked(9999, lock))).toBe("LEDGER_UNLOCKED");
    } finally {
      closeSync(fd);
    }
  });
});

describe.skipIf(spawnSync("strace", ["-V"]).status !== 0)("as the kernel sees it (needs strace)", () => {
  let folder = "";
  let bundle = "";
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ledger-"));
    const entry = join(folder, "entry.ts");
    const from = (name: string): string => JSON.stringify(new URL(`../agent/signer/ledger/${name}.ts`, import.meta.url).pathname);
    writeFileSync(
      entry,
      `export { createLedger, openLedger } from ${from("ledger")}; export { ledgerDisk } from ${from("disk")};`,
    );
    const built = await build({ logLevel: "silent", configFile: false, build: { ssr: entry, write: false } });
    if ("output" in built && built.output[0].type === "chunk") bundle = built.output[0].code;
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Appends, rotates and appends again, saying so on stdout; the system calls that matter, in order. */
  const trace = (name: string, options: readonly string[] = []) => {
    const program = join(folder, `${name}.mjs`);
    const place = join(folder, name);
    writeFileSync(
      program,
      `${bundle}
      const disk = ledgerDisk(${JSON.stringify(place)});
      createLedger(disk, ${JSON.stringify(paired)}, () => 1);
      const { ledger } = openLedger({ disk, clock: () => 2 });
      const say = (word) => (error) => process.stdout.write(error === null ? word : error.code);
      ledger.append([{ kind: "EXPIRED", transactionId: "${id(1)}" }]);
      ledger.flush((error) => {
        say("DURABLE")(error);
        if (error !== null) return;
        ledger.rotate("{}");
        ledger.flush(say("ROTATED"));
      });`,
    );
    const log = join(folder, `${name}.log`);
    const calls = "trace=openat,write,pwrite64,fsync,fdatasync,rename";
    const ran = spawnSync("strace", ["-f", "-y", "-s", "16", "-o", log, "-e", calls, ...options, process.execPath, program]);
    const lines = readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => line.includes(place) || /DURABLE|ROTATED/.test(line));
    const what = lines.flatMap((line) => {
      const call = /^\d+ +(?:<\.\.\. )?(write|pwrite64|fsync|fdatasync|rename)\b/.exec(line)?.[1];
      const file = line.includes("STDOUT") || /DURABLE|ROTATED/.test(line) ? "said" : /([^/<>"]+)(?:>|")[^/]*$/.exec(line)?.[1];
      return call === undefined ? [] : [`${call} ${file}`];
    });
    return { said: ran.stdout.toString(), calls: what };
  };

  it("nothing is said before its sync, and every new name is synced before and after", () => {
    const { said, calls } = trace("plain");
    expect(said).toBe("DURABLEROTATED");
    const made = (file: string): string[] => [`write ${file}.tmp`, `fsync ${file}.tmp`, `rename ${file}`, "fsync plain"];
    expect(calls).toEqual([
      ...made("00000001.jsonl"),
      "fsync 00000001.jsonl", // Opened: whatever an earlier process left is durable before it is believed.
      "fsync plain",
      "write 00000001.jsonl",
      "fdatasync 00000001.jsonl",
      "write said",
      ...made("checkpoint-00000002.json"),
      ...made("00000002.jsonl"),
      "write said",
    ]);
  });

  it("a sync that fails is never taken for a success", () => {
    expect(trace("failing", ["-e", "inject=fdatasync:error=EIO:when=1"]).said).toBe("LEDGER_POISONED");
  });
});

function appendingTo(path: string) {
  // The real appending code, over a device that refuses every byte.
  const slash = path.lastIndexOf("/");
  return ledgerDisk(path.slice(0, slash)).open(path.slice(slash + 1));
}
