/** The work of the registering process (main.ts), apart from its pipes. */
import type { Code } from "../../base/codes.ts";
import { addLikelyCause, connectionAdvice } from "../../base/connection-words.ts";
import { AgentError, invariant } from "../../base/fault.ts";
import { useEgress } from "../../base/outgoing/egress.ts";
import { createOutgoingClient, type OutgoingOutcome } from "../../base/outgoing/exchange.ts";
import { privateKeyFromSeed } from "../../protocol/envelope.ts";
import {
  openGrant,
  parseSealedGrant,
  type SealedGrant,
  shortCodeOf,
} from "../../protocol/grant.ts";
import { parseApiKey, sealTranscript } from "../../protocol/pairing.ts";
import type { RegisteringAnswer, RegisteringSettings } from "./answer.ts";

const timeoutMs = 20_000;
const answerBytesMax = 65_536;

/** The gateway's codes for a no (gateway answers, docs/api.md) and their meaning here. */
const refusals: ReadonlyMap<string, Code> = new Map([
  ["pairing_key_invalid", "PAIRING_WRONG_SECRET"],
  ["pairing_other_gateway", "PAIRING_GATEWAY_KEY"],
  ["pairing_clock", "PAIRING_CLOCK"],
  ["pairing_network_differs", "PAIRING_TABLES"],
  ["pairing_currency_differs", "PAIRING_TABLES"],
  ["pairing_taken", "PAIRING_TAKEN"],
  ["pairing_wallet_taken", "PAIRING_WALLET_TAKEN"],
  ["pairing_used", "PAIRING_USED"],
  ["key_revoked", "PAIRING_REVOKED"],
  ["scope_missing", "PAIRING_SCOPE"],
  ["rate_limited", "PAIRING_AWAY"],
  ["unavailable", "PAIRING_AWAY"],
  ["internal", "PAIRING_AWAY"],
]);

interface HttpAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

/**
 * Asks the gateway once. Its answer may be lost on the way, so the effect of a failure is unknown.
 * @throws AgentError PAIRING_AWAY with a hint by what was seen, PAIRING_ANSWER
 */
function post(gatewayUrl: string, body: string): Promise<HttpAnswer> {
  const outgoing = createOutgoingClient({ origin: gatewayUrl, connectionsMax: 1, idleMs: 0 });
  const headers = { "accept-language": "en" };
  const request = {
    method: "POST",
    path: "/agent/v1/pair",
    headers,
    body,
    bytesMax: answerBytesMax,
    timeoutMs,
  } as const;
  return new Promise((resolve, reject) => {
    outgoing.send(request, (outcome) => {
      outgoing.close();
      if (outcome.ok) resolve(outcome);
      else reject(failureOf(gatewayUrl, outcome));
    });
  });
}

function failureOf(
  gatewayUrl: string,
  outcome: Extract<OutgoingOutcome, { ok: false }>,
): AgentError {
  if (outcome.kind === "size")
    return new AgentError("PAIRING_ANSWER", "unknown", "the gateway's answer is far too long");
  const seen = outcome.kind === "timeout" ? `no answer within ${timeoutMs / 1000} s` : outcome.why;
  const advice = connectionAdvice(outcome.code || seen);
  const hint =
    advice === null ? "" : `the sealed keystore is kept; ${advice.hint}, then run pair again`;
  const message = `the gateway at ${gatewayUrl} cannot be reached (${addLikelyCause(seen)})`;
  return new AgentError("PAIRING_AWAY", "unknown", message, { hint });
}

/** A gateway's text for the operator: only printable characters, and not too many. */
function printable(value: unknown): string {
  return String(value ?? "")
    .replace(/[^\x20-\x7e]/g, "?")
    .slice(0, 200);
}

function refusalOf({ status, body }: HttpAnswer): AgentError {
  let fields: Readonly<Record<string, unknown>>;
  try {
    fields = JSON.parse(Buffer.from(body).toString("utf8")) as Readonly<Record<string, unknown>>;
  } catch {
    fields = {};
  }
  const theirs = typeof fields.code === "string" ? fields.code : "";
  if (theirs === "") {
    const code = status >= 500 ? "PAIRING_AWAY" : "PAIRING_ANSWER";
    return new AgentError(
      code,
      "unknown",
      `the gateway's address answered ${status} and not as a gateway does`,
    );
  }
  const code = refusals.get(theirs) ?? "PAIRING_REFUSED";
  const details = ["currency", "network", "field", "agent", "gateway", "reason", "scope"]
    .filter(
      (name) =>
        fields[name] !== undefined &&
        (code === "PAIRING_TABLES" || name === "reason" || name === "scope"),
    )
    .map((name) => `${name} ${printable(fields[name])}`);
  const message = printable(fields.message).replace(/\.$/, "");
  return new AgentError(
    code,
    "none",
    `the gateway says: ${message}${details.length === 0 ? "" : ` (${details.join(", ")})`}`,
  );
}

async function register(
  settings: RegisteringSettings,
  apiKeyBytes: Uint8Array,
  linkSeed: Uint8Array,
): Promise<RegisteringAnswer> {
  if (settings.egress !== undefined) useEgress(settings.egress);
  const apiKey = parseApiKey(apiKeyBytes);
  apiKeyBytes.fill(0);
  const linkKey = privateKeyFromSeed(linkSeed);
  linkSeed.fill(0);
  try {
    const { transcript, proven } = settings;
    const request = sealTranscript(transcript, { secret: apiKey.secret, linkKey, proven });
    const answer = await post(settings.gatewayUrl, JSON.stringify(request));
    if (answer.status !== 200) throw refusalOf(answer);
    const sealed = parseAnswer(answer.body);
    const { grant, gatewayKey } = openGrant(sealed, {
      fingerprint: apiKey.fingerprint,
      transcript,
    });
    const { agent, merchant, ledgerEpoch } = grant;
    return {
      ok: true,
      agent,
      merchant,
      ledgerEpoch,
      gatewayKey,
      keyId: apiKey.keyId,
      shortCode: shortCodeOf(transcript, sealed.grant),
    };
  } finally {
    apiKey.secret.fill(0);
  }
}

function parseAnswer(body: Uint8Array): SealedGrant {
  try {
    return parseSealedGrant(body);
  } catch (cause) {
    throw new AgentError(
      "PAIRING_ANSWER",
      "unknown",
      "the gateway's address answered, but not as a gateway does",
      {},
      { cause },
    );
  }
}

/**
 * Does the process's task with its parts: settings, and the API key and the link key's seed, which
 * it wipes. Calling again with the same keys is harmless: the gateway raises the epoch.
 */
export async function answerRegistering([
  settings,
  apiKey,
  linkSeed,
]: readonly Uint8Array[]): Promise<RegisteringAnswer> {
  try {
    invariant(
      settings !== undefined && apiKey !== undefined && linkSeed !== undefined,
      "three parts come over stdin",
    );
    return await register(
      JSON.parse(Buffer.from(settings).toString("utf8")) as RegisteringSettings,
      apiKey,
      linkSeed,
    );
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return {
      ok: false,
      code: error.code,
      message: error.message,
      hint: String(error.context.hint ?? ""),
    };
  } finally {
    apiKey?.fill(0);
    linkSeed?.fill(0);
  }
}
