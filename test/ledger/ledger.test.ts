/** The ledger as it is written: its bytes, group commit, receipts, and room on the disk. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isReceipt } from "../../agent/ledger/receipt.ts";
import type { RecordBody } from "../../agent/ledger/records.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import { type AgentError, Bug } from "../../base/fault.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { bodies, codeOf, fresh, hex, id, reopen, write } from "../support/memory-ledger.ts";

describe("a ledger's bytes", () => {
  it("are the ones in docs/ledger.md", () => {
    const { disk, ledger, time } = fresh();
    time.now = 2000;
    write(disk, ledger, [
      { kind: "HELD", transactionId: "00112233445566778899aabbccddeeff", code: "POLICY_MANUAL" },
    ]);
    time.now = 3000;
    write(disk, ledger, [
      { kind: "EXPIRED", transactionId: "00112233445566778899aabbccddeeff" },
      { kind: "ALARM", code: "NODE_DISAGREE", detail: "two nodes, two answers" },
    ]);
    const text = Buffer.from(disk.files.get("00000001.jsonl") ?? []).toString();
    const vector = JSON.parse(
      readFileSync(new URL("../vectors/ledger.json", import.meta.url), "utf8"),
    );
    expect(text).toBe(vector.lines.map((line: string) => `${line}\n`).join(""));
    // Independent of the codec: SHA-256 over the domain and everything before the hash field.
    let prev = "0".repeat(64);
    for (const line of vector.lines as string[]) {
      const record = JSON.parse(line);
      expect(record.prev).toBe(prev);
      prev = createHash("sha256")
        .update(`autowithdraw/2 ledger\n${line.slice(0, line.lastIndexOf(',"hash":"'))}`)
        .digest("hex");
      expect(record.hash).toBe(prev);
    }
    expect(vector.key).toBe("07".repeat(32)); // As the test's seal has it.
  });

  it("read back as they were appended, every kind", () => {
    const { disk, ledger } = fresh();
    const written = write(disk, ledger, [
      { kind: "ADOPTED", network: "eip155:1", account: `0x${hex("account", 20)}`, slot: "0" },
      ...bodies(1),
      { kind: "REPEATED", transactionId: id(1), sequence: 2, jobHash: hex("again", 32), code: "" },
      {
        kind: "REFUSED",
        transactionId: id(2),
        by: "courier",
        approver: "",
        code: "NODE_WOULD_REVERT",
      },
      { kind: "EXPIRED", transactionId: id(3) },
      { kind: "LOCKED", code: "LEDGER_BEHIND_GATEWAY", detail: "" },
    ]);
    const { records, tornBytes } = reopen(disk);
    expect(records.slice(1)).toEqual(written);
    expect(tornBytes).toBe(0);
    expect(verifyLedger(disk, testSeal)).toMatchObject({
      records: 15,
      segments: 1,
      head: ledger.durableHead,
    });
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
    expect(
      write(disk, reopen(disk, { now: 20 }).ledger, [{ kind: "EXPIRED", transactionId: id(3) }])[0]
        ?.at,
    ).toBe(5000);
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
    expect(codeOf(() => ledger.append([{ kind: "EXPIRED", transactionId: id(3) }]))).toBe(
      "LEDGER_POISONED",
    );
    expect(codeOf(() => ledger.rotate("{}"))).toBe("LEDGER_POISONED");
    ledger.flush((error) => errors.push(error));
    expect(errors[2]?.code).toBe("LEDGER_POISONED");
    expect(ledger.durableHead.seq).toBe(1);
    expect(reopen(disk).records).toHaveLength(1);
  });
});

// Start9Labs/start-technologies 2089, paradigmxyz/reth 6354: a database on a disk that went
// read-only said that it was damaged, or did not open.
describe("a ledger on a disk that is read-only", () => {
  const readOnly = Object.assign(new Error("read-only file system"), { code: "EROFS" });

  it("is opened to be read: nothing is cut, its whole chain is verified, and each change is refused by a code of its own", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, bodies(1));
    const [[name, bytes] = ["", new Uint8Array(0)]] = [...disk.files];
    disk.files.set(name, Buffer.concat([bytes, Buffer.from('{"torn')]));
    const before = [...disk.files.values()].map((each) => Buffer.from(each).toString("hex"));
    disk.broken = readOnly;
    const reopened = reopen(disk);
    expect(reopened.records).toHaveLength(10);
    expect([reopened.ledger.readOnly, reopened.ledger.refusal]).toEqual([true, "LEDGER_READ_ONLY"]);
    expect(codeOf(() => reopened.ledger.append([{ kind: "EXPIRED", transactionId: id(1) }]))).toBe(
      "LEDGER_READ_ONLY",
    );
    expect(codeOf(() => reopened.ledger.rotate("{}"))).toBe("LEDGER_READ_ONLY");
    let flushed: AgentError | null | undefined;
    reopened.ledger.flush((error) => {
      flushed = error;
    });
    expect(flushed).toBeNull();
    expect([...reopened.ledger.verify()].at(-1)).toBe(10);
    expect([...disk.files.values()].map((each) => Buffer.from(each).toString("hex"))).toEqual(
      before,
    );
  });

  it("takes records again at the next start with a writable disk", () => {
    const { disk } = fresh();
    disk.broken = readOnly;
    reopen(disk);
    disk.broken = null;
    const { ledger } = reopen(disk);
    expect([ledger.readOnly, ledger.refusal]).toEqual([false, null]);
    write(disk, ledger, bodies(1));
    expect(reopen(disk).records).toHaveLength(10);
  });

  it("that went read-only while it was open is poisoned by that code", () => {
    const { disk, ledger } = fresh();
    ledger.append([{ kind: "EXPIRED", transactionId: id(1) }]);
    let failed: AgentError | null = null;
    ledger.flush((error) => {
      failed = error;
    });
    disk.broken = readOnly;
    disk.sync();
    expect(failed).toMatchObject({ code: "LEDGER_READ_ONLY" });
    expect(ledger.poisoned).toBe(true);
  });
});

describe("a tag", () => {
  const tagged = (n: number, tag: string) =>
    bodies(n).map((body) =>
      body.kind === "APPROVED" || body.kind === "INTENT" ? { ...body, tag } : body,
    );

  it("stands in the approval and in the intent of a payment, and a payment without one has no such field", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, [...tagged(1, "77"), ...bodies(2)]);
    const tags = reopen(disk).records.filter(
      ({ kind }) => kind === "APPROVED" || kind === "INTENT",
    );
    expect(tags.map((record) => ("tag" in record ? record.tag : null))).toEqual([
      "77",
      "77",
      null,
      null,
    ]);
  });

  it("of no characters is never written", () => {
    const { ledger } = fresh();
    expect(() => ledger.append(tagged(1, ""))).toThrow(Bug);
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
      expect(receipt).toMatchObject({
        transactionId: id(1),
        attempt: 1,
        digest: intent.digest,
        seq: intent.seq,
      });
    }
  });

  it("of records cannot be imitated", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, bodies(1));
    const receipt = ledger.receipt(5);
    const copy = {
      transactionId: receipt.transactionId,
      attempt: 1,
      digest: receipt.digest,
      seq: 5,
    };
    expect(isReceipt(copy)).toBe(false);
    expect(isReceipt(Object.create(receipt))).toBe(false);
    expect(isReceipt(Object.setPrototypeOf(copy, Object.getPrototypeOf(receipt)))).toBe(false);
    expect(() => Reflect.construct(receipt.constructor, [Symbol("ledger"), copy])).toThrow(Bug);
    expect(isReceipt(receipt)).toBe(true);
  });
});

describe("room on the disk", () => {
  it("is asked for again after every commit, and found again when space returns", () => {
    const { disk, ledger } = fresh({ roomBytesMin: 1000 });
    expect(ledger.hasRoom()).toBe(true);
    disk.free = 999;
    write(disk, ledger, [{ kind: "EXPIRED", transactionId: id(1) }]);
    expect(ledger.hasRoom()).toBe(false);
    disk.free = 1000;
    expect(ledger.hasRoom()).toBe(true);
  });
});
