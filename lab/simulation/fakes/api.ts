/**
 * Stands in for chains/tron/rpc.ts: the same access to one node, without HTTP, bytes and a
 * provider's pace. The simulated node decides on each answer, and on silence.
 */

import { AgentError } from "../../../base/fault.ts";
import type { Api, ApiOptions } from "../../../chains/tron/rpc.ts";
import { kernel } from "../kernel/kernel.ts";

export function createApi({ url: address }: ApiOptions): Api {
  const url = typeof address === "string" ? address : address.url;
  let isClosed = false;
  return {
    origin: url,
    ask(path, fields, { isWrite = false }) {
      const endpoint = kernel.nodes.get(url);
      if (isClosed || endpoint === undefined) {
        return Promise.reject(
          new AgentError("NODE_CLOSED", "none", "the connection to the node is closed", { path }),
        );
      }
      return endpoint.call(path, [fields], isWrite);
    },
    refusal: () => null,
    close() {
      isClosed = true;
    },
  };
}
