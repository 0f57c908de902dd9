/**
 * The questions of the gateway's watcher to EVM nodes. Data that changes the state of money (final
 * blocks and their content, logs, receipts, balances) needs the same answer of min(2, configured)
 * nodes. Data that only shows progress may come from one node. Touches chain nodes only through
 * node.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { Payment } from "../family.ts";
import type {
  Finds,
  Judgement,
  NextSlot,
  NodeLog,
  OutgoingTransaction,
  WatchedBlock,
  WatcherNodes,
} from "../nodes.ts";
import { createIndexes } from "../providers/address-index.ts";
import { KeptBlocks } from "../providers/kept-blocks.ts";
import { agreedAnswer } from "../providers/node-agreement.ts";
import { PacedWaves } from "../providers/paced-waves.ts";
import { pacedResults } from "../providers/results.ts";
import type { ServerAddress } from "../providers/server.ts";
import { findEach, joinFinds } from "../providers/unread.ts";
import type { BlockTransaction } from "./answers.ts";
import { decodeTransferCall } from "./erc20.ts";
import { fees, first } from "./fees.ts";
import { createEvmNodes, type EvmNodes } from "./node.ts";
import { type AgreedBlock, agreedBlock, alikeBlocks, asOutgoing, bytesOf } from "./node-blocks.ts";
import { createEvidence } from "./node-evidence.ts";
import { notTogether } from "./node-logs.ts";
import { createAgreedBalances } from "./node-multicall.ts";
import { coinPayments, contentOf, createPaymentSource, tokenPayments } from "./node-payments.ts";
import { createComputeLimit } from "./node-sender.ts";
import { asksForCode, judgeConsumer, judgePayout } from "./outcome.ts";
import { decimalsCall } from "./token-reads.ts";

/**
 * Nodes answer a window of logs as one text. Blocks with thousands of transactions fit; an endless
 * answer does not.
 */
const answerBytesMax = 32 * 1024 * 1024;
const timeoutMs = 15_000;
/** Balances that are read at the same time, where the quota allows: some batches for each node. */
const balancesAtOnce = 256;
const nobody = "0x000000000000000000000000000000000000dEaD";
/** A payment that is ordered now is signed at the fees of some minutes later. */
const costNumerator = 3n;
const costDenominator = 2n;

interface WatchedNodes {
  readonly chainId: number;
  readonly nodes: readonly ServerAddress[];
  readonly confirmations: number | "finalized";
  readonly clock?: () => number; // milliseconds, never running back; default performance.now
}

/**
 * The nodes as the watcher asks them: one interface for each node, whose answers on blocks, logs
 * and balances are compared here.
 */
export interface Reader {
  readonly together: EvmNodes;
  readonly each: readonly EvmNodes[];
}

export function createWatcher(
  { nodes: urls, chainId, confirmations, ...options }: WatchedNodes,
  log: NodeLog,
): WatcherNodes {
  const { clock = () => performance.now() } = options;
  const open = (some: readonly ServerAddress[]): EvmNodes =>
    createEvmNodes({ urls: some, chainId, confirmations, answerBytesMax, timeoutMs, log, clock });
  const together = open(urls);
  return watcherOf(
    { together, each: urls.length === 1 ? [together] : urls.map((url) => open([url])) },
    clock,
  );
}

