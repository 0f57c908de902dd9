/**
 * The vault: signatures against ethers and between both routines, sealed values only, wiping; and
 * the hardening of its process.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { inspect } from "node:util";
import { HDNodeWallet, Mnemonic, recoverAddress, SigningKey } from "ethers";
import { build } from "vite";
import { beforeAll, describe, expect, it } from "vitest";
import type { KeystoreContents } from "../../agent/keystore/keystore.ts";
import { deriveAccounts, walletFingerprintOfAccounts } from "../../agent/keystore/nodes.ts";
import { Secret } from "../../agent/keystore/secret.ts";
import { makeReceipt, type Receipt } from "../../agent/ledger/receipt.ts";
import { type Clearance, makeClearance } from "../../agent/signer/policy/clearance.ts";
import {
  type IsolationState,
  isolationLevel,
  isolationState,
} from "../../agent/signer/process-hardening.ts";
import { signByNoble, signDigest } from "../../agent/signer/vault/curve.ts";
import {
  unlockVault,
  unlockVaultWithSignDigest,
  type Vault,
} from "../../agent/signer/vault/vault.ts";
import { Bug } from "../../base/fault.ts";
import {
  openEnvelope,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../../protocol/envelope.ts";

const phrase = "test test test test test test test test test test test junk";
const hotWallet = HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/0'/0/0");
const deposits = HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/1'");
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

function contents(): KeystoreContents {
  const accounts = deriveAccounts(
    Buffer.from(Mnemonic.fromPhrase(phrase).computeSeed().slice(2), "hex"),
    ["evm"],
  );
  return {
    wallet: walletFingerprintOfAccounts(accounts),
    networks: ["eip155:1"],
    accounts,
    signerSeed: new Secret(new Uint8Array(32).fill(7)),
  };
}

const digestOf = (n: number): string => createHash("sha256").update(`digest ${n}`).digest("hex");
const transactionId = "00112233445566778899aabbccddeeff";
const what = { transactionId, attempt: 1, digest: digestOf(1), isCancel: false } as const;
const fields = {
  ...what,
  family: "evm",
  account: hotWallet.address,
  addressIndex: null,
  seq: 5,
} as const;

function signed(
  vault: Vault,
  cleared: Partial<typeof fields> | object,
  recorded: object = {},
): Uint8Array {
  const [signature] = vault.sign(
    makeClearance({ ...fields, ...cleared }),
    makeReceipt({ ...fields, ...recorded }),
  );
  return signature as Uint8Array;
}

const hexOf = (bytes: Buffer, from: number): string =>
  `0x${bytes.toString("hex", from, from + 32)}`;

describe("a vault", () => {
  it("knows its accounts and signs as ethers does, by either routine", () => {
    const held = contents();
    const vault = unlockVault(held);
    const other = unlockVaultWithSignDigest(contents(), signByNoble);
    expect(vault.accounts).toEqual([
      { family: "evm", purpose: "hot", id: hotWallet.address },
      { family: "evm", purpose: "deposits", id: deposits.neuter().extendedKey },
    ]);
    const oracle = new SigningKey(hotWallet.privateKey);
    for (let n = 0; n < 100; n++) {
      const digest = digestOf(n);
      const signature = Buffer.from(signed(vault, { digest }, { digest })).toString("hex");
      expect(Buffer.from(signed(other, { digest }, { digest })).toString("hex")).toBe(signature);
      const expected = oracle.sign(`0x${digest}`);
      expect(`0x${signature}`).toBe(`${expected.r}${expected.s.slice(2)}0${expected.yParity}`);
      expect(recoverAddress(`0x${digest}`, expected)).toBe(hotWallet.address);
    }
    // The opened nodes are wiped as soon as the hot wallet's key is out of them.
    for (const { node } of held.accounts) expect(() => node.bytes).toThrow();
    expect(() => held.signerSeed.bytes).toThrow();
  });

  it("gives signatures with the low half of s over edge digests and keys, the same by either routine", () => {
    const edges = [
      "00".repeat(32),
      "00".repeat(31).concat("01"),
      "ff".repeat(32),
      order.toString(16),
      (order - 1n).toString(16),
    ];
    const keys = [1n, 2n, order - 1n].map((key) =>
      Buffer.from(key.toString(16).padStart(64, "0"), "hex"),
    );
    for (const key of keys) {
      for (const digest of edges.map((edge) => Buffer.from(edge, "hex"))) {
        const signature = Buffer.from(signDigest(digest, key));
        // At or above the order the two take another nonce; both signatures are right.
        const isOver = BigInt(`0x${digest.toString("hex")}`) >= order;
        expect(Buffer.from(signByNoble(digest, key)).equals(signature)).toBe(!isOver);
        expect(
          SigningKey.recoverPublicKey(digest, {
            r: hexOf(signature, 0),
            s: hexOf(signature, 32),
            v: 27 + (signature[64] ?? 0),
          }),
        ).toBe(new SigningKey(key).publicKey);
        expect(BigInt(`0x${signature.toString("hex", 32, 64)}`) <= order / 2n).toBe(true);
        if (isOver) continue;
        const expected = new SigningKey(key).sign(digest);
        expect(`0x${signature.toString("hex")}`).toBe(
          `${expected.r}${expected.s.slice(2)}0${expected.yParity}`,
        );
      }
    }
  });

  it("signs only when clearance and receipt name the same withdrawal, attempt and digest, for its own account", () => {
    const vault = unlockVault(contents());
    expect(signed(vault, {})).toHaveLength(65);
    for (const [cleared, recorded] of [
      [{ transactionId: "ff".repeat(16) }, {}],
      [{}, { transactionId: "ff".repeat(16) }],
      [{ attempt: 2 }, {}],
      [{}, { attempt: 2 }],
      [{ digest: digestOf(2) }, {}],
      [{}, { digest: digestOf(2) }],
      [{ isCancel: true }, {}],
      [{}, { isCancel: true }],
      [{ account: "0x8C8d35429F74ec245F8Ef2f4Fd1e551cFF97d650" }, {}],
    ] as const) {
      expect(() => signed(vault, cleared, recorded)).toThrow(Bug);
    }
    expect(signed(vault, { attempt: 2 }, { attempt: 2 })).toHaveLength(65);
    expect(signed(vault, { isCancel: true }, { isCancel: true })).toHaveLength(65);
  });

  it("signs for a deposit address at the index that the clearance names, and for that address alone", () => {
    const vault = unlockVault(contents());
    for (const addressIndex of [0, 1, 2 ** 31 - 1]) {
      const { address, privateKey } = deposits.derivePath(`0/${addressIndex}`);
      const expected = new SigningKey(privateKey).sign(`0x${what.digest}`);
      const signature = Buffer.from(signed(vault, { account: address, addressIndex })).toString(
        "hex",
      );
      expect(`0x${signature}`).toBe(`${expected.r}${expected.s.slice(2)}0${expected.yParity}`);
      for (const other of [
        { account: address, addressIndex: addressIndex ^ 1 },
        { account: address },
        { account: hotWallet.address, addressIndex },
      ])
        expect(() => signed(vault, other), JSON.stringify(other)).toThrow(Bug);
    }
    vault.lock();
    expect(() =>
      signed(vault, { account: deposits.derivePath("0/0").address, addressIndex: 0 }),
    ).toThrow(expect.objectContaining({ code: "VAULT_LOCKED" }));
  });

  it("takes no look-alike", () => {
    const vault = unlockVault(contents());
    const clearance = makeClearance(fields);
    const receipt = makeReceipt(fields);
    const likeClearance = { ...fields } as unknown as Clearance;
    const likeReceipt = { ...fields } as unknown as Receipt;
    expect(() => vault.sign(likeClearance, receipt)).toThrow(Bug);
    expect(() => vault.sign(clearance, likeReceipt)).toThrow(Bug);
    expect(() => vault.sign(Object.create(clearance) as Clearance, receipt)).toThrow(Bug);
    expect(() => vault.sign(clearance, Object.create(receipt) as Receipt)).toThrow(Bug);
    expect(() =>
      vault.sign(receipt as unknown as Clearance, clearance as unknown as Receipt),
    ).toThrow(Bug);
    expect(vault.sign(clearance, receipt).map(({ length }) => length)).toEqual([65]);
  });

  it("has the signer's key for statements", () => {
    const vault = unlockVault(contents());
    const frame = sealEnvelope("statement", { a: 1 }, vault.signerKey);
    const publicKey = publicKeyFromHex(publicKeyHex(vault.signerKey));
    expect(openEnvelope(frame, { kind: "statement", publicKey, bytesMax: 1000 }).kind).toBe(
      "statement",
    );
  });

  it("is of no use once locked, and prints nothing", () => {
    const vault = unlockVault(contents());
    const secret = hotWallet.privateKey.slice(2);
    expect(inspect(vault, { depth: 9, showHidden: true }) + JSON.stringify(vault)).not.toContain(
      secret,
    );
    vault.lock();
    vault.lock();
    expect(() => signed(vault, {})).toThrow(expect.objectContaining({ code: "VAULT_LOCKED" }));
    expect(() => vault.signerKey).toThrow(expect.objectContaining({ code: "VAULT_LOCKED" }));
    expect(inspect(vault, { depth: 9, showHidden: true })).not.toContain(secret);
  });
});

describe("the process with the keys", () => {
  let bundle = "";
  beforeAll(async () => {
    const built = await build({
      logLevel: "silent",
      configFile: false,
      build: { ssr: "agent/signer/process-hardening.ts", write: false },
    });
    if ("output" in built && built.output[0].type === "chunk") bundle = built.output[0].code;
  });
  /** A program that has `hardenProcess` and `readFileSync` at hand. */
  const script = (body: string): string[] => ["--input-type=module", "-e", `${bundle}\n${body}`];
  const start = (options: readonly string[], env: Record<string, string> = {}) =>
    spawnSync(
      process.execPath,
      [...options, ...script("console.log(JSON.stringify(hardenProcess(process)))")],
      {
        env: { PATH: process.env.PATH ?? "", ...env },
        encoding: "utf8",
      },
    );

  it("refuses NODE_OPTIONS and an inspector", () => {
    expect(start([]).stdout).toContain('"warnings":[]');
    expect(start([], { NODE_OPTIONS: "--max-old-space-size=100" }).stderr).toContain(
      "PROCESS_NODE_OPTIONS",
    );
    expect(start(["--inspect=127.0.0.1:0"]).stderr).toContain("PROCESS_INSPECTOR");
    expect(start(["--max-old-space-size=100"]).stdout).toContain('"warnings":[]');
  });

  it("keeps the inspector shut on SIGUSR1, and its memory out of core dumps", async () => {
    const addressIndex = spawn(
      process.execPath,
      script(`
      hardenProcess(process);
      setTimeout(() => { console.log(readFileSync("/proc/self/coredump_filter", "utf8")); }, 600);
      console.log("ready");`),
    );
    let errors = "";
    let output = "";
    addressIndex.stderr.on("data", (chunk) => {
      errors += chunk;
    });
    addressIndex.stdout.on("data", (chunk) => {
      output += chunk;
      if (output === "ready\n") addressIndex.kill("SIGUSR1");
    });
    const [code] = await once(addressIndex, "exit");
    expect([code, errors]).toEqual([0, ""]);
    expect(output).toMatch(/ready\n0+\n/);
  });

  it("says how far it is set apart", () => {
    const apart: IsolationState = {
      uid: 991,
      parentUid: 0,
      socketsInherited: true,
      noNewPrivileges: true,
      systemCallFilter: true,
      interfaces: [],
    };
    const level = (change: Partial<IsolationState>): string =>
      isolationLevel({ ...apart, ...change });
    expect(level({})).toMatch(/^level 2: /);
    expect(level({ interfaces: ["eth0"] })).toBe("level 1: own user; network in reach");
    expect(level({ interfaces: null, noNewPrivileges: false, systemCallFilter: false })).toMatch(
      /^level 1: .*network.*privileges.*filter/,
    );
    expect(level({ parentUid: 991 })).toMatch(/^level 2: /);
    expect(level({ parentUid: 991, socketsInherited: false })).toBe("level 0: one user");
    expect(level({ uid: 0 })).toMatch(/^level 0: .*root/);
    expect(level({ parentUid: null })).toMatch(/^level 2: /);
    expect(level({ parentUid: null, socketsInherited: false })).toBe("level 0: one user");
    const own = isolationState({ parentPid: process.pid, socketsInherited: false });
    expect(own).toMatchObject({ uid: process.getuid?.(), parentUid: process.getuid?.() });
    expect(isolationLevel(own)).toMatch(/^level 0: /);
  });
});
