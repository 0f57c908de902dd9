/**
 * Makes the header `signatureToken`: one compact JWT per request, signed with the secret part of
 * apiKey (HS256) or the key's own Ed25519 key. node:crypto only. Sources: RFC 7515, 7519, 8037;
 * docs/api.md, section on the token.
 */
import {
  createHash,
  createHmac,
  createPrivateKey,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";

/**
 * The signing key: an apiKey `<keyId>.<secret>.<fingerprint>` as the gateway printed it, or a key
 * id with a private Ed25519 key of your own. For an EdDSA key the secret of apiKey is the seed.
 */
export type TokenKey =
  | { readonly apiKey: string; readonly alg?: "HS256" | "EdDSA" }
  | { readonly keyId: string; readonly privateKey: KeyObject };

/**
 * The purpose of the token. With `bound` it is valid only for this one request (strict profile):
 * `path` from /api on, query included, `body` the exact text that will be sent. Without `bound` it
 * follows the interface: made from an empty string.
 */
export interface TokenPurpose {
  readonly bound?: {
    readonly method: string;
    readonly path: string;
    readonly body: string | Uint8Array;
  };
  readonly audience?: string; // the gateway's publicUrl
  readonly lifetimeSeconds?: number; // 1 … 300, default 60
}

export type TokenMaker = (purpose?: TokenPurpose) => string;

/** The gateway takes no longer life. */
export const lifetimeSecondsMax = 300;
const jtiBytes = 16;
const seedBytes = 32;
// RFC 8410 around a 32-byte seed
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

const apiKeyPattern = /^(k_[0-9a-f]{16})\.([A-Za-z0-9_-]{43})\.[0-9a-f]{32}$/;

const encode = (value: object): string =>
  Buffer.from(JSON.stringify(value), "utf8").toString("base64url");

/** A prepared key: its fields of the header, and its signature of a text. */
interface TokenSigner {
  readonly keyId: string;
  readonly alg: "HS256" | "EdDSA";
  readonly sign: (text: string) => Uint8Array;
}

function withPrivateKey(keyId: string, privateKey: KeyObject): TokenSigner {
  if (privateKey.asymmetricKeyType !== "ed25519")
    throw new TypeError("the private key is not Ed25519");
  return { keyId, alg: "EdDSA", sign: (text) => sign(null, Buffer.from(text, "utf8"), privateKey) };
}

/**
 * The first character that cannot be in an apiKey, as its number, because it may be invisible. ""
 * for none.
 */
function oddityOf(apiKey: string): string {
  const characters = [...apiKey];
  const place = characters.findIndex((character) => !/^[A-Za-z0-9._-]$/.test(character));
  const codePoint = characters[place]?.codePointAt(0);
  if (codePoint === undefined) return "";
  return `: character ${place + 1} is U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}`;
}

function signerOf(key: TokenKey): TokenSigner {
  if ("privateKey" in key) return withPrivateKey(key.keyId, key.privateKey);
  const [, keyId, secret] = apiKeyPattern.exec(key.apiKey) ?? [];
  if (keyId === undefined || secret === undefined) {
    throw new TypeError(`apiKey is not keyId.secret.fingerprint${oddityOf(key.apiKey)}`);
  }
  if (key.alg === "EdDSA") {
    const der = Buffer.concat([
      pkcs8Prefix,
      Buffer.from(secret, "base64url").subarray(0, seedBytes),
    ]);
    return withPrivateKey(keyId, createPrivateKey({ key: der, format: "der", type: "pkcs8" }));
  }
  // The key of the HMAC is the secret's text, not the bytes it encodes.
  return {
    keyId,
    alg: "HS256",
    sign: (text) => createHmac("sha256", Buffer.from(secret, "utf8")).update(text).digest(),
  };
}

/**
 * Prepares a maker. Each call of it makes a new token, because a POST uses its token up.
 * @param now milliseconds since 1970, if the machine's own clock must not be used
 * @throws TypeError for an invalid key; RangeError from the maker for a lifetime outside 1 … 300
 * seconds
 */
export function createTokenMaker(key: TokenKey, now: () => number = Date.now): TokenMaker {
  const signer = signerOf(key);
  const header = encode({ alg: signer.alg, typ: "JWT", kid: signer.keyId });
  return ({ bound, audience, lifetimeSeconds = 60 } = {}) => {
    if (
      !Number.isInteger(lifetimeSeconds) ||
      lifetimeSeconds < 1 ||
      lifetimeSeconds > lifetimeSecondsMax
    ) {
      throw new RangeError(`a token lives 1 to ${lifetimeSecondsMax} seconds`);
    }
    const iat = Math.floor(now() / 1000);
    const claims = encode({
      sub: signer.keyId,
      ...(audience === undefined ? {} : { aud: audience }),
      iat,
      exp: iat + lifetimeSeconds,
      jti: randomBytes(jtiBytes).toString("base64url"),
      bodyHash: createHash("sha256")
        .update(bound?.body ?? "")
        .digest("hex"),
      ...(bound === undefined ? {} : { method: bound.method, path: bound.path }),
    });
    const text = `${header}.${claims}`;
    return `${text}.${Buffer.from(signer.sign(text)).toString("base64url")}`;
  };
}
