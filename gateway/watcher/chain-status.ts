/** The state of a chain for operators and the public, from the judgement of its nodes. Pure. */

import type { ChainDelayProblem } from "../../chains/delays.ts";
import type { ChainHealth } from "../../chains/health.ts";
import type { NodeStatus } from "../../chains/nodes.ts";

/** A chain as this watcher reads it, for operators and the public status. */
export interface ChainStatus {
  readonly chain: string; // its name in the configuration
  readonly network: string;
  readonly ok: boolean; // its blocks were read to the newest one lately, and its nodes are well
  readonly detail: string; // the problem, "" when ok; may have a node's own message
  readonly plain: string; // the problem as public text
  readonly head: number | null;
  readonly final: number | null;
  readonly headAgeMs: number | null; // age of the newest block, by its own time
  readonly finalAgeMs: number | null; // age of the newest final block
  readonly delays: readonly ChainDelayProblem[]; // causes of late payments on a chain that is read
  readonly nodes: readonly ChainNode[]; // in the order of the configuration
}

/** One node of a chain, as its answers show it. */
export interface ChainNode {
  readonly url: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly since: number | null; // Unix milliseconds of its first failure in a row or old head; null if ok or not asked yet
  readonly plain: string; // the detail without the node's own text
  readonly lagBlocks: number | null; // how far it is behind the chain's best node
}

export function nodesOf(
  reader: readonly NodeStatus[],
  { nodes }: ChainHealth,
): readonly ChainNode[] {
  return nodes.map(({ url, code, words, plain, since, lagBlocks }, at) => {
    const { ok, detail } = reader[at] as NodeStatus;
    const isUp = ok && code === "";
    return {
      url,
      ok: isUp,
      detail: code === "" ? detail : `${code}: ${words}`,
      plain,
      since: since === 0 ? null : since,
      lagBlocks,
    };
  });
}

/** The nodes' own state is told first, then blocks that nobody keeps, then the pass's fault. */
export function explainChainOutage(
  health: ChainHealth,
  short: ChainDelayProblem | undefined,
  unread: string,
  plain: string,
) {
  const { code, words, plain: bare } = health.code === "" && short !== undefined ? short : health;
  return code === ""
    ? { detail: unread, plain }
    : { detail: `${code}: ${words}`, plain: `${code}: ${bare}` };
}
