/**
 * `health`: asks the running gateway for /ready at the address that its configuration listens on.
 */
import { readFileSync } from "node:fs";
import { AgentError } from "../../base/fault.ts";
import { createOutgoingClient } from "../../base/outgoing/exchange.ts";
import { readGatewayKey } from "../auth/gateway-key.ts";
import { operatorHeader, operatorProof } from "../auth/operator-view.ts";
import type { GatewayConfig } from "../config/config.ts";
import type { GatewayFigures } from "../service.ts";
import { owningRun } from "../store/owner.ts";

const timeoutMs = 5_000;
const answerBytesMax = 65_536;

export type Health =
  | {
      readonly reached: true;
      readonly ready: boolean;
      readonly text: string;
      /**
       * Code of the TLS library if the certificate is not trusted here: it answers, unread; else
       * "".
       */
      readonly untrusted: string;
    }
  | { readonly reached: false; readonly text: string };

/**
 * Codes of a certificate that this machine does not take: something listens and speaks TLS.
 * Source: Node's documentation of TLS, "X509 certificate error codes".
 */
const certificateCode =
  /CERT|^UNABLE_TO_VERIFY_LEAF_SIGNATURE$|^(?:INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH)$/;

const wildcards: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * Asks with a time limit of five seconds. Never rejects: an unreachable gateway is an answer too.
 */
export function askHealth(config: GatewayConfig): Promise<Health> {
  const { listen, publicUrl } = config;
  const host = wildcards.has(listen.host) ? "127.0.0.1" : listen.host;
  const origin = `${listen.tls === null ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${listen.port}`;
  const headers = { host: new URL(publicUrl).host, ...operatorHeaders(config) }; // the host is the name on the certificate
  const own = ownCertificate(listen.tls);
  const outgoing = createOutgoingClient({
    origin,
    connectionsMax: 1,
    idleMs: 0,
    ...(own === null ? {} : { ca: own }),
  });
  return new Promise((resolve) => {
    outgoing.send(
      { method: "GET", path: "/ready", headers, bytesMax: answerBytesMax, timeoutMs },
      (outcome) => {
        outgoing.close();
        if (outcome.ok)
          resolve({
            reached: true,
            ready: outcome.status === 200,
            text: outcome.body.toString("utf8"),
            untrusted: "",
          });
        else if (certificateCode.test(outcome.code))
          resolve({
            reached: true,
            ready: false,
            text: untrustedText(outcome.code),
            untrusted: outcome.code,
          });
        else resolve({ reached: false, text: outcome.why });
      },
    );
  });
}

/**
 * The gateway's own certificate, which its operator trusts by whichever authority it is; null
 * without TLS, and where the file cannot be read, so that this machine's authorities decide.
 */
function ownCertificate(tls: GatewayConfig["listen"]["tls"]): string | null {
  if (tls === null) return null;
  try {
    return readFileSync(tls.certificate, "utf8");
  } catch {
    return null;
  }
}

/** The words for a gateway that answers with a certificate which this machine does not take. */
export const untrustedText = (code: string): string =>
  `it answers, but its certificate is not trusted here: ${code}`;

/**
 * The proof to the running gateway that its own operator asks; empty for somebody who cannot read
 * its key, who gets the public answer.
 */
export function operatorHeaders({
  keyFile,
  database,
}: Pick<GatewayConfig, "keyFile" | "database">): Record<string, string> {
  try {
    const run = owningRun(database);
    return run === null ? {} : { [operatorHeader]: operatorProof(readGatewayKey(keyFile), run) };
  } catch (error) {
    if (error instanceof AgentError || (error as NodeJS.ErrnoException).code !== undefined)
      return {};
    throw error;
  }
}

/** The failed checks of an answer, as text; an answer of another form is returned unchanged. */
export function failedChecks(text: string): string {
  return checksWhere(text, ({ ok }) => !ok) ?? text;
}

/** The details of checks that did not fail, for example one node of several; "" without details. */
export function warnedChecks(text: string): string {
  return checksWhere(text, ({ ok, detail }) => ok && detail !== "") ?? "";
}

/** One check of the gateway's own answer. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

export interface ReadyAnswer {
  readonly status: string;
  readonly checks: readonly Check[];
  readonly figures?: GatewayFigures;
}

/** The gateway's own answer; null for an answer of another form. */
export function readyAnswerOf(text: string): ReadyAnswer | null {
  try {
    const answer = JSON.parse(text) as ReadyAnswer;
    return Array.isArray(answer.checks) && typeof answer.status === "string" ? answer : null;
  } catch {
    return null;
  }
}

/** Null for an answer of another form. */
function checksWhere(text: string, isWanted: (check: Check) => boolean): string | null {
  const checks = readyAnswerOf(text)?.checks.filter(isWanted) ?? null;
  return checks?.map(({ name, detail }) => `${name}: ${detail}`).join("; ") ?? null;
}
