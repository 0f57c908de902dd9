/**
 * Each reader of text that strangers write takes time in proportion to its length, whatever the
 * text is: a megabyte of each hostile shape. Measured by the ratio of two sizes, four times apart,
 * so that a slow machine changes nothing; a square would be sixteen times as slow.
 */
import { expect, describe as group, it } from "vitest";
import { parseAddress as parseEvmAddress } from "../../chains/evm/address.ts";
import { readData } from "../../chains/evm/answers.ts";
import { readEnvelopes } from "../../chains/evm/rpc-envelope.ts";
import { parseAddress as parseTronAddress } from "../../chains/tron/address.ts";
import { wordsOf } from "../../chains/tron/answers.ts";
import { parseJson as parseTron } from "../../chains/tron/rpc-json.ts";
import { parseExact } from "../../gateway/prices/exact-json.ts";
import { parseForeign, quoteNumbers } from "../../protocol/foreign-json.ts";
import { parseJson } from "../../protocol/json.ts";

const limits = { bytesMax: 4 * 1024 * 1024, keysMax: 2 ** 24, itemsMax: 2 ** 24, stringBytesMax: 4 * 1024 * 1024 };

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  "an answer of a Tron node": parseTron,
  "an answer of an EVM node": (text) => readEnvelopes(200, text),
  "words of an EVM node": (text) => readEnvelopes(200, JSON.stringify({ id: 1, error: { code: 1, message: text } })),
  "words of a Tron node": wordsOf,
  "data of an EVM node": (text) => readData(`0x${text}`, "data"),
  "an answer of a market": parseExact,
  "a frame, a file or a configuration": (text) => parseJson(text, limits),
  "an address of an EVM chain": parseEvmAddress,
  "an address of Tron": parseTronAddress,
};

const many = (part: string, size: number): string => part.repeat(Math.ceil(size / part.length)).slice(0, size);
const shapes: Readonly<Record<string, (size: number) => string>> = {
  "a string of escaped quotes that does not end": (size) => `"${many('\\"', size)}`,
  "a string of backslashes that does not end": (size) => `"${many("\\", size)}`,
  "backslashes and a quote, again and again": (size) => `"${many('\\\\\\\\"', size)}`,
  "quotes alone": (size) => many('"', size),
  "open lists": (size) => many("[", size),
  "open objects": (size) => many('{"a":', size),
  "empty lists": (size) => `[${many("[],", size)}[]]`,
  "short strings": (size) => `[${many('"a",', size)}"a"]`,
  "one number": (size) => many("7", size),
  "numbers that break off": (size) => many("1e-", size),
  signs: (size) => many("-", size),
  points: (size) => many("1.", size),
  "long numbers": (size) => `[${many("12345678901234567,", size)}1]`,
  spaces: (size) => many(" ", size),
  "letters of hex": (size) => many("ab", size),
  "escapes of half characters": (size) => `"${many("\\ud800", size)}"`,
};

const [small, large] = [256 * 1024, 1024 * 1024];
const growthMax = 9;
const slackMs = 60;

function cpuMs(read: (text: string) => unknown, text: string): number {
  const before = process.cpuUsage();
  try {
    read(text);
  } catch {
    // A refusal has to be as quick as an answer.
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Sizes rise, so that a square is seen before it costs a minute. */
function steepAt(read: (text: string) => unknown, shape: (size: number) => string): number {
  for (const size of [small / 16, small / 4, small]) {
    const [one, four] = [shape(size), shape(size * (large / small))];
    const isSteep = (): boolean => cpuMs(read, four) > growthMax * cpuMs(read, one) + slackMs;
    if (isSteep() && isSteep() && isSteep()) return size;
  }
  return 0;
}

group.each(Object.entries(readers))("%s", (_, read) => {
  it.each(Object.entries(shapes))("a megabyte of %s takes time in proportion", (_name, shape) => {
    expect(steepAt(read, shape)).toBe(0);
  });
});

group("numbers of strangers", () => {
  it("texts keep their digits and quotes, numbers outside of them become text", () => {
    const text = '{"a\\\\":[-1,2.5e3,12345678901234567],"b":"\\"99999999999999999","c":1234567890123456}';
    expect(parseForeign(text, "all")).toEqual({
      ...{ "a\\": ["-1", "2.5e3", "12345678901234567"], b: '"99999999999999999', c: "1234567890123456" },
    });
    expect(parseForeign(text, "long")).toEqual({
      ...{ "a\\": [-1, 2500, "12345678901234567"], b: '"99999999999999999', c: "1234567890123456" },
    });
  });

  it("an answer of more values than its reader allows is refused before it is built, one of as many is read", () => {
    expect(parseForeign("[[],[],[]]", "long", { valuesMax: 6 })).toEqual([[], [], []]);
    expect(() => parseForeign("[[],[],[]]", "long", { valuesMax: 5 })).toThrow(expect.objectContaining({ code: "JSON_ITEMS" }));
    expect(quoteNumbers('["[[[[,,,,"]', "all", { valuesMax: 1 })).toBe('["[[[[,,,,"]');
    expect(() => parseTron(`[${"[],".repeat(2_000_000)}[]]`)).toThrow(expect.objectContaining({ code: "JSON_ITEMS" }));
  });
});
