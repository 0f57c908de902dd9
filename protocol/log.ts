/**
 * The one form of a log line in all processes: one JSON object with `at`, `level`, `process`, `event`, `message` and a context, and
 * before it, where the journal reads, the priority it knows. Pure: lines go out elsewhere.
 * Sources: sd-daemon(3) for the prefixes, systemd.exec(5) for JOURNAL_STREAM; docs/events.md.
 */
import type { agentEvents, gatewayEvents, Level } from "./events.ts";

type Table = Readonly<Record<string, readonly [string, Level, string, string]>>;

/** Events of a table at one level. */
type NamesAt<T extends Table, L extends Level> = { [N in keyof T]: T[N][1] extends L ? N : never }[keyof T];

/** A call's context: the keys of the form itself are not for it. */
interface Context<E> {
  readonly event: E;
  readonly at?: never;
  readonly level?: never;
  readonly process?: never;
  readonly message?: never;
  readonly [name: string]: unknown;
}

type Say<E> = (context: Context<E>, message: string) => void;

/** A pino logger as our rooms use it: an event that the table does not have at this level does not compile. */
type EventLog<T extends Table> = { readonly [L in Level]: Say<NamesAt<T, L>> };

/** @public */
export type AgentLog = EventLog<typeof agentEvents>;
/** @public */
export type GatewayLog = EventLog<typeof gatewayEvents>;

/** @public */
export type ProcessName = "signer" | "courier" | "gateway" | "crypto";

/** Texts of a context are cut at this many characters. */
const textMax = 512;
const digits: Readonly<Record<string, number>> = { debug: 7, info: 6, warn: 4, error: 3 };

/**
 * One line, without a newline, of a process that has no logger of its own. The form's own keys win over a context's.
 * @public
 */
export function logLine(
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
  const cut = rest.map(([name, value]) => [name, typeof value === "string" ? value.slice(0, textMax) : value]);
  return JSON.stringify({ ...own, ...Object.fromEntries(cut) });
}

/**
 * What makes pino write the same form.
 * @public
 */
export function lineOptions(process: ProcessName, clock: () => number) {
  return {
    base: { process },
    messageKey: "message",
    timestamp: () => `,"at":"${new Date(clock()).toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label === "fatal" ? "error" : label }) },
  };
}

/**
 * What the journal reads before a line of this level; a line that is none of ours counts as an error.
 * @public
 */
export function priorityOf(level: unknown): string {
  return `<${digits[String(level)] ?? 3}>`;
}

/** The level of a line as pino writes it. */
const levelPattern = /^\{"level":"(debug|info|warn|error)"/;

/**
 * A line of pino with its priority before it.
 * @public
 */
export function withPriority(line: string): string {
  return priorityOf(levelPattern.exec(line)?.[1]) + line;
}

/**
 * Whether the stream with this device and inode is the one that the service manager connected to the journal: the variable alone is
 * inherited by whoever was started with another stderr. `variable` is $JOURNAL_STREAM.
 * @public
 */
export function isJournalStream(
  variable: string | undefined,
  stream: { readonly dev: number | bigint; readonly ino: number | bigint },
): boolean {
  return variable === `${stream.dev}:${stream.ino}`;
}
