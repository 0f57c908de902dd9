/** The commands that look and change nothing. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { programFolder } from "../agent/config/location.ts";
import { type StateFolder, stateFolder } from "../agent/files/state-folder.ts";
import { exitCodes } from "../agent/launcher/exit-status.ts";
import { unpairedFault } from "../agent/launcher/paired.ts";
import { AgentError } from "../base/fault.ts";
import { parseTimestampUtc } from "../base/timestamp.ts";
import { formatTerminalSafeJson } from "../base/visible.ts";
import { type DoctorOptions, runDoctor } from "./doctor/doctor.ts";
import { realMachineAccess } from "./doctor/outside.ts";
import type { Machine } from "./machine.ts";
import { askOperator } from "./operator.ts";
import { type Progress, readProgress } from "./pair/progress.ts";
import { accountsFor } from "./pair/transcript-fields.ts";
import {
  addEncKeyOptions,
  type CommandRunner,
  type CommonOptions,
  createStateCommand,
} from "./state-command.ts";
import { type StatusOptions, showStatus } from "./status/status.ts";
import { type Terminal, tableLines } from "./terminal.ts";
import { runVerify } from "./verify.ts";
import {
  type ListOptions,
  limitFrom,
  listWithdrawals,
  showWithdrawal,
  transactionIdFrom,
} from "./withdrawals.ts";

/*
 * `check`: starts `crypto --check` for the files of this machine, in a process of its own, because
 * that process opens the keystore and this one has no key.
 */

