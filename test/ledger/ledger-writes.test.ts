/**
 * Writes of several lines, of which only the last has a MAC: a write counts as one or not at all,
 * at every cut and every changed byte; and a ledger of the earlier form, with a MAC on every line,
 * still opens and goes on.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CopyCheck, copyLedger } from "../../agent/ledger/copy.ts";
import type { RecordBody } from "../../agent/ledger/records.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import { MemoryDisk } from "../../lab/kit/ledger-disk.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { SeededRandom, seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";
import { forge, linesIn, withLines } from "../support/forger.ts";
import { bodies, codeOf, fresh, id, reopen, write } from "../support/memory-ledger.ts";
import { places, strideOfRun } from "../support/stride.ts";

const first = "00000001.jsonl";
const expired = (n: number): RecordBody => ({ kind: "EXPIRED", transactionId: id(n) });
const hasMac = (line: string): boolean => line.includes('","mac":"');
const withoutMac = (line: string): string => line.replace(/","mac":"[0-9a-f]{64}"}$/, '"}');

/** A ledger of some writes, and the number of records up to the end of each. */
function some(random: SeededRandom): { disk: MemoryDisk; ends: number[] } {
  const { disk, ledger } = fresh();
  const ends = [1];
  for (let count = 2 + random.below(3); count > 0; count--) {
    const size = 1 + random.below(4);
    write(
      disk,
      ledger,
      Array.from({ length: size }, (_, n) => expired(n)),
    );
    ends.push((ends.at(-1) ?? 0) + size);
  }
  return { disk, ends };
}

describe("a write of several lines", () => {
  it("has one MAC, on its last line", () => {
    const { disk, ends } = some(new SeededRandom(seedsOfRun(1)[0] as number));
    expect(linesIn(disk).flatMap((line, index) => (hasMac(line) ? [index + 1] : []))).toEqual(ends);
  });

  it.each(seedsOfRun(share(8, 2)))("counts as one or not at all, cut anywhere, seed %i", (seed) => {
    const { disk, ends } = some(new SeededRandom(seed));
    const whole = disk.files.get(first) ?? new Uint8Array(0);
    const lineEnds = [...whole.entries()].flatMap(([at, byte]) => (byte === 0x0a ? [at + 1] : []));
    const least = lineEnds[0] as number;
    const between = [...places(whole.length - least, strideOfRun(3))].map((at) => least + at);
    for (const size of new Set([...lineEnds, ...between])) {
      const image = MemoryDisk.of([[first, whole.subarray(0, size)]]);
      const lines = lineEnds.filter((end) => end <= size).length;
      const complete = ends.filter((end) => end <= lines).at(-1) ?? 0;
      // The same without the wallet's key, as a copy or an operator without a signer reads it.
      const found = [null, testSeal].map((seal) => verifyLedger(image, seal).records);
      const { records, tornBytes } = reopen(image);
      const torn = size - (lineEnds[complete - 1] ?? 0);
      if ([...found, records.length].some((count) => count !== complete) || tornBytes !== torn)
        expect([size, ...found, records.length, tornBytes]).toEqual([
          size,
          complete,
          complete,
          complete,
          torn,
        ]);
    }
  });

  it.each(seedsOfRun(share(3)))(
    "is refused with any byte changed, or cut as torn, seed %i",
    (seed) => {
      const random = new SeededRandom(seed);
      const { disk, ends } = some(random);
      const whole = disk.files.get(first) ?? new Uint8Array(0);
      for (const at of places(whole.length, strideOfRun(3))) {
        const bytes = Uint8Array.from(whole);
        bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
        const image = MemoryDisk.of([[first, bytes]]);
        const code = codeOf(() =>
          expect(reopen(image).records).toHaveLength(ends.at(-2) as number),
        );
        // A zero byte in the last line looks like a write that the power cut.
        if (code === "")
          expect([bytes[at], whole.indexOf(0x0a, at)]).toEqual([0, whole.length - 1]);
        else if (code !== "LEDGER_DAMAGED" && code !== "LEDGER_FORGED")
          expect.unreachable(`byte ${at}: ${code}`);
      }
    },
  );

  it("whose MAC was taken away is cut as one; in the middle the next MAC covers it too", () => {
    const { disk, ledger } = fresh();
    for (let n = 0; n < 3; n++) write(disk, ledger, [expired(1), expired(2)]);
    const lines = linesIn(disk);
    const without = (index: number): MemoryDisk =>
      withLines(
        disk,
        lines.map((line, at) => (at === index ? withoutMac(line) : line)),
      );
    expect(reopen(without(6)).records).toHaveLength(5);
    expect(reopen(without(4)).records).toHaveLength(7);
    expect(codeOf(() => reopen(withLines(disk, [...lines.slice(0, 4), ...lines.slice(5)])))).toBe(
      "LEDGER_DAMAGED",
    );
    expect(codeOf(() => reopen(without(0)))).toBe("");
    expect(codeOf(() => reopen(withLines(disk, [withoutMac(lines[0] as string)])))).toBe(
      "LEDGER_DAMAGED",
    );
  });

  it("whole lines of a torn write that do not follow each other are damage, not torn", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, [1, 2, 3, 4].map(expired));
    const lines = linesIn(disk).slice(0, -1);
    expect(reopen(withLines(disk, lines)).records).toHaveLength(1);
    expect(codeOf(() => reopen(withLines(disk, [...lines.slice(0, 2), ...lines.slice(3)])))).toBe(
      "LEDGER_DAMAGED",
    );
    expect(codeOf(() => reopen(withLines(disk, [...lines, lines[3] as string])))).toBe(
      "LEDGER_DAMAGED",
    );
  });

  it("a record of any line is read back while more is written, and an old segment is proved by the MAC of its write", () => {
    const { disk, ledger } = fresh();
    const written = write(disk, ledger, bodies(1));
    ledger.rotate("{}");
    write(disk, ledger, bodies(2));
    ledger.rotate("{}");
    write(disk, ledger, bodies(3));
    for (let seq = 2; seq <= 10; seq++) expect(ledger.read(seq, seq)).toEqual([written[seq - 2]]);
    ledger.append(bodies(4));
    expect(ledger.read(3, 7)).toEqual(written.slice(1, 6));
    const reread = (image: MemoryDisk): string => codeOf(() => reopen(image).ledger.read(3, 3));
    const rest = bodies(1).slice(1);
    expect(reread(disk)).toBe("");
    const own = forge(disk, rest, "the wallet's own key", { kept: 2, isOne: true });
    expect(reread(own)).toBe("");
    for (const closing of ["a MAC of zeros", "a MAC of another key"] as const)
      expect(reread(forge(disk, rest, closing, { kept: 2, isOne: true }))).toBe("LEDGER_FORGED");
    expect(reread(withLines(disk, linesIn(own).map(withoutMac)))).toBe("LEDGER_DAMAGED");
    const lines = linesIn(disk);
    expect(
      reread(
        withLines(disk, [
          ...lines.slice(0, 5),
          (lines[5] as string).replace("7", "8"),
          ...lines.slice(6),
        ]),
      ),
    ).not.toBe("");
  });

  it("a copy ends with a complete write, with and without a running signer", () => {
    const { disk, ledger } = fresh();
    write(disk, ledger, bodies(1));
    const head = ledger.durableHead;
    ledger.append(bodies(2));
    ledger.flush(() => {});
    for (const upTo of [head, null]) {
      const check = new CopyCheck();
      const torn = withLines(
        disk,
        linesIn(forge(disk, bodies(2), "the wallet's own key", { isOne: true })).slice(0, -1),
      );
      for (const part of copyLedger(torn, upTo)) check.take(part);
      expect(check.finish()).toMatchObject({ head });
    }
  });
});

