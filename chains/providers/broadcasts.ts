/**
 * Hands signed bytes to the nodes of a chain, and classifies what each said: one rule for every
 * family, which brings a table of its nodes' words and the reader of one reply. Whatever is no
 * acceptance is a refusal, or leaves the bytes in doubt. A refusal decides no payment's fate,
 * because other nodes may have taken the same bytes.
 */
import { AgentError } from "../../base/fault.ts";
import type { BroadcastAnswer, BroadcastMeaning, NodeAnswer } from "../nodes.ts";
import { bestAnswer } from "../standing.ts";

/**
 * Words of nodes and their meaning. A group named `least` holds the least price that the words
 * name.
 */
export interface RefusalRow {
  readonly form: RegExp;
  readonly meaning: BroadcastMeaning;
}

/**
 * One node's reply to signed bytes. `refused`: an answer with status 4xx, or an error in the
 * protocol's form with any words. `doubtful`: the node may have the bytes.
 */
export interface BroadcastReply {
  readonly kind: "taken" | "refused" | "doubtful";
  readonly words: string;
  readonly status?: number; // of HTTP, for a refusal
}

export interface BroadcastOptions<N> {
  readonly nodes: readonly N[];
  readonly refusals: readonly RefusalRow[];
  /** Hands the bytes to one node, at most once. */
  readonly hand: (node: N) => Promise<BroadcastReply>;
}

/** Statuses of HTTP by which a server refuses the question, whatever the bytes are. */
const nodeStatuses: ReadonlySet<number> = new Set([
  401, 402, 403, 404, 405, 407, 408, 425, 429, 451,
]);

export const takenReply: BroadcastReply = { kind: "taken", words: "" };
export const otherIdReply: BroadcastReply = {
  kind: "doubtful",
  words: "the node answered another id",
};

/**
 * The answers until the first node that took the bytes, else of all nodes; as one answer. Rejects
 * only for a bug.
 */
export function broadcastTo<N extends { readonly rpc: { readonly origin: string } }>(
  options: BroadcastOptions<N>,
): Promise<BroadcastAnswer> {
  const { nodes, refusals, hand } = options;
  return new Promise((resolve, reject) => {
    const byNode: NodeAnswer[] = [];
    const end = (): void => resolve({ ...bestAnswer(byNode), byNode: [...byNode] });
    const count = (answer: NodeAnswer): void => {
      byNode.push(answer);
      if (answer.standing === "taken" || byNode.length === nodes.length) end();
    };
    for (const node of nodes)
      askOne(node.rpc.origin, refusals, () => hand(node))
        .then(count)
        .catch(reject);
    if (nodes.length === 0) end();
  });
}

async function askOne(
  node: string,
  refusals: readonly RefusalRow[],
  hand: () => Promise<BroadcastReply>,
): Promise<NodeAnswer> {
  try {
    return nodeAnswerOf(node, refusals, await hand());
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const text = `${error.code}: ${error.message}`;
    // An answer that could not be read came after the bytes had left.
    if (error.effect === "none" && error.code !== "NODE_ANSWER")
      return { node, standing: "unsent", meaning: "", text };
    const { status } = error.context;
    if (error.code === "NODE_QUOTA" && !isServers(status))
      return { node, standing: "refused", meaning: "node", text };
    const isRefused = typeof status === "number" && status >= 400 && status < 500;
    return nodeAnswerOf(
      node,
      refusals,
      isRefused ? { kind: "refused", words: text, status } : { kind: "doubtful", words: text },
    );
  }
}

function isServers(status: unknown): boolean {
  return typeof status === "number" && status >= 500;
}

/** The answer of a node by its reply and its family's table. */
export function nodeAnswerOf(
  node: string,
  refusals: readonly RefusalRow[],
  { kind, words: text, status }: BroadcastReply,
): NodeAnswer {
  if (kind === "taken") return { node, standing: "taken", meaning: "", text };
  if (kind === "doubtful") return { node, standing: kind, meaning: "", text };
  const row = findBroadcastMeaning(refusals, text);
  if (row?.meaning === "known") return { node, standing: "taken", meaning: "known", text };
  const meaning = row?.meaning ?? (nodeStatuses.has(status ?? 0) ? "node" : "");
  return {
    node,
    standing: kind,
    meaning,
    text,
    ...(row?.least === undefined ? {} : { least: row.least }),
  };
}

/** The first row that fits. */
export function findBroadcastMeaning(
  refusals: readonly RefusalRow[],
  words: string,
): { readonly meaning: BroadcastMeaning; readonly least?: string | undefined } | null {
  for (const { form, meaning } of refusals) {
    const found = form.exec(words);
    if (found !== null) return { meaning, least: found.groups?.least };
  }
  return null;
}
