/**
 * `check`: starts `crypto --check` for the files of this machine, in a process of its own, because
 * that process opens the keystore and this one has no key.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { programFolder } from "../agent/config/location.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import type { Terminal } from "./terminal.ts";

/** Options of `crypto --check`, under the same names. */
export interface CheckOptions {
  readonly config?: string;
  readonly state?: string;
  readonly encKeyFile?: string;
  readonly encKeyFd?: number;
  readonly json?: boolean;
}

const answerBytesMax = 16 * 1024 * 1024;

/**
 * Prints what `crypto --check` prints. Changes nothing, so a repetition is harmless.
 * @returns 0 if crypto would start and pay, 2 if not, 70 for a bug
 */
export function runCheck(
  { config, state, encKeyFile, encKeyFd, json }: CheckOptions,
  terminal: Terminal,
): number {
  const words = [
    ...(config === undefined ? [] : ["--config", config]),
    ...(state === undefined ? [] : ["--state", state]),
    ...(encKeyFile === undefined ? [] : ["--enc-key-file", encKeyFile]),
    ...(encKeyFd === undefined ? [] : ["--enc-key-fd", "3"]),
    ...(json === true ? ["--json"] : []),
  ];
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(programFolder(), "crypto.js"), "--check", ...words],
    {
      // encKey may be typed, and a descriptor of this process gets another number in the child.
      stdio: ["inherit", "pipe", "inherit", ...(encKeyFd === undefined ? [] : [encKeyFd])],
      maxBuffer: answerBytesMax,
      encoding: "utf8",
    },
  );
  terminal.out(stdout ?? "");
  return status ?? exitCodes.bug;
}
