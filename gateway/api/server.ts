/**
 * The gateway's HTTP server: limits on everything that arrives, one form for every error,
 * languages, and the routes. Has no rule about money; each route gives its bytes to a module and
 * sends the Answer as a reply. Sources: the interface; docs/api.md, Errors and Limits; RFC 9110.
 */

import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, Readable } from "node:stream";
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { closeSoon } from "../../base/close-soon.ts";
import { passingCauseOf } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { visibleText } from "../../base/visible.ts";
import { linkPath } from "../../protocol/messages.ts";
import { type Answer, problemAnswer, renderAnswer } from "../answer/answer.ts";
import { type Language, languageOf } from "../answer/language.ts";
import { type AnswerCode, answerCodes, messageOf } from "../answer/messages.ts";
import { PendingConnections } from "../auth/pending-connections.ts";
import { addressBlock, networkBlock } from "../auth/rate.ts";
import { createAddressTest } from "../config/address-list.ts";
import { type ClientAddress, createClientAddressReader } from "../config/client-address.ts";
import type { GatewayConfig } from "../config/config.ts";
import type { Service } from "../service.ts";
import { isLinkNetwork } from "../store/agent-state.ts";
import { isDiskFull } from "../store/disk.ts";
import { isDatabaseBusyError } from "../store/library-errors.ts";
import { readPair } from "./certificate.ts";

/*
 * Answers below the framework: to bytes that are no request, to requests that Node would answer
 * with an empty body, and to unsupported upgrades and tunnels. Every answer has the error body of
 * the interface, in English, and ends the connection. Sources: RFC 9110 sections 9.3.6 (CONNECT),
 * 10.1.1 (Expect), 7.2 (Host); docs/api.md, Errors.
 */

const bodyOf = (code: AnswerCode): string =>
  JSON.stringify({ message: messageOf(code, "en"), code, requestId: "" });

/** Writes the complete answer and closes the connection, also if the other end does not. */
function end(socket: Duplex, code: AnswerCode, headers: readonly string[] = []): void {
  const body = bodyOf(code);
  const { status } = answerCodes[code];
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "Content-Type: application/json; charset=utf-8",
    "Connection: close",
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  closeSoon(socket, `${head.join("\r\n")}\r\n\r\n${body}`);
}

/** Answers bytes that are not HTTP, for which the parser has no request. */
function answerToNoise(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const byCode: Readonly<Record<string, AnswerCode>> = {
    HPE_HEADER_OVERFLOW: "headers_too_large",
    ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
  };
  end(socket, byCode[error.code ?? ""] ?? "request_invalid");
}

/** True if an upgrade is for the path of the agents' hub, which answers its own upgrades. */
function isForHub({ url = "" }: IncomingMessage): boolean {
  return url.split("?", 1)[0] === linkPath;
}

/**
 * Handles the three kinds of request that the framework never sees. `mayComePlain` decides which
 * connections are answered.
 */
function answerBelow(server: Server, mayComePlain: (address: string | undefined) => boolean): void {
  // Runs before the hub's own listener, which then finds the socket closed.
  server.prependListener("upgrade", (request: IncomingMessage, socket: Duplex) => {
    if (!mayComePlain(request.socket.remoteAddress)) socket.destroy();
    else if (!isForHub(request)) end(socket, "not_found");
  });
  server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    if (!mayComePlain(request.socket.remoteAddress)) socket.destroy();
    else end(socket, "method_not_allowed", ["Allow: GET, HEAD, POST"]);
  });
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const { status } = answerCodes.expectation_failed;
    const headers = { "Content-Type": "application/json; charset=utf-8", Connection: "close" };
    response.writeHead(status, headers).end(bodyOf("expectation_failed"));
  });
}

/*
 * Checks the address at the other end of a socket: whether it is a proxy that the operator named,
 * and whether it may connect without TLS. With listen.tls no connection comes without TLS.
 * Otherwise only this machine and the named proxies may.
 */

