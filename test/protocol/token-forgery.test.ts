/**
 * Forged signatureTokens over real HTTP, part one: the algorithm and the key. One thing is wrong in
 * each token, and most are signed with the right secret, so that only the broken rule can refuse
 * them. Sources: RFC 7515 (JWS), 7516 (JWE), 7518 (JWA), 7797 (b64), 8037 (EdDSA), 8725 (best
 * practices); docs/api.md, The token.
 */
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { describe } from "vitest";
import { privateKeyFromSeed, publicKeyHex } from "../../protocol/envelope.ts";
import { gateway } from "../support/one-gateway.ts";
import {
  apart,
  byEd,
  claimsOf,
  ed,
  headerOf,
  hmac,
  merchant,
  oneGatewayWithKeys,
  other,
  ownPair,
  paired,
  part,
  press,
  refuses,
  secretOf,
  strangePair,
  type Vector,
  withHeader,
} from "../support/token-press.ts";

oneGatewayWithKeys();

const strangeCurve = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

describe("the algorithm of an HS256 key", () => {
  const none = [
    "none",
    "None",
    "NONE",
    "nOnE",
    "noNe",
    " none",
    "none ",
    "none\u0000",
    "n\u043ene",
    "null",
    "no",
    "",
  ];
  const unsigned = none.flatMap((alg): Vector[] => [
    [`${JSON.stringify(alg)} without a signature`, withHeader({ alg }, { sign: () => "" })],
    [
      `${JSON.stringify(alg)} of two parts`,
      () => press({ header: { alg } }).split(".").slice(0, 2).join("."),
    ],
    [`${JSON.stringify(alg)} with a signature that fits`, withHeader({ alg })],
  ]);
  const truly: Vector[] = (["384", "512"] as const).flatMap((size) => [
    [
      `HS${size}, and signed so`,
      withHeader(
        { alg: `HS${size}` },
        { sign: (text: string) => hmac(secretOf(), text, `sha${size}`) },
      ),
    ],
    [
      `HS256, but signed as HS${size}`,
      () => press({ sign: (text) => hmac(secretOf(), text, `sha${size}`) }),
    ],
  ]);
  const spelled = [
    "hs256",
    "Hs256",
    "HS256 ",
    " HS256",
    "HS256\n",
    "HS256\u0000",
    "HS-256",
    "HS2560",
    "HS25",
    "HS256,none",
    "HMAC",
  ];
  const foreign = [
    "RS256",
    "PS256",
    "ES256",
    "ES256K",
    "EdDSA",
    "Ed25519",
    "Ed448",
    "A128KW",
    "dir",
    "RSA1_5",
    "ECDH-ES",
  ];
  const named: Vector[] = [
    ...spelled,
    ...foreign,
    "PBES2-HS256+A128KW",
    "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
  ].map((alg) => [`${JSON.stringify(alg)} over an HMAC that fits`, withHeader({ alg })]);
  const typed: Vector[] = [null, 0, 256, true, [], ["HS256"], { HS256: true }].map((alg) => [
    `${JSON.stringify(alg)} instead of text`,
    withHeader({ alg }),
  ]);
  refuses([
    ...unsigned,
    ...truly,
    ...named,
    ...typed,
    ["missing", withHeader({ alg: undefined })],
    [
      "twice, the second none",
      () =>
        press({
          headerText: headerOf(merchant())
            .replace("{", '{"alg":"HS256",')
            .replace(/HS256(?=","typ)/, "none"),
        }),
    ],
    [
      "twice, the first none",
      () => press({ headerText: headerOf(merchant()).replace("{", '{"alg":"none",') }),
    ],
    [
      "twice, one in escapes",
      () => press({ headerText: headerOf(merchant()).replace("{", '{"\\u0061lg":"none",') }),
    ],
    ["in large letters beside it", withHeader({ ALG: "none" })],
    ["in large letters alone", withHeader({ alg: undefined, ALG: "HS256" })],
    ["with a space behind its name", withHeader({ alg: undefined, "alg ": "HS256" })],
    [
      "in escapes, another",
      () => press({ headerText: headerOf(merchant()).replace("HS256", "n\\u006fne") }),
      () => press({ headerText: headerOf(merchant()).replace("HS256", "HS\\u003256") }),
    ],
  ]);
});

