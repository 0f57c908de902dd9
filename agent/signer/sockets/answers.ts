/**
 * From a request on a socket to its answer: each verb has a strict reader for its fields and an act; whatever an act throws or
 * refuses becomes an answer with its code. A bug is not caught here. Touches nothing.
 */
import { AgentError, type Refusal } from "../../../protocol/fault.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import type { Reader } from "../../../protocol/shape.ts";
import type { Answer, Request } from "../../socket/verbs.ts";

/** What an act gives back: the answer's own fields, a refusal, or a fault. */
export type Outcome = ({ readonly ok: true } & Readonly<Record<string, unknown>>) | Refusal | AgentError;

/** One verb, its reader and act closed over. */
export type Verb = (fields: JsonValue, reply: (outcome: Outcome) => void) => void;

/** Binds a verb's reader to its act. @throws AgentError JSON_SHAPE, and what the act throws, when called */
export function verb<T>(name: string, reader: Reader<T>, act: (fields: T, reply: (outcome: Outcome) => void) => void): Verb {
  return (fields, reply) => act(reader(fields, name), reply);
}

/** Carries out one request. Never throws for what the other end sent; a Bug passes through and ends the process. */
export function carryOut(verbs: ReadonlyMap<string, Verb>, request: Request, answer: (answer: Answer) => void): void {
  const { id, verb: name, ...fields } = request;
  const act = verbs.get(name);
  if (act === undefined) {
    answer({ id, ok: false, code: "SOCKET_VERB", detail: "", effect: "none" });
    return;
  }
  const reply = (outcome: Outcome): void => answer(answerOf(id, outcome));
  try {
    act(fields as JsonValue, reply);
  } catch (cause) {
    if (!(cause instanceof AgentError)) throw cause;
    reply(cause);
  }
}

function answerOf(id: number, outcome: Outcome): Answer {
  if (outcome instanceof AgentError) {
    return { id, ok: false, code: outcome.code, detail: outcome.message, effect: outcome.effect };
  }
  if (!outcome.ok) return { id, ok: false, code: outcome.code, detail: outcome.detail ?? "", effect: "none" };
  return { id, ...outcome };
}
