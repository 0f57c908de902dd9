/**
 * Transactions that cannot be read, as values: each is named and ends nothing else. A transaction
 * that one node shows oddly and another does not is left to neither: it is named, and the nodes
 * have to agree on all others. Touches nothing itself.
 */
import { AgentError } from "../../base/fault.ts";
import type { BlockFinds, UnreadTransaction } from "../nodes.ts";

/** Faults of one answer about one transaction. Any other fault is no reason to pass it over. */
const unreadable: ReadonlySet<string> = new Set(["NODE_ANSWER", "NODE_ANSWER_SIZE"]);

export function isUnreadable(fault: unknown): fault is AgentError {
  return fault instanceof AgentError && unreadable.has(fault.code);
}

type Place = Omit<UnreadTransaction, "fault">;

/** The finds of a reader in each item; an item that cannot be read is named by its place. */
export function collectFinds<I, T>(
  items: readonly I[],
  read: (item: I) => readonly T[],
  placeOf: (item: I) => Place,
): BlockFinds<T> {
  const found: T[] = [];
  const unread: UnreadTransaction[] = [];
  for (const item of items) {
    try {
      found.push(...read(item));
    } catch (fault) {
      if (!isUnreadable(fault)) throw fault;
      unread.push({ ...placeOf(item), fault });
    }
  }
  return { found, unread };
}

/** The finds of several readers, or of several blocks. A transaction is named once. */
export function joinFinds<T>(all: readonly BlockFinds<T>[]): BlockFinds<T> {
  const unread = new Map(all.flatMap((one) => one.unread).map((one) => [unreadKey(one), one]));
  return { found: all.flatMap(({ found }) => found), unread: [...unread.values()] };
}

/** The same finds without those of transactions that are named as unread by any of the nodes. */
export function withoutUnread<T extends { readonly txHash: string }>(
  finds: BlockFinds<T>,
  unread: readonly UnreadTransaction[],
): BlockFinds<T> {
  const hashes = new Set(unread.map(({ txHash }) => txHash));
  return { found: finds.found.filter(({ txHash }) => !hashes.has(txHash)), unread };
}

/** Equal for the same unread transaction by two nodes, whatever each says of it. */
export function unreadKey({ txHash, block }: UnreadTransaction): string {
  return `${block} ${txHash}`;
}

/**
 * Agreement of nodes on finds: on all of them, or else on all but the transactions that some node
 * cannot read. `agree` asks each node, and `all` returns what the nodes answered.
 * @throws AgentError NODE_DISAGREE if they differ in more
 */
export async function agreedFinds<T extends { readonly txHash: string }>(
  agree: (keyOf: (finds: BlockFinds<T>) => string) => Promise<BlockFinds<T>>,
  told: () => readonly BlockFinds<T>[],
  keyOf: (found: readonly T[]) => string,
): Promise<BlockFinds<T>> {
  const wholeKey = ({ found, unread }: BlockFinds<T>): string =>
    JSON.stringify([keyOf(found), unread.map(unreadKey).sort()]);
  try {
    return await agree(wholeKey);
  } catch (fault) {
    if (!(fault instanceof AgentError) || fault.code !== "NODE_DISAGREE") throw fault;
    const { unread } = joinFinds(told());
    if (unread.length === 0) throw fault;
    const agreed = await agree((finds) => keyOf(withoutUnread(finds, unread).found));
    return withoutUnread(agreed, unread);
  }
}
