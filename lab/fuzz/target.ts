/**
 * A fuzz target, and the invariant that all targets share: for any input the answer is a value, a
 * refusal or a fault with a code of the table; never a bug, and never a change to what all objects
 * inherit.
 */
import { type Code, codes } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import type { SeededRandom } from "../kit/seeded.ts";

export interface Target {
  readonly name: string;
  /** Texts of honest input, for the mutator to put anywhere. */
  readonly words: readonly string[];
  /** Honest input. */
  readonly seeds: readonly Uint8Array[];
  /** Something like honest input, with a few things malformed. */
  make(random: SeededRandom): Uint8Array;
  /** Feeds the input in. Throws when an invariant does not hold. */
  run(input: Uint8Array): void | Promise<void>;
  /** Shapes whose cost must grow no faster than they do, each with the smallest size to measure. */
  readonly shapes: Readonly<Record<string, Shape>>;
  close?(): Promise<void>;
}

export interface Shape {
  readonly from: number;
  readonly of: (size: number) => Uint8Array;
}

/** An invariant does not hold. */
export class Finding extends Error {
  override readonly name = "Finding";
}

export function must(condition: unknown, invariant: string): asserts condition {
  if (!condition) throw new Finding(invariant);
}

/**
 * Calls it; gives what it gives, or the code it is refused with. Anything else that is thrown is
 * thrown on.
 */
export function codeOr<T>(act: () => T): { readonly value: T } | { readonly code: Code } {
  try {
    return { value: act() };
  } catch (error) {
    return { code: codeOf(error) };
  }
}

export function codeOf(error: unknown): Code {
  if (!(error instanceof AgentError)) throw error;
  must(Object.hasOwn(codes, error.code), `${error.code} is not in the table of codes`);
  return error.code;
}

export const bytes = (text: string): Uint8Array => Buffer.from(text, "utf8");
export const textOf = (input: Uint8Array): string => Buffer.from(input).toString("utf8");

/** Equal as JSON values, whatever prototype the objects have. */
export function same(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return Object.is(one, other);
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  const fields = one as Readonly<Record<string, unknown>>;
  return names.every(
    (name) =>
      Object.hasOwn(other, name) && same(fields[name], (other as Record<string, unknown>)[name]),
  );
}

const inherited = (): string =>
  [Object.prototype, Array.prototype, Function.prototype, String.prototype]
    .flatMap((prototype) => Reflect.ownKeys(prototype).map(String))
    .join();
const inheritedAtStart = inherited();

/** Runs one input and looks at what all objects inherit afterwards. */
export async function runOnce(target: Target, input: Uint8Array): Promise<void> {
  const running = target.run(input);
  if (running !== undefined) await running;
  must(inherited() === inheritedAtStart, "what all objects inherit was changed");
}