/** The checks use the address at the other end of the socket, which no header can change. */
interface Peers {
  mayComePlain(address: string | undefined): boolean;
  isNamedProxy(address: string | undefined): boolean;
  /** True for an address of this machine. */
  isHere(address: string | undefined): boolean;
}

export function createPeerRules(config: Pick<GatewayConfig, "listen" | "trustProxy">): Peers {
  const isNamedProxy = createAddressTest(config.trustProxy);
  const isHere = createAddressTest(["127.0.0.0/8", "::1"]);
  return {
    mayComePlain: (address) =>
      config.listen.tls !== null || isHere(address) || isNamedProxy(address),
    isNamedProxy,
    isHere,
  };
}

/*
 * Places of connections at the gateway's listener that have not sent a whole request. An address
 * block (IPv4 /24, IPv6 /64) has 64 of them; the next newcomer closes its oldest. So one outsider
 * cannot use up the descriptors of a gateway that ends TLS itself. Without a limit are this
 * machine, the proxies of `trustProxy`, which bring everybody's connections, and blocks of paired
 * agents. An agent's upgrade goes on to the places of the hub. Source: docs/api.md, Limits.
 */

export const silentConnectionsPerBlockMax = 64;

interface PlacesOptions {
  readonly server: Server;
  /** True for an address without a limit: this machine's own, or a named proxy's. */
  readonly isUnlimited: (address: string) => boolean;
  /** True for a block from which a paired agent connects. */
  readonly isOfAgent: (block: string) => boolean;
  /** True for an upgrade that the hub takes over, with places of its own. */
  readonly isForHub: (request: IncomingMessage) => boolean;
  readonly onCrowded: (block: string) => void; // at each connection that was closed to make room
}

/**
 * The same for a TLS connection and the one beneath it. Empty for a connection that has gone
 * already.
 */
function nameOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return remoteAddress === undefined ? "" : `${remoteAddress} ${remotePort} ${localAddress}`;
}

/** Limits the connections from now on. */
export function limitSilentConnections({
  server,
  isUnlimited,
  isOfAgent,
  isForHub,
  onCrowded,
}: PlacesOptions): void {
  const pending = new PendingConnections<string>(
    { perBlock: silentConnectionsPerBlockMax, inAll: Number.POSITIVE_INFINITY },
    isOfAgent,
  );
  const open = new Map<string, Socket>();
  const leave = (name: string): void => {
    pending.leave(name);
    open.delete(name);
  };
  server.on("connection", (socket: Socket) => {
    const { remoteAddress = "" } = socket;
    const name = nameOf(socket);
    if (name === "" || isUnlimited(remoteAddress)) return;
    open.set(name, socket);
    // A later connection may have the same ports, so only this socket's own place goes with it.
    socket.once("close", () => open.get(name) === socket && leave(name));
    const block = networkBlock(remoteAddress);
    const oldest = pending.enter(name, block);
    if (oldest === null) return;
    const closed = open.get(oldest);
    open.delete(oldest);
    closed?.destroy();
    onCrowded(block);
  });
  server.prependListener("request", (request: IncomingMessage) => {
    const name = nameOf(request.socket);
    const { "content-length": length = "0", "transfer-encoding": coding = "" } = request.headers;
    if (length === "0" && coding === "") leave(name);
    else request.once("end", () => leave(name));
  });
  server.prependListener("upgrade", (request: IncomingMessage) => {
    if (isForHub(request)) leave(nameOf(request.socket));
  });
}

/* Ends the open connections of a server that stops, because Node does not. */

/** Time for a running request to be answered, including its connection. */
const closingMsMax = 3_000;

/**
 * Without this, a connection with no request or half a request delays the stop until its own time
 * limit, and the service manager kills a process that stops too slowly.
 */
function endConnections(server: FastifyInstance): void {
  const open = new Set<Socket>();
  server.server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.addHook("preClose", async () => {
    setTimeout(() => {
      for (const socket of open) socket.destroy();
    }, closingMsMax).unref();
  });
}

