/**
 * Forged signatureTokens over real HTTP, part two: the form. Encodings, parts, signatures, what is
 * left of one token in another, lengths; and every single character. Sources: RFC 7515 sections 2,
 * 5 and 7, RFC 7516 section 9, RFC 2104; docs/api.md, The token.
 */
import { createCipheriv, createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { verifyToken } from "../../gateway/auth/authenticate.ts";
import { gateway, knock, path } from "../support/one-gateway.ts";
import { places, strideOfRun } from "../support/stride.ts";
import {
  apart,
  byEd,
  claimsOf,
  ed,
  headerOf,
  hmac,
  malformedAt,
  merchant,
  oneGatewayWithKeys,
  other,
  otherApiKey,
  otherLast,
  part,
  press,
  refuses,
  secretOf,
  spaced,
  type Vector,
} from "../support/token-press.ts";

oneGatewayWithKeys();

describe("base64url in another form", () => {
  const standard = (text: string): string => text.replaceAll("-", "+").replaceAll("_", "/");
  /**
   * A token whose claims and signature hold both characters that differ between the two alphabets.
   */
  const stating = (
    change: { body?: (part: string) => string; tail?: (part: string) => string } = {},
  ): string => {
    for (;;) {
      const claimsText = claimsOf(merchant(), { extra: ">>>???" });
      const [, body, signature] = apart(press({ claimsText }));
      const both = (text: string): boolean => text.includes("-") && text.includes("_");
      if (both(body) && both(signature)) return press({ claimsText, ...change });
    }
  };
  const inPart = (name: "head" | "body", text: () => string): Vector[] => {
    const key = name === "head" ? "headerText" : "claimsText";
    const where = name === "head" ? "header" : "claims";
    const pressed =
      (rest: 0 | 1 | 2, change?: (part: string) => string): (() => string) =>
      () =>
        press({ [key]: spaced(text(), rest), ...(change === undefined ? {} : { [name]: change }) });
    return [
      [`${where}: padded with one`, pressed(2, (one) => `${one}=`), pressed(2)],
      [`${where}: padded with two`, pressed(1, (one) => `${one}==`), pressed(1)],
      [`${where}: padded where nothing is missing`, pressed(0, (one) => `${one}=`), pressed(0)],
      [`${where}: padded, percent-encoded`, pressed(2, (one) => `${one}%3D`), pressed(2)],
      [`${where}: bits left in the last of two characters`, pressed(1, otherLast), pressed(1)],
      [`${where}: bits left in the last of three characters`, pressed(2, otherLast), pressed(2)],
      [`${where}: one character too many`, pressed(0, (one) => `${one}A`), pressed(0)],
      [`${where}: a space behind`, pressed(0, (one) => `${one} `), pressed(0)],
      [
        `${where}: a space inside`,
        pressed(0, (one) => `${one.slice(0, 4)} ${one.slice(4)}`),
        pressed(0),
      ],
      [
        `${where}: a tab inside`,
        pressed(0, (one) => `${one.slice(0, 4)}\t${one.slice(4)}`),
        pressed(0),
      ],
      [
        `${where}: an equals sign inside`,
        pressed(0, (one) => `${one.slice(0, 4)}=${one.slice(4)}`),
        pressed(0),
      ],
      [
        `${where}: a letter of Latin-1 inside`,
        pressed(0, (one) => `${one.slice(0, 4)}\u00e9${one.slice(4)}`),
        pressed(0),
      ],
      [`${where}: a quote around`, pressed(0, (one) => `"${one}"`), pressed(0)],
      [`${where}: a comma behind`, pressed(0, (one) => `${one},`), pressed(0)],
      [
        `${where}: hex`,
        pressed(0, (one) => Buffer.from(one, "base64url").toString("hex")),
        pressed(0),
      ],
      [`${where}: twice encoded`, pressed(0, part), pressed(0)],
    ];
  };
  const tail =
    (change: (signature: string) => string): (() => string) =>
    () =>
      press({ tail: change });
  refuses([
    ...inPart("head", () => headerOf(merchant())),
    ...inPart("body", () => claimsOf(merchant())),
    ["claims: the standard alphabet", () => stating({ body: standard }), () => stating()],
    ["signature: the standard alphabet", () => stating({ tail: standard }), () => stating()],
    ["signature: padded", tail((text) => `${text}=`)],
    ["signature: padded with two", tail((text) => `${text}==`)],
    ["signature: bits left in the last character", tail(otherLast)],
    ["signature: a character too many", tail((text) => `${text}A`)],
    ["signature: a space inside", tail((text) => `${text.slice(0, 4)} ${text.slice(4)}`)],
    ["signature: a letter of Latin-1 behind", tail((text) => `${text}\u00e9`)],
    ["signature: hex", tail((text) => Buffer.from(text, "base64url").toString("hex"))],
    [
      "signature: hex, encoded",
      tail((text) => part(Buffer.from(text, "base64url").toString("hex"))),
    ],
    ["signature: twice encoded", tail(part)],
    [
      "signature of an EdDSA key: bits left in the last character",
      () => press({ by: ed, tail: otherLast }),
      byEd,
    ],
    [
      "signature of an EdDSA key: padded",
      () => press({ by: ed, tail: (text) => `${text}==` }),
      byEd,
    ],
  ]);
});

describe("parts", () => {
  const made =
    (change: (head: string, body: string, signature: string) => string): (() => string) =>
    () =>
      change(...apart(press()));
  /** As RFC 7516 makes one, under a key that is the secret's hash. */
  const encrypted = (alg: string): string => {
    const head = part(JSON.stringify({ alg, enc: "A256GCM", kid: merchant().keyId }));
    const cipher = createCipheriv(
      "aes-256-gcm",
      createHash("sha256").update(secretOf()).digest(),
      Buffer.alloc(12),
    );
    cipher.setAAD(Buffer.from(head));
    const text = Buffer.concat([cipher.update(claimsOf(merchant())), cipher.final()]);
    return `${head}..${part(Buffer.alloc(12))}.${part(text)}.${part(cipher.getAuthTag())}`;
  };
  const flattened = made((head, body, signature) =>
    JSON.stringify({ payload: body, protected: head, signature }),
  );
  const general = made((head, body, signature) =>
    JSON.stringify({ payload: body, signatures: [{ protected: head, signature }] }),
  );
  refuses([
    ["none", () => "."],
    ["two empty ones", () => ".."],
    ["five empty ones", () => "...."],
    ["one", made((head) => head)],
    ["two", made((head, body) => `${head}.${body}`)],
    ["two, claims and signature", made((_head, body, signature) => `${body}.${signature}`)],
    ["four, one empty behind", made((head, body, signature) => `${head}.${body}.${signature}.`)],
    ["four, one empty before", made((head, body, signature) => `.${head}.${body}.${signature}`)],
    [
      "four, the signature twice",
      made((head, body, signature) => `${head}.${body}.${signature}.${signature}`),
    ],
    [
      "four, an empty one between",
      made((head, body, signature) => `${head}.${body}..${signature}`),
    ],
    [
      "five, the token and two more",
      made((head, body, signature) => `${head}.${body}.${signature}.AAAA.AAAA`),
    ],
    [
      "six, the token twice",
      made((head, body, signature) => `${head}.${body}.${signature}.${head}.${body}.${signature}`),
    ],
    ["an empty header", made((_head, body, signature) => `.${body}.${signature}`)],
    ["an empty header, signed so", () => press({ head: () => "" })],
    ["empty claims, signed so", () => press({ body: () => "" })],
    [
      "empty claims over what was signed, as if detached",
      made((head, _body, signature) => `${head}..${signature}`),
    ],
    ["an empty signature", made((head, body) => `${head}.${body}.`)],
    ["encrypted with dir", () => encrypted("dir")],
    ["encrypted with dir, said HS256", () => encrypted("HS256")],
    [
      "encrypted, of three parts",
      () =>
        press({
          headerText: JSON.stringify({ alg: "dir", enc: "A256GCM", kid: merchant().keyId }),
        }),
    ],
    ["as JSON, flattened", flattened],
    ["as JSON, general", general],
    ["a token inside a token", () => press({ claimsText: press() })],
    [
      "a token inside a token, said so",
      () => press({ header: { cty: "JWT" }, claimsText: press() }),
    ],
    ["two tokens with a comma", () => `${press()},${press()}`],
    ["two tokens with a comma and a space", () => `${press()}, ${press()}`],
    ["two tokens with a space", () => `${press()} ${press()}`],
    ["two tokens with a semicolon", () => `${press()};${press()}`],
    ["quoted", () => `"${press()}"`],
    ["named", () => `signatureToken=${press()}`],
    ["other separators", () => press().replaceAll(".", ":")],
    ["bearer in small letters", () => `bearer ${press()}`, () => `Bearer ${press()}`],
    ["BEARER in large letters", () => `BEARER ${press()}`, () => `Bearer ${press()}`],
    ["Bearer twice", () => `Bearer Bearer ${press()}`, () => `Bearer ${press()}`],
    ["Bearer and two spaces", () => `Bearer  ${press()}`, () => `Bearer ${press()}`],
    ["Bearer and a tab", () => `Bearer\t${press()}`, () => `Bearer ${press()}`],
    ["Bearer and a colon", () => `Bearer: ${press()}`, () => `Bearer ${press()}`],
    ["Bearer alone", () => "Bearer", () => `Bearer ${press()}`],
    ["Basic", () => `Basic ${press()}`, () => `Bearer ${press()}`],
    ["the apiKey itself", () => gateway.merchant.shopKey],
    ["the apiKey with Bearer", () => `Bearer ${gateway.merchant.shopKey}`],
  ]);
});

describe("a signature", () => {
  const cut =
    (bytes: number): (() => string) =>
    () =>
      press({ sign: (text) => hmac(secretOf(), text).subarray(0, bytes) });
  const over =
    (what: (head: string, body: string) => string | Uint8Array): (() => string) =>
    () =>
      press({
        sign: (text) => {
          const [head, body] = apart(text);
          return hmac(secretOf(), what(head, body) as string);
        },
      });
  const withSecret =
    (secret: (own: Buffer) => string | Uint8Array): (() => string) =>
    () =>
      press({ sign: (text) => hmac(secret(secretOf()), text) });
  const bytes =
    (change: (mac: Buffer) => Uint8Array): (() => string) =>
    () =>
      press({ sign: (text) => change(hmac(secretOf(), text)) });
  const flipped = (at: number): (() => string) =>
    bytes((mac) => mac.map((byte, index) => (index === at ? byte ^ 1 : byte)));
  const decoded = (text: string): string => Buffer.from(text, "base64url").toString();
  refuses([
    ...[0, 1, 4, 8, 10, 12, 16, 20, 24, 28, 31].map(
      (size): Vector => [`of the first ${size} bytes`, cut(size)],
    ),
    ["of the last 16 bytes", bytes((mac) => mac.subarray(16))],
    ["with a zero byte more", bytes((mac) => Buffer.concat([mac, Buffer.alloc(1)]))],
    ["twice", bytes((mac) => Buffer.concat([mac, mac]))],
    ["of zeros", bytes(() => Buffer.alloc(32))],
    ["of ones", bytes(() => Buffer.alloc(32, 0xff))],
    ["backwards", bytes((mac) => Buffer.from(mac).reverse())],
    ["with its first bit of the first byte changed", flipped(0)],
    ["with a bit of the middle changed", flipped(16)],
    ["with a bit of the last byte changed", flipped(31)],
    [
      "of HMAC-SHA512, cut to 32 bytes",
      () => press({ sign: (text) => hmac(secretOf(), text, "sha512").subarray(0, 32) }),
    ],
    ["of HMAC-SHA512/256", () => press({ sign: (text) => hmac(secretOf(), text, "sha512-256") })],
    ["of HMAC-SHA1", () => press({ sign: (text) => hmac(secretOf(), text, "sha1") })],
    [
      "of SHA-256 over secret and text",
      () =>
        press({ sign: (text) => createHash("sha256").update(secretOf()).update(text).digest() }),
    ],
    [
      "of SHA-256 over text and secret",
      () =>
        press({ sign: (text) => createHash("sha256").update(text).update(secretOf()).digest() }),
    ],
    [
      "of SHA-256 over the text alone",
      () => press({ sign: (text) => createHash("sha256").update(text).digest() }),
    ],
    ["of the HMAC hashed once more", bytes((mac) => createHash("sha256").update(mac).digest())],
    ["over the claims alone", over((_head, body) => body)],
    ["over the header alone", over((head) => head)],
    ["over both without the dot", over((head, body) => head + body)],
    ["over both the other way round", over((head, body) => `${body}.${head}`)],
    ["over both and a dot behind", over((head, body) => `${head}.${body}.`)],
    ["over decoded claims", over((head, body) => `${head}.${decoded(body)}`)],
    ["over both decoded", over((head, body) => `${decoded(head)}.${decoded(body)}`)],
    ["over padded parts", over((head, body) => `${head}=.${body}=`)],
    ["with the secret decoded", withSecret((own) => Buffer.from(own.toString(), "base64url"))],
    ["with the secret in small letters", withSecret((own) => own.toString().toLowerCase())],
    ["with the secret and a line feed", withSecret((own) => `${own}\n`)],
    ["with the secret's first half", withSecret((own) => own.subarray(0, 21))],
    ["with the secret padded", withSecret((own) => `${own}=`)],
    ["with the secret in hex", withSecret((own) => own.toString("hex"))],
    ["with the secret twice", withSecret((own) => `${own}${own}`)],
    ["with the whole apiKey", withSecret(() => gateway.merchant.shopKey)],
    ["with the key's id", withSecret(() => merchant().keyId)],
    ["with the gateway's fingerprint", withSecret(() => gateway.service.key.fingerprint)],
    [
      "with the gateway's public key",
      withSecret(() => Buffer.from(gateway.service.key.publicKey, "hex")),
    ],
    ["with the merchant's id", withSecret(() => gateway.merchant.merchantId)],
    ["with another key's secret", withSecret(() => secretOf(otherApiKey))],
    ["with nothing", withSecret(() => "")],
    ["with a zero byte", withSecret(() => Buffer.alloc(1))],
    ["with the word secret", withSecret(() => "secret")],
    ["with the word null", withSecret(() => "null")],
    ["with the word undefined", withSecret(() => "undefined")],
  ]);
});

describe("parts of two tokens, and texts changed afterwards", () => {
  const mixed =
    (
      from: () => string,
      change: (one: ReturnType<typeof apart>, two: ReturnType<typeof apart>) => readonly string[],
    ): (() => string) =>
    () =>
      change(apart(press()), apart(from())).join(".");
  const again = (): string => press();
  const others = (): string => press({ by: other });
  const altered =
    (which: 0 | 1, change: (text: string) => string): (() => string) =>
    () => {
      const parts = [...apart(press())];
      const before = Buffer.from(parts[which] ?? "", "base64url").toString();
      const after = change(before);
      expect([after === before, after.length]).toEqual([false, before.length]);
      parts[which] = part(after);
      return parts.join(".");
    };
  const digit = (text: string, name: string): string =>
    text.replace(
      new RegExp(`("${name}":"?[^",}]*)([^",}])("?[,}])`),
      (_all, front, last, end) => `${front}${last === "1" ? "2" : "1"}${end}`,
    );
  refuses([
    [
      "claims of a later token",
      mixed(again, ([head, , signature], [, body]) => [head, body, signature]),
    ],
    [
      "signature of a later token",
      mixed(again, ([head, body], [, , signature]) => [head, body, signature]),
    ],
    [
      "header of another key's token",
      mixed(others, ([, body, signature], [head]) => [head, body, signature]),
    ],
    [
      "claims of another key's token",
      mixed(others, ([head, , signature], [, body]) => [head, body, signature]),
    ],
    [
      "signature of another key's token",
      mixed(others, ([head, body], [, , signature]) => [head, body, signature]),
    ],
    [
      "header and claims of another key's token",
      mixed(others, ([, , signature], [head, body]) => [head, body, signature]),
    ],
    [
      "header and signature of another key's token",
      mixed(others, ([, body], [head, , signature]) => [head, body, signature]),
    ],
    [
      "claims and signature of another key's token",
      mixed(others, ([head], [, body, signature]) => [head, body, signature]),
    ],
    [
      "header of an EdDSA key's token",
      mixed(byEd, ([, body, signature], [head]) => [head, body, signature]),
    ],
    [
      "claims and signature of an EdDSA key's token",
      mixed(byEd, ([head], [, body, signature]) => [head, body, signature]),
    ],
    [
      "header and claims changed places",
      () => {
        const [head, body, signature] = apart(press());
        return `${body}.${head}.${signature}`;
      },
    ],
    [
      "header and claims changed places, signed so",
      () => press({ headerText: claimsOf(merchant()), claimsText: headerOf(merchant()) }),
    ],
    [
      "all parts the header",
      () => {
        const [head] = apart(press());
        return `${head}.${head}.${head}`;
      },
    ],
    ["header: HS512 instead of HS256", altered(0, (text) => text.replace("HS256", "HS512"))],
    [
      "header: jwt instead of JWT",
      altered(0, (text) => text.replace("JWT", "jwt")),
      () => press({ header: { typ: "jwt" } }),
    ],
    ["header: another digit of kid", altered(0, (text) => digit(text, "kid"))],
    [
      "header: kid of another key",
      altered(0, (text) => text.replace(merchant().keyId, other.keyId)),
    ],
    [
      "header: fields in another order",
      altered(0, (text) => text.replace(/("alg":"HS256"),("typ":"JWT")/, "$2,$1")),
    ],
    ["claims: another digit of exp", altered(1, (text) => digit(text, "exp"))],
    ["claims: another digit of iat", altered(1, (text) => digit(text, "iat"))],
    ["claims: another digit of jti", altered(1, (text) => digit(text, "jti"))],
    ["claims: another digit of sub", altered(1, (text) => digit(text, "sub"))],
    [
      "claims: fields in another order",
      altered(1, (text) => text.replace(/("iat":\d+),("exp":\d+)/, "$2,$1")),
    ],
    [
      "header: a space more",
      () => {
        const [head, ...rest] = apart(press());
        return [part(`${Buffer.from(head, "base64url")} `), ...rest].join(".");
      },
    ],
    [
      "claims: a space more",
      () => {
        const [head, body, signature] = apart(press());
        return [head, part(`${Buffer.from(body, "base64url")} `), signature].join(".");
      },
    ],
  ]);
});

describe("lengths", () => {
  const charactersMax = 4096;
  const ofLength = (length: number): string => {
    for (const typ of ["JWT", undefined]) {
      for (let size = Math.floor(length * 0.7); size < length; size += 1) {
        const token = press({ header: { typ }, claims: { filler: "x".repeat(size) } });
        if (token.length === length) return token;
        if (token.length > length) break;
      }
    }
    throw new Error(`no token of ${length} characters`);
  };
  const longest = (): string => ofLength(charactersMax);
  refuses([
    ["4097 characters", () => ofLength(charactersMax + 1), longest],
    [
      "Bearer and 4097 characters",
      () => `Bearer ${ofLength(charactersMax + 1)}`,
      () => `Bearer ${longest()}`,
    ],
    ["a header of 12000 characters", () => press({ head: (text) => text + "A".repeat(12_000) })],
    [
      "a header field of 3000 characters",
      () => press({ header: { x: "x".repeat(3000) } }),
      () => press({ claims: { x: "x".repeat(2500) } }),
    ],
    ["a signature of 3000 characters", () => press({ tail: (text) => text + "A".repeat(3000) })],
    ["2000 dots", () => ".".repeat(2000)],
    ["15000 letters", () => "A".repeat(15_000)],
    [
      "20000 letters, above what a request's headers may have",
      () => "A".repeat(20_000),
      longest,
      431,
      "headers_too_large",
    ],
  ]);
});

describe("a good token", () => {
  const request = { method: "GET", path, body: new Uint8Array(0) };
  const verdict = async (token: string): Promise<boolean> => {
    const { store, key, config } = gateway.service;
    const at = {
      store,
      sealingKey: key.sealingKey,
      publicUrl: config.publicUrl,
      nowMs: gateway.clock.nowMs,
    };
    return (await verifyToken(token, request, at)).ok;
  };

  it.each([
    ["HS256", () => press()],
    ["EdDSA", byEd],
  ])("of %s stands no change of a single character, none left out", async (_name, make) => {
    const token = make();
    expect(await verdict(token)).toBe(true);
    const stride = strideOfRun(4);
    for (const at of places(token.length, stride)) {
      const malformed =
        token.charAt(at) === "."
          ? `${token.slice(0, at)}A${token.slice(at + 1)}`
          : malformedAt(token, at);
      expect(await verdict(malformed), `changed at ${at}, SEED=${stride.seed}`).toBe(false);
      expect(await verdict(token.slice(0, at) + token.slice(at + 1)), `left out at ${at}`).toBe(
        false,
      );
    }
  });

  it("counts in its own header field alone", async () => {
    const type = { "Content-Type": "application/json" };
    expect((await knock(press())).status).toBe(200);
    expect(
      (await gateway.send(path, { headers: { ...type, Authorization: `Bearer ${press()}` } }))
        .status,
    ).toBe(401);
    expect(
      (await gateway.send(path, { headers: { ...type, Cookie: `signatureToken=${press()}` } }))
        .status,
    ).toBe(401);
    expect(
      (await gateway.send(`${path}?signatureToken=${press()}`, { headers: type })).status,
    ).toBe(401);
    expect(
      (await gateway.send(path, { headers: { ...type, "signature-token": press() } })).status,
    ).toBe(401);
    const twice = [press(), press()] as unknown as string; // two lines of one name
    expect((await gateway.send(path, { headers: { ...type, signatureToken: twice } })).status).toBe(
      401,
    );
  });
});
