/**
 * One answer out of those of several nodes, each asked by itself. Reaches the network through its
 * callers alone.
 */
import { AgentError } from "../../protocol/fault.ts";

/**
 * The first answer that min(2, configured) nodes give alike. Asks no more nodes than it needs while
 * they agree.
 * @throws AgentError NODE_DISAGREE, or a node's fault when too few answered.
 * @public
 */
export async function agreement<N, T>(
  nodes: readonly N[],
  ask: (node: N) => Promise<T>,
  keyOf: (value: T) => string,
  what: string,
): Promise<T> {
  const witnesses = Math.min(2, nodes.length);
  const votes = new Map<string, number>();
  let fault: AgentError | null = null;
  let answered = 0;
  for (let next = 0; next < nodes.length; ) {
    const wave = nodes.slice(next, next === 0 ? witnesses : next + 1);
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
      if (count >= witnesses) return settled.value;
      votes.set(key, count);
    }
  }
  if (answered < witnesses && fault !== null) throw fault;
  throw new AgentError("NODE_DISAGREE", "none", `the nodes do not agree on the ${what}`, { what, versions: votes.size });
}
