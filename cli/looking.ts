/** The commands that look and change nothing. */
import { type Command, InvalidArgumentError } from "commander";
import { stateFolder } from "../agent/files/state-folder.ts";
import { readMoment } from "../base/timestamp.ts";
import { showAddress } from "./address.ts";
import { type CheckOptions, runCheck } from "./check.ts";
import { type DoctorOptions, runDoctor } from "./doctor/doctor.ts";
import { thisOutside } from "./doctor/outside.ts";
import type { Machine } from "./machine.ts";
import { type CommandRunner, type CommonOptions, onState, withEncKey } from "./state-command.ts";
import { type StatusOptions, showStatus } from "./status/status.ts";
import { runVerify } from "./verify.ts";
import {
  type ListOptions,
  limitFrom,
  listWithdrawals,
  showWithdrawal,
  transactionIdFrom,
} from "./withdrawals.ts";

/** A time as an operator types it, ISO 8601 in UTC, as milliseconds since 1970. */
function moment(text: string): number {
  const at = readMoment(text);
  if (at === null)
    throw new InvalidArgumentError("A time in UTC: 2026-12-31 or 2026-12-31T18:00:00Z.");
  return at;
}

export function lookingCommands(run: CommandRunner, machine: Machine): readonly Command[] {
  return [
    onState(
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
    onState("withdrawals", "Lists withdrawals, newest first.")
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
    onState("show", "Shows one withdrawal whole, with its records in the ledger.")
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
    onState("address", "The address to send funds to.")
      .argument("[currency]", "its id, as in config.json")
      .action((currency: string | undefined, options: CommonOptions) =>
        run(
          (terminal) =>
            showAddress(stateFolder(options.state), currency, options.json === true, terminal),
          options.json === true,
        ),
      ),
    onState("verify", "Reads the whole ledger back and checks every hash.").action(
      (options: CommonOptions) =>
        run(
          (terminal) => runVerify(stateFolder(options.state), options.json === true, terminal),
          options.json === true,
        ),
    ),
  ];
}

export function doctorCommand(run: CommandRunner, machine: Machine): Command {
  return onState(
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
          runDoctor(stateFolder(options.state), options, terminal, { ...thisOutside, machine }),
        options.json === true,
      ),
    );
}

export function checkCommand(run: CommandRunner): Command {
  return withEncKey(
    onState(
      "check",
      "Looks whether crypto would start and pay, and starts nothing: exit code 0 yes, 2 no.",
    ),
  ).action((options: CommonOptions & CheckOptions) =>
    run((terminal) => runCheck(options, terminal), options.json === true),
  );
}
