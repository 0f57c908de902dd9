/**
 * The command lines of the processes that hold a secret, read by Node's own parser, so that no
 * package for them is loaded beside the secret. One table gives the options, the help and, with the
 * commands of the same name, the manual. Pure.
 */
import { parseArgs } from "node:util";
import { AgentError } from "../../base/fault.ts";

export interface OptionRow {
  readonly name: string; // without the dashes
  readonly value?: string; // the name of its value; without one it is a flag
  readonly words: string;
  readonly choices?: readonly string[];
  readonly byDefault?: string;
  /** Its value is the number of an open descriptor. */
  readonly isDescriptor?: true;
}

export interface CommandTable {
  readonly name: string;
  readonly words: string;
  readonly options: readonly OptionRow[];
}

/** A request for the help, the version, or the options by their names in camel case. */
export type CommandLine =
  | { readonly is: "help" | "version" }
  | {
      readonly is: "options";
      readonly options: Readonly<Record<string, string | number | boolean>>;
    };

/** @throws AgentError COMMAND_USAGE */
export function readCommandLine({ options }: CommandTable, argv: readonly string[]): CommandLine {
  const values = parsed(options, argv);
  if (values.help === true) return { is: "help" };
  if (values.version === true) return { is: "version" };
  const read: Record<string, string | number | boolean> = {};
  for (const row of options) {
    const value = values[row.name] ?? row.byDefault;
    if (value !== undefined)
      read[camelCase(row.name)] = typeof value === "string" ? checked(row, value) : value;
  }
  return { is: "options", options: read };
}

function parsed(
  options: readonly OptionRow[],
  argv: readonly string[],
): Readonly<Record<string, string | boolean | undefined>> {
  const rows = options.map(
    ({ name, value }) => [name, { type: value === undefined ? "boolean" : "string" }] as const,
  );
  const all = Object.fromEntries([...rows, ["version", { type: "boolean" }] as const]);
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { ...all, help: { type: "boolean", short: "h" } },
      allowPositionals: false,
    });
    return values as Readonly<Record<string, string | boolean | undefined>>;
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    if (!code.startsWith("ERR_PARSE_ARGS_")) throw cause;
    // The text after the first sentence is about positional words, and there are none here.
    const [words = ""] = message.split(/\. |\n/);
    throw new AgentError(
      "COMMAND_USAGE",
      "none",
      words.charAt(0).toLowerCase() + words.slice(1),
      {},
      { cause },
    );
  }
}

function checked({ name, choices, isDescriptor }: OptionRow, value: string): string | number {
  if (isDescriptor === true) return descriptorOf(name, value);
  if (choices === undefined || choices.includes(value)) return value;
  throw new AgentError("COMMAND_USAGE", "none", `--${name} is one of ${choices.join(", ")}`);
}

function descriptorOf(name: string, text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new AgentError("COMMAND_USAGE", "none", `--${name}: a descriptor is a small number`);
}

export function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The option as it is written in a help, e.g. `--role <role>`. */
export function formatOptionFlags({ name, value }: OptionRow): string {
  return value === undefined ? `--${name}` : `--${name} <${value}>`;
}

export function helpOf({ name, words, options }: CommandTable): string {
  const shown = options.map((row) => {
    const choices =
      row.choices === undefined
        ? ""
        : ` (choices: ${row.choices.map((choice) => `"${choice}"`).join(", ")})`;
    const byDefault = row.byDefault === undefined ? "" : ` (default: "${row.byDefault}")`;
    return [formatOptionFlags(row), `${row.words}${choices}${byDefault}`] as const;
  });
  const rows = [
    ...shown,
    ["--version", "print the version"] as const,
    ["-h, --help", "display help for command"] as const,
  ];
  const width = Math.max(...rows.map(([flags]) => flags.length));
  const lines = rows.map(([flags, text]) => `  ${flags.padEnd(width)}  ${text}\n`);
  return `Usage: ${name} [options]\n\n${words}\n\nOptions:\n${lines.join("")}`;
}
