/**
 * The questions of the gateway's watcher to EVM nodes. Data that changes the state of money (final
 * blocks and their content, logs, receipts, balances) needs the same answer of min(2, configured)
 * nodes. Data that only shows progress may come from one node. Touches chain nodes only through
 * node.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { Payment } from "../family.ts";
import { inWaves } from "../map-limit.ts";
import type { DetectedPayment, Judgement, NodeLog, OutgoingTransaction, WatchedBlock, WatcherNodes } from "../nodes.ts";
import { type AddressIndex, createIndexes } from "../providers/address-index.ts";
import { KeptBlocks } from "../providers/kept-blocks.ts";
import { agreement } from "../providers/node-agreement.ts";
import { PacedWaves } from "../providers/paced-waves.ts";
import type { BlockTransaction, FoundLog } from "./answers.ts";
import { decodeTransferCall } from "./erc20.ts";
import { fees, first } from "./fees.ts";
import { createEvmNodes, type EvmNodes } from "./node.ts";
import { type AgreedBlock, agreedBlock, alike, asOutgoing, asPayment, bytesOf } from "./node-blocks.ts";
import { createEvidence } from "./node-evidence.ts";
import { createTransfers, notTogether, type Transfers } from "./node-logs.ts";
import { createManyBalances } from "./node-multicall.ts";
import { createComputeLimit } from "./node-sender.ts";
import { asksForCode, judgeConsumer, judgePayout } from "./outcome.ts";
import { decimalsCall, readTransferLog } from "./token-reads.ts";

/**
 * Nodes answer a window of logs as one text. Blocks with thousands of transactions fit; an endless
 * answer does not.
 */
const answerBytesMax = 32 * 1024 * 1024;
const timeoutMs = 15_000;
const questionsAtOnce = 32;
/**
 * From this number of balances on, one call of the contract that returns them together is cheaper.
 */
const manyMin = 4;
/** Balances that are read at the same time, where the quota allows: some batches for each node. */
const balancesAtOnce = 256;
/** A payment that is ordered now is signed at the fees of some minutes later. */
const costNumerator = 3n;
const costDenominator = 2n;
/** Log index of a payment in the native coin, which leaves no log. */
const nativeIndex = -1;
const topicPadding = `0x${"0".repeat(24)}`;

interface WatchedNodes {
  readonly chainId: number;
  readonly nodes: readonly string[];
  readonly confirmations: number | "finalized";
}

/**
 * The nodes as the watcher asks them: one interface for each node, whose answers on blocks, logs
 * and balances are compared here.
 */
interface Reader {
  readonly together: EvmNodes;
  readonly each: readonly EvmNodes[];
}

export function createWatcher({ nodes: urls, chainId, confirmations }: WatchedNodes, log: NodeLog): WatcherNodes {
  const open = (some: readonly string[]): EvmNodes =>
    createEvmNodes({ urls: some, chainId, confirmations, answerBytesMax, timeoutMs, log });
  const together = open(urls);
  return watcherOf({ together, each: urls.length === 1 ? [together] : urls.map((url) => open([url])) });
}

