/**
 * Writes events of a chain's nodes as lines of the log, at the level of the event. Touches nothing.
 */

import type { AgentLog } from "../../../base/log.ts";
import type { NodeLog } from "../../../chains/nodes.ts";

/** A node's own text comes as `detail`, because `message` is the line's. */
export function nodeLog(log: AgentLog, chain: string): NodeLog {
  return (event, { message: detail = "", ...context }) => {
    const fields = { chain, ...context, detail };
    if (event === "node-failed") log.warn({ event, ...fields }, "a node failed");
    else if (event === "node-recovered") log.info({ event, ...fields }, "a node answers again");
    else if (event === "node-outlier")
      log.warn({ event, ...fields }, "a node stands apart from the others");
    else if (event === "coin-unused")
      log.warn({ event, ...fields }, "a coin of the hot wallet is not used");
    else if (event === "node-wrong-chain")
      log.error({ event, ...fields }, "a node is of another chain");
  };
}
