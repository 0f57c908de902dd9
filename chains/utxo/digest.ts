/**
 * Digests that get signed for P2WPKH coins, and signatures as the chain writes them. Every
 * signature covers the whole transaction (SIGHASH_ALL). Pure. Sources: BIP-143; BIP-66 for the
 * form of a signature.
 */
import { keyHashOf, signedScriptOf } from "./address.ts";
import { joinBytes, uint32, uint64, withLength } from "./bytes.ts";
import { sha256Twice } from "./hash.ts";
import { encodeOutput, outpointOf } from "./raw-transaction.ts";
import type { UnsignedTransaction } from "./unsigned.ts";

const hashTypeAll = 1;
const der = { sequence: 0x30, integer: 0x02 } as const;

/** The digest (32 bytes) of each P2WPKH coin in the order of the inputs; null for another coin. */
export function digestsOf({
  transaction,
  coins,
}: UnsignedTransaction): readonly (Uint8Array | null)[] {
  const { version, inputs, outputs, lockTime } = transaction;
  const outpoints = sha256Twice(joinBytes(inputs.map(outpointOf)));
  const sequences = sha256Twice(joinBytes(inputs.map(({ sequence }) => uint32(sequence))));
  const paid = sha256Twice(joinBytes(outputs.map(encodeOutput)));
  return inputs.map((input, place) => {
    const coin = coins[place];
    const keyHash = coin === undefined ? null : keyHashOf(coin.script);
    if (coin === undefined || keyHash === null) return null;
    const script = withLength(signedScriptOf(keyHash));
    const own = [outpointOf(input), script, uint64(coin.units), uint32(input.sequence)];
    const parts = [
      uint32(version),
      outpoints,
      sequences,
      ...own,
      paid,
      uint32(lockTime),
      uint32(hashTypeAll),
    ];
    return sha256Twice(joinBytes(parts));
  });
}

/** A signature r(32) ‖ s(32) in DER, and behind it the byte of SIGHASH_ALL. */
export function encodeSignature(pair: Uint8Array): Uint8Array {
  const integers = joinBytes([integer(pair.subarray(0, 32)), integer(pair.subarray(32, 64))]);
  return Uint8Array.of(der.sequence, integers.length, ...integers, hashTypeAll);
}

/** The shortest form; a zero keeps a high first bit from being a sign. */
function integer(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const shortest = bytes.subarray(first === -1 ? bytes.length - 1 : first);
  const padded = (shortest[0] ?? 0) >= 0x80 ? [0, ...shortest] : [...shortest];
  return Uint8Array.of(der.integer, padded.length, ...padded);
}
