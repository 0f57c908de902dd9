/**
 * `crypto --check`: finds the faults of the next start without starting, and without the state
 * folder's lock. Has encKey only for a moment. Another process, which never has it, asks the
 * chains' nodes.
 */
import { spawnSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { join } from "node:path";
import { ReadStream } from "node:tty";
import { fileURLToPath } from "node:url";
import { AgentError } from "../../base/fault.ts";
import {
  type Finding,
  findingLine,
  findingOfFault,
  newFinding,
  runOrAddFinding,
  verdictOfFindings,
} from "../../base/finding.ts";
import { priorityOf } from "../../base/log.ts";
import { systemPath } from "../../base/system-path.ts";
import { formatTerminalSafeJson, visibleText } from "../../base/visible.ts";
import { networkOf } from "../../chains/families.ts";
import { type Config, readConfig } from "../config/config.ts";
import { readLinkFile } from "../config/link-file.ts";
import { findConfigFile, findEncKeyCredential } from "../config/location.ts";
import { egressOf } from "../config/network.ts";
import { describeGatewayNodes, listChainsOnGatewayNodes } from "../config/nodes-of-gateway.ts";
import type { AgentSettings } from "../config/settings.ts";
import { type StateFolder, stateFolder } from "../files/state-folder.ts";
import { openKeystoreIn, readKeystore } from "../keystore/file.ts";
import { readKeystoreHeader, wipeKeystore } from "../keystore/keystore.ts";
import { pairedAccountsOf } from "../keystore/nodes.ts";
import { programPath } from "../launcher/child.ts";
import { findEncKey } from "../launcher/enc-key.ts";
import { exitCodes } from "../launcher/exit-status.ts";
import { assertPaired } from "../launcher/paired.ts";
import { isReadOnly } from "../ledger/disk.ts";
import { freeDiskBytesMinDefault } from "../ledger/options.ts";
import { ledgerRoomLeft } from "../problems/table.ts";
import { readRules } from "../signer/policy/rules.ts";

/*
 * Checks that keystore, encKey and config.json fit together, as the signer does at its start. Opens
 * the keystore and wipes it. Reaches no network and changes nothing.
 */

/**
 * Without `encKey` only the readable header of the keystore is checked. The caller wipes `encKey`.
 */
function checkKeys(
  state: StateFolder,
  settings: AgentSettings,
  encKey: Uint8Array | null,
): readonly Finding[] {
  try {
    const networks =
      encKey === null
        ? readKeystoreHeader(readKeystore(state.signer)).networks
        : networksInside(state, settings, encKey);
    return Object.entries(settings.chains).flatMap(([chain, configured]) =>
      networks.includes(networkOf(configured))
        ? []
        : [
            newFinding(
              "SIGNER_NETWORK",
              "error",
              `chains.${chain} is not among the networks this wallet was paired for`,
            ),
          ],
    );
  } catch (error) {
    if (error instanceof AgentError) return [findingOfFault(error)];
    throw error;
  }
}

/** The networks of the opened keystore. Reads the rules too, which need the accounts inside. */
function networksInside(
  state: StateFolder,
  settings: AgentSettings,
  encKey: Uint8Array,
): readonly string[] {
  const contents = openKeystoreIn(state.signer, encKey);
  try {
    readRules(settings, pairedAccountsOf(contents.accounts));
  } finally {
    wipeKeystore(contents);
  }
  return contents.networks;
}

/* Checks that the ledger's disk takes writes, which the signer needs. Writes nothing. */

/**
 * A finding for a file system that is mounted read-only, or has too little room to begin anything.
 */
export function checkDisk(
  { signer }: StateFolder,
  isClosed: (path: string) => boolean = isReadOnly,
): readonly Finding[] {
  const folder = join(signer, "ledger");
  if (isClosed(folder))
    return [
      newFinding(
        "LEDGER_READ_ONLY",
        "error",
        `the disk of ${folder} is read-only: nothing would be signed`,
      ),
    ];
  const freeBytes = freeBytesOf(folder);
  if (ledgerRoomLeft({ freeBytes, freeBytesMin: freeDiskBytesMinDefault }) !== "none") return [];
  const words = `${Math.floor(freeBytes / 1024 / 1024)} MiB are free on the disk of ${folder}: nothing new would be begun`;
  return [newFinding("LEDGER_DISK_FULL", "error", words)];
}

/** -1 if the system cannot tell, such as for a folder that is not there. */
function freeBytesOf(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return -1;
  }
}

/** The options of `crypto` that affect a start. */
export interface CheckOptions {
  readonly config?: string;
  readonly configSource?: string; // shown instead of `config`, which is then a copy that the service manager made
  readonly state?: string;
  readonly encKeyFile?: string;
  readonly encKeyFd?: number;
  readonly role: "both" | "signer" | "courier";
  readonly json?: boolean;
}

const chainsMs = 20_000;

/**
 * Prints one line for each finding, or one line of JSON. Resolves with the exit code: 0 without an
 * error, 1 if every error passes by itself, else 2. May be repeated without harm.
 */
