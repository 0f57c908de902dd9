/**
 * One HTTP exchange with one node: a POST or a GET over a kept connection, its answer bounded in
 * time and size, and the outcome as a value. Reaches only this node.
 */

import { AgentError } from "../../base/fault.ts";
import {
  createOutgoingClient,
  type OutgoingClient,
  type OutgoingRequest,
  type OutgoingOutcome as Sent,
} from "../../base/outgoing/exchange.ts";

/** Further headers of each question; null for none. Secrets. @throws AgentError NODE_HEADERS */
export type ReadFurtherHeaders = (() => Readonly<Record<string, string>>) | null;

/** The address of a node, alone or with further headers. */
export type NodeAddress = string | { readonly url: string; readonly headers: ReadFurtherHeaders };

export function urlOf(address: NodeAddress): string {
  return typeof address === "string" ? address : address.url;
}

/** The address of a node. User, password and path are never shown. */
export interface Target {
  /**
   * Scheme, host and port: the only part of the address that may be shown, because paths of hosted
   * nodes hold keys.
   */
  readonly origin: string;
  readonly user: string; // "" for none
  readonly password: string;
  readonly path: string;
  readonly headers: ReadFurtherHeaders;
  readonly outgoing: OutgoingClient; // the connections that are kept
  close(): void;
}

/** Why there is no usable answer. */
export interface Failure {
  readonly ok: false;
  readonly code:
    | "NODE_UNREACHABLE"
    | "NODE_TIMEOUT"
    | "NODE_HTTP"
    | "NODE_PATH"
    | "NODE_QUOTA"
    | "NODE_ANSWER"
    | "NODE_ANSWER_SIZE"
    | "NODE_CLOSED"
    | "NODE_HEADERS";
  readonly message: string;
  readonly status?: number; // of HTTP, of an answer that is a refusal
  readonly quietMs?: number; // only for NODE_QUOTA: the pause that the provider wants, 0 if it gives no time
  readonly isUnsent: boolean; // certain that no byte of the request left
  readonly isCut: boolean; // the connection broke, or no answer of the node came: a second question may work at once
  readonly isBatchFault: boolean; // the calls may work one by one
}

export type Outcome =
  // `retryAfter` in seconds as whole digits, "" for none
  | {
      readonly ok: true;
      readonly status: number;
      readonly retryAfter: string;
      readonly body: string;
    }
  | Failure;

export interface Exchange {
  abort(): void;
}

export interface RpcRequest {
  readonly target: Target;
  readonly path?: string; // default: the target's own
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytesMax: number;
  readonly timeoutMs: number; // connecting included
}

/** Most connections to one node; more would only queue inside the node. */
const connectionsMax = 16;
/**
 * We close idle connections before most servers (5 s) do, so a request seldom meets a closed one.
 */
const idleMs = 4_000;

export const newFailure = (
  code: Failure["code"],
  message: string,
  flags: Partial<Failure> = {},
): Failure => ({
  ok: false,
  code,
  message,
  isUnsent: false,
  isCut: false,
  isBatchFault: false,
  ...flags,
});

/** The figures of a failure that the context of its fault has. */
export function failureFiguresOf({
  status,
  quietMs,
}: Pick<Failure, "status" | "quietMs">): Readonly<Record<string, number>> {
  return {
    ...(status === undefined ? {} : { status }),
    ...(quietMs === undefined ? {} : { quietMs }),
  };
}

export const closedText = "the connection to the node was closed by us";

const aborted = newFailure("NODE_CLOSED", closedText, { isUnsent: true });

const gatewayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * True if an unreadable body may be readable at the next question: half a body or a page with a
 * good status, or the answer of a proxy in front of the node. Every other refusal stays the same.
 * Reported at ethers-io/ethers.js #2928 and ChainSafe/lodestar #1599 (half an answer),
 * sigp/lighthouse #5051 and ConsenSys-archive/truffle-migrate #36 (a page now and then).
 */
