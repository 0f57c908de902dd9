/**
 * Sends one callback; the only file of this module that uses the network. A name is looked up once
 * for each try, and connections go only to addresses that the guard accepted, even if the name's
 * addresses change a moment later. A try goes through these addresses until one connects; after the
 * first byte it stays there. No redirects, no proxy, no kept connection. A receiver's behaviour is
 * bounded in time and size. Faults name neither address nor path, because the path may be a secret
 * of the receiver's. Source: RFC 8305 (Happy Eyeballs).
 */
import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { isLoopback } from "../../base/loopback.ts";
import { createOutgoingClient, type OutgoingOutcome } from "../../base/outgoing/exchange.ts";
import type { CallbackSettings } from "../config/callback-settings.ts";
import { AddressOrder, type AddressResult, addressesMax } from "./address-order.ts";
import { hostOf, mayReachAddress, nameLookupFaults, urlProblem } from "./guard.ts";

export interface DeliveryResult {
  readonly status: number; // HTTP; 0 without an answer
  readonly answer: string; // the first bytes of the answer, or the reason why there is none
  readonly retryAfter: string | undefined;
  readonly durationMs: number;
}

export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface CallbackSenderOptions {
  readonly settings: CallbackSettings;
  readonly monotonic: () => number; // milliseconds
  readonly nameServers?: readonly string[]; // default: the machine's own
  readonly ca?: string; // PEM: trusted instead of the machine's own certificates, the default
}

export interface CallbackSender {
  /** Tries to send, without a retry. Never rejects for a network fault. */
  send(letter: DeliveryRequest): Promise<DeliveryResult>;
  /** Cuts off requests in progress. Harmless to call twice. */
  close(): void;
}

const answerBytesMax = 512;
/** Time to wait after the status for the answer's text, which is only for the log. */
const answerMs = 1_000;
/** Time for a connection to one address while others are left; a slow line needs about a second. */
const attemptMsMax = 3_000;
const attemptMsMin = 100;
/**
 * Time that one family's addresses wait for the other family's, because some name servers ignore
 * one question.
 */
const otherFamilyMs = 300;

export function createCallbackSender(options: CallbackSenderOptions): CallbackSender {
  const underWay = new Set<() => void>();
  let isClosed = false;
  const way: SenderState = {
    ...options,
    underWay,
    isClosed: () => isClosed,
    order: new AddressOrder(options.monotonic),
  };
  return {
    async send(letter) {
      const startedAt = options.monotonic();
      const received = await tryOnce(letter, way);
      return { ...received, durationMs: Math.round(options.monotonic() - startedAt) };
    },
    close() {
      isClosed = true;
      for (const breakOff of underWay) breakOff();
    },
  };
}

type ReceiverAnswer = Omit<DeliveryResult, "durationMs">;

/** State that all tries of one callback sender share. */
interface SenderState extends CallbackSenderOptions {
  readonly underWay: Set<() => void>;
  readonly isClosed: () => boolean;
  readonly order: AddressOrder;
}

const unsent = (answer: string): ReceiverAnswer => ({ status: 0, answer, retryAfter: undefined });

async function tryOnce(letter: DeliveryRequest, way: SenderState): Promise<ReceiverAnswer> {
  const { settings, monotonic } = way;
  const problem = urlProblem(letter.url, settings);
  if (problem !== "") return unsent(`the URL ${problem}`);
  const url = new URL(letter.url);
  const endMs = monotonic() + settings.timeoutMs;
  const lookUp = startLookUp(url, way);
  try {
    await lookUp.usable;
    return await tryAddresses(url, letter, lookUp, { ...way, endMs });
  } finally {
    lookUp.end();
  }
}

/**
 * Connects to one accepted address after the other. Once the request has left, its outcome counts.
 */
async function tryAddresses(
  url: URL,
  letter: DeliveryRequest,
  lookUp: LookUp,
  way: SenderState & { readonly endMs: number },
): Promise<ReceiverAnswer> {
  const { settings, monotonic, order, endMs } = way;
  const codes = new Set<string>();
  const tried = new Set<string>();
  for (;;) {
    const accepted = lookUp.found().filter((address) => mayReachAddress(address, settings));
    const left = order.of(url.host, accepted).filter((address) => !tried.has(address));
    const [address] = left;
    const leftMs = endMs - monotonic();
    if (way.isClosed()) return unsent("the gateway stopped");
    if (leftMs <= 0 && tried.size > 0) return unsent("no answer in time");
    if (address === undefined || tried.size === addressesMax) {
      if (await lookUp.more()) continue;
      if (codes.size > 0) return unsent(`could not be reached (${[...codes].join(", ")})`);
      return unsent(lookUp.found().length === 0 ? lookUp.whyNone() : nameLookupFaults.closed);
    }
    tried.add(address);
    const isLast = left.length === 1 && !lookUp.isPending();
    const connectMs = isLast
      ? leftMs
      : Math.min(attemptMsMax, Math.max(attemptMsMin, leftMs / (left.length + 1)));
    const outcome = await exchange(url, address, letter, {
      ...way,
      timeoutMs: Math.max(1, leftMs),
      connectMs,
    });
    order.keep(url.host, address, attemptOf(outcome), outcome.ok ? "" : outcome.code);
    if (outcome.ok || outcome.kind !== "unreachable" || !outcome.isUnsent)
      return receiverAnswerOf(outcome);
    codes.add(outcome.code || "?");
  }
}

