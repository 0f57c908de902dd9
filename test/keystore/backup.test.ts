/**
 * A backup's bytes: opened by its own encKey alone, every cut and every changed chunk refused,
 * parts as they were; restored with owners.
 */
import { createHash, hkdfSync, randomBytes } from "node:crypto";
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import nacl from "tweetnacl";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stateFolder } from "../../agent/files/state-folder.ts";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { createLedger } from "../../agent/ledger/ledger.ts";
import { AgentError } from "../../base/fault.ts";
import { checkBackup } from "../../cli/backup/check.ts";
import {
  type BackupPart,
  BackupWriter,
  type FileReader,
  isSealed,
  readBackup,
} from "../../cli/backup/format.ts";
import { makeBackup } from "../../cli/backup/make.ts";
import type { Manifest } from "../../cli/backup/manifest.ts";
import { restoreBackup } from "../../cli/backup/restore.ts";
import { testSeal } from "../../lab/kit/ledger-seal.ts";
import { paired } from "../support/memory-ledger.ts";

const encKey = Buffer.from(randomBytes(32).toString("hex"));
const fields: Omit<Manifest, "parts"> = {
  version: 1,
  software: "0.1.0",
  madeAt: 1_795_210_863_000,
  agent: "d6b5234d7d4cf922",
  wallet: "247acdc38690874463fe3529e9319031",
  head: { seq: 5, hash: "ab".repeat(32) },
  hasKeys: true,
  isRunning: false,
};
const parts: readonly BackupPart[] = [
  { name: "ledger/00000001.jsonl", bytes: randomBytes(2_500_000) },
  { name: "link.json", bytes: Buffer.from('{"linkSeed":"hidden-in-the-box"}') },
  { name: "empty.json", bytes: new Uint8Array(0) },
];

function made(key: Uint8Array | null, pieces = parts): Buffer {
  const out: Uint8Array[] = [];
  const writer = new BackupWriter(
    key,
    (bytes) => randomBytes(bytes),
    (bytes) => void out.push(Uint8Array.from(bytes)),
  );
  for (const part of pieces) writer.part(part);
  writer.finish(fields);
  return Buffer.concat(out);
}

const over =
  (file: Uint8Array): FileReader =>
  (at, length) =>
    Uint8Array.from(file.subarray(at, at + length));

function read(
  file: Uint8Array,
  key: Uint8Array | null,
): { readonly parts: BackupPart[]; readonly manifest: Manifest } {
  const found: BackupPart[] = [];
  const steps = readBackup(over(file), key);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return { parts: found, manifest: step.value };
    found.push(step.value);
  }
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

/** The offset of each chunk, and the end. */
function places(file: Buffer): number[] {
  const found: number[] = [];
  for (let at = file.indexOf(0x0a) + 1; at < file.length; at += 4 + file.readUInt32BE(at))
    found.push(at);
  return [...found, file.length];
}

describe.each([
  ["sealed", encKey],
  ["without keys", null],
])("a backup %s", (_, key) => {
  it("a backup gives every part back as it was", () => {
    const file = made(key);
    expect(isSealed(over(file))).toBe(key !== null);
    const { parts: found, manifest } = read(file, key);
    expect(found.map(({ name }) => name)).toEqual(parts.map(({ name }) => name));
    for (const [at, part] of found.entries())
      expect(Buffer.from(part.bytes).equals(parts[at]?.bytes ?? Buffer.of(1))).toBe(true);
    expect(manifest).toEqual({
      ...fields,
      parts: parts.map(({ name, bytes }) => ({
        name,
        bytes: bytes.length,
        sha256: createHash("sha256").update(bytes).digest("hex"),
      })),
    });
    expect(file.includes("hidden-in-the-box")).toBe(key === null);
  });

  it("a backup that is cut anywhere, at a chunk's end too, is damaged", () => {
    const file = made(key);
    const ends = places(file);
    expect(ends.length).toBeGreaterThan(6);
    for (const end of ends.slice(1, -1).flatMap((at) => [at, at + 2, at - 1])) {
      expect(
        codeOf(() => read(file.subarray(0, end), key)),
        String(end),
      ).toMatch(/^BACKUP_(DAMAGED|ENCKEY)$/);
    }
    expect(codeOf(() => read(Buffer.concat([file, Buffer.of(0)]), key))).toBe("BACKUP_DAMAGED");
    expect(codeOf(() => read(file, key))).toBe("");
  });

  it("a backup with a byte changed in any chunk, two exchanged or one doubled, is not taken", () => {
    const file = made(key);
    const at = places(file);
    for (let chunk = 0; chunk + 1 < at.length; chunk++) {
      const changed = Buffer.from(file);
      const place = (at[chunk] ?? 0) + 8;
      changed[place] = (changed[place] ?? 0) ^ 4;
      expect(
        codeOf(() => read(changed, key)),
        `chunk ${chunk}`,
      ).toMatch(/^BACKUP_(DAMAGED|ENCKEY)$/);
    }
    const chunks = at.slice(0, -1).map((from, index) => file.subarray(from, at[index + 1]));
    const head = file.subarray(0, at[0]);
    const [a, b, c, ...rest] = chunks as [Buffer, Buffer, Buffer, ...Buffer[]];
    for (const order of [
      [a, c, b, ...rest],
      [a, b, b, c, ...rest],
      [a, b, ...rest],
    ]) {
      expect(codeOf(() => read(Buffer.concat([head, ...order]), key))).toBe("BACKUP_DAMAGED");
    }
    expect(codeOf(() => read(Buffer.concat([head, ...chunks]), key))).toBe("");
  });

  it("a backup names no part twice and none that leads elsewhere", () => {
    expect(codeOf(() => read(made(key, [...parts, parts[1] as BackupPart]), key))).toBe(
      "BACKUP_DAMAGED",
    );
    for (const name of ["../x", "/etc/x", "ledger/../x", "a/b", ".x", ""]) {
      expect(
        codeOf(() => read(made(key, [{ name, bytes: Buffer.of(1) }]), key)),
        name,
      ).toBe("BACKUP_DAMAGED");
    }
  });
});

