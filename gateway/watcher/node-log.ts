/**
 * What the nodes of a chain went through, as lines of the log at the level of their event. Touches
 * nothing.
 */
import type { NodeLog } from "../../chains/nodes.ts";
import type { GatewayLog } from "../../protocol/log.ts";

/**
 * A node's own words come as `detail`: `message` is the line's. `node-outlier` is of reads that the
 * gateway does not make.
 * @public
 */
export function nodeLog(log: GatewayLog, chain: string): NodeLog {
  return (event, { message: detail = "", ...context }) => {
    const fields = { chain, ...context, detail };
    if (event === "node-failed") log.warn({ event, ...fields }, "a node failed");
    else if (event === "node-recovered") log.info({ event, ...fields }, "a node answers again");
    else if (event === "entry-unknown") log.warn({ event, ...fields }, "an entry with an amount moves no coins");
    else if (event === "node-wrong-chain") log.error({ event, ...fields }, "a node is of another chain");
  };
}