describe("a ledger with a MAC on every line, as an earlier program wrote it", () => {
  const vector = JSON.parse(
    readFileSync(new URL("../vectors/ledger-mac-each-line.json", import.meta.url), "utf8"),
  ) as {
    readonly records: number;
    readonly files: Readonly<Record<string, string | readonly string[]>>;
  };
  const earlier = (): MemoryDisk =>
    MemoryDisk.of(
      Object.entries(vector.files).map(([name, content]) => [
        name,
        typeof content === "string"
          ? Buffer.from(content, "hex")
          : Buffer.from(`${content.join("\n")}\n`),
      ]),
    );

  it("a ledger of the earlier form opens, goes on, and is read back and verified", () => {
    const disk = earlier();
    const { ledger, records, tornBytes } = reopen(disk);
    expect([records.length, tornBytes]).toEqual([10, 0]);
    const written = write(disk, ledger, bodies(3));
    expect(ledger.read(1, 29).slice(20)).toEqual(written);
    ledger.rotate("{}");
    write(disk, ledger, bodies(4));
    for (const seal of [null, testSeal]) expect(verifyLedger(disk, seal).records).toBe(39);
    expect(reopen(disk).records).toHaveLength(10);
    expect(linesIn(disk, "00000002.jsonl").filter(hasMac)).toHaveLength(11);
  });

  it("a ledger of the earlier form keeps each whole line of a torn write", () => {
    const disk = earlier();
    const lines = linesIn(disk, "00000002.jsonl");
    for (let kept = 1; kept < lines.length; kept++)
      expect(reopen(withLines(disk, lines.slice(0, kept), "00000002.jsonl")).records).toHaveLength(
        kept,
      );
  });

  it("a ledger of the earlier form is refused where another wrote into it", () => {
    const disk = earlier();
    expect(
      codeOf(() =>
        reopen(forge(disk, [expired(1)], "a MAC of another key", { file: "00000002.jsonl" })),
      ),
    ).toBe("LEDGER_FORGED");
    expect(
      codeOf(() =>
        reopen(forge(disk, [expired(1)], "the wallet's own key", { file: "00000002.jsonl" })),
      ),
    ).toBe("");
  });
});
