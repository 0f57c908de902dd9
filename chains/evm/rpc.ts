/**
 * JSON-RPC over HTTP to one node: keep-alive connections, the calls of one tick gathered into
 * batches, every answer bounded in time and size. Reads may be asked twice; a write is sent at most
 * once. May reach that node and nothing else. Source: JSON-RPC 2.0, section 6 (batch). Whatever a
 * node answers, each call settles on its own.
 */
import { AgentError } from "../../protocol/fault.ts";
import { readQuota } from "../providers/node-quota.ts";
import { closedText, type Exchange, type Failure, failure, type Outcome, post, targetOf } from "../providers/rpc-post.ts";
import { type Envelope, readEnvelopes } from "./rpc-envelope.ts";

export interface RpcOptions {
  readonly url: string; // http or https; user, password and path are kept to ourselves
  readonly timeoutMs: number; // for one HTTP exchange, connecting included
  readonly callsMax: number; // in one batch
  readonly batchBytesMax: number; // answer of one batch; a call that allows more goes alone
}

export interface RpcCallOptions {
  readonly answerBytesMax: number;
  // never asked twice; a fault says effect unknown unless no byte can have left
  readonly isWrite?: boolean;
}

export interface Rpc {
  /**
   * Scheme, host and port: all of the address that may be shown, since paths of hosted nodes hold
   * keys.
   */
  readonly origin: string;
  /**
   * The node's result or its error object.
   * @throws NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_QUOTA, NODE_ANSWER, NODE_ANSWER_SIZE, NODE_CLOSED;
   * effect is none for reads
   */
  call(method: string, params: readonly unknown[], options: RpcCallOptions): Promise<Envelope>;
  /** Fails what is under way (NODE_CLOSED) and every later call. Calling twice is harmless. */
  close(): void;
}

interface Pending extends RpcCallOptions {
  readonly id: number;
  readonly body: string;
  readonly resolve: (envelope: Envelope) => void;
  readonly reject: (error: AgentError) => void;
  isSecond: boolean;
}

/**
 * How long calls wait for company while answers are awaited: an exchange costs more than most of
 * its calls.
 */
const gatherMs = 4;

/** @throws NODE_URL */
export function createRpc(options: RpcOptions): Rpc {
  const target = targetOf(options.url);
  const underWay = new Set<Exchange>();
  let queue: Pending[] = [];
  let gathering: NodeJS.Timeout | null = null;
  let callsMax = options.callsMax;
  let lastId = 0;
  let isClosed = false;

  /**
   * At once while nothing is under way; else what comes until an answer does, or a little later,
   * shares a batch.
   */
  function enqueue(call: Pending): void {
    queue.push(call);
    if (underWay.size === 0 && queue.length === 1) setImmediate(flush);
    else if (underWay.size > 0 && gathering === null) gathering = setTimeout(flush, gatherMs);
  }

  function flush(): void {
    if (gathering !== null) clearTimeout(gathering);
    gathering = null;
    const calls = queue;
    queue = [];
    for (const batch of splitCalls(calls, callsMax, options.batchBytesMax)) send(batch);
  }

  function send(batch: readonly Pending[]): void {
    const body = batch.length === 1 ? (batch[0] as Pending).body : `[${batch.map((call) => call.body).join(",")}]`;
    const bytesMax = batch.reduce((sum, call) => sum + call.answerBytesMax, 0);
    const exchange = post({ target, body, bytesMax, timeoutMs: options.timeoutMs }, (outcome) => {
      underWay.delete(exchange);
      settle(batch, outcome);
    });
    underWay.add(exchange);
  }

  function settle(batch: readonly Pending[], outcome: Outcome): void {
    const refused = outcome.ok ? readQuota(outcome, Date.now()) : null;
    const envelopes = refused ?? (outcome.ok ? readEnvelopes(outcome.status, outcome.body) : outcome);
    if (!envelopes.ok) {
      failBatch(batch, envelopes);
      return;
    }
    if (batch.length > 1) {
      if (!batch.some((call) => envelopes.byId.has(call.id))) {
        failBatch(batch, refusedBatch);
        return;
      }
      callsMax = Math.min(options.callsMax, callsMax + 1);
    }
    for (const call of batch) {
      // A lone answer without an id is how nodes refuse a request that they could not read.
      const envelope = envelopes.byId.get(call.id) ?? (batch.length === 1 ? envelopes.byId.get(null) : undefined);
      if (envelope === undefined) failCall(call, { ...noAnswer, isBatchFault: batch.length > 1 });
      else call.resolve(envelope);
    }
  }

  /**
   * A node that refuses batches, or answers one with nonsense, gets smaller ones until it copes;
   * they grow again one by one. A provider that counts calls may never bear so many at once.
   */
  function failBatch(batch: readonly Pending[], failure: Failure): void {
    const isBatchFault = failure.isBatchFault && batch.length > 1;
    if (isBatchFault || failure.quietMs !== undefined) callsMax = Math.max(1, callsMax >> 1);
    for (const call of batch) failCall(call, { ...failure, isBatchFault });
  }

  function failCall(call: Pending, failure: Failure): void {
    const mayAskAgain = !isClosed && !call.isWrite && !call.isSecond && (failure.isBatchFault || failure.isCut);
    if (mayAskAgain) {
      call.isSecond = true;
      send([call]);
      return;
    }
    const effect = call.isWrite && !failure.isUnsent ? "unknown" : "none";
    const quiet = failure.quietMs === undefined ? {} : { quietMs: failure.quietMs };
    call.reject(new AgentError(failure.code, effect, failure.message, { node: target.origin, ...quiet }));
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

const noAnswer = failure("NODE_ANSWER", "the node left this call without an answer");
const refusedBatch = failure("NODE_ANSWER", "the node answered no call of the batch", { isBatchFault: true });
const closedUnsent = failure("NODE_CLOSED", closedText, { isUnsent: true });

/**
 * Reads and writes apart, no more than `callsMax` in one, no more answer bytes than `bytesMax`
 * together. Order is kept.
 */
function splitCalls(calls: readonly Pending[], callsMax: number, bytesMax: number): Pending[][] {
  const batches: Pending[][] = [];
  for (const isWrite of [true, false]) {
    let batch: Pending[] = [];
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