describe("a sealed backup", () => {
  it("opens with its own encKey and header only", () => {
    const file = made(encKey);
    for (const other of [
      Buffer.from(randomBytes(32).toString("hex")),
      Buffer.from("a passphrase of some length 42"),
      null,
    ]) {
      expect(codeOf(() => read(file, other))).toBe("BACKUP_ENCKEY");
    }
    const text = file.toString("latin1");
    const salted = text.replace(
      /"salt":"(..)/,
      (_, two: string) => `"salt":"${two === "00" ? "01" : "00"}`,
    );
    expect(codeOf(() => read(Buffer.from(salted, "latin1"), encKey))).toBe("BACKUP_ENCKEY");
    expect(
      codeOf(() => read(Buffer.from(text.replace('"version":1', '"version":2'), "latin1"), encKey)),
    ).toBe("BACKUP_NEWER");
    expect(codeOf(() => read(Buffer.from("not one\n"), encKey))).toBe("BACKUP_DAMAGED");
  });

  it("opens by the steps of the document, and its key is another one than a keystore's", () => {
    const file = made(encKey);
    const end = file.indexOf(0x0a);
    const header = file.subarray(0, end);
    const { kdf, boxNonce } = JSON.parse(header.toString());
    const keyFor = (label: string): Uint8Array => {
      const info = Buffer.concat([
        Buffer.from(`${label}\n`),
        createHash("sha256").update(header).digest(),
      ]);
      return new Uint8Array(
        hkdfSync(
          "sha256",
          Buffer.from(encKey.toString(), "hex"),
          Buffer.from(kdf.salt, "hex"),
          info,
          32,
        ),
      );
    };
    const box = file.subarray(end + 5, end + 5 + file.readUInt32BE(end + 1));
    const first = Buffer.concat([Buffer.from(boxNonce, "hex"), Buffer.alloc(8)]);
    const plain = nacl.secretbox.open(box, first, keyFor("autowithdraw/1 backup"));
    expect(Buffer.from(plain ?? []).toString()).toBe(
      '\u0001{"name":"ledger/00000001.jsonl","bytes":2500000}',
    );
    expect(nacl.secretbox.open(box, first, keyFor("autowithdraw/1 keystore"))).toBeNull();
  });

  it("under a passphrase costs its derivation", () => {
    const phrase = Buffer.from("quiet Otters 7 sing, under 9 ladders!");
    const file = made(phrase, parts.slice(1));
    expect(JSON.parse(file.toString("utf8", 0, file.indexOf(0x0a))).kdf).toMatchObject({
      name: "scrypt",
      logN: 18,
      r: 8,
      p: 1,
    });
    expect(read(file, phrase).parts).toHaveLength(2);
    const cheap = Buffer.from(file.toString("latin1").replace('"logN":18', '"logN":10'), "latin1");
    expect(codeOf(() => read(cheap, phrase))).toBe("BACKUP_DAMAGED");
  });
});

