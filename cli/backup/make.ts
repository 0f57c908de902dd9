/**
 * Makes a backup, also next to a running signer: the ledger up to a durable record, keystore, link,
 * progress of pairing, and config.json without its secrets. The file is written under another name,
 * synced and read back completely before it gets its own name.
 */
import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { readLinkBytes } from "../../agent/config/link-file.ts";
import { blankFields, withoutMembers } from "../../agent/config/text.ts";
import { keystoreName } from "../../agent/files/keystore-name.ts";
import { readPrivateFile } from "../../agent/files/private-file.ts";
import { syncFolder } from "../../agent/files/replace-file.ts";
import type { TrustedOwner } from "../../agent/files/trusted.ts";
import { readKeystore } from "../../agent/keystore/file.ts";
import { openKeystore, wipeKeystore } from "../../agent/keystore/keystore.ts";
import { CopyCheck, copyLedger } from "../../agent/ledger/copy.ts";
import { ledgerDisk } from "../../agent/ledger/disk.ts";
import { AgentError, reasonOf, runNamingFile } from "../../base/fault.ts";
import { parseJson } from "../../base/json.ts";
import { version } from "../../base/version.ts";
import type { BackupTask } from "./answer.ts";
import { checkBackup, ledgerPrefix } from "./check.ts";
import { type BackupPart, BackupWriter } from "./format.ts";
import type { Manifest } from "./manifest.ts";

const secretMembers = ["mnemonic", "apiKey", "encKey"];

/**
 * Makes the file of `task`; an earlier file of that name stays until the new one is read back. The
 * caller wipes `encKey`.
 * @throws AgentError KEYSTORE_*, LEDGER_*, CONFIG_*, BACKUP_*, COMMAND_RIGHT; the earlier file is
 * untouched then
 */
export function makeBackup(
  task: BackupTask & { readonly act: "make" },
  encKey: Uint8Array | null,
): Manifest {
  const { file, state } = task;
  // Checks that the key opens the keystore first, because a backup sealed under a mistyped key
  // could never be opened.
  if (encKey !== null)
    wipeKeystore(
      openKeystore(
        asOwner(state.signer, () => readKeystore(state.signer)),
        encKey,
      ),
    );
  const unfinished = `${file}.tmp`;
  try {
    const made = writeWhole(unfinished, (write) => {
      const writer = new BackupWriter(encKey, (bytes) => randomBytes(bytes), write);
      try {
        return writeParts(writer, task);
      } finally {
        writer.wipe();
      }
    });
    if (JSON.stringify(checkBackup(unfinished, encKey)) !== JSON.stringify(made))
      throw new AgentError(
        "BACKUP_WRITE",
        "none",
        `${unfinished} read back differs from what was written: check the disk`,
      );
    orWriteFault(file, () => {
      renameSync(unfinished, file);
      syncFolder(dirname(file));
    });
    return made;
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/**
 * The ledger comes first and pairing.json last, so nothing starts after a restore that was cut
 * short.
 */
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
  const put = (part: BackupPart): void => {
    writer.part(part);
    part.bytes.fill(0);
  };
  if (hasKeys) put({ name: "link.json", bytes: linkBytes(state.courier) });
  if (config !== null) put({ name: "config.json", bytes: configBytes(config, hasKeys) });
  if (hasKeys) {
    put({ name: keystoreName, bytes: Buffer.from(readKeystore(state.signer)) });
    put({ name: "pairing.json", bytes: privateFile(state.pairing, "folder") });
  }
  const { head, agent, wallet } = ledger.finish();
  return writer.finish({
    version: 1,
    software: version,
    madeAt,
    agent,
    wallet,
    head,
    hasKeys,
    isRunning: upTo !== null,
  });
}

function privateFile(path: string, owner: TrustedOwner): Uint8Array {
  return asOwner(path, () => readPrivateFile(path, { owner }));
}

/**
 * The courier owns its folder, so link.json may be a symbolic link to a file that only root can
 * read. A restore would hand this file to the courier.
 */
function linkBytes(courier: string): Uint8Array {
  return asOwner(join(courier, "link.json"), () => readLinkBytes(courier));
}

/**
 * config.json without its three secrets. In a backup without keys, which anybody may read, the
 * addresses of nodes lose path and password.
 */
function configBytes(
  { path, isNamed }: { readonly path: string; readonly isNamed: boolean },
  hasKeys: boolean,
): Uint8Array {
  const all = privateFile(path, isNamed ? "any" : "own");
  const rest = withoutMembers(all, secretMembers);
  all.fill(0);
  if (hasKeys) return rest;
  const value = parseJson(blankFields(rest, secretMembers), {
    bytesMax: 1_048_576,
    keysMax: 1024,
    itemsMax: 4096,
  });
  rest.fill(0);
  return Buffer.from(
    `${JSON.stringify(value, (name, inner) => (name === "nodes" ? hostsOf(inner) : inner), 2)}\n`,
  );
}

function hostsOf(nodes: unknown): unknown {
  return Array.isArray(nodes)
    ? nodes.map((node) => (URL.canParse(String(node)) ? new URL(String(node)).origin : ""))
    : nodes;
}

/** Turns EACCES, for which each module has a code of its own, into COMMAND_RIGHT. */
function asOwner<T>(path: string, act: () => T): T {
  try {
    return runNamingFile(path, act);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const reason = error.context.reason ?? (error.cause as NodeJS.ErrnoException | undefined)?.code;
    if (reason !== "EACCES") throw error;
    throw new AgentError(
      "COMMAND_RIGHT",
      "none",
      `this user may not read ${path}`,
      { hint: "run it as root" },
      { cause: error },
    );
  }
}

/** Writes a new file of mode 0600 through `fill`; durable when it returns. */
function writeWhole<T>(path: string, fill: (write: (bytes: Uint8Array) => void) => T): T {
  rmSync(path, { force: true });
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const fd = orWriteFault(path, () =>
    openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600),
  );
  try {
    const done = fill((bytes) =>
      orWriteFault(path, () => {
        for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
      }),
    );
    orWriteFault(path, () => fsyncSync(fd));
    return done;
  } finally {
    closeSync(fd);
  }
}

function orWriteFault<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new AgentError(
      "BACKUP_WRITE",
      "none",
      `${path} cannot be written (${reasonOf(cause)})`,
      {},
      { cause },
    );
  }
}
