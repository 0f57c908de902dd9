/**
 * The strict JSON parser. The engine's own parser takes each text that it takes, with an equal
 * value, and nothing in it was lost.
 */
import { jsonLimits, parseJson } from "../../../base/json.ts";
import type { SeededRandom } from "../../kit/seeded.ts";
import { anything, malformedText } from "../malform.ts";
import { bytes, codeOr, must, type Shape, same, type Target } from "../target.ts";
import { honest } from "./honest.ts";

const words = [
  '"',
  '\\"',
  "\\u0000",
  "\\ud83d\\ude00",
  "\\ud800",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "true",
  "false",
  "null",
  "-0",
  "1e3",
];
const more = [
  "9007199254740991",
  "9007199254740992",
  '"__proto__":1',
  '"constructor":{}',
  "\ufeff",
  "\u00e9",
  "\u2028",
  "\\/",
  "00",
  "0.5",
];

/** Both parsers of one text; whole numbers and single keys make "equal" mean what it says. */
export const json: Target = {
  name: "json",
  words: [...words, ...more],
  seeds: Object.values(honest).map((each) => bytes(JSON.stringify(each))),
  make: (random: SeededRandom) =>
    bytes(
      malformedText(
        random.chance(3) ? anything(random) : random.pick(Object.values(honest)),
        random,
      ),
    ),
  run(input) {
    const given = codeOr(() => parseJson(input));
    if ("code" in given) {
      must(given.code.startsWith("JSON_"), `refused with ${given.code}`);
      return;
    }
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(input);
    must(same(given.value, JSON.parse(text)), "the engine's parser reads another value");
    must(same(given.value, parseJson(text)), "as text it is another value than as bytes");
    must(input.length <= jsonLimits.bytesMax, "longer than the limit");
    // Nothing but blanks may be gone when the value is written again: a second key of one name
    // would be.
    const count = (each: string): number => each.match(/"(?:[^"\\]|\\.)*"\s*:/g)?.length ?? 0;
    must(count(text) === count(JSON.stringify(given.value)), "a key was lost");
  },
  shapes: {
    lists: shape(40, (size) => `[${"[1],".repeat(size)}1]`),
    keys: shape(
      12,
      (size) => `{${Array.from({ length: size }, (_, each) => `"k${each}":1`).join()}}`,
    ),
    strings: shape(900, (size) => `"${"x".repeat(size)}"`),
    escapes: shape(150, (size) => `"${"\\u00e9\\n".repeat(size)}"`),
    numbers: shape(200, (size) => `[${"1234567,".repeat(size)}0]`),
    blanks: shape(4_000, (size) => `${" \n".repeat(size)}1`),
    quotes: shape(4_000, (size) => `"${"\\".repeat(size)}`),
    depth: shape(4, (size) => `${"[".repeat(size)}${"]".repeat(size)}`),
  },
};

function shape(from: number, of: (size: number) => string): Shape {
  return { from, of: (size) => bytes(of(size)) };
}
