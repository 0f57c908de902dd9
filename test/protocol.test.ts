/**
 * The protocol's vectors, one loop per file; a file that no loop reads fails, and so does a rejection without a twin that passes.
 * Then properties with a printed seed: SEED=<number> replays a run.
 */
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAmount, parseAmount } from "../protocol/amount.ts";
import { codes } from "../protocol/codes.ts";
import {
  agentFrameBytesMax,
  frameKind,
  openEnvelope,
  privateKeyFromSeed,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../protocol/envelope.ts";
import { AgentError } from "../protocol/fault.ts";
import { agentIdOf, jobHashOf, transactionIdOf, walletFingerprintOf } from "../protocol/identity.ts";
import { type JsonValue, parseJson } from "../protocol/json.ts";
import { type EnvelopeKind, envelopeKinds } from "../protocol/messages.ts";
import {
  gatewayFingerprintOf,
  openGrant,
  parseApiKey,
  parseSealedGrant,
  parseSealedTranscript,
  parseTranscript,
  sealGrant,
  sealTranscript,
  shortCodeOf,
  transcriptHashOf,
  transcriptMac,
  transcriptMacFits,
  transcriptSignatureFits,
} from "../protocol/pairing.ts";
import {
  parseAck,
  parseBeat,
  parseChallenge,
  parseHello,
  parseJob,
  parseJobs,
  parseStatement,
  parseWelcome,
} from "../protocol/payloads.ts";
import { boolean, hex, integer, list, nullable, object, oneOf, record, string } from "../protocol/shape.ts";

interface Vector {
  readonly name: string;
  readonly shows: string;
  readonly outcome: string;
  readonly twin?: string;
  readonly value?: unknown;
  readonly [input: string]: unknown;
}

const folder = new URL("../protocol/vectors/", import.meta.url);

function vectorsOf(file: string): readonly Vector[] {
  return (JSON.parse(readFileSync(new URL(file, folder), "utf8")) as { vectors: readonly Vector[] }).vectors;
}

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

/** What happened, in the words of a vector: the value, or the code. A crash of any other kind is not an outcome. */
function outcomeOf(run: () => unknown): { readonly outcome: string; readonly value?: unknown } {
  try {
    return { outcome: "ok", value: run() };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    expect(error.message).not.toBe("");
    return { outcome: error.code };
  }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function jsonInput(vector: Vector): string | Uint8Array {
  if (typeof vector.hex === "string") return Buffer.from(vector.hex, "hex");
  if (vector.parts === undefined) return vector.text as string;
  return (vector.parts as [string, number][]).map(([text, times]) => text.repeat(times)).join("");
}

function runJson(vector: Vector): unknown {
  const value = parseJson(jsonInput(vector));
  return vector.value === undefined ? undefined : plain(value);
}

function runAmount(vector: Vector): unknown {
  const decimal = vector.decimal as number;
  const parsed = parseAmount(vector.text as string, decimal);
  if (!parsed.ok) throw new AgentError(parsed.code, "none", parsed.detail ?? "refused");
  return { units: parsed.units.toString(), canonical: formatAmount(parsed.units, decimal) };
}

function runEnvelope(vector: Vector): unknown {
  const frame = Buffer.from(vector.frame as string, "hex");
  const kinds = vector.kinds as EnvelopeKind[];
  const [kind] = kinds;
  const expected = kinds.length === 1 && kind !== undefined ? { kind } : { kinds };
  const publicKey = publicKeyFromHex(vector.publicKey as string);
  const opened = openEnvelope(frame, { ...expected, publicKey, bytesMax: vector.bytesMax as number });
  expect(frameKind(frame)).toBe(opened.kind);
  if (typeof vector.seed === "string") {
    const privateKey = privateKeyFromSeed(Buffer.from(vector.seed, "hex"));
    expect(publicKeyHex(privateKey)).toBe(vector.publicKey);
    expect(Buffer.from(sealEnvelope(opened.kind, opened.payload, privateKey)).toString("hex")).toBe(vector.frame);
  }
  return { kind: opened.kind, payload: Buffer.from(opened.payload).toString() };
}

const payloadReaders: Readonly<Record<string, (text: string | Uint8Array) => unknown>> = {
  challenge: parseChallenge,
  hello: parseHello,
  welcome: parseWelcome,
  jobs: parseJobs,
  job: parseJob,
  ack: parseAck,
  beat: parseBeat,
  statement: parseStatement,
};

function runPayload(vector: Vector): undefined {
  const text = vector.text as string;
  const read = payloadReaders[vector.reader as string];
  if (read === undefined) throw new Error(`no reader ${vector.reader}`);
  const value = read(text);
  expect(value).toEqual(JSON.parse(text));
  expect(read(Buffer.from(text))).toEqual(value);
}

type Inputs = Readonly<Record<string, string>>;

const identities: Readonly<Record<string, (input: never) => string>> = {
  transactionId: transactionIdOf,
  wallet: walletFingerprintOf,
  agent: agentIdOf,
  job: (input: Inputs) => jobHashOf(input.text!),
  gateway: (input: Inputs) => gatewayFingerprintOf(input.gatewayKey!),
};

const pairings: Readonly<Record<string, (input: Inputs, vector: Vector) => unknown>> = {
  apiKey: ({ text }) => {
    const fromText = parseApiKey(text!);
    const bytes = Buffer.from(text!);
    expect(parseApiKey(bytes)).toEqual(fromText);
    expect(bytes.toString()).toBe(text); // The caller's copy is the caller's to wipe.
    return { ...fromText, secret: Buffer.from(fromText.secret).toString() };
  },
  transcript: ({ text }) => {
    expect(parseTranscript(text!)).toEqual(JSON.parse(text!));
  },
  mac: ({ secret, transcript }) => transcriptMac(Buffer.from(secret!), transcript!),
  macFits: ({ secret, transcript, mac }) => transcriptMacFits(Buffer.from(secret!), transcript!, mac!),
  signature: ({ seed, transcript }) => {
    const linkKey = privateKeyFromSeed(Buffer.from(seed!, "hex"));
    const sealed = sealTranscript(transcript!, { secret: Buffer.from("secret"), linkKey });
    expect(sealed).toMatchObject({ transcript, mac: transcriptMac(Buffer.from("secret"), transcript!) });
    return sealed.signature;
  },
  signatureFits: ({ linkKey, transcript, signature }) => transcriptSignatureFits(linkKey!, transcript!, signature!),
  request: ({ text }) => {
    expect(parseSealedTranscript(text!)).toEqual(JSON.parse(text!));
  },
  transcriptHash: ({ transcript }) => transcriptHashOf(transcript!),
  openGrant: (input, vector) => {
    const { answer, fingerprint, transcript } = input as unknown as { answer: object; fingerprint: string; transcript: string };
    const sealed = parseSealedGrant(JSON.stringify(answer));
    const { grant, gatewayKey } = openGrant(sealed, { fingerprint, transcript });
    expect(gatewayKey).toBe(sealed.gatewayKey);
    if (typeof vector.seed === "string") {
      expect(sealGrant(grant, privateKeyFromSeed(Buffer.from(vector.seed, "hex")))).toEqual(answer);
    }
    return grant;
  },
  shortCode: ({ transcript, grant }) => shortCodeOf(transcript!, grant!),
};

const files: Readonly<Record<string, (vector: Vector) => unknown>> = {
  "json.json": runJson,
  "amounts.json": runAmount,
  "envelopes.json": runEnvelope,
  "jobs.json": runPayload,
  "greetings.json": runPayload,
  "acks.json": runPayload,
  "statements.json": runPayload,
  "identity.json": (vector) => identities[vector.function as string]!(vector.input as never),
  "pairing.json": (vector) => pairings[vector.function as string]!(vector.input as Inputs, vector),
};

describe("vectors", () => {
  it("are all read by a test", () => {
    expect(readdirSync(folder).sort()).toEqual(Object.keys(files).sort());
  });

  for (const [file, run] of Object.entries(files)) {
    describe(file, () => {
      const vectors = vectorsOf(file);
      const byName = new Map(vectors.map((vector) => [vector.name, vector]));

      it("names each vector once and gives each rejection a twin that passes", () => {
        expect(byName.size).toBe(vectors.length);
        for (const vector of vectors) {
          if (vector.outcome === "ok" && vector.value !== false) continue;
          const twin = byName.get(vector.twin ?? "");
          expect(twin?.outcome, `twin of ${vector.name}`).toBe("ok");
          expect(twin?.value, `twin of ${vector.name}`).not.toBe(false);
        }
      });

      it.each(vectors.map((vector) => [vector.name, vector] as const))("%s", (_name, vector) => {
        const result = outcomeOf(() => run(vector));
        expect(result).toEqual({ outcome: vector.outcome, value: vector.value });
      });
    });
  }
});

describe("docs/protocol.md", () => {
  const text = readFileSync(new URL("../docs/protocol.md", import.meta.url), "utf8");
  const examples = [...text.matchAll(/^```json (\w+)\n([\s\S]*?)^```$/gm)].map(
    ([, reader, example]) => [reader!, example!] as const,
  );
  const readers = {
    ...payloadReaders,
    transcript: parseTranscript,
    request: parseSealedTranscript,
    sealedGrant: parseSealedGrant,
  };

  it("has an example of every message", () => {
    expect(examples.map(([reader]) => reader).sort()).toEqual(Object.keys(readers).sort());
  });

  it.each(examples)("shows a %s that is one", (reader, example) => {
    expect(readers[reader as keyof typeof readers](example)).toEqual(JSON.parse(example));
  });

  it("lists every kind with its byte, every vector file and every code of the parser", () => {
    for (const [kind, byte] of Object.entries(envelopeKinds)) expect(text).toContain(`| ${kind} | ${byte} |`);
    for (const file of readdirSync(folder)) expect(text).toContain(`\`${file}\``);
    const ours = Object.keys(codes).filter((code) => /^(JSON|ENVELOPE|AMOUNT)_/.test(code));
    expect(ours.length).toBeGreaterThan(15);
    for (const code of ours) expect(text).toContain(`\`${code}\``);
  });
});

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
  const options = { seed, numRuns: 1000 };

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
        if (fraction.length > decimal) expect(parsed).toMatchObject({ ok: false, code: "AMOUNT_PRECISION" });
        else if (digits === 0n) expect(parsed).toMatchObject({ ok: false, code: "AMOUNT_ZERO" });
        else if (parsed.ok) expect(parsed.units * 10n ** BigInt(fraction.length)).toBe(digits * 10n ** BigInt(decimal));
        else expect.unreachable(`refused ${amount}`);
      }),
      options,
    );
  });

  it("whatever a caller sends as an amount ends in units or a refusal", () => {
    const text = fc.oneof(fc.string({ maxLength: 100, unit: "grapheme" }), fc.stringMatching(/^[0-9.,eE+\- ]{0,90}$/));
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
    const damaged = fc.tuple(tree, fc.nat(), fc.string({ maxLength: 3, unit: fc.constantFrom(...'{}[]",:\\u0e.-1 \ud83dtn') }));
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
    const readers = [parseJson, parseTranscript, parseSealedGrant, parseSealedTranscript, ...Object.values(payloadReaders)];
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
    const open = (frame: Uint8Array) => outcomeOf(() => openEnvelope(frame, { kinds, publicKey, bytesMax: agentFrameBytesMax }));
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.uint8Array({ minLength: 1, maxLength: 300 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (kind, payload, place, change) => {
          const frame = sealEnvelope(kind, payload, privateKey);
          expect(open(frame)).toEqual({ outcome: "ok", value: { kind, payload: Buffer.from(payload) } });
          const at = place % frame.length;
          frame[at] = (frame[at] ?? 0) ^ change;
          expect(open(frame).outcome).toMatch(/^ENVELOPE_(VERSION|KIND|SIGNATURE)$/);
          expect(open(payload).outcome).toMatch(/^ENVELOPE_/);
        },
      ),
      { seed, numRuns: 200 },
    );
  });
});

