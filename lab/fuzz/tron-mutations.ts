/**
 * Structured chance for Tron's raw_data: the message taken apart as fields, malformed where a
 * reader could be lenient (order, doubles, unknown fields, longer spellings, a padding that is
 * none), and put together again.
 */

import type { SeededRandom } from "../kit/seeded.ts";
import { mutate } from "./mutate.ts";

/** A field as it stands in the bytes; `spare` bytes lengthen its number, its length or its tag. */
interface Node {
  number: number;
  wire: number;
  value: bigint | Uint8Array | Node[];
  spareTag: number;
  spareValue: number;
}

/** Which fields are messages themselves, by the path of numbers from the top. */
const messages: ReadonlySet<string> = new Set(["11", "11.2", "11.2.2"]);
const numbers = [
  0n,
  1n,
  2n,
  31n,
  127n,
  128n,
  2n ** 31n,
  2n ** 53n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];
const sizes = [0, 1, 2, 8, 19, 20, 21, 22, 32, 67, 68, 69, 100];
/**
 * Fields of each message that a transfer does not have: memo, authorities, permission id and more.
 */
const outsiders: Readonly<Record<string, readonly number[]>> = {
  "": [2, 3, 9, 10, 12, 16, 18, 19],
  "11": [3, 4, 5, 6],
  "11.2": [3],
  "11.2.2": [3, 5, 6, 7],
};

/** A changed copy of honest raw_data. */
export function mutateRawData(
  rawData: Uint8Array,
  others: readonly Uint8Array[],
  random: SeededRandom,
): Uint8Array {
  if (random.chance(5)) return mutate(rawData, others, [], random);
  const nodes = parse(rawData, "");
  if (random.chance(4)) {
    const leaf = random.pick(
      levels(nodes, "").flatMap(({ nodes: level }) =>
        level.filter(({ value }) => !Array.isArray(value)),
      ),
    );
    // A number below zero takes ten bytes.
    leaf.value = otherValue(leaf.value, random);
    return write(nodes);
  }
  for (let times = 1 + random.below(2); times > 0; times--) malform(nodes, random);
  const bytes = write(nodes);
  if (random.chance(40)) return Buffer.concat([bytes, Uint8Array.of(random.below(256))]);
  return random.chance(40) ? bytes.subarray(0, random.below(bytes.length)) : bytes;
}

function malform(top: Node[], random: SeededRandom): void {
  const { path, nodes } = random.pick(levels(top, ""));
  const at = random.below(Math.max(1, nodes.length));
  const node = nodes[at];
  if (node === undefined) return;
  switch (random.below(9)) {
    case 0:
      nodes.splice(at, 1);
      return;
    case 1:
      nodes.splice(random.below(nodes.length + 1), 0, structuredClone(node));
      return;
    case 2:
      nodes.splice(at, 1);
      nodes.splice(random.below(nodes.length + 1), 0, node);
      return;
    case 3:
      nodes.splice(
        random.chance(2) ? nodes.length : random.below(nodes.length + 1),
        0,
        outsider(path, random),
      );
      return;
    case 4:
      if (random.chance(2)) node.spareTag = 1 + random.below(3);
      else node.spareValue = 1 + random.below(9);
      return;
    case 5:
      node.wire = random.below(8);
      return;
    default:
      malformValue(node, random);
  }
}

function outsider(path: string, random: SeededRandom): Node {
  const number = random.chance(3) ? 1 + random.below(40) : random.pick(outsiders[path] ?? [3]);
  const isNumber = random.chance(2);
  const value = isNumber ? random.pick(numbers) : someBytes(random);
  return { number, wire: isNumber ? 0 : 2, value, spareTag: 0, spareValue: 0 };
}

