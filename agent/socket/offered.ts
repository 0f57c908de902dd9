/**
 * The courier's offer, and its form on the socket: the transactions that made the coins go as
 * frames before the line, cut into pieces, and the line has their lengths. Types, limits, and the
 * two conversions.
 */

import { shapeFault } from "../../base/shape.ts";
import type { TxParams } from "../../chains/family.ts";

/** The courier's offer for an attempt. */
export interface CourierOffer {
  readonly txParams: TxParams;
  /**
   * The transactions that made the coins, as hex, in the coins' order; left out where the chain has
   * no coins.
   */
  readonly evidence?: readonly string[];
}

/** An offer on the socket. */
export interface FramedOffer {
  readonly txParams: TxParams;
  readonly evidence?: readonly number[]; // bytes of each transaction
  readonly frames?: readonly Uint8Array[]; // their bytes behind one another, in pieces
}

/** The most transactions of one offer, the most bytes of each, and of one piece. */
export const evidenceMax = 64;
export const evidenceBytesMax = 100_000;
export const evidencePieceBytes = 65_536;
export const evidenceFramesMax: number = Math.ceil(
  (evidenceMax * evidenceBytesMax) / evidencePieceBytes,
);

/** A body of an offer as it goes over the socket; without evidence, the body itself. */
export function framedOffer<T extends CourierOffer>(body: T): Omit<T, "evidence"> & FramedOffer {
  const { evidence, ...rest } = body;
  if (evidence === undefined) return rest;
  const each = evidence.map((hex) => Buffer.from(hex, "hex"));
  const all = Buffer.concat(each);
  const frames: Uint8Array[] = [];
  for (let at = 0; at < all.length; at += evidencePieceBytes)
    frames.push(all.subarray(at, at + evidencePieceBytes));
  return { ...rest, evidence: each.map(({ length }) => length), frames };
}

/** @throws AgentError JSON_SHAPE if the pieces have more or fewer bytes than the lengths say */
export function offerOf({ txParams, evidence, frames = [] }: FramedOffer): CourierOffer {
  const pieces = Buffer.concat(frames);
  const total = (evidence ?? []).reduce((sum, length) => sum + length, 0);
  if (pieces.length !== total)
    throw shapeFault("evidence", `must be as long as its frames, ${pieces.length} bytes`);
  if (evidence === undefined) return { txParams };
  let at = 0;
  const texts = evidence.map((length) => {
    at += length;
    return pieces.toString("hex", at - length, at);
  });
  return { txParams, evidence: texts };
}
