/**
 * The gateway's HTTP interface, in process: an input is a request as text, method and path,
 * headers, an empty line, the body. The header value `@token` becomes a fresh token of the
 * merchant's. And the token alone: raw, or made here of a header and claims.
 */
import { createHmac } from "node:crypto";
import { answerCodes } from "../../../gateway/answer/messages.ts";
import { verifyToken } from "../../../gateway/auth/authenticate.ts";
import { parseApiKey } from "../../../protocol/pairing.ts";
import {
  encode,
  handmadeToken,
  sha256,
  startTestGateway,
  type TestGateway,
} from "../../kit/gateway-server.ts";
import type { SeededRandom } from "../../kit/seeded.ts";
import { edges, malform, malformedText } from "../malform.ts";
import { bytes, must, type Target, textOf } from "../target.ts";
import { receiver } from "./honest.ts";

const paths = [
  "/api/v1/autoWithdraw",
  "/api/v1/manualWithdraw",
  "/api/v1/createTransactionRequest",
];
const reads = [
  "/api/v1/transactions",
  "/api/v1/transactions?transactionType=1&limit=2",
  "/api/v1/supportedCurrency",
  "/api/v1/balance/eth",
  `/api/v1/transaction/${"0".repeat(32)}`,
  "/health",
  "/ready",
];
const order = { currency: "eth", amount: "0.25", orderId: "fuzz-1", address: receiver, tag: "" };
const headers = ["content-type: application/json", "signatureToken: @token"];
const seed = (head: string, body: string, more: readonly string[] = []): Uint8Array =>
  bytes([head, ...headers, ...more, "", body].join("\n"));
const methods = ["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH"];

interface ParsedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

function parse(input: Uint8Array): ParsedRequest | null {
  const text = Buffer.from(input).toString("latin1");
  const end = text.indexOf("\n\n");
  const [first = "", ...rest] = (end < 0 ? text : text.slice(0, end)).split("\n");
  const [method = "", url = ""] = first.split(" ");
  if (!methods.includes(method) || !/^\/[\x21-\x7e]*$/.test(url)) return null;
  const fields: Record<string, string> = {};
  for (const each of rest) {
    const [, name, value] = /^([A-Za-z0-9-]{1,40}): ?([\x20-\x7e\x80-\xff]*)$/.exec(each) ?? [];
    if (
      name !== undefined &&
      value !== undefined &&
      !/^(?:host|connection|transfer-encoding|content-length|upgrade)$/i.test(name)
    )
      fields[name.toLowerCase()] = value;
  }
  return { method, url, headers: fields, body: end < 0 ? "" : text.slice(end + 2) };
}

const statuses = new Map<string, number>(
  Object.entries(answerCodes).map(([code, { status }]) => [code, status]),
);

function checkAnswer(status: number, text: string, type: unknown): void {
  must(status !== 500, `an inner failure: ${text.replace(/"requestId":"[0-9a-f]*"/, "")}`);
  must(
    String(type).startsWith("application/json") || text === "",
    `an answer of type ${String(type)}`,
  );
  if (text === "") return;
  const body = JSON.parse(text) as { readonly code?: string; readonly requestId?: string };
  if (status === 200 || status === 503) return;
  must(statuses.get(body.code ?? "") === status, `status ${status} with ${text}`);
}