export async function runCheck(
  options: CheckOptions,
  out: (text: string) => void,
  isJournal = false,
): Promise<number> {
  const path = findConfigFile(options.config);
  const findings = await findingsOf(options, path);
  const verdict = verdictOfFindings(findings);
  const ok = verdict.verdict === "ok";
  if (options.json === true)
    out(`${formatTerminalSafeJson({ ok, role: options.role, config: path, findings })}\n`);
  else {
    // To find a refused reload, operators filter the journal for more than information.
    const priority = (level: string): string => (isJournal ? priorityOf(level) : "");
    for (const one of findings)
      out(`${priority(one.severity === "error" ? "error" : "warn")}crypto: ${findingLine(one)}\n`);
    const now =
      verdict.verdict === "passing" ? `would not start, or would not pay, now: ${verdict.why}` : "";
    const words = ok ? "would start" : now || "would not start, or would not pay";
    const places = visibleText(
      `config ${options.configSource ?? path}, state ${stateFolder(options.state).root}`,
    );
    out(`crypto: ${words} (${options.role}, ${places})\n`);
  }
  if (verdict.verdict === "passing") return exitCodes.no;
  return ok ? exitCodes.fine : exitCodes.configuration;
}

async function findingsOf(options: CheckOptions, path: string): Promise<readonly Finding[]> {
  const { role } = options;
  const state = stateFolder(options.state);
  const credentials = process.env.CREDENTIALS_DIRECTORY;
  const findings: Finding[] = [];
  const config = runOrAddFinding(findings, () =>
    readConfig(path, {
      requireSecrets: [],
      privateFolder: credentials,
      isNamed: options.config !== undefined,
    }),
  );
  if (config === null) return findings;
  const secretsFound = Object.keys(config.secrets);
  config.secrets.mnemonic?.fill(0);
  config.secrets.apiKey?.fill(0);
  try {
    if (role === "courier" && secretsFound.length > 0)
      findings.push(
        newFinding("CONFIG_SECRET_PRESENT", "error", `${path} holds ${secretsFound.join(", ")}`),
      );
    if (runOrAddFinding(findings, () => assertPaired(state, role) ?? true) === null)
      return findings;
    if (role !== "courier") {
      const encKey = await encKeyOrFinding(options, config, findings);
      findings.push(...checkKeys(state, config.settings, encKey), ...checkDisk(state));
      encKey?.fill(0);
    }
  } finally {
    config.secrets.encKey?.fill(0);
  }
  for (const name of listChainsOnGatewayNodes(config.settings))
    findings.push(newFinding("AGENT_NODES_OF_GATEWAY", "warning", describeGatewayNodes(name)));
  if (role === "signer") return findings;
  runOrAddFinding(findings, () => readLinkFile(state.courier).linkSeed.fill(0));
  findings.push(...checkChains(config.settings, state.courier));
  return findings;
}

/**
 * Null, with a finding, if encKey is missing: a check by hand may lack it, and then the keystore
 * stays closed. The caller wipes it.
 */
async function encKeyOrFinding(
  options: CheckOptions,
  { secrets }: Config,
  findings: Finding[],
): Promise<Uint8Array | null> {
  try {
    const key = await findEncKey({
      credentials: process.env.CREDENTIALS_DIRECTORY,
      sealed: findEncKeyCredential(findConfigFile(options.configSource ?? options.config)),
      file: options.encKeyFile,
      fd: options.encKeyFd,
      config: secrets.encKey,
      terminal:
        process.stdin instanceof ReadStream && process.stdin.isTTY ? process.stdin : undefined,
      show: (text) => process.stderr.write(text),
    });
    return key.bytes;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const isAbsent =
      error.code === "ENCKEY_MISSING" &&
      options.encKeyFile === undefined &&
      options.encKeyFd === undefined;
    const hint = "give it to the check as well, with --enc-key-file";
    findings.push(
      isAbsent
        ? newFinding(
            "ENCKEY_MISSING",
            "warning",
            "no encKey is given here, so the keystore was not opened",
            hint,
          )
        : findingOfFault(error),
    );
    return null;
  }
}

/**
 * Lets another process ask the nodes, within one bound for all of them, so the check ends for any
 * behaviour of a node.
 */
function checkChains(
  { chains, currencies, network }: AgentSettings,
  courierFolder: string,
): readonly Finding[] {
  const findings: Finding[] = [];
  const egress = runOrAddFinding(findings, () => egressOf(network));
  if (findings.length > 0) return findings;
  const done = spawnSync(
    process.execPath,
    [fileURLToPath(programPath(import.meta.url, "./main"))],
    {
      input: JSON.stringify({ chains, currencies, egress, courierFolder }),
      encoding: "utf8",
      timeout: chainsMs,
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: systemPath },
    },
  );
  if (done.status === 0) return JSON.parse(done.stdout) as readonly Finding[];
  return [
    newFinding("NODE_TIMEOUT", "warning", "the chains' nodes could not be looked at in time"),
  ];
}
