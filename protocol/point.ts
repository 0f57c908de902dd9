/**
 * Checks that 32 bytes are a public key on which Ed25519 can rely: a point of the curve in
 * canonical form and not of small order. Under a point of small order one signature fits many
 * messages. RFC 8032 section 5.1.3; node's own check covers none of this. Works only on public
 * data, so the time need not be constant.
 */

const prime = 2n ** 255n - 19n;
const curveD = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

// The y coordinates of the eight points of small order.
const smallOrderYs = new Set([
  0n,
  1n,
  prime - 1n,
  2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  55188659117513257062467267217118295137698188065244968500265048394206261417927n,
]);

export function isUsablePoint(raw: Uint8Array): boolean {
  const y = BigInt(`0x${Buffer.from(raw).reverse().toString("hex")}`) & (2n ** 255n - 1n);
  if (y >= prime || smallOrderYs.has(y)) return false;
  // x² = u/v has a root exactly when u·v is a square.
  const u = modulo(y * y - 1n);
  const v = modulo(curveD * y * y + 1n);
  return power(modulo(u * v), (prime - 1n) / 2n) === 1n;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = base;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = modulo(result * square);
    square = modulo(square * square);
  }
  return result;
}

function modulo(value: bigint): bigint {
  const rest = value % prime;
  return rest < 0n ? rest + prime : rest;
}
