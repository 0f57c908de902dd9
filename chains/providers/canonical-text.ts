/**
 * Text that a question to a node may hold. A word of an agent, a shop or another node gets into a
 * question only through the reader of its form, so no node is asked with a text that it refuses, or
 * on a path that nobody meant. Pure.
 */
import { AgentError } from "../../base/fault.ts";

declare const sealed: unique symbol;

/**
 * Text in the only spelling of its form. Only `requireCanonicalText` and `canonicalPathOf` make
 * one.
 */
export type CanonicalText = string & { readonly [sealed]: true };

/** The value of a field of a question. */
export type QuestionScalar = CanonicalText | number | boolean;

/** @throws NODE_QUESTION for a text of another form */
export function requireCanonicalText(text: string, form: RegExp, what: string): CanonicalText {
  if (!form.test(text))
    throw new AgentError(
      "NODE_QUESTION",
      "none",
      `no node is asked with a text that is no ${what}`,
      { what },
    );
  return text as CanonicalText;
}

/** A path of these parts, as a tagged template: its own words are the program's. */
export function canonicalPathOf(
  words: TemplateStringsArray,
  ...parts: readonly (CanonicalText | number)[]
): CanonicalText {
  return words.reduce((path, word, at) => `${path}${parts[at - 1]}${word}`) as CanonicalText;
}
