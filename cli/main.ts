/**
 * The command tree for operators (bin `autowithdraw`): reads the command line, runs one command,
 * and turns every result into one clear line with a hint and an exit code. Reaches the agent only
 * over its operator socket.
 */
import "../base/no-inspector.ts";
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { type StateFolder, stateFolder } from "../agent/files/state-folder.ts";
import { exitCodes, exitVerdictOfError, formatExitVerdict } from "../agent/launcher/exit-status.ts";
import type { FirstSlotView } from "../agent/socket/first-slot.ts";
import { agentStateEnds } from "../agent/state-ends.ts";
import { AgentError } from "../base/fault.ts";
import { type CommandGroups, groupedHelp } from "../base/help-groups.ts";
import { findSwallowedOption } from "../base/swallowed-option.ts";
import { programVersion } from "../base/version.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { saySlot } from "../chains/families.ts";
import { slotWord } from "../chains/several-networks.ts";
import { lifetimeSecondsMax } from "../clients/typescript/signature-token.ts";
import { type BackupOptions, runBackup, runRestore } from "./backup-commands.ts";
import { commandOfStateEnd } from "./command-hint.ts";
import { readDescriptor } from "./command-of.ts";
import { type DecideOptions, runApprove, runRefuse } from "./decide.ts";
import { type EndOptions, runEnd } from "./end.ts";
import { type FreeCoinOptions, runFreeCoin } from "./free-coin.ts";
import { main as runInstall } from "./install/main.ts";
import { checkCommand, createReadOnlyCommands, doctorCommand } from "./looking.ts";
import { type Machine, thisMachine } from "./machine.ts";
import { completionScript, type Shell, shells } from "./manual/completion.ts";
import { agentIdCommands } from "./manual/offered-ids.ts";
import { type ReplacementOptions, runManualReplacement } from "./manual-replacement.ts";
import { askOperator } from "./operator.ts";
import { pairCommand } from "./pair/command.ts";
import { type PauseOptions, runPause } from "./pause.ts";
import { type RecoverOptions, runRecover } from "./recover.ts";
import { type RekeyOptions, runRekey } from "./rekey.ts";
import {
  addEncKeyOptions,
  type CommandRunner,
  type CommonOptions,
  createStateCommand,
} from "./state-command.ts";
import { fieldLines, processTerminal, type Terminal } from "./terminal.ts";
import { printToken, type TokenOptions } from "./token.ts";
import { transactionIdFrom } from "./withdrawals.ts";

/*
 * `adopt`: an operator's yes to the first slot of an account whose transactions the chain has
 * already counted. Shows the nodes' counts and the effect of a yes; the signer begins only if both
 * give the same number.
 */

interface AdoptOptions {
  readonly yes?: string | undefined; // the slot that was shown
  readonly address?: string | undefined; // for deposits, the address of a sweep
  readonly json?: boolean | undefined;
}

/**
 * @throws AgentError with the signer's code for a no; COMMAND_USAGE, COMMAND_DECLINED,
 * COMMAND_DAEMON_AWAY
 */
async function runAdopt(
  state: StateFolder,
  chain: string,
  options: AdoptOptions,
  terminal: Terminal,
): Promise<number> {
  const of = options.address === undefined ? { chain } : { chain, address: options.address };
  const { first } = await askOperator(state, "adopt", { ...of, slot: "" });
  if (options.json !== true) terminal.out(describe(first));
  if (first.isBegun) return done(first, options, terminal, "nothing to adopt");
  if (first.counted === "") {
    throw new AgentError(
      "ACCOUNT_NOT_ADOPTED",
      "none",
      "the nodes have not agreed on a count yet",
      {
        hint: "wait until the gateway's link is up and the nodes answer: status",
      },
    );
  }
  if (first.adopted === first.counted) return done(first, options, terminal, "nothing to adopt");
  const slot = options.yes ?? first.counted;
  if (options.yes === undefined) await confirmed(first, terminal);
  const answer = await askOperator(state, "adopt", { ...of, slot });
  return done(
    answer.first,
    options,
    terminal,
    `adopted: the first withdrawal gets ${saySlot(first.network, slot)}`,
  );
}

