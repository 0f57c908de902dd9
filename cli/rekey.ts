/**
 * `rekey`: seals the keystore under another encKey while crypto does not run. Prints the further
 * lines to type; without these crypto would not find the new encKey.
 */
import { fchownSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { findConfigFile } from "../agent/config/location.ts";
import { keystoreName } from "../agent/files/keystore-name.ts";
import { isThere, type StateFolder } from "../agent/files/state-folder.ts";
import { installedCredential, installedState } from "../agent/installed.ts";
import type { RekeyResult } from "../agent/keystore/rekey.ts";
import type { EncKey } from "../agent/launcher/enc-key.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import { type FolderLock, lockWaitMs, takeLock } from "../agent/launcher/lock.ts";
import { unpairedFault } from "../agent/launcher/paired.ts";
import { AgentError } from "../base/fault.ts";
import { askNetworklessChild } from "./child.ts";
import {
  assertOneNewKey,
  type EncKeyOptions,
  encKeyInUse,
  type NewEncKey,
  type NewEncKeyOptions,
  obtainNewEncKey,
} from "./enc-key.ts";
import { fieldLines, type Terminal } from "./terminal.ts";

export interface RekeyOptions extends EncKeyOptions, NewEncKeyOptions {
  readonly json?: boolean | undefined;
}

/**
 * Seals the keystore under another encKey, and resolves with the exit code. A second call with the
 * same two keys does no harm.
 * @throws AgentError COMMAND_USAGE, STATE_*, ENCKEY_*, CONFIG_*, KEYSTORE_*, COMMAND_CHILD
 */
export async function runRekey(
  state: StateFolder,
  options: RekeyOptions,
  terminal: Terminal,
): Promise<number> {
  const path = join(state.signer, keystoreName);
  assertOneNewKey(options, terminal);
  if (!isThere(path)) throw unpairedFault(state);
  const lock = await stoppedSigner(state);
  try {
    const { done, from, made } = await sealedAgain(state, options, terminal);
    const { wallet, addresses, isFromBefore } = done;
    const next = nextSteps({
      stateRoot: state.root,
      from,
      oldFile: options.encKeyFile,
      configFile: findConfigFile(options.config),
      newFile: made.file,
      isMade: made.isMade,
      installed: process.env.AUTOWITHDRAW_STATE || undefined,
    });
    if (options.json === true) {
      terminal.out(
        `${JSON.stringify({ ok: true, keystore: path, wallet, addresses, isFromBefore, encKeyFile: made.file ?? "", next })}\n`,
      );
    } else {
      const rows = [
        ["keystore", path],
        ["wallet", wallet],
        ...addresses.map((address) => ["address", address] as const),
        ...(made.isMade ? [["new encKey", `${made.file}, readable by you alone`] as const] : []),
      ] as const;
      const head = isFromBefore
        ? "the keystore opened with the new encKey already: an earlier run had come that far"
        : "the keystore opens with the new encKey now, and no longer with the old one";
      terminal.out(
        `${head}\n\n${fieldLines(rows)}\n\nwhat is left to do:\n${next.map((line) => `  - ${line}\n`).join("")}`,
      );
    }
    return exitCodes.fine;
  } finally {
    lock.release();
  }
}

/**
 * The signer's lock. @throws AgentError STATE_IN_USE while crypto runs, with the line that stops it
 * as hint
 */
async function stoppedSigner(state: StateFolder): Promise<FolderLock> {
  try {
    const lock = await takeLock(state.signer, lockWaitMs);
    const { uid, gid } = statSync(state.signer);
    // Root may just have made the lock file, and the signer's own user could then not open it.
    if (process.geteuid?.() === 0) fchownSync(lock.fd, uid, gid);
    return lock;
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "STATE_IN_USE") throw error;
    const hint =
      state.root === installedState
        ? "systemctl stop autowithdraw.target"
        : "end crypto first, then run rekey again";
    throw new AgentError("STATE_IN_USE", "none", error.message, { hint });
  }
}

async function sealedAgain(
  state: StateFolder,
  options: RekeyOptions,
  terminal: Terminal,
): Promise<{
  readonly done: RekeyResult;
  readonly from: EncKey["from"];
  readonly made: NewEncKey;
}> {
  const old = await encKeyInUse(options, terminal);
  let made: NewEncKey | null = null;
  try {
    made = await obtainNewEncKey(options, terminal);
    const parts = [Buffer.from(state.signer), old.bytes, made.bytes];
    const done = await askNetworklessChild<RekeyResult & { readonly ok: true }>(
      terminal,
      "./sealing/rekey",
      parts,
    );
    return { done, from: old.from, made };
  } catch (error) {
    // The new key is removed only when it certainly seals nothing.
    if (
      made?.isMade === true &&
      made.file !== null &&
      error instanceof AgentError &&
      error.effect === "none"
    )
      rmSync(made.file, { force: true });
    throw error;
  } finally {
    old.bytes.fill(0);
    made?.bytes.fill(0);
  }
}

/** The facts about the keystore after it was sealed again. */
export interface AfterRekey {
  readonly stateRoot: string;
  readonly from: EncKey["from"]; // source of the old encKey
  readonly oldFile: string | undefined; // of --enc-key-file
  readonly configFile: string;
  readonly newFile: string | null; // file with the new encKey; null if it was typed
  readonly isMade: boolean; // by this command
  /** The state folder of the agent that `install` put here; undefined in a checkout. */
  readonly installed: string | undefined;
}

/**
 * The other things that must change, one line each. For a copy on which an operator tries rekey,
 * the lines name neither the credential nor a start, because both belong to the installed agent.
 */
export function nextSteps({
  stateRoot,
  from,
  oldFile,
  configFile,
  newFile,
  isMade,
  installed,
}: AfterRekey): readonly string[] {
  if (installed !== undefined && stateRoot !== installed) {
    return [
      `nothing for the installed agent: ${installed} opens with its own encKey as before, so leave ${installedCredential} as it is`,
      `start nothing on ${stateRoot}: two agents on one wallet take each other's slots`,
    ];
  }
  const isInstalled = stateRoot === installedState;
  const steps: string[] = [];
  if (isInstalled || from === "credential") {
    const typed = newFile === null ? " (type the new encKey, then Ctrl-D)" : "";
    steps.push(
      `the credential: systemd-creds encrypt --name=encKey ${newFile ?? "-"} ${installedCredential}${typed}`,
    );
  }
  if (from === "config")
    steps.push(`config.json: put the new encKey in the place of the old one in ${configFile}`);
  if (from === "file" && !isInstalled && oldFile !== undefined && oldFile !== newFile)
    steps.push(
      `the file: install -m 0600 ${newFile ?? "NEW-ENCKEY-FILE"} ${oldFile}, or start crypto with --enc-key-file on the new one`,
    );
  steps.push(
    "a copy of the new encKey, kept apart from this server and from every copy of the keystore",
  );
  if (isInstalled && isMade) steps.push(`when that copy is kept: shred -u ${newFile}`);
  steps.push(
    "the old encKey stays needed for backups and copies of the keystore made before now: keep it as long as those, or make new ones",
  );
  const start = isInstalled
    ? "systemctl start autowithdraw.target"
    : "node crypto.js, with the options it had";
  steps.push(`then start crypto: ${start}`);
  return steps;
}
