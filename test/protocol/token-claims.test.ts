/**
 * Forged signatureTokens over real HTTP, part three: the claims of a token. Every token is truly
 * signed; its claims are wrong in one thing, or it is used for another request, beyond its key's
 * rights, or a second time. Sources: RFC 7519 section 4.1, RFC 8725 sections 3.8 to 3.10;
 * docs/api.md, The token.
 */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { revokeMerchantKey } from "../../gateway/operator/accounts.ts";
import { type GatewayAnswer, sha256, testConfig } from "../../lab/kit/gateway-server.ts";
import { gateway, path } from "../support/one-gateway.ts";
import {
  claimsOf,
  ed,
  headerOf,
  hmac,
  merchant,
  newJti,
  nowSeconds,
  oneGatewayWithKeys,
  other,
  press,
  read,
  refuses,
  type Signer,
  shared,
  type Vector,
} from "../support/token-press.ts";

oneGatewayWithKeys();

const claims = (change: object): string => press({ claims: change });
/** A token whose claims depend on the clock, which a test may not ask before the gateway runs. */
const at = (change: (now: number) => object) => (): string => claims(change(nowSeconds()));
const text = (change: (claims: string) => string | Uint8Array) => (): string =>
  press({ claimsText: change(claimsOf(merchant())) });
const shown = (value: unknown): string => (value === undefined ? "missing" : JSON.stringify(value));
/** One claim of many wrong values; the twin has a right one, or is as it always is. */
const each = (name: string, values: readonly unknown[], right?: unknown): Vector[] =>
  values.map((value) => {
    const forged = (): string => claims({ [name]: value });
    return right === undefined
      ? [`${name} ${shown(value)}`, forged]
      : [`${name} ${shown(value)}`, forged, () => claims({ [name]: right })];
  });
const noNumber = [undefined, null, "", "0", true, [], {}, -1, Number.MAX_SAFE_INTEGER];

describe("times", () => {
  const lived = (life: number) => at((now) => ({ exp: now + life }));
  const born = (ahead: number) => at((now) => ({ iat: now + ahead, exp: now + 60 }));
  const ended = (ago: number) => at((now) => ({ iat: now - 90, exp: now - ago }));
  const raw = (name: string, change: (digits: string) => string) =>
    text((one) =>
      one.replace(
        new RegExp(`("${name}":)(\\d+)`),
        (_all, key, digits) => `${key}${change(digits)}`,
      ),
    );
  refuses([
    ["a life of 301 seconds", lived(301), lived(300)],
    ["a life of a day", lived(86_400), lived(300)],
    ["no life", lived(0), lived(1)],
    ["an end before the beginning", lived(-1), lived(1)],
    ["a beginning 31 seconds ahead", born(31), born(30)],
    ["an end 30 seconds ago", ended(30), ended(29)],
    ["an end a day ago", at((now) => ({ iat: now - 86_460, exp: now - 86_400 })), ended(29)],
    ["an end and a beginning in 1970", () => claims({ iat: 0, exp: 60 })],
    ["milliseconds", at((now) => ({ iat: now * 1000, exp: now * 1000 + 60 }))],
    ["nbf 31 seconds ahead", at((now) => ({ nbf: now + 31 })), at((now) => ({ nbf: now + 30 }))],
    ["nbf behind the end", at((now) => ({ nbf: now + 61 })), at((now) => ({ nbf: now }))],
    ...each("iat", noNumber),
    ...each("exp", noNumber),
    ...each("nbf", [null, "", "0", false, [], {}, -1, Number.MAX_SAFE_INTEGER], 0),
    ...["iat", "exp"].flatMap((name): Vector[] => [
      [`${name} as text`, text((one) => one.replace(new RegExp(`("${name}":)(\\d+)`), '$1"$2"'))],
      [`${name} with a point`, raw(name, (digits) => `${digits}.0`)],
      [`${name} with an exponent`, raw(name, (digits) => `${digits}e0`)],
      [`${name} with a zero before`, raw(name, (digits) => `0${digits}`)],
      [`${name} with a plus`, raw(name, (digits) => `+${digits}`)],
      [`${name} in a list`, raw(name, (digits) => `[${digits}]`)],
      [`${name} beyond what is exact`, raw(name, () => "9007199254740993")],
      [`${name} endless`, raw(name, () => "1e999")],
      [`${name} not a number`, raw(name, () => "NaN")],
      [
        `${name} in large letters`,
        text((one) => one.replace(`"${name}"`, `"${name.toUpperCase()}"`)),
      ],
    ]),
  ]);
});

