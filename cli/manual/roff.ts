/**
 * A manual page, made from the definitions that parse the command line, so nothing is written
 * twice. Pure: definitions in, roff out. Source: man(7), groff_man(7).
 */
import type { Argument, Command, Option } from "commander";

/** A term of a list, and its meaning. */
export type ListTerm = readonly [term: string, meaning: string];

export interface ManualFields {
  readonly program: string; // as typed
  readonly version: string;
  readonly exitCodes: readonly ListTerm[];
  readonly files: readonly ListTerm[];
  readonly environment: readonly ListTerm[];
  /** Lines to type, each with its purpose. */
  readonly examples: readonly ListTerm[];
  readonly seeAlso: readonly string[]; // other pages, such as crypto(1)
}

/** The page of a program with all of its commands. */
export function manualPage(root: Command, fields: ManualFields): string {
  const { program, version, exitCodes, files, environment, examples, seeAlso } = fields;
  const commands = leavesOf(root, program);
  const lines = [
    `.TH ${inRoff(program).toUpperCase()} 1 "" "${inRoff(program)} ${inRoff(version)}" "autowithdraw"`,
    ".SH NAME",
    `${inRoff(program)} \\- ${inRoff(root.description().replace(/\.$/, ""))}`,
    ".SH SYNOPSIS",
    ".nf", // Each form stands on its own line, long ones too.
    ...commands.map(
      ({ words, command }) => `\\fB${inRoff(words)}\\fR ${inRoff(operandsOf(command))}`,
    ),
    ".fi",
    ...(commands.length === 1 && commands[0]?.command === root
      ? optionsSection(root)
      : commandsSection(commands)),
    ...listSection("EXIT STATUS", exitCodes),
    ...listSection("FILES", files),
    ...listSection("ENVIRONMENT", environment),
    ...examplesSection(examples),
    ".SH SEE ALSO",
    seeAlso.map(inRoff).join(", "),
  ];
  return `${lines.join("\n")}\n`;
}

/** A command that runs by itself, and the words to type. */
interface Leaf {
  readonly words: string;
  readonly command: Command;
}

/**
 * The commands that run. A command with subcommands runs only if it takes options, as `agents`
 * does.
 */
function leavesOf(command: Command, words: string): readonly Leaf[] {
  const inner = command.commands.flatMap((child) => leavesOf(child, `${words} ${child.name()}`));
  return inner.length === 0 || command.options.length > 0 ? [{ words, command }, ...inner] : inner;
}

function listSection(title: string, told: readonly ListTerm[]): readonly string[] {
  return [
    `.SH ${title}`,
    ...told.flatMap(([term, meaning]) => [".TP", `.B ${inRoff(term)}`, inRoff(meaning)]),
  ];
}

/** The purpose comes first, then the line, which is never broken. */
function examplesSection(told: readonly ListTerm[]): readonly string[] {
  const lines = told.flatMap(([line, purpose]) => [
    inRoff(purpose),
    ".PP",
    ".nf",
    `\\fB${inRoff(line)}\\fR`,
    ".fi",
    ".PP",
  ]);
  return [".SH EXAMPLES", ...lines.slice(0, -1)];
}

function operandsOf(command: Command): string {
  const operands = command.registeredArguments.map((each) =>
    each.required ? `<${each.name()}>` : `[${each.name()}]`,
  );
  return [...operands, "[options]"].join(" ");
}

function optionsSection(command: Command): readonly string[] {
  return [".SH OPTIONS", ...optionLines(command)];
}

function commandsSection(commands: readonly Leaf[]): readonly string[] {
  return [
    ".SH COMMANDS",
    ...commands.flatMap(({ words, command }) => [
      `.SS "${inRoff(`${words} ${command.registeredArguments.map((each) => `<${each.name()}>`).join(" ")}`.trim())}"`,
      inRoff(command.description()),
      ...command.registeredArguments
        .filter((each) => each.description !== "")
        .flatMap(argumentLines),
      ...optionLines(command),
    ]),
  ];
}

function argumentLines(argument: Argument): readonly string[] {
  return [".TP", `.I ${inRoff(argument.name())}`, inRoff(argument.description)];
}

function optionLines(command: Command): readonly string[] {
  return command.options
    .filter((option) => !option.hidden)
    .flatMap((option) => [".TP", `.B ${inRoff(option.flags)}`, inRoff(describeOption(option))]);
}

/** The description of an option with its choices and its default. */
export function describeOption(option: Option): string {
  const choices =
    option.argChoices === undefined ? "" : ` (one of ${option.argChoices.join(", ")})`;
  const value =
    option.defaultValueDescription ??
    (Array.isArray(option.defaultValue) ? option.defaultValue.join(",") : option.defaultValue);
  const isTold = value === undefined || value === false || option.description.includes("(default:");
  return `${option.description}${choices}${isTold ? "" : ` (default: ${String(value)})`}`;
}

/** Escapes a backslash, a hyphen and a line's first dot or quote, which are roff's own signs. */
function inRoff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replace(/^([.'])/, "\\&$1");
}
