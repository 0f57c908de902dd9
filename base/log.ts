/**
 * The one form of a log line in all processes: a JSON object with `at`, `level`, `process`,
 * `event`, `message` and a context. If the journal reads the line, its priority stands before the
 * object. Pure: the caller writes the lines. Sources: sd-daemon(3) for the prefixes,
 * systemd.exec(5) for JOURNAL_STREAM; docs/events.md.
 */
import type { Level } from "./event-row.ts";
import type { agentEvents } from "./events.ts";
import type { gatewayEvents } from "./events-gateway.ts";

type Table = Readonly<Record<string, { readonly level: Level }>>;

/** The names of a table's events at one level. */
type NamesAt<T extends Table, L extends Level> = {
  [N in keyof T]: T[N]["level"] extends L ? N : never;
}[keyof T];

/** A call's context. The keys of the form itself are not allowed in it. */
interface Context<E> {
  readonly event: E;
  readonly at?: never;
  readonly level?: never;
  readonly process?: never;
  readonly message?: never;
  readonly [name: string]: unknown;
}

type LogWriter<E> = (context: Context<E>, message: string) => void;

/**
 * A pino logger as our modules see it. A call with an event of another level than the table's does
 * not compile.
 */
type EventLog<T extends Table> = { readonly [L in Level]: LogWriter<NamesAt<T, L>> };

export type AgentLog = EventLog<typeof agentEvents>;
export type GatewayLog = EventLog<typeof gatewayEvents>;

export type ProcessName = "signer" | "courier" | "gateway" | "crypto";

/** Longest text of a context; longer ones are cut. */
const textCharactersMax = 512;
const digits: Readonly<Record<string, number>> = { debug: 7, info: 6, warn: 4, error: 3 };

/**
 * A line for a process without a pino logger, without a newline at its end. The form's own keys
 * replace equal keys of the context.
 */
export function formatLogLine(
  form: {
    readonly at: number; // Unix milliseconds
    readonly level: Level;
    readonly process: ProcessName;
    readonly event: string;
    readonly message: string;
  },
  context: Readonly<Record<string, unknown>> = {},
): string {
  const { at, level, process, event, message } = form;
  const own = { at: new Date(at).toISOString(), level, process, event, message };
  const rest = Object.entries(context).filter(([name]) => !Object.hasOwn(own, name));
  const cut = rest.map(([name, value]) => [
    name,
    typeof value === "string" ? value.slice(0, textCharactersMax) : value,
  ]);
  return JSON.stringify({ ...own, ...Object.fromEntries(cut) });
}

/** Options by which pino writes the same form. `clock` in Unix milliseconds. */
export function pinoLineOptions(process: ProcessName, clock: () => number) {
  return {
    base: { process },
    messageKey: "message",
    timestamp: () => `,"at":"${new Date(clock()).toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label === "fatal" ? "error" : label }) },
  };
}

/** The journal's prefix for a level: `<3>` to `<7>`. An unknown level counts as an error. */
export function priorityOf(level: unknown): string {
  return `<${digits[String(level)] ?? 3}>`;
}

/** Pino writes the level first. */
const levelPattern = /^\{"level":"(debug|info|warn|error)"/;

/** Puts the priority in front of a line of pino. */
export function withPriority(line: string): string {
  return priorityOf(levelPattern.exec(line)?.[1]) + line;
}

/**
 * True if this device and inode are the stream that the service manager connected to the journal.
 * `variable` is $JOURNAL_STREAM. Its presence proves nothing, because a child with another stderr
 * inherits the variable too.
 */
export function isJournalStream(
  variable: string | undefined,
  stream: { readonly dev: number | bigint; readonly ino: number | bigint },
): boolean {
  return variable === `${stream.dev}:${stream.ino}`;
}
