/**
 * The questions of the gateway's watcher to EVM nodes. Data that changes the state of money (final
 * blocks and their content, logs, receipts, balances) needs the same answer of min(2, configured)
 * nodes. Data that only shows progress may come from one node. Touches chain nodes only through
 * node.ts.
 */
import { AgentError } from "../../base/fault.ts";
import { goodResult, type Result } from "../../base/result.ts";
import type { Payment } from "../family.ts";
import { mapWithLimit } from "../map-limit.ts";
import type {
  BlockFinds,
  BlockId,
  DetectedPayment,
  Judgement,
  NextSlot,
  NodeLog,
  OutgoingTransaction,
  SlotCounts,
  WatchedBlock,
  WatcherNodes,
} from "../nodes.ts";
import { createAddressIndexes, type WatchedAddressIndex } from "../providers/address-index.ts";
import { QuestionSize } from "../providers/ask-smaller.ts";
import { KeptBlocks } from "../providers/kept-blocks.ts";
import { findAgreedAnswer } from "../providers/node-agreement.ts";
import { PacedWaves } from "../providers/paced-waves.ts";
import { pacedResults } from "../providers/results.ts";
import type { ServerAddress } from "../providers/server.ts";
import { agreedFinds, collectFinds, isUnreadable, joinFinds } from "../providers/unread.ts";
import type { BlockTransaction, FoundLog } from "./answers.ts";
import { decodeTransferCall } from "./erc20.ts";
import { evmFees, firstOffer } from "./fees.ts";
import {
  type AskedBalance,
  decodeBalances,
  encodeBalances,
  multicallAddress,
} from "./multicall.ts";
import { createEvmNodes, type EvmNodes } from "./node.ts";
import {
  type AgreedBlock,
  blockBytesOf,
  fetchAgreedBlock,
  outgoingFields,
  paymentFields,
  payoutFields,
  selectAgreedTransactions,
} from "./node-blocks.ts";
import { blockMismatchFault, createTransferLogReader, type ReadTransferLogs } from "./node-logs.ts";
import { createComputeLimitReader } from "./node-sender.ts";
import {
  type AttemptEvidence,
  judgePayout,
  judgeSlotConsumer,
  needsReceiverCode,
  type PayoutEvidence,
} from "./outcome.ts";
import { decimalsCall, readTransferLog } from "./token-reads.ts";

/*
 * Reads many balances at one block from one node, by one call of a contract if the chain has the
 * contract at that block. Touches nodes only through node.ts.
 */

/** The answer stays below the bound of a call's answer. */
const balancesMax = 250;

/**
 * From this number of balances on, one call of the contract that returns them together is cheaper.
 */
const manyMin = 4;

/**
 * Null if the node or the chain cannot return so many in one call; then the caller asks for each
 * balance. Null in the place of a balance that the call does not tell.
 */
type ManyBalances = (
  asked: readonly AskedBalance[],
  block: number,
) => Promise<readonly (bigint | null)[] | null>;

function createManyBalances(nodes: Pick<EvmNodes, "code" | "call">): ManyBalances {
  const size = new QuestionSize(balancesMax);

  async function ask(
    part: readonly AskedBalance[],
    block: number,
  ): Promise<readonly (bigint | null)[]> {
    const balances = decodeBalances(
      await nodes.call(multicallAddress, encodeBalances(part), block),
      part.length,
    );
    if (balances !== null) return balances;
    throw new AgentError(
      "NODE_ERROR",
      "none",
      "the contract for many balances does not tell each",
      { block },
    );
  }

  return async (asked, block) => {
    try {
      if ((await nodes.code(multicallAddress, block)) === "0x") return null;
      return await size.parts(asked, (part) => ask(part, block));
    } catch (fault) {
      if (!(fault instanceof AgentError) || fault.code === "NODE_CLOSED") throw fault;
      return null;
    }
  };
}

/** Asks for each of these balances alone. */
type OneByOne = (some: readonly AskedBalance[]) => Promise<readonly Result<bigint>[]>;

/**
 * Balances that min(2, configured) nodes tell alike in one call. Those that the call does not tell
 * are asked for alone, with the node's own words; all of them if the nodes differ.
 */