describe("the key of another algorithm", () => {
  const publicForms: Record<string, (key: KeyObject) => string | Uint8Array> = {
    "raw bytes": (key) => Buffer.from(publicKeyHex(key), "hex"),
    hex: (key) => publicKeyHex(key),
    base64url: (key) => Buffer.from(publicKeyHex(key), "hex").toString("base64url"),
    "DER of SPKI": (key) => key.export({ format: "der", type: "spki" }),
    "PEM of SPKI": (key) => key.export({ format: "pem", type: "spki" }),
    "PEM of SPKI without its last line feed": (key) =>
      String(key.export({ format: "pem", type: "spki" })).trimEnd(),
    "JWK as JSON": (key) => JSON.stringify(key.export({ format: "jwk" })),
    "nothing, since no secret is stored": () => "",
  };
  const confused = Object.entries(publicForms).flatMap(([form, of]): Vector[] => {
    const signedWith = (text: string): Uint8Array => hmac(of(createPublicKey(ownPair)), text);
    return [
      [
        `public key as HMAC secret, ${form}, said HS256`,
        () => press({ by: ed, header: { alg: "HS256" }, sign: signedWith }),
        byEd,
      ],
      [
        `public key as HMAC secret, ${form}, said EdDSA`,
        () => press({ by: ed, sign: signedWith }),
        byEd,
      ],
    ];
  });
  const edSigned =
    (header: object, sign?: (text: string) => Uint8Array): (() => string) =>
    () =>
      press({ by: ed, header, ...(sign === undefined ? {} : { sign }) });
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  /** S and S + L verify alike where S is not checked to be below L. RFC 8032 section 5.1.7. */
  const stretched = (text: string): Uint8Array => {
    const signature = Buffer.from(ed.sign(text));
    const scalar =
      BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString("hex")}`) + order;
    return Buffer.concat([
      signature.subarray(0, 32),
      Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse(),
    ]);
  };
  const bytes = (change: (signature: Buffer) => Uint8Array) => (text: string) =>
    change(Buffer.from(ed.sign(text)));
  const hash = (text: string): Buffer => createHash("sha512").update(text).digest();
  refuses([
    ...confused,
    [
      "an EdDSA key, none without a signature",
      edSigned({ alg: "none" }, () => new Uint8Array(0)),
      byEd,
    ],
    ["an EdDSA key, said Ed25519", edSigned({ alg: "Ed25519" }), byEd],
    ["an EdDSA key, said eddsa", edSigned({ alg: "eddsa" }), byEd],
    ["an EdDSA key, said ES256", edSigned({ alg: "ES256" }), byEd],
    ["an EdDSA key, ES256 of zeros", edSigned({ alg: "ES256" }, () => new Uint8Array(64)), byEd],
    ["an EdDSA key, zeros", edSigned({}, () => new Uint8Array(64)), byEd],
    [
      "an EdDSA key, the neutral point and zero",
      edSigned({}, () => Uint8Array.from({ length: 64 }, (_, at) => (at === 0 ? 1 : 0))),
      byEd,
    ],
    ["an EdDSA key, S larger by the order", edSigned({}, stretched), byEd],
    [
      "an EdDSA key, R and S changed places",
      edSigned(
        {},
        bytes((one) => Buffer.concat([one.subarray(32), one.subarray(0, 32)])),
      ),
      byEd,
    ],
    [
      "an EdDSA key, 63 bytes",
      edSigned(
        {},
        bytes((one) => one.subarray(0, 63)),
      ),
      byEd,
    ],
    [
      "an EdDSA key, 65 bytes",
      edSigned(
        {},
        bytes((one) => Buffer.concat([one, Buffer.alloc(1)])),
      ),
      byEd,
    ],
    [
      "an EdDSA key, half a signature",
      edSigned(
        {},
        bytes((one) => one.subarray(0, 32)),
      ),
      byEd,
    ],
    [
      "an EdDSA key, the text hashed first",
      edSigned({}, (text) => sign(null, hash(text), ownPair)),
      byEd,
    ],
    [
      "an EdDSA key, another's signature",
      edSigned({}, (text) => sign(null, Buffer.from(text), strangePair)),
      byEd,
    ],
    [
      "an EdDSA key of another, whose signature it is",
      () => press({ by: { ...ed, sign: paired("", strangePair).sign } }),
      byEd,
    ],
    [
      "a shared secret, said EdDSA and signed with a pair made of it",
      () =>
        press({
          header: { alg: "EdDSA" },
          sign: paired("", privateKeyFromSeed(secretOf().subarray(0, 32))).sign,
        }),
    ],
    [
      "a shared secret, but a pair's signature",
      () => press({ sign: (text) => sign(null, Buffer.from(text), ownPair) }),
    ],
    [
      "an ES256 signature over an HS256 header",
      () => press({ sign: (text) => sign("sha256", Buffer.from(text), strangeCurve) }),
    ],
  ]);
});

describe("a header that brings or asks for something", () => {
  const attacker = "a secret that the attacker chose";
  const oct = { kty: "oct", k: part(attacker), alg: "HS256" };
  const byAttacker = { sign: (text: string) => hmac(attacker, text) };
  const okp = createPublicKey(strangePair).export({ format: "jwk" });
  const strangeHand = (text: string): Uint8Array => sign(null, Buffer.from(text), strangePair);
  const unencoded = (): string => {
    const [head] = apart(press({ header: { b64: false, crit: ["b64"] } }));
    const claims = claimsOf(merchant());
    return `${head}.${part(claims)}.${part(hmac(secretOf(), `${head}.${claims}`))}`;
  };
  const fields: Record<string, unknown> = {
    jku: "https://attacker.example/keys.json",
    jwk: oct,
    x5u: "https://attacker.example/chain.pem",
    x5c: ["MIIB"],
    x5t: "AAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "x5t#S256": "AAAA",
    zip: "DEF",
    enc: "A256GCM",
    p2c: 2_000_000_000,
    p2s: "AAAAAAAAAAA",
    epk: okp,
    apu: "AAAA",
    apv: "AAAA",
    iv: "AAAA",
    tag: "AAAA",
    cty: "JWT",
    url: "https://attacker.example/",
    nonce: "AAAA",
    ppt: "x",
    svt: "x",
    iss: "attacker",
    sub: "k_0000000000000000",
    exp: 9_999_999_999,
    k: part(attacker),
    secret: attacker,
    "": "",
    b64: true,
    Kid: "k_0000000000000000",
  };
  const added: Vector[] = Object.entries(fields).map(([name, value]) => [
    `the field ${JSON.stringify(name)}`,
    withHeader({ [name]: value }),
  ]);
  const crits: unknown[] = [
    [],
    ["exp"],
    ["b64"],
    ["alg"],
    ["kid"],
    ["crit"],
    ["http://example.com/x"],
    [""],
    [1],
    "exp",
    {},
    null,
    true,
  ];
  const critical: Vector[] = crits.map((crit) => [
    `crit ${JSON.stringify(crit)}`,
    withHeader({ crit }),
  ]);
  const typs: unknown[] = [
    "JWE",
    "JOSE",
    "JOSE+JSON",
    "at+jwt",
    "dpop+jwt",
    "application/jwt",
    "JWT ",
    "",
    null,
    1,
    ["JWT"],
    { JWT: 1 },
  ];
  const typed: Vector[] = typs.map((typ) => [`typ ${JSON.stringify(typ)}`, withHeader({ typ })]);
  refuses([
    ...added,
    ...critical,
    ...typed,
    ["jwk, signed with what it holds", withHeader({ jwk: oct }, byAttacker)],
    [
      "jwk of a pair, signed by that pair",
      withHeader({ alg: "EdDSA", jwk: okp }, { sign: strangeHand }),
    ],
    [
      "jwk of a pair for an EdDSA key, signed by that pair",
      () => press({ by: ed, header: { jwk: okp }, sign: strangeHand }),
      byEd,
    ],
    [
      "jwk of an EdDSA key's own pair",
      () => press({ by: ed, header: { jwk: createPublicKey(ownPair).export({ format: "jwk" }) } }),
      byEd,
    ],
    ["jku, signed with what stands there", withHeader({ jku: fields.jku }, byAttacker)],
    [
      "x5c, signed with what it holds",
      withHeader(
        { alg: "ES256", x5c: ["MIIB"] },
        { sign: (text: string) => sign("sha256", Buffer.from(text), strangeCurve) },
      ),
    ],
    ["crit exp with the field it names", withHeader({ crit: ["exp"], exp: 9_999_999_999 })],
    ["b64 false, claims in base64url all the same", withHeader({ b64: false })],
    ["b64 false and critical, signed over bare claims", unencoded],
    [
      "zip, and claims that are packed",
      () => press({ header: { zip: "DEF" }, claimsText: deflateRawSync(claimsOf(merchant())) }),
    ],
    [
      "packed claims without zip",
      () => press({ claimsText: deflateRawSync(claimsOf(merchant())) }),
    ],
    [
      "__proto__ with alg and kid in it",
      () => press({ headerText: `{"__proto__":${headerOf(merchant())}}` }),
    ],
    [
      "__proto__ beside alg and kid",
      () => press({ headerText: headerOf(merchant()).replace("{", '{"__proto__":{},') }),
    ],
    [
      "constructor",
      () => press({ headerText: headerOf(merchant()).replace("{", '{"constructor":1,') }),
    ],
    ["a list around it", () => press({ headerText: `[${headerOf(merchant())}]` })],
    ["text around it", () => press({ headerText: JSON.stringify(headerOf(merchant())) })],
    ["null", () => press({ headerText: "null" })],
    ["empty object", () => press({ headerText: "{}" })],
    ["nothing but white space", () => press({ headerText: " " })],
    [
      "a second object behind it",
      () => press({ headerText: `${headerOf(merchant())}{}` }),
      () => press({ headerText: ` ${headerOf(merchant())}\n` }),
    ],
    [
      "a comma behind its last field",
      () => press({ headerText: headerOf(merchant()).replace("}", ",}") }),
    ],
    ["a comment", () => press({ headerText: headerOf(merchant()).replace("}", "/**/}") })],
    ["a byte order mark", () => press({ headerText: `\ufeff${headerOf(merchant())}` })],
    ["a zero byte behind it", () => press({ headerText: `${headerOf(merchant())}\0` })],
    [
      "a byte that is no UTF-8",
      () =>
        press({ headerText: Buffer.concat([Buffer.from(headerOf(merchant())), Buffer.of(0xff)]) }),
    ],
    ["UTF-16", () => press({ headerText: Buffer.from(headerOf(merchant()), "utf16le") })],
    ["single quotes", () => press({ headerText: headerOf(merchant()).replaceAll('"', "'") })],
  ]);
});

describe("a kid", () => {
  const kids: unknown[] = [
    "",
    " ",
    "k_",
    "k_0000000000000000",
    "k_000000000000000",
    "K_0000000000000000",
    "../../../../dev/null",
    "/dev/null",
    "file:///dev/null",
    "https://attacker.example/key",
    "k_' OR '1'='1",
    "x' UNION SELECT 'AAAA'--",
    "k_0000000000000000'--",
    "$(id)",
    "| id",
    "%",
    "k_%",
    "*",
    "k_*",
    "__proto__",
    "constructor",
    "toString",
    "0",
    null,
    0,
    true,
    [],
    {},
    -1,
  ];
  const empty = { sign: (text: string) => hmac("", text) };
  const unknown = kids.flatMap((kid): Vector[] => [
    [`${JSON.stringify(kid)}, signed with the merchant's secret`, withHeader({ kid })],
    [`${JSON.stringify(kid)}, signed with nothing`, withHeader({ kid }, empty)],
  ]);
  const mine =
    (change: (kid: string) => unknown): (() => string) =>
    () =>
      press({ header: { kid: change(merchant().keyId) } });
  refuses([
    ...unknown,
    ["missing", withHeader({ kid: undefined })],
    ["in large letters", mine((kid) => kid.toUpperCase())],
    ["with a space behind", mine((kid) => `${kid} `)],
    ["with a line feed behind", mine((kid) => `${kid}\n`)],
    ["with a zero character behind", mine((kid) => `${kid}\0`)],
    ["with a path behind", mine((kid) => `${kid}/../${kid}`)],
    ["in a list", mine((kid) => [kid])],
    ["cut by one digit", mine((kid) => kid.slice(0, -1))],
    ["with full-width digits", mine((kid) => kid.replace("k_", "\uff4b_"))],
    ["the whole apiKey", () => press({ header: { kid: gateway.merchant.shopKey } })],
    ["of 3000 characters", () => press({ header: { kid: "k".repeat(3000) } })],
    [
      "twice, an outsider's first",
      () =>
        press({ headerText: headerOf(merchant()).replace("{", '{"kid":"k_0000000000000000",') }),
    ],
    [
      "twice, both the same",
      () =>
        press({ headerText: headerOf(merchant()).replace("{", `{"kid":"${merchant().keyId}",`) }),
    ],
    [
      "twice, one in escapes",
      () =>
        press({
          headerText: headerOf(merchant()).replace("{", `{"k\\u0069d":"${merchant().keyId}",`),
        }),
    ],
    [
      "of another key of the merchant",
      () => press({ header: { kid: other.keyId } }),
      () => press({ by: other }),
    ],
    [
      "and sub of another key of the merchant",
      () => press({ header: { kid: other.keyId }, claims: { sub: other.keyId } }),
      () => press({ by: other }),
    ],
    [
      "of an EdDSA key over an HMAC",
      () => press({ header: { kid: ed.keyId }, claims: { sub: ed.keyId } }),
      byEd,
    ],
    [
      "of one's own, sub of another",
      () => press({ by: other, claims: { sub: merchant().keyId } }),
      () => press({ by: other }),
    ],
  ]);
});
