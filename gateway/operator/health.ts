/**
 * `health`: asks the running gateway for /ready where its configuration says it listens.
 */
import { get as getPlain } from "node:http";
import { get as getSecure } from "node:https";
import type { GatewayConfig } from "../config.ts";

const timeoutMs = 5_000;
const answerBytesMax = 65_536;

/** @public */
export type Health =
  | { readonly reached: true; readonly ready: boolean; readonly text: string }
  | { readonly reached: false; readonly text: string };

const wildcards: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * Asks within five seconds. Never rejects: a gateway out of reach is an answer too.
 * @public
 */
export function askHealth(config: GatewayConfig): Promise<Health> {
  const { listen, publicUrl } = config;
  const host = wildcards.has(listen.host) ? "127.0.0.1" : listen.host;
  const options = { host, port: listen.port, path: "/ready", timeout: timeoutMs, agent: false as const };
  return new Promise((resolve) => {
    const request = listen.tls === null ? getPlain(options) : getSecure({ ...options, servername: new URL(publicUrl).hostname });
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        if (text.length > answerBytesMax) request.destroy(new Error("the answer is too long"));
      });
      response.on("end", () => resolve({ reached: true, ready: response.statusCode === 200, text }));
    });
    request.on("timeout", () => request.destroy(new Error("no answer in time")));
    request.on("error", (error) => resolve({ reached: false, text: error.message }));
  });
}

/**
 * The failed checks of an answer, in words; an answer of another form is given back whole.
 * @public
 */
export function failedChecks(text: string): string {
  return checksWhere(text, ({ ok }) => !ok) ?? text;
}

/**
 * What checks that did not fail have to say, such as of one node of several; "" for nothing.
 * @public
 */
export function warnedChecks(text: string): string {
  return checksWhere(text, ({ ok, detail }) => ok && detail !== "") ?? "";
}

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Null for an answer of another form. */
function checksWhere(text: string, isWanted: (check: Check) => boolean): string | null {
  try {
    const { checks } = JSON.parse(text) as { readonly checks: readonly Check[] };
    return checks
      .filter(isWanted)
      .map(({ name, detail }) => `${name}: ${detail}`)
      .join("; ");
  } catch {
    return null;
  }
}
