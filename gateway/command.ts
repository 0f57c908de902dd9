/**
 * The gateway's command line and process entry: `init`, `start`, `agents`, `backup`, `health`,
 * `check`, and the groups of operator/. An error is two lines; the second is a hint. Exit: 0 fine,
 * 1 a clear no or a problem that passes by itself, 2 usage or configuration, 3 not reached, 70 a
 * bug. Source: docs/gateway.md.
 */
import "../base/no-inspector.ts";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { codes, passingCauseOf } from "../base/codes.ts";
import { AgentError } from "../base/fault.ts";
import { type CommandGroups, groupedHelp } from "../base/help-groups.ts";
import { createServiceManager } from "../base/service-manager/service-manager.ts";
import { findSwallowedOption } from "../base/swallowed-option.ts";
import { dropUnread } from "../base/unread-output.ts";
import { programVersion } from "../base/version.ts";
import { type GatewayConfig, readConfig, readConfigText } from "./config/config.ts";
import { dropConfigInForce, keepConfigInForce, readConfigInForce } from "./config/in-force.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { addAuditCommands } from "./operator/audit.ts";
import { addBalancesCommand } from "./operator/balances.ts";
import { addCallbackCommands } from "./operator/callback-commands.ts";
import { addClusterCommand } from "./operator/cluster.ts";
import {
  answerSignal,
  type ConfigOption,
  exitStatuses,
  makeLog,
  printText,
  readClock,
  refuseCommand,
  runAgentsList,
  runAgentsRecover,
  runAgentsUnpair,
  runBackup,
  runCheck,
  runHealth,
  runInit,
  setJsonAnswers,
} from "./operator/command.ts";
import { addCopyCommand } from "./operator/copying.ts";
import { addCurrencyCommand } from "./operator/currencies.ts";
import { addDepositCommands } from "./operator/deposits.ts";
import { addFaultCommand } from "./operator/faults.ts";
import { addFindCommand } from "./operator/find.ts";
import { askHealth } from "./operator/health.ts";
import { addKeyCommands } from "./operator/keys.ts";
import { addMerchantCommands } from "./operator/merchants.ts";
import { addPriceCommand } from "./operator/prices.ts";
import { addReconcileCommand } from "./operator/reconcile.ts";
import { ConfigReload } from "./operator/reload.ts";
import { addReportCommand } from "./operator/report.ts";
import { addRowCommands } from "./operator/rows.ts";
import { addScanCommand } from "./operator/scan.ts";
import { addStatusCommand } from "./operator/status.ts";
import { addSweepCommands } from "./operator/sweeps.ts";
import { addWithdrawalCommands } from "./operator/withdrawals.ts";
import {
  addActorOptions,
  addConfigAndJsonOptions,
  configOption,
  jsonOption,
} from "./operator/words.ts";
import { alertReceiverWhileDown } from "./reporting/reporting.ts";
import { hasNoRoom } from "./store/disk.ts";
import { noteCrashedRow } from "./store/last-item.ts";
import { rowOfBug } from "./store/set-aside.ts";

/*
 * The gateway of this process. Takes another configuration by a start within the process: open
 * requests are answered, links end and agents connect again, as at a restart of the service, and
 * nothing that is durable changes. If the new configuration does not start, the earlier one does.
 */

interface RunningOptions {
  readonly start: (config: GatewayConfig) => Promise<Gateway>;
  /**
   * Neither the new configuration starts nor the earlier one: nothing runs, and the process ends.
   */
  readonly onLost: (error: AgentError) => void;
}

