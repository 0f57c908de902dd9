/**
 * Questions to nodes of coin chains by the Esplora API. A node serves the right chain if its first
 * block has the network's hash.
 */
import { AgentError } from "../../base/fault.ts";
import { type CanonicalText, canonicalPathOf } from "../providers/canonical-text.ts";
import type { PoolNode as Node } from "../providers/node-pool.ts";
import { describeMissingPath, maskQuestionPath } from "../providers/node-words.ts";
import {
  createQuestionPool,
  type FamilyProtocol,
  type QuestionAlternatives,
  type QuestionPool,
  type QuestionPoolOptions,
} from "../providers/question-pool.ts";
import { missingPathCode, notFound } from "../providers/status-failure.ts";
import { readHash } from "./answers.ts";
import {
  createEsplora,
  type Esplora,
  type EsploraAnswer,
  type EsploraQuestion,
} from "./esplora.ts";
import type { UtxoNetwork } from "./network.ts";

export interface PoolOptions extends QuestionPoolOptions {
  readonly network: UtxoNetwork;
  readonly timeoutMs: number;
  readonly patienceMs: number;
}

export type PoolNode = Node<Esplora>;

/** One question: a path, and the reader of its answer. */
export interface Question<T> {
  readonly path: CanonicalText;
  readonly read: (bytes: Buffer) => T;
  /** The answer of a node that does not have what is asked for; without it that is a fault. */
  readonly absent?: T;
  readonly answerBytesMax?: number;
  /** Holds transactions of others, of which an odd one is no node's failure alone. */
  readonly isOfOthers?: true;
}

/** Two questions for one answer, made of one id. */
export type UtxoQuestionAlternatives<T> = QuestionAlternatives<Question<T>>;

type EsploraQuestions = QuestionPool<Esplora, EsploraQuestion, Question<unknown>, EsploraAnswer>;

export interface NodePool extends Omit<EsploraQuestions, "ask" | "askEither"> {
  /**
   * Asks one node. @throws NODE_WRONG_CHAIN, NODE_ERROR, NODE_PATH, NODE_NO_BLOCK, or a fault of
   * the exchange
   */
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
  /** As `ask`, by the usual question, or by the other one if the node lacks that. */
  askEither<T>(node: PoolNode, questions: UtxoQuestionAlternatives<T>, id: string): Promise<T>;
}

export const smallBytesMax = 64 * 1024;

export function createPool({ network, timeoutMs, patienceMs, ...options }: PoolOptions): NodePool {
  const wire: FamilyProtocol<Esplora, EsploraQuestion, Question<unknown>, EsploraAnswer> = {
    chain: network.reference,
    chainQuestion: { path: canonicalPathOf`/block-height/0`, answerBytesMax: smallBytesMax },
    chainOf: (told) => referenceOf(told),
    open: (url) => createEsplora({ url, timeoutMs, patienceMs }),
    askOf: ({ path, answerBytesMax = smallBytesMax }) => ({ path, answerBytesMax }),
    exchange: (client, ask) => client.ask(ask),
    read: (told, question, node) =>
      told.ok ? question.read(told.bytes) : absentOf(told, question, node),
  };
  return createQuestionPool(wire, options);
}

function absentOf<T>(
  { status, isAbsent, words }: Extract<EsploraAnswer, { ok: false }>,
  { path, absent }: Question<T>,
  node: string,
): T {
  if (isAbsent && absent !== undefined) return absent;
  if (isAbsent)
    throw new AgentError("NODE_NO_BLOCK", "none", `${words} (${maskQuestionPath(path)})`, { node });
  if (status === notFound)
    throw new AgentError(missingPathCode, "none", describeMissingPath(path, words), { node });
  throw new AgentError("NODE_ERROR", "none", words, { node });
}

/** The network's reference by the first block's hash; "" for an answer that is none. */
function referenceOf(told: EsploraAnswer): string {
  if (!told.ok) return "";
  try {
    return readHash(told.bytes).slice(0, 32);
  } catch (error) {
    if (error instanceof AgentError) return "";
    throw error;
  }
}
