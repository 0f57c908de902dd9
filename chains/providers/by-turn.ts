/**
 * Questions for transactions to one node that are asked in one turn of the event loop, so that one
 * answer can serve many. Pure but for the answer that the caller passes.
 */

/** A transaction that somebody waits for. */
export interface BatchedQuestion<T> {
  readonly txHash: string;
  readonly resolve: (value: T | Promise<T>) => void;
}

/** `answer` has all of a node's questions of a turn, and resolves each of them. */
export function createTurnBatcher<N, T>(
  answer: (node: N, waiting: readonly BatchedQuestion<T>[]) => Promise<void>,
): (node: N, txHash: string) => Promise<T> {
  const gathered = new Map<N, BatchedQuestion<T>[]>();
  const flush = (): void => {
    const nodes = [...gathered];
    gathered.clear();
    for (const [node, waiting] of nodes) void answer(node, waiting);
  };
  return (node, txHash) =>
    new Promise((resolve) => {
      if (gathered.size === 0) setImmediate(flush);
      const waiting = gathered.get(node) ?? [];
      gathered.set(node, waiting);
      waiting.push({ txHash, resolve });
    });
}