function createAgreedBalances(
  each: readonly Pick<EvmNodes, "code" | "call">[],
): (
  questions: readonly AskedBalance[],
  block: number,
  oneByOne: OneByOne,
) => Promise<readonly Result<bigint>[]> {
  const many = each.slice(0, 2).map(createManyBalances);
  return async (questions, block, oneByOne) => {
    if (questions.length < manyMin) return oneByOne(questions);
    const [first, ...others] = await Promise.all(many.map((ask) => ask(questions, block)));
    const isAlike = first !== undefined && others.every((other) => String(other) === String(first));
    if (!isAlike || first === null) return oneByOne(questions);
    const alone = await oneByOne(questions.filter((_, at) => first[at] === null));
    let next = 0;
    return first.map((units) =>
      units === null ? (alone[next++] as Result<bigint>) : goodResult(units),
    );
  };
}

/*
 * Payments to watched addresses in blocks: coins by transactions of their own, tokens by events. A
 * transaction that cannot be read is named and costs no other. Touches nodes only through node.ts.
 */

const questionsAtOnce = 32;
/** Log index of a payment in the native coin, which leaves no log. */
const nativeIndex = -1;
const topicPadding = `0x${"0".repeat(24)}`;

interface Nodes {
  readonly together: EvmNodes;
  readonly each: readonly EvmNodes[];
}

interface PaymentSource extends Nodes {
  readonly kept: KeptBlocks<AgreedBlock>;
  readonly seen: ReadTransferLogs;
  readonly proven: ReadonlyMap<EvmNodes, ReadTransferLogs>;
}

function createPaymentSource(nodes: Nodes, kept: KeptBlocks<AgreedBlock>): PaymentSource {
  const proven = new Map(nodes.each.map((one) => [one, createTransferLogReader(one)]));
  return { ...nodes, kept, seen: createTransferLogReader(nodes.together), proven };
}

interface PaymentQuestion {
  readonly blocks: readonly WatchedBlock[];
  readonly contracts: readonly string[]; // "" the native coin
  readonly index: WatchedAddressIndex;
  readonly isAgreed: boolean;
}

function contentOf({ content }: WatchedBlock): AgreedBlock {
  return content as AgreedBlock;
}

async function coinPayments(
  { together, kept }: PaymentSource,
  { blocks, contracts, index, isAgreed }: PaymentQuestion,
): Promise<BlockFinds<DetectedPayment>> {
  if (!contracts.includes("")) return { found: [], unread: [] };
  const addressOf = ({ toKey }: BlockTransaction): string | undefined => index.find(toKey);
  const paying = blocks.map((block) => {
    const content = contentOf(block);
    const ours = selectAgreedTransactions(
      content,
      (one) => addressOf(one) !== undefined,
      paymentFields,
      (one) => addressOf(one) ?? "",
    );
    if (ours.unread.length > 0) kept.forget(content);
    return {
      unread: ours.unread,
      found: ours.found.filter(({ valueUnits }) => valueUnits > 0n).map((one) => ({ block, one })),
    };
  });
  const { found, unread } = joinFinds(paying);
  const finds = await mapWithLimit(
    found,
    questionsAtOnce,
    async ({ block, one }): Promise<BlockFinds<DetectedPayment>> => {
      const place = { txHash: one.hash, block: block.number };
      const account = addressOf(one) as string;
      try {
        const receipt = await (isAgreed
          ? together.finalReceipt(one.hash)
          : together.receipt(one.hash));
        if (receipt === null || receipt.blockHash !== block.hash)
          throw blockMismatchFault(block.number, "a receipt");
        if (receipt.status !== 1) return { found: [], unread: [] };
      } catch (fault) {
        if (!isUnreadable(fault)) throw fault;
        return { found: [], unread: [{ ...place, account, fault }] };
      }
      const paid = {
        index: nativeIndex,
        address: account,
        contract: "",
        amountUnits: one.valueUnits,
      };
      return { found: [{ ...place, ...paid, blockHash: block.hash }], unread: [] };
    },
  );
  return joinFinds([...finds, { found: [], unread }]);
}

