/**
 * Stands in for chains/xrp/rpc.ts: the same access to one node, without HTTP, bytes and a
 * provider's pace. The simulated node decides on each answer, and on silence.
 */

import { AgentError } from "../../../base/fault.ts";
import type { Rpc, RpcOptions, RpcReply } from "../../../chains/xrp/rpc.ts";
import { kernel } from "../kernel/kernel.ts";

export function createRpc({ url: address }: RpcOptions): Rpc {
  const url = typeof address === "string" ? address : address.url;
  let isClosed = false;
  return {
    origin: url,
    ask({ method, params, isWrite = false }) {
      const endpoint = kernel.nodes.get(url);
      if (isClosed || endpoint === undefined) {
        return Promise.reject(
          new AgentError("NODE_CLOSED", "none", "the connection to the node is closed", { method }),
        );
      }
      return endpoint.call(method, [params], isWrite) as Promise<RpcReply>;
    },
    refusal: () => null,
    close() {
      isClosed = true;
    },
  };
}
