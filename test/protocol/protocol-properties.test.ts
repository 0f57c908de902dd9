/**
 * Properties of amounts, JSON, envelopes and shapes that hold for every input. The seed is printed:
 * SEED=<number> replays a run.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonValue, parseJson } from "../../base/json.ts";
import {
  boolean,
  hex,
  integer,
  list,
  nullable,
  object,
  oneOf,
  record,
  string,
} from "../../base/shape.ts";
import { seedsOfRun } from "../../lab/kit/seeded.ts";
import { share } from "../../lab/kit/share.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import {
  agentFrameBytesMax,
  openEnvelope,
  privateKeyFromSeed,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../../protocol/envelope.ts";
import { parseSealedGrant } from "../../protocol/grant.ts";
import { type EnvelopeKind, envelopeKinds } from "../../protocol/messages.ts";
import { parseSealedTranscript, parseTranscript } from "../../protocol/pairing.ts";
import { outcomeOf, payloadReaders, plain } from "../support/outcome.ts";

const seed = seedsOfRun(1)[0]!;

/** Decimal text by string arithmetic alone, to hold beside formatAmount. */
function decimalText(units: bigint, decimal: number): string {
  const digits = units.toString().split("");
  while (digits.length <= decimal) digits.unshift("0");
  if (decimal > 0) digits.splice(digits.length - decimal, 0, ".");
  while (decimal > 0 && digits.at(-1) === "0") digits.pop();
  if (digits.at(-1) === ".") digits.pop();
  return digits.join("");
}

const unitsArbitrary = fc.bigInt({ min: 1n, max: 2n ** 256n - 1n });
const decimalArbitrary = fc.integer({ min: 0, max: 36 });

describe(`properties, SEED=${seed}`, () => {
  const options = { seed, numRuns: share(1000) };

  it("amounts come back from their text, and the text is canonical", () => {
    fc.assert(
      fc.property(unitsArbitrary, decimalArbitrary, (units, decimal) => {
        const text = formatAmount(units, decimal);
        expect(text).toBe(decimalText(units, decimal));
        expect(parseAmount(text, decimal)).toEqual({ ok: true, units });
      }),
      options,
    );
  });

  it("amount texts mean what exact fractions mean", () => {
    const text = fc.stringMatching(/^(0|[1-9][0-9]{0,29})(\.[0-9]{1,20})?$/);
    fc.assert(
      fc.property(text, decimalArbitrary, (amount, decimal) => {
        const [, fraction = ""] = amount.split(".");
        const parsed = parseAmount(amount, decimal);
        // units / 10^decimal = digits / 10^fraction, cross-multiplied.
        const digits = BigInt(amount.replace(".", ""));
        if (fraction.length > decimal)
          expect(parsed).toMatchObject({ ok: false, code: "AMOUNT_PRECISION" });
        else if (digits === 0n) expect(parsed).toMatchObject({ ok: false, code: "AMOUNT_ZERO" });
        else if (parsed.ok)
          expect(parsed.units * 10n ** BigInt(fraction.length)).toBe(
            digits * 10n ** BigInt(decimal),
          );
        else expect.unreachable(`refused ${amount}`);
      }),
      options,
    );
  });

  it("every amount that a caller can send ends in units or a refusal", () => {
    const text = fc.oneof(
      fc.string({ maxLength: 100, unit: "grapheme" }),
      fc.stringMatching(/^[0-9.,eE+\- ]{0,90}$/),
    );
    fc.assert(
      fc.property(text, decimalArbitrary, (amount, decimal) => {
        const parsed = parseAmount(amount, decimal);
        if (parsed.ok) expect(parsed.units > 0n && parsed.units < 2n ** 256n).toBe(true);
        else expect(parsed.code).toMatch(/^AMOUNT_/);
      }),
      options,
    );
  });

  const key = fc
    .string({ maxLength: 12, unit: "grapheme" })
    .filter((text) => !["__proto__", "constructor", "prototype"].includes(text));
  const { value: tree } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, false),
      fc.maxSafeInteger().map((number) => (Object.is(number, -0) ? 0 : number)),
      fc.string({ unit: "grapheme" }),
      fc.array(tie("value"), { maxLength: 5 }),
      fc.dictionary(key, tie("value"), { maxKeys: 5 }) as fc.Arbitrary<JsonValue>,
    ),
  }));

  it("the strict parser reads what JSON.stringify writes", () => {
    fc.assert(
      fc.property(tree, fc.constantFrom("", " ", "\n\t"), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(plain(parseJson(text))).toEqual(JSON.parse(text));
        expect(plain(parseJson(Buffer.from(text)))).toEqual(JSON.parse(text));
      }),
      options,
    );
  });

  it("the strict parser never takes what JSON.parse does not, and never crashes", () => {
    const damaged = fc.tuple(
      tree,
      fc.nat(),
      fc.string({ maxLength: 3, unit: fc.constantFrom(...'{}[]",:\\u0e.-1 \ud83dtn') }),
    );
    fc.assert(
      fc.property(damaged, ([value, place, splinter]) => {
        const text = JSON.stringify(value);
        const at = place % (text.length + 1);
        const broken = text.slice(0, at) + splinter + text.slice(at + (place % 3));
        const result = outcomeOf(() => parseJson(broken));
        if (result.outcome === "ok") expect(plain(result.value)).toEqual(JSON.parse(broken));
        else expect(result.outcome).toMatch(/^JSON_/);
      }),
      options,
    );
  });

  it("any bytes end in a value or a code", () => {
    const readers = [
      parseJson,
      parseTranscript,
      parseSealedGrant,
      parseSealedTranscript,
      ...Object.values(payloadReaders),
    ];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...readers), (bytes, read) => {
        expect(outcomeOf(() => read(bytes)).outcome).toMatch(/^(ok|JSON_.*)$/);
      }),
      options,
    );
  });

  it("any frame ends in a payload or a code, and one changed byte is never let through", () => {
    const privateKey = privateKeyFromSeed(Buffer.alloc(32, 7));
    const publicKey = publicKeyFromHex(publicKeyHex(privateKey));
    const kinds = Object.keys(envelopeKinds) as EnvelopeKind[];
    const open = (frame: Uint8Array) =>
      outcomeOf(() => openEnvelope(frame, { kinds, publicKey, bytesMax: agentFrameBytesMax }));
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (kind, payload, place, change) => {
          const frame = sealEnvelope(kind, payload, privateKey);
          expect(open(frame)).toEqual({
            outcome: "ok",
            value: { kind, payload: Buffer.from(payload) },
          });
          const at = place % frame.length;
          frame[at] = (frame[at] ?? 0) ^ change;
          expect(open(frame).outcome).toMatch(/^ENVELOPE_(VERSION|KIND|SIGNATURE)$/);
          expect(open(payload).outcome).toMatch(/^ENVELOPE_/);
        },
      ),
      { seed, numRuns: share(200) },
    );
  });
});

