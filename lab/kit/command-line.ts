/**
 * The command lines of the project's own commands, `npm run simulate` and its like: one table of
 * options gives both the reader and the text of `--help`. An unknown option ends the command with
 * 2, in one line and the usage on stderr, before anything is begun.
 */
import { parseArgs } from "node:util";

interface Option {
  readonly takes?: string; // the word for its value in the usage; without it the option is a switch
  readonly default?: string;
  readonly says: string; // "" for one that a program gives to itself: the usage leaves it out
}

type Options = Readonly<Record<string, Option>>;

type Values<O extends Options> = {
  readonly [N in keyof O]: O[N] extends { takes: string }
    ? O[N] extends { default: string }
      ? string
      : string | undefined
    : boolean;
};

interface Command<O extends Options> {
  readonly name: string; // as npm run knows it
  readonly does: string;
  readonly operands?: string; // their word in the usage; without it there are none
  readonly options: O;
}

interface Range {
  readonly least?: number; // 0
  readonly most?: number;
  readonly otherwise?: number; // true for an option without a value
}

interface CommandLine<O extends Options> {
  readonly values: Values<O>;
  readonly operands: readonly string[];
  /** The option's value, in decimal digits; anything else ends the command. */
  whole(name: keyof O & string, range?: Range): number;
  /** Ends the command with 2: one line, then the usage. */
  stop(line: string): never;
}

/**
 * Reads the arguments of this process. Ends it with 0 after `--help`, with 2 where they are not
 * what the command knows.
 */
export function readCommandLine<const O extends Options>(command: Command<O>): CommandLine<O> {
  const stop = (line: string): never => {
    process.stderr.write(`${command.name}: ${line}\n\n${usageOf(command)}`);
    return process.exit(2);
  };
  const names = Object.keys(command.options);
  const { tokens } = parseArgs({
    options: {
      ...Object.fromEntries(
        names.map((name) => [
          name,
          { type: command.options[name]?.takes === undefined ? "boolean" : "string" },
        ]),
      ),
      help: { type: "boolean", short: "h" },
    },
    ...{ strict: false, tokens: true, allowPositionals: true },
  });
  if (tokens.some((token) => token.kind === "option" && token.name === "help")) {
    process.stdout.write(usageOf(command));
    process.exit(0);
  }
  const values: Record<string, string | boolean | undefined> = {};
  for (const name of names)
    values[name] =
      command.options[name]?.takes === undefined ? false : command.options[name].default;
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") operands.push(token.value);
    if (token.kind !== "option") continue;
    if (!names.includes(token.name)) stop(`unknown option ${token.rawName}`);
    const { takes } = command.options[token.name] as Option;
    // A word that looks like an option, after an option that takes a value, is the next option: the
    // value was forgotten.
    const isGiven =
      token.value !== undefined && (token.inlineValue === true || !token.value.startsWith("-"));
    if (takes !== undefined && !isGiven)
      stop(`--${token.name} needs a value: --${token.name} ${takes}`);
    if (takes === undefined && token.value !== undefined) stop(`--${token.name} takes no value`);
    values[token.name] = token.value ?? true;
  }
  if (command.operands === undefined && operands.length > 0)
    stop(`unexpected argument ${operands[0]}`);
  const whole = (
    name: string,
    { least = 0, most = Number.MAX_SAFE_INTEGER, otherwise }: Range = {},
  ): number => {
    const text = String(values[name] ?? otherwise);
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    return stop(
      `--${name} takes a whole number from ${least} ${most === Number.MAX_SAFE_INTEGER ? "on" : `to ${most}`}`,
    );
  };
  return { values: values as Values<O>, operands, whole, stop };
}

function usageOf({ name, does, operands, options }: Command<Options>): string {
  const rows = Object.entries(options)
    .filter(([, { says }]) => says !== "")
    .map(([option, { takes, default: otherwise, says }]) => [
      takes === undefined ? `--${option}` : `--${option} ${takes}`,
      otherwise === undefined ? says : `${says} (${otherwise})`,
    ]);
  rows.push(["--help", "tells this"]);
  const width = Math.max(...rows.map(([option = ""]) => option.length)) + 2;
  const lines = rows.map(([option = "", says]) => `  ${option.padEnd(width)}${says}`);
  const line = `npm run ${name} -- [options]${operands === undefined ? "" : ` [${operands} ...]`}`;
  return `usage: ${line}\n\n${does}\n\n${lines.join("\n")}\n`;
}
