/**
 * JSON-RPC over HTTP to one node: keep-alive connections, the calls of one tick gathered into
 * batches, every answer bounded in time and size. A read may be repeated; a write is sent at most
 * once. Reaches only this node. Source: JSON-RPC 2.0, section 6 (batch). Each call settles by
 * itself, for any answer of the node.
 */
import { AgentError } from "../../base/fault.ts";
import { QuestionSize } from "../providers/ask-smaller.ts";
import { failureOfRefusingStatus } from "../providers/node-quota.ts";
import {
  closedText,
  type Exchange,
  type Failure,
  failureFiguresOf,
  type NodeAddress,
  newFailure,
  type Outcome,
  postJson,
  targetOf,
} from "../providers/rpc-post.ts";
import { type Envelope, readEnvelopes } from "./rpc-envelope.ts";

export interface RpcOptions {
  readonly url: NodeAddress; // http or https; user, password and path are never shown
  readonly timeoutMs: number; // for one HTTP exchange, connecting included
  readonly callsMax: number; // in one batch
  readonly batchBytesMax: number; // answer of one batch; a call that allows more is sent without others
}

export interface RpcCallOptions {
  readonly answerBytesMax: number;
  // never repeated; a fault says effect unknown unless no byte can have left
  readonly isWrite?: boolean;
}

export interface Rpc {
  /**
   * Scheme, host and port: the only part of the address that may be shown, because paths of hosted
   * nodes hold keys.
   */
  readonly origin: string;
  /**
   * The node's result or its error object.
   * @throws NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_PATH, NODE_QUOTA, NODE_ANSWER,
   * NODE_ANSWER_SIZE, NODE_CLOSED; effect is none for reads
   */
  call(method: string, params: readonly unknown[], options: RpcCallOptions): Promise<Envelope>;
  /**
   * Fails the calls that are under way (NODE_CLOSED) and every later call. Calling twice is
   * harmless.
   */
  close(): void;
}

/** Codes of answers that refuse what was asked. */
const refusing: ReadonlySet<string> = new Set(["NODE_HTTP", "NODE_PATH", "NODE_ANSWER"]);

interface PendingCall extends RpcCallOptions {
  readonly id: number;
  readonly body: string;
  readonly resolve: (envelope: Envelope) => void;
  readonly reject: (error: AgentError) => void;
  isSecond: boolean;
}

/**
 * Time for which calls wait for others while answers are awaited, because an exchange costs more
 * than most of its calls.
 */
const gatherMs = 4;

/** @throws NODE_URL */
export function createRpc(options: RpcOptions): Rpc {
  const target = targetOf(options.url);
  const underWay = new Set<Exchange>();
  let queue: PendingCall[] = [];
  let gathering: NodeJS.Timeout | null = null;
  const size = new QuestionSize(options.callsMax);
  let lastId = 0;
  let isClosed = false;

  /**
   * Sends at once while no answer is awaited. Otherwise calls share a batch until the next answer,
   * or for a short time.
   */
  function enqueue(call: PendingCall): void {
    queue.push(call);
    if (underWay.size === 0 && queue.length === 1) setImmediate(flush);
    else if (underWay.size > 0 && gathering === null) gathering = setTimeout(flush, gatherMs);
  }

  function flush(): void {
    if (gathering !== null) clearTimeout(gathering);
    gathering = null;
    const calls = queue;
    queue = [];
    for (const batch of splitCalls(calls, size.now, options.batchBytesMax)) send(batch);
  }

  /** `rest` waits for the result of this batch, which was made smaller because of a refusal. */
  function send(
    batch: readonly PendingCall[],
    rest: readonly PendingCall[] = [],
    refusals = 0,
  ): void {
    const exchange = postJson(
      { target, ...postOf(batch), timeoutMs: options.timeoutMs },
      (outcome) => {
        underWay.delete(exchange);
        settle(batch, outcome, rest, refusals);
      },
    );
    underWay.add(exchange);
  }

  function settle(
    batch: readonly PendingCall[],
    outcome: Outcome,
    rest: readonly PendingCall[],
    refusals: number,
  ): void {
    const envelopes = answersTo(batch, outcome);
    if (!envelopes.ok) {
      failBatch(batch, envelopes, rest, refusals);
      return;
    }
    if (batch.length > 1) size.answered(batch.length);
    for (const call of batch) {
      // Nodes refuse a request that they could not read with one answer without an id.
      const envelope =
        envelopes.byId.get(call.id) ?? (batch.length === 1 ? envelopes.byId.get(null) : undefined);
      if (envelope === undefined) failCall(call, { ...noAnswer, isBatchFault: batch.length > 1 });
      else call.resolve(envelope);
    }
    for (const one of splitCalls(rest, size.now, options.batchBytesMax)) send(one);
  }

  /**
   * Reduces the batch size for a node that refuses a batch with any text or status, or gives an
   * invalid answer, down to single calls. The rest is sent in the size that the node then accepts.
   * A node that also refuses two single calls refuses all. A provider that counts calls may never
   * accept so many at the same time.
   */
  function failBatch(
    batch: readonly PendingCall[],
    failure: Failure,
    rest: readonly PendingCall[],
    refusals: number,
  ): void {
    const isBatchFault = failure.isBatchFault && batch.length > 1;
    if (isBatchFault || failure.quietMs !== undefined) size.refused(batch.length);
    const isRefusal = !isClosed && refusing.has(failure.code);
    if (isBatchFault && isRefusal && batch.every((call) => !call.isWrite)) {
      const half = batch.length >> 1;
      send(batch.slice(0, half), [...batch.slice(half), ...rest]);
      return;
    }
    for (const call of batch) failCall(call, { ...failure, isBatchFault });
    const [next, ...others] = rest;
    if (next === undefined) return;
    if (refusals === 0 && isRefusal) send([next], others, 1);
    else for (const call of rest) failCall(call, { ...failure, isBatchFault: false });
  }

  function failCall(call: PendingCall, failure: Failure): void {
    const mayAskAgain =
      !isClosed && !call.isWrite && !call.isSecond && (failure.isBatchFault || failure.isCut);
    if (mayAskAgain) {
      call.isSecond = true;
      send([call]);
      return;
    }
    call.reject(faultOf(call, failure, target.origin));
  }

  return {
    origin: target.origin,
    call: (method, params, { answerBytesMax, isWrite = false }) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new AgentError("NODE_CLOSED", "none", closedText, { node: target.origin }));
          return;
        }
        lastId += 1;
        const body = JSON.stringify({ jsonrpc: "2.0", id: lastId, method, params });
        enqueue({ id: lastId, body, answerBytesMax, isWrite, resolve, reject, isSecond: false });
      }),
    close: () => {
      isClosed = true;
      for (const call of queue) failCall(call, closedUnsent);
      queue = [];
      if (gathering !== null) clearTimeout(gathering);
      for (const exchange of [...underWay]) exchange.abort();
      target.close();
    },
  };
}