describe("whose and which", () => {
  const id = (size: number): string => newJti().padEnd(size, "x").slice(-size);
  const url = (): string => gateway.service.config.publicUrl;
  const aud = (change: (url: string) => unknown) => (): string => claims({ aud: change(url()) });
  refuses([
    ...each("sub", [undefined, null, "", 0, true, {}, "k_0000000000000000"]),
    ["sub in a list", () => claims({ sub: [merchant().keyId] })],
    ["sub in large letters", () => claims({ sub: merchant().keyId.toUpperCase() })],
    ["sub with a space behind", () => claims({ sub: `${merchant().keyId} ` })],
    ["sub of another key", () => claims({ sub: other.keyId })],
    ["the merchant's id as sub", () => claims({ sub: gateway.merchant.merchantId })],
    [
      "iss instead of sub",
      () => claims({ sub: undefined, iss: merchant().keyId }),
      () => claims({ iss: merchant().keyId }),
    ],
    ...each("jti", [
      undefined,
      null,
      "",
      12_345_678_901_234,
      true,
      [],
      {},
      "short",
      " ".repeat(16),
    ]),
    ["jti of 15 characters", () => claims({ jti: id(15) }), () => claims({ jti: id(16) })],
    [
      "jti of 129 characters",
      () => claims({ jti: id(129).padStart(129, "x") }),
      () => claims({ jti: id(128) }),
    ],
    ["jti with a space inside", () => claims({ jti: `${id(16)} x` })],
    ["jti with a space behind", () => claims({ jti: `${id(16)} ` })],
    ["jti with a line feed behind", () => claims({ jti: `${id(16)}\n` })],
    ["jti with a zero character", () => claims({ jti: `${id(16)}\0` })],
    ["jti with U+007F", () => claims({ jti: `${id(16)}\u007f` })],
    ["jti with a letter beyond ASCII", () => claims({ jti: `${id(16)}\u00e9` })],
    ["jti in a list", () => claims({ jti: [id(16)] })],
    ...each("aud", [
      null,
      "",
      0,
      true,
      [],
      {},
      [null],
      [[]],
      "https://elsewhere.example",
      ["https://elsewhere.example"],
      "*",
      "api",
    ]),
    [
      "aud in a list in a list",
      aud((one) => [[one]]),
      aud((one) => ["https://elsewhere.example", one]),
    ],
    ["aud as a key", aud((one) => ({ [one]: true })), aud((one) => [one])],
    ["aud with a path", aud((one) => `${one}/api`), aud((one) => `${one}/`)],
    ["aud with a query", aud((one) => `${one}?x`), aud((one) => one)],
    ["aud with more letters", aud((one) => `${one}.attacker.example`), aud((one) => one)],
    ["aud with another port", aud((one) => `${one}1`), aud((one) => one)],
    ["aud behind a user", aud((one) => one.replace("//", "//attacker@")), aud((one) => one)],
    ["aud with another scheme", aud((one) => one.replace("http:", "https:")), aud((one) => one)],
    ["aud without its scheme", aud((one) => one.replace("http://", "")), aud((one) => one)],
    ["aud with a space behind", aud((one) => `${one} `), aud((one) => one)],
    ["aud in large letters", aud((one) => one.toUpperCase()), aud((one) => one)],
  ]);
});

