/**
 * Structured chance: JSON values like an honest one, with fields gone, added, doubled, retyped or
 * pushed over an edge. The edges are those of the readers: 2^53, empty and overlong texts, halves
 * of surrogates, names that objects of this language treat specially.
 */
import type { SeededRandom } from "../kit/seeded.ts";

export const edges: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    1,
    -1,
    2,
    255,
    1.5,
    -0,
    2 ** 31,
    2 ** 32,
    2 ** 53 - 1,
    2 ** 53,
    -(2 ** 53),
    1e21,
    8.64e15 + 1,
  ],
  ...[
    "",
    "0",
    "00",
    "1",
    "-1",
    "1.",
    ".5",
    "1.50",
    "1e3",
    "0x",
    "0x0",
    "0x1",
    `0x${"f".repeat(64)}`,
    `0x${"f".repeat(65)}`,
  ],
  ...[
    "9".repeat(78),
    "9".repeat(79),
    `0.${"0".repeat(77)}1`,
    "a".repeat(128),
    "a".repeat(129),
    "x".repeat(4_097),
  ],
  ...[
    "\u0000",
    "\u001f",
    "\u007f",
    "\u00e9",
    "\u2028",
    "\ud83d\ude00",
    "\ud800",
    "\udc00x",
    "İ",
    "\\",
    '"',
    "\n",
    " ",
    "%2f",
    "../..",
  ],
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then", "length"],
  ...[
    "0".repeat(64),
    "f".repeat(64),
    "F".repeat(64),
    "ab".repeat(16),
    "ab".repeat(8),
    `0x${"00".repeat(20)}`,
  ],
  ...[
    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
    "usdt",
    "eth",
    "eip155:31337",
  ],
  ...[[], {}, [[]], [null], { a: 1 }, { length: 3 }, [1, 2, 3]],
];

const names = [
  "__proto__",
  "constructor",
  "toString",
  "a",
  "",
  "kind",
  "agent",
  "version",
  "\u00e9",
  "x".repeat(70),
];

/** A copy with 0 to 3 changes at random places. */
export function malform(value: unknown, random: SeededRandom): unknown {
  let malformed = value;
  for (let times = random.below(4); times > 0; times--) malformed = changed(malformed, random, 0);
  return malformed;
}

export function malformedText(value: unknown, random: SeededRandom): string {
  const text = JSON.stringify(malform(value, random)) ?? "null";
  return random.chance(12)
    ? text.replace(/[:,]/g, (mark) => (random.chance(5) ? `${mark}\n\t ` : mark))
    : text;
}

function changed(value: unknown, random: SeededRandom, depth: number): unknown {
  const isDeep = typeof value === "object" && value !== null && depth < 12 && !random.chance(6);
  if (!isDeep) return replaced(value, random);
  return Array.isArray(value)
    ? changedList(value, random, depth)
    : changedObject(value as Record<string, unknown>, random, depth);
}

function changedList(
  list: readonly unknown[],
  random: SeededRandom,
  depth: number,
): readonly unknown[] {
  const copy = [...list];
  const at = random.below(Math.max(1, copy.length));
  switch (random.below(6)) {
    case 0:
      copy.splice(at, 1);
      break;
    case 1:
      copy.splice(at, 0, copy[random.below(Math.max(1, copy.length))] ?? random.pick(edges));
      break;
    case 2:
      copy.reverse();
      break;
    case 3:
      copy.push(
        ...Array.from({ length: random.below(random.chance(10) ? 300 : 6) }, () => copy[0] ?? 0),
      );
      break;
    default:
      if (copy.length > 0) copy[at] = changed(copy[at], random, depth + 1);
  }
  return copy;
}

function changedObject(
  object: Readonly<Record<string, unknown>>,
  random: SeededRandom,
  depth: number,
): object {
  const entries = Object.entries(object);
  const at = random.below(Math.max(1, entries.length));
  const entry = entries[at];
  switch (random.below(8)) {
    case 0:
      entries.splice(at, 1);
      break;
    case 1:
      entries.push([random.pick(names), random.pick(edges)]);
      break;
    case 2:
      entries.reverse();
      break;
    case 3:
      if (entry !== undefined) entries[at] = [entry[0], entries[random.below(entries.length)]?.[1]];
      break;
    default:
      if (entry !== undefined) entries[at] = [entry[0], changed(entry[1], random, depth + 1)];
  }
  const copy: Record<string, unknown> = Object.create(null);
  for (const [name, each] of entries) copy[name] = each;
  return copy;
}

function replaced(value: unknown, random: SeededRandom): unknown {
  if (random.chance(2)) return random.pick(edges);
  if (typeof value === "number")
    return random.pick([value + 1, value - 1, -value, value * 2, value + 0.5]);
  if (typeof value !== "string") return random.pick(edges);
  const at = random.below(value.length + 1);
  const piece = random.pick(["0", "f", "F", " ", ".", "\u00e9", value]);
  return random.pick([
    value.slice(0, at) + value.slice(at + 1),
    value.slice(0, at) + piece + value.slice(at),
    value.toUpperCase(),
  ]);
}

/** Any value at all. */
export function anything(random: SeededRandom, depth = 0): unknown {
  if (depth > 5 || random.chance(3)) return random.pick(edges);
  const size = random.below(5);
  if (random.chance(2)) return Array.from({ length: size }, () => anything(random, depth + 1));
  const object: Record<string, unknown> = Object.create(null);
  for (let each = 0; each < size; each++)
    object[random.pick([...names, "b", "c", "d", "e"])] = anything(random, depth + 1);
  return object;
}
