/**
 * The made-up family's exchanges: a POST of words to a path, JSON back. Status 400 refuses bytes.
 */
import { AgentError } from "../../../base/fault.ts";
import type { Client, PoolNode as Node } from "../../../chains/providers/node-pool.ts";
import {
  createQuestionPool,
  type FamilyProtocol,
  type QuestionPool,
  type QuestionPoolOptions,
} from "../../../chains/providers/question-pool.ts";
import {
  createQuestionQueue,
  type QuestionQueue,
  type QueuedQuestion,
} from "../../../chains/providers/question-queue.ts";
import { postJson, targetOf } from "../../../chains/providers/rpc-post.ts";
import { statusFailure } from "../../../chains/providers/status-failure.ts";
import { headQuestion } from "./questions.ts";

interface Ask extends QueuedQuestion {
  readonly path: string;
  readonly body: string;
}

/** The words of a refusal, or the value of an answer. */
export type Told = { readonly ok: boolean; readonly text: string };

export interface Server extends Client {
  readonly ask: QuestionQueue<Ask, Told>["ask"];
}

export interface Question<T> {
  readonly path: string;
  readonly read: (value: unknown) => T;
}

export type PoolNode = Node<Server>;

export interface NodePool extends Omit<QuestionPool<Server, Ask, Question<unknown>, Told>, "ask"> {
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
}

const bytesMax = 65_536;
const limits = { timeoutMs: 20_000, patienceMs: 40_000 } as const;

const wire: FamilyProtocol<Server, Ask, Question<unknown>, Told> = {
  chain: "made-up 1",
  chainQuestion: { path: headQuestion.path, body: "" },
  chainOf: ({ text }) => headQuestion.read(JSON.parse(text)).chain,
  open: (server) => {
    const target = targetOf(server);
    const queue = createQuestionQueue<Ask, Told>({
      ...limits,
      origin: target.origin,
      send: ({ path, body }, timeoutMs, done) =>
        postJson({ target, path, body, bytesMax, timeoutMs }, (outcome) => {
          if (!outcome.ok) return done(outcome);
          const { status, body: text } = outcome;
          done(
            status === 200 || status === 400
              ? { ok: true, value: { ok: status === 200, text } }
              : statusFailure(status, text, path),
          );
        }),
      close: target.close,
    });
    return { origin: target.origin, ...queue };
  },
  askOf: ({ path }) => ({ path, body: "" }),
  exchange: (server, ask) => server.ask(ask),
  read: ({ ok, text }, { read }) => {
    if (!ok) throw new AgentError("NODE_ERROR", "none", text);
    return read(JSON.parse(text));
  },
};

export const createPool = (options: QuestionPoolOptions): NodePool =>
  createQuestionPool(wire, options);