/** Token payments by one node, or by several: only payments to our addresses are compared. */
async function tokenPayments(
  { each, seen, proven }: PaymentSource,
  { blocks, contracts, index, isAgreed }: PaymentQuestion,
): Promise<BlockFinds<DetectedPayment>> {
  const tokens = contracts.filter((contract) => contract !== "");
  if (tokens.length === 0) return { found: [], unread: [] };
  if (!isAgreed) return paymentsBy(seen, blocks, tokens, index);
  const told = new Map<EvmNodes, Promise<BlockFinds<DetectedPayment>>>();
  const ask = (nodes: EvmNodes): Promise<BlockFinds<DetectedPayment>> => {
    const finds =
      told.get(nodes) ?? paymentsBy(proven.get(nodes) as ReadTransferLogs, blocks, tokens, index);
    told.set(nodes, finds);
    return finds;
  };
  const answered: BlockFinds<DetectedPayment>[] = [];
  const keep = async (nodes: EvmNodes): Promise<BlockFinds<DetectedPayment>> => {
    const finds = await ask(nodes);
    answered.push(finds);
    return finds;
  };
  return agreedFinds(
    (keyOf) => findAgreedAnswer(each, keep, keyOf, transfersOf(blocks)),
    () => answered,
    paymentsKey,
  );
}

async function paymentsBy(
  transfers: ReadTransferLogs,
  blocks: readonly WatchedBlock[],
  contracts: readonly string[],
  index: WatchedAddressIndex,
): Promise<BlockFinds<DetectedPayment>> {
  const byKey = new Map(contracts.map((contract) => [contract.toLowerCase(), contract]));
  const logs = (await transfers(blocks.map(contentOf), contracts)).filter(
    (one) => index.find(receiverKeyOf(one)) !== undefined,
  );
  const { found, unread } = collectFinds(
    logs,
    (one) =>
      paymentsOf(one, byKey.get(one.address) as string, index.find(receiverKeyOf(one)) as string),
    (one) => ({
      txHash: one.txKey,
      block: one.blockNumber,
      account: index.find(receiverKeyOf(one)) as string,
    }),
  );
  // Some nodes count logs within each transaction, so the name of a payment includes the hash.
  const byName = new Map(found.map((one) => [`${one.blockHash} ${one.txHash} ${one.index}`, one]));
  return { found: [...byName.values()], unread };
}

function paymentsOf(one: FoundLog, contract: string, address: string): readonly DetectedPayment[] {
  const log = one.read();
  const transfer = readTransferLog(log);
  // A transfer of zero is noise that others send to get attention.
  if (transfer === null || transfer.amountUnits === 0n) return [];
  const { txHash, logIndex: index, blockNumber: block, blockHash } = log;
  return [
    { txHash, index, address, contract, amountUnits: transfer.amountUnits, block, blockHash },
  ];
}

/** The receiver of a plain Transfer as its topic has it; "" for another event. */
function receiverKeyOf({ topics }: FoundLog): string {
  const to = topics[2] ?? "";
  return topics.length === 3 && to.startsWith(topicPadding)
    ? `0x${to.slice(topicPadding.length)}`
    : "";
}

function paymentsKey(payments: readonly DetectedPayment[]): string {
  const fields = payments.map((one) => [
    one.blockHash,
    one.txHash,
    one.index,
    one.contract,
    one.address,
    `${one.amountUnits}`,
  ]);
  return JSON.stringify(fields.map((each) => JSON.stringify(each)).sort());
}

function transfersOf(blocks: readonly WatchedBlock[]): string {
  return `transfers of blocks ${blocks[0]?.number} to ${blocks.at(-1)?.number}`;
}

/*
 * Gathers what the chain shows of payouts in one pass: receipts of their attempts, agreed ones for
 * those in final blocks, and the accounts' counts. Decides nothing. Touches nodes only through
 * node.ts.
 */

/** From this number of payouts in a pass on, the accounts' counts are asked for first. */
const countedFrom = 4;

