/**
 * The machine's own limits, measured in the same run: signatures, verifications and syncs, one
 * thread.
 */
import { generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { fdatasyncSync, openSync, writeSync } from "node:fs";
import { invariant } from "../../base/fault.ts";
import { fastCurve } from "../../chains/curve/fast-curve.ts";

export interface Ceilings {
  readonly secpSignUs: number;
  readonly secpRecoverUs: number;
  readonly ed25519VerifyUs: number; // over 1 KiB
  readonly ed25519SignUs: number;
  readonly syncUs: number; // append 1 KiB + fdatasync
  /** verify + sign + three syncs: what nobody can be under with this order of acts. */
  readonly durableFloorMs: number;
  readonly signaturesPerSecond: number;
  readonly syncsPerSecond: number;
}

function timeUs(times: number, act: () => void): number {
  for (let i = 0; i < times / 10; i += 1) act();
  const began = performance.now();
  for (let i = 0; i < times; i += 1) act();
  return ((performance.now() - began) * 1000) / times;
}

/** Takes about two seconds. `path` is a file on the disk that is measured. */
export function measureCeilings(path: string): Ceilings {
  const key = randomBytes(32);
  const digest = randomBytes(32);
  const curve = fastCurve;
  invariant(curve !== null, "the bench runs with WebAssembly");
  const signed = curve.sign(digest, key);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const message = randomBytes(1024);
  const signature = sign(null, message, privateKey);
  const file = openSync(path, "a", 0o600);
  const secpSignUs = timeUs(2000, () => curve.sign(digest, key));
  const secpRecoverUs = timeUs(2000, () =>
    curve.recover(digest, signed.subarray(0, 64), signed[64] ?? 0),
  );
  const ed25519VerifyUs = timeUs(2000, () => verify(null, message, publicKey, signature));
  const ed25519SignUs = timeUs(2000, () => sign(null, message, privateKey));
  const syncUs = timeUs(1000, () => {
    writeSync(file, message);
    fdatasyncSync(file);
  });
  return {
    secpSignUs,
    secpRecoverUs,
    ed25519VerifyUs,
    ed25519SignUs,
    syncUs,
    durableFloorMs: (ed25519VerifyUs + secpSignUs + 3 * syncUs) / 1000,
    signaturesPerSecond: 1e6 / secpSignUs,
    syncsPerSecond: 1e6 / syncUs,
  };
}
