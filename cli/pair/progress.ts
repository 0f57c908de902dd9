/**
 * STATE/pairing.json: the progress of pairing, so a run that was cut goes on at the same step.
 * Holds no secret: public keys, addresses, and the gateway's grant. `address` reads it too. From
 * the step "registered" on, a seal closes the file, which only the wallet's keys can make.
 */
import { replaceFile } from "../../agent/files/replace-file.ts";
import { makePrivateFolder, type StateFolder } from "../../agent/files/state-folder.ts";
import { readTrusted } from "../../agent/files/trusted.ts";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { parseJson } from "../../base/json.ts";
import {
  hex,
  integer,
  list,
  nullable,
  object,
  oneOf,
  type Reader,
  string,
} from "../../base/shape.ts";
import { addressSpaceNames } from "../../chains/families.ts";
import type { PairedAccount, PairedCurrency } from "../../protocol/messages.ts";
import type { VerifiedGrant } from "../registering/answer.ts";
import type { SealedWallet } from "../sealing/answer.ts";

/** The steps in this order; each is durable before the next begins. */
const steps = ["sealed", "granted", "registered", "scrubbed"] as const;

export type PairingStep = (typeof steps)[number];

export interface Progress {
  readonly version: 1;
  readonly step: PairingStep;
  readonly wallet: SealedWallet;
  readonly networks: readonly string[];
  readonly currencies: readonly PairedCurrency[];
  readonly gatewayUrl: string;
  readonly granted: VerifiedGrant | null; // from "granted" on
  readonly word: string; // from "registered" on, "" before
}

const fileBytesMax = 262_144;
const text = string({ min: 1, max: 512 });
const account: Reader<PairedAccount> = object({
  family: oneOf(...addressSpaceNames),
  purpose: oneOf("hot", "deposits"),
  id: text,
});
const progress: Reader<Progress> = object({
  version: oneOf(1),
  step: oneOf(...steps),
  wallet: object({ wallet: hex(16), accounts: list(account, 16), signerKey: hex(32) }),
  networks: list(text, 64),
  currencies: list(
    object({ id: text, network: text, contract: string(), decimal: integer(), maxFee: text }),
    512,
  ),
  gatewayUrl: text,
  granted: nullable(
    object({
      agent: hex(8),
      merchant: text,
      ledgerEpoch: integer(),
      gatewayKey: hex(32),
      keyId: text,
      shortCode: text,
    }),
  ),
  word: string({ max: 64, pattern: /^(?:[0-9a-f]{64})?$/ }),
});

/**
 * Null if pairing never sealed anything here.
 * @throws AgentError PAIRING_PROGRESS, FILE_*; COMMAND_RIGHT if this user may not look, which
 * proves nothing about the file
 */
export function readProgress(state: StateFolder): Progress | null {
  const bytes = bytesOf(state.pairing);
  if (bytes === null) return null;
  try {
    const read = progress(parseJson(bytes, { bytesMax: fileBytesMax }), "pairing.json");
    if (read.step !== "sealed" && read.granted === null) throw new Error("granted without a grant");
    return read;
  } catch (cause) {
    throw new AgentError(
      "PAIRING_PROGRESS",
      "none",
      `${state.pairing} cannot be read as the progress of pairing`,
      {},
      { cause },
    );
  }
}

/** Null when it is not there. */
function bytesOf(path: string): Uint8Array | null {
  try {
    const bytes = readTrusted(path, fileBytesMax, { owner: "folder", isSecret: false });
    if (bytes === null) throw new Error(`longer than ${fileBytesMax} bytes`);
    return bytes;
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    const reason = reasonOf(cause);
    if (reason === "ENOENT" || reason === "ENOTDIR") return null;
    if (reason === "EACCES" || reason === "EPERM") {
      const hint = "run it as root, or as the user that owns the state folder";
      throw new AgentError(
        "COMMAND_RIGHT",
        "none",
        `this user may not read ${path} (${reason})`,
        { hint },
        { cause },
      );
    }
    throw new AgentError(
      "PAIRING_PROGRESS",
      "none",
      `${path} cannot be read (${reason})`,
      {},
      { cause },
    );
  }
}

/** True if pairing has already completed `step`. */
export function isStepCompleted(progress: Progress | null, step: PairingStep): boolean {
  return progress !== null && steps.indexOf(progress.step) >= steps.indexOf(step);
}

/**
 * @throws AgentError STATE_FOLDER; the disk's own error.
 */
export function writeProgress(state: StateFolder, progress: Progress): void {
  makePrivateFolder(state.root);
  replaceFile(state.pairing, Buffer.from(`${JSON.stringify(progress, null, 2)}\n`), 0o600);
}
