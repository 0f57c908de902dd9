/**
 * Addresses of Bitcoin and Litecoin, to the script that an output carries, and back to their only
 * spelling. Payable are P2PKH, P2SH, P2WPKH, P2WSH and P2TR. No other SegWit version has a rule
 * yet, so its money could be taken by anybody. Test networks share their spelling: one address is
 * valid on several. No network, no disk, and no private key. Sources: BIP-13, BIP-141, BIP-173,
 * BIP-341, BIP-350.
 */
import { base58, bech32, bech32m } from "@scure/base";
import { type Refusal, refuse } from "../../base/fault.ts";
import { pointOf } from "../curve/point.ts";
import { joinBytes } from "./bytes.ts";
import { hash160, sha256Twice } from "./hash.ts";
import { segwitPrefixes, type UtxoNetwork } from "./network.ts";

/** No address is longer (BIP-173). */
const lengthMax = 90;
const base58Shape = /^[1-9A-HJ-NP-Za-km-z]{26,35}$/;
const versionAndHashBytes = 21;
const op = {
  zero: 0x00,
  one: 0x51,
  dup: 0x76,
  equal: 0x87,
  equalVerify: 0x88,
  hash160: 0xa9,
  checkSig: 0xac,
} as const;
/** Confidential addresses of Litecoin's extension blocks: no output of a transaction pays them. */
const extensionPrefixes = ["ltcmweb", "tmweb"];

/** The canonical text, and the script of an output that pays it. */
export type ParsedUtxoAddress =
  | { readonly ok: true; readonly address: string; readonly script: Uint8Array }
  | Refusal;

/** A script by its kind, with the hash or key that it names. */
type ScriptKind = "p2pkh" | "p2sh" | "p2wpkh" | "p2wsh" | "p2tr";

/** The bytes around the hash or key of each kind, and its length. */
const kinds: Readonly<
  Record<
    ScriptKind,
    { readonly start: readonly number[]; readonly length: number; readonly end: readonly number[] }
  >
> = {
  p2pkh: { start: [op.dup, op.hash160, 20], length: 20, end: [op.equalVerify, op.checkSig] },
  p2sh: { start: [op.hash160, 20], length: 20, end: [op.equal] },
  p2wpkh: { start: [op.zero, 20], length: 20, end: [] },
  p2wsh: { start: [op.zero, 32], length: 32, end: [] },
  p2tr: { start: [op.one, 32], length: 32, end: [] },
};

/**
 * Reads an address of a network. SegWit addresses in upper case become lower case; no other text is
 * changed. Refuses with ADDRESS_FORMAT, ADDRESS_CHECKSUM or ADDRESS_ZERO.
 */
export function parseAddress(text: string, network: UtxoNetwork): ParsedUtxoAddress {
  if (typeof text !== "string") return refuse("ADDRESS_FORMAT", "no text");
  // One of some hundred thousand addresses in base58 begins as a prefix in mixed case: LTc1….
  const base58 = base58Shape.test(text)
    ? parseBase58(text, network)
    : refuse("ADDRESS_FORMAT", "neither base58 nor SegWit");
  if (base58.ok) return base58;
  const lower = text.slice(0, lengthMax).toLowerCase();
  const hasPrefix = (prefix: string): boolean => lower.startsWith(`${prefix}1`);
  // An MWEB address is longer than any other.
  if (extensionPrefixes.some(hasPrefix))
    return refuse(
      "ADDRESS_FORMAT",
      `an MWEB address; give one that begins with ${network.prefix}1`,
    );
  if (text.length > lengthMax) return refuse("ADDRESS_FORMAT", "more than 90 characters");
  if (hasPrefix(network.prefix)) return parseSegwit(text, network);
  const other = segwitPrefixes.find(hasPrefix);
  if (other !== undefined)
    return refuse("ADDRESS_FORMAT", `an address of another network, which begins with ${other}1`);
  return base58;
}

/** The address of a script, or null if the script is of no payable kind. */
export function addressOfScript(script: Uint8Array, network: UtxoNetwork): string | null {
  const kind = kindOf(script);
  if (kind === null) return null;
  const program = programOf(script, kind);
  if (kind === "p2pkh" || kind === "p2sh") return base58Of(network[kind], program);
  const version = kind === "p2tr" ? 1 : 0;
  const coding = version === 0 ? bech32 : bech32m;
  return coding.encode(network.prefix, [version, ...coding.toWords(program)]);
}

/**
 * The P2WPKH address of a public key: 33 bytes, or 65 bytes beginning with 4. @throws
 * ADDRESS_PUBLIC_KEY
 */
export function addressOfPublicKey(publicKey: Uint8Array, network: UtxoNetwork): string {
  return addressOfScript(
    scriptOf("p2wpkh", hash160(compressPoint(pointOf(publicKey)))),
    network,
  ) as string;
}

/** The compressed form (33 bytes) of an uncompressed point (65 bytes). */
export function compressPoint(point: Uint8Array): Uint8Array {
  return joinBytes([Uint8Array.of(2 + ((point[64] ?? 0) & 1)), point.subarray(1, 33)]);
}

