/**
 * The examples that the page at /docs shows to copy: an answer of each operation, a callback with
 * its signature, a maker of tokens and a verifier of callbacks. Tests run them against the gateway
 * and compare the answers with their schemas. Source: docs/api.md.
 */
import { csvTableForPrograms } from "../answer/csv-cell.ts";
import { signedHeaders } from "../callbacks/signature.ts";
import { csvRecordsOf } from "../operations/csv.ts";
import { operations } from "../operations/operations.ts";
import { transactionExample } from "../operations/records.ts";

/** The answers with status 200, by the id of their operation. */
export const answerExamples: Readonly<Record<string, object>> = Object.fromEntries(
  operations.map(({ id, result }) => [id, result.example]),
);

export const errorExample: object = {
  message: "The amount has more decimal places than the currency.",
  code: "amount_precision",
  requestId: "0d1c4f0b4f1e9a7c5d2e8b6a4c103f0c",
  field: "amount",
};

export const csvExample = (() => {
  const { head, line } = csvRecordsOf(csvTableForPrograms, { currencies: {} });
  return `${head}${line(transactionExample)}`.replaceAll("\r\n", "\n");
})();

/** A callback whose signature is right, so that a reader can try a verifier with it. */
export const callbackExample = (() => {
  const secret = `whsec_${Buffer.from("a secret of the examples only!!!").toString("base64")}`;
  const event = {
    type: "withdrawal.completed",
    timestamp: transactionExample.changedAt,
    sequence: Date.parse(transactionExample.changedAt),
  };
  const body = JSON.stringify({ ...event, data: transactionExample });
  const timestamp = Math.floor(event.sequence / 1000) + 1;
  const headers = signedHeaders([secret], {
    id: "msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10",
    timestamp,
    body,
  });
  return { secret, headers, body };
})();

/** As the receiver gets it. */
export const callbackText = [
  "POST /hook HTTP/1.1",
  "content-type: application/json",
  ...Object.entries(callbackExample.headers).map(([name, value]) => `${name}: ${value}`),
  "",
  callbackExample.body,
].join("\n");

/** For a POSIX shell with openssl and curl. */
export const tokenScript = (baseUrl: string): string => `BASE_URL=${baseUrl}
KEY_ID=\${SHOP_KEY%%.*}
SECRET=\${SHOP_KEY#*.}; SECRET=\${SECRET%%.*}
base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
HEADER=$(printf '{"alg":"HS256","typ":"JWT","kid":"%s"}' "$KEY_ID" | base64url)
token() {
  CLAIMS=$(printf '{"sub":"%s","iat":%s,"exp":%s,"jti":"%s"}' \\
    "$KEY_ID" "$(date +%s)" "$(($(date +%s) + 60))" "$(openssl rand -hex 16)" | base64url)
  printf '%s.%s.%s' "$HEADER" "$CLAIMS" \\
    "$(printf '%s.%s' "$HEADER" "$CLAIMS" | openssl dgst -sha256 -hmac "$SECRET" -binary | base64url)"
}
curl -s "$BASE_URL/api/v1/supportedCurrency" -H "signatureToken: $(token)"`;

/** A module for Node. */
export const verifyScript = `import { createHmac, timingSafeEqual } from "node:crypto";

// headers: names in lower case; body: the bytes that arrived, not parsed JSON;
// nowMs: milliseconds since 1970
export function isGenuine(secret, headers, body, nowMs) {
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": sent = "" } = headers;
  if (!(Math.abs(nowMs / 1000 - Number(at)) <= 300)) return false;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const own = createHmac("sha256", key).update(id + "." + at + ".").update(body).digest();
  return sent.split(" ").some((one) => {
    const theirs = Buffer.from(one.replace(/^v1,/, ""), "base64");
    return theirs.length === own.length && timingSafeEqual(theirs, own);
  });
}`;