function malformValue(node: Node, random: SeededRandom): void {
  const { value } = node;
  if (typeof value === "bigint") {
    node.value = random.chance(2) ? random.pick(numbers) : BigInt.asUintN(64, value * 2n);
  } else if (Array.isArray(value)) malform(value, random);
  else if (value.length === 68 && random.chance(2)) node.value = malformedCall(value, random);
  else node.value = malformedBytes(value, random);
}

/** A value of the same kind and length, as another honest transfer could have it. */
function otherValue(value: Node["value"], random: SeededRandom): Node["value"] {
  if (typeof value === "bigint")
    return BigInt.asUintN(64, value + BigInt(random.below(2_001)) - 1_000n);
  const copy = Uint8Array.from(value as Uint8Array);
  copy[random.below(copy.length)] = random.below(256);
  return copy;
}

/**
 * A call with a prefix in the address's padding, dirt in it, another selector, or another amount.
 */
function malformedCall(call: Uint8Array, random: SeededRandom): Uint8Array {
  const copy = Uint8Array.from(call);
  switch (random.below(5)) {
    case 0:
      copy[15] = 0x41;
      return copy;
    case 1:
      copy[4 + random.below(12)] = 1 + random.below(255);
      return copy;
    case 2:
      copy[random.below(4)] = random.below(256);
      return copy;
    case 3:
      copy.set(new Uint8Array(random.chance(2) ? 20 : 32), random.chance(2) ? 16 : 36);
      return copy;
    default:
      copy[36 + random.below(32)] = random.below(256);
      return copy;
  }
}

function malformedBytes(value: Uint8Array, random: SeededRandom): Uint8Array {
  const copy = Uint8Array.from(value);
  switch (random.below(5)) {
    case 0:
      return someBytes(random);
    case 1:
      return copy.subarray(0, random.below(copy.length + 1));
    case 2:
      return Buffer.concat([copy, someBytes(random)]);
    case 3:
      return copy.fill(0, 1);
    default:
      if (copy.length > 0)
        copy[random.below(random.chance(2) ? copy.length : Math.min(2, copy.length))] =
          random.below(256);
      return copy;
  }
}

function someBytes(random: SeededRandom): Uint8Array {
  const filling = random.below(256);
  return new Uint8Array(random.pick(sizes)).fill(filling);
}

function levels(nodes: Node[], path: string): { readonly path: string; readonly nodes: Node[] }[] {
  const inner = nodes.flatMap(({ number, value }) =>
    Array.isArray(value) ? levels(value, join(path, number)) : [],
  );
  return [{ path, nodes }, ...inner];
}

function join(path: string, number: number): string {
  return path === "" ? `${number}` : `${path}.${number}`;
}

/** Only for honest bytes, which hold numbers and bytes in their shortest spelling. */
function parse(bytes: Uint8Array, path: string): Node[] {
  const nodes: Node[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, wire] = [tag >> 3, tag & 7];
    const length = varint();
    const body = bytes.slice(at, at + (wire === 2 ? Number(length) : 0));
    at += body.length;
    const within = join(path, number);
    const value = wire === 0 ? length : messages.has(within) ? parse(body, within) : body;
    nodes.push({ number, wire, value, spareTag: 0, spareValue: 0 });
  }
  return nodes;
}

function write(nodes: readonly Node[]): Uint8Array {
  return Buffer.concat(
    nodes.flatMap(({ number, wire, value, spareTag, spareValue }) => {
      const tag = spelled(BigInt(number * 8 + wire), spareTag);
      if (typeof value === "bigint") return [tag, spelled(value, spareValue)];
      const body = Array.isArray(value) ? write(value) : value;
      return [tag, spelled(BigInt(body.length), spareValue), body];
    }),
  );
}

/** A varint with so many bytes more than it needs. */
function spelled(value: bigint, spare: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value; ; ) {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    if (rest === 0n) {
      bytes.push(low);
      break;
    }
    bytes.push(low | 0x80);
  }
  for (let more = 0; more < spare; more++) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(0);
  }
  return Uint8Array.from(bytes);
}
