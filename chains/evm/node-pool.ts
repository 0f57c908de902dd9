/**
 * Several nodes of one chain as one: who is asked first, who rests after a failure, who is kept out
 * because it serves another chain, and how many must say the same. No node's word is trusted beyond
 * what its caller demands here.
 */
import { AgentError } from "../../protocol/fault.ts";
import type { NodeLog, NodeStatus } from "../nodes.ts";
import { readQuantity } from "./answers.ts";
import { createRpc, type Rpc, type RpcCallOptions } from "./rpc.ts";
import type { Envelope } from "./rpc-envelope.ts";

export interface PoolOptions {
  readonly urls: readonly string[];
  readonly chainId: bigint;
  readonly timeoutMs: number;
  readonly log: NodeLog;
  readonly clock: () => number;
}

export interface PoolNode {
  readonly rpc: Rpc;
  chain: "unchecked" | "right" | "wrong";
  checking: Promise<void> | null;
  failures: number; // in a row
  restUntil: number;
  detail: string;
  block: number | null;
}

/** One question: a method, and the reader of its result. */
export interface Question<T> {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly read: (result: unknown) => T;
  readonly answerBytesMax?: number;
}

export type Job<T> = (node: PoolNode) => Promise<T>;
export type Settled<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: AgentError };

export interface NodePool {
  readonly nodes: readonly PoolNode[];
  readonly witnessesMin: number; // min(2, configured)
  /**
   * Asks one node. @throws NODE_ERROR with the node's words as message, NODE_WRONG_CHAIN, or a
   * fault of the exchange
   */
  ask<T>(node: PoolNode, question: Question<T>): Promise<T>;
  /** The raw envelope, for writes. Same faults, but an error object is a value. */
  exchange(node: PoolNode, method: string, params: readonly unknown[], options: RpcCallOptions): Promise<Envelope>;
  /**
   * One node after the other until one knows; null when those that answered all said null. @throws
   * the first fault
   */
  first<T>(job: Job<T | null>): Promise<T | null>;
  /** Every node that is not resting; all of them when those would be too few. */
  all<T>(job: Job<T>): Promise<readonly Settled<T>[]>;
  /**
   * As soon as `witnessesMin` nodes gave answers with one key. @throws NODE_DISAGREE, or a fault
   * when too few answered
   */
  agree<T>(job: Job<T>, keyOf: (value: T) => string, what: string): Promise<T>;
  /** Asks every node for its chain id. @throws the first fault when no node is right */
  checkChain(): Promise<void>;
  status(): readonly NodeStatus[];
  close(): void;
}

const callsMax = 64; // in one batch: below the limits of every client's defaults (erigon's 100 is the lowest)
const batchBytesMax = 16 * 1024 * 1024;
/** Answers that are one quantity, one hash or one small object. */
const smallAnswerBytesMax = 64 * 1024;
const restFirstMs = 1_000;
const restMaxMs = 30_000;

export function createPool(options: PoolOptions): NodePool {
  const nodes = options.urls.map((url): PoolNode => {
    const rpc = createRpc({ url, timeoutMs: options.timeoutMs, callsMax, batchBytesMax });
    return { rpc, chain: "unchecked", checking: null, failures: 0, restUntil: 0, detail: "not asked yet", block: null };
  });
  const witnessesMin = Math.min(2, nodes.length);
  const gate = createGate(options);
  const inOneGo = new Map<string, Promise<Envelope>>();

  function ordered(): readonly PoolNode[] {
    const isResting = (node: PoolNode): number => (node.restUntil > options.clock() ? 1 : 0);
    return [...nodes].sort((a, b) => isResting(a) - isResting(b));
  }

  function chosen(): readonly PoolNode[] {
    const awake = nodes.filter((node) => node.restUntil <= options.clock());
    return awake.length >= witnessesMin ? awake : nodes;
  }

  /**
   * Twice the same question in one go would stand twice in one batch: its answer serves both, and
   * nodes charge by the call.
   */
  function exchangeOnce(node: PoolNode, { method, params, answerBytesMax = smallAnswerBytesMax }: Question<unknown>) {
    const key = JSON.stringify([nodes.indexOf(node), answerBytesMax, method, params]);
    const asked = inOneGo.get(key);
    if (asked !== undefined) return asked;
    if (inOneGo.size === 0) queueMicrotask(() => inOneGo.clear());
    const envelope = gate.exchange(node, method, params, { answerBytesMax });
    inOneGo.set(key, envelope);
    return envelope;
  }

  async function ask<T>(node: PoolNode, question: Question<T>): Promise<T> {
    const envelope = await exchangeOnce(node, question);
    try {
      return readResult(node, question, envelope);
    } catch (error) {
      if (error instanceof AgentError && error.code === "NODE_ANSWER") gate.fail(node, error);
      throw error;
    }
  }

  async function first<T>(job: Job<T | null>): Promise<T | null> {
    let fault: AgentError | null = null;
    let hasAnswer = false;
    for (const node of ordered()) {
      const settled = await settle(job(node));
      if (!settled.ok) fault ??= settled.error;
      else if (settled.value !== null) return settled.value;
      else hasAnswer = true;
    }
    if (hasAnswer) return null;
    throw fault ?? noNode();
  }

  return {
    nodes,
    witnessesMin,
    ask,
    exchange: gate.exchange,
    first,
    all: (job) => Promise.all(chosen().map((node) => settle(job(node)))),
    agree: (job, keyOf, what) => agreement(chosen().map(job), keyOf, witnessesMin, what),
    checkChain: async () => {
      const checks = await Promise.all(nodes.map((node) => settle(gate.check(node))));
      const fault = checks.find((check) => !check.ok);
      if (fault !== undefined && !fault.ok && !checks.some((check) => check.ok)) throw fault.error;
    },
    status: () =>
      nodes.map((node) => {
        const ok = node.chain === "right" && node.failures === 0;
        return { url: node.rpc.origin, ok, detail: ok ? "" : node.detail, block: node.block };
      }),
    close: () => {
      for (const node of nodes) node.rpc.close();
    },
  };
}