async function confirmed(
  { chain, network, counted }: FirstSlotView,
  terminal: Terminal,
): Promise<void> {
  if (!terminal.isInteractive) {
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      "adopt asks for a yes on a terminal, and this is none",
      {
        hint: `when a block explorer counts as many: ${commandOfStateEnd(agentStateEnds.courier.firstSlot, { CHAIN: chain })} --yes ${counted}`,
      },
    );
  }
  if (!(await terminal.confirm(`begin at ${saySlot(network, counted)}? (yes/no) `)))
    throw new AgentError("COMMAND_DECLINED", "none", "not answered with yes: nothing was changed");
}

function describe({
  chain,
  network,
  account,
  adopted,
  isBegun,
  counted,
  quorum,
}: FirstSlotView): string {
  const begins =
    adopted === ""
      ? "not known yet"
      : isBegun
        ? `${adopted}, and payments were made`
        : `${adopted}, not used yet`;
  const says =
    counted === ""
      ? "nothing yet"
      : `${saySlot(network, counted)} next (${quorum} nodes, as the courier says)`;
  const word = slotWord([network]);
  const rows = [
    ["chain", `${chain} (${network})`],
    ["account", account],
    [`begins at ${word}`, begins],
    ["nodes count", says],
  ] as const;
  const warning = [
    `compare the count with a block explorer: a first ${word} above the true count`,
    "holds up every payment of this account. Where an earlier ledger of this wallet",
    "exists, or this one was restored from a copy, do not adopt: docs/recovering.md",
  ];
  return `${fieldLines(rows)}\n${isBegun ? "" : `\n${warning.join("\n")}\n`}`;
}

function done(
  first: FirstSlotView,
  options: AdoptOptions,
  terminal: Terminal,
  text: string,
): number {
  terminal.out(
    options.json === true ? `${formatTerminalSafeJson({ ok: true, first })}\n` : `${text}\n`,
  );
  return exitCodes.fine;
}

const helpWidth = 80;

function lifetime(text: string): number {
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= lifetimeSecondsMax) return seconds;
  throw new InvalidArgumentError(`Seconds, 1 to ${lifetimeSecondsMax}.`);
}

const approverHelp = "who decides, as the ledger will say (this user's name unless given)";

function decidingCommands(run: CommandRunner): readonly Command[] {
  return [
    createStateCommand("approve", "Lets a held withdrawal be paid, after showing all of it.")
      .argument("<id>", "its transactionId")
      .option("--address <address>", "where to pay, for a withdrawal that has no address yet")
      .option("--as <name>", approverHelp)
      .option("--yes", "do not ask")
      .action((id: string, options: CommonOptions & DecideOptions) =>
        run(
          (terminal) =>
            runApprove(stateFolder(options.state), transactionIdFrom(id), options, terminal),
          options.json === true,
        ),
      ),
    createStateCommand("refuse", "Refuses a held withdrawal for good.")
      .alias("reject")
      .argument("<id>", "its transactionId")
      .option("--as <name>", approverHelp)
      .option("--yes", "do not ask")
      .action((id: string, options: CommonOptions & DecideOptions) =>
        run(
          (terminal) =>
            runRefuse(stateFolder(options.state), transactionIdFrom(id), options, terminal),
          options.json === true,
        ),
      ),
  ];
}

function adoptCommand(run: CommandRunner): Command {
  return createStateCommand(
    "adopt",
    "For an account that was used before pairing: starts counting its nonces where the chain stands, after your yes.",
  )
    .argument("<chain>", "its name, as in config.json")
    .option("--address <address>", "a deposit address that is swept; the hot wallet unless named")
    .option("--yes <slot>", "do not ask: the count that was shown")
    .action((chain: string, options: CommonOptions & AdoptOptions) =>
      run(
        (terminal) => runAdopt(stateFolder(options.state), chain, options, terminal),
        options.json === true,
      ),
    );
}

