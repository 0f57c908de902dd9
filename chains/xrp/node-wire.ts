/**
 * Questions to nodes of the XRP Ledger by its JSON-RPC. A node serves the right chain if it names
 * the chain's NetworkID.
 */
import { AgentError } from "../../base/fault.ts";
import type { QuestionScalar } from "../providers/canonical-text.ts";
import type { PoolNode as Node } from "../providers/node-pool.ts";
import {
  createQuestionPool,
  type FamilyProtocol,
  type QuestionPool,
  type QuestionPoolOptions,
} from "../providers/question-pool.ts";
import { type Marker, readNetworkId } from "./node-answers.ts";
import { createRpc, type Fields, type Rpc, type RpcQuestion, type RpcReply } from "./rpc.ts";

export interface PoolOptions extends QuestionPoolOptions {
  readonly networkId: number;
  readonly timeoutMs: number;
  readonly patienceMs: number;
}

export type PoolNode = Node<Rpc>;

/** The newest validated ledger, or the node's open one. */
export type NewestLedger = "validated" | "current";

/** One question, and the reader of its answer. */
export interface Question<T> {
  readonly method: string;
  readonly params: Readonly<Record<string, QuestionScalar | NewestLedger | Marker>>;
  readonly read: (result: Fields) => T;
  /** The node's error that is an answer too, and its value by the fields beside the error. */
  readonly absent?: { readonly error: string; readonly read: (result: Fields) => T };
  readonly answerBytesMax?: number;
  /** Holds transactions of others, of which an odd one is no node's failure alone. */
  readonly isOfOthers?: true;
}

type RpcQuestions = QuestionPool<Rpc, RpcQuestion, Question<unknown>, RpcReply>;

export interface NodePool extends Omit<RpcQuestions, "ask"> {
  /**
   * Asks one node. @throws NODE_WRONG_CHAIN, NODE_ERROR, NODE_NO_BLOCK, or a fault of the exchange
   */
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
}

export const smallBytesMax = 256 * 1024;
/** The node does not have the ledgers that are asked for. */
const noLedgerErrors: ReadonlySet<string> = new Set([
  ...([
    "lgrNotFound",
    "lgrIdxsInvalid",
    "lgrIdxInvalid",
    "lgrIdxMalformed",
    "lgrNotValidated",
    "noCurrent",
    "noClosed",
  ] as const),
  ...(["noNetwork", "notSynced", "notReady"] as const),
]);

export function createPool({
  networkId,
  timeoutMs,
  patienceMs,
  ...options
}: PoolOptions): NodePool {
  const wire: FamilyProtocol<Rpc, RpcQuestion, Question<unknown>, RpcReply> = {
    chain: `${networkId}`,
    chainQuestion: { method: "server_info", params: {}, answerBytesMax: smallBytesMax },
    chainOf: (told) => (told.ok ? readNetworkId(told.result) : ""),
    cureOf: (answered) => (answered === "none" ? networkLines(networkId) : ""),
    open: (url) => createRpc({ url, timeoutMs, patienceMs }),
    askOf: ({ method, params, answerBytesMax = smallBytesMax }) => ({
      method,
      params,
      answerBytesMax,
    }),
    exchange: (client, ask) => client.ask(ask),
    read: answerOf,
  };
  return createQuestionPool(wire, options);
}

/** A stock rippled names no network until its configuration does. Source: XRPLF/rippled #4778. */
function networkLines(networkId: number): string {
  const name = { 0: "main", 1: "testnet", 2: "devnet" }[networkId] ?? `${networkId}`;
  return `the server names no network: write the lines [network_id] and ${name} into its configuration`;
}

function answerOf<T>(told: RpcReply, { read, absent }: Question<T>, node: string): T {
  if (told.ok) return read(told.result);
  if (told.error === absent?.error) return absent.read(told.result);
  throw new AgentError(
    noLedgerErrors.has(told.error) ? "NODE_NO_BLOCK" : "NODE_ERROR",
    "none",
    told.words,
    { node },
  );
}