class RunningGateway {
  readonly #options: RunningOptions;
  #config: GatewayConfig;
  #gateway: Gateway;
  #turn: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(config: GatewayConfig, gateway: Gateway, options: RunningOptions) {
    this.#config = config;
    this.#gateway = gateway;
    this.#options = options;
  }

  /** Rejects as `start` does; then nothing is left running. */
  static async begin(config: GatewayConfig, options: RunningOptions): Promise<RunningGateway> {
    return new RunningGateway(config, await options.start(config), options);
  }

  /** The listening address, with the real port. */
  get url(): string {
    return this.#gateway.url;
  }

  /** As `Gateway.renewCertificate`. */
  renewCertificate(): number | null {
    return this.#gateway.renewCertificate();
  }

  /**
   * Ends the gateway and starts it with `next`. Calls wait for each other.
   * @throws AgentError why `next` does not start; the gateway then runs by the earlier one
   */
  take(next: GatewayConfig): Promise<void> {
    const taken = this.#turn.then(() => (this.#isClosed ? undefined : this.#change(next)));
    this.#turn = taken.catch(() => undefined);
    return taken;
  }

  /** Starts again with the same configuration. @throws as `take` */
  restart(): Promise<void> {
    return this.take(this.#config);
  }

  async #change(next: GatewayConfig): Promise<void> {
    const { start, onLost } = this.#options;
    await this.#gateway.close();
    try {
      this.#gateway = await start(next);
      this.#config = next;
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      try {
        this.#gateway = await start(this.#config);
      } catch (again) {
        if (!(again instanceof AgentError)) throw again;
        onLost(again);
      }
      throw error;
    }
  }

  /** Harmless to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turn;
    await this.#gateway.close();
  }
}

async function start(options: ConfigOption): Promise<void> {
  let read = readConfigText(options.config);
  const log = makeLog(read.config.logLevel);
  // A signal during the start is answered after it.
  let reload: ConfigReload | null = null;
  let isAsked = false;
  process.on("SIGHUP", () => {
    isAsked = true;
    void reload?.request();
  });
  // A standby's turn comes when its start has returned, because the call waits for the next turn.
  const takeTurn = (): void => {
    gateway.restart().catch((error: unknown) => {
      if (!(error instanceof AgentError)) throw error;
      log.error({ event: "command-fault", err: error }, "could not take over");
    });
  };
  const deps = {
    log,
    clock: readClock,
    onPoisoned: () => process.exit(exitStatuses.no),
    onTurn: () => void setImmediate(takeTurn),
  };
  const gateway = await RunningGateway.begin(read.config, {
    start: (config) => startGateway(config, deps),
    onLost: (error) => process.exit(complainOf(error)),
  });
  keepConfigInForce(options.config, read);
  reload = new ConfigReload(read.config, {
    read: () => {
      read = readConfigText(options.config);
      return read.config;
    },
    log,
    say: answerSignal,
    renewCertificate: () => gateway.renewCertificate(),
    take: (next) => gateway.take(next),
    onTaken: () => keepConfigInForce(options.config, read),
  });
  if (isAsked) void reload.request();
  printText(`gateway: listens at ${gateway.url}`);
  const manager = createServiceManager(process.env, (line) =>
    answerSignal("service-manager-away", line),
  );
  manager.ready(`listens at ${gateway.url}`);
  manager.beginAlive();
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(exitStatuses.no);
    stopping = true;
    gateway.close().then(
      () => {
        dropConfigInForce(options.config);
        process.exit(exitStatuses.fine);
      },
      (error: unknown) => {
        log.error({ event: "stop-failed", err: error }, "could not stop cleanly");
        process.exit(exitStatuses.bug);
      },
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("uncaughtException", (error) => {
    log.error({ event: "bug", err: error }, "a bug; the process ends");
    const row = rowOfBug(error);
    if (row !== null) noteCrashedRow(read.config.database, row, error, readClock());
    process.exit(exitStatuses.bug);
  });
}

/**
 * Tells of a gateway that does not run, by the receiver of the configuration that was in force, and
 * only without one by the file's own.
 */
async function alertDown(options: ConfigOption): Promise<void> {
  const config = readConfigInForce(options.config) ?? readConfig(options.config);
  if (config.alerts === null) {
    printText("the configuration names no receiver of alerts, so nobody is told");
    return;
  }
  const { database } = config;
  await alertReceiverWhileDown(config.alerts, {
    isUp: async () => (await askHealth(config)).reached,
    reason: () => {
      if (hasNoRoom(database))
        return { code: "GATEWAY_DISK_FULL", words: `the disk of ${database} is full` };
      return { code: "", words: "its journal has the reason" };
    },
    rest: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    clock: readClock,
    monotonic: () => performance.now(),
    log: makeLog(config.logLevel),
  });
}

function epochNumber(text: string): number {
  const ledgerEpoch = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (ledgerEpoch < 1) throw new InvalidArgumentError("an epoch counts from 1");
  return ledgerEpoch;
}

/** The commands as the help lists them. */
const commandGroups: CommandGroups = [
  ["Set up and run", ["init", "check", "start", "health", "alert-down", "backup", "copy"]],
  [
    "Look",
    [
      "status",
      "cluster",
      "find",
      "balances",
      "alarms",
      "audit",
      "currencies",
      "prices",
      "faults",
      "rows",
    ],
  ],
  ["Shops and their servers", ["merchant", "key", "callbacks", "agents"]],
  ["Money", ["deposits", "withdrawals", "sweeps"]],
  ["Books", ["reconcile", "report", "scan"]],
];

