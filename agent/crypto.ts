/**
 * The program behind `crypto`. It takes the state folder's lock, reads config.json, then runs
 * signer and courier. It starts them again when they end or hang, and on SIGHUP with a changed
 * config.json. Holds encKey for these starts, and has no network. Under systemd each unit runs one
 * of the two with `--role`.
 */
import "../base/no-inspector.ts";
import { existsSync, fstatSync } from "node:fs";
import { resolve } from "node:path";
import { ReadStream } from "node:tty";
import { fileURLToPath } from "node:url";
import { AgentError } from "../base/fault.ts";
import {
  codeEnvironmentWarnings,
  networkEnvironmentWarnings,
} from "../base/ignored-environment.ts";
import { isJournalStream } from "../base/log.ts";
import { createServiceManager } from "../base/service-manager/service-manager.ts";
import { dropUnread } from "../base/unread-output.ts";
import { programVersion } from "../base/version.ts";
import { visibleLines, visibleText } from "../base/visible.ts";
import { readConfig } from "./config/config.ts";
import { configDigest } from "./config/digest.ts";
import { findConfigFile } from "./config/location.ts";
import { egressOf } from "./config/network.ts";
import type {
  AgentSettings,
  ConfigSource,
  CourierSettings,
  SignerSettings,
} from "./config/settings.ts";
import { exitReasonFolder, removeExitReason, writeExitReason } from "./exit-reason.ts";
import { emptyCoreDumps } from "./files/core-dumps.ts";
import {
  makeSocketPaths,
  type SocketPaths,
  type StateFolder,
  socketPaths,
  stateFolder,
} from "./files/state-folder.ts";
import { programPath, startChild } from "./launcher/child.ts";
import { type CommandTable, helpOf, readCommandLine } from "./launcher/command-line.ts";
import { type EncKey, findEncKey } from "./launcher/enc-key.ts";
import { foreignFolderWarning, terminalIsGone } from "./launcher/environment.ts";
import { type ExitVerdict, exitCodes, exitVerdictOfError } from "./launcher/exit-status.ts";
import { writeFramesAndWipe } from "./launcher/frames.ts";
import { type InheritedSockets, inheritedSockets } from "./launcher/inherited.ts";
import { type FolderLock, lockWaitMs, takeLock } from "./launcher/lock.ts";
import { createLauncherOutput } from "./launcher/output.ts";
import { assertPaired } from "./launcher/paired.ts";
import { SettingsReload } from "./launcher/reload.ts";
import { superviseChildren } from "./launcher/supervisor.ts";
import { TerminalStatusPoller } from "./launcher/terminal-messages.ts";
import { readRules } from "./signer/policy/rules.ts";

interface Options {
  readonly config?: string;
  readonly state?: string;
  readonly encKeyFile?: string;
  readonly encKeyFd?: number;
  readonly role: "both" | "signer" | "courier";
  readonly logLevel: CourierSettings["logLevel"];
  readonly configSource?: string;
  readonly check?: boolean;
  readonly json?: boolean;
}

export const cryptoCommandTable: CommandTable = {
  name: "crypto",
  words: "Runs the paired agent: signer and courier, until it is told to end.",
  options: [
    {
      name: "config",
      value: "file",
      words: "configuration (default: config.json beside crypto.js)",
    },
    {
      name: "config-source",
      value: "file",
      words: "the file that --config is a copy of, as a service manager hands it over",
    },
    {
      name: "state",
      value: "folder",
      words:
        "state folder (default: $XDG_DATA_HOME/autowithdraw, else ~/.local/share/autowithdraw)",
    },
    { name: "enc-key-file", value: "file", words: "read encKey from this file, mode 0600" },
    {
      name: "enc-key-fd",
      value: "number",
      words: "read encKey from this open descriptor",
      isDescriptor: true,
    },
    {
      name: "role",
      value: "role",
      words: "which process to run here",
      choices: ["both", "signer", "courier"],
      byDefault: "both",
    },
    {
      name: "log-level",
      value: "level",
      words: "how much the courier logs",
      choices: ["debug", "info", "warn", "error"],
      byDefault: "info",
    },
    {
      name: "check",
      words:
        "look whether it would start and pay, and start nothing; exit code 0, 1 if only something that passes by itself is against it, or 2",
    },
    { name: "json", words: "with --check: print one line of JSON" },
  ],
};

