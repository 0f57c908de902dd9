/**
 * The gateway's command line and process entry: `init`, `start`, `merchant`, `key`, `agents`, `backup`, `health`, `check`. Says what is
 * wrong in one line and what to do in a second. Exit: 0 fine, 1 a clear no or what passes by itself, 2 usage or configuration, 3 not
 * reached, 70 a bug.
 * Source: docs/api.md, section on running it.
 */
import { randomBytes } from "node:crypto";
import { existsSync, fstatSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { destination, type Logger, pino } from "pino";
import { createServiceManager } from "../notify/service-manager.ts";
import { codes } from "../protocol/codes.ts";
import { AgentError, type Refusal } from "../protocol/fault.ts";
import { type GatewayLog, isJournalStream, lineOptions, logLine, priorityOf, withPriority } from "../protocol/log.ts";
import { programVersion } from "../protocol/version.ts";
import { readGatewayKey } from "./auth/gateway-key.ts";
import { type Scope, scopes } from "./auth/keys.ts";
import { type GatewayConfig, readConfig } from "./config.ts";
import { startGateway } from "./gateway.ts";
import { agentConfigText } from "./operator/agent-config.ts";
import { backUp, checkBackup, describeCopy, keepWords } from "./operator/backup.ts";
import { checkGateway } from "./operator/check.ts";
import { initFolder, writeOwnFile } from "./operator/folder.ts";
import { askHealth, failedChecks } from "./operator/health.ts";
import { describeKeys, listKeys } from "./operator/key-list.ts";
import { addKey, createMerchant, listAgents, type Operator, recoverAgent, releaseAgent, revoke } from "./operator/people.ts";
import { Reload } from "./operator/reload.ts";
import { checkKey, runningOn } from "./store/owner.ts";
import { openStore } from "./store/store.ts";

const exit = { fine: 0, no: 1, usage: 2, unreachable: 3, bug: 70 } as const;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

const clock = (): number => Date.now();
const isJournal = isJournalStream(process.env.JOURNAL_STREAM, fstatSync(2));

/** Two lines for a person or a script; one line of the log where the journal reads. */
function complain(message: string, hint: string): void {
  if (isJournal) {
    const form = { at: clock(), level: "error", process: "gateway", event: "command-fault", message } as const;
    process.stderr.write(`${priorityOf("error")}${logLine(form, { hint })}\n`);
    return;
  }
  process.stderr.write(`gateway: ${message}\n${hint === "" ? "" : `hint: ${hint}\n`}`);
}

const printJson = (value: object): void => print(JSON.stringify(value));

function makeLog(level: GatewayConfig["logLevel"]): GatewayLog & Pick<Logger, "level"> {
  const out = destination({ dest: 2, sync: true });
  const stream = isJournal ? { write: (line: string) => void out.write(withPriority(line)) } : out;
  return pino({ level, ...lineOptions("gateway", clock) }, stream);
}

interface ConfigOption {
  readonly config: string;
}
interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

/** Opens what an operator's command needs, and closes it after. */
function asOperator<T>(options: ConfigOption, work: (by: Operator, config: GatewayConfig) => T): T {
  const config = readConfig(options.config);
  const gatewayKey = readGatewayKey(config.keyFile);
  const store = openStore(config.database, makeLog("error"));
  try {
    checkKey(store.database, gatewayKey.fingerprint, config);
    return work({ store, gatewayKey, random: randomBytes, nowMs: clock(), run: runningOn(config.database) }, config);
  } finally {
    store.close();
  }
}

/** Prints a refusal and sets the exit status; true when the way is free. */
function allowed<T extends { readonly ok: true }>(outcome: T | Refusal): outcome is T {
  if (outcome.ok) return true;
  const [, , , meaning, advice] = codes[outcome.code];
  complain(outcome.detail ?? meaning, advice);
  process.exitCode = exit.no;
  return false;
}

async function start(options: ConfigOption): Promise<void> {
  const config = readConfig(options.config);
  const log = makeLog(config.logLevel);
  const say = (event: "config-reload" | "config-refused" | "service-manager-away", line: string): void => {
    if (event === "config-reload") log.info({ event }, line);
    else log.warn({ event }, line);
  };
  const reload = new Reload(config, { read: () => readConfig(options.config), log, say });
  process.on("SIGHUP", () => reload.request());
  const gateway = await startGateway(config, { log, clock, onPoisoned: () => process.exit(exit.no) });
  print(`gateway: listens at ${gateway.url}`);
  const manager = createServiceManager(process.env, (line) => say("service-manager-away", line));
  manager.ready(`listens at ${gateway.url}`);
  manager.beginAlive();
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(exit.no);
    stopping = true;
    gateway.close().then(
      () => process.exit(exit.fine),
      (error: unknown) => {
        log.error({ event: "stop-failed", err: error }, "could not stop cleanly");
        process.exit(exit.bug);
      },
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("uncaughtException", (error) => {
    log.error({ event: "bug", err: error }, "a bug; the process ends");
    process.exit(exit.bug);
  });
}

function init(options: { readonly dir: string; readonly json?: boolean }): void {
  const made = initFolder(options.dir, makeLog("error"));
  if (options.json === true) {
    printJson(made);
    return;
  }
  print(`Made ${made.key}, an empty database, and ${made.config}.`);
  print(`Next: set publicUrl, chains and currencies there, then: node gateway/gateway.js start --config ${made.config}`);
}

function merchantCreate(
  name: string,
  options: JsonOption & { readonly configOut?: string; readonly language: "en" | "tr" },
): void {
  const { configOut, language } = options;
  asOperator(options, (by, config) => {
    if (configOut !== undefined) writeOwnFile(configOut, agentConfigText(config));
    const made = createMerchant(by, { name, language });
    if (options.json === true) {
      printJson(made);
      return;
    }
    print(`merchantId  ${made.merchantId}\napiKey      ${made.apiKey}`);
    print("This is the only time the apiKey is shown. It may do everything; make narrower ones with `key create`.");
    if (configOut !== undefined) print(`Wrote ${configOut}: the merchant replaces the three secrets in it.`);
  });
}

interface KeyOptions extends JsonOption {
  readonly merchant: string;
  readonly scopes: readonly Scope[];
  readonly profile: "compatible" | "strict";
  readonly alg: "HS256" | "EdDSA";
  readonly publicKey?: string;
}

function keyCreate(options: KeyOptions): void {
  const { merchant, scopes: wanted, profile, alg, publicKey } = options;
  if (alg === "EdDSA" && wanted.includes("agent:pair"))
    throw new CommanderError(exit.usage, "scopes", "agent:pair needs an HS256 key");
  if (alg === "HS256" && publicKey !== undefined) throw new CommanderError(exit.usage, "alg", "--public-key needs --alg EdDSA");
  asOperator(options, (by) => {
    const made = addKey(by, { merchant, scopes: wanted, profile, alg, ...(publicKey === undefined ? {} : { publicKey }) });
    if (!allowed(made)) return;
    const { keyId, apiKey } = made;
    if (options.json === true) {
      printJson({ keyId, apiKey, merchantId: merchant, scopes: wanted, profile, alg });
      return;
    }
    print(`keyId   ${keyId}\nscopes  ${wanted.join(",")}\nprofile ${profile}, ${alg}`);
    if (apiKey !== "") print(`apiKey  ${apiKey}\nThis is the only time the apiKey is shown.`);
  });
}

function keyList(options: JsonOption & { readonly merchant?: string }): void {
  asOperator(options, (by) => {
    const listed = listKeys(by, options.merchant);
    if (!allowed(listed)) return;
    if (options.json === true) printJson(listed.keys);
    else print(describeKeys(listed.keys));
  });
}

function backup(file: string, options: JsonOption & { readonly check?: boolean; readonly yes?: boolean }): void {
  if (options.check === true) {
    // Where the drill is done there may be no gateway; where there is one, the copy must be its own.
    const config = existsSync(options.config) ? readConfig(options.config) : null;
    const copy = checkBackup(file, config === null ? null : readGatewayKey(config.keyFile).fingerprint);
    if (options.json === true) printJson({ file, ...copy });
    else print(`The copy is whole.\n${describeCopy(file, copy)}`);
    return;
  }
  asOperator(options, ({ store, nowMs }, { keyFile }) => {
    const copy = backUp(store, file, nowMs, options.yes === true);
    if (options.json === true) printJson({ file, ...copy });
    else print(`Copied, and the copy read through.\n${describeCopy(file, copy)}\n${keepWords(keyFile, options.config)}`);
  });
}

function keyRevoke(keyId: string, options: JsonOption): void {
  asOperator(options, (by) => {
    if (!allowed(revoke(by, keyId))) return;
    if (options.json === true) printJson({ keyId, revoked: true });
    else print(`Revoked ${keyId}.`);
  });
}

function agentsList(options: JsonOption): void {
  asOperator(options, (by) => {
    const agents = listAgents(by);
    if (options.json === true) {
      printJson(agents);
      return;
    }
    if (agents.length === 0) print("No agent has paired yet.");
    for (const agent of agents) {
      const state = agent.releasedAt === "" ? (agent.lockedCode === "" ? "paired" : `locked ${agent.lockedCode}`) : "released";
      print(`${agent.agentId}  ${state}  ${agent.merchant} (${agent.merchantId})  short code ${agent.shortCode}`);
      print(
        `  ${agent.hotAddress}  epoch ${agent.epoch}  last seen ${agent.lastSeenAt || "never"}  open ${agent.openWithdrawals}`,
      );
      if (agent.software !== "") print(`  runs ${agent.software}`);
      if (agent.unheard === "") continue;
      const effect = agent.releasedAt === "" ? "agents release is refused" : "the next server begins with a recovery";
      print(`  unheard, so ${effect}: ${agent.unheard}`);
    }
  });
}

function agentsRelease(agentId: string, options: JsonOption & { readonly unheard?: boolean }): void {
  asOperator(options, (by) => {
    const unheard = options.unheard === true;
    const released = releaseAgent(by, agentId, unheard ? "unheard" : undefined);
    if (!allowed(released)) return;
    const { openWithdrawals } = released;
    if (options.json === true) {
      printJson({ agentId, released: true, unheard, openWithdrawals });
      return;
    }
    print(`Released ${agentId}${unheard ? " unheard" : ""}; its merchant may pair another server.`);
    if (openWithdrawals > 0)
      print(`Open withdrawals that stay with it: ${openWithdrawals}. End that server before another one is paired.`);
    if (unheard) {
      print(
        "What it paid may be missing here. The server that is paired next begins with a recovery and pays nothing by itself:",
      );
      print("compare each of its orders with the chain before it is approved (docs/recovering.md, section 7).");
    }
  });
}

function agentsRecover(agentId: string, options: JsonOption & { readonly above?: number }): void {
  asOperator(options, (by) => {
    const begun = recoverAgent(by, agentId, options.above ?? 0);
    if (!allowed(begun)) return;
    const { epoch, openWithdrawals } = begun;
    if (options.json === true) {
      printJson({ agentId, epoch, openWithdrawals });
      return;
    }
    print(`Recovery of ${agentId} begun: epoch ${epoch}. Whoever runs with an older one is refused from now on.`);
    print(`Open withdrawals that go with the order: ${openWithdrawals}.`);
    print("Next, on the agent's server, once status says RECOVERY_OFFERED there: node autowithdraw.js recover");
  });
}

async function health(options: JsonOption): Promise<void> {
  const answer = await askHealth(readConfig(options.config));
  if (!answer.reached) {
    complain(`cannot be reached: ${answer.text}`, "start it, or look at listen in the configuration");
    process.exitCode = exit.unreachable;
    return;
  }
  print(options.json === true ? answer.text : answer.ready ? "ready" : `not ready: ${failedChecks(answer.text)}`);
  process.exitCode = answer.ready ? exit.fine : exit.no;
}

async function check(options: JsonOption): Promise<void> {
  const findings = await checkGateway(options.config, Date.now());
  const ok = findings.every(({ severity }) => severity !== "error");
  if (options.json === true) printJson({ ok, config: options.config, findings });
  else {
    for (const { severity, code, what, hint } of findings) print(`gateway: ${severity} ${code}: ${what}; hint: ${hint}`);
    print(`gateway: ${ok ? "would start" : "would not start, or would be wrong"} (config ${options.config})`);
  }
  process.exitCode = ok ? exit.fine : exit.usage;
}

function scopeList(text: string): readonly Scope[] {
  const wanted = text.split(",").map((part) => part.trim());
  const unknown = wanted.find((part) => !(scopes as readonly string[]).includes(part));
  if (unknown !== undefined) throw new InvalidArgumentError(`known scopes: ${scopes.join(", ")}`);
  return wanted as Scope[];
}

function merchantName(text: string): string {
  if (!/^[^\p{C}]{1,64}$/u.test(text)) throw new InvalidArgumentError("1 to 64 visible characters");
  return text;
}

function epochNumber(text: string): number {
  const epoch = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (epoch < 1) throw new InvalidArgumentError("an epoch counts from 1");
  return epoch;
}

function newFile(path: string): string {
  if (existsSync(path)) throw new InvalidArgumentError("That file is there already; choose another path.");
  return path;
}

/**
 * Every command and its options; the manual is made from it too.
 * @public
 */
export function tree(): Command {
  const program = new Command("gateway")
    .description("The payment service: REST for shops, a link for their agents.")
    .version(programVersion, "--version", "print the version");
  const config = (): Option => new Option("--config <file>", "its configuration").default("gateway.config.json");
  const json = (): Option => new Option("--json", "one line of JSON");
  const withBoth = (command: Command): Command => command.addOption(config()).addOption(json());
  program
    .command("init")
    .description("make key, configuration and database")
    .requiredOption("--dir <dir>", "folder to make them in")
    .addOption(json())
    .action(init);
  program.command("start").description("run").addOption(config()).action(start);
  const merchant = program.command("merchant").description("the shops");
  withBoth(merchant.command("create").description("add one, with its first key").argument("<name>", "its name", merchantName))
    .option("--config-out <file>", "write the merchant's config.json, without its secrets", newFile)
    .addOption(new Option("--language <language>", "of messages when a request names none").choices(["en", "tr"]).default("en"))
    .action(merchantCreate);
  const key = program.command("key").description("API keys");
  withBoth(key.command("create").description("add one"))
    .requiredOption("--merchant <id>", "whose")
    .option("--scopes <list>", `of ${scopes.join(",")}`, scopeList, ["read", "deposit"])
    .addOption(
      new Option("--profile <profile>", "strict binds each token to its request")
        .choices(["compatible", "strict"])
        .default("compatible"),
    )
    .addOption(new Option("--alg <alg>", "how its tokens are signed").choices(["HS256", "EdDSA"]).default("HS256"))
    .option("--public-key <hex>", "EdDSA: your own public key, 32 bytes")
    .action(keyCreate);
  withBoth(key.command("list").description("all of them, or one merchant's; never a secret"))
    .option("--merchant <id>", "whose")
    .action(keyList);
  withBoth(key.command("revoke").description("end one, for ever").argument("<keyId>")).action(keyRevoke);
  const agents = withBoth(program.command("agents").description("the paired servers")).action(agentsList);
  withBoth(agents.command("release").description("let the merchant pair another server").argument("<agentId>"))
    .option("--unheard", "although this database may lack what it paid; the next server then holds every order for a person")
    .action((id: string, _own: unknown, command: Command) => agentsRelease(id, command.optsWithGlobals()));
  withBoth(agents.command("recover").description("begin an agent's recovery: see docs/recovering.md first").argument("<agentId>"))
    .option("--above <epoch>", "raise the epoch above this one too, as the agent's status shows it", epochNumber)
    .action((id: string, _own: unknown, command: Command) => agentsRecover(id, command.optsWithGlobals()));
  withBoth(program.command("backup").description("copy the database, also while the gateway runs"))
    .argument("<file>", "the copy to write, or with --check to read")
    .option("--check", "read a copy through and show what it holds; nothing is written")
    .option("--yes", "replace a file that is there")
    .action(backup);
  withBoth(program.command("health").description("ask the running gateway whether it is ready")).action(health);
  withBoth(program.command("check").description("look whether it would start, and start nothing; exit code 0 or 2")).action(
    check,
  );
  return program;
}

/** Commander prints usage itself; everything is told in the same two lines. */
function quiet(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => {} });
  for (const child of command.commands) quiet(child);
}

/** A service manager tries these again, and nothing else that stands in its way at the start. */
const passing: readonly string[] = ["GATEWAY_LISTEN_TAKEN", "GATEWAY_STORE_OWNED", "GATEWAY_STORE_BUSY"];

/** Says on stderr what was thrown. @returns the exit code */
function complainOf(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exit.fine;
    if (error.code === "commander.help") return exit.usage; // no subcommand: the help was printed
    complain(error.message.replace(/^error: /, ""), "see --help");
    return exit.usage;
  }
  if (error instanceof AgentError) {
    complain(error.message, codes[error.code][4].replace("<file>", String(error.context.path ?? "<file>")));
    return passing.includes(error.code) ? exit.no : exit.usage;
  }
  complain(`a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, "please report it");
  return exit.bug;
}

/**
 * What gateway.js runs; sets the exit status.
 * @public
 */
export async function main(): Promise<void> {
  // A reader such as head may have enough before all was written.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(exit.fine);
  });
  const program = tree();
  quiet(program);
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = complainOf(error);
  }
}
