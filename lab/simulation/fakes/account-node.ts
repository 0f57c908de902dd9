/**
 * Stands in for chains/curve/account-node.ts: the same keys, each derived once in a process, since
 * deriving takes longer than most of what a run does with it.
 */
import * as real from "../../../chains/curve/account-node.ts";

export const { pathsOf, extendedKeyOf, accountKeyOf } = real;

const keys = new Map<string, Uint8Array>(); // by account and place

export function childKeyOf(xpub: string, addressIndex: number): Uint8Array {
  const place = `${xpub} ${addressIndex}`;
  const key = keys.get(place) ?? real.childKeyOf(xpub, addressIndex);
  keys.set(place, key);
  return key;
}
