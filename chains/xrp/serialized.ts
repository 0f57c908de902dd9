/**
 * The bytes of a payment of XRP, and of an AccountSet that changes nothing, as the ledger writes
 * them: fields in the order of their codes, each behind its code. Written, and read back strictly.
 * Pure. Source: xrpl.org, "Binary format".
 */

/** Addresses as 20 bytes, amounts in drops. An AccountSet has no `paid`. */
export interface Fields {
  readonly account: Uint8Array;
  readonly sequence: bigint;
  readonly lastLedger: bigint;
  readonly feeDrops: bigint;
  readonly signingKey: Uint8Array; // 33 bytes
  readonly paid: {
    readonly destination: Uint8Array;
    readonly tag: bigint | null;
    readonly drops: bigint;
  } | null;
}

/** TransactionType: 0 pays, 3 sets nothing and uses the sequence up. */
const types = { payment: 0n, accountSet: 3n } as const;
/** The only flag, tfFullyCanonicalSig. */
const flags = 0x8000_0000n;
/** An amount of XRP: the bit that says "not negative", and 62 bits of drops. */
const positive = 1n << 62n;

/** A field: its code, its number of bytes, and whether its length stands before it. */
interface Layout {
  readonly code: readonly number[];
  readonly bytes: number;
  readonly isSized?: true;
}

const uint32 = (...code: readonly number[]): Layout => ({ code, bytes: 4 });
const amount = (code: number): Layout => ({ code: [code], bytes: 8 });
const layouts = {
  type: { code: [0x12], bytes: 2 },
  flags: uint32(0x22),
  sequence: uint32(0x24),
  tag: uint32(0x2e),
  lastLedger: uint32(0x20, 0x1b),
  drops: amount(0x61),
  feeDrops: amount(0x68),
  signingKey: { code: [0x73], bytes: 33, isSized: true },
  account: { code: [0x81], bytes: 20, isSized: true },
  destination: { code: [0x83], bytes: 20, isSized: true },
} as const satisfies Readonly<Record<string, Layout>>;
const signatureCode = 0x74;

/**
 * The bytes without a signature, or with one in DER. The fields must fit their numbers of bytes.
 */
export function encodeFields(fields: Fields, signature: Uint8Array | null = null): Uint8Array {
  const { paid } = fields;
  const sized =
    signature === null ? [] : [Uint8Array.of(signatureCode, signature.length), signature];
  return Uint8Array.from(
    Buffer.concat([
      number(layouts.type, paid === null ? types.accountSet : types.payment),
      number(layouts.flags, flags),
      number(layouts.sequence, fields.sequence),
      ...(paid === null || paid.tag === null ? [] : [number(layouts.tag, paid.tag)]),
      number(layouts.lastLedger, fields.lastLedger),
      ...(paid === null ? [] : [number(layouts.drops, positive | paid.drops)]),
      number(layouts.feeDrops, positive | fields.feeDrops),
      field(layouts.signingKey, fields.signingKey),
      ...sized,
      field(layouts.account, fields.account),
      ...(paid === null ? [] : [field(layouts.destination, paid.destination)]),
    ]),
  );
}

/** Reads bytes without a signature; null for all that `encodeFields` does not write. */
export function decodeFields(bytes: Uint8Array): Fields | null {
  const reader = new FieldReader(bytes);
  const isPayment = reader.number(layouts.type) === types.payment;
  reader.number(layouts.flags);
  const sequence = reader.number(layouts.sequence);
  const tag = isPayment && reader.isNext(layouts.tag) ? reader.number(layouts.tag) : null;
  const lastLedger = reader.number(layouts.lastLedger);
  const drops = isPayment ? reader.number(layouts.drops) & ~positive : 0n;
  const feeDrops = reader.number(layouts.feeDrops) & ~positive;
  const signingKey = reader.field(layouts.signingKey);
  const account = reader.field(layouts.account);
  const paid = isPayment ? { destination: reader.field(layouts.destination), tag, drops } : null;
  const fields = { account, sequence, lastLedger, feeDrops, signingKey, paid };
  // Other flags, another type, a sign or a byte too many: all of it makes other bytes.
  return reader.isBroken || Buffer.compare(encodeFields(fields), bytes) !== 0 ? null : fields;
}

function number(layout: Layout, value: bigint): Uint8Array {
  return field(layout, Buffer.from(value.toString(16).padStart(2 * layout.bytes, "0"), "hex"));
}

function field({ code, bytes, isSized }: Layout, value: Uint8Array): Uint8Array {
  return Uint8Array.of(...code, ...(isSized ? [bytes] : []), ...value);
}

/** Reads fields from the front. After the first fault everything reads as nothing. */
class FieldReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  isBroken = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  isNext({ code }: Layout): boolean {
    return code.every((byte, place) => this.#bytes[this.#at + place] === byte);
  }

  field(layout: Layout): Uint8Array {
    const start = this.#at + layout.code.length + (layout.isSized ? 1 : 0);
    if (this.isBroken || !this.isNext(layout) || start + layout.bytes > this.#bytes.length) {
      this.isBroken = true;
      return new Uint8Array(layout.bytes);
    }
    this.#at = start + layout.bytes;
    return this.#bytes.slice(start, this.#at);
  }

  number(layout: Layout): bigint {
    return BigInt(`0x${Buffer.from(this.field(layout)).toString("hex")}`);
  }
}
