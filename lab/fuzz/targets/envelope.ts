/**
 * The signed envelope, and the payloads in it. A frame is taken only if it is, byte for byte, what
 * its key signs.
 */
import {
  gatewayFrameBytesMax,
  openEnvelope,
  privateKeyFromSeed,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../../../protocol/envelope.ts";
import { type EnvelopeKind, envelopeKinds } from "../../../protocol/messages.ts";
import * as payloads from "../../../protocol/payloads.ts";
import { parseRecoveryPart } from "../../../protocol/recovery.ts";
import { parseSightings, parseSightingsQuestion } from "../../../protocol/sightings.ts";
import type { SeededRandom } from "../../kit/seeded.ts";
import { malformedText } from "../malform.ts";
import { mutate } from "../mutate.ts";
import { bytes, codeOr, must, same, type Target, textOf } from "../target.ts";
import { honest, opened } from "./honest.ts";

const key = privateKeyFromSeed(new Uint8Array(32).fill(3));
const publicKey = publicKeyFromHex(publicKeyHex(key));
const kinds = Object.keys(envelopeKinds) as readonly EnvelopeKind[];

const frames = kinds
  .filter((kind) => honest[kind] !== undefined)
  .map((kind) => sealEnvelope(kind, honest[kind] as object, key));

export const envelope: Target = {
  name: "envelope",
  words: ["\u0001", "\u0002", "\u0006", "{}"],
  seeds: frames,
  make: (random: SeededRandom) => mutate(random.pick(frames), frames, [], random),
  run(input) {
    const given = codeOr(() =>
      openEnvelope(input, { kinds, publicKey, bytesMax: gatewayFrameBytesMax }),
    );
    if ("code" in given) {
      must(given.code.startsWith("ENVELOPE_"), `refused with ${given.code}`);
      return;
    }
    const { kind, payload } = given.value;
    must(
      Buffer.from(sealEnvelope(kind, payload, key)).equals(input),
      "a frame was taken that its key did not sign",
    );
    for (const other of kinds) {
      if (other === kind) continue;
      const refused = codeOr(() =>
        openEnvelope(input, { kind: other, publicKey, bytesMax: gatewayFrameBytesMax }),
      );
      must(
        "code" in refused && refused.code === "ENVELOPE_KIND",
        `a ${kind} was taken for a ${other}`,
      );
    }
  },
  shapes: {
    payload: {
      from: 4_000,
      of: (size) => sealEnvelope("statement", new Uint8Array(size).fill(0x20), key),
    },
  },
};

const parsers: Readonly<Record<string, (text: Uint8Array) => object>> = {
  a: payloads.parseAck,
  b: payloads.parseHeartbeat,
  c: payloads.parseChallenge,
  h: payloads.parseHello,
  j: payloads.parseJob,
  i: parseSightings,
  l: payloads.parseJobs,
  q: parseSightingsQuestion,
  r: parseRecoveryPart,
  s: payloads.parseStatement,
  w: payloads.parseWelcome,
};
const letters: Readonly<Record<string, string>> = {
  a: "ack",
  b: "heartbeat",
  c: "challenge",
  h: "hello",
  i: "sightings",
  j: "job",
  l: "jobs",
  q: "question",
  r: "recovery",
  s: "statement",
  w: "welcome",
};
const entry = JSON.stringify(
  (honest.statement as { readonly entries: readonly object[] }).entries[0],
);

/** A letter that names the payload, then its text. */
export const payload: Target = {
  name: "payload",
  words: Object.keys(letters).concat(
    '"kind":"alarm"',
    '"seq":1',
    '"gatewayHead":null',
    '"outcome":""',
    '"stage":"final"',
    "0".repeat(64),
    "f".repeat(64),
    "eip155:1",
  ),
  seeds: [
    ...Object.entries(letters).map(([letter, kind]) =>
      bytes(letter + JSON.stringify(honest[kind])),
    ),
    bytes(
      `s${JSON.stringify({ ...honest.statement, after: 8, head: { seq: 10, hash: "e".repeat(64) }, entries: opened })}`,
    ),
  ],
  make(random: SeededRandom) {
    const [letter, kind] = random.pick(Object.entries(letters));
    return bytes(letter + malformedText(honest[kind], random));
  },
  run(input) {
    const parse = parsers[String.fromCharCode(input[0] ?? 0)];
    if (parse === undefined) return;
    const text = input.subarray(1);
    const given = codeOr(() => parse(text));
    if ("code" in given) {
      must(given.code.startsWith("JSON_"), `refused with ${given.code}`);
      return;
    }
    must(same(given.value, JSON.parse(textOf(text))), "something was added, changed or left out");
    must(
      same(given.value, parse(bytes(JSON.stringify(given.value)))),
      "written again it reads differently",
    );
  },
  shapes: {
    jobs: {
      from: 12,
      of: (size) =>
        bytes(
          `l${JSON.stringify({ ...honest.jobs, jobs: Array.from({ length: size }, () => "x".repeat(40)) })}`,
        ),
    },
    entries: {
      from: 40,
      of: (size) =>
        bytes(
          `s${JSON.stringify({ ...honest.statement, entries: [] }).replace("[]", `[${Array.from({ length: size }, () => entry).join()}]`)}`,
        ),
    },
  },
};
