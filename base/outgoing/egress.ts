/**
 * How this process leaves a company's network: the certificates that it trusts besides the
 * machine's own, and a proxy for hosts that cannot be reached directly. Set once at the start of a
 * process, from its configuration; the environment has no say. Loopback is always reached directly.
 * Sources: RFC 9110 section 9.3.6 (CONNECT), RFC 7617 (Basic).
 */
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectSecure, rootCertificates } from "node:tls";
import type { Egress } from "../egress.ts";
import { isLoopback } from "../loopback.ts";

const noEgress: Egress = { ca: "", proxy: "", direct: [] };

const answerHeadBytesMax = 8_192;
const httpPort = 80;
const httpsPort = 443;

let inForce: Egress = noEgress;

/** Sets the way out of this process. To be called before the first connection. */
export function useEgress(egress: Egress): void {
  inForce = egress;
}

/** The certificates to trust; undefined for the machine's own alone. */
export function trustedAuthorities(): readonly string[] | undefined {
  return inForce.ca === "" ? undefined : [...rootCertificates, inForce.ca];
}

/** True if a host is reached by the proxy. */
export function isByProxy(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (inForce.proxy === "" || isLoopback(host)) return false;
  return !inForce.direct.some((one) => host === one || (one.startsWith(".") && host.endsWith(one)));
}

export interface TunnelTarget {
  readonly hostname: string;
  readonly port: number; // 0: the scheme's own
  readonly isSecure: boolean;
  readonly servername?: string; // the name on the certificate, if it is not the host's
}

/** An error with the code of its cause, as the system's own errors have one. */
function fault(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/**
 * Opens a connection to a host through the proxy, with TLS to the host itself for a secure one, so
 * that the proxy sees names and no content. Calls `done` once. An error has a code: PROXY_REFUSED,
 * PROXY_LOGIN with the proxy's status, PROXY_ANSWER, or the system's own.
 */
export function openTunnel(
  target: TunnelTarget,
  timeoutMs: number,
  done: (error: Error | null, socket: Socket | null) => void,
): void {
  const proxy = new URL(inForce.proxy);
  const port = target.port === 0 ? (target.isSecure ? httpsPort : httpPort) : target.port;
  const host = target.hostname.replace(/^\[|\]$/g, "");
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const socket = connectPlain({
    host: proxy.hostname.replace(/^\[|\]$/g, ""),
    port: Number(proxy.port || httpPort),
  });
  let isDone = false;
  const finish = (error: Error | null, open: Socket | null): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    if (error !== null) socket.destroy();
    done(error, open);
  };
  const timer = setTimeout(
    () => finish(fault("ETIMEDOUT", "the proxy did not connect in time"), null),
    timeoutMs,
  );
  const fail = (error: Error): void => finish(error, null);
  socket.once("error", fail);
  socket.once("connect", () => socket.write(connectRequest(authority, proxy)));
  readHead(socket, (head) => {
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? "";
    if (status === "") {
      fail(fault("PROXY_ANSWER", "the proxy did not answer as an HTTP proxy does"));
      return;
    }
    if (!status.startsWith("2")) {
      // Without the connection no words of it are left, so the code has the cause.
      const code = status === "407" ? "PROXY_LOGIN" : "PROXY_REFUSED";
      fail(fault(code, `the proxy refused ${authority}: HTTP status ${status}`));
      return;
    }
    socket.removeListener("error", fail);
    if (!target.isSecure) {
      finish(null, socket);
      return;
    }
    const ca = trustedAuthorities();
    const options: ConnectionOptions = {
      socket,
      ALPNProtocols: ["http/1.1"],
      ...(ca === undefined ? {} : { ca: [...ca] }),
    };
    const name = target.servername ?? host;
    const secure = connectSecure(
      isIP(name) === 0 ? { ...options, servername: name } : { ...options, host: name },
    );
    secure.once("error", fail);
    secure.once("secureConnect", () => {
      secure.removeListener("error", fail);
      finish(null, secure);
    });
  });
}

function connectRequest(authority: string, { username, password }: URL): string {
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (username !== "") {
    const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    lines.push(`Proxy-Authorization: Basic ${Buffer.from(text).toString("base64")}`);
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** The head of the proxy's answer, once; bytes behind it belong to the connection. */
function readHead(socket: Socket, done: (head: string) => void): void {
  let head = Buffer.alloc(0);
  const take = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0 && head.length <= answerHeadBytesMax) return;
    socket.removeListener("data", take);
    socket.pause();
    const behind = end < 0 ? Buffer.alloc(0) : head.subarray(end + 4);
    if (behind.length > 0) socket.unshift(behind);
    done(end < 0 ? "" : head.subarray(0, end).toString("latin1"));
  };
  socket.on("data", take);
  socket.once("close", () => done(head.toString("latin1")));
}
