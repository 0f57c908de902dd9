/**
 * The HTTP client for every request that leaves this program: to chain nodes, markets, receivers of
 * callbacks and of alerts. An exchange is bounded in time and size, follows no redirect, uses no
 * proxy of the environment (egress.ts has the configuration's), and its outcome is a value. Tries
 * each address of a name, and names the address that refused. Reaches only the given origin.
 * Sources: RFC 9110 (HTTP semantics), RFC 8305 (several addresses of a name).
 */
import type { Dispatcher, Pool as PoolOf } from "undici";
import Pool from "undici/lib/dispatcher/pool.js";
import { version } from "../version.ts";
import { isByProxy, openTunnel, trustedAuthorities } from "./egress.ts";

/* The reason why a connection failed: the system's code, with the address that refused. Pure. */

const addressesMax = 8;
/** The client library has its own codes for two causes that have a code of the system. */
const ours: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: "ETIMEDOUT",
  UND_ERR_SOCKET: "ECONNRESET",
};

interface SystemError {
  readonly code?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
}

/**
 * `text` is for example "ECONNREFUSED (::1 port 8545, 127.0.0.1 port 8545)" or "CERT_HAS_EXPIRED",
 * `code` only the first word. A name with several addresses has one error for each.
 */
export function connectionReasonOf(error: unknown): {
  readonly code: string;
  readonly text: string;
} {
  const all = flat(error, 0);
  const codes = [
    ...new Set(
      all
        .map(({ code }) => code)
        .filter(isCode)
        .map((code) => ours[code] ?? code),
    ),
  ];
  const places = all.flatMap(({ address, port }) =>
    typeof address === "string" && typeof port === "number" ? [`${address} port ${port}`] : [],
  );
  const where = [...new Set(places)].slice(0, addressesMax).join(", ");
  const [code = ""] = codes;
  return {
    code,
    text: `${codes.join(", ") || "connection failed"}${where === "" ? "" : ` (${where})`}`,
  };
}

const isCode = (code: unknown): code is string =>
  typeof code === "string" && /^[A-Z0-9_]{1,64}$/.test(code);

/**
 * The errors of each address, or the error itself. An error without a code is replaced by its
 * cause.
 */
function flat(error: unknown, depth: number): readonly SystemError[] {
  const { errors, cause, code } = (error ?? {}) as SystemError;
  if (depth === 4) return [];
  if (Array.isArray(errors) && errors.length > 0)
    return errors.flatMap((one) => flat(one, depth + 1));
  return isCode(code) || cause === undefined
    ? [(error ?? {}) as SystemError]
    : flat(cause, depth + 1);
}

/*
 * The memory for answers under way, shared by all exchanges of a process. Each answer has a bound
 * of its own; this bound is for their sum. Above it, only the answer that grew large first is read
 * further. The others pause until there is room again, each within its own time limit. Touches
 * nothing.
 */

/** Bytes of all answers under way. The answer that reads on above it adds its own bound at most. */
export const answersBytesMax = 64 * 1024 * 1024;
/** The first bytes of each answer always pass, so small answers never wait. */
const passingBytes = 64 * 1024;

/** The place of one answer. */
interface AnswerPlace {
  /** Counts received bytes. False: nothing more is read until the call to go on. */
  take(bytes: number): boolean;
  /** Gives the memory back when the bytes are no longer needed. May be repeated without harm. */
  leave(): void;
}

interface Place {
  bytes: number;
  isPaused: boolean;
  readonly goOn: () => void;
}

export class AnswerBytesBudget {
  readonly #bytesMax: number;
  /** Answers above `passingBytes`, with the first that grew so large in front. */
  readonly #large = new Set<Place>();
  #bytes = 0;

  constructor(bytesMax: number = answersBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of all answers under way. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `goOn` is called after each pause, when there is room. */
  enter(goOn: () => void): AnswerPlace {
    const place: Place = { bytes: 0, isPaused: false, goOn };
    return {
      take: (bytes) => {
        place.bytes += bytes;
        this.#bytes += bytes;
        if (place.bytes > passingBytes) this.#large.add(place);
        place.isPaused = !this.#mayGoOn(place);
        return !place.isPaused;
      },
      leave: () => {
        this.#bytes -= place.bytes;
        place.bytes = 0;
        place.isPaused = false;
        this.#large.delete(place);
        this.#callOn();
      },
    };
  }

  #mayGoOn(place: Place): boolean {
    const [first] = this.#large;
    return this.#bytes <= this.#bytesMax || place.bytes <= passingBytes || place === first;
  }