declare module "fastify" {
  interface FastifyRequest {
    language: Language;
    isInterface: boolean; // the key wants the interface's fields alone
    startedAtMs: number;
    client: ClientAddress;
  }
}

const headerBytesMax = 16_384;
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 15_000;
/**
 * Interval at which Node checks for connections past their time limit. Its default of 30 s would
 * turn fifteen seconds into forty-five.
 */
const timeoutCheckMs = 1_000;
const keepAliveTimeoutMs = 65_000;
/** For a TLS handshake; Node's default is two minutes. */
const handshakeTimeoutMs = 15_000;
/** Without a byte in either direction, for example because an answer is not read. */
const silenceTimeoutMs = 120_000;
const requestIdBytes = 8;
/** Ids that share a call for random bytes, which costs more than the bytes. */
const requestIdsAtOnce = 128;

const jsonType = "application/json; charset=utf-8";

/** Sends an Answer with its headers and language, and the request's id if it is an error. */
export function sendAnswer(
  request: FastifyRequest,
  response: FastifyReply,
  answer: Answer,
): FastifyReply {
  for (const [name, value] of Object.entries(answer.headers ?? {}))
    void response.header(name, value);
  void response.header("content-language", request.language);
  void response.header(
    "content-type",
    (answer.kind === "list" ? answer.type : undefined) ?? jsonType,
  );
  if (answer.kind === "list")
    return response.status(200).send(Readable.from(answer.parts, { objectMode: false }));
  const { language, isInterface } = request;
  const { status, text } = renderAnswer(answer, { language, requestId: request.id, isInterface });
  return response.status(status).send(text);
}

const codesOfFramework: Readonly<Record<string, AnswerCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "body_too_large",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "content_type",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "request_invalid",
  FST_ERR_BAD_URL: "request_invalid",
  FST_ERR_MAX_PARAM_LENGTH: "not_found", // an id longer than any real id
  FST_ERR_ASYNC_CONSTRAINT: "request_invalid",
};

/**
 * The client disconnected in the middle of a body. The answer reaches nobody, and nothing failed
 * here.
 */
const hungUp: readonly unknown[] = ["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"];

/** Seconds after which a request that a standby refused may be sent again. */
const standbyRetrySeconds = "2";

/**
 * Refuses every request that could write, and every agent's link, because another gateway is
 * active. Must be called before any route is added.
 */
export function refuseWrites(server: FastifyInstance): void {
  server.addHook("onRequest", async (request, response) => {
    if (request.method === "GET" || request.method === "HEAD" || request.method === "OPTIONS")
      return undefined;
    const headers = { "Retry-After": standbyRetrySeconds };
    return sendAnswer(request, response, problemAnswer("unavailable", {}, headers));
  });
  server.server.on("upgrade", (_request: unknown, socket: Duplex) => {
    socket.end(
      `HTTP/1.1 503 Service Unavailable\r\nRetry-After: ${standbyRetrySeconds}\r\nConnection: close\r\n\r\n`,
    );
  });
}

/** The answer for an error that was thrown. The gateway's own faults are logged. */
export function answerOfError(error: unknown, service: Service, requestId: string): Answer {
  if (isDatabaseBusyError(error)) return problemAnswer("unavailable", {}, { "Retry-After": "1" });
  const passing = isDiskFull(error)
    ? "GATEWAY_DISK_FULL"
    : error instanceof AgentError
      ? error.code
      : null;
  if (passing !== null && passingCauseOf(passing) !== null) {
    const words = error instanceof Error ? error.message : "";
    service.log.error({ event: "request-failed", requestId, code: passing }, words);
    return problemAnswer("unavailable", {}, { "Retry-After": "60" });
  }
  const name = error instanceof Error && "code" in error ? error.code : undefined;
  if (hungUp.includes(name)) return problemAnswer("request_invalid");
  const code = typeof name === "string" ? codesOfFramework[name] : undefined;
  if (code !== undefined) return problemAnswer(code);
  const context = error instanceof AgentError ? { code: error.code, context: error.context } : {};
  service.log.error(
    { event: "request-failed", requestId, err: error, ...context },
    "a request failed inside",
  );
  return problemAnswer("internal");
}

