/**
 * One HTTP exchange with one node: a POST over a kept connection, its answer bounded in time and
 * size, and what became of it as a value. May reach that node and nothing else.
 */
import { Agent as HttpAgent, type RequestOptions, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { AgentError } from "../../protocol/fault.ts";

/**
 * Where a node stands. User, password and path are kept to ourselves.
 * @public
 */
export interface Target {
  /**
   * Scheme, host and port: all of the address that may be shown, since paths of hosted nodes hold
   * keys.
   */
  readonly origin: string;
  readonly isTls: boolean;
  readonly user: string; // "" for none
  readonly path: string;
  readonly request: RequestOptions; // with the connections that are kept
  close(): void;
}

/**
 * Why there is no usable answer.
 * @public
 */
export interface Failure {
  readonly ok: false;
  readonly code:
    | "NODE_UNREACHABLE"
    | "NODE_TIMEOUT"
    | "NODE_HTTP"
    | "NODE_QUOTA"
    | "NODE_ANSWER"
    | "NODE_ANSWER_SIZE"
    | "NODE_CLOSED";
  readonly message: string;
  readonly quietMs?: number; // of NODE_QUOTA: for how long the provider wants to be left alone, 0 for unsaid
  readonly isUnsent: boolean; // certain that no byte of the request left
  readonly isCut: boolean; // the connection broke: asking again may work at once
  readonly isBatchFault: boolean; // asking one by one may work
}

/** @public */
export type Outcome =
  | { readonly ok: true; readonly status: number; readonly retryAfter: string; readonly body: string }
  | Failure;

/** @public */
export interface Exchange {
  abort(): void;
}

/** @public */
export interface Post {
  readonly target: Target;
  readonly path?: string; // default: the target's own
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytesMax: number;
  readonly timeoutMs: number; // connecting included
}

/** Connections to one node; more only queue inside the node. */
const socketsMax = 16;
/**
 * Idle connections are closed by us before most servers (5 s) close them, so that a send seldom
 * meets a dead one.
 */
const idleMs = 4_000;

/** @public */
export const failure = (code: Failure["code"], message: string, flags: Partial<Failure> = {}): Failure => ({
  ok: false,
  code,
  message,
  isUnsent: false,
  isCut: false,
  isBatchFault: false,
  ...flags,
});

/** @public */
export const closedText = "the connection to the node was closed by us";

/**
 * One POST; `done` is called exactly once, never before `post` has returned.
 * @public
 */
export function post(
  { target, path, headers: more, body, bytesMax, timeoutMs }: Post,
  done: (outcome: Outcome) => void,
): Exchange {
  let isDone = false;
  // Nothing is written before the connection stands (with TLS: before the handshake is over).
  let isConnected = false;
  const bytes = Buffer.from(body, "utf8");
  const { isTls, request } = target;
  const headers = { "content-type": "application/json", accept: "application/json", "content-length": bytes.length, ...more };
  const asked = { ...request, path: path ?? target.path, method: "POST", headers };
  const outgoing = (isTls ? requestHttps : requestHttp)(asked);
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
      const body = Buffer.concat(chunks, size).toString("utf8");
      done({ ok: true, status: incoming.statusCode ?? 0, retryAfter: incoming.headers["retry-after"] ?? "", body });
    });
    incoming.on("close", () =>
      finish(failure("NODE_UNREACHABLE", "connection closed in the middle of an answer", { isCut: true })),
    );
  });
  outgoing.end(bytes);
  return { abort: () => finish(failure("NODE_CLOSED", closedText)) };
}

/**
 * @throws NODE_URL
 * @public
 */
export function targetOf(text: string): Target {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new AgentError("NODE_URL", "none", "the node's address is not a URL");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new AgentError("NODE_URL", "none", "the node's address is neither http nor https", { protocol: url.protocol });
  }
  const user = decodeURIComponent(url.username);
  const auth = `${user}:${decodeURIComponent(url.password)}`;
  const isTls = url.protocol === "https:";
  const agentOptions = { keepAlive: true, maxSockets: socketsMax, timeout: idleMs };
  const agent = isTls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  return {
    origin: url.origin,
    isTls,
    user,
    path: url.pathname + url.search,
    request: {
      agent,
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      ...(url.port === "" ? {} : { port: url.port }),
      ...(auth === ":" ? {} : { auth }),
    },
    close: () => agent.destroy(),
  };
}

function reasonOf(error: Error & { readonly code?: unknown }): string {
  return typeof error.code === "string" ? error.code : "connection failed";
}
