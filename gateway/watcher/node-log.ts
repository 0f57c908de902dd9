/**
 * What the nodes of a chain went through, as lines of the log at the level of their event. Touches
 * nothing.
 */
import type { NodeLog } from "../../chains/nodes.ts";
import type { GatewayLog } from "../../protocol/log.ts";

/** A node's own words come as `detail`: `message` is the line's. */
export function nodeLog(log: GatewayLog, chain: string): NodeLog {
  return (event, { message: detail = "", ...context }) => {
    const fields = { chain, ...context, detail };
    if (event === "node-failed") log.warn({ event, ...fields }, "a node failed");
    else if (event === "node-recovered") log.info({ event, ...fields }, "a node answers again");
    // Of reads that the gateway does not make: it compares what each of its nodes says by itself.
    else if (event === "node-outlier") return;
    else log.error({ event, ...fields }, "a node is of another chain");
  };
}
