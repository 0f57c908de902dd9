/**
 * The curve and the hash as WebAssembly beside noble's, which take their place in a runtime without
 * WebAssembly.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { secp256k1 } from "@noble/curves/secp256k1";
import { keccak_256 } from "@noble/hashes/sha3";
import { HDKey } from "@scure/bip32";
import { describe, expect, it } from "vitest";
import {
  compressedPublicKeyByNoble,
  compressedPublicKeyOf,
  signatureByNoble,
  signatureOf,
} from "../../agent/keystore/nodes.ts";
import { signByNoble, signDigest } from "../../agent/signer/vault/curve.ts";
import { childKeyOf, childPointOf } from "../../chains/curve/account-node.ts";
import { fastCurve } from "../../chains/curve/fast-curve.ts";
import { keccak256 } from "../../chains/curve/keccak.ts";
import { recoverByNoble, recoverPublicKey } from "../../chains/curve/recover.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const bytes = (at: number, name: string): Buffer =>
  createHash("sha256").update(`${name} ${at}`).digest();
const hex = (value: Uint8Array | null): string =>
  value === null ? "none" : Buffer.from(value).toString("hex");
const cases = 200;

describe("the curve as WebAssembly", () => {
  it("signs, recovers and multiplies as noble does", () => {
    expect(fastCurve).not.toBeNull();
    for (let at = 0; at < cases; at += 1) {
      const [key, digest] = [bytes(at, "key"), bytes(at, "digest")];
      const signed = signDigest(digest, key);
      expect(hex(signed), `case ${at}`).toBe(hex(signByNoble(digest, key)));
      expect(hex(signatureOf(digest, key))).toBe(hex(signatureByNoble(digest, key)));
      expect(hex(compressedPublicKeyOf(key))).toBe(hex(compressedPublicKeyByNoble(key)));
      const [signature, parity] = [signed.subarray(0, 64), signed[64] as 0 | 1];
      expect(hex(recoverPublicKey(digest, signature, parity))).toBe(
        hex(secp256k1.getPublicKey(key, false)),
      );
      // The other parity and another digest give another point or none, the same by both.
      const flipped = (1 - parity) as 0 | 1;
      expect(hex(recoverPublicKey(digest, signature, flipped))).toBe(
        hex(recoverByNoble(digest, signature, flipped)),
      );
    }
  });

  it("finds no signer of what is no signature", () => {
    const digest = bytes(0, "digest");
    const none = new Uint8Array(64);
    const over = Buffer.alloc(64, 0xff);
    for (const signature of [none, over]) expect(recoverPublicKey(digest, signature, 0)).toBeNull();
  });

  it("takes no digest, key or signature of another length", () => {
    const [digest, key] = [bytes(0, "digest"), bytes(0, "key")];
    const signature = signDigest(digest, key).subarray(0, 64);
    for (const wrong of [digest.subarray(1), Buffer.concat([digest, key])]) {
      expect(() => signDigest(wrong, key)).toThrow("32 bytes");
      expect(() => signDigest(digest, wrong)).toThrow("32 bytes");
      expect(() => compressedPublicKeyOf(wrong)).toThrow("32 bytes");
      expect(() => recoverPublicKey(wrong, signature, 0)).toThrow("32 bytes");
    }
    for (const wrong of [signature.subarray(1), Buffer.concat([signature, key])])
      expect(() => recoverPublicKey(digest, wrong, 0)).toThrow("a signature 64");
    expect(signDigest(digest, key).subarray(0, 64)).toEqual(signature);
  });

  it("gives each result its own bytes", () => {
    const [first, second] = [bytes(1, "key"), bytes(2, "key")];
    const point = compressedPublicKeyOf(first);
    const before = hex(point);
    compressedPublicKeyOf(second);
    signDigest(bytes(3, "digest"), second);
    expect(hex(point)).toBe(before);
  });
});

describe("the hash as WebAssembly", () => {
  it("is noble's at every length around its blocks, and each result has its own bytes", () => {
    const empty = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
    expect(hex(keccak256(new Uint8Array(0)))).toBe(empty);
    const kept = keccak256(Uint8Array.of(1));
    const before = hex(kept);
    for (let length = 0; length < 420; length += 1) {
      const input = Buffer.alloc(length, length);
      expect(hex(keccak256(input)), `${length} bytes`).toBe(hex(keccak_256(input)));
    }
    const large = Buffer.alloc(300_000, 7);
    expect(hex(keccak256(large))).toBe(hex(keccak_256(large)));
    expect(hex(kept)).toBe(before);
  });
});

describe("a runtime without WebAssembly", () => {
  const jitless = (...args: string[]) =>
    spawnSync(process.execPath, ["--jitless", "--no-warnings", ...args], {
      cwd: projectRoot,
      encoding: "utf8",
      timeout: 60_000,
    });

  // The runtime itself says that one of its flags ends another.
  const ownWords = (stderr: string): string =>
    stderr.replace(/^Warning: disabling flag --expose_wasm .*\n/, "");

  it("starts the program", () => {
    const started = jitless("crypto.js", "--help");
    expect([started.status, ownWords(started.stderr)]).toEqual([0, ""]);
    expect(started.stdout).toContain("Usage");
  });

  it("signs, recovers, multiplies and hashes the same", () => {
    const file = (path: string): string => JSON.stringify(join(projectRoot, "dist", path));
    const program = `
      const { signDigest } = await import(${file("agent/signer/vault/curve.js")});
      const { compressedPublicKeyOf, signatureOf } = await import(${file("agent/keystore/nodes.js")});
      const { recoverPublicKey } = await import(${file("chains/curve/recover.js")});
      const { keccak256 } = await import(${file("chains/curve/keccak.js")});
      const [digest, key] = [Buffer.alloc(32, 3), Buffer.alloc(32, 5)];
      const signed = signDigest(digest, key);
      const all = [signed, compressedPublicKeyOf(key), signatureOf(digest, key), recoverPublicKey(digest, signed.subarray(0, 64), signed[64]), keccak256(key)];
      console.log(typeof WebAssembly, ...all.map((one) => Buffer.from(one).toString("hex")));`;
    const [digest, key] = [Buffer.alloc(32, 3), Buffer.alloc(32, 5)];
    const signed = signDigest(digest, key);
    const here = [
      signed,
      compressedPublicKeyOf(key),
      signatureOf(digest, key),
      secp256k1.getPublicKey(key, false),
      keccak256(key),
    ];
    const { status, stdout, stderr } = jitless("--input-type=module", "-e", program);
    expect([status, ownWords(stderr), stdout.trim()]).toEqual([
      0,
      "",
      ["undefined", ...here.map(hex)].join(" "),
    ]);
  });
});

describe("a deposit address's key", () => {
  it("is the one that the library of BIP-32 derives, at each index", () => {
    const account = HDKey.fromMasterSeed(bytes(0, "seed")).derive("m/44'/60'/1'");
    const parent = account.deriveChild(0);
    const last = 2 ** 31 - 1;
    for (const index of [
      0,
      1,
      last,
      ...Array.from({ length: 60 }, (_, at) => bytes(at, "index").readUInt32BE() % last),
    ]) {
      expect(hex(childKeyOf(account.publicExtendedKey, index)), `index ${index}`).toBe(
        hex(parent.deriveChild(index).publicKey),
      );
      const long = secp256k1.Point.fromHex(parent.deriveChild(index).publicKey!).toBytes(false);
      expect(hex(childPointOf(account.publicExtendedKey, index)), `index ${index}`).toBe(hex(long));
    }
    expect(() => childKeyOf(account.publicExtendedKey, last + 1)).toThrow("address index");
    expect(() => childKeyOf(account.privateExtendedKey, 0)).toThrow("not an extended public key");
  });
});
