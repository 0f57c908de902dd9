/**
 * One question to one exchange: a GET with limits on time and size, no redirects, nothing of ours
 * in it but the program's name. The only file of this room that reaches a network.
 */
import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { version } from "../../protocol/version.ts";
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
      const request = (url.startsWith("https:") ? secureRequest : plainRequest)(url, {
        agent: false,
        maxHeaderSize: 16_384,
        signal,
        headers: { accept: "application/json", "user-agent": `autowithdraw/${version}`, connection: "close" },
      });
      const end = (asked: Asked): void => {
        clearTimeout(timer);
        resolve(asked);
        request.destroy();
      };
      // For the whole exchange: a server that sends a byte now and then is slow too.
      const timer = setTimeout(() => end(failed(`no answer in ${timeoutMs / 1000} s`)), timeoutMs);
      request.on("error", (error: NodeJS.ErrnoException) => end(failed(`not reached (${error.code ?? "no reason"})`)));
      request.on("response", (response) => {
        const { statusCode = 0, headers } = response;
        if (statusCode !== 200) {
          end(failed(`answered ${statusCode}`, statusCode, waitOf(headers["retry-after"])));
          return;
        }
        const parts: Buffer[] = [];
        let bytes = 0;
        response.on("data", (part: Buffer) => {
          bytes += part.length;
          if (bytes > answerBytesMax) end(failed(`an answer above ${answerBytesMax} bytes`));
          else parts.push(part);
        });
        response.on("error", () => end(failed("the answer broke off")));
        response.on("end", () => {
          if (response.complete) end({ ok: true, text: Buffer.concat(parts, bytes).toString("utf8") });
        });
        response.on("close", () => end(failed("the answer broke off")));
      });
      request.end();
    });
}
