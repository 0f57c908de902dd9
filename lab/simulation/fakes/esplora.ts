/**
 * Stands in for chains/utxo/esplora.ts: the same access to one node, without HTTP, sockets and a
 * provider's pace. The simulated node decides on each answer, and on silence.
 */

import { AgentError } from "../../../base/fault.ts";
import type { Esplora, EsploraAnswer, EsploraOptions } from "../../../chains/utxo/esplora.ts";
import { kernel } from "../kernel/kernel.ts";

export function createEsplora({ url: address }: EsploraOptions): Esplora {
  const url = typeof address === "string" ? address : address.url;
  let isClosed = false;
  return {
    origin: url,
    ask({ path, body }) {
      const endpoint = kernel.nodes.get(url);
      if (isClosed || endpoint === undefined) {
        return Promise.reject(
          new AgentError("NODE_CLOSED", "none", "the connection to the node is closed", { path }),
        );
      }
      return endpoint.call(path, [body], body !== undefined) as Promise<EsploraAnswer>;
    },
    refusal: () => null,
    close() {
      isClosed = true;
    },
  };
}