/** As `createWatcher`, over given nodes. */
export function watcherOf(reader: Reader, clock = () => performance.now()): WatcherNodes {
  const { together, each } = reader;
  const computeLimitOf = createComputeLimit(together, clock);
  const kept = new KeptBlocks<AgreedBlock>(bytesOf);
  const block = async (number: number, isAgreed: boolean): Promise<AgreedBlock> =>
    isAgreed
      ? kept.ask(number, () => agreedBlock(each, number))
      : together.block(number, { full: true });
  const indexOf = createIndexes((address) => address.toLowerCase());
  const manyBalances = createAgreedBalances(each);
  const waves = new PacedWaves(balancesAtOnce);
  const source = createPaymentSource(reader, kept);

  const balance = (address: string, contract: string, number: number): Promise<bigint> =>
    agreedAnswer(
      each,
      (nodes) => nodes.balance(address, contract, number),
      String,
      `balance of ${address}`,
    );

  return {
    nobody,
    readsWholeBlocks: true,
    status: together.status,
    tip: together.head,
    finalTip: async () => {
      const final = await together.finalBlock();
      kept.stands(final);
      return final;
    },
    block: async (number, isAgreed) => watched(await block(number, isAgreed)),
    closed: together.slotCounts,
    nextSlot: (account) => nextSlotOf(together, account),
    timestamp: async (number) => (await together.block(number, { full: false })).timestamp,
    balance,
    balances: (questions, number) =>
      manyBalances(questions, number, (some) =>
        pacedResults(waves, some, ({ account, contract }) => balance(account, contract, number)),
      ),
    wereUsed: (accounts, number) =>
      pacedResults(waves, accounts, async (account) => {
        const ask = (nodes: EvmNodes): Promise<bigint> => nodes.sent(account, number);
        return (await agreedAnswer(each, ask, String, `transactions of ${account}`)) > 0n;
      }),
    async decimals(contract) {
      const ask = (nodes: EvmNodes): Promise<string> =>
        nodes.call(contract, decimalsCall, "latest");
      const data = await agreedAnswer(each, ask, String, `decimals of ${contract}`);
      if (data.length !== 66)
        throw new AgentError("NODE_ANSWER", "none", "the token does not say its decimals", {
          contract,
        });
      return BigInt(data);
    },
    async payments(blocks, contracts, addresses, isAgreed) {
      if (addresses.size === 0 || blocks.length === 0) return { found: [], unread: [] };
      const question = { blocks, contracts, index: await indexOf(addresses), isAgreed };
      return joinFinds(
        await Promise.all([coinPayments(source, question), tokenPayments(source, question)]),
      );
    },
    outgoing: async (blocks, accounts) =>
      joinFinds(
        blocks.map(contentOf).map((one) => {
          const finds = outgoingIn(one, accounts);
          if (finds.unread.length > 0) kept.forget(one);
          return finds;
        }),
      ),
    hasFailed: async (txHash) => (await together.finalReceipt(txHash))?.status === 0,
    async cost(account, payment) {
      const [computeLimit, feeMarket] = await Promise.all([
        computeLimitOf(account, payment),
        together.fees(),
      ]);
      if (!computeLimit.ok) return computeLimit;
      const most = fees.most(
        first({ feeMarket: { ...feeMarket }, computeLimit: computeLimit.computeLimit }),
      );
      return { ok: true, feeUnits: (most * costNumerator) / costDenominator };
    },
    judgeOutgoing: (payment, outgoingTx) => judgeOutgoing(reader, payment, outgoingTx),
    pass(final, payouts = 1) {
      const readBlock = async <T>(number: number, read: (agreed: AgreedBlock) => T): Promise<T> =>
        kept.read(await block(number, true), read);
      const evidence = createEvidence(together, readBlock, final, payouts);
      return {
        judge: async (payment, txHashes) => judgePayout(payment, await evidence(payment, txHashes)),
      };
    },
    close() {
      waves.close();
      together.close();
      for (const nodes of each) nodes.close();
    },
  };
}

async function nextSlotOf(nodes: EvmNodes, account: string): Promise<NextSlot> {
  const { final, latest, pending, isSame } = await nodes.slotCounts(account);
  return { slot: `${final}`, isUnused: isSame && final === 0n && latest === 0n && pending === 0n };
}

function watched(content: AgreedBlock): WatchedBlock {
  const { number, hash, parentHash } = content;
  return { number, hash, parentHash, content };
}

function outgoingIn(block: AgreedBlock, accounts: ReadonlySet<string>): Finds<OutgoingTransaction> {
  const keys = new Map([...accounts].map((account) => [account.toLowerCase(), account]));
  const accountOf = ({ fromKey }: BlockTransaction): string => keys.get(fromKey) as string;
  const { found, unread } = alikeBlocks(
    block,
    ({ fromKey }) => keys.has(fromKey),
    asOutgoing,
    accountOf,
  );
  const placeOf = (one: BlockTransaction) => ({
    account: accountOf(one),
    txHash: one.hash,
    block: block.number,
  });
  const read = (one: BlockTransaction) => [
    { ...placeOf(one), slot: `${one.nonce}`, ...paidBy(one), content: one },
  ];
  return joinFinds([findEach(found, read, placeOf), { found: [], unread }]);
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
  if (call === null || to === null)
    return { receiver: to ?? "", tag: "", contract: "", amountUnits: valueUnits };
  return { receiver: call.destination, tag: "", contract: to, amountUnits: call.amountUnits };
}

async function judgeOutgoing(
  reader: Reader,
  payment: Payment,
  outgoingTx: OutgoingTransaction,
): Promise<Judgement> {
  const receipt = await reader.together.finalReceipt(outgoingTx.txHash);
  if (receipt === null) throw notTogether(outgoingTx.block, "a receipt");
  const transaction = outgoingTx.content as BlockTransaction;
  const final = { receipt, transaction };
  const code = asksForCode(payment, final)
    ? await codeThen(reader, transaction.to ?? "", receipt.blockNumber)
    : null;
  return judgeConsumer(payment, final, code);
}

/**
 * The code at an address when a transaction of this block ran: the code before the block, or else
 * at its end. A delegation (EIP-7702) may be set in this very block, and be gone when the block is
 * read. "0x" for none, null if the nodes do not answer.
 */
async function codeThen({ each }: Reader, address: string, block: number): Promise<string | null> {
  const codeAt = (number: number): Promise<string> =>
    agreedAnswer(each, (nodes) => nodes.code(address, number), String, `code of ${address}`);
  try {
    const [before, after] = await Promise.all([codeAt(block - 1), codeAt(block)]);
    return before === "0x" ? after : before;
  } catch (fault) {
    if (!(fault instanceof AgentError) || fault.code === "NODE_CLOSED") throw fault;
    return null;
  }
}
