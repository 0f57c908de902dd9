/**
 * encKey for the commands: the one in use from the same places as for `crypto`, and a new one from
 * a file, from a terminal or made at random.
 */
import { randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, writeSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Config, readConfig } from "../agent/config/config.ts";
import { findConfigFile } from "../agent/config/location.ts";
import { allocateFixedBytes } from "../agent/files/fixed-bytes.ts";
import { syncFolder } from "../agent/files/replace-file.ts";
import {
  askEncKey,
  type EncKey,
  findEncKey,
  readEncKeyInDescriptor,
  readEncKeyInFile,
} from "../agent/launcher/enc-key.ts";
import { AgentError, reasonOf } from "../base/fault.ts";
import type { Terminal } from "./terminal.ts";

export interface EncKeyOptions {
  readonly config?: string | undefined;
  readonly encKeyFile?: string | undefined;
  readonly encKeyFd?: number | undefined;
}

/**
 * The encKey in use; the caller wipes it. Does not look into a config.json that no option named and
 * that does not exist.
 * @throws AgentError ENCKEY_MISSING, CONFIG_*
 */
export async function encKeyInUse(options: EncKeyOptions, terminal: Terminal): Promise<EncKey> {
  const credentials = process.env.CREDENTIALS_DIRECTORY;
  const isGiven = options.encKeyFile !== undefined || options.encKeyFd !== undefined;
  const config = isGiven ? null : openConfig(options.config, credentials);
  const { mnemonic, apiKey, encKey } = config?.secrets ?? {};
  mnemonic?.fill(0);
  apiKey?.fill(0);
  const found = await findEncKey({
    missingHint:
      "name the file that holds it with --enc-key-file FILE; on a terminal it is asked for",
    credentials,
    file: options.encKeyFile,
    fd: options.encKeyFd,
    config: encKey,
    terminal: terminal.isInteractive ? process.stdin : undefined,
    show: terminal.err,
  });
  if (found.from !== "config") encKey?.fill(0);
  return found;
}

function openConfig(named: string | undefined, privateFolder: string | undefined): Config | null {
  try {
    return readConfig(findConfigFile(named), {
      requireSecrets: [],
      privateFolder,
      isNamed: named !== undefined,
    });
  } catch (error) {
    const isAway =
      error instanceof AgentError &&
      (error.code === "CONFIG_MISSING" || error.code === "CONFIG_UNREADABLE");
    if (named === undefined && isAway) return null;
    throw error;
  }
}

export interface NewEncKeyOptions {
  readonly newEncKeyFile?: string | undefined;
  readonly newEncKeyFd?: number | undefined;
  readonly makeEncKey?: string | undefined; // file for the new encKey
}

export interface NewEncKey {
  readonly bytes: Uint8Array;
  /** The absolute path of its file; null if it was typed or came over a descriptor. */
  readonly file: string | null;
  readonly isMade: boolean;
}

/**
 * @throws AgentError COMMAND_USAGE unless there is exactly one place, or none and an operator who
 * can type it
 */
export function assertOneNewKey(
  { newEncKeyFile, newEncKeyFd, makeEncKey }: NewEncKeyOptions,
  { isInteractive }: Terminal,
): void {
  const given = [newEncKeyFile, newEncKeyFd, makeEncKey].filter(
    (each) => each !== undefined,
  ).length;
  if (given === 1 || (given === 0 && isInteractive)) return;
  const message =
    given === 0
      ? "there is no terminal to type a new encKey on"
      : "a new encKey comes from one place only";
  throw new AgentError("COMMAND_USAGE", "none", message, {
    hint: "--make-enc-key FILE makes one and writes it there; --new-enc-key-file FILE takes one that is there",
  });
}

/**
 * The new encKey; the caller wipes it. A key that is made here is on disk before this returns,
 * because a keystore sealed under a lost key would be lost.
 * @throws AgentError COMMAND_USAGE, ENCKEY_MISSING, CONFIG_*
 */
export async function obtainNewEncKey(
  options: NewEncKeyOptions,
  terminal: Terminal,
): Promise<NewEncKey> {
  const { newEncKeyFile, newEncKeyFd, makeEncKey } = options;
  if (newEncKeyFile !== undefined)
    return {
      bytes: readEncKeyInFile(newEncKeyFile, "--new-enc-key-file"),
      file: resolve(newEncKeyFile),
      isMade: false,
    };
  if (newEncKeyFd !== undefined)
    return { bytes: readEncKeyInDescriptor(newEncKeyFd), file: null, isMade: false };
  if (makeEncKey !== undefined) return makeKey(resolve(makeEncKey));
  const bytes = await askEncKey(process.stdin, terminal.err, "new encKey: ");
  const again = await askEncKey(process.stdin, terminal.err, "new encKey once more: ");
  const isSame = Buffer.from(bytes).equals(again);
  again.fill(0);
  if (isSame) return { bytes, file: null, isMade: false };
  bytes.fill(0);
  throw new AgentError(
    "COMMAND_USAGE",
    "none",
    "the two that were typed differ: nothing was changed",
    { hint: "run it again" },
  );
}

const hexDigits = Buffer.from("0123456789abcdef");

function makeKey(path: string): NewEncKey {
  const raw = randomBytes(32);
  const line = allocateFixedBytes(65);
  raw.forEach((byte, at) => {
    line[2 * at] = hexDigits[byte >> 4] ?? 0;
    line[2 * at + 1] = hexDigits[byte & 15] ?? 0;
  });
  raw.fill(0);
  line[64] = 0x0a;
  try {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      for (let at = 0; at < line.length; ) at += writeSync(fd, line, at);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    syncFolder(dirname(path));
  } catch (cause) {
    line.fill(0);
    const isThere = (cause as NodeJS.ErrnoException).code === "EEXIST";
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      isThere ? `${path} is there already` : `${path} cannot be made (${reasonOf(cause)})`,
      {
        hint: isThere
          ? `if an earlier rekey made it: --new-enc-key-file ${path}`
          : "name a file in a folder of your own",
      },
      { cause },
    );
  }
  return { bytes: line.subarray(0, 64), file: path, isMade: true };
}
