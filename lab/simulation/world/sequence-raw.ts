/**
 * Signed transactions of the XRP Ledger read by the codec of its makers, which shares nothing with
 * the code that builds them: what the simulated chain, and every invariant about what left the
 * signer, goes by.
 */
import { createHash } from "node:crypto";
import { decode, encode } from "ripple-binary-codec";
import { recover } from "../fakes/curve.ts";
import type { SignedTransaction } from "./raw.ts";

/** A ledger's number is this much above the simulated chain's own. */
export const ledgersBefore = 90_000_000;

/** The fields by which nodes show a transaction. */
export interface TransactionSummary {
  readonly kind: "Payment" | "AccountSet";
  readonly account: string;
  readonly destination: string; // "" for none
  readonly tag: string; // "" for none
}

export interface SequenceTransaction extends SignedTransaction {
  readonly shown: TransactionSummary;
}

const known = new Map<string, SequenceTransaction | null>();
const knownMax = 2_000;

/** The payee of an order or a payment: another tag is another payee. */
export function payeeText(address: string, tag: string): string {
  return tag === "" ? address : `${address}:${tag}`;
}

/** Null for bytes that are no signed payment or cancel. The same bytes are read once. */
export function readSequenceRaw(raw: string): SequenceTransaction | null {
  const hex = raw.replace(/^0x/, "").toUpperCase();
  const before = known.get(hex);
  if (before !== undefined) return before;
  const read = readHex(hex);
  if (known.size >= knownMax) known.clear();
  known.set(hex, read);
  return read;
}

function readHex(hex: string): SequenceTransaction | null {
  const { TxnSignature: signature, ...fields } = decode(hex) as Readonly<
    Record<string, string | number>
  >;
  const {
    Account: account,
    TransactionType: kind,
    Destination: destination = "",
    DestinationTag: tag = "",
  } = fields;
  if (kind !== "Payment" && kind !== "AccountSet") return null;
  const unsigned = Buffer.concat([Buffer.from("STX\0"), Buffer.from(encode(fields), "hex")]);
  if (signerOf(half(unsigned), String(signature)) !== fields.SigningPubKey) return null;
  const shown = {
    kind,
    account: String(account),
    destination: String(destination),
    tag: String(tag),
  } as const;
  const from = shown.account.toLowerCase();
  const units = BigInt(fields.Amount ?? 0);
  const receiver =
    kind === "Payment" ? payeeText(shown.destination, shown.tag).toLowerCase() : from;
  return {
    hash: half(Buffer.concat([Buffer.from("TXN\0"), Buffer.from(hex, "hex")]))
      .toString("hex")
      .toUpperCase(),
    ...{
      from,
      chainId: 0,
      nonce: Number(fields.Sequence),
      tipWei: 0n,
      feeMaxWei: BigInt(fields.Fee ?? 0),
      gasLimit: 1n,
    },
    ...{ to: receiver, valueWei: units, data: "0x", payment: { contract: "", receiver, units } },
    lastBlock: Number(fields.LastLedgerSequence) - ledgersBefore,
    shown,
  };
}

function half(bytes: Uint8Array): Buffer {
  return createHash("sha512").update(bytes).digest().subarray(0, 32);
}

/**
 * The compressed key that signed, "" for none: both integers of the signature are of the fake
 * curve.
 */
function signerOf(digest: Buffer, signature: string): string {
  const der = Buffer.from(signature, "hex");
  const integers: Buffer[] = [];
  for (let at = 2; at < der.length; at += 2 + (der[at + 1] ?? 0))
    integers.push(der.subarray(at + 2, at + 2 + (der[at + 1] ?? 0)));
  const pair = Buffer.concat(
    integers.map((one) => Buffer.from(one.toString("hex").padStart(64, "0").slice(-64), "hex")),
  );
  const point = recover(digest, pair, 0) ?? recover(digest, pair, 1);
  if (point === null) return "";
  const sign = ((point[64] ?? 0) & 1) === 0 ? "02" : "03";
  return `${sign}${Buffer.from(point.subarray(1, 33)).toString("hex")}`.toUpperCase();
}
