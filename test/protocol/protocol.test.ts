/**
 * The protocol's vectors, one loop per file; a file that no loop reads fails, and so does a
 * rejection without a twin that passes. And the document: its examples are real, its lists
 * complete.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { codes } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { parseJson } from "../../base/json.ts";
import { families } from "../../chains/families.ts";
import { formatAmount, parseAmount } from "../../protocol/amount.ts";
import {
  frameKind,
  openEnvelope,
  privateKeyFromSeed,
  publicKeyFromHex,
  publicKeyHex,
  sealEnvelope,
} from "../../protocol/envelope.ts";
import { openGrant, parseSealedGrant, sealGrant, shortCodeOf } from "../../protocol/grant.ts";
import {
  agentIdOf,
  deriveOrderTransactionId,
  jobHashOf,
  walletFingerprintOf,
} from "../../protocol/identity.ts";
import { type EnvelopeKind, envelopeKinds, type PairedAccount } from "../../protocol/messages.ts";
import {
  accountDigestOf,
  gatewayFingerprintOf,
  parseApiKey,
  parseSealedTranscript,
  parseTranscript,
  sealTranscript,
  signTranscript,
  transcriptHashOf,
  transcriptMac,
  transcriptMacFits,
  transcriptSignatureFits,
} from "../../protocol/pairing.ts";
import { outcomeOf, payloadReaders, plain } from "../support/outcome.ts";

interface Vector {
  readonly name: string;
  readonly shows: string;
  readonly outcome: string;
  readonly twin?: string;
  readonly value?: unknown;
  readonly [input: string]: unknown;
}

const folder = new URL("../../protocol/vectors/", import.meta.url);

function vectorsOf(file: string): readonly Vector[] {
  return (JSON.parse(readFileSync(new URL(file, folder), "utf8")) as { vectors: readonly Vector[] })
    .vectors;
}

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
  const opened = openEnvelope(frame, {
    ...expected,
    publicKey,
    bytesMax: vector.bytesMax as number,
  });
  expect(frameKind(frame)).toBe(opened.kind);
  if (typeof vector.seed === "string") {
    const privateKey = privateKeyFromSeed(Buffer.from(vector.seed, "hex"));
    expect(publicKeyHex(privateKey)).toBe(vector.publicKey);
    expect(Buffer.from(sealEnvelope(opened.kind, opened.payload, privateKey)).toString("hex")).toBe(
      vector.frame,
    );
  }
  return { kind: opened.kind, payload: Buffer.from(opened.payload).toString() };
}

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
  transactionId: deriveOrderTransactionId,
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
  macFits: ({ secret, transcript, mac }) =>
    transcriptMacFits(Buffer.from(secret!), transcript!, mac!),
  signature: ({ seed, transcript }) => {
    const linkKey = privateKeyFromSeed(Buffer.from(seed!, "hex"));
    const proven = { signerSignature: "signer", proofs: ["account"] };
    const sealed = sealTranscript(transcript!, { secret: Buffer.from("secret"), linkKey, proven });
    expect(sealed).toMatchObject({
      transcript,
      mac: transcriptMac(Buffer.from("secret"), transcript!),
      ...proven,
    });
    expect(signTranscript(transcript!, linkKey)).toBe(sealed.linkSignature);
    return sealed.linkSignature;
  },
  signatureFits: ({ publicKey, transcript, signature }) =>
    transcriptSignatureFits(publicKey!, transcript!, signature!),
  accountDigest: ({ transcript }) => Buffer.from(accountDigestOf(transcript!)).toString("hex"),
  request: ({ text }) => {
    expect(parseSealedTranscript(text!)).toEqual(JSON.parse(text!));
  },
  transcriptHash: ({ transcript }) => transcriptHashOf(transcript!),
  openGrant: (input, vector) => {
    const { answer, fingerprint, transcript } = input as unknown as {
      answer: object;
      fingerprint: string;
      transcript: string;
    };
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
  "json-grammar.json": runJson,
  "amounts.json": runAmount,
  "envelopes.json": runEnvelope,
  "jobs.json": runPayload,
  "handshakes.json": runPayload,
  "acks.json": runPayload,
  "sightings.json": runPayload,
  "statements.json": runPayload,
  "recoveries.json": runPayload,
  "identity.json": (vector) => identities[vector.function as string]!(vector.input as never),
  "account-proofs.json": (vector) => {
    const { account, digest, proof } = vector.input as {
      account: PairedAccount;
      digest: string;
      proof: string;
    };
    return families.evm.accounts.proofFits(account, Buffer.from(digest, "hex"), proof);
  },
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

      it("the list of vectors names each once and gives each rejection a twin that passes", () => {
        expect(byName.size).toBe(vectors.length);
        for (const vector of vectors) {
          if (vector.outcome === "ok" && vector.value !== false) continue;
          const twin = byName.get(vector.twin ?? "");
          expect(twin?.outcome, `twin of ${vector.name}`).toBe("ok");
          expect(twin?.value, `twin of ${vector.name}`).not.toBe(false);
        }
      });

      it.each(vectors.map((vector) => [vector.name, vector] as const))(
        "the vector: %s",
        (_name, vector) => {
          const result = outcomeOf(() => run(vector));
          expect(result).toEqual({ outcome: vector.outcome, value: vector.value });
        },
      );
    });
  }
});

describe("docs/protocol.md", () => {
  const text = readFileSync(new URL("../../docs/protocol.md", import.meta.url), "utf8");
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
    for (const [kind, byte] of Object.entries(envelopeKinds))
      expect(text).toContain(`| ${kind} | ${byte} |`);
    for (const file of readdirSync(folder)) expect(text).toContain(`\`${file}\``);
    const ours = Object.keys(codes).filter((code) => /^(JSON|ENVELOPE|AMOUNT)_/.test(code));
    expect(ours.length).toBeGreaterThan(15);
    for (const code of ours) expect(text).toContain(`\`${code}\``);
  });
});