  #callOn(): void {
    for (const place of [...this.#large]) {
      if (!place.isPaused || !this.#mayGoOn(place)) continue;
      place.isPaused = false;
      place.goOn();
    }
  }
}

export interface OutgoingRequest {
  readonly method: "GET" | "HEAD" | "POST";
  readonly path: string; // with the query
  /** A `host` here is also the name on the certificate, if the origin is one of its addresses. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly bytesMax: number; // bound of the answer's body
  readonly timeoutMs: number; // time from now to the last byte, with the connection
  /**
   * Time for the body after the status. A longer body is cut without a failure; for callers that
   * read only the status.
   */
  readonly bodyMs?: number;
}

/**
 * `isUnsent`: certain that no byte of the request left. `isCut`: the connection broke after it was
 * established, so a second request can work at once.
 */
export type OutgoingOutcome =
  | {
      readonly ok: true;
      readonly status: number;
      readonly retryAfter: string; // seconds as digits, "" without one
      readonly date: string; // the server's own, as it wrote it; "" without one
      readonly body: Buffer;
    }
  | {
      readonly ok: false;
      readonly kind: "unreachable" | "timeout" | "size" | "coding" | "aborted";
      readonly code: string; // the system's code for "unreachable", such as ECONNREFUSED; else ""
      readonly why: string; // for operators, with the address that refused; no path, no header
      readonly isUnsent: boolean;
      readonly isCut: boolean;
    };

type FailedOutcome = Extract<OutgoingOutcome, { ok: false }>;

export interface OutgoingOptions {
  readonly origin: string; // scheme, host and port
  readonly connectionsMax: number;
  /** An idle connection is closed after this time. 0: a connection serves only one request. */
  readonly idleMs: number;
  /**
   * Time to connect, with the TLS handshake; by default 10 s. The exchange's own limit ends it
   * earlier.
   */
  readonly connectMs?: number;
  readonly ca?: string; // PEM, trusted instead of the machine's own
  readonly room?: AnswerBytesBudget; // memory for its answers; by default that of this process
}

export interface OutgoingClient {
  /** Sends one request. Calls `done` exactly once, never before `send` has returned. */
  send(request: OutgoingRequest, done: (outcome: OutgoingOutcome) => void): { abort(): void };
  /** Ends all requests under way. Calling twice is harmless. */
  close(): void;
}

/** The name in every request, so a firewall can allow it. */
const userAgent = `autowithdraw/${version}`;
const connectMsDefault = 10_000;
/**
 * For one address of several. A slow line is not taken for an unreachable one (nodejs/node 54359).
 */
const attemptMs = 2_000;
const headerBytesMax = 16_384;

/** Memory for the answers of all exchanges of this process. */
const roomOfProcess = new AnswerBytesBudget();

/** Prepares the connections to one origin; connects nothing yet. */
export function createOutgoingClient(options: OutgoingOptions): OutgoingClient {
  const pool = new Pool(options.origin, {
    connections: options.connectionsMax,
    pipelining: 1,
    keepAliveTimeout: Math.max(1, options.idleMs),
    keepAliveMaxTimeout: Math.max(1, options.idleMs),
    maxHeaderSize: headerBytesMax,
    headersTimeout: 0, // the exchange's own timer bounds the complete exchange
    bodyTimeout: 0,
    connect: connectorOf(options),
  } as PoolOf.Options);
  const underWay = new Set<{ abort(): void }>();
  const way = { pool, isOnce: options.idleMs === 0, room: options.room ?? roomOfProcess };
  return {
    send: (request, done) => {
      const exchange = begin(way, request, (outcome) => {
        underWay.delete(exchange);
        done(outcome);
      });
      underWay.add(exchange);
      return exchange;
    },
    close: () => {
      for (const exchange of [...underWay]) exchange.abort();
      void pool.destroy().catch(() => {});
    },
  };
}

/** The way to an origin: by the proxy of this process, or directly. */
function connectorOf({
  origin,
  ca,
  connectMs = connectMsDefault,
}: OutgoingOptions): PoolOf.Options["connect"] {
  if (ca === undefined && isByProxy(new URL(origin).hostname))
    return ({ hostname, port, protocol, servername }, done) => {
      const isSecure = protocol === "https:";
      const target = {
        hostname,
        port: Number(port || 0),
        isSecure,
        ...(servername ? { servername } : {}),
      };
      openTunnel(target, connectMs, (error, socket) =>
        socket === null ? done(error as Error, null) : done(null, socket),
      );
    };
  const certificates = ca ?? trustedAuthorities();
  return {
    timeout: connectMs,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptMs,
    ...(certificates === undefined ? {} : { ca: certificates as string | string[] }),
    // A given certificate is trusted also if it is not an authority's own.
    ...(ca === undefined ? {} : { allowPartialTrustChain: true }),
  };
}

type Cause = Omit<FailedOutcome, "isUnsent">;

/** The rest of a longer time may have a fraction, which nobody needs. */
const durationText = (ms: number): string =>
  ms < 1000 ? `${Math.ceil(ms)} ms` : `${Math.round(ms / 100) / 10} s`;

const failed = (kind: FailedOutcome["kind"], why: string): Cause => ({
  ok: false,
  kind,
  code: "",
  why,
  isCut: false,
});

function unreachable(error: unknown, isCut: boolean, why?: string): Cause {
  const reason = connectionReasonOf(error);
  return { ok: false, kind: "unreachable", code: reason.code, why: why ?? reason.text, isCut };
}

/** The connections to an origin, and the memory for their answers. */
interface OriginWay {
  readonly pool: PoolOf;
  readonly isOnce: boolean; // a connection serves one request
  readonly room: AnswerBytesBudget;
}

function begin(
  { pool, isOnce, room }: OriginWay,
  request: OutgoingRequest,
  done: (outcome: OutgoingOutcome) => void,
): { abort(): void } {
  const { bytesMax, timeoutMs, bodyMs } = request;
  let place: AnswerPlace | null = null;
  let isDone = false;
  let breakOff: (() => void) | null = null; // set when the request has a connection
  const chunks: Buffer[] = [];
  let size = 0;
  let head = { status: 0, retryAfter: "", date: "" };
  let timer = setTimeout(
    () => fail(failed("timeout", `no answer in ${durationText(timeoutMs)}`)),
    timeoutMs,
  );

  function end(outcome: OutgoingOutcome): void {
    isDone = true;
    clearTimeout(timer);
    // The bytes count until they are read, because `done` parses them before it returns.
    try {
      done(outcome);
    } finally {
      place?.leave();
    }
  }
  function fail(outcome: Cause): void {
    if (isDone) return;
    end({ ...outcome, isUnsent: breakOff === null });
    breakOff?.();
  }
  function succeed(): void {
    if (!isDone) end({ ok: true, ...head, body: Buffer.concat(chunks, size) });
  }
  /** Only the status was asked for, so the connection with the rest of the body is closed. */
  function cutBody(): void {
    succeed();
    breakOff?.();
  }

  const handler: Dispatcher.DispatchHandlers = {
    onConnect(abort) {
      breakOff = () => abort();
      if (isDone) abort(); // given up before the connection was established: no byte leaves
    },
    onHeaders(status, raw, goOn) {
      if (status < 200) return true; // RFC 9110 section 15.2: the answer is still to come
      const headers = new Map(pairsOf(raw));
      const coding = headers.get("content-encoding") ?? "identity";
      const date = headers.get("date") ?? "";
      head = { status, retryAfter: retryAfterOf(headers.get("retry-after") ?? "", date), date };
      // In a later tick, because another exchange's parser is at work when memory is given back.
      place = room.enter(() => setImmediate(goOn));
      if (bodyMs !== undefined) {
        clearTimeout(timer);
        timer = setTimeout(cutBody, bodyMs);
      } else if (coding !== "identity") {
        fail(failed("coding", `the answer comes as ${shown(coding)}, which was not asked for`));
        return false;
      }
      return true;
    },
    onData(chunk) {
      if (isDone) return true;
      if (bodyMs !== undefined) {
        chunks.push(chunk.subarray(0, bytesMax - size));
        size = Math.min(bytesMax, size + chunk.length);
        if (size === bytesMax) cutBody();
        return true;
      }
      size += chunk.length;
      if (size > bytesMax) {
        fail(failed("size", `answer above ${bytesMax} bytes`));
        return true;
      }
      chunks.push(chunk);
      return place?.take(chunk.length) ?? true;
    },
    onComplete: succeed,
    onError(error) {
      const isMidway = head.status > 0;
      if (bodyMs !== undefined && isMidway) succeed();
      else
        fail(
          unreachable(
            error,
            breakOff !== null,
            isMidway ? "connection closed in the middle of an answer" : undefined,
          ),
        );
    },
  };
  // In a later tick, as the interface promises, because a refused path or header is an error at
  // once.
  setImmediate(() => {
    if (isDone) return;
    try {
      pool.dispatch({ ...asked(request), reset: isOnce }, handler);
    } catch (error) {
      fail(unreachable(error, false));
    }
  });
  return { abort: () => fail(failed("aborted", "the connection was closed by us")) };
}

/**
 * Retry-After in seconds; a date is compared with the server's own. "" for a text that cannot be
 * read.
 */
export function retryAfterOf(text: string, date: string): string {
  if (text === "" || /^[0-9]{1,9}$/.test(text)) return text;
  const seconds = Math.ceil((Date.parse(text) - Date.parse(date)) / 1000);
  return Number.isNaN(seconds) ? "" : `${Math.max(0, seconds)}`;
}

/**
 * Headers that a server expects of a good client. No content coding is asked for, so none may come.
 */
function asked({ method, path, headers, body }: OutgoingRequest): Dispatcher.DispatchOptions {
  const ours = {
    "user-agent": userAgent,
    accept: "application/json",
    "accept-encoding": "identity",
  };
  const content = body === undefined ? {} : { "content-type": "application/json" };
  return { method, path, headers: { ...ours, ...content, ...headers }, body: body ?? null };
}

function pairsOf(raw: readonly Buffer[] | null): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; raw !== null && at + 1 < raw.length; at += 2)
    pairs.push([
      (raw[at] as Buffer).toString("latin1").toLowerCase(),
      (raw[at + 1] as Buffer).toString("latin1"),
    ]);
  return pairs;
}

const shown = (coding: string): string => coding.replace(/[^\w,-]/g, "?").slice(0, 32);