/** As `createWatcher`, over given nodes. */
export function watcherOf(reader: Reader): WatcherNodes {
  const { together, each } = reader;
  const computeLimitOf = createComputeLimit(together, () => performance.now());
  const kept = new KeptBlocks<AgreedBlock>(bytesOf);
  const block = async (number: number, isAgreed: boolean): Promise<AgreedBlock> =>
    isAgreed ? kept.ask(number, () => agreedBlock(each, number)) : together.block(number, { full: true });
  const indexOf = createIndexes((address) => address.toLowerCase());
  const many = each.map(createManyBalances);
  const quorumMin = Math.min(2, each.length);
  const seen = createTransfers(together);
  const waves = new PacedWaves(balancesAtOnce);
  const proven = new Map(each.map((nodes) => [nodes, createTransfers(nodes)]));

  const balance = (address: string, contract: string, number: number): Promise<bigint> =>
    agreement(each, (nodes) => nodes.balance(address, contract, number), String, `balance of ${address}`);

  return {
    status: together.status,
    tip: together.head,
    finalTip: async () => {
      const final = await together.finalBlock();
      kept.stands(final);
      return final;
    },
    block: async (number, isAgreed) => watched(await block(number, isAgreed)),
    closed: together.slotCounts,
    timestamp: async (number) => (await together.block(number, { full: false })).timestamp,
    balance,
    balances: async (questions, number) => {
      const oneByOne = () => waves.ask(questions, ({ account, contract }) => balance(account, contract, number));
      if (questions.length < manyMin) return oneByOne();
      const told = await Promise.all(many.slice(0, quorumMin).map((ask) => ask(questions, number)));
      const [first, ...others] = told;
      const isAlike = first !== undefined && others.every((other) => String(other) === String(first));
      return isAlike && first !== null ? first : oneByOne();
    },
    wereUsed: (accounts, number) =>
      waves.ask(accounts, async (account) => {
        const ask = (nodes: EvmNodes): Promise<bigint> => nodes.sent(account, number);
        return (await agreement(each, ask, String, `transactions of ${account}`)) > 0n;
      }),
    async decimals(contract) {
      const ask = (nodes: EvmNodes): Promise<string> => nodes.call(contract, decimalsCall, "latest");
      const data = await agreement(each, ask, String, `decimals of ${contract}`);
      if (data.length !== 66) throw new AgentError("NODE_ANSWER", "none", "the token does not say its decimals", { contract });
      return BigInt(data);
    },
    async payments(blocks, contracts, addresses, isAgreed) {
      if (addresses.size === 0 || blocks.length === 0) return [];
      const index = await indexOf(addresses);
      const tokens = contracts.filter((contract) => contract !== "");
      const ask = (transfers: Transfers) => tokenPayments(transfers, blocks, tokens, index);
      const agreed = () => agreement(each, (nodes) => ask(proven.get(nodes) as Transfers), paymentsKey, transfersOf(blocks));
      const found = await Promise.all([
        contracts.includes("") ? nativePayments(reader, kept, blocks, index, isAgreed) : [],
        tokens.length === 0 ? [] : isAgreed ? agreed() : ask(seen),
      ]);
      return found.flat();
    },
    outgoing: async (blocks, accounts) =>
      blocks.flatMap((one) => kept.read(contentOf(one), (block) => outgoingIn(block, accounts))),
    hasFailed: async (txHash) => (await together.finalReceipt(txHash))?.status === 0,
    async cost(account, payment) {
      const [computeLimit, feeMarket] = await Promise.all([computeLimitOf(account, payment), together.fees()]);
      if (!computeLimit.ok) return computeLimit;
      const most = fees.most(first({ feeMarket: { ...feeMarket }, computeLimit: computeLimit.computeLimit }));
      return { ok: true, feeUnits: (most * costNumerator) / costDenominator };
    },
    judgeOutgoing: (payment, outgoingTx) => judgeOutgoing(reader, payment, outgoingTx),
    pass(final, payouts = 1) {
      const readBlock = async <T>(number: number, read: (agreed: AgreedBlock) => T): Promise<T> =>
        kept.read(await block(number, true), read);
      const evidence = createEvidence(together, readBlock, final, payouts);
      return { judge: async (payment, txHashes) => judgePayout(payment, await evidence(payment, txHashes)) };
    },
    close() {
      waves.close();
      together.close();
      for (const nodes of each) nodes.close();
    },
  };
}

function watched(content: AgreedBlock): WatchedBlock {
  const { number, hash, parentHash } = content;
  return { number, hash, parentHash, content };
}

function contentOf({ content }: WatchedBlock): AgreedBlock {
  return content as AgreedBlock;
}

async function nativePayments(
  { together }: Reader,
  kept: KeptBlocks<AgreedBlock>,
  blocks: readonly WatchedBlock[],
  index: AddressIndex,
  isAgreed: boolean,
): Promise<readonly DetectedPayment[]> {
  const paying = blocks.flatMap((block) => {
    const isOurs = ({ toKey }: BlockTransaction): boolean => index.find(toKey) !== undefined;
    const ours = kept.read(contentOf(block), (content) => alike(content, isOurs, asPayment));
    return ours.filter(({ valueUnits }) => valueUnits > 0n).map((one) => ({ block, one }));
  });
  const found = await inWaves(paying, questionsAtOnce, async ({ block, one }): Promise<DetectedPayment | null> => {
    const receipt = await (isAgreed ? together.finalReceipt(one.hash) : together.receipt(one.hash));
    if (receipt === null || receipt.blockHash !== block.hash) throw notTogether(block.number, "a receipt");
    if (receipt.status !== 1) return null;
    return {
      txHash: one.hash,
      index: nativeIndex,
      address: index.find(one.toKey) as string,
      contract: "",
      amountUnits: one.valueUnits,
      block: block.number,
      blockHash: block.hash,
    };
  });
  return found.filter((payment) => payment !== null);
}

