/**
 * The MAC at the end of pairing.json, under a key of the ledger's seal, over everything that
 * pairing agreed on. It reveals a change of the gateway's key or an address in that file without
 * the keystore. docs/ledger.md section 5. Touches nothing.
 */
import { AgentError } from "../../base/fault.ts";
import { type JsonValue, parseJson } from "../../base/json.ts";
import type { LedgerSeal } from "./seal.ts";

/** The largest size of pairing.json. */
export const pairingBytesMax = 262_144;

/**
 * Returns the text that the MAC covers: every member in the file's order, except `step`, which only
 * shows how far pairing came, and the MAC itself.
 */
export function pairingMacText(pairing: object): string {
  const { step: _step, word: _word, ...members } = pairing as Readonly<Record<string, unknown>>;
  return JSON.stringify(members);
}

/**
 * @throws AgentError PAIRING_FORGED if pairing did not write the bytes of `path` under this seal
 */
export function assertPairingMac(seal: LedgerSeal, bytes: Uint8Array, path: string): void {
  const members = membersOf(bytes);
  const word = members?.word;
  if (members !== null && typeof word === "string" && seal.gave(pairingMacText(members), word))
    return;
  throw new AgentError("PAIRING_FORGED", "none", `${path} is not what pairing wrote`);
}

function membersOf(bytes: Uint8Array): Readonly<Record<string, JsonValue>> | null {
  try {
    const value = parseJson(bytes, { bytesMax: pairingBytesMax });
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, JsonValue>>)
      : null;
  } catch {
    return null;
  }
}
