/**
 * Another encKey for the keystore: on a disk that may lose power before and after every step, on
 * one whose every step may fail, and on a real folder. In every case one keystore is left that
 * opens with the old encKey or with the new one.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keystoreName } from "../../agent/files/keystore-name.ts";
import { openKeystore, sealKeystore, wipeKeystore } from "../../agent/keystore/keystore.ts";
import {
  deriveAccounts,
  pairedAccountsOf,
  walletFingerprintOfAccounts,
} from "../../agent/keystore/nodes.ts";
import { type KeystoreDisk, keystoreDisk, rekeyKeystore } from "../../agent/keystore/rekey.ts";
import { Secret } from "../../agent/keystore/secret.ts";
import { AgentError } from "../../base/fault.ts";
import { nextSteps } from "../../cli/rekey.ts";

const oldKey = Buffer.from(randomBytes(32).toString("hex"));
const newKey = Buffer.from(randomBytes(32).toString("base64url").replace(/^.../, "aZ9"));
const accounts = deriveAccounts(
  Uint8Array.from({ length: 64 }, (_, at) => at),
  ["evm"],
);
const contents = {
  wallet: walletFingerprintOfAccounts(accounts),
  networks: ["eip155:1"],
  accounts,
  signerSeed: new Secret(new Uint8Array(randomBytes(32))),
};
const addresses = [pairedAccountsOf(accounts)[0]?.id ?? ""];
const random = (bytes: number): Uint8Array => randomBytes(bytes);
const sealed = sealKeystore({ contents, encKey: oldKey, random });

/**
 * Which of the two opens the text; with the signer's seed and the address it must be the same
 * wallet either way.
 */
function openedBy(text: string): "old" | "new" {
  for (const [name, key] of [
    ["old", oldKey],
    ["new", newKey],
  ] as const) {
    try {
      const opened = openKeystore(text, key);
      expect([pairedAccountsOf(opened.accounts)[0]?.id]).toEqual(addresses);
      expect(Buffer.from(opened.signerSeed.bytes).equals(contents.signerSeed.bytes)).toBe(true);
      wipeKeystore(opened);
      return name;
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== "KEYSTORE_ENCKEY") throw error;
    }
  }
  throw new Error("neither opens it");
}

const powerCut = new Error("the power is gone");
const failing = Object.assign(new Error("EIO: i/o error"), { code: "EIO" });

/**
 * A disk in memory. Each file has its written and its synced bytes, each name its newest and its
 * durable target; after a power cut only the synced and durable part is left. At the step `stopAt`
 * it fails before the step (`error`), or the power goes.
 */
class Disk implements KeystoreDisk {
  files = new Map<string, { text: string; durable: string }>([
    [keystoreName, { text: sealed, durable: sealed }],
  ]);
  names = new Map<string, string>([[keystoreName, keystoreName]]); // name → file
  durableNames = new Map(this.names);
  steps = 0;
  #made = 0;
  stopAt = 0;
  error: Error = powerCut;

  #step(): void {
    this.steps += 1;
    if (this.steps === this.stopAt) throw this.error;
  }
  #file(name: string): { text: string; durable: string } {
    const file = this.files.get(this.names.get(name) ?? "");
    if (file === undefined) throw new AgentError("KEYSTORE_MISSING", "none", name);
    return file;
  }
  read(name: string): string {
    return this.#file(name).text;
  }
  create(name: string, text: string): void {
    this.#step();
    if (this.names.has(name)) throw new Error("EEXIST");
    const id = `made${++this.#made}`;
    this.names.set(name, id);
    // A crash in the middle of writing: half of it stands there.
    this.files.set(id, { text: text.slice(0, text.length / 2), durable: "" });
    this.#step();
    this.files.set(id, { text, durable: "" });
  }
  sync(name: string): void {
    this.#step();
    const file = this.#file(name);
    file.durable = file.text;
  }
  rename(from: string, to: string): void {
    this.#step();
    const id = this.names.get(from);
    if (id === undefined) throw new Error("ENOENT");
    this.names.delete(from);
    this.names.set(to, id);
  }
  syncFolder(): void {
    this.#step();
    this.durableNames = new Map(this.names);
  }
  remove(name: string): void {
    if (this.error !== powerCut || this.steps !== this.stopAt) this.names.delete(name);
  }

  /**
   * The keystore as a start finds it. The kernel wrote everything after a killed process; after a
   * power cut it has only the synced part.
   */
  afterKill(): string {
    return this.read(keystoreName);
  }
  /** `isRenamed`: the folder reached the disk all the same. */
  afterPowerCut(isRenamed: boolean): string {
    const id = (isRenamed ? this.names : this.durableNames).get(keystoreName) ?? "";
    return this.files.get(id)?.durable ?? "";
  }
}

