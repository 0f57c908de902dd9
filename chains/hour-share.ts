/**
 * The kinds of work for which a server with a limit by the hour is asked: payouts and blocks first,
 * then the looks for which orders wait, then comparison. Pure.
 */
import type { NodeStatus } from "./nodes.ts";

/** Work that waits while its share of the hour is used up. Payouts and blocks have all of it. */
export type DeferrableWork = "looks" | "comparison";

const shares: Readonly<Record<DeferrableWork, number>> = { looks: 0.9, comparison: 0.75 };
/** From this share on it is told. */
const toldShare = 0.9;

/** Whether enough nodes of a chain have questions left for this work. */
export function hasQuestionsLeftFor(
  work: DeferrableWork,
  nodes: readonly Pick<NodeStatus, "hour">[],
): boolean {
  return nodes.filter((node) => !isAbove(node, shares[work])).length >= Math.min(2, nodes.length);
}

/** Whether a server was asked almost as often as its hour allows. */
export function isNearLimit(node: Pick<NodeStatus, "hour">): boolean {
  return isAbove(node, toldShare);
}

function isAbove({ hour }: Pick<NodeStatus, "hour">, share: number): boolean {
  return hour !== null && hour !== undefined && hour.asked >= share * hour.perHour;
}
