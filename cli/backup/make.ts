/**
 * Makes a backup beside a signer that may run: the ledger up to a durable record, keystore, link, progress of pairing and config.json
 * without its secrets. Written under another name, synced, read back whole, and only then given its name.
 */
import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { readLinkBytes } from "../../agent/config/link-file.ts";
import { blanked, withoutMembers } from "../../agent/config/text.ts";
import { readPrivateFile } from "../../agent/files/private-file.ts";
import { syncFolder } from "../../agent/files/replace-file.ts";
import { keystoreName, readKeystore } from "../../agent/keystore/file.ts";
import { openKeystore, wipeKeystore } from "../../agent/keystore/keystore.ts";
import { CopyCheck, copyLedger } from "../../agent/ledger/copy.ts";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { AgentError, namingFile, reasonOf } from "../../protocol/fault.ts";
import { parseJson } from "../../protocol/json.ts";
import { version } from "../../protocol/version.ts";
import type { BackupTask } from "./answer.ts";
import { checkBackup, ledgerPrefix } from "./check.ts";
import { BackupWriter, type Part } from "./format.ts";
import type { Manifest } from "./manifest.ts";

const secretMembers = ["mnemonic", "apiKey", "encKey"];

/**
 * @throws AgentError KEYSTORE_*, LEDGER_*, CONFIG_*, BACKUP_*, COMMAND_RIGHT; an earlier file of that name is untouched then
 */
export function makeBackup(task: BackupTask & { readonly act: "make" }, encKey: Uint8Array | null): Manifest {
  const { file, state } = task;
  // Sealed under a mistyped key, a backup would be worth nothing on the day it is needed.
  if (encKey !== null)
    wipeKeystore(
      openKeystore(
        asOwner(state.signer, () => readKeystore(state.signer)),
        encKey,
      ),
    );
  const unfinished = `${file}.tmp`;
  try {
    const made = written(unfinished, (write) => {
      const writer = new BackupWriter(encKey, (bytes) => randomBytes(bytes), write);
      try {
        return writeParts(writer, task);
      } finally {
        writer.wipe();
      }
    });
    if (JSON.stringify(checkBackup(unfinished, encKey)) !== JSON.stringify(made))
      throw new AgentError("BACKUP_WRITE", "none", `${unfinished} read back differs from what was written: check the disk`);
    writing(file, () => {
      renameSync(unfinished, file);
      syncFolder(dirname(file));
    });
    return made;
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** The ledger first and pairing.json last: a restore in this order that is cut leaves nothing that would start. */
function writeParts(writer: BackupWriter, task: BackupTask & { readonly act: "make" }): Manifest {
  const { state, config, hasKeys, madeAt, upTo } = task;
  const ledger = new CopyCheck();
  const folder = join(state.signer, "ledger");
  asOwner(folder, () => {
    for (const part of copyLedger(ledgerDisk(folder), upTo)) {
      ledger.take(part);
      writer.part({ name: `${ledgerPrefix}${part.name}`, bytes: part.bytes });
    }
  });
  const put = (part: Part): void => {
    writer.part(part);
    part.bytes.fill(0);
  };
  if (hasKeys) put({ name: "link.json", bytes: linkBytes(state.courier) });
  if (config !== null) put({ name: "config.json", bytes: configBytes(config, hasKeys) });
  if (hasKeys) {
    put({ name: keystoreName, bytes: Buffer.from(readKeystore(state.signer)) });
    put({ name: "pairing.json", bytes: privateFile(state.pairing) });
  }
  const { head, agent, wallet } = ledger.finish();
  return writer.finish({ version: 1, software: version, madeAt, agent, wallet, head, hasKeys, isRunning: upTo !== null });
}

function privateFile(path: string): Uint8Array {
  return asOwner(path, () => readPrivateFile(path));
}

/** The courier's folder is the courier's: a link in it must not bring a file of root's into the backup, and back to it by a restore. */
function linkBytes(courier: string): Uint8Array {
  return asOwner(join(courier, "link.json"), () => readLinkBytes(courier));
}

/** Without its three secrets; in a backup that anybody may read also without what stands in a node's address beside its host. */
function configBytes(path: string, hasKeys: boolean): Uint8Array {
  const all = privateFile(path);
  const rest = withoutMembers(all, secretMembers);
  all.fill(0);
  if (hasKeys) return rest;
  const value = parseJson(blanked(rest, secretMembers), { bytesMax: 1_048_576, keysMax: 1024, itemsMax: 4096 });
  rest.fill(0);
  return Buffer.from(`${JSON.stringify(value, (name, inner) => (name === "nodes" ? hostsOf(inner) : inner), 2)}\n`);
}

function hostsOf(nodes: unknown): unknown {
  return Array.isArray(nodes) ? nodes.map((node) => (URL.canParse(String(node)) ? new URL(String(node)).origin : "")) : nodes;
}

/** What this user may not read is a missing right, whatever room noticed it. */
function asOwner<T>(path: string, act: () => T): T {
  try {
    return namingFile(path, act);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const reason = error.context.reason ?? (error.cause as NodeJS.ErrnoException | undefined)?.code;
    if (reason !== "EACCES") throw error;
    throw new AgentError("COMMAND_RIGHT", "none", `this user may not read ${path}`, { hint: "run it as root" }, { cause: error });
  }
}

/** Everything that `fill` writes, durable in a new file for its owner alone. */
function written<T>(path: string, fill: (write: (bytes: Uint8Array) => void) => T): T {
  rmSync(path, { force: true });
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const fd = writing(path, () => openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600));
  try {
    const done = fill((bytes) =>
      writing(path, () => {
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
      }),
    );
    writing(path, () => fsyncSync(fd));
    return done;
  } finally {
    closeSync(fd);
  }
}

function writing<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new AgentError("BACKUP_WRITE", "none", `${path} cannot be written (${reasonOf(cause)})`, {}, { cause });
  }
}
