/**
 * RFC 8259 against the strict parser, next to the loop over vectors in protocol.test.ts: JSON.parse
 * judges every text of json-grammar.json too, so that a group shows if the grammar refuses a text
 * or only this parser. As text and as bytes it ends alike.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../base/json.ts";
import { outcomeOf, plain } from "../support/outcome.ts";

interface Vector {
  readonly group: string;
  readonly name: string;
  readonly outcome: string;
  readonly twin?: string;
  readonly text?: string;
  readonly hex?: string;
  readonly parts?: readonly (readonly [string, number])[];
}

const file = new URL("../../protocol/vectors/json-grammar.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as {
  readonly vectors: readonly Vector[];
};
const byName = new Map(vectors.map((vector) => [vector.name, vector]));
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const inputOf = ({ hex, parts, text }: Vector): string | Uint8Array =>
  hex === undefined
    ? (text ?? (parts ?? []).map(([piece, times]) => piece.repeat(times)).join(""))
    : Buffer.from(hex, "hex");

const textOf = (input: string | Uint8Array): string =>
  typeof input === "string" ? input : decoder.decode(input);
const ours = (input: string | Uint8Array): ReturnType<typeof outcomeOf> =>
  outcomeOf(() => plain(parseJson(input)));

/** The answer of JSON.parse, an independent reader of the same grammar. */
function theirs(input: string | Uint8Array): {
  readonly outcome: "ok" | "no";
  readonly value?: unknown;
} {
  try {
    return { outcome: "ok", value: JSON.parse(textOf(input)) };
  } catch {
    return { outcome: "no" };
  }
}

/**
 * Single characters to add, drop or change from one text to the other, what both begin and end with
 * left aside.
 */
function distance(left: string, right: string): number {
  let head = 0;
  while (head < left.length && left[head] === right[head]) head += 1;
  let tail = 0;
  const tailMax = Math.min(left.length, right.length) - head;
  while (tail < tailMax && left.at(-1 - tail) === right.at(-1 - tail)) tail += 1;
  const from = left.slice(head, left.length - tail);
  const to = right.slice(head, right.length - tail);
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let above = 1; above <= from.length; above += 1) {
    const next = [above];
    for (let at = 1; at <= to.length; at += 1) {
      const changed = row[at - 1]! + (from[above - 1] === to[at - 1] ? 0 : 1);
      next.push(Math.min(row[at]! + 1, next[at - 1]! + 1, changed));
    }
    row = next;
  }
  return row[to.length]!;
}

describe("json-grammar.json", () => {
  it("is large enough to mean something", () => {
    expect(vectors.length).toBeGreaterThan(600);
    expect(vectors.filter(({ outcome }) => outcome !== "ok").length).toBeGreaterThan(400);
    expect(new Set(vectors.map(({ group }) => group)).size).toBe(17);
  });

  it("says of each group truly who refuses: the grammar, or only we", () => {
    for (const vector of vectors) {
      const input = inputOf(vector);
      const isWithinGrammar =
        vector.outcome === "ok" ||
        (vector.group.includes("narrower") && vector.outcome !== "JSON_SYNTAX");
      expect(theirs(input).outcome, vector.name).toBe(isWithinGrammar ? "ok" : "no");
      if (vector.group.includes("narrower"))
        expect(vector.outcome, vector.name).not.toBe("JSON_SYNTAX");
      if (vector.outcome === "ok") expect(ours(input), vector.name).toEqual(theirs(input));
    }
  });

  it("ends alike as text and as bytes", () => {
    for (const vector of vectors) {
      const input = inputOf(vector);
      if (typeof input !== "string") continue;
      const bytes = Buffer.from(input);
      if (bytes.toString() !== input) continue; // half a pair cannot be written as UTF-8
      expect(ours(bytes), vector.name).toEqual(ours(input));
    }
  });

  it("has for each rejection a twin that is near", () => {
    const letters = (vector: Vector): string => {
      const input = inputOf(vector);
      return typeof input === "string" ? input : Buffer.from(input).toString("latin1");
    };
    for (const vector of vectors) {
      if (vector.twin === undefined) continue;
      const twin = byName.get(vector.twin)!;
      expect(
        distance(letters(vector), letters(twin)),
        `${vector.name} and ${twin.name}`,
      ).toBeLessThanOrEqual(12);
    }
  });

  it("the reader takes a text cut off anywhere only if the grammar does", () => {
    for (const vector of vectors) {
      const input = inputOf(vector);
      if (vector.outcome !== "ok" || input.length > 400) continue;
      for (let end = 0; end < input.length; end += 1) {
        const cut = input.slice(0, end);
        if ((ours(cut).outcome === "ok") !== (theirs(cut).outcome === "ok"))
          expect.unreachable(`${vector.name} cut at ${end}`);
      }
    }
  });

  it("the reader leaves what objects inherit as it was", () => {
    const before = Reflect.ownKeys(Object.prototype);
    for (const vector of vectors) {
      if (vector.outcome !== "ok") continue;
      const value = parseJson(inputOf(vector));
      if (typeof value === "object" && value !== null && !Array.isArray(value))
        expect(Object.getPrototypeOf(value)).toBeNull();
    }
    expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
  });
});
