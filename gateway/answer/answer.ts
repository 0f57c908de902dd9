/**
 * The answer of an operation, before language and request id are added: data in the form of the
 * interface, or a code of the table with its extra fields.
 */
import { invariant } from "../../base/fault.ts";
import type { Language } from "./language.ts";
import { type AnswerCode, answerCodes, messageOf } from "./messages.ts";

export type ExtraFields = Readonly<Record<string, string | number | boolean>>;

/**
 * `code` answers carry `{message, code, requestId}` and `extra`; with status 200 they carry no
 * requestId.
 */
export type Answer =
  | {
      readonly kind: "data";
      readonly body: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "list";
      readonly parts: Iterable<string> | AsyncIterable<string>;
      readonly type?: string; // default: JSON
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "code";
      readonly code: AnswerCode;
      readonly extra: ExtraFields;
      readonly headers?: Readonly<Record<string, string>>;
    };

export function dataAnswer(body: object, headers?: Readonly<Record<string, string>>): Answer {
  const text = JSON.stringify(body);
  return headers === undefined
    ? { kind: "data", body: text }
    : { kind: "data", body: text, headers };
}

/** An answer whose JSON text exists already. */
export function jsonAnswer(text: string): Answer {
  return { kind: "data", body: text };
}

/**
 * An answer whose text is made part by part while it is sent, so that its length costs no memory.
 */
export function listAnswer(
  parts: Iterable<string>,
  type: string,
  headers: Readonly<Record<string, string>>,
): Answer {
  return { kind: "list", parts, type, headers };
}

export function problemAnswer(
  code: AnswerCode,
  extra: ExtraFields = {},
  headers?: Readonly<Record<string, string>>,
): Answer {
  return headers === undefined
    ? { kind: "code", code, extra }
    : { kind: "code", code, extra, headers };
}

interface AnswerContext {
  readonly language: Language;
  readonly requestId: string;
  readonly isInterface?: boolean; // true: the interface's fields alone
}

/** The HTTP status and the JSON text of an answer that is no list. Errors include `requestId`. */
export function renderAnswer(
  answer: Answer,
  { language, requestId, isInterface = false }: AnswerContext,
): { readonly status: number; readonly text: string } {
  invariant(answer.kind !== "list", "a list is sent part by part");
  if (answer.kind === "data") return { status: 200, text: answer.body };
  const { code, extra } = answer;
  const status = answerCodes[code].status;
  const message = messageOf(code, language);
  if (!isInterface) return { status, text: JSON.stringify({ message, code, requestId, ...extra }) };
  // Only a failed withdrawal's error has a second field in the interface.
  const { transactionId } = status === 422 ? extra : {};
  return {
    status,
    text: JSON.stringify(transactionId === undefined ? { message } : { message, transactionId }),
  };
}

/** True for an Answer, false for the result of a check that passed. */
export function isAnswer(value: unknown): value is Answer {
  return (
    typeof value === "object" &&
    value !== null &&
    "kind" in value &&
    (value.kind === "data" || value.kind === "list" || value.kind === "code")
  );
}
