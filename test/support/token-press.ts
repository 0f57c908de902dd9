/**
 * A press for signatureTokens, good and forged: any text as header or claims, any change to a part
 * before it is signed, any signature, any change after. Same input, same token, but for the jti,
 * which counts up. The loop over vectors makes of each one forged token with its answer, and a twin
 * that differs only there and is let in.
 */
import { createHmac, type KeyObject, sign } from "node:crypto";
import { Agent } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { GatewayAnswer } from "../../lab/kit/gateway-server.ts";
import { privateKeyFromSeed, publicKeyHex } from "../../protocol/envelope.ts";
import { parseApiKey } from "../../protocol/pairing.ts";
import { gateway, oneGateway, path } from "./one-gateway.ts";

export interface Signer {
  readonly keyId: string;
  readonly alg: string;
  sign(text: string): Uint8Array;
}

interface Pressing {
  readonly by?: Signer; // the merchant's first key unless told
  readonly header?: object; // beside alg, typ and kid, or in their place
  readonly headerText?: string | Uint8Array; // instead of all that
  readonly claims?: object;
  readonly claimsText?: string | Uint8Array;
  readonly head?: (part: string) => string; // changes a part of the token before it is signed
  readonly body?: (part: string) => string;
  readonly sign?: (text: string) => string | Uint8Array;
  readonly tail?: (signature: string) => string; // and the signature after
}

export const hmac = (secret: string | Uint8Array, text: string, hash = "sha256"): Buffer =>
  createHmac(hash, secret).update(text).digest();

export function shared(apiKey: string): Signer {
  const { keyId, secret } = parseApiKey(apiKey);
  return { keyId, alg: "HS256", sign: (text) => hmac(secret, text) };
}

export const paired = (keyId: string, privateKey: KeyObject): Signer => ({
  keyId,
  alg: "EdDSA",
  sign: (text) => sign(null, Buffer.from(text), privateKey),
});

/** The pair of the EdDSA key, and one that no key of the gateway is of. */
export const ownPair = privateKeyFromSeed(Buffer.alloc(32, 7));
export const strangePair = privateKeyFromSeed(Buffer.alloc(32, 8));
export let ed: Signer;
export let other: Signer; // a second HS256 key of the merchant
export let otherApiKey: string;

/** One gateway with three keys of one merchant, to be called once at the head of a test file. */
export function oneGatewayWithKeys(): void {
  oneGateway();
  beforeAll(() => {
    ed = paired(gateway.key({ alg: "EdDSA", publicKey: publicKeyHex(ownPair) }).keyId, ownPair);
    otherApiKey = gateway.key({}).apiKey;
    other = shared(otherApiKey);
  });
  afterAll(() => connection.destroy());
}

const connection = new Agent({ keepAlive: true, maxSockets: 1 });

/** A read with a token, all of them over one connection. */
export const read = (signatureToken: string, to = path): Promise<GatewayAnswer> =>
  gateway.send(to, {
    headers: { "Content-Type": "application/json", signatureToken },
    agent: connection,
  });

export const merchant = (): Signer => shared(gateway.merchant.shopKey);
export const secretOf = (apiKey = gateway.merchant.shopKey): Buffer =>
  Buffer.from(parseApiKey(apiKey).secret);
export const nowSeconds = (): number => Math.floor(gateway.clock.nowMs / 1000);
export const part = (bytes: string | Uint8Array): string =>
  Buffer.from(bytes).toString("base64url");

let pressed = 0;

export function newJti(): string {
  pressed += 1;
  return `pressed-token-${String(pressed).padStart(8, "0")}`;
}

export const headerOf = (by: Signer, change: object = {}): string =>
  JSON.stringify({ alg: by.alg, typ: "JWT", kid: by.keyId, ...change });

export function claimsOf(by: Signer, change: object = {}): string {
  const iat = nowSeconds();
  return JSON.stringify({ sub: by.keyId, iat, exp: iat + 60, jti: newJti(), ...change });
}

export function press(change: Pressing = {}): string {
  const by = change.by ?? merchant();
  const same = (text: string): string => text;
  const head = (change.head ?? same)(part(change.headerText ?? headerOf(by, change.header)));
  const body = (change.body ?? same)(part(change.claimsText ?? claimsOf(by, change.claims)));
  const signature = (change.sign ?? by.sign)(`${head}.${body}`);
  return `${head}.${body}.${(change.tail ?? same)(part(signature))}`;
}

export const byEd = (): string => press({ by: ed });
export const withHeader =
  (header: object, more: Pressing = {}): (() => string) =>
  () =>
    press({ header, ...more });

/** The token's parts, to be put together otherwise. */
export function apart(token: string): readonly [string, string, string] {
  const [head = "", body = "", signature = ""] = token.split(".");
  return [head, body, signature];
}

/**
 * JSON with white space behind it until its bytes leave `rest` when divided by three, which decides
 * how base64 ends.
 */
export function spaced(text: string, rest: 0 | 1 | 2): string {
  let longer = text;
  while (Buffer.byteLength(longer) % 3 !== rest) longer += " ";
  return longer;
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/**
 * The same bytes for a lenient reader: the next letter in the last place, where not all bits are
 * used.
 */
export const otherLast = (text: string): string =>
  text.slice(0, -1) + letters.charAt(letters.indexOf(text.slice(-1)) + 1);

/** The next letter of the alphabet at one place. */
export const malformedAt = (text: string, at: number): string =>
  text.slice(0, at) +
  letters.charAt((letters.indexOf(text.charAt(at)) + 1) % letters.length) +
  text.slice(at + 1);

export type Vector = readonly [
  name: string,
  forged: () => string,
  twin?: () => string,
  status?: number,
  code?: string,
];

const said = ({ status, headers, body: { reason: _, ...body } }: GatewayAnswer): string => {
  const names = Object.keys(headers)
    .filter((name) => name !== "content-length")
    .sort()
    .join(" ");
  return `${status} ${names} ${headers["www-authenticate"]} ${JSON.stringify({ ...body, requestId: "" })}`;
};

/** True if the key's own secret signed the token as it is: this is computed here once more. */
function isSigned(token: string): boolean {
  const [head = "", body = "", signature = ""] = token.split(".");
  const by = [merchant(), ed, other];
  return by.some((signer) => {
    try {
      if (!Buffer.from(head, "base64url").includes(signer.keyId)) return false;
      return part(signer.sign(`${head}.${body}`)) === signature;
    } catch {
      return false;
    }
  });
}

/**
 * One test per vector, and one for all 401 answers: they are equal except for the request's id and
 * the reason, header names included. A reason is told for a token that a key signed, and for no
 * other.
 */
export function refuses(vectors: readonly Vector[]): void {
  const answers = new Set<string>();
  it("a good token is let in, the twin of all vectors that name no other", async () =>
    expect((await read(press())).status).toBe(200));
  it.each(vectors.map((vector) => [vector[0], vector] as const))(
    "a token is refused: %s",
    async (_name, vector) => {
      const [, forged, twin, status = 401, code = "token_invalid"] = vector;
      if (twin !== undefined) {
        const good = twin();
        expect((await read(good)).status, good).toBe(200);
      }
      const bad = forged();
      const answer = await read(bad);
      expect([answer.status, answer.body.code], bad).toEqual([status, code]);
      if (status !== 401) return;
      answers.add(said(answer));
      if (!isSigned(bad)) expect(answer.body, bad).not.toHaveProperty("reason");
    },
  );
  it("the answers to wrong tokens are all the same", () => expect([...answers]).toHaveLength(1));
}
