/**
 * What is final on chain, on the word of min(2, configured) nodes that say the same: the final block, counters of an account, and
 * the receipt of a transaction in a block that is canonical at or below the final one. Anything less is "not yet" or a fault.
 */
import { AgentError } from "../../protocol/fault.ts";
import { type Receipt, readHash, readHead, readNumber, readQuantity, readReceipt } from "./answers.ts";
import { disagreement, type Job, type NodePool, noNode, type PoolNode, type Settled } from "./node-pool.ts";

/** Receipts of calls with many logs (disperse contracts, exchanges) reach hundreds of kilobytes. */
const receiptBytesMax = 512 * 1024;

/**
 * @public
 */
export interface BlockId {
  readonly number: number;
  readonly hash: string;
}

/**
 * How often an account has signed, by the chain: at the head, with the pool, and at the final block.
 * @public
 */
export interface Counters {
  readonly latest: bigint;
  readonly pending: bigint;
  readonly final: bigint;
  readonly witnesses: number; // nodes that said this of the final block
  /** So many said all three alike; else `latest` and `pending` are the highest that so many have reached. */
  readonly isSame: boolean;
}

export interface Finality {
  finalBlock(): Promise<BlockId>;
  finalReceipt(txHash: string): Promise<Receipt | null>;
  counters(address: string): Promise<Counters>;
}

/** `confirmations`: with N, the final block is head - N + 1 (genesis is always final); "finalized" takes the chain's own word. */
export function createFinality(pool: NodePool, confirmations: number | "finalized"): Finality {
  const share = createSharing();

  const finalNumber: Job<number> = async (node) => {
    const tag = confirmations === "finalized" ? "finalized" : "latest";
    const number = await pool.ask(node, {
      method: "eth_getBlockByNumber",
      params: [tag, false],
      read: (result) => blockNumber(result, tag),
    });
    if (confirmations === "finalized") return number;
    node.block = number;
    return Math.max(0, number - confirmations + 1);
  };

  const hashAt = (number: number): Promise<string> =>
    share(`hash ${number}`, () =>
      pool.agree(
        (node) =>
          pool.ask(node, {
            method: "eth_getBlockByNumber",
            params: [hexOf(number), false],
            read: (result) => blockHash(result, number),
          }),
        (hash) => hash,
        `hash of block ${number}`,
      ),
    );

  const finalBlock = (): Promise<BlockId> =>
    share("final", async () => {
      const settled = await pool.all(finalNumber);
      const numbers = settled.flatMap((one) => (one.ok ? [one.value] : [])).sort((a, b) => b - a);
      // The highest number that enough nodes have reached: one that lags or runs ahead alone moves nothing.
      const number = numbers[pool.witnessesMin - 1];
      if (number === undefined) throw firstFault(settled);
      return { number, hash: await hashAt(number) };
    });

  return {
    finalBlock,
    finalReceipt: async (txHash) => {
      const receipt = await agreedReceipt(pool, txHash);
      if (receipt === null) return null;
      const final = await finalBlock();
      if (receipt.blockNumber > final.number) return null;
      const canonical = receipt.blockNumber === final.number ? final.hash : await hashAt(receipt.blockNumber);
      return canonical === receipt.blockHash ? receipt : null;
    },
    counters: async (address) => {
      const final = await finalBlock();
      const askAll = (node: PoolNode): Promise<bigint[]> =>
        Promise.all(["latest", "pending", hexOf(final.number)].map((tag) => countAt(pool, node, address, tag)));
      const { witnessesMin: witnesses } = pool;
      try {
        const counts = await pool.agree(askAll, (all) => all.join(" "), "counters of the account");
        const [latest, pending, atFinal] = counts as [bigint, bigint, bigint];
        return { latest, pending, final: atFinal, witnesses, isSame: true };
      } catch (error) {
        if (!(error instanceof AgentError) || error.code !== "NODE_DISAGREE") throw error;
        return reached(await pool.all(askAll), witnesses, error);
      }
    },
  };
}