describe("claims as a text", () => {
  const first = (member: string) => text((one) => one.replace("{", `{${member},`));
  const last = (member: string) => text((one) => one.replace(/\}$/, `,${member}}`));
  const keys = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]));
  const names = ["sub", "iat", "exp", "jti"];
  const bound = { aud: testConfig.publicUrl, nbf: 0, bodyHash: sha256(""), method: "GET", path };
  const twice = names.flatMap((name): Vector[] => [
    [`${name} twice, another first`, first(`"${name}":0`), first('"other":0')],
    [`${name} twice, another last`, last(`"${name}":0`), last('"other":0')],
    [
      `${name} twice, one in escapes`,
      first(`"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}":0`),
      first('"\\u006fther":0'),
    ],
  ]);
  const assignedTwice = Object.entries(bound).map(([name, value]): Vector => {
    const good = `"${name}":${JSON.stringify(value)}`;
    return [`${name} twice`, first(`${good},"${name}":0`), first(good)];
  });
  refuses([
    ...twice,
    ...assignedTwice,
    ["__proto__ around all claims", text((one) => `{"__proto__":${one}}`)],
    ["__proto__ beside them", first('"__proto__":{"sub":"x"}'), first('"proto":{"sub":"x"}')],
    ["constructor beside them", first('"constructor":{}'), first('"constructors":{}')],
    ["a list around them", text((one) => `[${one}]`)],
    ["text around them", text((one) => JSON.stringify(one))],
    ["null", text(() => "null")],
    ["a number", text(() => "0")],
    ["an empty object", text(() => "{}")],
    ["an empty list", text(() => "[]")],
    ["nothing but white space", text(() => "  ")],
    ["a byte order mark before", text((one) => `\ufeff${one}`), text((one) => ` ${one}`)],
    ["a second object behind", text((one) => `${one}{}`), text((one) => `${one}\n`)],
    ["a zero byte behind", text((one) => `${one}\0`), text((one) => `${one}\t`)],
    ["a comma behind the last", text((one) => one.replace(/\}$/, ",}"))],
    ["a comment", text((one) => one.replace(/\}$/, "/**/}"))],
    ["single quotes", text((one) => one.replaceAll('"', "'"))],
    ["cut by one", text((one) => one.slice(0, -1))],
    [
      "a byte that is no UTF-8",
      text((one) => Buffer.from(one.replace(/\}$/, ',"x":"\u00e9"}'), "latin1")),
      last('"x":"\u00e9"'),
    ],
    ["half a surrogate pair", last('"x":"\\ud83d"'), last('"x":"\\ud83d\\ude00"')],
    ["a fraction anywhere", last('"x":1.5'), last('"x":"1.5"')],
    ["five levels", last('"x":[[[[]]]]'), last('"x":[[[]]]')],
    ["65 claims", () => claims(keys(61)), () => claims(keys(60))],
  ]);
});

describe("the binding of a token, where the profile leaves it open", () => {
  const hash = sha256("");
  refuses([
    ...each(
      "bodyHash",
      [null, "", 0, true, [], {}, [hash], sha256("x"), sha256("\n"), sha256("{}"), "0".repeat(64)],
      hash,
    ),
    [
      "bodyHash of 63 digits",
      () => claims({ bodyHash: hash.slice(1) }),
      () => claims({ bodyHash: hash }),
    ],
    [
      "bodyHash of 65 digits",
      () => claims({ bodyHash: `${hash}0` }),
      () => claims({ bodyHash: hash.toUpperCase() }),
    ],
    [
      "bodyHash with a prefix",
      () => claims({ bodyHash: `0x${hash}` }),
      () => claims({ bodyHash: hash }),
    ],
    [
      "bodyHash with its algorithm",
      () => claims({ bodyHash: `sha256:${hash}` }),
      () => claims({ bodyHash: hash }),
    ],
    [
      "bodyHash with a line feed",
      () => claims({ bodyHash: `${hash}\n` }),
      () => claims({ bodyHash: hash }),
    ],
    [
      "bodyHash in base64url",
      () => claims({ bodyHash: Buffer.from(hash, "hex").toString("base64url") }),
      () => claims({ bodyHash: hash }),
    ],
    [
      "bodyHash of SHA-512",
      () => claims({ bodyHash: createHash("sha512").digest("hex") }),
      () => claims({ bodyHash: hash }),
    ],
    ...each("method", [null, "", 0, [], ["GET"], "POST", "get", "Get", "GET ", "HEAD", "*"], "GET"),
    ...each(
      "path",
      [null, "", 0, [], [path], "/", "*", "/api/v1/transactions", path.slice("/api".length)],
      path,
    ),
    ...each(
      "path",
      [`${path}/`, `${path}?`, `${path}#`, `/${path}`, `${path} `, path.toUpperCase()],
      path,
    ),
    ...each("path", [path.replace("supported", "%73upported"), testConfig.publicUrl + path], path),
  ]);
});

