/**
 * From a request on a socket to its answer. Each verb has a strict reader for its fields and an
 * act; a fault or refusal of an act becomes an answer with its code. A bug is not caught here.
 * Touches nothing.
 */
import { AgentError, invariant, type Refusal } from "../../../base/fault.ts";
import type { JsonValue } from "../../../base/json.ts";
import { list, object, oneOf, type Reader, shapeFault } from "../../../base/shape.ts";
import type { BatchVerb } from "../../socket/each.ts";
import type { Answer, Request } from "../../socket/verbs.ts";

/** The result of an act: the answer's own fields, a refusal, or a fault. */
export type ActOutcome =
  | ({ readonly ok: true } & Readonly<Record<string, unknown>>)
  | Refusal
  | AgentError;

/** One verb with its reader and act. */
export type SocketVerb = (fields: JsonValue, reply: (outcome: ActOutcome) => void) => void;

/**
 * Combines a verb's reader with its act. @throws AgentError JSON_SHAPE, and the faults of the act,
 * when called
 */
export function createSocketVerb<T>(
  name: string,
  reader: Reader<T>,
  act: (fields: T, reply: (outcome: ActOutcome) => void) => void,
): SocketVerb {
  return (fields, reply) => act(reader(fields, name), reply);
}

/**
 * Answers many requests of one verb on one line. Each request gets the same answer as alone; all
 * answers are sent together after the last.
 */
export function createBatchVerb(
  verbs: ReadonlyMap<string, SocketVerb>,
  most: number,
  ...of: readonly BatchVerb[]
): SocketVerb {
  const read = object({ of: oneOf(...of), bodies: list(anyJson, most) });
  return createSocketVerb("each", read, ({ of: name, bodies }, reply) => {
    const act = verbs.get(name);
    invariant(act !== undefined, "a verb that comes in numbers is a verb");
    if (bodies.length === 0) throw shapeFault("each.bodies", "must not be empty");
    const answers: (AnswerBody | undefined)[] = bodies.map(() => undefined);
    let open = bodies.length;
    for (const [at, body] of bodies.entries()) {
      tryAct(act, body, (outcome) => {
        if (answers[at] !== undefined) return;
        answers[at] = said(outcome);
        open -= 1;
        if (open === 0) reply({ ok: true, answers });
      });
    }
  });
}

/**
 * Carries out one request. Never throws for input from the other end; a Bug passes through and ends
 * the process.
 */
export function answerRequest(
  verbs: ReadonlyMap<string, SocketVerb>,
  request: Request,
  answer: (answer: Answer) => void,
): void {
  const { id, verb: name, ...fields } = request;
  const act = verbs.get(name);
  if (act === undefined) {
    answer({ id, ok: false, code: "SOCKET_VERB", detail: "", effect: "none" });
    return;
  }
  tryAct(act, fields as JsonValue, (outcome) => answer({ id, ...said(outcome) }));
}

function tryAct(act: SocketVerb, fields: JsonValue, reply: (outcome: ActOutcome) => void): void {
  try {
    act(fields, reply);
  } catch (cause) {
    if (!(cause instanceof AgentError)) throw cause;
    reply(cause);
  }
}

type AnswerBody =
  | ({ readonly ok: true } & Readonly<Record<string, unknown>>)
  | {
      readonly ok: false;
      readonly code: string;
      readonly detail: string;
      readonly effect: AgentError["effect"];
    };

function said(outcome: ActOutcome): AnswerBody {
  if (outcome instanceof AgentError)
    return { ok: false, code: outcome.code, detail: outcome.message, effect: outcome.effect };
  return outcome.ok
    ? outcome
    : { ok: false, code: outcome.code, detail: outcome.detail ?? "", effect: "none" };
}

const anyJson: Reader<JsonValue> = (value) => value;