/** Heads and pools differ from node to node for a while, the final block does not. @throws the fault when it does */
function reached(settled: readonly Settled<bigint[]>[], witnesses: number, fault: AgentError): Counters {
  const told = settled.flatMap((one) => (one.ok ? [one.value as [bigint, bigint, bigint]] : []));
  const highest = (at: 0 | 1): bigint => {
    const sorted = told.map((all) => all[at]).sort((a, b) => (a < b ? 1 : -1));
    return sorted[witnesses - 1] ?? 0n;
  };
  const same = told.find(([, , final]) => told.filter((other) => other[2] === final).length >= witnesses);
  if (same === undefined) throw fault;
  return { latest: highest(0), pending: highest(1), final: same[2], witnesses, isSame: false };
}

export function receiptQuestion(txHash: string) {
  return {
    method: "eth_getTransactionReceipt",
    params: [txHash],
    answerBytesMax: receiptBytesMax,
    read: (result: unknown): Receipt | null => {
      if (result === null) return null;
      const receipt = readReceipt(result);
      if (receipt.txHash !== txHash.toLowerCase())
        throw new AgentError("NODE_ANSWER", "none", "the receipt is of another transaction");
      return receipt;
    },
  };
}

/** Null while fewer than enough nodes have one. @throws NODE_DISAGREE when enough have one and no two are the same */
async function agreedReceipt(pool: NodePool, txHash: string): Promise<Receipt | null> {
  const settled = await pool.all((node) => pool.ask(node, receiptQuestion(txHash)));
  const answers = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (answers.length < pool.witnessesMin) throw firstFault(settled);
  const receipts = answers.filter((receipt) => receipt !== null);
  if (receipts.length < pool.witnessesMin) return null;
  const votes = new Map<string, Receipt[]>();
  for (const receipt of receipts) {
    const { blockNumber, blockHash, status, from, to, logs } = receipt;
    const key = JSON.stringify([blockNumber, blockHash, status, from, to, logs]);
    const same = [...(votes.get(key) ?? []), receipt];
    if (same.length >= pool.witnessesMin) return receipt;
    votes.set(key, same);
  }
  throw disagreement(`receipt of ${txHash}`, votes.size);
}

function countAt(pool: NodePool, node: PoolNode, address: string, tag: string): Promise<bigint> {
  const read = (result: unknown): bigint => readQuantity(result, "transaction count");
  return pool.ask(node, { method: "eth_getTransactionCount", params: [address, tag], read });
}

function blockNumber(result: unknown, tag: string): number {
  if (result === null) throw new AgentError("NODE_NO_BLOCK", "none", `the node has no ${tag} block`);
  return tag === "latest" ? readHead(result).number : readNumber((result as { number?: unknown }).number, "block.number");
}

function blockHash(result: unknown, number: number): string {
  if (result === null) throw new AgentError("NODE_NO_BLOCK", "none", "the node does not have the block", { number });
  const block = result as { number?: unknown; hash?: unknown };
  if (readNumber(block.number, "block.number") !== number)
    throw new AgentError("NODE_ANSWER", "none", "the node answered another block");
  return readHash(block.hash, "block.hash");
}

function firstFault(settled: readonly { readonly ok: boolean; readonly error?: AgentError }[]): AgentError {
  return settled.find((one) => one.error !== undefined)?.error ?? noNode();
}

/** Callers that ask the same while the answer is under way share it: a thousand receipts want one final block. */
function createSharing(): <T>(key: string, job: () => Promise<T>) => Promise<T> {
  const underWay = new Map<string, Promise<unknown>>();
  return <T>(key: string, job: () => Promise<T>): Promise<T> => {
    const started = underWay.get(key) as Promise<T> | undefined;
    if (started !== undefined) return started;
    const promise = job().finally(() => underWay.delete(key));
    underWay.set(key, promise);
    return promise;
  };
}

export function hexOf(number: number): string {
  return `0x${number.toString(16)}`;
}
