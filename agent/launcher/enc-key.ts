/**
 * Finds encKey. The order is: a systemd credential, a file or descriptor named by option,
 * config.json, the credential that installing sealed for this machine, and an operator's terminal.
 * Works only on bytes. A line end behind the key, as editors leave it, does not count.
 */
import { spawnSync } from "node:child_process";
import { existsSync, fstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ReadStream } from "node:tty";
import { AgentError } from "../../base/fault.ts";
import { systemEnvironment } from "../../base/system-path.ts";
import type { SignerSettings } from "../config/settings.ts";
import { copyToFixedBytes } from "../files/fixed-bytes.ts";
import { readPrivateFile } from "../files/private-file.ts";

/*
 * Asks for a secret on the terminal: nothing shown, bytes in, bytes out. Needs the terminal's input
 * as a raw stream.
 */

const lineBytesMax = 4096;

/**
 * Shows `question` and reads one line without showing it. Backspace and Ctrl-U work, Ctrl-C and
 * Ctrl-D give up. The caller wipes the result. @throws AgentError ENCKEY_MISSING
 */
function askSecret(
  input: ReadStream,
  show: (text: string) => void,
  question: string,
): Promise<Uint8Array> {
  const typed = Buffer.alloc(lineBytesMax);
  let length = 0;
  // Set before the question: setting it waits until the output is written, and a quick answer would
  // be shown meanwhile.
  input.setRawMode(true);
  show(question);
  input.resume();
  return new Promise((resolve, reject) => {
    const finish = (given: boolean): void => {
      input.off("data", take);
      input.setRawMode(false);
      input.pause();
      show("\n");
      if (given) resolve(copyToFixedBytes(typed.subarray(0, length)));
      else reject(new AgentError("ENCKEY_MISSING", "none", "no encKey was typed"));
      typed.fill(0);
    };
    const take = (chunk: Buffer): void => {
      for (const byte of chunk) {
        const ends = byte === 0x0d || byte === 0x0a;
        if (ends || byte === 0x03 || byte === 0x04) {
          finish(ends);
          break;
        }
        if (byte === 0x15) length = 0;
        else if (byte === 0x7f || byte === 0x08) length = Math.max(0, length - 1);
        else if (length < lineBytesMax) typed[length++] = byte;
      }
      chunk.fill(0);
    };
    input.on("data", take);
  });
}

export interface EncKeySources {
  readonly credentials: string | undefined; // $CREDENTIALS_DIRECTORY
  readonly file: string | undefined; // --enc-key-file
  readonly fd: number | undefined; // --enc-key-fd
  readonly config: Uint8Array | undefined; // as it stands in config.json
  readonly sealed?: string | undefined; // a file of systemd-creds; only root can open it
  readonly terminal: ReadStream | undefined; // undefined unless stdin is a terminal
  readonly show: (text: string) => void;
  readonly missingHint?: string; // a better hint than the code's own, if there is one
}

/** The caller wipes `bytes`. */
export interface EncKey {
  readonly bytes: Uint8Array;
  readonly from: SignerSettings["encKeyFrom"];
}

const bytesMax = 4096;

/**
 * Finds encKey. Its strength is checked later, when the keystore is sealed and opened.
 * @throws AgentError ENCKEY_MISSING, ENCKEY_SEALED, CONFIG_* about the file named
 */
export async function findEncKey(sources: EncKeySources): Promise<EncKey> {
  const credential =
    sources.credentials === undefined ? undefined : join(sources.credentials, "encKey");
  if (credential !== undefined && existsSync(credential)) {
    return {
      bytes: checked(
        readPrivateFile(credential, { privateFolder: sources.credentials }),
        credential,
      ),
      from: "credential",
    };
  }
  if (sources.file !== undefined)
    return { bytes: readEncKeyInFile(sources.file, "--enc-key-file"), from: "file" };
  if (sources.fd !== undefined) return { bytes: readEncKeyInDescriptor(sources.fd), from: "file" };
  if (sources.config !== undefined) return { bytes: sources.config, from: "config" };
  if (sources.sealed !== undefined)
    return { bytes: checked(openSealedEncKey(sources.sealed), sources.sealed), from: "credential" };
  if (sources.terminal !== undefined) {
    return {
      bytes: await askEncKey(sources.terminal, sources.show, "encKey: "),
      from: "terminal",
    };
  }
  const hint = sources.missingHint === undefined ? {} : { hint: sources.missingHint };
  throw new AgentError("ENCKEY_MISSING", "none", "encKey is not given", hint);
}

/**
 * Opens a file that systemd-creds sealed. The caller wipes the result. Source: systemd-creds(1).
 * @throws AgentError ENCKEY_SEALED
 */
export function openSealedEncKey(path: string): Uint8Array {
  const args = ["decrypt", "--name=encKey", path, "-"];
  const opened = spawnSync("systemd-creds", args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: systemEnvironment,
  });
  if (opened.status === 0) return opened.stdout;
  opened.stdout?.fill(0);
  const said = opened.error?.message ?? opened.stderr.toString("utf8").trim().split("\n").at(-1);
  throw new AgentError("ENCKEY_SEALED", "none", `${path} cannot be opened here: ${said}`);
}

/**
 * Reads the encKey in a file of mode 0600; `option` is the option that named it. The caller wipes
 * it.
 * @throws AgentError ENCKEY_MISSING, CONFIG_*
 */
export function readEncKeyInFile(path: string, option: string): Uint8Array {
  const hint = `name the file that holds encKey with ${option}, readable by this user`;
  return checked(readPrivateFile(path, { hint }), path);
}

/**
 * Reads the encKey from an open descriptor; the caller wipes it. @throws AgentError ENCKEY_MISSING
 */
export function readEncKeyInDescriptor(fd: number): Uint8Array {
  return checked(readDescriptor(fd), `descriptor ${fd}`);
}

/**
 * Asks the operator to type encKey without showing it; the caller wipes it. @throws AgentError
 * ENCKEY_MISSING
 */
export async function askEncKey(
  terminal: ReadStream,
  show: (text: string) => void,
  question: string,
): Promise<Uint8Array> {
  return checked(await askSecret(terminal, show, question), "the terminal");
}

function readDescriptor(fd: number): Uint8Array {
  try {
    fstatSync(fd);
    return readFileSync(fd);
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? "";
    throw new AgentError(
      "ENCKEY_MISSING",
      "none",
      `descriptor ${fd} cannot be read (${reason})`,
      {},
      { cause },
    );
  }
}

/** Its own copy without the line end, the original wiped. */
function checked(bytes: Uint8Array, place: string): Uint8Array {
  let end = bytes.length;
  if (bytes[end - 1] === 0x0a) end -= 1;
  if (end < bytes.length && bytes[end - 1] === 0x0d) end -= 1;
  const key = copyToFixedBytes(bytes.subarray(0, end));
  bytes.fill(0);
  if (key.length === 0)
    throw new AgentError("ENCKEY_MISSING", "none", `encKey from ${place} is empty`);
  if (key.length > bytesMax)
    throw new AgentError(
      "ENCKEY_MISSING",
      "none",
      `encKey from ${place} is longer than ${bytesMax} bytes`,
    );
  return key;
}