/** The hash of the public key in a P2WPKH script; null for another script. */
export function keyHashOf(script: Uint8Array): Uint8Array | null {
  return kindOf(script) === "p2wpkh" ? programOf(script, "p2wpkh") : null;
}

/** The script that a signature for a P2WPKH coin covers: P2PKH of the same hash (BIP-143). */
export function signedScriptOf(keyHash: Uint8Array): Uint8Array {
  return scriptOf("p2pkh", keyHash);
}

/**
 * The hash of the public key that a P2WPKH address names, whatever its network; null for another
 * text.
 */
export function keyHashOfAddress(address: string): Uint8Array | null {
  const decoded = bech32.decodeUnsafe(address);
  const program =
    decoded === undefined ? undefined : bech32.fromWordsUnsafe(decoded.words.slice(1));
  return decoded?.words[0] === 0 && program?.length === kinds.p2wpkh.length
    ? Uint8Array.from(program)
    : null;
}

function parseSegwit(text: string, network: UtxoNetwork): ParsedUtxoAddress {
  const address = text.toLowerCase();
  if (text !== address && text !== text.toUpperCase())
    return refuse("ADDRESS_FORMAT", "upper and lower case are mixed");
  const old = bech32.decodeUnsafe(address);
  const decoded = old ?? bech32m.decodeUnsafe(address);
  if (decoded === undefined) return refuse("ADDRESS_CHECKSUM");
  const version = decoded.words[0];
  if (version === undefined) return refuse("ADDRESS_FORMAT", "it ends after the prefix");
  // The other checksum is a mistake of the program that made the address (BIP-350).
  if ((version === 0) !== (old !== undefined)) return refuse("ADDRESS_CHECKSUM");
  if (version > 1)
    return refuse(
      "ADDRESS_FORMAT",
      `SegWit version ${version} has no rule yet, so nothing is paid to it`,
    );
  const program = bech32.fromWordsUnsafe(decoded.words.slice(1));
  const kind = segwitKinds.find(
    (each) =>
      kinds[each].start[0] === (version === 0 ? op.zero : op.one) &&
      kinds[each].length === program?.length,
  );
  if (program === undefined || kind === undefined)
    return refuse("ADDRESS_FORMAT", "not the length of a SegWit address");
  return payable(kind, Uint8Array.from(program), network);
}

const segwitKinds = ["p2wpkh", "p2wsh", "p2tr"] as const;

function parseBase58(text: string, network: UtxoNetwork): ParsedUtxoAddress {
  const whole = base58.decode(text);
  if (whole.length !== versionAndHashBytes + 4)
    return refuse("ADDRESS_FORMAT", "not the length of an address");
  const bytes = whole.subarray(0, versionAndHashBytes);
  if (Buffer.compare(whole.subarray(versionAndHashBytes), checksumOf(bytes)) !== 0)
    return refuse("ADDRESS_CHECKSUM");
  const version = bytes[0];
  if (version === network.p2pkh) return payable("p2pkh", bytes.subarray(1), network);
  if (version === network.p2sh) return payable("p2sh", bytes.subarray(1), network);
  if (version !== network.p2shRefused)
    return refuse("ADDRESS_FORMAT", "an address of another network");
  const today = base58Of(network.p2sh, bytes.subarray(1)).slice(0, 1);
  return refuse(
    "ADDRESS_FORMAT",
    `it reads as an address of Bitcoin; give the form that begins with ${today} or ${network.prefix}1`,
  );
}

function payable(kind: ScriptKind, program: Uint8Array, network: UtxoNetwork): ParsedUtxoAddress {
  if (program.every((byte) => byte === 0)) return refuse("ADDRESS_ZERO");
  if (kind === "p2tr" && !isPoint(program))
    return refuse(
      "ADDRESS_FORMAT",
      "its key is no point of the curve, so nobody could use the money",
    );
  const script = scriptOf(kind, program);
  return { ok: true, address: addressOfScript(script, network) as string, script };
}

function isPoint(x: Uint8Array): boolean {
  try {
    pointOf(Uint8Array.of(2, ...x));
    return true;
  } catch {
    return false;
  }
}

function scriptOf(kind: ScriptKind, program: Uint8Array): Uint8Array {
  return Uint8Array.of(...kinds[kind].start, ...program, ...kinds[kind].end);
}

function programOf(script: Uint8Array, kind: ScriptKind): Uint8Array {
  const { start, length } = kinds[kind];
  return script.slice(start.length, start.length + length);
}

function kindOf(script: Uint8Array): ScriptKind | null {
  const all = Object.keys(kinds) as ScriptKind[];
  return (
    all.find(
      (kind) =>
        Buffer.compare(scriptOf(kind, programOf(script, kind)), script) === 0 &&
        programOf(script, kind).length === kinds[kind].length,
    ) ?? null
  );
}

function base58Of(version: number, hash: Uint8Array): string {
  const bytes = Uint8Array.of(version, ...hash);
  return base58.encode(joinBytes([bytes, checksumOf(bytes)]));
}

/** Base58check: the first four bytes of the SHA-256 of the SHA-256. */
function checksumOf(bytes: Uint8Array): Uint8Array {
  return sha256Twice(bytes).subarray(0, 4);
}