function rekeyed(disk: KeystoreDisk, keys = { oldKey, newKey }) {
  return rekeyKeystore({ disk, path: "signer", ...keys, random });
}

function stepsOfAll(): number {
  const disk = new Disk();
  rekeyed(disk);
  return disk.steps;
}

function caught(act: () => unknown): AgentError {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("another encKey", () => {
  it("opens the keystore from then on, and the old one no longer", () => {
    const disk = new Disk();
    expect(rekeyed(disk)).toEqual({ wallet: contents.wallet, addresses, isFromBefore: false });
    expect(openedBy(disk.afterPowerCut(false))).toBe("new");
    expect([...disk.names.keys()]).toEqual([keystoreName]);
  });

  it("has a salt and a box nonce of its own", () => {
    const disk = new Disk();
    rekeyed(disk);
    const [before, after] = [JSON.parse(sealed), JSON.parse(disk.read(keystoreName))];
    expect(after.kdf.salt).not.toBe(before.kdf.salt);
    expect(after.boxNonce).not.toBe(before.boxNonce);
    expect({ ...after, kdf: 0, box: 0, boxNonce: 0 }).toEqual({
      ...before,
      kdf: 0,
      box: 0,
      boxNonce: 0,
    });
  });

  it("is judged as at sealing, and must be another one; nothing is touched then", () => {
    for (const [keys, code] of [
      [{ oldKey, newKey: Buffer.from("hunter2") }, "ENCKEY_WEAK"],
      [{ oldKey, newKey: Buffer.from("00".repeat(32)) }, "ENCKEY_WEAK"],
      [{ oldKey, newKey: oldKey }, "ENCKEY_SAME"],
      [{ oldKey: Buffer.from(randomBytes(32).toString("hex")), newKey }, "KEYSTORE_ENCKEY"],
    ] as const) {
      const disk = new Disk();
      expect(caught(() => rekeyed(disk, keys)).code).toBe(code);
      expect([disk.steps, disk.read(keystoreName)]).toEqual([0, sealed]);
    }
  });
});

describe("a crash at any moment", () => {
  it("leaves one keystore that opens, and the same command once more ends with the new encKey", () => {
    const count = stepsOfAll();
    expect(count).toBeGreaterThanOrEqual(6);
    const seen = new Set<string>();
    for (let stopAt = 1; stopAt <= count; stopAt++) {
      const cut = new Disk();
      cut.stopAt = stopAt;
      expect(() => rekeyed(cut)).toThrow();
      const images = [cut.afterKill(), cut.afterPowerCut(false), cut.afterPowerCut(true)];
      for (const image of images) seen.add(openedBy(image));
      // The next run finds what a killed process left, the unfinished file included.
      cut.stopAt = 0;
      expect(rekeyed(cut).isFromBefore, `step ${stopAt}`).toBe(openedBy(images[0]!) === "new");
      expect(openedBy(cut.afterPowerCut(false)), `step ${stopAt}`).toBe("new");
      expect([...cut.names.keys()]).toEqual([keystoreName]);
    }
    expect([...seen].sort()).toEqual(["new", "old"]);
  });

  it("a failed step of the disk names the encKey that opens the keystore", () => {
    const effects = new Set<string>();
    for (let stopAt = 1; stopAt <= stepsOfAll(); stopAt++) {
      const disk = new Disk();
      disk.stopAt = stopAt;
      disk.error = failing;
      const error = caught(() => rekeyed(disk));
      effects.add(error.code);
      const which = openedBy(disk.read(keystoreName));
      if (error.code === "KEYSTORE_WRITE") {
        expect([error.effect, which, disk.read(keystoreName)]).toEqual(["none", "old", sealed]);
        expect(error.message).toContain("opens with the old encKey");
        expect([...disk.names.keys()]).toEqual([keystoreName]);
      } else {
        expect([error.code, error.effect]).toEqual(["KEYSTORE_UNCONFIRMED", "unknown"]);
        expect(error.message).toContain(`opens with the ${which} encKey now`);
      }
    }
    expect([...effects].sort()).toEqual(["KEYSTORE_UNCONFIRMED", "KEYSTORE_WRITE"]);
  });

  it("a copy that does not read back the same never takes the name", () => {
    for (const lie of [
      (text: string) =>
        text.replace(/"box": "(.)/, (_, first) => `"box": "${first === "0" ? "1" : "0"}`),
      () =>
        sealKeystore({
          contents: { ...contents, signerSeed: new Secret(new Uint8Array(32).fill(9)) },
          encKey: newKey,
          random,
        }),
    ]) {
      const disk = new Disk();
      const { read } = disk;
      disk.read = (name) =>
        name === keystoreName ? read.call(disk, name) : lie(read.call(disk, name));
      expect(caught(() => rekeyed(disk)).code).toBe("KEYSTORE_WRITE");
      expect(disk.afterKill()).toBe(sealed);
    }
  });
});

describe("on a real folder", () => {
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "aw-rekey-"));
    writeFileSync(join(dir, keystoreName), sealed, { mode: 0o600 });
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it("the file keeps its mode, and what a crash left beside it is replaced", () => {
    chmodSync(join(dir, keystoreName), 0o400);
    writeFileSync(join(dir, `${keystoreName}.tmp`), "half a keyst", { mode: 0o644 });
    expect(
      rekeyKeystore({ disk: keystoreDisk(dir), path: dir, oldKey, newKey, random }).isFromBefore,
    ).toBe(false);
    expect(readdirSync(dir)).toEqual([keystoreName]);
    expect(statSync(join(dir, keystoreName)).mode & 0o777).toBe(0o400);
    expect(openedBy(readFileSync(join(dir, keystoreName), "utf8"))).toBe("new");
    expect(
      rekeyKeystore({ disk: keystoreDisk(dir), path: dir, oldKey, newKey, random }).isFromBefore,
    ).toBe(true);
  });

  it.skipIf(process.getuid?.() !== 0)("root leaves the signer's file to the signer's user", () => {
    const path = join(dir, keystoreName);
    // A folder of its user, as root finds it: a file of his in a folder of root's could be
    // anybody's.
    for (const each of [dir, path]) chownSync(each, 12345, 23456);
    rekeyKeystore({ disk: keystoreDisk(dir), path: dir, oldKey, newKey, random });
    const { uid, gid, mode } = statSync(path);
    expect([uid, gid, mode & 0o777]).toEqual([12345, 23456, 0o600]);
  });
});

describe("the steps after a rekey", () => {
  const installed = "/var/lib/autowithdraw";
  const after = {
    from: "file",
    oldFile: "encKey",
    configFile: "/etc/autowithdraw/config.json",
    isMade: true,
    installed,
  } as const;
  const told = (stateRoot: string): string =>
    nextSteps({ ...after, stateRoot, newFile: "/srv/encKey.new" }).join("\n");

  it("the steps for the installed agent are its credential and a start", () => {
    expect(told(installed)).toContain(
      "systemd-creds encrypt --name=encKey /srv/encKey.new /etc/autowithdraw/encKey.cred",
    );
    expect(told(installed)).toContain("systemctl start autowithdraw.target");
    expect(told(installed)).toContain("shred -u /srv/encKey.new");
    // Copies made before open with the old one alone.
    expect(told(installed)).not.toContain("install -m 0600");
  });

  it("the steps for a drill's copy leave the installed agent's credential and file alone, and start nothing", () => {
    expect(told("/srv/drill")).not.toMatch(
      /systemd-creds|install -m|node crypto\.js|systemctl start/,
    );
    expect(told("/srv/drill")).toContain("start nothing on /srv/drill");
  });
});
