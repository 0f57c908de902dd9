/**
 * Seals encKey as a credential for this machine, by systemd-creds. encKey comes from a file, from
 * config.json or is newly made. The credential is opened again and compared before encKey leaves
 * config.json. Works only on bytes, and never puts them on a command line. Source:
 * systemd-creds(1).
 */
import { spawnSync } from "node:child_process";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { chmodSync, existsSync, renameSync, rmSync } from "node:fs";
import { decodeJsonStringBytes, findMembers } from "../../agent/config/text.ts";
import { readPrivateFile } from "../../agent/files/private-file.ts";
import { replaceFile, syncFolder } from "../../agent/files/replace-file.ts";
import { assertEncKey } from "../../agent/keystore/enckey.ts";
import { openSealedEncKey } from "../../agent/launcher/enc-key.ts";
import { AgentError } from "../../base/fault.ts";
import { systemEnvironment } from "../../base/system-path.ts";
import { scrubFile } from "../pair/scrub.ts";
import type { Terminal } from "../terminal.ts";

export interface CredentialPlaces {
  readonly credential: string;
  readonly config: string;
  readonly takeAway: string; // file in which the operator finds a new encKey
  readonly encKeyFile: string | undefined; // --enc-key-file
}

interface FoundCredential {
  readonly bytes: Uint8Array;
  readonly from: string;
}

/**
 * Seals encKey, or makes sure that a credential holds the encKey given. A second call after a crash
 * goes on.
 * @returns words for the step
 * @throws AgentError ENCKEY_*, CONFIG_*, INSTALL_ENCKEY, INSTALL_STEP, COMMAND_DECLINED,
 * COMMAND_USAGE, PAIRING_SCRUB
 */
export async function sealEncKey(
  places: CredentialPlaces,
  isYes: boolean,
  terminal: Terminal,
): Promise<string> {
  const given = encKeyGiven(places);
  try {
    if (existsSync(places.credential) && !isOfAnotherMachine(places.credential, given))
      return compared(places, given);
    const key = given ?? newEncKey(places.takeAway);
    try {
      assertEncKey(key.bytes);
      await assertKeptElsewhere(key.from, isYes, terminal);
      seal(places.credential, key.bytes);
      takeOutOfConfig(places);
      return `sealed from ${key.from}, and opened again`;
    } finally {
      key.bytes.fill(0);
    }
  } finally {
    given?.bytes.fill(0);
  }
}

/**
 * True if the credential came with another machine's files and must be sealed again: it does not
 * open, and encKey is given.
 */
function isOfAnotherMachine(credential: string, given: FoundCredential | null): boolean {
  if (given === null) return false;
  try {
    openSealedEncKey(credential).fill(0);
    return false;
  } catch (error) {
    if (error instanceof AgentError && error.code === "ENCKEY_SEALED") return true;
    throw error;
  }
}

function compared(places: CredentialPlaces, given: FoundCredential | null): string {
  const sealed = openSealedEncKey(places.credential);
  try {
    if (given === null) return "it opens";
    if (!isSame(sealed, given.bytes)) {
      throw new AgentError(
        "INSTALL_ENCKEY",
        "none",
        `${given.from} holds another encKey than ${places.credential}`,
        {
          hint: `autowithdraw check --enc-key-file ${given.from} says which of the two opens the keystore; if it is this one, remove ${places.credential} and run it again; else leave --enc-key-file out`,
        },
      );
    }
    takeOutOfConfig(places);
    return `it opens, and is that of ${given.from}`;
  } finally {
    sealed.fill(0);
  }
}

/**
 * encKey of the file, else of config.json, else null. Two that differ are a fault: one of them
 * would seal, the other open.
 */
function encKeyGiven({ encKeyFile, config }: CredentialPlaces): FoundCredential | null {
  const inConfig = encKeyInConfig(config);
  if (encKeyFile === undefined) return inConfig;
  const named = { bytes: oneLine(readPrivateFile(encKeyFile)), from: encKeyFile };
  if (inConfig === null) return named;
  const isOne = isSame(named.bytes, inConfig.bytes);
  inConfig.bytes.fill(0);
  if (isOne) return named;
  named.bytes.fill(0);
  throw new AgentError(
    "INSTALL_ENCKEY",
    "none",
    `${config} holds another encKey than ${encKeyFile}`,
    {
      hint: "take the wrong one out of config.json, or leave --enc-key-file out",
    },
  );
}