/** The envelopes by id, or the reason why the node did not answer the batch as a batch. */
function answersTo(
  batch: readonly PendingCall[],
  outcome: Outcome,
): Exclude<ReturnType<typeof readEnvelopes>, { ok: false }> | Failure {
  if (!outcome.ok) return outcome;
  const read = failureOfRefusingStatus(outcome) ?? readEnvelopes(outcome.status, outcome.body);
  if (!read.ok || batch.length === 1) return read;
  const answers = batch.map((call) => read.byId.get(call.id));
  if (answers.every((one) => one === undefined)) return refusedBatch;
  const refused = answers.filter((one) => one?.ok === false && batchWords.test(one.message)).length;
  const isShort = answers.includes(undefined);
  return refused === answers.length || (isShort && refused > 0) ? refusedCalls : read;
}

function postOf(batch: readonly PendingCall[]): {
  readonly body: string;
  readonly bytesMax: number;
} {
  const body =
    batch.length === 1
      ? (batch[0] as PendingCall).body
      : `[${batch.map((call) => call.body).join(",")}]`;
  return { body, bytesMax: batch.reduce((sum, call) => sum + call.answerBytesMax, 0) };
}

function faultOf(
  call: PendingCall,
  { code, message, isUnsent, ...more }: Failure,
  node: string,
): AgentError {
  const effect = call.isWrite && !isUnsent ? "unknown" : "none";
  return new AgentError(code, effect, message, { node, ...failureFiguresOf(more) });
}

/**
 * Texts of an error that each call of a batch has got, or the first one alone. Sources:
 * INFURA/infura, jsonrpsee #744; geth, rpc/handler.go (--rpc.batch-request-limit).
 */
const batchWords = /\bbatch(?:es|ed|ing)?\b/i;

const noAnswer = newFailure("NODE_ANSWER", "the node left this call without an answer");
const refusedBatch = newFailure("NODE_ANSWER", "the node answered no call of the batch", {
  isBatchFault: true,
});
const refusedCalls = newFailure(
  "NODE_ANSWER",
  "the node refused each call of the batch as one of a batch",
  {
    isBatchFault: true,
  },
);
const closedUnsent = newFailure("NODE_CLOSED", closedText, { isUnsent: true });

interface CallLimits {
  readonly isWrite?: boolean;
  readonly answerBytesMax: number;
}

/**
 * Keeps reads and writes apart, at most `callsMax` in one batch and at most `bytesMax` answer bytes
 * together. Keeps the order.
 */
function splitCalls<C extends CallLimits>(
  calls: readonly C[],
  callsMax: number,
  bytesMax: number,
): C[][] {
  const batches: C[][] = [];
  for (const isWrite of [true, false]) {
    let batch: C[] = [];
    let size = 0;
    for (const call of calls) {
      if (call.isWrite !== isWrite) continue;
      if (batch.length === 0 || batch.length >= callsMax || size + call.answerBytesMax > bytesMax) {
        batch = [];
        size = 0;
        batches.push(batch);
      }
      batch.push(call);
      size += call.answerBytesMax;
    }
  }
  return batches;
}