describe("parser", () => {
  it("gives objects without a prototype", () => {
    const value = parseJson('{"a":{"b":[{}]}}') as { a: { b: object[] } };
    for (const object of [value, value.a, value.a.b[0]!]) expect(Object.getPrototypeOf(object)).toBeNull();
  });

  it("takes wider limits from its caller, and narrower ones", () => {
    const long = JSON.stringify("x".repeat(5000));
    expect(outcomeOf(() => parseJson(long)).outcome).toBe("JSON_STRING");
    expect(parseJson(long, { stringBytesMax: 5000 })).toHaveLength(5000);
    expect(outcomeOf(() => parseJson("[[]]", { depthMax: 1 })).outcome).toBe("JSON_DEPTH");
  });

  it("never repeats the text it refuses", () => {
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
    ["a missing field", () => object({ a: integer() })(parseJson("{}"), "it"), /^it\.a is missing$/],
    ["an unknown field", () => object({ a: integer() })(parseJson('{"a":1,"b":2}'), "it"), /^it\.b is not known here$/],
    ["an unknown field named like a method", () => object({})(parseJson('{"toString":1}'), "it"), /toString is not known/],
    ["a hostile field name", () => object({})(parseJson('{"\\u001b[31m":1}'), "it"), /^it\.\?\[31m is not known here$/],
    ["null for an object", () => object({})(null, "it"), /must be an object/],
    ["a list for an object", () => object({})([], "it"), /must be an object/],
    ["a long list", () => list(integer(), 1)([1, 2], "it"), /at most 1/],
    ["the item that is wrong", () => list(integer(), 3)([1, "2"], "it"), /^it\[1\] must be a whole number$/],
    ["a number below its range", () => integer({ min: 1 })(0, "it"), /must be 1 to/],
    ["a number above its range", () => integer({ max: 5 })(6, "it"), /must be 0 to 5/],
    ["a fraction", () => integer()(1.5, "it"), /whole number/],
    ["a long text", () => string({ max: 2 })("abc", "it"), /0 to 2 characters/],
    ["a text of another form", () => string({ pattern: /^a+$/ })("b", "it"), /must match/],
    ["upper-case hex", () => hex(1)("AB", "it"), /1 bytes as lower-case hex/],
    ["another literal", () => oneOf("a", "b")("c", "it"), /must be "a" or "b"/],
    ["a text for a truth", () => boolean()("true", "it"), /true or false/],
    ["a wrong value for a nullable", () => nullable(integer())("1", "it"), /whole number/],
    ["too many keys", () => record(integer(), { keysMax: 1, keyPattern: /./ })({ a: 1, b: 2 }, "it"), /at most 1 keys/],
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
      { a: integer({ min: 1, max: 5 }), b: list(hex(1), 2), c: oneOf("x", 1), d: nullable(boolean()) },
      { e: string({ max: 3 }), f: record(integer(), { keysMax: 2, keyPattern: /^[a-z]$/ }) },
    );
    const whole = { a: 1, b: ["ab", "cd"], c: "x", d: null, e: "abc", f: { a: 1, b: 2 } };
    expect(read(parseJson(JSON.stringify(whole)), "it")).toEqual(whole);
    const least = { a: 5, b: [], c: 1, d: true };
    expect(read(parseJson(JSON.stringify(least)), "it")).toEqual(least);
  });
});