/** Every command and its options. The manual page is also made from this tree. */
export function buildGatewayCommands(): Command {
  const program = new Command("autowithdraw-gateway")
    .description("The payment service: REST for shops, a link for their agents.")
    .version(programVersion, "--version", "print the version");
  program
    .command("init")
    .description("make key, configuration and database")
    .requiredOption("--dir <dir>", "folder to make them in")
    .option("--database <url>", "an empty database of PostgreSQL, as the setting names it")
    .option("--database-password-file <file>", "the role's password, as the setting names it")
    .addOption(jsonOption())
    .action(runInit);
  program.command("start").description("run").addOption(configOption()).action(start);
  program
    .command("alert-down")
    .description("tell the receiver of alerts that the gateway does not run, until it does")
    .addOption(configOption())
    .action(alertDown);
  addMerchantCommands(program);
  addKeyCommands(program);
  const agents = program.command("agents").alias("agent").description("the paired servers");
  addConfigAndJsonOptions(
    agents.command("list", { isDefault: true }).description("all of them"),
  ).action(runAgentsList);
  addActorOptions(
    agents
      .command("unpair")
      .description("let the merchant pair another server")
      .argument("<agentId>"),
  )
    .option(
      "--skip-catch-up",
      "although this database may lack what it paid; the next server then holds every order for an operator",
    )
    .option(
      "--open",
      "although withdrawals or sweeps are open with it, which no other server can end",
    )
    .action((id: string, options: Parameters<typeof runAgentsUnpair>[1]) =>
      runAgentsUnpair(id, options),
    );
  addActorOptions(
    agents
      .command("recover")
      .description("begin an agent's recovery: see docs/recovering.md first")
      .argument("<agentId>"),
  )
    .option(
      "--above-epoch <epoch>",
      "raise the epoch above this one too, as the agent's status shows it",
      epochNumber,
    )
    .action((id: string, options: Parameters<typeof runAgentsRecover>[1]) =>
      runAgentsRecover(id, options),
    );
  addStatusCommand(program);
  addClusterCommand(program);
  addFindCommand(program);
  addAuditCommands(program);
  addBalancesCommand(program);
  addDepositCommands(program);
  addWithdrawalCommands(program);
  addSweepCommands(program);
  addReconcileCommand(program);
  addReportCommand(program);
  addScanCommand(program);
  addCurrencyCommand(program);
  addCopyCommand(program);
  addPriceCommand(program);
  addRowCommands(program);
  addFaultCommand(program);
  addCallbackCommands(program, addConfigAndJsonOptions);
  addConfigAndJsonOptions(
    program.command("backup").description("copy the database, also while the gateway runs"),
  )
    .argument("<file>", "the copy to write, or with --check to read")
    .option("--check", "read a copy through and show what it holds; nothing is written")
    .option("--yes", "replace a file that is there")
    .action(runBackup);
  addConfigAndJsonOptions(
    program.command("health").description("ask the running gateway whether it is ready"),
  ).action(runHealth);
  addConfigAndJsonOptions(
    program
      .command("check")
      .description(
        "look whether it would start, and start nothing; exit code 0, 1 if only something that passes by itself is against it, or 2",
      ),
  ).action(runCheck);
  program.configureHelp({ formatHelp: groupedHelp(program, commandGroups) });
  program.hook("preAction", (_, acted) => {
    const problem = findSwallowedOption(acted);
    if (problem !== null)
      throw new CommanderError(exitStatuses.usage, "commander.optionMissingArgument", problem);
  });
  return program;
}

/** Keeps commander from printing errors in its own form. */
function silence(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => {} });
  for (const child of command.commands) silence(child);
}

/**
 * Prints a thrown value on stderr.
 * @returns the exit code
 */
function complainOf(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitStatuses.fine;
    if (error.code === "commander.help") return exitStatuses.usage; // no subcommand: the help was printed
    refuseCommand(
      "COMMAND_USAGE",
      error.message.replace(/^error: /, "").replaceAll(/\s*\n\s*/g, " "),
      "see --help",
    );
    return exitStatuses.usage;
  }
  if (error instanceof AgentError) {
    const hint = codes[error.code].advice.replace("<file>", String(error.context.path ?? "<file>"));
    refuseCommand(error.code, error.message, hint);
    // A service manager starts again what passes by itself.
    return passingCauseOf(error.code) === null ? exitStatuses.usage : exitStatuses.no;
  }
  refuseCommand(
    "BUG",
    `a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    "please report it",
  );
  return exitStatuses.bug;
}

/** The entry for gateway.js. Sets the exit status; never rejects. */
export async function main(): Promise<void> {
  // Neither a running gateway nor a command that has begun may end with the reader of its lines.
  dropUnread(process.stdout, process.stderr);
  await runGatewayCommandLine(process.argv.slice(2));
}

/**
 * A group alone lists, and its list would take a mistyped command for an argument.
 * @throws CommanderError naming the commands of the group
 */
function assertKnown(program: Command, [first = "", second = "-"]: readonly string[]): void {
  const group = program.commands.find(
    (one) => one.name() === first || one.aliases().includes(first),
  );
  if (
    group === undefined ||
    group.commands.length === 0 ||
    second.startsWith("-") ||
    second === "help"
  )
    return;
  const names = group.commands.map((one) => one.name());
  if (names.includes(second)) return;
  const message = `unknown command '${first} ${second}'; there are ${names.join(", ")}`;
  throw new CommanderError(exitStatuses.usage, "commander.unknownCommand", message);
}

/**
 * Runs one command line: the words after the program's name. Sets the exit status; never rejects.
 */
export async function runGatewayCommandLine(words: readonly string[]): Promise<void> {
  const program = buildGatewayCommands();
  silence(program);
  setJsonAnswers(words.includes("--json"));
  try {
    assertKnown(program, words);
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    process.exitCode = complainOf(error);
  }
}
