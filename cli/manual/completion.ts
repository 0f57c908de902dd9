/**
 * Completion for a shell, made from the definitions that parse the command line. Pure: definitions
 * in, a script out. Commands, options and an option's choices are completed by name, an id by
 * asking the program; every other word as a file. Sources: bash(1) Programmable Completion;
 * zshcompsys(1); fish's complete.
 */
import type { Command, Option } from "commander";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** Shell words that print values, one a line, for the first argument of a command by its words. */
export type CompletionCommands = Readonly<Record<string, string>>;

interface KnownCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly Option[];
  readonly choices: readonly string[]; // choices of its first argument
  readonly offered: string; // shell words that print them, "" if nothing does
}

export interface CompletedProgram {
  readonly program: string; // the command's name as typed
  readonly maker?: string; // the command that prints the script again
  readonly offered: CompletionCommands;
}

/**
 * The script for one shell. Only bash completes a command within a group.
 */
export function completionScript(
  shell: Shell,
  root: Command,
  { program, offered, maker = `${program} completion ${shell}` }: CompletedProgram,
): string {
  const known = root.commands.map((command) => knownOf(command, command.name(), offered));
  const within = root.commands.flatMap((group) =>
    group.commands.map((command) => knownOf(command, `${group.name()} ${command.name()}`, offered)),
  );
  if (shell === "bash") return bash(program, { known, within, maker });
  return shell === "zsh" ? zsh(program, known) : fish(program, known);
}

/** For a group, the first argument is the name of one of its commands. */
function knownOf(command: Command, name: string, offered: CompletionCommands): KnownCommand {
  return {
    name,
    description: command.description(),
    options: command.options.filter((option) => !option.hidden),
    choices: [
      ...command.commands.map((one) => one.name()),
      ...(command.registeredArguments[0]?.argChoices ?? []),
    ],
    offered: offered[name] ?? "",
  };
}

const flagsOf = ({ options }: KnownCommand): readonly string[] =>
  [...options.flatMap(({ short, long }) => [long, short ?? ""]), "--help"].filter(
    (flag) => flag !== "" && flag !== undefined,
  ) as string[];
const takesValue = (option: Option): boolean => option.required || option.optional;

/** A word of a pattern of `case`; two words need quotes. */
const pattern = (text: string): string => (text.includes(" ") ? `"${text}"` : text);

interface Script {
  readonly known: readonly KnownCommand[];
  readonly within: readonly KnownCommand[]; // in groups: "group command"
  readonly maker: string;
}

function bash(program: string, { known, within, maker }: Script): string {
  const all = [...known, ...within];
  const choices = all.flatMap(({ name, options }) =>
    options.flatMap(({ long, argChoices }) =>
      argChoices === undefined
        ? []
        : [`    ${pattern(`${name}:${long}`)}) words="${argChoices.join(" ")}" ;;`],
    ),
  );
  const values = all.flatMap((one) =>
    one.options.filter(takesValue).map(({ long }) => pattern(`${one.name}:${long}`)),
  );
  const places = all
    .filter(({ choices, offered }) => choices.length > 0 || offered !== "")
    .map(({ name, choices, offered }) => {
      const words = offered === "" ? choices.join(" ") : `$(${offered})`;
      return `      ${pattern(name)}) words="${words}" ;;`;
    });
  const groups = within.map(({ name }) => pattern(name)).join("|");
  const inner = `
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$command \${COMP_WORDS[2]}" in
    ${groups}) command="$command \${COMP_WORDS[2]}" ;;
    esac
  fi`;
  return `# Completion of ${program} for bash, made by: ${maker}
_${program}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${known.map(({ name }) => name).join(" ")} --help" -- "$current"))
    return
  fi${within.length === 0 ? "" : inner}
  case "$command:$before" in
${choices.join("\n")}
    ${values.length === 0 ? "-" : values.join("|")}) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  if [ -z "$words" ]; then
    case "$current" in
    -*)
      case "$command" in
${all.map((one) => `      ${pattern(one.name)}) words="${flagsOf(one).join(" ")}" ;;`).join("\n")}
      esac ;;
    *)
      case "$command" in
${places.join("\n")}
      *) COMPREPLY=($(compgen -f -- "$current")); return ;;
      esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o filenames -F _${program} ${program}
`;
}

/** For single quotes of zsh and fish. A colon and a bracket would end a word in zsh. */
const quoted = (text: string): string =>
  text.replaceAll("'", "’").replaceAll(/[[\]:]/g, (sign) => `\\${sign}`);

function zsh(program: string, known: readonly KnownCommand[]): string {
  const option = (one: Option): string => {
    const values = one.argChoices === undefined ? "_files" : `(${one.argChoices.join(" ")})`;
    return `      '${one.long}[${quoted(one.description)}]${takesValue(one) ? `:${quoted(one.name())}:${values}` : ""}'`;
  };
  const cases = known.map((one) => {
    const listed =
      one.choices.length === 0 ? "'*:file:_files'" : `'1:${one.name}:(${one.choices.join(" ")})'`;
    const place =
      one.offered === "" ? listed : `"1:${one.name}:{compadd -- \${=$(${one.offered})}}"`;
    return `    ${one.name}) _arguments \\\n${[...one.options.map(option), `      '--help[show what it takes]'`, `      ${place}`].join(" \\\n")} ;;`;
  });
  return `#compdef ${program}
# Completion of ${program} for zsh, made by: ${program} completion zsh
_${program}() {
  local -a commands
  commands=(
${known.map(({ name, description }) => `    '${name}:${quoted(description)}'`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join("\n")}
  esac
}
if [ "$funcstack[1]" = "_${program}" ]; then _${program} "$@"; else compdef _${program} ${program}; fi
`;
}

const firstOf = ({ offered, choices }: KnownCommand): readonly string[] => {
  if (offered !== "") return [`(${offered})`];
  return choices.length === 0 ? [] : [choices.join(" ")];
};

function fish(program: string, known: readonly KnownCommand[]): string {
  const text = (words: string): string => words.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
  const lines = known.flatMap((one) => [
    `complete -c ${program} -n __fish_use_subcommand -f -a ${one.name} -d '${text(one.description)}'`,
    ...one.options.map((option) => {
      const values =
        option.argChoices === undefined
          ? takesValue(option)
            ? " -r"
            : ""
          : ` -x -a '${option.argChoices.join(" ")}'`;
      return `complete -c ${program} -n '__fish_seen_subcommand_from ${one.name}' -l ${(option.long ?? "").replace(/^--/, "")}${values} -d '${text(option.description)}'`;
    }),
    ...firstOf(one).map(
      (words) =>
        `complete -c ${program} -n '__fish_seen_subcommand_from ${one.name}' -x -a '${words}'`,
    ),
  ]);
  return `# Completion of ${program} for fish, made by: ${program} completion fish\n${lines.join("\n")}\n`;
}
