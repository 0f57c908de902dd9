/**
 * Pairing's request to the gateway: the transcript, and the link key's seed, which is kept until
 * link.json holds it.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { replaceFile } from "../../agent/files/replace-file.ts";
import { isThere, makePrivateFolder, type StateFolder } from "../../agent/files/state-folder.ts";
import { readTrusted } from "../../agent/files/trusted.ts";
import { AgentError } from "../../base/fault.ts";
import { privateKeyFromSeed, publicKeyHex } from "../../protocol/envelope.ts";
import type { PairingTranscript } from "../../protocol/messages.ts";
import { parseApiKey } from "../../protocol/pairing.ts";
import type { Progress } from "./progress.ts";

const seedBytes = 32;

/**
 * Made again for each request, because a gateway refuses a transcript that is not newer than the
 * last granted one.
 */
export function transcriptOf(
  { wallet, networks, currencies }: Progress,
  apiKey: Uint8Array,
  linkSeed: Uint8Array,
): string {
  const { keyId, fingerprint, secret } = parseApiKey(apiKey);
  secret.fill(0);
  const transcript: PairingTranscript = {
    version: 1,
    keyId,
    gatewayFingerprint: fingerprint,
    signerKey: wallet.signerKey,
    linkKey: publicKeyHex(privateKeyFromSeed(linkSeed)),
    wallet: wallet.wallet,
    networks,
    accounts: wallet.accounts,
    currencies,
    nonce: randomBytes(32).toString("hex"),
    at: Date.now(),
  };
  return JSON.stringify(transcript);
}

/** Made only once and kept until link.json has it, so a second try registers the same keys. */
export function linkSeed(state: StateFolder): Uint8Array {
  const path = join(state.courier, "link.seed");
  if (isThere(path)) return readSeed(path);
  const seed = randomBytes(seedBytes);
  makePrivateFolder(state.courier);
  replaceFile(path, seed, 0o600);
  return seed;
}

/**
 * Reads the seed. The courier owns the folder, and an attacker may control the courier.
 * @throws AgentError PAIRING_PROGRESS, FILE_*
 */
export function readSeed(path: string): Uint8Array {
  const seed = readTrusted(path, seedBytes, { owner: "folder", isSecret: true });
  if (seed?.length === seedBytes) return seed;
  throw new AgentError("PAIRING_PROGRESS", "none", `${path} is not the seed that pairing wrote`);
}