const target = "/api/v1/createTransactionRequest";
const order = JSON.stringify({ currency: "eth", amount: "1", orderId: "forged" });
const post = (signatureToken: string, body = order, to = target): Promise<GatewayAnswer> =>
  gateway.send(to, {
    method: "POST",
    headers: { "Content-Type": "application/json", signatureToken },
    body,
  });
const codeOf = async (answer: Promise<GatewayAnswer>): Promise<string> => {
  const { status, body } = await answer;
  return `${status} ${body.code}`;
};
const pastTheToken = "400 deposits_not_ready";
const turnedAway = "401 token_invalid";

describe("a strict key's token", () => {
  let made: Signer | undefined;
  const strict = (): Signer => {
    made ??= shared(gateway.key({ profile: "strict", scopes: ["deposit", "read"] }).apiKey);
    return made;
  };
  const bound = { method: "POST", path: target, bodyHash: sha256(order) };
  const changes: readonly object[] = [
    { bodyHash: undefined },
    { bodyHash: null },
    { bodyHash: sha256("") },
    { bodyHash: sha256(`${order}\n`) },
    { bodyHash: sha256(order).slice(1) },
    { bodyHash: Buffer.from(sha256(order), "hex").toString("base64") },
    { method: undefined },
    { method: null },
    { method: "GET" },
    { method: "post" },
    { method: ["POST"] },
    { path: undefined },
    { path: null },
    { path: `${target}?` },
    { path: `${target}/` },
    { path: "/api/v1/autoWithdraw" },
    { path: "createTransactionRequest" },
    { path: target.toLowerCase() },
    { path: [target] },
  ];
  it.each(
    changes.map(
      (change) =>
        [
          Object.entries(change).map(([name, value]) => `${name} ${shown(value)}`)[0],
          change,
        ] as const,
    ),
  )("is refused with %s", async (_name, change) => {
    const by = strict();
    expect(await codeOf(post(press({ by, claims: bound })))).toBe(pastTheToken);
    expect(await codeOf(post(press({ by, claims: { ...bound, ...change } })))).toBe(turnedAway);
  });

  it.each([
    ["another body", `${order} `, target],
    ["an empty body", "", target],
    [
      "the same fields in another order",
      JSON.stringify({ orderId: "forged", amount: "1", currency: "eth" }),
      target,
    ],
    ["a query", order, `${target}?x=1`],
  ])("is refused over %s", async (_name, body, to) => {
    const by = strict();
    expect(await codeOf(post(press({ by, claims: bound })))).toBe(pastTheToken);
    expect(await codeOf(post(press({ by, claims: bound }), body, to))).toBe(turnedAway);
  });

  it.each([
    ["another value", "?limit=2"],
    ["another order", "?limit=1&status=1", "?status=1&limit=1"],
    ["one more", "?limit=1&status=1"],
    ["another spelling", "?limit=%31"],
    ["none", ""],
  ])("is refused over a query with %s", async (_name, sent, claimed = "?limit=1") => {
    const by = strict();
    const all = "/api/v1/transactions";
    const token = (): string =>
      press({ by, claims: { method: "GET", path: all + claimed, bodyHash: sha256("") } });
    expect((await read(token(), all + claimed)).status).toBe(200);
    expect(await codeOf(read(token(), all + sent))).toBe(turnedAway);
  });
});

describe("a good token", () => {
  const withKey = (change: Parameters<typeof gateway.key>[0], revoked = false) => {
    const { keyId, apiKey } = gateway.key(change);
    if (revoked) revokeMerchantKey(gateway.operator, keyId);
    return shared(apiKey);
  };
  it.each([
    [
      "without the scope",
      () => press({ by: withKey({ scopes: ["deposit"] }) }),
      "403 scope_missing",
    ],
    ["of a revoked key", () => press({ by: withKey({}, true) }), "403 key_revoked"],
    [
      "of a revoked key without the scope",
      () => press({ by: withKey({ scopes: ["deposit"] }, true) }),
      "403 key_revoked",
    ],
  ])("%s is told so, and a forged one of that key is not", async (_name, make, code) => {
    expect((await read(press())).status).toBe(200);
    const token = make();
    expect(await codeOf(read(token))).toBe(code);
    expect(
      await codeOf(read(`${token.slice(0, -43)}${hmac("guessed", token).toString("base64url")}`)),
    ).toBe(turnedAway);
  });

  it("of one key opens nothing of another merchant's", async () => {
    const outsider = gateway.key({ scopes: ["read"] });
    const by = { ...shared(outsider.apiKey), keyId: merchant().keyId };
    expect((await read(press({ by: shared(outsider.apiKey) }))).status).toBe(200);
    expect(await codeOf(read(press({ by })))).toBe(turnedAway);
  });
});