/** Returns the kind of reader at stderr, which signer and courier share. */
function stderrReader(): "terminal" | "journal" | "other" {
  if (process.stderr.isTTY) return "terminal";
  return isJournalStream(process.env.JOURNAL_STREAM, fstatSync(2)) ? "journal" : "other";
}

const speech = createLauncherOutput({
  write: (text) => process.stderr.write(visibleLines(text)),
  clock: () => Date.now(),
  stderr: stderrReader(),
});
const { say } = speech;

/** The result of one reading of config.json. */
interface ConfigReading {
  readonly settings: AgentSettings;
  readonly source: ConfigSource;
  readonly digest: string;
}

/** Everything that the children need, gathered and checked before the first start. */
interface ChildrenInput {
  readonly state: StateFolder;
  readonly config: ConfigReading;
  readonly encKey: EncKey | null;
  readonly locks: readonly FolderLock[];
  readonly inherited: InheritedSockets | null;
  readonly sockets: SocketPaths;
}

/**
 * Reads config.json and refuses what a child would refuse. Only encKey of the secrets is returned;
 * the caller wipes it.
 * @throws AgentError CONFIG_*, POLICY_SETTINGS
 */
function takeConfig(
  path: string,
  options: Options,
): ConfigReading & { readonly encKey: Uint8Array | undefined } {
  const readAt = Date.now();
  // The one clock that the launchers of signer and courier share.
  const readMs = Number(process.hrtime.bigint() / 1_000_000n);
  const { settings, secrets } = readConfig(path, {
    requireSecrets: [],
    privateFolder: process.env.CREDENTIALS_DIRECTORY,
    isNamed: options.config !== undefined,
  });
  const { mnemonic, apiKey, encKey } = secrets;
  mnemonic?.fill(0);
  apiKey?.fill(0);
  try {
    if (options.role === "courier" && Object.keys(secrets).length > 0) {
      throw new AgentError(
        "CONFIG_SECRET_PRESENT",
        "none",
        `${path} holds ${Object.keys(secrets).join(", ")}`,
      );
    }
    egressOf(settings.network); // certificates that cannot be used are refused before anything starts
    // The accounts are known only after the keystore is open; the limits are checked the same
    // without them.
    readRules(settings, []);
  } catch (error) {
    encKey?.fill(0);
    throw error;
  }
  const digest = configDigest(settings);
  const shown = options.configSource === undefined ? path : resolve(options.configSource);
  return { settings, digest, source: { path: shown, digest, readAt, readMs }, encKey };
}

async function prepare(options: Options): Promise<ChildrenInput> {
  const state = stateFolder(options.state);
  const credentials = process.env.CREDENTIALS_DIRECTORY;
  const { encKey: inConfig, ...config } = takeConfig(findConfigFile(options.config), options);
  assertPaired(state, options.role);
  const inherited = options.role === "signer" ? inheritedSockets(process.env, process.pid) : null;
  const locks: FolderLock[] = [];
  if (options.role !== "courier") locks.push(await takeLock(state.signer, lockWaitMs));
  if (options.role !== "signer") locks.push(await takeLock(state.courier, lockWaitMs));
  const sockets =
    options.role === "courier" || inherited !== null ? socketPaths(state) : makeSocketPaths(state);
  const encKey =
    options.role === "courier"
      ? null
      : await findEncKey({
          credentials,
          file: options.encKeyFile,
          fd: options.encKeyFd,
          config: inConfig,
          terminal:
            process.stdin instanceof ReadStream && process.stdin.isTTY ? process.stdin : undefined,
          show: (text) => process.stderr.write(text),
        });
  if (encKey?.from !== "config") inConfig?.fill(0);
  return { state, config, encKey, locks, inherited, sockets };
}

