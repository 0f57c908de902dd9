/**
 * What an operation answers, before language and request id are added: data as the interface shapes it, or a code of the table
 * with what belongs beside it.
 */
import type { AnswerCode } from "./messages.ts";

/** @public */
export type Extra = Readonly<Record<string, string | number | boolean>>;

/**
 * `code` answers carry `{message, code, requestId}` and `extra`; a 200 among them carries no requestId.
 * @public
 */
export type Answer =
  | { readonly kind: "data"; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  | {
      readonly kind: "code";
      readonly code: AnswerCode;
      readonly extra: Extra;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** @public */
export function data(body: object, headers?: Readonly<Record<string, string>>): Answer {
  const text = JSON.stringify(body);
  return headers === undefined ? { kind: "data", body: text } : { kind: "data", body: text, headers };
}

/**
 * An answer whose JSON text is made already.
 * @public
 */
export function json(text: string): Answer {
  return { kind: "data", body: text };
}

/** @public */
export function say(code: AnswerCode, extra: Extra = {}, headers?: Readonly<Record<string, string>>): Answer {
  return headers === undefined ? { kind: "code", code, extra } : { kind: "code", code, extra, headers };
}

/**
 * Tells an Answer from what a check gives when it passes.
 * @public
 */
export function isAnswer(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && "kind" in value && (value.kind === "data" || value.kind === "code");
}