describe("a token used before", () => {
  const jti = (id: string, more: object = {}) => press({ claims: { jti: id, ...more } });
  const fresh = () => newJti();
  const inEscapes = (id: string): string =>
    press({
      claimsText: claimsOf(merchant(), { jti: id }).replace(`"${id}"`, `"\\u0070${id.slice(1)}"`),
    });
  const again: Record<string, (first: string, id: string) => Promise<GatewayAnswer>> = {
    "as it was": (first) => post(first),
    "with Bearer before": (first) => post(`Bearer ${first}`),
    "with another body": (first) => post(first, order.replace("forged", "other")),
    "with a body that is no order": (first) => post(first, "{}"),
    "on another path": (first) => post(first, order, "/api/v1/autoWithdraw"),
    "with a query": (first) => post(first, order, `${target}?again`),
    "signed again, as it was": (_first, id) => post(jti(id)),
    "signed again, with a later end": (_first, id) => post(jti(id, { exp: nowSeconds() + 300 })),
    "signed again, with an earlier beginning": (_first, id) =>
      post(jti(id, { iat: nowSeconds() - 20 })),
    "signed again, with another header": (_first, id) =>
      post(press({ header: { typ: undefined }, claims: { jti: id } })),
    "signed again, its jti in escapes": (_first, id) => post(inEscapes(id)),
    "signed again, bound to its request": (_first, id) =>
      post(jti(id, { method: "POST", path: target, bodyHash: sha256(order) })),
  };
  it.each(Object.entries(again))("is refused %s", async (_name, send) => {
    const id = fresh();
    const first = jti(id);
    expect(await codeOf(post(first))).toBe(pastTheToken);
    expect(await codeOf(send(first, id))).toBe(turnedAway);
    expect(await codeOf(post(jti(fresh())))).toBe(pastTheToken);
  });

  it("lets in what only looks like it: another case, another key, a read", async () => {
    const id = fresh();
    const first = jti(id);
    expect(await codeOf(post(first))).toBe(pastTheToken);
    expect(await codeOf(post(jti(id.toUpperCase())))).toBe(pastTheToken);
    const by = shared(gateway.key({ scopes: ["deposit"] }).apiKey);
    expect(await codeOf(post(press({ by, claims: { jti: id } })))).toBe(pastTheToken);
    expect((await read(first)).status).toBe(200);
  });

  it("was a read's, and never writes", async () => {
    const token = press();
    expect((await read(token)).status).toBe(200);
    expect((await read(token)).status).toBe(200);
    expect(await codeOf(post(token))).toBe(turnedAway);
    const id = fresh();
    expect((await read(jti(id))).status).toBe(200);
    expect(
      await codeOf(post(press({ claims: { jti: id, aud: gateway.service.config.publicUrl } }))),
    ).toBe(turnedAway);
    const by = shared(gateway.key({ scopes: ["deposit"] }).apiKey);
    // the twin: of another key
    expect(await codeOf(post(press({ by, claims: { jti: id } })))).toBe(pastTheToken);
    expect(await codeOf(post(press()))).toBe(pastTheToken); // and the one that nobody saw
  });

  it("is not used up by a forged token like it", async () => {
    const id = fresh();
    expect(
      await codeOf(post(press({ claims: { jti: id }, sign: (one) => hmac("guessed", one) }))),
    ).toBe(turnedAway);
    expect(
      await codeOf(
        post(press({ headerText: headerOf(merchant(), { kid: ed.keyId }), claims: { jti: id } })),
      ),
    ).toBe(turnedAway);
    expect(await codeOf(post(jti(id)))).toBe(pastTheToken);
  });

  it("comes eight times at once, and one is let in", async () => {
    const token = press();
    const codes = await Promise.all(Array.from({ length: 8 }, () => codeOf(post(token))));
    expect(codes.sort()).toEqual([pastTheToken, ...new Array<string>(7).fill(turnedAway)]);
  });
});