/** Options of `crypto --check`, under the same names. */
interface CheckOptions {
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
function runCheck(
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

/*
 * `address`: prints the addresses that fund this agent, from the file that pairing wrote; needs no
 * running daemon. For a user who may not read this file, the command asks the signer, which knows
 * the accounts.
 */

interface FundedAddress {
  readonly currency: string;
  readonly network: string; // CAIP-2
  readonly contract: string; // "" for the native coin
  readonly address: string;
}

/**
 * @throws AgentError STATE_NOT_PAIRED, COMMAND_CURRENCY; COMMAND_RIGHT when this user may neither
 * read the folder nor ask the signer
 */
async function showAddress(
  state: StateFolder,
  currency: string | undefined,
  isJson: boolean,
  terminal: Terminal,
): Promise<number> {
  const progress = readable(state);
  const wanted =
    progress === "closed"
      ? await fromSigner(state, currency)
      : fromPairing(state, progress, currency);
  const [only] = wanted;
  if (isJson)
    terminal.out(
      `${formatTerminalSafeJson(currency === undefined ? { ok: true, addresses: wanted } : { ok: true, ...only })}\n`,
    );
  else if (currency !== undefined) terminal.out(`${only?.address}\n`);
  else {
    const rows = wanted.map((one) => [one.currency, one.network, one.address]);
    terminal.out(`${tableLines(["currency", "network", "address"], rows)}\n`);
  }
  return exitCodes.fine;
}

/** "closed" if the file is there, or may be, but this user may not read it. */
function readable(state: StateFolder): Progress | null | "closed" {
  try {
    return readProgress(state);
  } catch (error) {
    if (error instanceof AgentError && error.code === "COMMAND_RIGHT") return "closed";
    throw error;
  }
}

function fromPairing(
  state: StateFolder,
  progress: Progress | null,
  currency: string | undefined,
): readonly FundedAddress[] {
  if (progress === null) throw unpairedFault(state);
  const hotWallets = accountsFor(progress.wallet.accounts, "hot", progress.networks);
  const known = progress.currencies.map(({ id, network, contract }) => {
    const address = hotWallets.find(({ networks }) => networks.includes(network))?.id ?? "";
    return { currency: id, network, contract, address };
  });
  return chosen(
    known,
    currency,
    "this agent was not paired for",
    "no currency had a policy when it was paired",
  );
}

async function fromSigner(
  state: StateFolder,
  currency: string | undefined,
): Promise<readonly FundedAddress[]> {
  const { accounts, limits } = (await askOperator(state, "status", {})).status;
  const hotWallets = accounts.filter(({ deposit }) => deposit !== true);
  const known = limits.map(({ currency: id, network, contract }) => {
    const address = hotWallets.find((one) => one.network === network)?.address ?? "";
    return { currency: id, network, contract, address };
  });
  return chosen(known, currency, "this agent pays nothing in", "no currency has a policy");
}

/** All of them, or the one that is asked for. @throws AgentError COMMAND_CURRENCY */
function chosen(
  known: readonly FundedAddress[],
  currency: string | undefined,
  unknown: string,
  none: string,
): readonly FundedAddress[] {
  const wanted = currency === undefined ? known : known.filter((one) => one.currency === currency);
  if (wanted.length > 0) return wanted;
  const names = known.map((one) => one.currency).join(", ");
  const hint = known.length === 0 ? none : `its currencies: ${names}`;
  throw new AgentError("COMMAND_CURRENCY", "none", `${unknown} ${quoted(currency)}`, { hint });
}

function quoted(currency: string | undefined): string {
  return JSON.stringify(currency?.slice(0, 64) ?? "any");
}

/** A time as an operator types it, ISO 8601 in UTC, as milliseconds since 1970. */
function moment(text: string): number {
  const at = parseTimestampUtc(text);
  if (at === null)
    throw new InvalidArgumentError("A time in UTC: 2026-12-31 or 2026-12-31T18:00:00Z.");
  return at;
}

export function createReadOnlyCommands(run: CommandRunner, machine: Machine): readonly Command[] {
  return [
    createStateCommand(
      "status",
      "Whether everything works: exit code 0 yes, 1 not quite, 3 not running, 4 locked, 5 no right.",
    )
      .option("--watch", "show it again every two seconds")
      .option("--held", "only the ids that wait for an operator; exit code 1 when there are any")
      .action((options: CommonOptions & StatusOptions) =>
        run(
          (terminal) => showStatus(stateFolder(options.state), options, terminal, machine),
          options.json === true,
        ),
      ),
    createStateCommand("withdrawals", "Lists withdrawals, newest first.")
      .option("--open", "only those that are not final")
      .option("--order <orderId>", "only those of this order")
      .option("--address <address>", "only those to this address")
      .option("--since <time>", "asked for at this time or later, in UTC", moment)
      .option("--until <time>", "asked for before this time, in UTC", moment)
      .option("--limit <number>", "at most so many, 1 to 500", "20")
      .action((options: CommonOptions & Omit<ListOptions, "limit"> & { limit: string }) =>
        run(
          (terminal) =>
            listWithdrawals(
              stateFolder(options.state),
              { ...options, limit: limitFrom(options.limit) },
              terminal,
            ),
          options.json === true,
        ),
      ),
    createStateCommand("show", "Shows one withdrawal whole, with its records in the ledger.")
      .argument("<id>", "its transactionId")
      .action((id: string, options: CommonOptions) =>
        run(
          (terminal) =>
            showWithdrawal(
              stateFolder(options.state),
              transactionIdFrom(id),
              options.json === true,
              terminal,
            ),
          options.json === true,
        ),
      ),
    createStateCommand("address", "The address to send funds to.")
      .argument("[currency]", "its id, as in config.json")
      .action((currency: string | undefined, options: CommonOptions) =>
        run(
          (terminal) =>
            showAddress(stateFolder(options.state), currency, options.json === true, terminal),
          options.json === true,
        ),
      ),
    createStateCommand("verify", "Reads the whole ledger back and checks every hash.").action(
      (options: CommonOptions) =>
        run(
          (terminal) => runVerify(stateFolder(options.state), options.json === true, terminal),
          options.json === true,
        ),
    ),
  ];
}

export function doctorCommand(run: CommandRunner, machine: Machine): Command {
  return createStateCommand(
    "doctor",
    "Looks at everything around the agent that is known to go wrong: exit code 0 nothing found, 1 findings.",
  )
    .option(
      "--config <file>",
      "the config.json to look at (default: the one that the signer goes by)",
    )
    .action((options: CommonOptions & DoctorOptions) =>
      run(
        (terminal) =>
          runDoctor(stateFolder(options.state), options, terminal, {
            ...realMachineAccess,
            machine,
          }),
        options.json === true,
      ),
    );
}

export function checkCommand(run: CommandRunner): Command {
  return addEncKeyOptions(
    createStateCommand(
      "check",
      "Looks whether crypto would start and pay, and starts nothing: exit code 0 yes, 2 no.",
    ),
  ).action((options: CommonOptions & CheckOptions) =>
    run((terminal) => runCheck(options, terminal), options.json === true),
  );
}
