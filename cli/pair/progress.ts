/**
 * STATE/pairing.json: how far pairing came, so that a run that was cut goes on where it stopped. Holds nothing secret: public keys,
 * addresses, what the gateway granted. `address` reads it too.
 */
import { readFileSync } from "node:fs";
import { replaceFile } from "../../agent/files/replace-file.ts";
import { makePrivateFolder, type StateFolder } from "../../agent/files/state-folder.ts";
import { AgentError, reasonOf } from "../../protocol/fault.ts";
import { parseJson } from "../../protocol/json.ts";
import type { PairedCurrency } from "../../protocol/messages.ts";
import { hex, integer, list, nullable, object, oneOf, type Reader, string } from "../../protocol/shape.ts";
import type { Granted } from "../registering/answer.ts";
import type { SealedWallet } from "../sealing/answer.ts";

/** In this order; each is durable before the next is begun. */
const steps = ["sealed", "granted", "registered", "scrubbed"] as const;

/** @public */
export type PairingStep = (typeof steps)[number];

/** @public */
export interface Progress {
  readonly version: 1;
  readonly step: PairingStep;
  readonly wallet: SealedWallet;
  readonly networks: readonly string[];
  readonly currencies: readonly PairedCurrency[];
  readonly gatewayUrl: string;
  readonly granted: Granted | null; // from "granted" on
}

const text = string({ min: 1, max: 512 });
const progress: Reader<Progress> = object({
  version: oneOf(1),
  step: oneOf(...steps),
  wallet: object({ wallet: hex(16), address: text, depositXpub: text, signerKey: hex(32) }),
  networks: list(text, 64),
  currencies: list(object({ id: text, network: text, contract: string(), decimal: integer(), maxFee: text }), 512),
  gatewayUrl: text,
  granted: nullable(
    object({ agent: hex(8), merchant: text, epoch: integer(), gatewayKey: hex(32), keyId: text, shortCode: text }),
  ),
});

/**
 * Null when pairing never sealed anything here.
 * @throws AgentError PAIRING_PROGRESS; COMMAND_RIGHT when this user may not look, which says nothing about the file
 * @public
 */
export function readProgress(state: StateFolder): Progress | null {
  const bytes = bytesOf(state.pairing);
  if (bytes === null) return null;
  try {
    const read = progress(parseJson(bytes, { bytesMax: 262_144 }), "pairing.json");
    if (read.step !== "sealed" && read.granted === null) throw new Error("granted without a grant");
    return read;
  } catch (cause) {
    throw new AgentError("PAIRING_PROGRESS", "none", `${state.pairing} cannot be read as the progress of pairing`, {}, { cause });
  }
}

/** Null when it is not there. */
function bytesOf(path: string): Uint8Array | null {
  try {
    return readFileSync(path);
  } catch (cause) {
    const reason = reasonOf(cause);
    if (reason === "ENOENT" || reason === "ENOTDIR") return null;
    if (reason === "EACCES" || reason === "EPERM") {
      const hint = "run it as root, or as the user that owns the state folder";
      throw new AgentError("COMMAND_RIGHT", "none", `this user may not read ${path} (${reason})`, { hint }, { cause });
    }
    throw new AgentError("PAIRING_PROGRESS", "none", `${path} cannot be read (${reason})`, {}, { cause });
  }
}

/**
 * Whether `step` is behind us.
 * @public
 */
export function isPast(progress: Progress | null, step: PairingStep): boolean {
  return progress !== null && steps.indexOf(progress.step) >= steps.indexOf(step);
}

/**
 * @throws AgentError STATE_FOLDER; what the disk said.
 * @public
 */
export function writeProgress(state: StateFolder, progress: Progress): void {
  makePrivateFolder(state.root);
  replaceFile(state.pairing, Buffer.from(`${JSON.stringify(progress, null, 2)}\n`), 0o600);
}