function signerStarter(
  { state, encKey, locks, inherited, sockets }: ChildrenInput,
  current: () => ConfigReading,
) {
  const [lock] = locks;
  if (encKey === null || lock === undefined) return null;
  const settingsOf = ({
    settings: { chains, currencies, policy, stuckAfterMinutes },
    source,
  }: ConfigReading): SignerSettings => ({
    chains: Object.fromEntries(
      Object.entries(chains).map(([name, { nodes, confirmations, ...chain }]) => [name, chain]),
    ),
    currencies,
    policy,
    stuckAfterMinutes,
    stateDir: state.signer,
    courierSocket: inherited === null ? sockets.courier : "fd:4",
    operatorSocket: inherited === null ? sockets.operator : "fd:5",
    encKeyFrom: encKey.from,
    config: source,
  });
  const descriptors = [
    lock.fd,
    ...(inherited === null ? [] : [inherited.courier, inherited.operator]),
  ];
  const program = fileURLToPath(programPath(import.meta.url, "./signer/main"));
  return () => {
    const child = startChild({ program, descriptors, isStderrPiped: true, env: process.env });
    writeFramesAndWipe(
      child.stdin,
      Buffer.from(JSON.stringify(settingsOf(current()))),
      encKey.bytes,
    );
    return child;
  };
}

function courierStarter(
  { state, sockets }: ChildrenInput,
  logLevel: CourierSettings["logLevel"],
  current: () => ConfigReading,
) {
  const settingsOf = ({ settings, digest, source }: ConfigReading): CourierSettings => ({
    gatewayUrl: settings.gatewayUrl,
    chains: settings.chains,
    currencies: settings.currencies,
    stateDir: state.courier,
    signerSocket: sockets.courier,
    logLevel,
    configDigest: digest,
    configReadMs: source.readMs,
    ...(settings.notify === undefined ? {} : { notify: settings.notify }),
    ...(settings.metrics === undefined ? {} : { metrics: settings.metrics }),
    ...egressFields(settings),
  });
  const program = fileURLToPath(programPath(import.meta.url, "./courier/main"));
  return () => {
    const child = startChild({ program, isStderrPiped: true, env: process.env });
    return {
      child,
      handSettings: () =>
        writeFramesAndWipe(child.stdin, Buffer.from(JSON.stringify(settingsOf(current())))),
    };
  };
}

function egressFields({ network }: AgentSettings): Pick<CourierSettings, "egress"> {
  const egress = egressOf(network);
  return egress === null ? {} : { egress };
}

function readyWords(role: Options["role"], locked: string): string {
  if (locked !== "")
    return `but LOCKED (${locked}): nothing is signed until an operator has looked`;
  return role === "both" ? "signer and courier run" : `the ${role} runs`;
}

function reloadOf({ config }: ChildrenInput, options: Options): SettingsReload<ConfigReading> {
  const path = findConfigFile(options.config);
  return new SettingsReload<ConfigReading>({
    first: config,
    read: () => {
      const { encKey, ...taken } = takeConfig(path, options);
      encKey?.fill(0);
      return taken;
    },
    say,
    isCopy: config.source.path !== path,
    unchangedHint:
      config.source.path === path
        ? ""
        : `. hint: to take a changed ${config.source.path}: systemctl reload crypto`,
  });
}