/** Token payments by one node, or by several: only payments to our addresses are compared. */
async function tokenPayments(
  transfers: Transfers,
  blocks: readonly WatchedBlock[],
  contracts: readonly string[],
  index: AddressIndex,
): Promise<readonly DetectedPayment[]> {
  const byKey = new Map(contracts.map((contract) => [contract.toLowerCase(), contract]));
  const logs = await transfers(blocks.map(contentOf), contracts);
  // Some nodes count logs within each transaction, so the name of a payment includes the hash.
  const found = new Map<string, DetectedPayment>();
  for (const one of logs) {
    const address = index.find(receiverKeyOf(one));
    if (address === undefined) continue;
    const log = one.read();
    const transfer = readTransferLog(log);
    // A transfer of zero is noise that others send to get attention.
    if (transfer === null || transfer.amountUnits === 0n) continue;
    const { txHash, logIndex, blockNumber: block, blockHash } = log;
    const contract = byKey.get(one.address) as string;
    const { amountUnits } = transfer;
    found.set(`${blockHash} ${txHash} ${logIndex}`, {
      txHash,
      index: logIndex,
      address,
      contract,
      amountUnits,
      block,
      blockHash,
    });
  }
  return [...found.values()];
}

/** The receiver of a plain Transfer as its topic has it; "" for another event. */
function receiverKeyOf({ topics }: FoundLog): string {
  const to = topics[2] ?? "";
  return topics.length === 3 && to.startsWith(topicPadding) ? `0x${to.slice(topicPadding.length)}` : "";
}

function paymentsKey(payments: readonly DetectedPayment[]): string {
  const fields = payments.map((one) => [one.blockHash, one.txHash, one.index, one.contract, one.address, `${one.amountUnits}`]);
  return JSON.stringify(fields.map((each) => JSON.stringify(each)).sort());
}

function transfersOf(blocks: readonly WatchedBlock[]): string {
  return `transfers of blocks ${blocks[0]?.number} to ${blocks.at(-1)?.number}`;
}

function outgoingIn(block: AgreedBlock, accounts: ReadonlySet<string>): readonly OutgoingTransaction[] {
  const keys = new Map([...accounts].map((account) => [account.toLowerCase(), account]));
  return alike(block, ({ fromKey }) => keys.has(fromKey), asOutgoing).map((one) => {
    const account = keys.get(one.fromKey) as string;
    return { account, slot: `${one.nonce}`, txHash: one.hash, block: block.number, ...paidBy(one), content: one };
  });
}

/**
 * The receiver that a transaction names. For a call that is no plain transfer, this is the contract
 * itself.
 */
function paidBy({
  to,
  input,
  valueUnits,
}: BlockTransaction): Pick<OutgoingTransaction, "receiver" | "tag" | "contract" | "amountUnits"> {
  const call = decodeTransferCall(Buffer.from(input.slice(2), "hex"));
  if (call === null || to === null) return { receiver: to ?? "", tag: "", contract: "", amountUnits: valueUnits };
  return { receiver: call.destination, tag: "", contract: to, amountUnits: call.amountUnits };
}

async function judgeOutgoing(reader: Reader, payment: Payment, outgoingTx: OutgoingTransaction): Promise<Judgement> {
  const receipt = await reader.together.finalReceipt(outgoingTx.txHash);
  if (receipt === null) throw notTogether(outgoingTx.block, "a receipt");
  const transaction = outgoingTx.content as BlockTransaction;
  const final = { receipt, transaction };
  const code = asksForCode(payment, final) ? await codeThen(reader, transaction.to ?? "", receipt.blockNumber) : null;
  return judgeConsumer(payment, final, code);
}

/**
 * The code at an address when a transaction of this block ran: the code before the block, or else
 * at its end. A delegation (EIP-7702) may be set in this very block, and be gone when the block is
 * read. "0x" for none, null if the nodes do not answer.
 */
async function codeThen({ each }: Reader, address: string, block: number): Promise<string | null> {
  const codeAt = (number: number): Promise<string> =>
    agreement(each, (nodes) => nodes.code(address, number), String, `code of ${address}`);
  try {
    const [before, after] = await Promise.all([codeAt(block - 1), codeAt(block)]);
    return before === "0x" ? after : before;
  } catch (fault) {
    if (!(fault instanceof AgentError) || fault.code === "NODE_CLOSED") throw fault;
    return null;
  }
}
