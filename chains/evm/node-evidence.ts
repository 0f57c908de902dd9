/**
 * Gathers what the chain shows of payouts in one pass: receipts of their attempts, agreed ones for
 * those in final blocks, and the accounts' counts. Decides nothing. Touches nodes only through
 * node.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { Payment } from "../family.ts";
import type { BlockId, SlotCounts } from "../nodes.ts";
import type { EvmNodes } from "./node.ts";
import { type AgreedBlock, alikeBlocks, asPayout } from "./node-blocks.ts";
import type { AttemptEvidence, Evidence } from "./outcome.ts";

/** From this number of payouts in a pass on, the accounts' counts are asked for first. */
const countedFrom = 4;

type PayoutNodes = Pick<EvmNodes, "receipt" | "finalReceipt" | "slotCounts">;
type EvidenceOf = (payment: Payment, txHashes: readonly string[]) => Promise<Evidence>;

/**
 * The find of a reader in the agreed block of a number. A block that cannot be read is asked for
 * again the next time.
 */
type ReadBlock = <T>(number: number, reader: (block: AgreedBlock) => T) => Promise<T>;

/** `payouts`: how many the pass will ask about. */
export function createEvidence(
  nodes: PayoutNodes,
  readBlock: ReadBlock,
  final: BlockId,
  payouts: number,
): EvidenceOf {
  const countsOf = createCounts(nodes);

  const ofAttempt = async (account: string, txHash: string): Promise<AttemptEvidence> => {
    const receipt = await nodes.receipt(txHash);
    if (receipt === null) return nowhere(txHash);
    const unproven = { txHash, includedIn: receipt.blockNumber, final: null };
    if (receipt.blockNumber > final.number) return unproven;
    const agreed = await nodes.finalReceipt(txHash);
    if (agreed === null) return unproven;
    const transaction = await readBlock(agreed.blockNumber, (holder) => {
      const { found, unread } = alikeBlocks(
        holder,
        ({ hash }) => hash === txHash,
        asPayout,
        () => account,
      );
      const [one] = found;
      if (unread[0] !== undefined) throw unread[0].fault;
      return holder.hash === agreed.blockHash ? one : undefined;
    });
    if (transaction === undefined) return unproven;
    return { txHash, includedIn: agreed.blockNumber, final: { receipt: agreed, transaction } };
  };

  return async ({ account, slot }, txHashes) => {
    if (payouts >= countedFrom) {
      // Most of these payouts are in no block yet. The account's counts show this for all of them.
      const counts = await countsOf(account);
      const isUnused =
        counts !== null && BigInt(slot) >= counts.latest && BigInt(slot) >= counts.final;
      if (isUnused) return { attempts: txHashes.map(nowhere), finalCount: counts.final };
    }
    const attempts = await Promise.all(txHashes.map((txHash) => ofAttempt(account, txHash)));
    const isSeen = attempts.some((attempt) => attempt.includedIn !== null);
    return { attempts, finalCount: isSeen ? null : ((await countsOf(account))?.final ?? null) };
  };
}

/** The counts of an account, asked for once in a pass; null without agreement. */
function createCounts(nodes: PayoutNodes): (account: string) => Promise<SlotCounts | null> {
  const known = new Map<string, Promise<SlotCounts | null>>();
  const asked = async (account: string): Promise<SlotCounts | null> => {
    try {
      return await nodes.slotCounts(account);
    } catch (error) {
      // Nodes often differ in their mempools. Without agreement the counts are unknown.
      if (error instanceof AgentError) return null;
      throw error;
    }
  };
  return (account) => {
    const counts = known.get(account) ?? asked(account);
    known.set(account, counts);
    return counts;
  };
}

function nowhere(txHash: string): AttemptEvidence {
  return { txHash, includedIn: null, final: null };
}