function replacementCommand(
  run: CommandRunner,
  act: "replace" | "cancel",
  description: string,
): Command {
  return createStateCommand(act, description)
    .argument("<id>", "its transactionId")
    .option(
      "--max-fee <price>",
      "most per unit of computation (default: what the fee market wants and at least twice the attempt before, within the limits)",
    )
    .option("--tip <price>", "the tip per unit of computation (default: likewise)")
    .option(
      "--compute-limit <number>",
      "the compute limit (default: as before; a cancel has the least)",
    )
    .option(
      "--data-fee <price>",
      "what a rollup may bill for data beside the computation (default: as before)",
    )
    .option("--as <name>", approverHelp)
    .option("--yes", "do not ask")
    .action((id: string, options: CommonOptions & ReplacementOptions) =>
      run(
        (terminal) =>
          runManualReplacement(
            stateFolder(options.state),
            act,
            transactionIdFrom(id),
            options,
            terminal,
          ),
        options.json === true,
      ),
    );
}

function endCommand(run: CommandRunner): Command {
  return createStateCommand(
    "end",
    "Ends a withdrawal that no block takes, after showing what its bytes may still do.",
  )
    .argument("<id>", "its transactionId")
    .option("--as <name>", approverHelp)
    .option("--yes", "do not ask")
    .action((id: string, options: CommonOptions & EndOptions) =>
      run(
        (terminal) => runEnd(stateFolder(options.state), transactionIdFrom(id), options, terminal),
        options.json === true,
      ),
    );
}

function freeCommand(run: CommandRunner): Command {
  return createStateCommand(
    "free",
    "Lets a coin pay again that a closed withdrawal has spent, when the chain undid that; after your yes.",
  )
    .argument("<chain>", "its name, as in config.json")
    .argument("<coin>", "TXID:INDEX of the coin")
    .option("--as <name>", approverHelp)
    .option("--yes", "do not ask")
    .action((chain: string, coin: string, options: CommonOptions & FreeCoinOptions) =>
      run(
        (terminal) => runFreeCoin(stateFolder(options.state), { chain, coin }, options, terminal),
        options.json === true,
      ),
    );
}

function pauseCommand(run: CommandRunner, act: "pause" | "resume", description: string): Command {
  const command = createStateCommand(act, description).option(
    "--network <chain>",
    "a chain's name in config.json: first payments there alone",
  );
  // The signer alone stops a currency.
  if (act === "resume")
    command.option(
      "--currency <id>",
      "a currency that the signer stopped: first payments in it alone",
    );
  return command
    .option("--as <name>", approverHelp)
    .option("--yes", "do not ask")
    .action((options: CommonOptions & PauseOptions) =>
      run(
        (terminal) => runPause(stateFolder(options.state), act, options, terminal),
        options.json === true,
      ),
    );
}

function helpingCommands(run: CommandRunner): readonly Command[] {
  return [
    replacementCommand(
      run,
      "replace",
      "Signs a sent withdrawal again with a higher fee (same nonce, so it is paid once), after your yes.",
    ),
    replacementCommand(
      run,
      "cancel",
      "Tries to stop a sent withdrawal: pays nothing to yourself on the same nonce. The chain takes one of the two.",
    ),
    endCommand(run),
    freeCommand(run),
    pauseCommand(
      run,
      "pause",
      "Stops new signatures until resume, or first ones on one chain; what is signed goes on.",
    ),
    pauseCommand(
      run,
      "resume",
      "Lets the signer sign again after pause, or where it stopped itself: on a chain, in a currency.",
    ),
  ];
}

function recoverCommand(run: CommandRunner): Command {
  return addEncKeyOptions(
    createStateCommand(
      "recover",
      "Shows the plan of a recovery that the gateway ordered, and carries it out after your yes (docs/recovering.md).",
    ),
  )
    .option(
      "--yes <digest>",
      "do not ask: the digest that was shown; with --finish and --new-ledger the agent's id",
    )
    .option(
      "--both-restored",
      "the gateway was restored too: every withdrawal without a slot is held for an operator",
    )
    .option(
      "--uncounted <chain...>",
      "go on without the count of a chain of which no node answers, or ever will again",
    )
    .option("--finish", "end that: policy approves by itself again")
    .option(
      "--new-ledger",
      "begin a new, locked ledger where the old one is gone or unreadable; crypto must not run",
    )
    .action((options: CommonOptions & RecoverOptions) =>
      run(
        (terminal) => runRecover(stateFolder(options.state), options, terminal),
        options.json === true,
      ),
    );
}

