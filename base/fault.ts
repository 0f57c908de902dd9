/**
 * The three kinds of failure, kept apart everywhere (docs/errors.md). A refusal is an expected no,
 * and a value. A fault is a failure of the world outside, and an error. A bug is a broken
 * invariant, and a crash.
 */
import type { Code } from "./codes.ts";

/**
 * Says if the outside act happened. none: the caller may try again. done: the caller goes on.
 * unknown: the caller must look before anything else.
 */
export type Effect = "none" | "done" | "unknown";

/** An expected no. Only its code crosses a wire. */
export interface Refusal {
  readonly ok: false;
  readonly code: Code;
  readonly detail?: string; // for the operator; never a secret
}

export function refuse(code: Code, detail?: string): Refusal {
  return detail === undefined ? { ok: false, code } : { ok: false, code, detail };
}

/**
 * The world failed. `context` is safe to print: never a key, seed, mnemonic, passphrase or API
 * secret.
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
 * Returns the same fault with the file or folder in front of its message. Returns any other error
 * unchanged, and so a fault that already names the path.
 */
export function putFileIntoFault(path: string, error: unknown): unknown {
  if (!(error instanceof AgentError) || error.message.includes(path)) return error;
  const { code, effect, message, context, cause } = error;
  return new AgentError(code, effect, `${path}: ${message}`, context, { cause });
}

/** Returns the result of `act`. A fault that `act` throws names the file or folder. */
export function runNamingFile<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw putFileIntoFault(path, error);
  }
}

/** A bug. Nothing catches it: the process ends with status 70. */
export class Bug extends Error {
  override readonly name = "Bug";
}

/** Throws a Bug when `condition` is false. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Bug(message);
}

/**
 * The reason for which the system refused, as a term that an operator can look up. It is the
 * error's code (ENOENT, EADDRINUSE) if there is one, and else its message.
 */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as NodeJS.ErrnoException;
  return typeof code === "string" ? code : cause.message;
}
