/**
 * The examples that the page at /docs shows to copy: an answer of each operation, a callback with
 * its signature, a maker of tokens and a verifier of callbacks. Tests run them against the gateway
 * and compare the answers with their schemas. Source: docs/api.md.
 */
import { csvTableForPrograms } from "../answer/csv-cell.ts";
import { csvHead, csvLine } from "../api/csv.ts";
import { signedHeaders } from "../callbacks/signature.ts";

const withdrawn = {
  transactionId: "a7b92b8b4b5f7ad3c3d0f6c9b1f0f2e1",
  receiverAddress: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  depositAddress: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  orderId: "out-77",
  tag: "",
  currency: "eth",
  amount: "0.5",
  callbackStatus: 1,
  createdAt: "2026-01-02T03:04:05.678Z",
  status: 1,
  transactionType: 2,
  network: "eip155:1",
  stage: "completed",
  code: "",
  txHash: "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
  explorerUrl:
    "https://etherscan.io/tx/0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
  changedAt: "2026-01-02T03:18:40.120Z",
  expiresAt: "2026-01-03T03:04:05.678Z",
  metadata: { customer: "C-1042" },
  value: { usd: "1500", eur: "1400.25", try: "63000", pricedAt: "2026-01-02T03:18:00.000Z" },
  mode: "auto",
  fee: "0.00042",
};

const sent = {
  message: "The withdrawal request was sent.",
  transactionId: withdrawn.transactionId,
  status: 0,
  stage: "queued",
};

const ethBalance = {
  balance: 8.99,
  currency: "eth",
  available: "8.99",
  pending: "2",
  sweeping: "0",
  reserved: "1.01",
  total: "12",
  feeAsset: "eth",
  feeReserve: "0.01",
  feeSufficient: true,
};

const callbackTarget = {
  callbackId: "cb_6f0c1d0c4f0b4f1e",
  url: "https://shop.example.com/hook",
  events: ["deposit.completed", "withdrawal.completed"],
  state: "active",
  createdAt: "2026-01-01T08:00:00.000Z",
  waiting: 3,
  givenUp: 0,
  succeededAt: "2026-01-02T03:18:40.480Z",
  failedAt: "2026-01-02T02:00:00.000Z",
  failedStatus: 0,
  failedReason: "no answer in time",
};

/**
 * The answers with status 200, by the id of their operation. An operation without a row is shown
 * without one.
 */
export const answerExamples: Readonly<Record<string, object>> = {
  createTransactionRequest: {
    address: "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
    amount: "25",
    tag: "",
    transactionId: "4be38f3ee1a16e4cd1f1a3a8b4a0d9c2",
    currency: "usdt",
    network: "eip155:1",
    expiresAt: "2026-01-02T04:04:05.678Z",
    status: 0,
    stage: "waiting",
    late: false,
    paymentUri:
      "ethereum:0xdAC17F958D2ee523a2206206994597C13D831ec7@1/transfer?address=0x9858EfFD232B4033E47d90003D41EC34EcaEda94&uint256=25000000",
    paymentUrl: "https://pay.example.com/pay/9yGZ1kQ0m2n3o4p5q6r7sA",
    paymentTolerance: "0",
  },
  autoWithdraw: sent,
  autoWithdraws: { answers: [{ orderId: "out-80", httpStatus: 200, answer: sent }] },
  manualWithdraw: {
    message: "The withdrawal request was sent and awaits approval.",
    transactionId: "1c2d8f0b6e5a49d3a7b1c0d9e8f7a6b5",
    status: 0,
    stage: "awaiting_approval",
  },
  cancelWithdraw: {
    message: "The withdrawal is cancelled: nothing is paid.",
    transactionId: "1c2d8f0b6e5a49d3a7b1c0d9e8f7a6b5",
    cancelled: true,
    status: 2,
    stage: "refused",
  },
  transaction: withdrawn,
  transactions: [withdrawn],
  supportedCurrency: [
    {
      id: "eth",
      name: "Ether",
      symbol: "ETH",
      decimal: 18,
      usdPrice: "3000",
      eurPrice: "2800.5",
      tryPrice: "126000",
      minPaymentAmount: "0.001",
      minWithdrawAmount: "0.001",
      network: "eip155:1",
      contract: "",
      requiresTag: false,
      enabled: true,
      depositOnly: false,
      priceUpdatedAt: "2026-01-02T03:04:00.000Z",
      priceStale: false,
    },
  ],
  events: {
    events: [
      {
        id: "msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10",
        type: "withdrawal.completed",
        timestamp: withdrawn.changedAt,
        data: withdrawn,
        sequence: Date.parse(withdrawn.changedAt),
      },
    ],
    next: `${Date.parse(withdrawn.changedAt)}`,
  },
  balances: { balances: [ethBalance], unread: [] },
  estimate: {
    currency: "eth",
    feeAsset: "eth",
    feeUsual: "0.00042",
    feeMost: "0.01",
    samples: 25,
    newestAt: withdrawn.changedAt,
  },
  address: {
    currency: "eth",
    network: "eip155:1",
    valid: true,
    address: withdrawn.receiverAddress,
    tag: "",
    code: "",
    reason: "",
  },
  balance: ethBalance,
  callbacks: { callbacks: [callbackTarget] },
  createCallback: {
    callbackId: callbackTarget.callbackId,
    secret: "whsec_YSBzZWNyZXQgb2YgdGhlIGV4YW1wbGVzIG9ubHkhISE=",
    url: callbackTarget.url,
    events: callbackTarget.events,
  },
  pauseCallback: { ...callbackTarget, state: "paused" },
  resumeCallback: callbackTarget,
  removeCallback: { callbackId: callbackTarget.callbackId, recordsGivenUp: 3 },
  testCallback: {
    callbackId: callbackTarget.callbackId,
    messageId: "msg_3f0c1d0c4f0b4f1e9a7c5d2e8b6a4c10",
  },
  redeliverCallback: {
    callbackId: callbackTarget.callbackId,
    since: "2026-01-02T00:00:00.000Z",
    deliveries: 7,
    left: 0,
  },
};

export const errorExample: object = {
  message: "The amount has more decimal places than the currency.",
  code: "amount_precision",
  requestId: "0d1c4f0b4f1e9a7c5d2e8b6a4c103f0c",
  field: "amount",
};

export const csvExample =
  `${csvHead(csvTableForPrograms)}${csvLine(csvTableForPrograms, withdrawn)}`.replaceAll(
    "\r\n",
    "\n",
  );

/** A callback whose signature is right, so that a reader can try a verifier with it. */
export const callbackExample = (() => {
  const secret = `whsec_${Buffer.from("a secret of the examples only!!!").toString("base64")}`;
  const event = {
    type: "withdrawal.completed",
    timestamp: withdrawn.changedAt,
    sequence: Date.parse(withdrawn.changedAt),
  };
  const body = JSON.stringify({ ...event, data: withdrawn });
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
