/**
 * Writes the events of a chain's nodes as lines of the log, at the level of each event. Touches
 * nothing else.
 */

import type { AgentError } from "../../base/fault.ts";
import type { GatewayLog } from "../../base/log.ts";
import type { NodeLog } from "../../chains/nodes.ts";

/**
 * A node's own text is in `detail`; `message` is the line's. `node-outlier` belongs to reads that
 * the gateway does not make.
 */
export function nodeLog(log: GatewayLog, chain: string): NodeLog {
  return (event, { message: detail = "", ...context }) => {
    const fields = { chain, ...context, detail };
    if (event === "node-failed") log.warn({ event, ...fields }, "a node failed");
    else if (event === "node-recovered") log.info({ event, ...fields }, "a node answers again");
    else if (event === "entry-unknown")
      log.warn({ event, ...fields }, "an entry with an amount moves no coins");
    else if (event === "node-wrong-chain")
      log.error({ event, ...fields }, "a node is of another chain");
  };
}

/** A fault with the node that gave it, in the node's own words. */
export function faultWords({ code, message, context }: AgentError): string {
  const { node, method } = context;
  if (typeof node !== "string") return `${code}: ${message}`;
  return `${code}: ${node} answers${typeof method === "string" ? ` ${method}` : ""}: ${message}`;
}
