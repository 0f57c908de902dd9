/**
 * Proves that no block can take a transaction any more. The chain has no account nonce, so only
 * expiry proves this. Solidified chain time has passed the expiration by a margin, and no block
 * that could have taken the transaction did. Enough nodes agree on each of those blocks, and each
 * block follows the one before. A node's index of transactions is asked in addition, and proves
 * nothing by itself. The wall clock proves nothing: a block after a halt may take a transaction
 * that expired meanwhile. So the first solidified block past the margin is among the blocks that
 * are read. Source: java-tron, Manager.validateCommon (expiration is compared with the time of the
 * block before).
 */
import { AgentError } from "../../base/fault.ts";
import { mapWithLimit } from "../map-limit.ts";
import type { VoidAnswer, VoidQuestion } from "../nodes.ts";
import type { BlockHead } from "./answers.ts";
import { lifetimeMsMax, voidMarginMs } from "./expiry-exclusion.ts";
import { type BlockReader, blockMismatchFault } from "./node-blocks.ts";

/**
 * The start of the search. No block can have a transaction before its signature, with any timestamp
 * and reference. By the gateway's clock, the signer signs no attempt that ends later than the
 * longest lifetime and a minute. Two minutes more are for the error of that clock.
 */
const lookBackMs = lifetimeMsMax + 180_000;
const blocksAtOnce = 4;
const blocksPerCall = 600;
const runsMax = 64;

interface SearchedRun {
  read: BlockHead; // nothing was found up to this block, and each block follows the one before
}

/**
 * The method `findVoid` of the interfaces. After a long halt several calls may be needed; each goes
 * on from the end of the last.
 */
export function createVoidFinder(
  blocks: BlockReader,
  quorum: number,
): (attempts: readonly VoidQuestion[]) => Promise<VoidAnswer> {
  const runs = new Map<string, SearchedRun>();

  function keepRun(key: string, run: SearchedRun): SearchedRun {
    runs.delete(key);
    runs.set(key, run);
    const oldest = runs.keys().next();
    if (runs.size > runsMax && !oldest.done) runs.delete(oldest.value);
    return run;
  }

  return async (attempts) => {
    const head = await blocks.solidHead();
    const alive: VoidAnswer = {
      isVoid: false,
      chainMs: head.timestampMs,
      block: head.number,
      quorum,
    };
    const validUntilMs = Math.max(...attempts.map((one) => one.validUntilMs)) + voidMarginMs;
    if (attempts.length === 0 || head.timestampMs <= validUntilMs) return alive;
    const ids = new Set(attempts.map(({ txHash }) => txHash));
    const key = JSON.stringify(attempts.map(({ txHash, validUntilMs }) => [txHash, validUntilMs]));
    const fromMs = Math.min(...attempts.map((one) => one.validUntilMs)) - lookBackMs;
    const run = runs.get(key) ?? keepRun(key, await begin(blocks, head, fromMs));
    const found = await readOn(blocks, run, head.number, validUntilMs, ids);
    if (found === "torn") {
      // The next call reads the run again.
      runs.delete(key);
      throw blockMismatchFault(run.read.number + 1, "the block before");
    }
    if (found !== "nothing") return alive;
    const shown = await Promise.all(
      [...ids].map((txHash) => blocks.shownReceipts(txHash, "/walletsolidity")),
    );
    const isShown = shown.flat().some(({ receipt }) => receipt !== null);
    // A receipt without an agreed block is false, or from a branch that no other node has. An
    // operator must look.
    if (isShown)
      throw new AgentError(
        "NODE_DISAGREE",
        "none",
        "a node has a receipt that no agreed block has",
        { what: "receipt" },
      );
    return { ...alive, isVoid: true };
  };
}

/**
 * The newest solidified block made at or before a time, or the genesis block if all are younger.
 */
async function begin(blocks: BlockReader, head: BlockHead, fromMs: number): Promise<SearchedRun> {
  let high = head;
  let low = head;
  for (let step = 64; low.number > 0 && low.timestampMs > fromMs; step *= 2) {
    high = low;
    low = await blocks.solidHeadAt(Math.max(0, head.number - step));
  }
  while (high.number - low.number > 1) {
    const middle = await blocks.solidHeadAt(Math.floor((low.number + high.number) / 2));
    if (middle.timestampMs <= fromMs) low = middle;
    else high = middle;
  }
  return { read: low };
}

/**
 * Reads on up to the first block past the time. Nothing: all these blocks were read, and none has
 * one of the ids. Torn: a block does not follow the one read before it.
 */
async function readOn(
  blocks: BlockReader,
  run: SearchedRun,
  top: number,
  validUntilMs: number,
  ids: ReadonlySet<string>,
): Promise<"nothing" | "one of them" | "more to read" | "torn"> {
  for (let count = 0; count < blocksPerCall; ) {
    if (run.read.timestampMs > validUntilMs) return "nothing";
    const numbers = Array.from(
      { length: Math.min(blocksAtOnce, top - run.read.number) },
      (_, at) => run.read.number + 1 + at,
    );
    if (numbers.length === 0) return "more to read";
    for (const block of await mapWithLimit(numbers, blocksAtOnce, (number) =>
      blocks.solidBlock(number),
    )) {
      if (block.parentHash !== run.read.hash) return "torn";
      if (block.transactions.some(({ txHash }) => ids.has(txHash))) return "one of them";
      run.read = headOf(block);
      count += 1;
      if (run.read.timestampMs > validUntilMs) return "nothing";
    }
  }
  return "more to read";
}

function headOf({ number, hash, parentHash, timestampMs }: BlockHead): BlockHead {
  return { number, hash, parentHash, timestampMs };
}