type PayoutNodes = Pick<EvmNodes, "receipt" | "finalReceipt" | "slotCounts">;
type EvidenceOf = (payment: Payment, txHashes: readonly string[]) => Promise<PayoutEvidence>;

/**
 * The find of a reader in the agreed block of a number. A block that cannot be read is asked for
 * again the next time.
 */
type ReadBlock = <T>(number: number, reader: (block: AgreedBlock) => T) => Promise<T>;

/** `payouts`: how many the pass will ask about. */
function createEvidence(
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
      const { found, unread } = selectAgreedTransactions(
        holder,
        ({ hash }) => hash === txHash,
        payoutFields,
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
export interface ComparableNodes {
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
  return createWatcherOverNodes(
    { together, each: urls.length === 1 ? [together] : urls.map((url) => open([url])) },
    clock,
  );
}

/** As `createWatcher`, over given nodes. */
export function createWatcherOverNodes(
  reader: ComparableNodes,
  clock = () => performance.now(),
): WatcherNodes {
  const { together, each } = reader;
  const computeLimitOf = createComputeLimitReader(together, clock);
  const kept = new KeptBlocks<AgreedBlock>(blockBytesOf);
  const block = async (number: number, isAgreed: boolean): Promise<AgreedBlock> =>
    isAgreed
      ? kept.ask(number, () => fetchAgreedBlock(each, number))
      : together.block(number, { full: true });
  const indexOf = createAddressIndexes((address) => address.toLowerCase());
  const manyBalances = createAgreedBalances(each);
  const waves = new PacedWaves(balancesAtOnce);
  const source = createPaymentSource(reader, kept);

  const balance = (address: string, contract: string, number: number): Promise<bigint> =>
    findAgreedAnswer(
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
        return (await findAgreedAnswer(each, ask, String, `transactions of ${account}`)) > 0n;
      }),
    async decimals(contract) {
      const ask = (nodes: EvmNodes): Promise<string> =>
        nodes.call(contract, decimalsCall, "latest");
      const data = await findAgreedAnswer(each, ask, String, `decimals of ${contract}`);
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
      const most = evmFees.most(
        firstOffer({ feeMarket: { ...feeMarket }, computeLimit: computeLimit.computeLimit }),
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

function outgoingIn(
  block: AgreedBlock,
  accounts: ReadonlySet<string>,
): BlockFinds<OutgoingTransaction> {
  const keys = new Map([...accounts].map((account) => [account.toLowerCase(), account]));
  const accountOf = ({ fromKey }: BlockTransaction): string => keys.get(fromKey) as string;
  const { found, unread } = selectAgreedTransactions(
    block,
    ({ fromKey }) => keys.has(fromKey),
    outgoingFields,
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
  return joinFinds([collectFinds(found, read, placeOf), { found: [], unread }]);
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
  reader: ComparableNodes,
  payment: Payment,
  outgoingTx: OutgoingTransaction,
): Promise<Judgement> {
  const receipt = await reader.together.finalReceipt(outgoingTx.txHash);
  if (receipt === null) throw blockMismatchFault(outgoingTx.block, "a receipt");
  const transaction = outgoingTx.content as BlockTransaction;
  const final = { receipt, transaction };
  const code = needsReceiverCode(payment, final)
    ? await codeThen(reader, transaction.to ?? "", receipt.blockNumber)
    : null;
  return judgeSlotConsumer(payment, final, code);
}

/**
 * The code at an address when a transaction of this block ran: the code before the block, or else
 * at its end. A delegation (EIP-7702) may be set in this very block, and be gone when the block is
 * read. "0x" for none, null if the nodes do not answer.
 */
async function codeThen(
  { each }: ComparableNodes,
  address: string,
  block: number,
): Promise<string | null> {
  const codeAt = (number: number): Promise<string> =>
    findAgreedAnswer(each, (nodes) => nodes.code(address, number), String, `code of ${address}`);
  try {
    const [before, after] = await Promise.all([codeAt(block - 1), codeAt(block)]);
    return before === "0x" ? after : before;
  } catch (fault) {
    if (!(fault instanceof AgentError) || fault.code === "NODE_CLOSED") throw fault;
    return null;
  }
}
