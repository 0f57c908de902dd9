/**
 * The bytes of a backup file: a readable first line, then chunks. Each chunk is in a box of its own
 * under a key from encKey, or plain if the backup holds no keys. The box nonce marks the last
 * chunk, so a file that was cut short does not open to its end. Touches no disk. Format:
 * docs/backup.md section 2. Source: NaCl secretbox; the STREAM construction (Hoang et al., 2015).
 */
import { createHash } from "node:crypto";
import nacl from "tweetnacl";
import {
  assertKdfCost,
  deriveBoxKey,
  hkdfFields,
  type KeystoreKdf,
  newKdf,
  scryptFields,
} from "../../agent/keystore/box-key.ts";
import { AgentError } from "../../base/fault.ts";
import { parseJson } from "../../base/json.ts";
import { hex, integer, nullable, object, oneOf } from "../../base/shape.ts";
import {
  createPartNameReader,
  type Manifest,
  type ManifestPart,
  manifestBytesMax,
  readManifest,
} from "./manifest.ts";

const version = 1;
const label = "autowithdraw/1 backup";
const headerBytesMax = 1024;
/** Plain bytes of a chunk: large enough for speed, small enough that memory holds chunk and box. */
const chunkBytesMax = 1024 * 1024;
const boxNoncePrefixBytes = 16;
/** The largest file of a state folder is a segment of 16 MiB. */
const partBytesMax = 128 * 1024 * 1024;

const kinds = { begin: 1, bytes: 2, manifest: 3 } as const;

const plainHeader = object({
  autowithdraw: oneOf("backup"),
  version: integer(),
  kdf: nullable(hex(0)),
  boxNonce: nullable(hex(0)),
});
const hkdfHeader = object({
  autowithdraw: oneOf("backup"),
  version: integer(),
  kdf: hkdfFields,
  boxNonce: hex(boxNoncePrefixBytes),
});
const scryptHeader = object({
  autowithdraw: oneOf("backup"),
  version: integer(),
  kdf: scryptFields,
  boxNonce: hex(boxNoncePrefixBytes),
});

/** The boxes of the chunks; null in a backup without keys. */
interface Box {
  readonly key: Uint8Array; // the caller wipes it
  readonly prefix: Uint8Array;
}

/** One complete file in a backup. The receiver wipes its bytes. */
export interface BackupPart {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * Writes a backup: each `part` in the order of the calls, then `finish`. `wipe` is for the exit
 * after an error.
 */
export class BackupWriter {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #box: Box | null;
  readonly #parts: ManifestPart[] = [];
  #chunks = 0;

  /** Without `encKey` nothing is boxed. Deriving a key from a passphrase takes about a second. */
  constructor(
    encKey: Uint8Array | null,
    random: (bytes: number) => Uint8Array,
    write: (bytes: Uint8Array) => void,
  ) {
    this.#write = write;
    const kdf = encKey === null ? null : newKdf({ encKey, random });
    const prefix = random(boxNoncePrefixBytes);
    const boxNonce = kdf === null ? null : Buffer.from(prefix).toString("hex");
    const header = JSON.stringify({ autowithdraw: "backup", version, kdf, boxNonce });
    this.#box =
      encKey === null || kdf === null
        ? null
        : { key: deriveBoxKey({ label, header, kdf, encKey }), prefix };
    write(Buffer.from(`${header}\n`));
  }

  /** Writes one file. The caller keeps and wipes its bytes. */
  part({ name, bytes }: BackupPart): void {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#parts.push({ name, bytes: bytes.length, sha256 });
    this.#chunk(kinds.begin, Buffer.from(JSON.stringify({ name, bytes: bytes.length })), false);
    for (let at = 0; at < bytes.length; at += chunkBytesMax)
      this.#chunk(kinds.bytes, bytes.subarray(at, at + chunkBytesMax), false);
  }