function keepingCommands(run: CommandRunner): readonly Command[] {
  return [
    addEncKeyOptions(
      createStateCommand("rekey", "Seals the keystore under another encKey; crypto must not run."),
    )
      .option("--new-enc-key-file <file>", "read the new encKey from this file, mode 0600")
      .option(
        "--new-enc-key-fd <number>",
        "read the new one from this open descriptor",
        readDescriptor,
      )
      .option("--make-enc-key <file>", "make a new one and write it into this new file, mode 0600")
      .action((options: CommonOptions & RekeyOptions) =>
        run(
          (terminal) => runRekey(stateFolder(options.state), options, terminal),
          options.json === true,
        ),
      ),
    addEncKeyOptions(
      createStateCommand(
        "backup",
        "Copies keystore, link, ledger and config.json into one sealed file, also while crypto runs.",
      ),
    )
      .argument("<file>", "the file to write, or with --check to read")
      .option(
        "--without-keys",
        "ledger and config.json alone, readable by anybody and with nothing secret in it",
      )
      .option("--check", "read a backup through and show what is in it; nothing is written")
      .option("--yes", "replace a file that is there")
      .action((file: string, options: CommonOptions & BackupOptions) =>
        run(
          (terminal) => runBackup(stateFolder(options.state), file, options, terminal),
          options.json === true,
        ),
      ),
    addEncKeyOptions(
      createStateCommand(
        "restore",
        "Puts a backup into an empty state folder, never over anything.",
      ),
    )
      .argument("<file>", "the backup")
      .action((file: string, options: CommonOptions & BackupOptions) =>
        run(
          (terminal) => runRestore(stateFolder(options.state), file, options, terminal),
          options.json === true,
        ),
      ),
  ];
}

function tokenCommand(run: CommandRunner): Command {
  return createStateCommand(
    "token",
    "Makes one signatureToken; the shop's key comes over stdin unless a file is named.",
  )
    .option("--api-key-file <file>", "read the shop's key from this file, mode 0600")
    .addOption(
      new Option("--profile <profile>", "what the token is bound to")
        .choices(["compatible", "strict"])
        .default("compatible"),
    )
    .addOption(
      new Option("--alg <algorithm>", "as the key was made")
        .choices(["HS256", "EdDSA"])
        .default("HS256"),
    )
    .option("--method <method>", "strict: the request's method")
    .option("--path <path>", "strict: the request's path from /api on, query included")
    .option("--body <text>", "strict: the request's exact body")
    .option("--body-file <file>", "strict: the file with the request's exact body")
    .option("--audience <origin>", "the gateway's publicUrl")
    .option("--lifetime <seconds>", "how long it is good for", lifetime, 60)
    .action((options: TokenOptions) =>
      run((terminal) => printToken(options, terminal), options.json === true),
    );
}

/**
 * Named here only for the help: their own program reads the rest, because on a bare server it runs
 * without any package.
 */
function installingCommands(ended: (exitCode: number) => void): readonly Command[] {
  const named = (name: string, description: string): Command =>
    new Command(name)
      .description(description)
      .argument("[options...]")
      .helpOption(false)
      .allowUnknownOption()
      .action(async (words: readonly string[]) => ended(await runInstall([name, ...words])));
  return [
    named("install", "Installs this copy as a service, as root (docs/install.md)."),
    named("upgrade", "As install, from a newer release; restarts what runs."),
    named("uninstall", "Removes the service; leaves ledger, keys and configuration."),
  ];
}

function completionCommand(run: CommandRunner, root: () => Command): Command {
  return new Command("completion")
    .description(
      "Prints what makes a shell complete these commands: source it from the shell's start-up file.",
    )
    .addArgument(new Argument("<shell>", "which shell").choices(shells))
    .action((shell: Shell) =>
      run((terminal) => {
        terminal.out(
          completionScript(shell, root(), { program: "autowithdraw", offered: agentIdCommands }),
        );
        return exitCodes.fine;
      }, false),
    );
}

