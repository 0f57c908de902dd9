/** The order in which the nodes of a chain are asked. Pure. */
import { comparedHeight } from "../heights.ts";
import type { Heads } from "./node-heads.ts";

interface AskedNode {
  readonly restUntil: number; // by the pool's clock
  readonly heads: Heads;
}

/** Nodes in the order in which they are asked. */
export function inOrder<N extends AskedNode>(nodes: readonly N[], nowMs: number): readonly N[] {
  // Among nodes that answer, those that lack blocks come last, because their answers are old.
  const height = comparedHeight(nodes.flatMap(({ heads }) => heads.number ?? [])) ?? 0;
  const blockMs = nodes.reduce<number | null>((known, { heads }) => known ?? heads.blockMs, null);
  const rank = ({ restUntil, heads }: N): number =>
    restUntil > nowMs ? 2 : heads.isBehind(height, blockMs) ? 1 : 0;
  // At one height, a head comes first that stands on a block of another node too.
  const isJoined = (node: N): boolean =>
    nodes.some((other) => other !== node && node.heads.isJoinedTo(other.heads));
  const isApart = (node: N): boolean =>
    !isJoined(node) &&
    nodes.some((other) => other.heads.number === node.heads.number && isJoined(other));
  const place = new Map(nodes.map((node) => [node, rank(node) + (isApart(node) ? 0.5 : 0)]));
  return [...nodes].sort((a, b) => (place.get(a) ?? 0) - (place.get(b) ?? 0));
}
