/**
 * One request to one exchange: a GET with limits on time and size, without redirects, and with no
 * data of ours except the program's name. Only this file of the module uses the network.
 */
import { createOutgoingClient, type OutgoingOutcome } from "../../base/outgoing/exchange.ts";
import { answerBytesMax } from "./exact-json.ts";

/** `waitMs` is how long the exchange asks us to wait, or 0. */
export type PriceAnswer =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly status: number; readonly why: string; readonly waitMs: number };

export type PriceRequester = (url: string, signal: AbortSignal) => Promise<PriceAnswer>;

const timeoutMsDefault = 8_000;
const waitMsMax = 3_600_000;

const failed = (why: string, status = 0, waitMs = 0): PriceAnswer => ({
  ok: false,
  status,
  why,
  waitMs,
});

/**
 * Seconds of a Retry-After header in milliseconds. The header's other form, a date, counts as 0.
 * RFC 9110 section 10.2.3.
 */
function waitOf(header: string | undefined): number {
  return /^\d{1,6}$/.test(header ?? "") ? Math.min(waitMsMax, Number(header) * 1_000) : 0;
}

/**
 * Makes the function that asks. Every answer is a value, because exchanges are often unreachable,
 * slow or send nonsense.
 */
export function createPriceRequester(timeoutMs = timeoutMsDefault): PriceRequester {
  return (url, signal) =>
    new Promise((resolve) => {
      const { origin, pathname, search } = new URL(url);
      const outgoing = createOutgoingClient({ origin, connectionsMax: 1, idleMs: 0 });
      const request = {
        method: "GET",
        path: pathname + search,
        bytesMax: answerBytesMax,
        timeoutMs,
      } as const;
      const exchange = outgoing.send(request, (outcome) => {
        signal.removeEventListener("abort", abort);
        resolve(askedOf(outcome, timeoutMs));
        outgoing.close();
      });
      const abort = (): void => exchange.abort();
      signal.addEventListener("abort", abort, { once: true });
      if (signal.aborted) abort();
    });
}

function askedOf(outcome: OutgoingOutcome, timeoutMs: number): PriceAnswer {
  if (outcome.ok) {
    const { status, retryAfter, body } = outcome;
    return status === 200
      ? { ok: true, text: body.toString("utf8") }
      : failed(`answered ${status}`, status, waitOf(retryAfter));
  }
  switch (outcome.kind) {
    case "timeout":
      return failed(`no answer in ${timeoutMs / 1000} s`);
    case "size":
      return failed(`an answer above ${answerBytesMax} bytes`);
    case "coding":
      return failed(outcome.why);
    default:
      return failed(
        outcome.isCut ? "the answer broke off" : `not reached (${outcome.code || "no reason"})`,
      );
  }
}