/** True for a status by which a receiver accepts an event. */
export const isTaken = ({ status }: Pick<DeliveryResult, "status">): boolean =>
  status >= 200 && status < 300;

const attemptOf = (outcome: OutgoingOutcome): AddressResult =>
  !outcome.ok ? "failed" : isTaken(outcome) ? "took" : "answered";

/** A look-up under way. */
interface LookUp {
  /**
   * Resolves when a try can begin: all is known, or one family for a moment longer than the other.
   */
  readonly usable: Promise<void>;
  found(): readonly string[];
  /** Why nothing was found, once all is known. */
  whyNone(): string;
  isPending(): boolean;
  /** Waits for the rest. False: all was known before. */
  more(): Promise<boolean>;
  end(): void;
}

/**
 * Asks the name servers directly, because the system's own look-up may delay every other look-up of
 * this process by many seconds. The two families are two questions.
 */
function startLookUp(url: URL, { settings, nameServers, underWay }: SenderState): LookUp {
  const host = hostOf(url);
  const known = isIP(host) === 0 ? (isLoopback(host) ? ["127.0.0.1"] : null) : [host];
  if (known !== null) {
    const nothing = async (): Promise<boolean> => false;
    return {
      usable: Promise.resolve(),
      found: () => known,
      whyNone: () => nameLookupFaults.empty,
      isPending: () => false,
      more: nothing,
      end: () => {},
    };
  }
  const resolver = new Resolver({ timeout: Math.ceil(settings.timeoutMs / 4), tries: 2 });
  if (nameServers !== undefined) resolver.setServers([...nameServers]);
  const cancel = (): void => resolver.cancel();
  const timer = setTimeout(cancel, settings.timeoutMs);
  underWay.add(cancel);
  const found: string[] = [];
  let pending = 2;
  let moment: NodeJS.Timeout | undefined;
  let begin = (): void => {};
  const early = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const answered = (addresses: readonly string[]): void => {
    pending -= 1;
    found.push(...addresses);
    if (found.length > 0 && pending > 0) moment = setTimeout(begin, otherFamilyMs);
  };
  const codes: string[] = [];
  const none = (error: NodeJS.ErrnoException): readonly string[] => {
    codes.push(error.code ?? "");
    return [];
  };
  const all = Promise.all(
    [resolver.resolve4(host), resolver.resolve6(host)].map((one) => one.catch(none).then(answered)),
  );
  const rest = all.then(() => {});
  return {
    usable: Promise.race([rest, early]),
    found: () => found,
    whyNone: () => whyNoAddress(codes),
    isPending: () => pending > 0,
    more: async () => {
      const wasPending = pending > 0;
      await rest;
      return wasPending;
    },
    end: () => {
      underWay.delete(cancel);
      clearTimeout(timer);
      clearTimeout(moment);
      cancel();
    },
  };
}

/**
 * The reason by the codes of both families; a fault of the name servers says nothing of the name.
 */
export function whyNoAddress(codes: readonly string[]): string {
  const has = (...some: readonly string[]): boolean => codes.some((code) => some.includes(code));
  if (has("ESERVFAIL", "EREFUSED", "EFORMERR", "ENOTIMP"))
    return `the name servers cannot say (${codes.join(", ")})`;
  if (has("ETIMEOUT", "ECANCELLED", "ECONNREFUSED")) return "the name servers do not answer";
  return codes.length > 0 && codes.every((code) => code === "ENOTFOUND")
    ? nameLookupFaults.missing
    : nameLookupFaults.empty;
}

interface Exchange extends SenderState {
  readonly timeoutMs: number;
  readonly connectMs: number;
}

const portOf = ({ port }: URL): string => (port === "" ? "" : `:${port}`);

/** The certificate must match the name, though the connection goes to an address. */
function exchange(
  url: URL,
  address: string,
  letter: DeliveryRequest,
  options: Exchange,
): Promise<OutgoingOutcome> {
  const { ca, timeoutMs, connectMs, underWay } = options;
  const outgoing = createOutgoingClient({
    origin: `${url.protocol}//${address.includes(":") ? `[${address}]` : address}${portOf(url)}`,
    connectionsMax: 1,
    idleMs: 0,
    connectMs: Math.ceil(connectMs),
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
      resolve(outcome);
    });
    const breakOff = (): void => sent.abort();
    underWay.add(breakOff);
  });
}

/** The status decides; the first bytes of the answer are only for the log. */
export function receiverAnswerOf(outcome: OutgoingOutcome): ReceiverAnswer {
  if (outcome.ok) {
    const { status, retryAfter, body } = outcome;
    return {
      status,
      answer: body.toString("utf8"),
      retryAfter: retryAfter === "" ? undefined : retryAfter,
    };
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
