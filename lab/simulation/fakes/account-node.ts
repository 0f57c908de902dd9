/**
 * Stands in for chains/curve/account-node.ts: the same keys, each derived once in a process, since
 * deriving takes longer than most of what a run does with it.
 */
import * as real from "../../../chains/curve/account-node.ts";

export const { keyPathsOfCoinType, extendedKeyOf, accountKeyOf } = real;

/** By account and place. */
function once(derive: typeof real.childKeyOf): typeof real.childKeyOf {
  const known = new Map<string, Uint8Array>();
  return (xpub, addressIndex) => {
    const place = `${xpub} ${addressIndex}`;
    const key = known.get(place) ?? derive(xpub, addressIndex);
    known.set(place, key);
    return key;
  };
}

export const childKeyOf = once(real.childKeyOf);
export const childPointOf = once(real.childPointOf);
