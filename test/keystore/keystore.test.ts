/**
 * The keystore: derivation against ethers, the sealed text against its vectors and against the
 * document's own steps, encKey's strength, secrets that print nothing, the file on disk.
 */
import { createHash, hkdfSync, scryptSync } from "node:crypto";
import {
  chmodSync,
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
import { inspect } from "node:util";
import { HDNodeWallet, Mnemonic } from "ethers";
import nacl from "tweetnacl";
import { afterEach, describe, expect, it } from "vitest";
import { keystoreName } from "../../agent/files/keystore-name.ts";
import { assertEncKey, parseRawEncKey } from "../../agent/keystore/enckey.ts";
import {
  hasKeystore,
  openKeystoreIn,
  readKeystore,
  writeKeystore,
} from "../../agent/keystore/file.ts";
import {
  type KeystoreContents,
  openKeystore,
  readKeystoreHeader,
  sealKeystore,
  wipeKeystore,
} from "../../agent/keystore/keystore.ts";
import {
  deriveAccounts,
  hotWalletKey,
  pairedAccountsOf,
  type WalletAccount,
  walletFingerprintOfAccounts,
} from "../../agent/keystore/nodes.ts";
import { Secret } from "../../agent/keystore/secret.ts";
import { AgentError } from "../../base/fault.ts";

const vector = JSON.parse(
  readFileSync(new URL("../vectors/keystore.json", import.meta.url), "utf8"),
) as {
  readonly mnemonic: string;
  readonly hotWalletAddress: string;
  readonly depositXpub: string;
  readonly depositAddresses: readonly string[];
  readonly wallet: string;
  readonly keystores: readonly {
    readonly encKey: string;
    readonly random: string;
    readonly text: string;
  }[];
};
const signerSeed = Buffer.from("07".repeat(32), "hex");
const rawEncKey = Buffer.from(vector.keystores[0]?.encKey ?? "");

function seed(): Uint8Array {
  return Buffer.from(Mnemonic.fromPhrase(vector.mnemonic).computeSeed().slice(2), "hex");
}

function contents(): KeystoreContents {
  const accounts = deriveAccounts(seed(), ["evm"]);
  return {
    wallet: walletFingerprintOfAccounts(accounts),
    networks: ["eip155:1", "eip155:56"],
    accounts,
    signerSeed: new Secret(Uint8Array.from(signerSeed)),
  };
}

/** Bytes that count up, so that a sealed text can be kept as a vector. */
function counting(): (bytes: number) => Uint8Array {
  let next = 0;
  return (bytes) => Uint8Array.from({ length: bytes }, () => next++ & 0xff);
}

function bytesOf(each: KeystoreContents): string {
  return [...each.accounts.map(({ node }) => node), each.signerSeed]
    .map(({ bytes }) => Buffer.from(bytes).toString("hex"))
    .join(" ");
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

function faultOf(act: () => unknown): AgentError {
  try {
    act();
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
  throw new Error("no fault");
}

/**
 * Runs `act` without root's right to read everything; for another user the file loses its own bits.
 */
function asAnotherUser<T>(path: string, act: () => T): T {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  else chmodSync(path, 0);
  try {
    return act();
  } finally {
    if (isRoot) process.seteuid?.(0);
    else chmodSync(path, 0o600);
  }
}

function edited(text: string, change: (file: Record<string, unknown>) => void): string {
  const file = JSON.parse(text);
  change(file);
  return JSON.stringify(file);
}

describe("account nodes", () => {
  it("on Bitcoin have the address and the account's key of BIP-84's vector", () => {
    const phrase = `${"abandon ".repeat(11)}about`;
    const words = Buffer.from(Mnemonic.fromPhrase(phrase).computeSeed().slice(2), "hex");
    const [hotWallet, deposits] = pairedAccountsOf(deriveAccounts(words, ["bitcoin"]));
    expect(hotWallet).toEqual({
      family: "bitcoin",
      purpose: "hot",
      id: "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu",
    });
    expect(deposits?.id).toBe(
      HDNodeWallet.fromPhrase(phrase, "", "m/84'/0'/1'").neuter().extendedKey,
    );
  });

  it("give the addresses and the xpub that ethers gives", () => {
    const accounts = deriveAccounts(seed(), ["evm"]) as readonly [WalletAccount, WalletAccount];
    const [hotWallet, deposits] = pairedAccountsOf(accounts).map(({ id }) => id);
    const root = HDNodeWallet.fromPhrase(vector.mnemonic, "", "m");
    expect(hotWallet).toBe(root.derivePath("m/44'/60'/0'/0/0").address);
    expect(Buffer.from(hotWalletKey(accounts[0]).bytes).toString("hex")).toBe(
      root.derivePath("m/44'/60'/0'/0/0").privateKey.slice(2),
    );
    const account1 = root.derivePath("m/44'/60'/1'");
    expect(deposits).toBe(account1.neuter().extendedKey);
    expect(deposits).toBe(vector.depositXpub);
    expect(hotWallet).toBe(vector.hotWalletAddress);
    expect(walletFingerprintOfAccounts(accounts)).toBe(vector.wallet);
    expect([0, 1].map((index) => account1.derivePath(`0/${index}`).address)).toEqual(
      vector.depositAddresses,
    );
  });
});

describe("a keystore's text", () => {
  it.each(vector.keystores)(
    "is the one in docs/keystore.md, sealed with $encKey",
    ({ encKey, random, text }) => {
      expect(random).toBe("bytes counting up from 0");
      expect(
        sealKeystore({
          contents: contents(),
          encKey: Buffer.from(encKey),
          random: counting(),
          scryptLogN: 17,
        }),
      ).toBe(text);
      expect(bytesOf(openKeystore(text, Buffer.from(encKey)))).toBe(bytesOf(contents()));
    },
  );

  it("opens by the steps of the document, without this program", () => {
    for (const { text, encKey } of vector.keystores) {
      const { boxNonce, box, ...header } = JSON.parse(text);
      const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
      const cost = { N: 131072, r: 8, p: 1, maxmem: 2 ** 28 };
      const secret =
        header.kdf.name === "hkdf"
          ? bytes(encKey)
          : scryptSync(encKey, bytes(header.kdf.salt), 32, cost);
      const headerHash = createHash("sha256").update(JSON.stringify(header)).digest();
      const info = Buffer.concat([Buffer.from("autowithdraw/1 keystore\n"), headerHash]);
      const key = new Uint8Array(hkdfSync("sha256", secret, bytes(header.kdf.salt), info, 32));
      const plain = nacl.secretbox.open(bytes(box), bytes(boxNonce), key);
      expect(plain?.length).toBe(188);
      expect(Buffer.from(plain ?? []).toString("hex", 1, 33)).toBe(signerSeed.toString("hex"));
      expect(header.wallet).toBe(vector.wallet);
    }
  });

  it("opens with its own encKey and header only", () => {
    const text = vector.keystores[0]?.text ?? "";
    const open = (each: string, encKey: Uint8Array = rawEncKey): string =>
      codeOf(() => openKeystore(each, encKey));
    expect(open(text)).toBe("");
    expect(open(text, Buffer.from(`${"ab".repeat(31)}ff`))).toBe("KEYSTORE_ENCKEY");
    expect(open(text, Buffer.from("a passphrase instead of the key"))).toBe("KEYSTORE_ENCKEY");
    // Every field of the header is bound, though secretbox itself binds none.
    expect(open(edited(text, (file) => Object.assign(file, { wallet: "00".repeat(16) })))).toBe(
      "KEYSTORE_ENCKEY",
    );
    expect(open(edited(text, (file) => Object.assign(file, { networks: ["eip155:1"] })))).toBe(
      "KEYSTORE_ENCKEY",
    );
    expect(
      open(
        edited(text, (file) =>
          Object.assign(file, { kdf: { name: "hkdf", salt: "00".repeat(32) } }),
        ),
      ),
    ).toBe("KEYSTORE_ENCKEY");
    expect(open(edited(text, (file) => Object.assign(file, { boxNonce: "00".repeat(24) })))).toBe(
      "KEYSTORE_ENCKEY",
    );
  });

  it("with any byte of the box changed does not open", () => {
    const text = vector.keystores[0]?.text ?? "";
    const { box } = JSON.parse(text) as { box: string };
    for (let at = 0; at < box.length; at += 2) {
      const byte = (Number.parseInt(box.slice(at, at + 2), 16) ^ 0x10)
        .toString(16)
        .padStart(2, "0");
      const changed = edited(text, (file) =>
        Object.assign(file, { box: box.slice(0, at) + byte + box.slice(at + 2) }),
      );
      expect(codeOf(() => openKeystore(changed, rawEncKey))).toBe("KEYSTORE_ENCKEY");
    }
  });

  it("is read strictly", () => {
    const [byKey, byPassphrase] = vector.keystores.map(({ text }) => text) as [string, string];
    const head = (each: string): string => codeOf(() => readKeystoreHeader(each));
    const kdf = (fields: object): string =>
      head(
        edited(byPassphrase, (file) =>
          Object.assign(file, { kdf: { ...(file.kdf as object), ...fields } }),
        ),
      );
    expect(head(byKey)).toBe("");
    expect(head(byPassphrase)).toBe("");
    expect(head("")).toBe("KEYSTORE_FORMAT");
    expect(head("[]")).toBe("KEYSTORE_FORMAT");
    expect(head("null")).toBe("KEYSTORE_FORMAT");
    expect(head(byKey.slice(0, -3))).toBe("KEYSTORE_FORMAT");
    expect(head(byKey.replace('"version": 1', '"version": 1, "version": 1'))).toBe(
      "KEYSTORE_FORMAT",
    );
    expect(head(edited(byKey, (file) => Object.assign(file, { more: 1 })))).toBe("KEYSTORE_FORMAT");
    expect(head(edited(byKey, (file) => Object.assign(file, { version: 0 })))).toBe(
      "KEYSTORE_FORMAT",
    );
    expect(
      head(edited(byKey, (file) => Object.assign(file, { version: 2, kdf: "argon2id" }))),
    ).toBe("KEYSTORE_NEWER");
    for (const [logN, code] of [
      [16, "KEYSTORE_COST"],
      [17, ""],
      [20, ""],
      [21, "KEYSTORE_COST"],
      [63, "KEYSTORE_COST"],
    ] as const) {
      expect([logN, kdf({ logN })]).toEqual([logN, code]);
    }
    expect(kdf({ r: 16 })).toBe("KEYSTORE_COST");
    expect(kdf({ p: 2 })).toBe("KEYSTORE_COST");
    expect(kdf({ salt: "00" })).toBe("KEYSTORE_FORMAT");
  });

  it("holds the keys of the wallet it names, or is neither made nor opened", () => {
    const wrong = { ...contents(), wallet: "00".repeat(16) };
    expect(
      codeOf(() => sealKeystore({ contents: wrong, encKey: rawEncKey, random: counting() })),
    ).toBe("KEYSTORE_WALLET");
    // A box made by hand, whose header was bound right but names another wallet.
    const { boxNonce, box, ...header } = JSON.parse(vector.keystores[0]?.text ?? "");
    const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
    const keyFor = (each: object): Uint8Array => {
      const headerHash = createHash("sha256").update(JSON.stringify(each)).digest();
      const info = Buffer.concat([Buffer.from("autowithdraw/1 keystore\n"), headerHash]);
      return new Uint8Array(
        hkdfSync("sha256", bytes(rawEncKey.toString()), bytes(header.kdf.salt), info, 32),
      );
    };
    const plain =
      nacl.secretbox.open(bytes(box), bytes(boxNonce), keyFor(header)) ?? new Uint8Array(0);
    const withByte = (at: number, byte: number): Uint8Array =>
      plain.map((old, place) => (place === at ? byte : old));
    const codeOfBox = (inside: Uint8Array): string => {
      const sealed = Buffer.from(nacl.secretbox(inside, bytes(boxNonce), keyFor(header))).toString(
        "hex",
      );
      return codeOf(() =>
        openKeystore(JSON.stringify({ ...header, boxNonce, box: sealed }), rawEncKey),
      );
    };
    expect(codeOfBox(plain)).toBe("");
    // Contents of a version, a family or a purpose that nobody knows here; cut short, or with more
    // behind.
    for (const [at, byte] of [
      [0, 3],
      [33, 3],
      [33, 1],
      [35, 0x66],
      [38, 2],
    ] as const)
      expect([at, byte, codeOfBox(withByte(at, byte))]).toEqual([at, byte, "KEYSTORE_NEWER"]);
    expect(codeOfBox(plain.subarray(0, -1))).toBe("KEYSTORE_NEWER");
    expect(codeOfBox(Uint8Array.of(...plain, 0))).toBe("KEYSTORE_NEWER");
    // The same keys as another purpose, or in another order, are another wallet.
    expect(codeOfBox(withByte(38, 1))).toBe("KEYSTORE_WALLET");
    const swapped = Buffer.concat([
      plain.subarray(0, 34),
      plain.subarray(111),
      plain.subarray(34, 111),
    ]);
    expect(codeOfBox(swapped)).toBe("KEYSTORE_WALLET");
    const forged = { ...header, wallet: "00".repeat(16) };
    const again = Buffer.from(nacl.secretbox(plain, bytes(boxNonce), keyFor(forged))).toString(
      "hex",
    );
    expect(
      codeOf(() => openKeystore(JSON.stringify({ ...forged, boxNonce, box: again }), rawEncKey)),
    ).toBe("KEYSTORE_WALLET");
  });
});

describe("an encKey", () => {
  const random = createHash("sha256").update("encKey").digest();

  it("of 32 bytes is known in hex, base64 and base64url", () => {
    for (const text of [
      random.toString("hex"),
      random.toString("hex").toUpperCase(),
      random.toString("base64"),
      random.toString("base64").replace("=", ""),
      random.toString("base64url"),
      `${random.toString("base64url")}=`,
    ]) {
      expect(Buffer.from(parseRawEncKey(Buffer.from(text)) ?? []).toString("hex")).toBe(
        random.toString("hex"),
      );
      expect(codeOf(() => assertEncKey(Buffer.from(text)))).toBe("");
    }
    // One base64 digit changed so that bits beyond the 32 bytes are set.
    const base64 = random.toString("base64");
    expect(parseRawEncKey(Buffer.from(`${base64.slice(0, 42)}B=`))).toBeNull();
    expect(parseRawEncKey(Buffer.from(random.toString("hex").slice(1)))).toBeNull();
    // Words without spaces may have the length of a key; they are still a passphrase.
    expect(parseRawEncKey(Buffer.from("correcthorsebatterystaplecorrecthorsebatter"))).toBeNull();
  });

  it.each([
    ["", "ENCKEY_WEAK"],
    ["<ENCRYPTION_KEY>", "ENCKEY_WEAK"],
    ["0".repeat(64), "ENCKEY_WEAK"],
    ["0123456789abcdef".repeat(4), "ENCKEY_WEAK"],
    ["password1234", "ENCKEY_WEAK"],
    ["passwordpasswordpassword", "ENCKEY_WEAK"],
    ["abcdefghijklmnopqrstuvwxyz", "ENCKEY_WEAK"],
    ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ENCKEY_WEAK"],
    ["Tr0ub4dor&3", "ENCKEY_WEAK"],
    ["Tr0ub4dor&3x", "ENCKEY_WEAK"],
    ["kX9#mQ2$vL7!", ""],
    ["correct horse battery staple", "ENCKEY_WEAK"],
    ["correcthorsebatterystaple", "ENCKEY_WEAK"],
    ["fold tent wisp mural crab", ""],
    ["P@ssw0rd2026!", "ENCKEY_WEAK"],
    ["P@ssw0rd2026!kX9#mQ2$vL", ""],
    ["Summer2026!Istanbul", "ENCKEY_WEAK"],
    ["letmein-letmein", "ENCKEY_WEAK"],
    ["letmein-kX9#mQ2$vL7", ""],
    ["Galatasaray1905!", "ENCKEY_WEAK"],
    ["drowssap14021987", "ENCKEY_WEAK"],
    ["1qaz2wsx3edc4rfv", "ENCKEY_WEAK"],
    ["kX9#kX9#kX9#kX9#kX9#", "ENCKEY_WEAK"],
    ["unplug-devotion-gravel-sixties-humbling", ""],
  ])("%j: %j", (text, code) => {
    expect(codeOf(() => assertEncKey(Buffer.from(text)))).toBe(code);
  });
});

describe("secrets", () => {
  it("print as a mark everywhere and are wiped", () => {
    const secret = new Secret(Buffer.from("c0ffee", "hex"));
    const printed = [
      JSON.stringify({ secret }),
      inspect({ secret }),
      `${secret}`,
      String(secret),
      inspect(contents(), { depth: 9 }),
    ].join(" ");
    expect(printed).not.toMatch(/c0ffee|192, 255|<Buffer|Uint8Array/);
    expect(printed).toContain("[secret]");
    const held = secret.bytes;
    secret.wipe();
    secret.wipe();
    expect([...held]).toEqual([0, 0, 0]);
    expect(codeOf(() => secret.bytes)).toBe("VAULT_LOCKED");
    const opened = openKeystore(vector.keystores[0]?.text ?? "", rawEncKey);
    const views = [...opened.accounts.map(({ node }) => node.bytes), opened.signerSeed.bytes];
    expect(views.every((view) => view.some((byte) => byte !== 0))).toBe(true);
    wipeKeystore(opened);
    expect(views.every((view) => view.every((byte) => byte === 0))).toBe(true);
  });

  it("never stand in a fault", () => {
    const text = vector.keystores[0]?.text ?? "";
    const secret = rawEncKey.toString();
    for (const act of [
      () => openKeystore(text, Buffer.from("00")),
      () => openKeystore(text.replace("hkdf", secret), rawEncKey),
    ]) {
      let fault: unknown;
      try {
        act();
      } catch (error) {
        fault = error;
      }
      expect(fault).toBeInstanceOf(AgentError);
      expect(inspect(fault, { depth: 9 })).not.toContain(secret);
    }
  });
});

describe("a keystore's file", () => {
  const folders: string[] = [];
  const folder = (): string => {
    const made = mkdtempSync(join(tmpdir(), "keystore-"));
    folders.push(made);
    return made;
  };
  afterEach(() => {
    for (const each of folders.splice(0)) rmSync(each, { recursive: true });
  });
  const text = vector.keystores[0]?.text ?? "";

  it("is written private and whole, and may be written again", () => {
    const place = join(folder(), "state", "signer");
    expect(hasKeystore(place)).toBe(false);
    expect(codeOf(() => readKeystore(place))).toBe("KEYSTORE_MISSING");
    for (let i = 0; i < 2; i++) writeKeystore({ folder: place, text, encKey: rawEncKey });
    expect(readKeystore(place)).toBe(text);
    expect(hasKeystore(place)).toBe(true);
    expect(readdirSync(place)).toEqual([keystoreName]);
    expect(statSync(join(place, keystoreName)).mode & 0o777).toBe(0o600);
    expect(statSync(place).mode & 0o777).toBe(0o700);
  });

  it("is left alone when the new one does not open or is another wallet's", () => {
    const place = folder();
    const other = edited(text, (file) => Object.assign(file, { wallet: "00".repeat(16) }));
    expect(codeOf(() => writeKeystore({ folder: place, text: other, encKey: rawEncKey }))).toBe(
      "KEYSTORE_WRITE",
    );
    expect(readdirSync(place)).toEqual([]);
    writeKeystore({ folder: place, text, encKey: rawEncKey });
    expect(codeOf(() => writeKeystore({ folder: place, text: other, encKey: rawEncKey }))).toBe(
      "KEYSTORE_EXISTS",
    );
    expect(codeOf(() => writeKeystore({ folder: place, text, encKey: Buffer.from("wrong") }))).toBe(
      "KEYSTORE_WRITE",
    );
    expect(readKeystore(place)).toBe(text);
    expect(readdirSync(place)).toEqual([keystoreName]);
  });

  it("is refused when others can reach it, when it is a link, or too large", () => {
    const place = folder();
    writeKeystore({ folder: place, text, encKey: rawEncKey });
    chmodSync(join(place, keystoreName), 0o640);
    expect(codeOf(() => readKeystore(place))).toBe("FILE_EXPOSED");
    chmodSync(join(place, keystoreName), 0o600);
    expect(codeOf(() => readKeystore(place))).toBe("");
    const linked = folder();
    symlinkSync(join(place, keystoreName), join(linked, keystoreName));
    expect(codeOf(() => readKeystore(linked))).toBe("FILE_LINK");
    const large = folder();
    writeFileSync(join(large, keystoreName), " ".repeat(65_537), { mode: 0o600 });
    expect(codeOf(() => readKeystore(large))).toBe("KEYSTORE_FORMAT");
  });

  it("says who must own it, and by which command, when this user may not read it", () => {
    const place = folder();
    const path = join(place, keystoreName);
    writeKeystore({ folder: place, text, encKey: rawEncKey });
    const fault = faultOf(() => asAnotherUser(path, () => readKeystore(place)));
    expect(fault.code).toBe("KEYSTORE_FORMAT");
    expect(fault.message).toContain(`${path} cannot be read (EACCES)`);
    expect(fault.message).toMatch(/must belong to the user that runs crypto \(uid \d+\)$/);
    expect(fault.context.hint).toMatch(/^as root: chown -R \d+ (\S+) && chmod -R u=rwX,go= \1$/);
    expect(fault.context.hint).toContain(` ${place} `);
  });

  it("is named by every fault of opening it", () => {
    const place = folder();
    writeKeystore({ folder: place, text, encKey: rawEncKey });
    const fault = faultOf(() => openKeystoreIn(place, Buffer.from("00".repeat(32))));
    expect(fault.code).toBe("KEYSTORE_ENCKEY");
    expect(fault.message.startsWith(`${join(place, keystoreName)}: `)).toBe(true);
    expect(faultOf(() => openKeystoreIn(folder(), rawEncKey)).message).toContain(keystoreName);
  });
});