async function run(options: Options, tell: (verdict: ExitVerdict) => void): Promise<number> {
  const prepared = await prepare(options);
  const { state, config } = prepared;
  const { role } = options;
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());
  const reload = reloadOf(prepared, options);
  const hadTerminal = process.stdin.isTTY || process.stderr.isTTY;
  process.on("SIGHUP", () => {
    if (terminalIsGone(hadTerminal)) stop.abort();
    else reload.request();
  });
  const warning = foreignFolderWarning(
    role === "courier" ? state.courier : state.signer,
    process.getuid?.() ?? -1,
  );
  if (warning !== "") say("folder-foreign", warning);
  const news = role === "both" ? new TerminalStatusPoller(prepared.sockets.operator, say) : null;
  const manager = createServiceManager(process.env, (line) => say("service-manager-away", line));
  manager.beginAlive();
  const code = await superviseChildren({
    startSigner: role === "courier" ? null : signerStarter(prepared, () => reload.current),
    startCourier:
      role === "signer" ? null : courierStarter(prepared, options.logLevel, () => reload.current),
    clock: () => performance.now(),
    say,
    relay: (text) => process.stderr.write(visibleLines(text)),
    relayLine: speech.relayLine,
    verdict: tell,
    failing: (verdict) => leaveWords(options, verdict),
    up: () => {
      removeExitReason(exitReasonFolder(state, process.env), role);
      manager.ready(role === "both" ? "signer and courier run" : `the ${role} runs`);
    },
    ready: (locked) => {
      const where = visibleText(`(config ${config.source.path}, state ${state.root})`);
      process.stdout.write(`crypto: ready, ${readyWords(role, visibleText(locked))} ${where}\n`);
      news?.begin();
    },
    renewal: reload,
    stop: stop.signal,
  });
  news?.end();
  prepared.encKey?.bytes.fill(0);
  for (const lock of prepared.locks) lock.release();
  if (code === exitCodes.fine) say("stopped", "stopped");
  return code;
}

/** Names the file that an operator edits instead of the copy that a service manager passed in. */
function namingSource({ config, configSource }: Options, message: string): string {
  return config === undefined || configSource === undefined
    ? message
    : message.replaceAll(resolve(config), resolve(configSource));
}

/**
 * Reports why the process ends, and leaves the reason for `status`. A second crypto, refused
 * because one runs already, leaves no reason.
 */
function exitReason(options: Options, told: ExitVerdict): void {
  const verdict = { ...told, message: namingSource(options, told.message) };
  speech.verdict(verdict);
  leaveWords(options, verdict);
}

/** Leaves the reason for `status`, which reads it while no process answers. */
function leaveWords(options: Options, verdict: ExitVerdict): void {
  const state = stateFolder(options.state);
  const folder = exitReasonFolder(state, process.env);
  const { role } = options;
  const { code, message, hint } = verdict;
  const isPaired = existsSync(state.signer) || existsSync(state.courier);
  if (folder === state.run && (code === "STATE_IN_USE" || !isPaired)) return;
  writeExitReason(folder, { role, code, message, hint, at: Date.now() });
}

/**
 * The complete program. Resolves with the exit code: 0 for an ordered end, 2 for wrong usage or
 * configuration, 4 for a lock, 70 for a bug, 1 otherwise.
 */
export async function main(argv: readonly string[]): Promise<number> {
  emptyCoreDumps(); // This process holds encKey too.
  dropUnread(process.stdout, process.stderr); // A line without a reader must not end the payments.
  for (const words of codeEnvironmentWarnings(process.env)) say("environment-ignored", words);
  try {
    const asked = readCommandLine(cryptoCommandTable, argv);
    if (asked.is !== "options") {
      process.stdout.write(
        asked.is === "help" ? helpOf(cryptoCommandTable) : `${programVersion}\n`,
      );
      return exitCodes.fine;
    }
    // The table's choices and defaults are those of the type.
    const options = asked.options as unknown as Options;
    if (options.json === true && options.check !== true)
      throw new AgentError("COMMAND_USAGE", "none", "--json goes with --check alone");
    if (options.check === true) {
      // Loaded only when asked for: it opens the keystore, which no start does in this process.
      const { runCheck } = await import("./check/check.ts");
      return await runCheck(
        options,
        (text) => process.stdout.write(visibleLines(text)),
        isJournalStream(process.env.JOURNAL_STREAM, fstatSync(1)),
      );
    }
    for (const words of networkEnvironmentWarnings(process.env)) say("environment-ignored", words);
    return await run(options, (verdict) => exitReason(options, verdict)).catch((error: unknown) => {
      const verdict = exitVerdictOfError(error);
      exitReason(options, verdict);
      return verdict.exitCode;
    });
  } catch (error) {
    const verdict = exitVerdictOfError(error);
    speech.verdict(verdict);
    return verdict.exitCode;
  }
}