export function isPassingStatus(status: number): boolean {
  return gatewayStatuses.has(status) || (status >= 200 && status < 300);
}

/** As `Outcome`, with the body as bytes. */
export type BytesOutcome =
  | {
      readonly ok: true;
      readonly status: number;
      readonly retryAfter: string;
      readonly bytes: Buffer;
    }
  | Failure;

/** Sends one GET. Calls `done` as `post` does. */
export function getJson(
  { target, path, headers, bytesMax, timeoutMs }: Omit<RpcRequest, "body">,
  done: (outcome: BytesOutcome) => void,
): Exchange {
  return sendTo(
    target,
    { method: "GET", path: path ?? target.path, bytesMax, timeoutMs },
    headers,
    done,
  );
}

/** Sends one POST. Calls `done` exactly once, never before `post` has returned. */
export function postJson(
  { target, path, headers, body, bytesMax, timeoutMs }: RpcRequest,
  done: (outcome: Outcome) => void,
): Exchange {
  return sendTo(
    target,
    { method: "POST", path: path ?? target.path, body, bytesMax, timeoutMs },
    headers,
    (outcome) => {
      if (!outcome.ok) return done(outcome);
      const { bytes, ...answer } = outcome;
      done({ ...answer, body: bytes.toString("utf8") });
    },
  );
}

function sendTo(
  target: Target,
  request: OutgoingRequest,
  own: RpcRequest["headers"],
  done: (outcome: BytesOutcome) => void,
): Exchange {
  let further: Readonly<Record<string, string>>;
  try {
    further = target.headers?.() ?? {};
  } catch (fault) {
    if (!(fault instanceof AgentError)) throw fault;
    let isAborted = false;
    queueMicrotask(() =>
      done(isAborted ? aborted : newFailure("NODE_HEADERS", fault.message, { isUnsent: true })),
    );
    return {
      abort: () => {
        isAborted = true;
      },
    };
  }
  return target.outgoing.send(
    { ...request, headers: { ...(own ?? basicAuthHeadersOf(target)), ...further } },
    (sent) =>
      done(
        sent.ok
          ? { ok: true, status: sent.status, retryAfter: sent.retryAfter, bytes: sent.body }
          : failureOf(sent),
      ),
  );
}

/** RFC 7617; none if the target has no user. */
export function basicAuthHeadersOf({
  user,
  password,
}: Pick<Target, "user" | "password">): Readonly<Record<string, string>> {
  if (user === "" && password === "") return {};
  return {
    authorization: `Basic ${Buffer.from(`${user}:${password}`, "utf8").toString("base64")}`,
  };
}

function failureOf({ kind, why, isUnsent, isCut }: Extract<Sent, { ok: false }>): Failure {
  return newFailure(codes[kind], kind === "aborted" ? closedText : why, {
    isUnsent,
    isCut,
    isBatchFault: kind === "size",
  });
}

const codes: Readonly<Record<Extract<Sent, { ok: false }>["kind"], Failure["code"]>> = {
  unreachable: "NODE_UNREACHABLE",
  timeout: "NODE_TIMEOUT",
  size: "NODE_ANSWER_SIZE",
  coding: "NODE_ANSWER",
  aborted: "NODE_CLOSED",
};

/**
 * @throws NODE_URL
 */
export function targetOf(address: NodeAddress): Target {
  let url: URL;
  try {
    url = new URL(urlOf(address));
  } catch {
    throw new AgentError("NODE_URL", "none", "the node's address is not a URL");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new AgentError("NODE_URL", "none", "the node's address is neither http nor https", {
      protocol: url.protocol,
    });
  }
  const outgoing = createOutgoingClient({ origin: url.origin, connectionsMax, idleMs });
  return {
    origin: url.origin,
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    path: url.pathname + url.search,
    headers: typeof address === "string" ? null : address.headers,
    outgoing,
    close: () => outgoing.close(),
  };
}
