/**
 * Verifies a callback on the shop's server: Standard Webhooks, signature `v1`. Uses only
 * node:crypto. Answer 2xx only after you have stored the callback: after any other answer, or none,
 * it comes again. A callback may come more than once and late: keep the newest `sequence` of each
 * record and ignore older ones. Sources: Standard Webhooks 1.0.0; docs/api.md, Callbacks.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Transaction } from "./records.ts";

/**
 * A callback of the service. `data` is the record at the time of the event, in the form of GET
 * transaction; for `webhook.test` there is no record.
 */
export interface Callback {
  readonly id: string; // the same each time it comes
  readonly type: string; // as docs/api.md lists them; more may be added
  readonly timestamp: string; // time of the event, ISO 8601
  readonly sequence: number; // rises with each event of one record
  readonly data: Transaction & { readonly unattributed?: { currency: string; amount: string; txHash: string } };
}

export type CallbackProblem = "headers_missing" | "secret_invalid" | "timestamp_wrong" | "signature_wrong" | "body_invalid";

export type VerifiedCallback =
  | { readonly ok: true; readonly callback: Callback }
  | { readonly ok: false; readonly code: CallbackProblem };

export interface ReceivedCallback {
  /** Node's `request.headers`, or the Headers of fetch. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /**
   * Exactly the received bytes, because a body that was parsed and written again does not fit the
   * signature.
   */
  readonly body: string | Uint8Array;
}

const secretPrefix = "whsec_";
const toleranceSecondsDefault = 300;

/**
 * Checks that a callback comes from the service, and returns its content. Never throws for received
 * data; may be called twice without harm.
 * @param secret as `callbacks add` printed it
 * @param options `toleranceSeconds` between the sender's clock and this one, default 300; `now` in
 * milliseconds since 1970
 */
export function verifyCallback(
  secret: string,
  { headers, body }: ReceivedCallback,
  options: { readonly toleranceSeconds?: number; readonly now?: () => number } = {},
): VerifiedCallback {
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  if (id === "" || timestamp === "" || signatures === "") return no("headers_missing");
  const key = Buffer.from(secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : "", "base64");
  if (key.length === 0) return no("secret_invalid");
  const { toleranceSeconds = toleranceSecondsDefault, now = Date.now } = options;
  const awaySeconds = Math.abs(now() / 1000 - Number(timestamp));
  if (!/^\d{1,12}$/.test(timestamp) || awaySeconds > toleranceSeconds) return no("timestamp_wrong");
  const wanted = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  if (!signatures.split(" ").some((signature) => fits(signature, wanted))) return no("signature_wrong");
  const said = read(typeof body === "string" ? body : Buffer.from(body).toString("utf8"));
  return said === null ? no("body_invalid") : { ok: true, callback: { ...said, id } };
}

const no = (code: CallbackProblem): VerifiedCallback => ({ ok: false, code });

function headerOf(headers: ReceivedCallback["headers"], name: string): string {
  if (typeof headers.get === "function") return (headers as Headers).get(name) ?? "";
  const fields = headers as Readonly<Record<string, string | readonly string[] | undefined>>;
  const value = fields[name] ?? Object.entries(fields).find(([field]) => field.toLowerCase() === name)?.[1];
  return typeof value === "string" ? value : "";
}

/**
 * True for one of several signatures, which stand next to each other while the secret is being
 * changed.
 */
function fits(signature: string, wanted: Uint8Array): boolean {
  const [version, text = ""] = signature.split(",");
  const given = Buffer.from(text, "base64");
  return version === "v1" && given.length === wanted.length && timingSafeEqual(given, wanted);
}

function read(text: string): Omit<Callback, "id"> | null {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof said !== "object" || said === null) return null;
  const { type, timestamp, sequence, data } = said as Readonly<Record<string, unknown>>;
  if (typeof type !== "string" || typeof timestamp !== "string" || typeof sequence !== "number") return null;
  if (typeof data !== "object" || data === null) return null;
  return { type, timestamp, sequence, data: data as Callback["data"] };
}
