/**
 * Answers below the framework: to bytes that are no request, to requests that Node would answer
 * with an empty body, and to unsupported upgrades and tunnels. Every answer has the error body of
 * the interface, in English, and ends the connection. Sources: RFC 9110 sections 9.3.6 (CONNECT),
 * 10.1.1 (Expect), 7.2 (Host); docs/api.md, Errors.
 */
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { closeSoon } from "../../base/close-soon.ts";
import { linkPath } from "../../protocol/messages.ts";
import { type AnswerCode, answerCodes, messageOf } from "../answer/messages.ts";

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
export function answerToNoise(error: Error & { readonly code?: string }, socket: Duplex): void {
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
export function isForHub({ url = "" }: IncomingMessage): boolean {
  return url.split("?", 1)[0] === linkPath;
}

/**
 * Handles the three kinds of request that the framework never sees. `mayComePlain` decides which
 * connections are answered.
 */
export function answerBelow(
  server: Server,
  mayComePlain: (address: string | undefined) => boolean,
): void {
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
