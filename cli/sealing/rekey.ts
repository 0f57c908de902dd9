/**
 * Seals the keystore again under another encKey, in a process that has no network if the machine
 * permits this. Reads stdin: the signer's folder, the old encKey, the new one. Answers one line of
 * JSON without a secret.
 */
import "../../base/no-inspector.ts";
import { randomBytes } from "node:crypto";
import { keystoreDisk, rekeyKeystore } from "../../agent/keystore/rekey.ts";
import { readFrames } from "../../agent/launcher/frames.ts";
import { invariant } from "../../base/fault.ts";
import { answerWith } from "./answer.ts";

const [folder, oldKey, newKey] = readFrames();
invariant(folder !== undefined && oldKey !== undefined && newKey !== undefined, "three parts come over stdin");
const path = Buffer.from(folder).toString("utf8");
answerWith(() => {
  try {
    const random = (bytes: number): Uint8Array => randomBytes(bytes);
    return { ok: true, ...rekeyKeystore({ disk: keystoreDisk(path), path, oldKey, newKey, random }) };
  } finally {
    oldKey.fill(0);
    newKey.fill(0);
  }
});
