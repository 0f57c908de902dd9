/**
 * Checks that a state folder belongs to a paired agent, by the files that each role needs. Changes
 * nothing.
 */
import { join } from "node:path";
import { AgentError } from "../../base/fault.ts";
import { parseJson } from "../../base/json.ts";
import { fileNamesIn, isThere, type StateFolder } from "../files/state-folder.ts";
import { readTrusted } from "../files/trusted.ts";

type Role = "both" | "signer" | "courier";

const progressBytesMax = 262_144;

/**
 * The check of `crypto` before it starts a process.
 * @throws AgentError STATE_NOT_PAIRED; STATE_INCOMPLETE or LEDGER_MISSING when pairing was finished
 * here and a file of it is gone; STATE_FOLDER when this user may not look; FILE_* when another user
 * could have put pairing.json there
 */
export function assertPaired(state: StateFolder, role: Role): void {
  const missing = missingFile(state, role);
  if (missing !== null)
    throw incomplete(missing, missing.isLedger ? "LEDGER_MISSING" : "STATE_INCOMPLETE");
  // Each role looks only at its own folder, because the other's may belong to another user.
  const isSealed = role !== "courier" && isThere(join(state.signer, "keystore.json"));
  if (role !== "courier" && !isSealed) {
    throw unpairedFault(state);
  }
  if (role !== "signer" && !isThere(join(state.courier, "link.json"))) {
    throw unpairedFault(
      state,
      isSealed ? "pairing was begun but not finished" : "there is no paired agent",
    );
  }
}

/** The state folder of the units, which have no other. */
const installedState = "/var/lib/autowithdraw";

/** STATE_NOT_PAIRED with the line to type; `words` describe the folder's present content. */
export function unpairedFault({ root }: Pick<StateFolder, "root">, words?: string): AgentError {
  const what = words === undefined ? `${root} holds no paired agent` : `${words} in ${root}`;
  const pairHint =
    "only on a server that was never paired: autowithdraw pair; else bring back what was in the folder";
  return new AgentError(
    "STATE_NOT_PAIRED",
    "none",
    what,
    root === installedState ? { hint: pairHint } : {},
  );
}

/**
 * The check of `pair` before it prints or changes anything: a finished pairing has all its files,
 * or an operator must act.
 * @throws AgentError STATE_INCOMPLETE, STATE_FOLDER
 */
export function assertPairingComplete(state: StateFolder): void {
  const missing = missingFile(state, "both");
  if (missing !== null) throw incomplete(missing, "STATE_INCOMPLETE");
}

interface MissingPairing {
  readonly path: string;
  readonly agent: string;
  readonly isLedger: boolean;
}

function incomplete(
  { path, agent, isLedger }: MissingPairing,
  code: "STATE_INCOMPLETE" | "LEDGER_MISSING",
): AgentError {
  const words = isLedger
    ? `the ledger is missing or empty: ${path} holds none`
    : `${path} is missing`;
  return new AgentError(code, "none", `${words}, yet agent ${agent} was paired here`, {
    hint: isLedger
      ? "restore the newest backup; where there is none: recover --new-ledger, after docs/recovering.md"
      : released(agent),
  });
}

function released(agent: string): string {
  return `restore it from a backup, or have the service release this agent (agents unpair ${agent}) and pair again: docs/operations.md, section 1`;
}

/**
 * Null while pairing is unfinished, or if this user may not read its progress. Then each role's own
 * file decides.
 */
function missingFile(state: StateFolder, role: Role): MissingPairing | null {
  const agent = agentPairedHere(state);
  if (agent === null) return null;
  const keystore = join(state.signer, "keystore.json");
  const link = join(state.courier, "link.json");
  const ledger = join(state.signer, "ledger");
  if (role !== "courier" && !isThere(keystore)) return { path: keystore, agent, isLedger: false };
  if (role !== "signer" && !isThere(link)) return { path: link, agent, isLedger: false };
  if (role !== "courier" && !hasSegment(ledger)) return { path: ledger, agent, isLedger: true };
  return null;
}

function hasSegment(ledger: string): boolean {
  return fileNamesIn(ledger).some((name) => name.endsWith(".jsonl"));
}

function agentPairedHere({ pairing }: StateFolder): string | null {
  try {
    const bytes = readTrusted(pairing, progressBytesMax, { owner: "folder", isSecret: false });
    const { step, granted } = parseJson(bytes ?? new Uint8Array(0), {
      bytesMax: progressBytesMax,
    }) as {
      readonly step?: unknown;
      readonly granted?: { readonly agent?: unknown } | null;
    };
    if (step !== "registered" && step !== "scrubbed") return null;
    return typeof granted?.agent === "string" ? granted.agent : null;
  } catch (error) {
    if (error instanceof AgentError && error.code.startsWith("FILE_")) throw error;
    return null;
  }
}
