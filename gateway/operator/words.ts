/**
 * The part that all groups of the operator's commands share: the common options, and the checks of
 * typed values.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { readMoment } from "../config/timestamp.ts";

/** Gives a command `--config` and `--json`. */
export function withBoth(command: Command): Command {
  return command.addOption(configOption()).addOption(jsonOption());
}

export const configOption = (): Option => new Option("--config <file>", "its configuration").default("gateway.config.json");
export const jsonOption = (): Option => new Option("--json", "one line of JSON");

/** A time as an operator types it, ISO 8601 in UTC, as milliseconds since 1970. */
export function moment(text: string): number {
  const at = readMoment(text);
  if (at === null) throw new InvalidArgumentError("a time in UTC: 2026-12-31 or 2026-12-31T18:00:00Z");
  return at;
}

/** A number of rows to show, 1 to 10000. */
export function rowCount(text: string): number {
  const count = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > 10_000) throw new InvalidArgumentError("a number from 1 to 10000");
  return count;
}

/** A text that an operator leaves: a reason or a note. */
export function remark(text: string): string {
  if (!/^[^\p{C}]{1,500}$/u.test(text.trim())) throw new InvalidArgumentError("1 to 500 visible characters in one line");
  return text.trim();
}
