/**
 * What `crypto` starts: takes the state folder's lock, reads config.json, then runs signer and courier and starts them again when
 * they end. Holds encKey for that, and no network. Under systemd each unit runs one of the two with `--role`.
 */

import { fstatSync } from "node:fs";
import { resolve } from "node:path";
import { ReadStream } from "node:tty";
import { fileURLToPath } from "node:url";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { AgentError } from "../protocol/fault.ts";
import { isJournalStream } from "../protocol/log.ts";
import { type Config, readConfig } from "./config.ts";
import { configDigest } from "./config-digest.ts";
import { findConfigFile } from "./config-place.ts";
import { programPath, startChild } from "./launcher/child.ts";
import { type EncKey, findEncKey } from "./launcher/enc-key.ts";
import { handOver } from "./launcher/frames.ts";
import { type InheritedSockets, inheritedSockets } from "./launcher/inherited.ts";
import { type Lock, lockWaitMs, takeLock } from "./launcher/lock.ts";
import { News } from "./launcher/news.ts";
import { assertPaired } from "./launcher/paired.ts";
import { createSpeech } from "./launcher/speech.ts";
import { supervise } from "./launcher/supervisor.ts";
import { exitCodes, verdictOn } from "./launcher/verdict.ts";
import type { ConfigSource, CourierSettings, SignerSettings } from "./settings.ts";
import { makeSocketPaths, type SocketPaths, type StateFolder, socketPaths, stateFolder } from "./state-folder.ts";

interface Options {
  readonly config?: string;
  readonly state?: string;
  readonly encKeyFile?: string;
  readonly encKeyFd?: number;
  readonly role: "both" | "signer" | "courier";
  readonly logLevel: CourierSettings["logLevel"];
  readonly configSource?: string;
}

function descriptor(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("a descriptor is a small number.");
  return Number(text);
}

function commandLine(argv: readonly string[]): Options {
  const command = new Command("crypto")
    .usage("[options]")
    .description("Runs the paired agent: signer and courier, until it is told to end.")
    .option("--config <file>", "configuration (default: config.json here, else beside crypto.js)")
    .option("--config-source <file>", "the file that --config is a copy of, as a service manager hands it over")
    .option("--state <folder>", "state folder (default: $XDG_DATA_HOME/autowithdraw, else ~/.local/share/autowithdraw)")
    .option("--enc-key-file <file>", "read encKey from this file, mode 0600")
    .addOption(new Option("--enc-key-fd <number>", "read encKey from this open descriptor").argParser(descriptor))
    .addOption(new Option("--role <role>", "which process to run here").choices(["both", "signer", "courier"]).default("both"))
    .addOption(
      new Option("--log-level <level>", "how much the courier logs").choices(["debug", "info", "warn", "error"]).default("info"),
    )
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  command.parse(argv, { from: "user" });
  return command.opts<Options>();
}

/** Who reads stderr, which signer and courier share. */
function stderrReader(): "terminal" | "journal" | "other" {
  if (process.stderr.isTTY) return "terminal";
  return isJournalStream(process.env.JOURNAL_STREAM, fstatSync(2)) ? "journal" : "other";
}

const speech = createSpeech({
  write: (text) => process.stderr.write(text),
  clock: () => Date.now(),
  stderr: stderrReader(),
});
const { say } = speech;

/** Everything the children need, gathered and checked before the first is started. */
interface Prepared {
  readonly state: StateFolder;
  readonly config: Config;
  readonly encKey: EncKey | null;
  readonly locks: readonly Lock[];
  readonly inherited: InheritedSockets | null;
  readonly sockets: SocketPaths;
  readonly source: ConfigSource;
}

async function prepare(options: Options): Promise<Prepared> {
  const state = stateFolder(options.state);
  const credentials = process.env.CREDENTIALS_DIRECTORY;
  const readAt = Date.now();
  const config = readConfig(findConfigFile(options.config), { requireSecrets: [], privateFolder: credentials });
  const { mnemonic, apiKey, encKey: inConfig } = config.secrets;
  mnemonic?.fill(0);
  apiKey?.fill(0);
  if (options.role === "courier" && Object.keys(config.secrets).length > 0) {
    inConfig?.fill(0);
    throw new AgentError("CONFIG_SECRET_PRESENT", "none", `${config.path} holds ${Object.keys(config.secrets).join(", ")}`);
  }
  assertPaired(state, options.role);
  const inherited = options.role === "signer" ? inheritedSockets(process.env, process.pid) : null;
  const locks: Lock[] = [];
  if (options.role !== "courier") locks.push(await takeLock(state.signer, lockWaitMs));
  if (options.role !== "signer") locks.push(await takeLock(state.courier, lockWaitMs));
  const sockets = options.role === "courier" || inherited !== null ? socketPaths(state) : makeSocketPaths(state);
  const encKey =
    options.role === "courier"
      ? null
      : await findEncKey({
          credentials,
          file: options.encKeyFile,
          fd: options.encKeyFd,
          config: inConfig,
          terminal: process.stdin instanceof ReadStream && process.stdin.isTTY ? process.stdin : undefined,
          show: (text) => process.stderr.write(text),
        });
  if (encKey?.from !== "config") inConfig?.fill(0);
  const path = options.configSource === undefined ? config.path : resolve(options.configSource);
  const source = { path, digest: configDigest(config.settings), readAt };
  return { state, config, encKey, locks, inherited, sockets, source };
}

