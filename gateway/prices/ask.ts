/**
 * One question to one exchange: a GET with limits on time and size, no redirects, nothing of ours
 * in it but the program's name. The only file of this room that reaches a network.
 */
import { createOutgoing, type Outcome } from "../../outgoing/exchange.ts";
import { answerBytesMax } from "./exact-json.ts";

/**
 * `waitMs` is how long the other side wants to be left alone, 0 when it did not say.
 * @public
 */
export type Asked =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly status: number; readonly why: string; readonly waitMs: number };

/** @public */
export type Ask = (url: string, signal: AbortSignal) => Promise<Asked>;

const timeoutMsDefault = 8_000;
const waitMsMax = 3_600_000;

const failed = (why: string, status = 0, waitMs = 0): Asked => ({ ok: false, status, why, waitMs });

/**
 * Seconds of a Retry-After header in milliseconds; its other form, a date, counts as not said. RFC
 * 9110 section 10.2.3.
 */
function waitOf(header: string | undefined): number {
  return /^\d{1,6}$/.test(header ?? "") ? Math.min(waitMsMax, Number(header) * 1_000) : 0;
}

/**
 * Makes the asker. Every answer is a value: an exchange that is away, slow or talks nonsense is an
 * everyday thing.
 * @public
 */
export function createAsk(timeoutMs = timeoutMsDefault): Ask {
  return (url, signal) =>
    new Promise((resolve) => {
      const { origin, pathname, search } = new URL(url);
      const outgoing = createOutgoing({ origin, connectionsMax: 1, idleMs: 0 });
      const request = { method: "GET", path: pathname + search, bytesMax: answerBytesMax, timeoutMs } as const;
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

function askedOf(outcome: Outcome, timeoutMs: number): Asked {
  if (outcome.ok) {
    const { status, retryAfter, body } = outcome;
    return status === 200 ? { ok: true, text: body.toString("utf8") } : failed(`answered ${status}`, status, waitOf(retryAfter));
  }
  switch (outcome.kind) {
    case "timeout":
      return failed(`no answer in ${timeoutMs / 1000} s`);
    case "size":
      return failed(`an answer above ${answerBytesMax} bytes`);
    case "coding":
      return failed(outcome.why);
    default:
      return failed(outcome.isCut ? "the answer broke off" : `not reached (${outcome.code || "no reason"})`);
  }
}
