/** One answer to signed bytes out of those of several nodes. Pure. */
import type { BroadcastAnswer, BroadcastOutcome } from "../nodes.ts";

/**
 * The most useful outcome first; unsent only when every node says so, and expired only when none
 * says anything that leaves it open.
 */
const order: readonly BroadcastOutcome[] = [
  ...(["accepted", "known", "slot-consumed", "underpriced", "funds", "unknown", "expired", "unsent"] as const),
];

/**
 * One answer out of those of all nodes. Of none: unsent.
 * @public
 */
export function mergeBroadcasts(answers: readonly BroadcastAnswer[]): BroadcastAnswer {
  for (const outcome of order) {
    const found = answers.find((answer) => answer.outcome === outcome);
    if (found !== undefined) return merged(found, answers);
  }
  return { outcome: "unsent", text: "no node is in use" };
}

/** A node that gave no answer may have taken the bytes; one that a price could cure gives hope. */
function merged({ refusal: _own, ...found }: BroadcastAnswer, answers: readonly BroadcastAnswer[]): BroadcastAnswer {
  const open = answers.filter(({ outcome }) => outcome !== "unsent");
  if (open.length === 0 || open.some(({ refusal }) => refusal === undefined)) return found;
  const curable = open.find(({ refusal }) => refusal === "curable");
  if (curable === undefined) return { ...found, refusal: "incurable" };
  return { ...found, text: curable.text, ...(curable.node === undefined ? {} : { node: curable.node }), refusal: "curable" };
}

/**
 * The first good news, else one answer out of all. `send` never rejects but for a bug.
 * @public
 */
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