const knownPaths: readonly (readonly [RegExp, string])[] = [
  [
    /^\/api\/v1\/(?:createTransactionRequest|acceptDeposit|createInvoice|chooseCurrency|cancelRequest|autoWithdraws?|manualWithdraw|cancelWithdraw|(?:create|pause|resume|remove|test|redeliver)Callback)$/,
    "POST",
  ],
  [
    /^\/api\/v1\/(?:transactions|invoices|supportedCurrency|events|balances|report|callbacks)$/,
    "GET, HEAD",
  ],
  [
    /^\/api\/v1\/(?:(?:transaction|invoice|balance|estimate)\/[^/]+|address\/[^/]+\/[^/]+)$/,
    "GET, HEAD",
  ],
  [/^\/(?:health|ready|openapi\.json|docs|docs\/style\.css)$/, "GET, HEAD"],
  [/^\/pay\/[^/]+(?:\/state)?$/, "GET, HEAD"],
  [/^\/pay\/[^/]+\/(?:price|choose\/[^/]+)$/, "POST"],
  [/^\/agent\/v1\/pair$/, "POST"],
];

function notFound(request: FastifyRequest): Answer {
  const path = request.url.split("?")[0] ?? "";
  // A proxy that drops the headers of an upgrade makes a plain request of it.
  if (path === linkPath)
    return problemAnswer("upgrade_required", {}, { Upgrade: "websocket", Connection: "Upgrade" });
  const allow = knownPaths.find(([pattern]) => pattern.test(path))?.[1];
  return allow === undefined
    ? problemAnswer("not_found")
    : problemAnswer("method_not_allowed", {}, { Allow: allow });
}

/**
 * A path for the log. A reader of a payment page's token has the page, so the token is left
 * out, also of a path that was typed wrong and leads nowhere.
 */
function loggedPath({ url, routeOptions }: FastifyRequest): string {
  const { url: route = "" } = routeOptions;
  if (route.startsWith("/pay/")) return route.replace(":token", "…");
  return (url.split("?")[0] ?? "").replace(/(\/pay\/+)[^/]+/gi, "$1…").replace(tokenSegment, "/…");
}

/** A segment with the form of such a token, wherever it stands. */
const tokenSegment = /\/[\w-]{22}(?=\/|$)/g;

const httpLimits = {
  maxHeaderSize: headerBytesMax,
  headersTimeout: headersTimeoutMs,
  connectionsCheckingInterval: timeoutCheckMs,
  requireHostHeader: false, // checked below, so that a missing Host is answered like any other mistake
} as const;

/**
 * The options of Node's own server. With `https`, the framework ignores the options under `http`.
 */
function nodeOptions({ listen: { tls } }: GatewayConfig): object {
  if (tls === null) return { http: httpLimits };
  return { https: { ...httpLimits, ...readPair(tls), handshakeTimeout: handshakeTimeoutMs } };
}

function createRequestIds(random: Service["random"]): () => string {
  let ids = Buffer.alloc(0);
  return () => {
    if (ids.length === 0) ids = Buffer.from(random(requestIdBytes * requestIdsAtOnce));
    const id = ids.toString("hex", 0, requestIdBytes);
    ids = ids.subarray(requestIdBytes);
    return id;
  };
}

function create(service: Service): FastifyInstance {
  const { config } = service;
  return fastify({
    ...nodeOptions(config),
    bodyLimit: config.limits.bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionTimeout: silenceTimeoutMs,
    genReqId: createRequestIds(service.random),
    requestIdHeader: false,
    clientErrorHandler: answerToNoise,
    frameworkErrors: (error: FastifyError, request: FastifyRequest, response: FastifyReply) => {
      request.language = languageOf(request.headers["accept-language"], "en");
      void sendAnswer(request, response, answerOfError(error, service, request.id));
    },
  } as Parameters<typeof fastify>[0]) as unknown as FastifyInstance;
}

