/**
 * STATE/courier/link.json: the identity of the link and of its gateway. Written only at each
 * pairing, read by the courier at its start. Touches only that file. The link's seed never gets
 * into a string: it is cut from the bytes before parsing.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AgentError, reasonOf } from "../../base/fault.ts";
import { parseJson } from "../../base/json.ts";
import { hex, integer, object, string } from "../../base/shape.ts";
import { allocateFixedBytes } from "../files/fixed-bytes.ts";
import { replaceFile } from "../files/replace-file.ts";
import { readTrusted } from "../files/trusted.ts";

/** The identity of the link. The caller wipes `linkSeed`. */
export interface LinkIdentity {
  readonly agent: string; // 8 bytes hex
  readonly ledgerEpoch: number; // as granted at pairing; the ledger's epoch is in force
  readonly gatewayKey: string; // Ed25519 public key, hex
  readonly linkSeed: Uint8Array; // 32 bytes
  readonly gatewayUrl: string; // origin
}

const fileName = "link.json";
const fileBytesMax = 4096;
const seedBytes = 32;
/** The seed's field in the spelling of `writeLinkFile`; its value is always 64 hex digits. */
const seedField = Buffer.from('"linkSeed":"');

const readFields = object({
  agent: hex(8),
  ledgerEpoch: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  gatewayKey: hex(32),
  linkSeed: string({ max: 0 }),
  gatewayUrl: string({ min: 8, max: 512 }),
});

/**
 * Writes link.json into `folder` (made with 0700 when missing): temporary file with 0600, fsync,
 * rename, fsync of the folder. Calling twice with the same identity is harmless. @throws AgentError
 * LINK_FILE_WRITE
 */
export function writeLinkFile(folder: string, identity: LinkIdentity): void {
  const seed = Buffer.from(identity.linkSeed);
  const seedHex = Buffer.alloc(seedBytes * 2);
  const head = JSON.stringify({
    agent: identity.agent,
    ledgerEpoch: identity.ledgerEpoch,
    gatewayKey: identity.gatewayKey,
  });
  const bytes = Buffer.concat([
    Buffer.from(`${head.slice(0, -1)},`),
    seedField,
    writeHex(seed, seedHex),
    Buffer.from(`",${JSON.stringify({ gatewayUrl: identity.gatewayUrl }).slice(1)}\n`),
  ]);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    replaceFile(join(folder, fileName), bytes, 0o600);
  } catch (error) {
    const message = `${join(folder, fileName)} could not be written: ${reasonOf(error)}`;
    throw new AgentError("LINK_FILE_WRITE", "unknown", message, { folder }, { cause: error });
  } finally {
    seed.fill(0);
    seedHex.fill(0);
    bytes.fill(0);
  }
}

/**
 * The bytes of link.json in `folder`, not parsed; the caller wipes them. Root calls this too, and
 * an attacker may control the courier, which owns the folder. So no link leads to a file that only
 * root can read, and no pipe makes root wait.
 * @throws AgentError LINK_FILE_MISSING, LINK_FILE_INVALID, FILE_LINK, FILE_KIND, FILE_OWNER,
 * FILE_EXPOSED
 */
export function readLinkBytes(folder: string): Buffer {
  const path = join(folder, fileName);
  let bytes: Uint8Array | null;
  try {
    bytes = readTrusted(path, fileBytesMax, { owner: "folder", isSecret: true });
  } catch (error) {
    if (error instanceof AgentError) throw error;
    throw new AgentError(
      "LINK_FILE_MISSING",
      "none",
      `${path} cannot be read: ${reasonOf(error)}`,
      { path },
      { cause: error },
    );
  }
  if (bytes === null)
    throw new AgentError("LINK_FILE_INVALID", "none", `${path} is too large`, { path });
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/**
 * Reads link.json of `folder`; the caller wipes `linkSeed`.
 * @throws AgentError LINK_FILE_MISSING, LINK_FILE_INVALID, FILE_LINK, FILE_KIND, FILE_OWNER,
 * FILE_EXPOSED
 */
export function readLinkFile(folder: string): LinkIdentity {
  const path = join(folder, fileName);
  const bytes = readLinkBytes(folder);
  try {
    const { linkSeed, rest } = cutSeed(bytes, path);
    const fields = readFields(parseJson(rest), "link.json");
    const { agent, ledgerEpoch, gatewayKey, gatewayUrl } = fields;
    return { agent, ledgerEpoch, gatewayKey, linkSeed, gatewayUrl };
  } catch (error) {
    throw new AgentError(
      "LINK_FILE_INVALID",
      "none",
      `${path} does not hold a link`,
      { path },
      { cause: error },
    );
  } finally {
    bytes.fill(0);
  }
}

/**
 * Decodes the seed from the bytes, and returns the rest of the text with an empty value instead.
 */
function cutSeed(
  bytes: Buffer,
  path: string,
): { readonly linkSeed: Uint8Array; readonly rest: Uint8Array } {
  const invalid = (): AgentError =>
    new AgentError("LINK_FILE_INVALID", "none", `${path} has no link seed`, { path });
  const at = bytes.indexOf(seedField);
  if (at < 0) throw invalid();
  const from = at + seedField.length;
  const to = from + seedBytes * 2;
  const linkSeed = allocateFixedBytes(seedBytes);
  for (let i = 0; i < seedBytes; i++) {
    const high = hexDigit(bytes[from + i * 2]);
    const low = hexDigit(bytes[from + i * 2 + 1]);
    if (high < 0 || low < 0) throw invalid();
    linkSeed[i] = high * 16 + low;
  }
  return { linkSeed, rest: Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]) };
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  if (byte >= 0x61 && byte <= 0x66) return byte - 0x61 + 10;
  return -1;
}

function writeHex(bytes: Uint8Array, into: Buffer): Buffer {
  const digits = Buffer.from("0123456789abcdef");
  bytes.forEach((byte, i) => {
    into[i * 2] = digits[byte >> 4] ?? 0;
    into[i * 2 + 1] = digits[byte & 15] ?? 0;
  });
  return into;
}
