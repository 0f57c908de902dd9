/**
 * Door of this room, and its one dangerous file: sends one callback. A name is looked up once, and
 * the connection goes to an address that the guard passed, whatever the name says a moment later.
 * No redirects, no proxy, no connection kept; everything that a receiver does is bounded in time
 * and size. Faults name neither address nor path, which may be a secret of the receiver's.
 */
import { Resolver } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { isIP } from "node:net";
import { isLoopback } from "../../protocol/loopback.ts";
import type { CallbackSettings } from "../callback-settings.ts";
import { hostOf, mayReach, urlProblem } from "./guard.ts";

/** @public */
export interface Sent {
  readonly status: number; // HTTP; 0 without an answer
  readonly answer: string; // the answer's first bytes, or why there is none
  readonly retryAfter: string | undefined;
  readonly durationMs: number;
}

/** @public */
export interface Letter {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly tries: number; // made before: another address of the same name has its turn
}

/** @public */
export interface DoorOptions {
  readonly settings: CallbackSettings;
  readonly monotonic: () => number; // milliseconds
  readonly nameServers?: readonly string[]; // the machine's own unless told
  readonly ca?: string; // PEM: trusted in the place of the machine's own, which count unless told
}

/** @public */
export interface Door {
  /** One try; never rejects for what the network does. */
  send(letter: Letter): Promise<Sent>;
  /** Breaks off what is under way. Harmless twice. */
  close(): void;
}

const answerBytesMax = 512;
const headerBytesMax = 16_384;
/** After the status this long is waited for the answer's text, which is for the log alone. */
const answerMs = 1_000;

/** @public */
export function createDoor(options: DoorOptions): Door {
  const underWay = new Set<() => void>();
  return {
    async send(letter) {
      const startedAt = options.monotonic();
      const heard = await tryOnce(letter, options, underWay);
      return { ...heard, durationMs: Math.round(options.monotonic() - startedAt) };
    },
    close() {
      for (const breakOff of underWay) breakOff();
    },
  };
}

type Heard = Omit<Sent, "durationMs">;
type UnderWay = Set<() => void>;

const unsent = (answer: string): Heard => ({ status: 0, answer, retryAfter: undefined });

async function tryOnce(letter: Letter, options: DoorOptions, underWay: UnderWay): Promise<Heard> {
  const { settings, monotonic } = options;
  const problem = urlProblem(letter.url, settings);
  if (problem !== "") return unsent(`the URL ${problem}`);
  const url = new URL(letter.url);
  const startedAt = monotonic();
  const found = await addressesOf(url, options, underWay);
  if (found.length === 0) return unsent("the name has no address");
  const allowed = found.filter((address) => mayReach(address, settings));
  const address = allowed[letter.tries % allowed.length];
  if (address === undefined) return unsent("the name leads to an address that is not public");
  const timeoutMs = Math.max(1, settings.timeoutMs - (monotonic() - startedAt));
  return exchange(url, address, letter, { ...options, timeoutMs }, underWay);
}

/**
 * By the name servers themselves: the system's own look-up may hold up every other one of this
 * process for many seconds.
 */
async function addressesOf(url: URL, options: DoorOptions, underWay: UnderWay): Promise<readonly string[]> {
  const { settings, nameServers } = options;
  const host = hostOf(url);
  if (isIP(host) !== 0) return [host];
  if (isLoopback(host)) return ["127.0.0.1"];
  const resolver = new Resolver({ timeout: Math.ceil(settings.timeoutMs / 4), tries: 2 });
  if (nameServers !== undefined) resolver.setServers([...nameServers]);
  const cancel = (): void => resolver.cancel();
  const timer = setTimeout(cancel, settings.timeoutMs);
  underWay.add(cancel);
  const none = (): readonly string[] => [];
  const found = await Promise.all([resolver.resolve4(host).catch(none), resolver.resolve6(host).catch(none)]);
  underWay.delete(cancel);
  clearTimeout(timer);
  return found.flat();
}

interface Exchange extends DoorOptions {
  readonly timeoutMs: number;
}

function exchange(url: URL, address: string, letter: Letter, options: Exchange, underWay: UnderWay): Promise<Heard> {
  return new Promise((resolve) => {
    let request: ClientRequest | null = null;
    const over = (heard: Heard): void => {
      clearTimeout(timer);
      underWay.delete(breakOff);
      request?.destroy();
      resolve(heard);
    };
    const breakOff = (): void => over(unsent("the gateway stopped"));
    const timer = setTimeout(() => over(unsent("no answer in time")), options.timeoutMs);
    underWay.add(breakOff);
    try {
      request = begin(url, address, letter, options.ca);
    } catch (cause) {
      over(unsent(`could not be sent (${codeOf(cause)})`));
      return;
    }
    request.on("error", (cause) => over(unsent(`could not be reached (${codeOf(cause)})`)));
    request.on("response", (response) => {
      clearTimeout(timer); // the status is the answer
      hear(response, over);
    });
    request.end(letter.body);
  });
}

function begin(url: URL, address: string, letter: Letter, ca: string | undefined): ClientRequest {
  const host = hostOf(url);
  const isSecure = url.protocol === "https:";
  return (isSecure ? secureRequest : plainRequest)({
    ...{ host: address, port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port), path: `${url.pathname}${url.search}` },
    // The certificate is the name's, though the connection is the address's.
    ...(isSecure ? { servername: isIP(host) === 0 ? host : "", ...(ca === undefined ? {} : { ca }) } : {}),
    ...{ method: "POST", agent: false, maxHeaderSize: headerBytesMax },
    headers: {
      ...letter.headers,
      host: url.host,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(letter.body),
      connection: "close",
    },
  });
}

/** The status decides; the first bytes are for the log, and nobody waits long for them. */
function hear(response: IncomingMessage, over: (heard: Heard) => void): void {
  const parts: Buffer[] = [];
  let bytes = 0;
  const done = (): void => {
    clearTimeout(timer);
    const answer = Buffer.concat(parts).subarray(0, answerBytesMax).toString("utf8");
    over({ status: response.statusCode ?? 0, answer, retryAfter: response.headers["retry-after"] });
  };
  const timer = setTimeout(done, answerMs);
  response.on("data", (part: Buffer) => {
    parts.push(part.subarray(0, answerBytesMax));
    bytes += part.length;
    if (bytes >= answerBytesMax) done();
  });
  response.on("end", done);
  response.on("error", done);
  response.on("aborted", done);
}

function codeOf(cause: unknown): string {
  const { code } = cause as { readonly code?: unknown };
  return typeof code === "string" && /^[A-Z0-9_]{1,64}$/.test(code) ? code : "?";
}