export async function openHttp(): Promise<Target> {
  const gateway = await startTestGateway({
    limits: {
      withdrawalWaitMs: 0,
      readsPerSecond: 1_000,
      writesPerSecond: 1_000,
      failedAuthPerTenMinutes: 1_000,
    },
  });
  await gateway.pair();
  gateway.fund("eth", 10n ** 24n);
  gateway.fund("usdt", 10n ** 15n);
  return {
    name: "http",
    words: [
      "@token",
      "POST ",
      "GET ",
      ...paths,
      ...reads,
      '"amount":"',
      '"orderId":"',
      "accept-language: tr;q=0.5",
      "signatureToken: ",
      "x-forwarded-for: 1.2.3.4",
      "%00",
      "%2f",
    ],
    seeds: [
      ...paths.map((path) =>
        seed(
          `POST ${path}`,
          JSON.stringify(
            path.endsWith("Request") ? { currency: "eth", amount: "0.5", orderId: "d-1" } : order,
          ),
        ),
      ),
      ...reads.map((path) => seed(`GET ${path}`, "", ["accept-language: tr, en;q=0.3"])),
      seed("POST /agent/v1/pair", JSON.stringify(gateway.sealed())),
    ],
    make(random: SeededRandom) {
      const body = malformedText({ ...order, orderId: `o-${random.below(50)}` }, random);
      const isRead = random.chance(4);
      const language = random.chance(4)
        ? [
            `accept-language: ${random.pick(["tr", "en;q=0", "*;q=0.1,tr;q=0.100", "TR-tr", ";;,q=1"])}`,
          ]
        : [];
      const path = random.pick(isRead ? reads : paths);
      const tail = random.chance(8)
        ? encodeURIComponent(Buffer.from(String(random.pick(edges))).toString()).slice(0, 300)
        : "";
      return seed(`${isRead ? "GET" : "POST"} ${path}${tail}`, isRead ? "" : body, language);
    },
    async run(input) {
      const request = parse(input);
      if (request === null) return;
      gateway.clock.nowMs += 601_000; // A client that failed too often is forgiven again.
      const own = { ...request.headers };
      for (const name of Object.keys(own))
        own[name] =
          own[name]?.replaceAll(
            "@token",
            handmadeToken(gateway.merchant.shopKey, gateway.clock.nowMs),
          ) ?? "";
      const answer = await gateway.server.inject({
        ...{
          method: request.method as "POST",
          url: request.url,
          headers: own,
          remoteAddress: "127.0.0.1",
        },
        ...(request.body === "" ? {} : { payload: Buffer.from(request.body, "latin1") }),
      });
      checkAnswer(answer.statusCode, answer.payload, answer.headers["content-type"]);
      if (answer.statusCode === 200 && request.method === "POST" && paths.includes(request.url))
        assertReadAlike(request.body);
    },
    shapes: {
      body: { from: 2_000, of: (size) => seed(`POST ${paths[0]}`, `{${" ".repeat(size)}`) },
      amount: {
        from: 500,
        of: (size) =>
          seed(`POST ${paths[0]}`, JSON.stringify({ ...order, amount: `0.${"1".repeat(size)}` })),
      },
      number: {
        from: 1_000,
        of: (size) => seed(`POST ${paths[0]}`, `{"amount"${" ".repeat(size)}:1.5}`),
      },
      language: {
        from: 60,
        of: (size) => seed(`GET ${reads[2]}`, "", [`accept-language: ${"tr;q=0.5,".repeat(size)}`]),
      },
      query: {
        from: 100,
        of: (size) => seed(`GET /api/v1/transactions?${"a=1&".repeat(size)}`, ""),
      },
    },
    close: () => gateway.close(),
  };
}

/** The engine's own parser reads an accepted order too, with nothing in it twice. */
function assertReadAlike(body: string): void {
  const text = Buffer.from(body, "latin1").toString("utf8");
  const said = JSON.parse(text) as Readonly<Record<string, unknown>>;
  must(
    Object.values(said).every((value) => typeof value === "string"),
    "an order with something else than texts was taken",
  );
  must(
    /^[0-9]+(?:\.[0-9]+)?$/.test(String(said.amount)) && /[1-9]/.test(String(said.amount)),
    `amount ${String(said.amount)} was taken`,
  );
}

const claimsOf = (keyId: string, nowSeconds: number): Record<string, unknown> => ({
  ...{
    sub: keyId,
    iat: nowSeconds,
    exp: nowSeconds + 60,
    jti: "0123456789abcdef",
    bodyHash: sha256(""),
  },
});

/**
 * Raw text, or `{"header":…,"claims":…,"fits":true}` that is made into a token here, signed rightly
 * where it says so.
 */
