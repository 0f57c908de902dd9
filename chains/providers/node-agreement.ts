/**
 * Merges the answers of several nodes, each asked without the others, into one. Reaches the network
 * only through its callers.
 */
import { AgentError } from "../../base/fault.ts";

/**
 * The first answer on which min(2, configured) nodes agree. Asks no more nodes than needed while
 * they agree.
 * @throws AgentError NODE_DISAGREE, or a node's fault when too few answered.
 */
export async function findAgreedAnswer<N, T>(
  nodes: readonly N[],
  ask: (node: N) => Promise<T>,
  keyOf: (value: T) => string,
  what: string,
): Promise<T> {
  const quorum = Math.min(2, nodes.length);
  const votes = new Map<string, number>();
  let fault: AgentError | null = null;
  let answered = 0;
  for (let next = 0; next < nodes.length; ) {
    const wave = nodes.slice(next, next === 0 ? quorum : next + 1);
    next += wave.length;
    for (const settled of await Promise.allSettled(wave.map(ask))) {
      if (settled.status === "rejected") {
        if (!(settled.reason instanceof AgentError)) throw settled.reason;
        fault ??= settled.reason;
        continue;
      }
      answered += 1;
      const key = keyOf(settled.value);
      const count = (votes.get(key) ?? 0) + 1;
      if (count >= quorum) return settled.value;
      votes.set(key, count);
    }
  }
  if (answered < quorum && fault !== null) throw fault;
  throw new AgentError("NODE_DISAGREE", "none", `the nodes do not agree on the ${what}`, {
    what,
    versions: votes.size,
  });
}