  /** Writes the manifest as the last chunk, and wipes the key. */
  finish(fields: Omit<Manifest, "parts">): Manifest {
    const manifest = { ...fields, parts: this.#parts };
    this.#chunk(kinds.manifest, Buffer.from(JSON.stringify(manifest)), true);
    this.wipe();
    return manifest;
  }

  /** Twice is harmless. */
  wipe(): void {
    this.#box?.key.fill(0);
  }

  #chunk(kind: number, bytes: Uint8Array, isLast: boolean): void {
    const plain = new Uint8Array(1 + bytes.length);
    plain[0] = kind;
    plain.set(bytes, 1);
    const body =
      this.#box === null
        ? plain
        : nacl.secretbox(plain, boxNonceOf(this.#box, this.#chunks, isLast), this.#box.key);
    if (this.#box !== null) plain.fill(0);
    this.#chunks += 1;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    this.#write(length);
    this.#write(body);
  }
}

/** prefix(16) ‖ last(1) ‖ zero(1) ‖ chunk number(6), big-endian, from 0. */
function boxNonceOf({ prefix }: Box, chunk: number, isLast: boolean): Uint8Array {
  const boxNonce = Buffer.alloc(nacl.secretbox.nonceLength);
  boxNonce.set(prefix);
  boxNonce[16] = isLast ? 1 : 0;
  boxNonce.writeUIntBE(chunk, 18, 6);
  return boxNonce;
}

/** Reads `length` bytes of the file from `at` on, fewer at its end. */
export type FileReader = (at: number, length: number) => Uint8Array;

interface Header {
  readonly text: string;
  readonly kdf: KeystoreKdf | null;
  readonly prefix: Uint8Array;
}

/** True if reading the file needs encKey. @throws AgentError BACKUP_DAMAGED, BACKUP_NEWER */
export function isSealed(read: FileReader): boolean {
  return readHeader(read).kdf !== null;
}

function readHeader(read: FileReader): Header {
  const head = Buffer.from(read(0, headerBytesMax));
  const end = head.indexOf(0x0a);
  const text = head.toString("utf8", 0, Math.max(0, end));
  try {
    const value = parseJson(Buffer.from(text));
    const { version: found, kdf } = value as {
      readonly version?: unknown;
      readonly kdf?: { readonly name?: unknown } | null;
    };
    if (typeof found === "number" && found > version)
      throw new AgentError("BACKUP_NEWER", "none", "the backup was made by a newer version", {
        version: found,
      });
    if (kdf === null) {
      plainHeader(value, "backup");
      return { text, kdf, prefix: new Uint8Array(0) };
    }
    const sealed =
      kdf?.name === "hkdf" ? hkdfHeader(value, "backup") : scryptHeader(value, "backup");
    assertKdfCost(sealed.kdf);
    return { text, kdf: sealed.kdf, prefix: Uint8Array.from(Buffer.from(sealed.boxNonce, "hex")) };
  } catch (cause) {
    if (cause instanceof AgentError && cause.code === "BACKUP_NEWER") throw cause;
    throw new AgentError(
      "BACKUP_DAMAGED",
      "none",
      "the file does not begin as a backup does",
      {},
      { cause },
    );
  }
}

/**
 * Gives each part as soon as it is complete, then compares all parts with the manifest and returns
 * the manifest. A part counts as good only after that, so a caller that writes parts to disk reads
 * the file twice.
 * @throws AgentError BACKUP_DAMAGED, BACKUP_ENCKEY, BACKUP_NEWER
 */
export function* readBackup(
  read: FileReader,
  encKey: Uint8Array | null,
): Generator<BackupPart, Manifest> {
  const header = readHeader(read);
  const box = openBox(header, encKey);
  try {
    const found: ManifestPart[] = [];
    let open: { readonly name: string; readonly bytes: Buffer; filled: number } | null = null;
    for (const { kind, bytes } of chunksOf(read, Buffer.byteLength(header.text) + 1, box)) {
      if (kind === kinds.bytes) {
        if (open === null || open.filled + bytes.length > open.bytes.length)
          throw broken("a part is longer than it says");
        open.bytes.set(bytes, open.filled);
        open.filled += bytes.length;
      } else {
        if (open !== null) yield closePart(open, found);
        open = null;
        if (kind === kinds.manifest) return matched(readManifest(bytes), found);
        if (kind !== kinds.begin) throw broken("a chunk is of no known kind");
        open = beginPart(bytes);
      }
      bytes.fill(0);
    }
    throw broken("it has no manifest");
  } finally {
    box?.key.fill(0);
  }
}

function openBox(header: Header, encKey: Uint8Array | null): Box | null {
  if (header.kdf === null) return null;
  if (encKey === null)
    throw new AgentError("BACKUP_ENCKEY", "none", "the backup is sealed, and no encKey was given");
  try {
    return {
      key: deriveBoxKey({ label, header: header.text, kdf: header.kdf, encKey }),
      prefix: header.prefix,
    };
  } catch (cause) {
    throw new AgentError(
      "BACKUP_ENCKEY",
      "none",
      "the backup was sealed with a key of 32 bytes, this is none",
      {},
      { cause },
    );
  }
}

function beginPart(bytes: Uint8Array): {
  readonly name: string;
  readonly bytes: Buffer;
  filled: number;
} {
  let begun: { readonly name: string; readonly bytes: number };
  try {
    begun = partBegin(parseJson(bytes), "part");
  } catch (cause) {
    throw broken("a part does not begin as one does", cause);
  }
  return { name: begun.name, bytes: Buffer.alloc(begun.bytes), filled: 0 };
}

function closePart(
  {
    name,
    bytes,
    filled,
  }: { readonly name: string; readonly bytes: Buffer; readonly filled: number },
  found: ManifestPart[],
): BackupPart {
  if (filled !== bytes.length) throw broken(`${name} is shorter than it says`);
  found.push({
    name,
    bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  });
  return { name, bytes };
}

/** Returns the manifest if it lists exactly the parts that were found. */
function matched(manifest: Manifest, found: readonly ManifestPart[]): Manifest {
  const isTwice = new Set(found.map(({ name }) => name)).size < found.length;
  if (isTwice || JSON.stringify(manifest.parts) !== JSON.stringify(found))
    throw broken("its parts are not those of its manifest");
  return manifest;
}

interface Chunk {
  readonly kind: number;
  readonly bytes: Uint8Array;
}

/**
 * Every chunk, opened; the last one ends the file. Layout: length(4), big-endian ‖ box or
 * plain(length), of kind(1) ‖ bytes.
 */
function* chunksOf(read: FileReader, start: number, box: Box | null): Generator<Chunk> {
  let at = start;
  for (let chunk = 0; ; chunk++) {
    const length = Buffer.from(read(at, 4));
    if (length.length < 4) throw broken("it is cut short");
    const size = length.readUInt32BE();
    if (size === 0 || size > manifestBytesMax + 1 + nacl.secretbox.overheadLength)
      throw broken("a chunk has an impossible length");
    const body = read(at + 4, size);
    if (body.length < size) throw broken("it is cut short");
    at += 4 + size;
    const isLast = read(at, 1).length === 0;
    const plain =
      box === null ? body : nacl.secretbox.open(body, boxNonceOf(box, chunk, isLast), box.key);
    if (plain === null && chunk === 0)
      throw new AgentError(
        "BACKUP_ENCKEY",
        "none",
        "the backup does not open: wrong encKey, or it was changed",
      );
    const kind = plain?.[0];
    if (plain === null || kind === undefined || (kind === kinds.manifest) !== isLast)
      throw broken(
        isLast ? "it is cut short, or its end was changed" : `its chunk ${chunk + 1} was changed`,
      );
    yield { kind, bytes: plain.subarray(1) };
    if (isLast) return;
  }
}

const partBegin = object({
  name: createPartNameReader(),
  bytes: integer({ min: 0, max: partBytesMax }),
});

function broken(problem: string, cause?: unknown): AgentError {
  return new AgentError(
    "BACKUP_DAMAGED",
    "none",
    `the backup is damaged: ${problem}`,
    {},
    { cause },
  );
}