interface Gate {
  exchange: NodePool["exchange"];
  check(node: PoolNode): Promise<void>;
  fail(node: PoolNode, error: AgentError): void;
}

/**
 * Lets calls through to nodes that have shown the right chain id since their last failure, and
 * keeps book of failures.
 */
function createGate({ chainId, log, clock }: PoolOptions): Gate {
  async function talk(node: PoolNode, method: string, params: readonly unknown[], options: RpcCallOptions): Promise<Envelope> {
    try {
      const envelope = await node.rpc.call(method, params, options);
      if (node.failures > 0) log("node-recovered", { node: node.rpc.origin });
      node.failures = 0;
      if (node.chain !== "wrong") node.restUntil = 0;
      return envelope;
    } catch (error) {
      if (error instanceof AgentError && error.code !== "NODE_CLOSED") fail(node, error);
      throw error;
    }
  }

  function fail(node: PoolNode, error: AgentError): void {
    node.failures += 1;
    node.detail = `${error.code}: ${error.message}`;
    node.restUntil = clock() + Math.min(restMaxMs, restFirstMs * 2 ** Math.min(node.failures - 1, 10));
    // Behind the same address may stand another machine when it comes back.
    if (node.chain === "right") node.chain = "unchecked";
    if (node.failures === 1) log("node-failed", { node: node.rpc.origin, code: error.code, message: error.message });
  }

  async function compare(node: PoolNode): Promise<void> {
    const envelope = await talk(node, "eth_chainId", [], { answerBytesMax: smallAnswerBytesMax });
    const answered = readResult(
      node,
      { method: "eth_chainId", params: [], read: (result) => readQuantity(result, "chain id") },
      envelope,
    );
    if (answered === chainId) {
      node.chain = "right";
      node.restUntil = 0;
      return;
    }
    if (node.chain !== "wrong")
      log("node-wrong-chain", { node: node.rpc.origin, expected: `${chainId}`, answered: `${answered}` });
    node.chain = "wrong";
    node.detail = `NODE_WRONG_CHAIN: chain id ${answered} instead of ${chainId}`;
    node.restUntil = clock() + restMaxMs;
    throw wrongChain(node);
  }

  function check(node: PoolNode): Promise<void> {
    node.checking ??= compare(node).finally(() => {
      node.checking = null;
    });
    return node.checking;
  }

  return {
    check,
    fail,
    exchange: async (node, method, params, options) => {
      if (node.chain === "wrong" && node.restUntil > clock()) throw wrongChain(node);
      if (node.chain !== "right") await check(node);
      return talk(node, method, params, options);
    },
  };
}

function readResult<T>(node: PoolNode, { method, read }: Question<T>, envelope: Envelope): T {
  if (envelope.ok) return read(envelope.result);
  const context = { node: node.rpc.origin, method, rpcCode: envelope.code };
  throw new AgentError("NODE_ERROR", "none", envelope.message, context);
}

/** Only faults of the world are values here; a bug goes on upwards. */
async function settle<T>(promise: Promise<T>): Promise<Settled<T>> {
  try {
    return { ok: true, value: await promise };
  } catch (error) {
    if (error instanceof AgentError) return { ok: false, error };
    throw error;
  }
}

function agreement<T>(answers: readonly Promise<T>[], keyOf: (value: T) => string, min: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const votes = new Map<string, number>();
    let open = answers.length;
    let answered = 0;
    let fault: AgentError | null = null;
    const count = (settled: Settled<T>): void => {
      open -= 1;
      if (settled.ok) {
        answered += 1;
        const key = keyOf(settled.value);
        votes.set(key, (votes.get(key) ?? 0) + 1);
        if ((votes.get(key) ?? 0) >= min) resolve(settled.value);
      } else fault ??= settled.error;
      if (open === 0) reject(answered >= min ? disagreement(what, votes.size) : (fault ?? noNode()));
    };
    for (const answer of answers) settle(answer).then(count).catch(reject);
  });
}

export function disagreement(what: string, versions: number): AgentError {
  return new AgentError("NODE_DISAGREE", "none", `the nodes do not agree on the ${what}`, { what, versions });
}

function wrongChain(node: PoolNode): AgentError {
  return new AgentError("NODE_WRONG_CHAIN", "none", "the node serves another chain", { node: node.rpc.origin });
}

export function noNode(): AgentError {
  return new AgentError("NODE_NONE", "none", "no node is configured");
}
