/**
 * Verifies a callback on the shop's server: Standard Webhooks, signature `v1`. Uses only
 * node:crypto. Answer 2xx only after you have stored the callback: after any other answer, or none,
 * it comes again. A callback may come more than once and late: keep the newest `sequence` of each
 * record and ignore older ones. Sources: Standard Webhooks 1.0.0; docs/api.md, Callbacks.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { TestCallback, UnattributedCallback, Callback as WithRecord } from "./events.ts";

/**
 * A callback of the service. `type` decides what `data` is: the record at the time of the event,
 * and for `webhook.test` only the names of target and merchant. `id` is the same each time that the
 * callback comes. The service may add types: treat a type that you do not know like any other
 * event with a record.
 */
export type Callback = (WithRecord | UnattributedCallback | TestCallback) & { readonly id: string };

/**
 * - `secret_invalid`: the secret is no base64, with or without `whsec_` in front.
 * - `body_not_raw`: the body is not the received bytes, for instance because a framework parsed it.
 * - `headers_missing`: one of the three header fields is missing.
 * - `timestamp_wrong`: the message is too old or too new, or one of the two clocks is wrong.
 * - `signature_wrong`: another secret, or other bytes than those that were signed.
 * - `body_invalid`: signed, and yet no callback of this service.
 */
export type CallbackProblem =
  | "secret_invalid"
  | "body_not_raw"
  | "headers_missing"
  | "timestamp_wrong"
  | "signature_wrong"
  | "body_invalid";

/** `message` names the usual cause and its correction, for the log of the shop's developer. */
export type VerifiedCallback =
  | { readonly ok: true; readonly callback: Callback }
  | { readonly ok: false; readonly code: CallbackProblem; readonly message: string };

export interface ReceivedCallback {
  /** Node's `request.headers`, or the Headers of fetch. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /**
   * Exactly the received bytes, because a body that was parsed and written again does not fit the
   * signature.
   */
  readonly body: string | Uint8Array | ArrayBuffer;
}

const secretPrefix = "whsec_";
const toleranceSecondsDefault = 300;
const names = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;

/**
 * Checks that a callback comes from the service, and returns its content. Never throws, whatever it
 * is given; may be called twice without harm.
 * @param secret as `callbacks add` printed it, with or without `whsec_`
 * @param options `toleranceSeconds` between the sender's clock and this one, default 300; `now` in
 * milliseconds since 1970
 */
export function verifyCallback(
  secret: string | undefined,
  received: ReceivedCallback,
  options: { readonly toleranceSeconds?: number; readonly now?: () => number } = {},
): VerifiedCallback {
  const given: Partial<ReceivedCallback> =
    typeof received === "object" && received !== null ? received : {};
  const key = keyOf(secret);
  if (key === null) return no("secret_invalid", secretAdvice);
  const body = bytesOf(given.body);
  if (body === null) return no("body_not_raw", bodyAdvice(given.body));
  const [id, timestamp, signatures] = names.map((name) => headerOf(given.headers, name)) as [
    string,
    string,
    string,
  ];
  const missing = names.filter((_, at) => [id, timestamp, signatures][at] === "");
  if (missing.length > 0)
    return no(
      "headers_missing",
      `${missing.join(", ")} is missing: pass on every header of the request.`,
    );
  const { toleranceSeconds = toleranceSecondsDefault, now = Date.now } = options;
  const laterSeconds = now() / 1000 - Number(timestamp);
  const isNear = /^\d{1,12}$/.test(timestamp) && Math.abs(laterSeconds) <= toleranceSeconds;
  if (!isNear) return no("timestamp_wrong", clockAdvice(timestamp, laterSeconds));
  const wanted = createHmac("sha256", key)
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest("base64");
  if (!signatures.split(" ").some((signature) => fits(signature, wanted)))
    return no("signature_wrong", signatureAdvice);
  const said = read(Buffer.from(body).toString("utf8"));
  if (said === null)
    return no(
      "body_invalid",
      "The message is signed with this secret and is no callback of this service.",
    );
  return { ok: true, callback: { ...said, id } };
}

const no = (code: CallbackProblem, message: string): VerifiedCallback => ({
  ok: false,
  code,
  message,
});

const secretAdvice =
  "The secret is missing or is no base64. Give what `callbacks add` printed, `whsec_` and base64; a shopKey or apiKey is another thing.";
const signatureAdvice =
  "The secret is another target's, or the body is not byte for byte what arrived. " +
  "A body that was parsed and written again does not fit: give the received bytes.";

function bodyAdvice(body: unknown): string {
  const found = body === undefined || body === null ? "missing" : `of type ${typeof body}`;
  return (
    `The body is ${found}. Give the received bytes, before any program parses them: in Express ` +
    '`express.raw({ type: "application/json" })` on this path, in Next.js and other frameworks `await request.text()`.'
  );
}

function clockAdvice(timestamp: string, laterSeconds: number): string {
  if (!Number.isFinite(laterSeconds))
    return `webhook-timestamp is no number of seconds: ${timestamp.slice(0, 20)}`;
  const seconds = Math.abs(Math.round(laterSeconds));
  const side = laterSeconds > 0 ? "before" : "after";
  return `The message was sent ${seconds} s ${side} the time of this machine: correct its clock, or refuse an old message.`;
}

/**
 * The key of a secret, in the spellings that the package `standardwebhooks` takes: standard
 * base64 with or without its padding, of which a last single character counts for nothing.
 */
function keyOf(secret: unknown): Uint8Array | null {
  if (typeof secret !== "string") return null;
  const text = secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret;
  const digits = text.replace(/=+$/, "");
  if (text.length < 4 || text.length - digits.length > 2) return null;
  const counted = digits.length % 4 === 1 ? digits.slice(0, -1) : digits;
  return counted !== "" && /^[A-Za-z0-9+/]*$/.test(counted) ? Buffer.from(counted, "base64") : null;
}

/** The bytes, also of another realm; null for a value that a framework made of them. */
function bytesOf(body: unknown): Uint8Array | null {
  if (typeof body === "string") return Buffer.from(body, "utf8");
  if (ArrayBuffer.isView(body))
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  return Object.prototype.toString.call(body) === "[object ArrayBuffer]"
    ? new Uint8Array(body as ArrayBuffer)
    : null;
}

/** A field's value, "" without one. A list of one value is that value, as some hosts give it. */
function headerOf(headers: ReceivedCallback["headers"] | undefined, name: string): string {
  if (typeof headers !== "object" || headers === null) return "";
  const fields = headers as Readonly<Record<string, unknown>>;
  const value: unknown =
    typeof headers.get === "function"
      ? (headers as Headers).get(name)
      : (fields[name] ??
        Object.entries(fields).find(([field]) => field.toLowerCase() === name)?.[1]);
  const one: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  return typeof one === "string" ? one : "";
}

/**
 * True for one of several signatures, which stand next to each other while the secret is being
 * changed. The text is compared, because base64 has several spellings of the same bytes.
 */
function fits(signature: string, wanted: string): boolean {
  const [version, text = ""] = signature.split(",");
  const given = Buffer.from(text, "utf8");
  return (
    version === "v1" &&
    given.length === wanted.length &&
    timingSafeEqual(given, Buffer.from(wanted, "utf8"))
  );
}

function read(text: string): Callback | null {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof said !== "object" || said === null) return null;
  const { type, timestamp, sequence, data } = said as Readonly<Record<string, unknown>>;
  if (typeof type !== "string" || typeof timestamp !== "string" || typeof sequence !== "number")
    return null;
  if (typeof data !== "object" || data === null) return null;
  return { type, timestamp, sequence, data } as Callback;
}