describe("parser", () => {
  it("the parser gives objects without a prototype", () => {
    const value = parseJson('{"a":{"b":[{}]}}') as { a: { b: object[] } };
    for (const object of [value, value.a, value.a.b[0]!])
      expect(Object.getPrototypeOf(object)).toBeNull();
  });

  it("the parser takes wider limits from its caller, and narrower ones", () => {
    const long = JSON.stringify("x".repeat(5000));
    expect(outcomeOf(() => parseJson(long)).outcome).toBe("JSON_STRING");
    expect(parseJson(long, { stringBytesMax: 5000 })).toHaveLength(5000);
    expect(outcomeOf(() => parseJson("[[]]", { depthMax: 1 })).outcome).toBe("JSON_DEPTH");
  });

  it("the parser never repeats the text it refuses", () => {
    const secret = "correct horse battery staple";
    for (const text of [
      `{"mnemonic":"${secret}"`,
      `{"mnemonic" "${secret}"}`,
      `{"mnemonic":"${secret}","mnemonic":1}`,
      `"${secret}`,
    ]) {
      expect(() => parseJson(text)).toThrow(/position \d+/);
      expect(() => parseJson(text)).not.toThrow(new RegExp(secret));
    }
  });
});

describe("shape readers", () => {
  const refusals: readonly [string, () => unknown, RegExp][] = [
    [
      "a missing field",
      () => object({ a: integer() })(parseJson("{}"), "it"),
      /^it\.a is missing$/,
    ],
    [
      "an unknown field",
      () => object({ a: integer() })(parseJson('{"a":1,"b":2}'), "it"),
      /^it\.b is not a known key$/,
    ],
    [
      "an unknown field named like a method",
      () => object({})(parseJson('{"toString":1}'), "it"),
      /toString is not a known key/,
    ],
    [
      "a hostile field name",
      () => object({})(parseJson('{"\\u001b[31m":1}'), "it"),
      /^it\.a key that is no name is not a known key$/,
    ],
    ["null for an object", () => object({})(null, "it"), /must be an object/],
    ["a list for an object", () => object({})([], "it"), /must be an object/],
    ["a long list", () => list(integer(), 1)([1, 2], "it"), /more than 1 entries/],
    [
      "the item that is wrong",
      () => list(integer(), 3)([1, "2"], "it"),
      /^it\[1\] must be a whole number without quotes, not text$/,
    ],
    ["a number below its range", () => integer({ min: 1 })(0, "it"), /must be between 1 and/],
    ["a number above its range", () => integer({ max: 5 })(6, "it"), /must be between 0 and 5/],
    ["a fraction", () => integer()(1.5, "it"), /whole number/],
    ["a long text", () => string({ max: 2 })("abc", "it"), /0 to 2 characters/],
    ["a text of another form", () => string({ pattern: /^a+$/ })("b", "it"), /must match/],
    ["upper-case hex", () => hex(1)("AB", "it"), /1 bytes as lower-case hex/],
    ["another literal", () => oneOf("a", "b")("c", "it"), /must be "a" or "b"/],
    ["a text for a truth", () => boolean()("true", "it"), /true or false/],
    ["a wrong value for a nullable", () => nullable(integer())("1", "it"), /whole number/],
    [
      "too many keys",
      () => record(integer(), { keysMax: 1, keyPattern: /./ })({ a: 1, b: 2 }, "it"),
      /more than 1 entries/,
    ],
    [
      "a key of another form",
      () => record(integer(), { keysMax: 1, keyPattern: /^a$/ })({ b: 1 }, "it"),
      /^it\.b must have a name/,
    ],
  ];
  it.each(refusals)("refuse %s", (_name, run, message) => {
    expect(outcomeOf(run).outcome).toBe("JSON_SHAPE");
    expect(run).toThrow(message);
  });

  it("take what is right", () => {
    const read = object(
      {
        a: integer({ min: 1, max: 5 }),
        b: list(hex(1), 2),
        c: oneOf("x", 1),
        d: nullable(boolean()),
      },
      { e: string({ max: 3 }), f: record(integer(), { keysMax: 2, keyPattern: /^[a-z]$/ }) },
    );
    const whole = { a: 1, b: ["ab", "cd"], c: "x", d: null, e: "abc", f: { a: 1, b: 2 } };
    expect(read(parseJson(JSON.stringify(whole)), "it")).toEqual(whole);
    const least = { a: 5, b: [], c: 1, d: true };
    expect(read(parseJson(JSON.stringify(least)), "it")).toEqual(least);
  });
});
