/**
 * Sends one callback; the only file of this module that uses the network. A name is looked up only
 * once, and the connection goes to an address that the guard accepted, even if the name's addresses
 * change a moment later. No redirects, no proxy, no kept connection. A receiver's behaviour is
 * bounded in time and size. Faults name neither address nor path, because the path may be a secret
 * of the receiver's.
 */
import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { isLoopback } from "../../base/loopback.ts";
import { createOutgoing, type Outcome } from "../../outgoing/exchange.ts";
import type { CallbackSettings } from "../config/callback-settings.ts";
import { hostOf, mayReach, urlProblem } from "./guard.ts";

export interface Sent {
  readonly status: number; // HTTP; 0 without an answer
  readonly answer: string; // the first bytes of the answer, or the reason why there is none
  readonly retryAfter: string | undefined;
  readonly durationMs: number;
}

export interface Letter {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly tries: number; // earlier tries; each try uses another address of the name
}

export interface DoorOptions {
  readonly settings: CallbackSettings;
  readonly monotonic: () => number; // milliseconds
  readonly nameServers?: readonly string[]; // default: the machine's own
  readonly ca?: string; // PEM: trusted instead of the machine's own certificates, the default
}

export interface Door {
  /** Tries to send, without a retry. Never rejects for a network fault. */
  send(letter: Letter): Promise<Sent>;
  /** Cuts off requests in progress. Harmless to call twice. */
  close(): void;
}

const answerBytesMax = 512;
/** Time to wait after the status for the answer's text, which is only for the log. */
const answerMs = 1_000;

export function createDoor(options: DoorOptions): Door {
  const underWay = new Set<() => void>();
  return {
    async send(letter) {
      const startedAt = options.monotonic();
      const received = await tryOnce(letter, options, underWay);
      return { ...received, durationMs: Math.round(options.monotonic() - startedAt) };
    },
    close() {
      for (const breakOff of underWay) breakOff();
    },
  };
}

type Received = Omit<Sent, "durationMs">;
type UnderWay = Set<() => void>;

const unsent = (answer: string): Received => ({ status: 0, answer, retryAfter: undefined });

async function tryOnce(letter: Letter, options: DoorOptions, underWay: UnderWay): Promise<Received> {
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
 * Asks the name servers directly, because the system's own look-up may delay every other look-up of
 * this process by many seconds.
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

const portOf = ({ port }: URL): string => (port === "" ? "" : `:${port}`);

/** The certificate must match the name, though the connection goes to an address. */
function exchange(url: URL, address: string, letter: Letter, options: Exchange, underWay: UnderWay): Promise<Received> {
  const { ca, timeoutMs } = options;
  const outgoing = createOutgoing({
    origin: `${url.protocol}//${address.includes(":") ? `[${address}]` : address}${portOf(url)}`,
    connectionsMax: 1,
    idleMs: 0,
    ...(ca === undefined ? {} : { ca }),
  });
  return new Promise((resolve) => {
    const request = {
      method: "POST",
      path: url.pathname + url.search,
      headers: { ...letter.headers, host: url.host },
      body: letter.body,
    } as const;
    const bounds = { bytesMax: answerBytesMax, timeoutMs, bodyMs: answerMs };
    const sent = outgoing.send({ ...request, ...bounds }, (outcome) => {
      underWay.delete(breakOff);
      outgoing.close();
      resolve(receivedOf(outcome));
    });
    const breakOff = (): void => sent.abort();
    underWay.add(breakOff);
  });
}

/** The status decides; the first bytes of the answer are only for the log. */
export function receivedOf(outcome: Outcome): Received {
  if (outcome.ok) {
    const { status, retryAfter, body } = outcome;
    return { status, answer: body.toString("utf8"), retryAfter: retryAfter === "" ? undefined : retryAfter };
  }
  switch (outcome.kind) {
    case "timeout":
      return unsent("no answer in time");
    case "aborted":
      return unsent("the gateway stopped");
    default:
      return unsent(`could not be reached (${outcome.code || "?"})`);
  }
}
