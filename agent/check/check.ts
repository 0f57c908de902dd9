/**
 * `crypto --check`: what the next start would find, without starting and without the state folder's lock. Holds encKey for a moment; the
 * chains' nodes are asked by a process of its own that never has it.
 */
import { spawnSync } from "node:child_process";
import { ReadStream } from "node:tty";
import { fileURLToPath } from "node:url";
import { AgentError } from "../../protocol/fault.ts";
import { priorityOf } from "../../protocol/log.ts";
import { type Config, readConfig } from "../config.ts";
import { findConfigFile } from "../config-place.ts";
import { programPath } from "../launcher/child.ts";
import { findEncKey } from "../launcher/enc-key.ts";
import { assertPaired } from "../launcher/paired.ts";
import { exitCodes } from "../launcher/verdict.ts";
import { readLinkFile } from "../link-file.ts";
import type { AgentSettings } from "../settings.ts";
import { stateFolder } from "../state-folder.ts";
import { type Finding, faultFound, finding, findingLine } from "./finding.ts";
import { checkKeys } from "./keys.ts";

/** @public */
export interface CheckOptions {
  readonly config?: string;
  readonly configSource?: string;
  readonly state?: string;
  readonly encKeyFile?: string;
  readonly encKeyFd?: number;
  readonly role: "both" | "signer" | "courier";
  readonly json?: boolean;
}

const chainsMs = 20_000;

/**
 * Prints one line a finding, or one line of JSON, and resolves with 0 or, when there is an error among them, 2. Twice is harmless.
 * @public
 */
export async function check(options: CheckOptions, out: (text: string) => void, isJournal = false): Promise<number> {
  const path = findConfigFile(options.config);
  const findings = await findingsOf(options, path);
  const ok = findings.every(({ severity }) => severity !== "error");
  if (options.json === true) out(`${JSON.stringify({ ok, role: options.role, config: path, findings })}\n`);
  else {
    // A refused reload is looked for in the journal by what is graver than news.
    const priority = (level: string): string => (isJournal ? priorityOf(level) : "");
    for (const one of findings) out(`${priority(one.severity === "error" ? "error" : "warn")}crypto: ${findingLine(one)}\n`);
    const words = ok ? "would start" : "would not start, or would not pay";
    out(`crypto: ${words} (${options.role}, config ${options.configSource ?? path}, state ${stateFolder(options.state).root})\n`);
  }
  return ok ? exitCodes.fine : exitCodes.configuration;
}

async function findingsOf(options: CheckOptions, path: string): Promise<readonly Finding[]> {
  const { role } = options;
  const state = stateFolder(options.state);
  const credentials = process.env.CREDENTIALS_DIRECTORY;
  const findings: Finding[] = [];
  const config = tried(findings, () => readConfig(path, { requireSecrets: [], privateFolder: credentials }));
  if (config === null) return findings;
  const held = Object.keys(config.secrets);
  config.secrets.mnemonic?.fill(0);
  config.secrets.apiKey?.fill(0);
  try {
    if (role === "courier" && held.length > 0)
      findings.push(finding("CONFIG_SECRET_PRESENT", "error", `${path} holds ${held.join(", ")}`));
    if (tried(findings, () => assertPaired(state, role) ?? true) === null) return findings;
    if (role !== "courier") {
      const encKey = await encKeyHere(options, config, findings);
      findings.push(...checkKeys(state, config.settings, encKey));
      encKey?.fill(0);
    }
  } finally {
    config.secrets.encKey?.fill(0);
  }
  if (role === "signer") return findings;
  tried(findings, () => readLinkFile(state.courier).linkSeed.fill(0));
  findings.push(...checkChains(config.settings));
  return findings;
}

/** What `act` gives; null, and a finding, for its fault. */
function tried<T>(findings: Finding[], act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    findings.push(faultFound(error));
    return null;
  }
}

/** Nobody may have given one to a check by hand; then the keystore stays shut, and that is said. */
async function encKeyHere(options: CheckOptions, { secrets }: Config, findings: Finding[]): Promise<Uint8Array | null> {
  try {
    const key = await findEncKey({
      credentials: process.env.CREDENTIALS_DIRECTORY,
      file: options.encKeyFile,
      fd: options.encKeyFd,
      config: secrets.encKey,
      terminal: process.stdin instanceof ReadStream && process.stdin.isTTY ? process.stdin : undefined,
      show: (text) => process.stderr.write(text),
    });
    return key.bytes;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const isAbsent = error.code === "ENCKEY_MISSING" && options.encKeyFile === undefined && options.encKeyFd === undefined;
    const hint = "give it to the check as well, with --enc-key-file";
    findings.push(
      isAbsent
        ? finding("ENCKEY_MISSING", "warning", "no encKey is given here, so the keystore was not opened", hint)
        : faultFound(error),
    );
    return null;
  }
}

/** By a process of its own, bounded as a whole: whatever the nodes do, a check ends. */
function checkChains({ chains, currencies }: AgentSettings): readonly Finding[] {
  const done = spawnSync(process.execPath, [fileURLToPath(programPath(import.meta.url, "./main"))], {
    input: JSON.stringify({ chains, currencies }),
    encoding: "utf8",
    timeout: chainsMs,
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: process.env.PATH },
  });
  if (done.status === 0) return JSON.parse(done.stdout) as readonly Finding[];
  return [finding("NODE_TIMEOUT", "warning", "the chains' nodes could not be looked at in time")];
}