/** Every command with its options, for the manual and completion; runs nothing. */
export function commandTree(): Command {
  const nothing: World = {
    run: async () => {},
    ended: () => {},
    terminal: { out: () => {} },
    machine: thisMachine,
  };
  return program(nothing);
}

/** The commands as the help lists them. */
const commandGroups: CommandGroups = [
  ["Set up", ["install", "upgrade", "uninstall", "pair", "check"]],
  ["Look", ["status", "withdrawals", "show", "address", "doctor", "verify"]],
  ["Decide", ["approve", "refuse", "pause", "resume"]],
  ["Unblock a payment or an account", ["replace", "cancel", "end", "free", "adopt"]],
  ["Keep and recover", ["backup", "restore", "rekey", "recover"]],
  ["For programs and shells", ["token", "completion"]],
];

interface World {
  readonly run: CommandRunner;
  readonly ended: (exitCode: number) => void;
  readonly terminal: Pick<Terminal, "out">;
  readonly machine: Machine;
}

function program({ run, ended, terminal, machine }: World): Command {
  const root = new Command("autowithdraw")
    .description("Commands of the withdrawal agent on this server.")
    .version(programVersion, "--version", "print the version")
    .addHelpText(
      "after",
      "\nExit codes: 0 fine, 1 a clear no, 2 wrong usage or configuration,\n3 not reachable, 4 locked, 5 a right is missing, 70 a bug.",
    );
  const commands = [
    ...[
      ...installingCommands(ended),
      pairCommand(run),
      ...createReadOnlyCommands(run, machine),
      doctorCommand(run, machine),
    ],
    ...[...decidingCommands(run), ...helpingCommands(run), adoptCommand(run), recoverCommand(run)],
    ...[checkCommand(run), ...keepingCommands(run), tokenCommand(run)],
    completionCommand(run, () => root),
  ];
  for (const command of [root, ...commands]) {
    command
      .allowExcessArguments(false)
      .exitOverride()
      .configureOutput({
        writeOut: (text) => terminal.out(text),
        writeErr: () => {},
        getOutHelpWidth: () => helpWidth,
      });
  }
  for (const command of commands) root.addCommand(command);
  root.configureHelp({ formatHelp: groupedHelp(root, commandGroups) });
  root.hook("preAction", (_, acted) => {
    const problem = findSwallowedOption(acted);
    if (problem !== null) throw usage(problem);
  });
  return root;
}

/** Runs one command line; resolves with its exit code. */
export async function runCommand(
  argv: readonly string[],
  terminal: Terminal,
  machine: Machine = thisMachine,
): Promise<number> {
  let exitCode: number = exitCodes.fine;
  const fail = (error: unknown, isJson: boolean): void => {
    const verdict = exitVerdictOfError(error);
    if (isJson) {
      const { code, message, hint } = verdict;
      terminal.out(`${formatTerminalSafeJson({ ok: false, code, message, hint })}\n`);
    }
    terminal.err(formatExitVerdict(verdict, argv[0] === "pair" ? "pair" : "autowithdraw"));
    exitCode = verdict.exitCode;
  };
  const run: CommandRunner = async (act, isJson) => {
    try {
      exitCode = await act(terminal);
    } catch (error) {
      fail(error, isJson);
    }
  };
  const ended = (code: number): void => {
    exitCode = code;
  };
  const root = program({ run, ended, terminal, machine });
  try {
    if (argv.length === 0) throw usage("no command given");
    await root.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) fail(error, argv.includes("--json"));
    else if (error.exitCode !== 0) fail(usage(error.message), argv.includes("--json"));
  }
  return exitCode;
}

/** Commander's own text, as one line without its prefix. */
function usage(message: string): AgentError {
  const words = message
    .replace(/^error: /, "")
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
  return new AgentError(
    "COMMAND_USAGE",
    "none",
    words === "(outputHelp)" ? "no command given" : words,
  );
}

/** The entry point of autowithdraw.js. */
export function main(argv: readonly string[]): Promise<number> {
  return runCommand(argv, processTerminal());
}