/** Bounds connections without a request, and warns once, since a balancer may have to be named. */
function limitConnections(
  { server }: FastifyInstance,
  { store, log }: Service,
  peers: Peers,
): void {
  let isTold = false;
  limitSilentConnections({
    server,
    isUnlimited: (address) => peers.isHere(address) || peers.isNamedProxy(address),
    isOfAgent: (block) => isLinkNetwork(store.database, block),
    isForHub: (request) => isForHub(request) && peers.mayComePlain(request.socket.remoteAddress),
    onCrowded: (block) => {
      if (isTold) return;
      isTold = true;
      const words = `${silentConnectionsPerBlockMax} connections of ${block} had sent no whole request; the oldest is closed for each new one. If a proxy or balancer of yours is there, name it in trustProxy`;
      log.warn({ event: "connections-crowded", block }, words);
    },
  });
}

/**
 * The server without its routes. Every answer gets an id, a language and one form. Plaintext from
 * other machines is refused. Requests are logged without query, token or body.
 * @throws AgentError GATEWAY_TLS
 */
export function createServer(service: Service): FastifyInstance {
  const server = create(service);
  const peers = createPeerRules(service.config);
  const clientOf = createClientAddressReader(service.config.trustProxy);
  let isProxyTold = false;
  let isUnreadableTold = false;
  answerBelow(server.server, peers.mayComePlain);
  endConnections(server);
  limitConnections(server, service, peers);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  server.decorateRequest("language", "en");
  server.decorateRequest("isInterface", false);
  server.decorateRequest("startedAtMs", 0);
  server.decorateRequest("client");
  server.addHook("onRequest", async (request, response) => {
    request.startedAtMs = service.clock();
    request.client = clientOf(request.raw);
    request.language = languageOf(request.headers["accept-language"], "en");
    void response.headers({
      "x-request-id": request.id,
      vary: "Accept-Language",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    const { remoteAddress } = request.raw.socket;
    if (!isUnreadableTold && request.client.unreadable !== "") {
      isUnreadableTold = true;
      const fields = {
        peer: addressBlock(remoteAddress ?? ""),
        entry: visibleText(request.client.unreadable),
      };
      const words = `the proxy writes "${fields.entry}" into X-Forwarded-For, which is no address: its clients count as the proxy itself`;
      service.log.warn({ event: "proxy-entry-unreadable", ...fields }, words);
    }
    if (
      !isProxyTold &&
      request.headers["x-forwarded-for"] !== undefined &&
      !peers.isNamedProxy(remoteAddress)
    ) {
      isProxyTold = true;
      const peer = addressBlock(remoteAddress ?? "");
      const words =
        "X-Forwarded-For from an address that trustProxy does not name: all behind it count as one";
      service.log.warn({ event: "proxy-unnamed", peer }, words);
    }
    if (!peers.mayComePlain(remoteAddress))
      return sendAnswer(request, response, problemAnswer("plaintext_refused"));
    const isNameless = request.raw.httpVersion === "1.1" && request.headers.host === undefined;
    if (isNameless)
      return sendAnswer(request, response, problemAnswer("request_invalid", { field: "Host" }));
  });
  server.addHook("onResponse", async (request, response) => {
    const ms = service.clock() - request.startedAtMs;
    const path = loggedPath(request);
    const line = {
      event: "request" as const,
      requestId: request.id,
      ip: addressBlock(request.client.address),
      method: request.method,
      path,
      status: response.statusCode,
      ms,
    };
    service.log.info(line, "request");
  });
  server.setErrorHandler((error: FastifyError, request, response) =>
    sendAnswer(request, response, answerOfError(error, service, request.id)),
  );
  server.setNotFoundHandler((request, response) =>
    sendAnswer(request, response, notFound(request)),
  );
  return server;
}
