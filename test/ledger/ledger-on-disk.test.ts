/**
 * The ledger on a real disk: private, readable again, ended by a failed write, only with the lock
 * that is handed down; and the order of system calls as the kernel sees it.
 */
import { spawnSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createAppendFile, ledgerDisk } from "../../agent/ledger/disk.ts";
import { createLedger, openLedger } from "../../agent/ledger/ledger.ts";
import { assertStateLocked } from "../../agent/ledger/lock.ts";
import { verifyLedger } from "../../agent/ledger/verify.ts";
import type { AgentError } from "../../base/fault.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { bodies, codeOf, id, paired } from "../support/memory-ledger.ts";

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

  it("a ledger on a real disk is durable, private and readable again", async () => {
    const place = join(folder(), "signer", "ledger");
    const disk = ledgerDisk(place);
    expect(codeOf(() => openLedger({ disk, seal: testSeal, clock: () => 1 }))).toBe(
      "LEDGER_MISSING",
    );
    mkdirSync(place, { recursive: true, mode: 0o700 });
    writeFileSync(
      join(place, "00000001.jsonl.tmp"),
      "what a crash left of a file that was never finished",
    );
    expect(disk.list()).toEqual([]);
    createLedger(disk, paired, () => 1, testSeal);
    const { ledger } = openLedger({
      disk,
      seal: testSeal,
      clock: () => 2,
      segmentBytesMax: 20_000,
    });
    const flush = (): Promise<AgentError | null> => new Promise((resolve) => ledger.flush(resolve));
    let replayed = 1;
    for (let n = 1; n <= 30; n++) {
      ledger.append(bodies(n));
      replayed += 9;
      expect(await flush()).toBeNull();
      if (!ledger.wantsRotation) continue;
      ledger.rotate(JSON.stringify({ replayed }));
      replayed += 1;
    }
    expect(await flush()).toBeNull();
    expect(ledger.hasRoom()).toBe(true);
    expect(verifyLedger(disk, testSeal)).toMatchObject({
      records: replayed,
      head: ledger.durableHead,
    });
    for (const name of readdirSync(place))
      expect(statSync(join(place, name)).mode & 0o777).toBe(0o600);
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
    const again = openLedger({ disk: ledgerDisk(place), seal: testSeal, clock: () => 3 });
    expect(again.tornBytes).toBe(7);
    expect(again.ledger.head.seq).toBe(replayed);
    again.ledger.close();
  });

  it("a failed write ends it", async () => {
    const disk = ledgerDisk(folder());
    createLedger(disk, paired, () => 1, testSeal);
    const full = { ...disk, open: () => appendingTo("/dev/full") };
    const { ledger } = openLedger({ disk: full, seal: testSeal, clock: () => 2 });
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
      expect(
        spawnSync("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "ignore", fd] }).status,
      ).toBe(0);
      expect(codeOf(() => assertStateLocked(fd, lock))).toBe("");
      expect(codeOf(() => assertStateLocked(fd, other))).toBe("LEDGER_UNLOCKED");
      expect(codeOf(() => assertStateLocked(9999, lock))).toBe("LEDGER_UNLOCKED");
    } finally {
      closeSync(fd);
    }
  });
});

describe.skipIf(spawnSync("strace", ["-V"]).status !== 0)(
  "as the kernel sees it (needs strace)",
  () => {
    let folder = "";
    let bundle = "";
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "ledger-"));
      const entry = join(folder, "entry.ts");
      const from = (name: string): string =>
        JSON.stringify(new URL(`../../agent/ledger/${name}.ts`, import.meta.url).pathname);
      writeFileSync(
        entry,
        `export { createLedger, openLedger } from ${from("ledger")}; export { ledgerDisk } from ${from("disk")};
      export { LedgerSeal } from ${from("seal")};`,
      );
      const built = await build({
        logLevel: "silent",
        configFile: false,
        build: { ssr: entry, write: false },
      });
      if ("output" in built && built.output[0].type === "chunk") bundle = built.output[0].code;
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    /**
     * Appends, rotates and appends again, saying so on stdout; the system calls that matter, in
     * order.
     */
    const trace = (name: string, options: readonly string[] = []) => {
      const program = join(folder, `${name}.mjs`);
      const place = join(folder, name);
      writeFileSync(
        program,
        `${bundle}
      const disk = ledgerDisk(${JSON.stringify(place)});
      const seal = new LedgerSeal(new Uint8Array(32).fill(7));
      createLedger(disk, ${JSON.stringify(paired)}, () => 1, seal);
      const { ledger } = openLedger({ disk, seal, clock: () => 2 });
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
      const ran = spawnSync("strace", [
        "-f",
        "-y",
        "-s",
        "16",
        "-o",
        log,
        "-e",
        calls,
        ...options,
        process.execPath,
        program,
      ]);
      const lines = readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line.includes(place) || /DURABLE|ROTATED/.test(line));
      const what = lines.flatMap((line) => {
        const call = /^\d+ +(?:<\.\.\. )?(write|pwrite64|fsync|fdatasync|rename)\b/.exec(line)?.[1];
        const file =
          line.includes("STDOUT") || /DURABLE|ROTATED/.test(line)
            ? "said"
            : /([^/<>"]+)(?:>|")[^/]*$/.exec(line)?.[1];
        return call === undefined ? [] : [`${call} ${file}`];
      });
      return { said: ran.stdout.toString(), calls: what };
    };

    it("nothing is said before its sync, and every new name is synced before and after", () => {
      const { said, calls } = trace("plain");
      expect(said).toBe("DURABLEROTATED");
      const made = (file: string): string[] => [
        `write ${file}.tmp`,
        `fsync ${file}.tmp`,
        `rename ${file}`,
        "fsync plain",
      ];
      expect(calls).toEqual([
        ...made("00000001.jsonl"),
        // An open makes the records of an earlier process durable before they count.
        "fsync 00000001.jsonl",
        "fsync plain",
        "write 00000001.jsonl",
        "fdatasync 00000001.jsonl",
        "write said",
        ...made("checkpoint-00000002.bin"),
        ...made("00000002.jsonl"),
        "write said",
      ]);
    });

    it("a sync that fails is never taken for a success", () => {
      expect(trace("failing", ["-e", "inject=fdatasync:error=EIO:when=1"]).said).toBe(
        "LEDGER_POISONED",
      );
    });
  },
);

function appendingTo(path: string) {
  // The real appending code, over a device that refuses every byte.
  return createAppendFile(openSync(path, "a"));
}
