/**
 * Stands in for chains/curve/point.ts: the same points, each decompressed once in a process, since
 * the root that it takes costs more than most of what a run does with the point.
 */
import * as real from "../../../chains/curve/point.ts";

export const { hashOfPoint } = real;

const points = new Map<string, Uint8Array>(); // by public key, hex

export function pointOf(publicKey: Uint8Array): Uint8Array {
  const name = Buffer.from(publicKey).toString("hex");
  const point = points.get(name) ?? real.pointOf(publicKey);
  points.set(name, point);
  return point;
}
