/** The work of the process that seals the keystore again (rekey.ts), apart from its pipes. */
import { randomBytes } from "node:crypto";
import { keystoreDisk, type RekeyResult, rekeyKeystore } from "../../agent/keystore/rekey.ts";
import { invariant } from "../../base/fault.ts";
import type { ChildFault } from "../child.ts";
import { answerOf } from "./answer.ts";

/** Does the process's task with its parts: the signer's folder, and two keys, which it wipes. */
export function answerRekey([folder, oldKey, newKey]: readonly Uint8Array[]):
  | ({ readonly ok: true } & RekeyResult)
  | ChildFault {
  invariant(
    folder !== undefined && oldKey !== undefined && newKey !== undefined,
    "three parts come over stdin",
  );
  const path = Buffer.from(folder).toString("utf8");
  return answerOf(() => {
    try {
      const random = (bytes: number): Uint8Array => randomBytes(bytes);
      return {
        ok: true,
        ...rekeyKeystore({ disk: keystoreDisk(path), path, oldKey, newKey, random }),
      };
    } finally {
      oldKey.fill(0);
      newKey.fill(0);
    }
  });
}