describe("on a real disk", () => {
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "aw-backup-"));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  function openBackup(): string {
    const state = stateFolder(join(dir, "state"));
    createLedger(ledgerDisk(join(state.signer, "ledger")), paired, () => 1, testSeal);
    const file = join(dir, "open.backup");
    makeBackup(
      { act: "make", file, state, config: null, upTo: null, hasKeys: false, madeAt: 1 },
      null,
    );
    return file;
  }

  it("a backup whose ledger is another one than its manifest says is damaged", () => {
    const file = openBackup();
    const { head } = checkBackup(file, null);
    const text = readFileSync(file, "latin1").replace(
      `"head":{"seq":1,"hash":"${head.hash}"`,
      `"head":{"seq":1,"hash":"${"0".repeat(64)}"`,
    );
    writeFileSync(file, text, "latin1");
    expect(codeOf(() => checkBackup(file, null))).toBe("BACKUP_DAMAGED");
  });

  it("a backup that cannot be written leaves the earlier one and nothing beside it", () => {
    const file = openBackup();
    const before = readFileSync(file);
    const state = stateFolder(join(dir, "nothing"));
    const task = {
      act: "make",
      file,
      state,
      config: null,
      upTo: null,
      hasKeys: false,
      madeAt: 1,
    } as const;
    expect(codeOf(() => makeBackup(task, null))).toBe("LEDGER_MISSING");
    expect(codeOf(() => makeBackup({ ...task, file: join(dir, "no", "folder") }, null))).toBe(
      "BACKUP_WRITE",
    );
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(dir).sort()).toEqual(["open.backup", "state"]);
  });

  it("a link in the courier's folder brings no other file into it", () => {
    const state = stateFolder(join(dir, "state"));
    const file = join(dir, "keys.backup");
    createLedger(ledgerDisk(join(state.signer, "ledger")), paired, () => 1, testSeal);
    mkdirSync(state.courier);
    const link = join(state.courier, "link.json");
    const elsewhere = join(dir, "root-only");
    writeFileSync(elsewhere, "secret", { mode: 0o600 });
    const task = {
      act: "make",
      file,
      state,
      config: null,
      upTo: null,
      hasKeys: true,
      madeAt: 1,
    } as const;
    symlinkSync(elsewhere, link);
    expect(codeOf(() => makeBackup(task, null))).toBe("FILE_LINK");
    rmSync(link);
    writeFileSync(link, "{}", { mode: 0o600 });
    // A file of its own is taken, and the next is looked for.
    expect(codeOf(() => makeBackup(task, null))).toBe("KEYSTORE_MISSING");
  });

  it.skipIf(process.getuid?.() !== 0)(
    "root restores for the owners of the folders that an installation made",
    () => {
      const state = stateFolder(join(dir, "installed"));
      mkdirSync(state.signer, { recursive: true });
      mkdirSync(state.courier);
      chownSync(state.signer, 11111, 22222);
      chownSync(state.courier, 33333, 44444);
      const source = stateFolder(join(dir, "state"));
      createLedger(ledgerDisk(join(source.signer, "ledger")), paired, () => 1, testSeal);
      const ledger = readFileSync(join(source.signer, "ledger", "00000001.jsonl"));
      const out: Uint8Array[] = [];
      const writer = new BackupWriter(
        encKey,
        (bytes) => randomBytes(bytes),
        (bytes) => void out.push(Uint8Array.from(bytes)),
      );
      writer.part({ name: "ledger/00000001.jsonl", bytes: ledger });
      for (const name of ["link.json", "keystore.json", "pairing.json"])
        writer.part({ name, bytes: Buffer.from("{}") });
      const { hash } = JSON.parse(ledger.toString());
      writer.finish({
        ...fields,
        agent: paired.agent,
        wallet: paired.wallet,
        head: { seq: 1, hash },
      });
      const file = join(dir, "sealed.backup");
      writeFileSync(file, Buffer.concat(out));
      restoreBackup(file, state, encKey);
      const owner = (path: string): number[] => [
        statSync(path).uid,
        statSync(path).gid,
        statSync(path).mode & 0o777,
      ];
      expect(owner(join(state.signer, "ledger"))).toEqual([11111, 22222, 0o700]);
      expect(owner(join(state.signer, "ledger", "00000001.jsonl"))).toEqual([11111, 22222, 0o600]);
      expect(owner(join(state.signer, "keystore.json"))).toEqual([11111, 22222, 0o600]);
      expect(owner(join(state.courier, "link.json"))).toEqual([33333, 44444, 0o600]);
      expect(owner(state.pairing)).toEqual([0, 0, 0o600]);
    },
  );
});
