/**
 * The manifest of a backup: the agent, the ledger's head, the time, and every part with its hash.
 * Only types and their readers.
 */
import { AgentError } from "../../base/fault.ts";
import { parseJson } from "../../base/json.ts";
import {
  boolean,
  hex,
  integer,
  list,
  object,
  oneOf,
  type Reader,
  string,
} from "../../base/shape.ts";
import type { AgentLedgerHead } from "../../protocol/messages.ts";

export interface ManifestPart {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string; // hex
}

export interface Manifest {
  readonly version: 1;
  readonly software: string; // version of the program that made it
  readonly madeAt: number; // Unix milliseconds
  readonly agent: string; // 8 bytes, hex
  readonly wallet: string; // 16 bytes, hex
  readonly head: AgentLedgerHead; // the newest record in it
  readonly hasKeys: boolean;
  readonly isRunning: boolean; // the signer ran, and named the head
  readonly parts: readonly ManifestPart[];
}

const nameMax = 64;
/** Bound: a ledger of 50,000 segments has paid some 250 million withdrawals. */
const partsMax = 50_000;
/** No chunk of a backup is longer. */
export const manifestBytesMax = 16 * 1024 * 1024;

/**
 * The name of a part. It has no slash except the ledger's and no leading dot, so it never leads out
 * of a folder.
 */
export function createPartNameReader(): Reader<string> {
  return string({ min: 1, max: nameMax, pattern: /^(?:ledger\/)?[a-z0-9][a-z0-9.-]*$/ });
}

const shape: Reader<Manifest> = object({
  version: oneOf(1),
  software: string({ min: 1, max: 64 }),
  madeAt: integer(),
  agent: hex(8),
  wallet: hex(16),
  head: object({ seq: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), hash: hex(32) }),
  hasKeys: boolean(),
  isRunning: boolean(),
  parts: list(
    object({ name: createPartNameReader(), bytes: integer(), sha256: hex(32) }),
    partsMax,
  ),
});

/** Parses a manifest. @throws AgentError BACKUP_DAMAGED */
export function readManifest(bytes: Uint8Array): Manifest {
  try {
    return shape(parseJson(bytes, { bytesMax: manifestBytesMax, itemsMax: partsMax }), "manifest");
  } catch (cause) {
    throw new AgentError(
      "BACKUP_DAMAGED",
      "none",
      "the backup's manifest is not one",
      {},
      { cause },
    );
  }
}