function encKeyInConfig(config: string): FoundCredential | null {
  if (!existsSync(config)) return null;
  const text = readPrivateFile(config);
  try {
    const member = findMembers(text).find(({ key }) => key === "encKey");
    const bytes =
      member === undefined
        ? null
        : decodeJsonStringBytes(text.subarray(member.valueStart, member.end));
    // "<ENCRYPTION_KEY>" is the placeholder.
    return bytes === null || bytes.length === 0 || bytes[0] === 0x3c
      ? null
      : { bytes, from: config };
  } finally {
    text.fill(0);
  }
}

/**
 * Makes encKey only once. After a crash it reads the file again, so the sealed key is the one that
 * the operator may have taken.
 */
function newEncKey(takeAway: string): FoundCredential {
  if (!existsSync(takeAway)) {
    const random = randomBytes(32);
    const digits = Buffer.alloc(65, "\n");
    for (const [at, byte] of random.entries()) {
      digits[at * 2] = hexDigits[byte >> 4] as number;
      digits[at * 2 + 1] = hexDigits[byte & 15] as number;
    }
    replaceFile(takeAway, digits, 0o600);
    random.fill(0);
    digits.fill(0);
  }
  return { bytes: oneLine(readPrivateFile(takeAway)), from: takeAway };
}

const hexDigits = Buffer.from("0123456789abcdef");

async function assertKeptElsewhere(
  from: string,
  isYes: boolean,
  terminal: Terminal,
): Promise<void> {
  terminal.err(`
  encKey is about to be sealed for this machine. It is in:
    ${from}
  The sealed one opens on this machine only. When the machine is lost, the
  keystore in its backup opens with encKey alone. Keep encKey in another place
  first.
`);
  if (isYes) return;
  if (!terminal.isInteractive) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "sealing encKey asks for a yes on a terminal, and this is none",
      {
        hint: `keep encKey (${from}) in another place, then run it again with --yes`,
      },
    );
  }
  if (!(await terminal.confirm("  Is encKey kept in another place? (yes/no) "))) {
    throw new AgentError(
      "COMMAND_DECLINED",
      "none",
      `not answered with yes: encKey is not sealed`,
      {
        hint: `keep encKey (${from}) in another place, then run it again: it goes on here`,
      },
    );
  }
}

/** Seals into a second file, opens this file again, and only then renames it. */
function seal(credential: string, encKey: Uint8Array): void {
  const beside = `${credential}.new`;
  rmSync(beside, { force: true });
  const args = ["encrypt", "--name=encKey", "-", beside];
  const done = spawnSync("systemd-creds", args, {
    input: encKey,
    stdio: ["pipe", "ignore", "pipe"],
    env: systemEnvironment,
  });
  if (done.status !== 0) {
    const said = done.error?.message ?? done.stderr.toString("utf8").trim().split("\n").at(-1);
    throw new AgentError("INSTALL_STEP", "none", `systemd-creds could not seal encKey: ${said}`);
  }
  const opened = openSealedEncKey(beside);
  try {
    if (!isSame(opened, encKey))
      throw new AgentError("INSTALL_STEP", "none", "the sealed encKey opens to something else");
  } finally {
    opened.fill(0);
  }
  chmodSync(beside, 0o600);
  renameSync(beside, credential);
  syncFolder(credential.slice(0, credential.lastIndexOf("/")));
}

/** The courier reads config.json too, so no secret may stay in it. */
function takeOutOfConfig({ config }: CredentialPlaces): void {
  const inConfig = encKeyInConfig(config);
  inConfig?.bytes.fill(0);
  if (inConfig !== null) scrubFile(config, ["encKey"]);
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Without the line end that editors leave in a file. */
function oneLine(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1;
  return bytes.subarray(0, end);
}
