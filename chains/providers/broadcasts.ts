/** Merges the answers of several nodes to signed bytes into one. Pure. */
import type { BroadcastAnswer, BroadcastOutcome } from "../nodes.ts";

/**
 * The most useful outcome comes first. The result is unsent only if every node says so, and expired
 * only if no answer leaves the outcome open.
 */
const order: readonly BroadcastOutcome[] = [
  ...(["accepted", "known", "slot-consumed", "underpriced", "funds", "unknown", "expired", "unsent"] as const),
];

/** Merges the answers of all nodes into one. Without any answer: unsent. */
export function mergeBroadcasts(answers: readonly BroadcastAnswer[]): BroadcastAnswer {
  for (const outcome of order) {
    const found = answers.find((answer) => answer.outcome === outcome);
    if (found !== undefined) return merged(found, answers);
  }
  return { outcome: "unsent", text: "no node is in use" };
}

/**
 * A node that gave no answer may have taken the bytes. A refusal that a higher fee can cure leaves
 * the outcome open.
 */
function merged({ refusal: _own, ...found }: BroadcastAnswer, answers: readonly BroadcastAnswer[]): BroadcastAnswer {
  const open = answers.filter(({ outcome }) => outcome !== "unsent");
  if (open.length === 0 || open.some(({ refusal }) => refusal === undefined)) return found;
  const curable = open.find(({ refusal }) => refusal === "curable");
  if (curable === undefined) return { ...found, refusal: "incurable" };
  return { ...found, text: curable.text, ...(curable.node === undefined ? {} : { node: curable.node }), refusal: "curable" };
}

/** The first success, else one merged answer of all nodes. `send` rejects only for a bug. */
export function firstGood<N>(nodes: readonly N[], send: (node: N) => Promise<BroadcastAnswer>): Promise<BroadcastAnswer> {
  return new Promise((resolve, reject) => {
    const answers: BroadcastAnswer[] = [];
    const count = (answer: BroadcastAnswer): void => {
      answers.push(answer);
      if (answer.outcome === "accepted" || answer.outcome === "known") resolve(answer);
      if (answers.length === nodes.length) resolve(mergeBroadcasts(answers));
    };
    for (const node of nodes) send(node).then(count).catch(reject);
    if (nodes.length === 0) resolve(mergeBroadcasts([]));
  });
}
