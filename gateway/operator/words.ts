/**
 * The part that all groups of the operator's commands share: the common options, and the checks of
 * typed values.
 */
import { type Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { parseTimestampUtc } from "../../base/timestamp.ts";
import {
  type CsvTable,
  csvTableForPeople,
  csvTableForPrograms,
  decimalMarkByName,
  type PeopleSettings,
  peopleSettingNames,
  separatorByName,
} from "../answer/csv-cell.ts";
import { isTimeZone } from "../answer/sheet-values.ts";
import { isRemark } from "../store/audit.ts";
import { exitStatuses } from "./command.ts";

/** Gives a command `--config` and `--json`. */
export function addConfigAndJsonOptions(command: Command): Command {
  return command.addOption(configOption()).addOption(jsonOption());
}

/**
 * Like `addConfigAndJsonOptions`, for a command that changes something: the audit keeps who did.
 */
export function addActorOptions(command: Command): Command {
  return addConfigAndJsonOptions(command).option(
    "--as <name>",
    "who does it, for the audit; the login's name unless told",
    personName,
  );
}

function personName(text: string): string {
  if (!/^[^\p{C}]{1,80}$/u.test(text.trim()))
    throw new InvalidArgumentError("1 to 80 visible characters");
  return text.trim();
}

export const configOption = (): Option =>
  new Option("--config <file>", "its configuration").default("gateway.config.json");
export const jsonOption = (): Option => new Option("--json", "one line of JSON");

/** A time as an operator types it, ISO 8601 in UTC, as milliseconds since 1970. */
export function readMomentOption(text: string): number {
  const at = parseTimestampUtc(text);
  if (at === null)
    throw new InvalidArgumentError("a time in UTC: 2026-12-31 or 2026-12-31T18:00:00Z");
  return at;
}

/** A number of rows to show, 1 to 10000. */
export function readRowCount(text: string): number {
  const count = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > 10_000) throw new InvalidArgumentError("a number from 1 to 10000");
  return count;
}

/** A text that an operator leaves: a reason or a note. */
export function readRemark(text: string): string {
  if (!isRemark(text.trim()))
    throw new InvalidArgumentError("1 to 500 visible characters in one line");
  return text.trim();
}

/** When the gateway does what a row asks for; `run` is null while the gateway is stopped. */
export function describeNextPass(run: string | null): string {
  return run === null
    ? "once the gateway runs, which it does not now"
    : "in the gateway's next look at the chain";
}

export interface CsvOptions extends PeopleSettings {
  readonly csv?: "programs" | "people";
}

/** Gives a list's command its two kinds of CSV. */
export function addCsvOptions(command: Command): Command {
  const choice = (flag: string, words: string, byName: object): Option =>
    new Option(`${flag} <name>`, words).choices(Object.keys(byName));
  return command
    .addOption(
      new Option("--csv [for]", "as CSV: a table for programs or one for people's spreadsheets")
        .choices(["programs", "people"])
        .preset("programs"),
    )
    .addOption(
      choice("--separator", "of a table for people; semicolon by default", separatorByName),
    )
    .addOption(
      choice(
        "--decimal",
        "mark of numbers for people; point beside the separator comma, else comma",
        decimalMarkByName,
      ),
    )
    .option("--timezone <name>", "of the times for people; UTC by default", timeZoneName);
}

function timeZoneName(text: string): string {
  if (!isTimeZone(text)) throw new InvalidArgumentError("a name such as Europe/Istanbul or UTC");
  return text;
}

/**
 * The table that the options ask for; null without `--csv`. @throws CommanderError for a setting of
 * people's table without that table
 */
export function csvTable({ csv, ...settings }: CsvOptions): CsvTable | null {
  const given = peopleSettingNames.find((name) => settings[name] !== undefined);
  if (given !== undefined && csv !== "people")
    throw new CommanderError(exitStatuses.usage, given, `--${given} needs --csv people`);
  if (csv === undefined) return null;
  return csv === "people" ? csvTableForPeople(settings) : csvTableForPrograms;
}
