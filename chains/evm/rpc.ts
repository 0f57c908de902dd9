/**
 * JSON-RPC over HTTP to one node: keep-alive connections, the calls of one tick gathered into
 * batches, every answer bounded in time and size. Reads may be asked twice; a write is sent at most
 * once. May reach that node and nothing else. Source: JSON-RPC 2.0, section 6 (batch). Whatever a
 * node answers, each call settles on its own.
 */
import { Agent as HttpAgent, type RequestOptions, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { AgentError } from "../../protocol/fault.ts";
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
   * @throws NODE_UNREACHABLE, NODE_TIMEOUT, NODE_HTTP, NODE_ANSWER, NODE_ANSWER_SIZE, NODE_CLOSED;
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

/** Connections to one node; more only queue inside the node. */
const socketsMax = 16;
/**
 * How long calls wait for company while answers are awaited: an exchange costs more than most of
 * its calls.
 */
const gatherMs = 4;
/**
 * Idle connections are closed by us before most servers (5 s) close them, so that a send seldom
 * meets a dead one.
 */
const idleMs = 4_000;

/** @throws NODE_URL */
export function createRpc(options: RpcOptions): Rpc {
  const target = parseUrl(options.url);
  const agentOptions = { keepAlive: true, maxSockets: socketsMax, timeout: idleMs };
  const agent = target.isTls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  const request: RequestOptions = { ...target.request, agent };
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
    const exchange = post({ request, isTls: target.isTls, body, bytesMax, timeoutMs: options.timeoutMs }, (outcome) => {
      underWay.delete(exchange);
      settle(batch, outcome);
    });
    underWay.add(exchange);
  }

  function settle(batch: readonly Pending[], outcome: Outcome): void {
    const envelopes = outcome.ok ? readEnvelopes(outcome.status, outcome.body) : outcome;
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
   * they grow again one by one.
   */
  function failBatch(batch: readonly Pending[], failure: Failure): void {
    const isBatchFault = failure.isBatchFault && batch.length > 1;
    if (isBatchFault) callsMax = Math.max(1, callsMax >> 1);
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
    call.reject(new AgentError(failure.code, effect, failure.message, { node: target.origin }));
  }

  return {
    origin: target.origin,
    call: (method, params, { answerBytesMax, isWrite = false }) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new AgentError("NODE_CLOSED", "none", "the connection to the node was closed by us", { node: target.origin }));
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
      agent.destroy();
    },
  };
}

/** Why a batch got no usable answer. */
interface Failure {
  readonly ok: false;
  readonly code: "NODE_UNREACHABLE" | "NODE_TIMEOUT" | "NODE_HTTP" | "NODE_ANSWER" | "NODE_ANSWER_SIZE" | "NODE_CLOSED";
  readonly message: string;
  readonly isUnsent: boolean; // certain that no byte of the request left
  readonly isCut: boolean; // the connection broke: asking again may work at once
  readonly isBatchFault: boolean; // asking one by one may work
}

type Outcome = { readonly ok: true; readonly status: number; readonly body: string } | Failure;

const failure = (code: Failure["code"], message: string, flags: Partial<Failure> = {}): Failure => ({
  ok: false,
  code,
  message,
  isUnsent: false,
  isCut: false,
  isBatchFault: false,
  ...flags,
});
const noAnswer = failure("NODE_ANSWER", "the node left this call without an answer");
const refusedBatch = failure("NODE_ANSWER", "the node answered no call of the batch", { isBatchFault: true });
const closedUnsent = failure("NODE_CLOSED", "the connection to the node was closed by us", { isUnsent: true });

interface Exchange {
  abort(): void;
}

interface Post {
  readonly request: RequestOptions;
  readonly isTls: boolean;
  readonly body: string;
  readonly bytesMax: number;
  readonly timeoutMs: number;
}

/** One POST; `done` is called exactly once, never before `post` has returned. */
function post({ request, isTls, body, bytesMax, timeoutMs }: Post, done: (outcome: Outcome) => void): Exchange {
  let isDone = false;
  // Nothing is written before the connection stands (with TLS: before the handshake is over).
  let isConnected = false;
  const bytes = Buffer.from(body, "utf8");
  const headers = { "content-type": "application/json", accept: "application/json", "content-length": bytes.length };
  const outgoing = (isTls ? requestHttps : requestHttp)({ ...request, method: "POST", headers });
  const timer = setTimeout(() => finish(failure("NODE_TIMEOUT", `no answer in ${timeoutMs} ms`)), timeoutMs);

  const onConnected = (): void => {
    isConnected = true;
  };

  function finish(outcome: Failure): void {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    outgoing.destroy();
    done({ ...outcome, isUnsent: !isConnected });
  }

  outgoing.on("socket", (socket) => {
    if (socket.connecting) socket.once(isTls ? "secureConnect" : "connect", onConnected);
    else onConnected();
  });
  outgoing.on("error", (error) => finish(failure("NODE_UNREACHABLE", reasonOf(error), { isCut: isConnected })));
  outgoing.on("response", (incoming) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytesMax) finish(failure("NODE_ANSWER_SIZE", `answer above ${bytesMax} bytes`, { isBatchFault: true }));
      else chunks.push(chunk);
    });
    incoming.on("error", (error) => finish(failure("NODE_UNREACHABLE", reasonOf(error), { isCut: true })));
    incoming.on("end", () => {
      if (isDone || !incoming.complete) return;
      // Not by `finish`: the connection stays open for the next request.
      isDone = true;
      clearTimeout(timer);
      done({ ok: true, status: incoming.statusCode ?? 0, body: Buffer.concat(chunks, size).toString("utf8") });
    });
    incoming.on("close", () =>
      finish(failure("NODE_UNREACHABLE", "connection closed in the middle of an answer", { isCut: true })),
    );
  });
  outgoing.end(bytes);
  return { abort: () => finish(failure("NODE_CLOSED", "the connection to the node was closed by us")) };
}

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

function parseUrl(text: string): { readonly origin: string; readonly isTls: boolean; readonly request: RequestOptions } {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new AgentError("NODE_URL", "none", "the node's address is not a URL");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new AgentError("NODE_URL", "none", "the node's address is neither http nor https", { protocol: url.protocol });
  }
  const auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    origin: url.origin,
    isTls: url.protocol === "https:",
    request: {
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      path: url.pathname + url.search,
      ...(url.port === "" ? {} : { port: url.port }),
      ...(auth === ":" ? {} : { auth }),
    },
  };
}

function reasonOf(error: Error & { readonly code?: unknown }): string {
  return typeof error.code === "string" ? error.code : "connection failed";
}