export async function openToken(): Promise<Target> {
  const gateway = await startTestGateway();
  const { keyId, secret } = parseApiKey(gateway.merchant.shopKey);
  const now = Math.floor(gateway.clock.nowMs / 1_000);
  // Key ids are chance; the corpus names this one by a word of its own.
  const named = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value).replaceAll(keyId, "@key").replaceAll(String(now), "17"));
  const whole = named({
    header: { alg: "HS256", typ: "JWT", kid: keyId },
    claims: claimsOf(keyId, now),
    fits: true,
  });
  return {
    name: "token",
    words: [
      "@key",
      "Bearer ",
      ".",
      "..",
      '"alg":"none"',
      '"alg":"HS256"',
      '"typ":"jwt"',
      '"aud":[',
      '"nbf":',
      '"exp":',
      "=",
      '"crit":["b64"]',
      '"b64":false',
    ],
    seeds: [bytes(JSON.stringify(whole)), bytes("eyJhbGciOiJub25lIn0.e30."), bytes("Bearer a.b.c")],
    make: (random: SeededRandom) =>
      bytes(
        random.chance(6)
          ? JSON.stringify(malform("a.b.c", random)).slice(1, -1)
          : malformedText(whole, random),
      ),
    async run(input) {
      const token = made(textOf(input), gateway, secret, now);
      const request = { method: "POST", path: "/api/v1/autoWithdraw", body: bytes("{}") };
      const at = {
        ...{ store: gateway.service.store, sealingKey: gateway.service.key.sealingKey },
        publicUrl: "http://127.0.0.1:8080",
        nowMs: gateway.clock.nowMs,
      };
      const verdict = await verifyToken(token, request, at);
      if (!verdict.ok) must(verdict.reason.length < 80, "a reason that holds more than a reason");
      else assertRight(token, secret, keyId, now);
    },
    shapes: {
      parts: { from: 500, of: (size) => bytes("a.".repeat(size)) },
      claims: {
        from: 20,
        of: (size) =>
          bytes(
            JSON.stringify({
              header: { alg: "HS256", kid: "@key" },
              claims: { jti: "x".repeat(size * 10) },
              fits: true,
            }),
          ),
      },
      audience: {
        from: 20,
        of: (size) =>
          bytes(
            JSON.stringify({
              header: { alg: "HS256", kid: "@key" },
              claims: { ...claimsOf("@key", 17), aud: "/".repeat(size * 10) },
              fits: true,
            }),
          ),
      },
    },
    close: () => gateway.close(),
  };
}

interface Parts {
  readonly header: unknown;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly fits: unknown;
}

/** The parts of a token; null if the text is the token itself. */
function partsOf(text: string): Parts | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { header, claims, fits } = value as Partial<Parts>;
  if (typeof claims !== "object" || claims === null || header === undefined) return null;
  return { header, claims, fits };
}

function made(text: string, { merchant }: TestGateway, secret: Uint8Array, now: number): string {
  const { keyId } = parseApiKey(merchant.shopKey);
  const filled = text.replaceAll("@key", keyId);
  const parts = partsOf(filled);
  if (parts === null) return filled;
  const { header, claims } = parts;
  const times = (value: unknown): unknown =>
    typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 10_000
      ? value - 17 + now
      : value;
  const at = {
    ...claims,
    ...("iat" in claims ? { iat: times(claims.iat) } : {}),
    ...("exp" in claims ? { exp: times(claims.exp) } : {}),
  };
  const signed = `${encode(JSON.stringify(header))}.${encode(JSON.stringify(at))}`;
  const signature = createHmac("sha256", parts.fits === true ? secret : bytes("another"))
    .update(signed)
    .digest("base64url");
  return `${signed}.${signature}`;
}

/** Read with nothing of ours: right key, right algorithm, right mark, right time. */
function assertRight(value: string, secret: Uint8Array, keyId: string, now: number): void {
  const token = value.replace(/^Bearer /, "");
  const [head = "", body = "", signature = ""] = token.split(".");
  const header = JSON.parse(Buffer.from(head, "base64url").toString()) as Readonly<
    Record<string, unknown>
  >;
  const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as Readonly<
    Record<string, unknown>
  >;
  must(
    header.alg === "HS256" && header.kid === keyId && claims.sub === keyId,
    "a token of another key or algorithm was taken",
  );
  must(
    signature === createHmac("sha256", secret).update(`${head}.${body}`).digest("base64url"),
    "a token nobody signed was taken",
  );
  must(
    Number(claims.exp) > now - 30 &&
      Number(claims.iat) <= now + 30 &&
      Number(claims.exp) - Number(claims.iat) <= 300,
    "a token out of its time was taken",
  );
  must(String(claims.jti).length >= 16, "a token without a number of its own was taken");
}
