/**
 * The three ways a thing can go other than well, kept apart everywhere (docs/errors.md): a refusal
 * is an expected no and a value; a fault is the world failing and an error; a bug is a broken
 * invariant and a crash.
 */
import type { Code } from "./codes.ts";

/**
 * Did the outside act happen? none: may be tried again; done: go on; unknown: look before anything
 * else.
 * @public
 */
export type Effect = "none" | "done" | "unknown";

/**
 * An expected no. Crosses wires as its code alone.
 * @public
 */
export interface Refusal {
  readonly ok: false;
  readonly code: Code;
  readonly detail?: string; // for the operator; never a secret
}

/** @public */
export function refuse(code: Code, detail?: string): Refusal {
  return detail === undefined ? { ok: false, code } : { ok: false, code, detail };
}

/**
 * The world failed. `context` is safe to print: never a key, seed, mnemonic, passphrase or API
 * secret.
 * @public
 */
export class AgentError extends Error {
  readonly code: Code;
  readonly effect: Effect;
  readonly context: Readonly<Record<string, string | number | boolean>>;

  constructor(
    code: Code,
    effect: Effect,
    message: string,
    context: Readonly<Record<string, string | number | boolean>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "AgentError";
    this.code = code;
    this.effect = effect;
    this.context = context;
  }
}

/**
 * The same fault, its message beginning with the file or folder it is about; one that names it, and
 * anything else, as it is.
 * @public
 */
export function aboutFile(path: string, error: unknown): unknown {
  if (!(error instanceof AgentError) || error.message.includes(path)) return error;
  const { code, effect, message, context, cause } = error;
  return new AgentError(code, effect, `${path}: ${message}`, context, { cause });
}

/**
 * What `act` gives; a fault of it names the file or folder it is about.
 * @public
 */
export function namingFile<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw aboutFile(path, error);
  }
}

/**
 * A bug: never caught in the middle, the process ends with status 70.
 * @public
 */
export class Bug extends Error {
  override readonly name = "Bug";
}

/**
 * Throws a Bug when `condition` is false.
 * @public
 */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Bug(message);
}

/**
 * Why the system refused, in a word a person can look up: its code (ENOENT, EADDRINUSE) when it has
 * one, else what it says.
 * @public
 */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as NodeJS.ErrnoException;
  return typeof code === "string" ? code : cause.message;
}