function signerStarter({ state, config, encKey, locks, inherited, sockets, source }: Prepared) {
  const { chains, currencies, policy } = config.settings;
  const [lock] = locks;
  if (encKey === null || lock === undefined) return null;
  const settings: SignerSettings = {
    chains: Object.fromEntries(Object.entries(chains).map(([name, { family, chainId }]) => [name, { family, chainId }])),
    currencies,
    policy,
    stateDir: state.signer,
    courierSocket: inherited === null ? sockets.courier : "fd:4",
    operatorSocket: inherited === null ? sockets.operator : "fd:5",
    encKeyFrom: encKey.from,
    config: source,
  };
  const descriptors = [lock.fd, ...(inherited === null ? [] : [inherited.courier, inherited.operator])];
  const program = fileURLToPath(programPath(import.meta.url, "./signer/main"));
  return () => {
    const child = startChild({ program, descriptors, isHeard: true, env: process.env });
    handOver(child.stdin, Buffer.from(JSON.stringify(settings)), encKey.bytes);
    return child;
  };
}

function courierStarter({ state, config, sockets, source }: Prepared, logLevel: CourierSettings["logLevel"]) {
  const { gatewayUrl, chains, currencies, notify, metrics } = config.settings;
  const settings: CourierSettings = {
    gatewayUrl,
    chains,
    currencies,
    stateDir: state.courier,
    signerSocket: sockets.courier,
    logLevel,
    configDigest: source.digest,
    ...(notify === undefined ? {} : { notify }),
    ...(metrics === undefined ? {} : { metrics }),
  };
  const program = fileURLToPath(programPath(import.meta.url, "./courier/main"));
  return () => {
    const child = startChild({ program, isHeard: true, env: process.env });
    handOver(child.stdin, Buffer.from(JSON.stringify(settings)));
    return child;
  };
}

function readyWords(role: Options["role"], locked: string): string {
  if (locked !== "") return `but LOCKED (${locked}): nothing is signed until a person has looked`;
  return role === "both" ? "signer and courier run" : `the ${role} runs`;
}

async function run(options: Options): Promise<number> {
  const prepared = await prepare(options);
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  const { state, config } = prepared;
  const news = options.role === "both" ? new News(prepared.sockets.operator, say) : null;
  const code = await supervise({
    startSigner: options.role === "courier" ? null : signerStarter(prepared),
    startCourier: options.role === "signer" ? null : courierStarter(prepared, options.logLevel),
    clock: () => performance.now(),
    say,
    relay: (text) => process.stderr.write(text),
    relayLine: speech.relayLine,
    verdict: speech.verdict,
    ready: (locked) => {
      process.stdout.write(`crypto: ready, ${readyWords(options.role, locked)} (config ${config.path}, state ${state.root})\n`);
      news?.begin();
    },
    stop: stop.signal,
  });
  news?.end();
  prepared.encKey?.bytes.fill(0);
  for (const lock of prepared.locks) lock.release();
  if (code === exitCodes.fine) say("stopped", "stopped");
  return code;
}

/**
 * The whole program. Resolves with the exit code: 0 ended as told, 2 wrong usage or configuration, 4 locked, 70 a bug, 1 otherwise.
 * @public
 */
export async function main(argv: readonly string[]): Promise<number> {
  for (const name of ["NODE_OPTIONS", "NODE_PATH", "LD_PRELOAD"]) {
    if ((process.env[name] ?? "") !== "")
      say("environment-ignored", `${name} is set; it is not passed on to signer and courier, but may have run code here`);
  }
  try {
    return await run(commandLine(argv));
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCodes.fine;
      const message = error.message.replace(/^error: /, "").replaceAll("\n", " ");
      speech.verdict(verdictOn(new AgentError("COMMAND_USAGE", "none", message)));
      return exitCodes.configuration;
    }
    const verdict = verdictOn(error);
    speech.verdict(verdict);
    return verdict.exitCode;
  }
}
