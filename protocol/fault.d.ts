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
    readonly detail?: string;
}
/** @public */
export declare function refuse(code: Code, detail?: string): Refusal;
/**
 * The world failed. `context` is safe to print: never a key, seed, mnemonic, passphrase or API
 * secret.
 * @public
 */
export declare class AgentError extends Error {
    readonly code: Code;
    readonly effect: Effect;
    readonly context: Readonly<Record<string, string | number | boolean>>;
    constructor(code: Code, effect: Effect, message: string, context?: Readonly<Record<string, string | number | boolean>>, options?: ErrorOptions);
}
/**
 * The same fault, its message beginning with the file or folder it is about; one that names it, and
 * anything else, as it is.
 * @public
 */
export declare function aboutFile(path: string, error: unknown): unknown;
/**
 * What `act` gives; a fault of it names the file or folder it is about.
 * @public
 */
export declare function namingFile<T>(path: string, act: () => T): T;
/**
 * A bug: never caught in the middle, the process ends with status 70.
 * @public
 */
export declare class Bug extends Error {
    readonly name = "Bug";
}
/**
 * Throws a Bug when `condition` is false.
 * @public
 */
export declare function invariant(condition: unknown, message: string): asserts condition;
/**
 * Why the system refused, in a word a person can look up: its code (ENOENT, EADDRINUSE) when it has
 * one, else what it says.
 * @public
 */
export declare function reasonOf(cause: unknown): string;
