/**
 * Addresses that no key can have, because the protocol itself uses the lowest ones: precompiled
 * contracts and system contracts. Money that is paid there is lost. Source: Yellow Paper, appendix
 * E; TIP-60 and later for the same addresses on Tron.
 */

/** No search for a key reaches an address whose first 16 bytes are zero. */
const zeroBytes = 16;

/** True for the 20 bytes of such an address, also behind a prefix of the chain. */
export function isReservedAddress(bytes: Uint8Array): boolean {
  return bytes
    .subarray(-20)
    .subarray(0, zeroBytes)
    .every((byte) => byte === 0);
}
