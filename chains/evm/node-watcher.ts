/**
 * The questions of the gateway's watcher, to EVM nodes. Whatever moves money's state (final blocks
 * and their content, logs, receipts, balances) is taken only on the word of min(2, configured)
 * nodes that say the same; what only shows progress is one node's word. Touches chain nodes through
 * node.ts, and nothing else.
 */
import { AgentError } from "../../protocol/fault.ts";
import type { Payment } from "../family.ts";
import type { AddressBook, BlockId, Judgement, NodeLog, SeenPayment, Spend, WatchedBlock, WatcherNodes } from "../nodes.ts";
import { agreement } from "../providers/node-agreement.ts";
import { inWaves } from "../waves.ts";
import type { Block, BlockTransaction, PlacedLog } from "./answers.ts";
import { addressTopic, decimalsCall, decodeTransferCall, readTransferLog, transferTopic } from "./erc20.ts";
import { fees } from "./fees.ts";
import { createEvmNodes, type EvmNodes } from "./node.ts";
import { createWork } from "./node-payer.ts";
import { asksForCode, type Evidence, judgeConsumer, judgePayout, type VersionEvidence } from "./verdict.ts";

/**
 * Nodes answer a window of logs as one text: blocks with thousands of transactions fit, an endless
 * answer does not.
 */
const answerBytesMax = 32 * 1024 * 1024;
const timeoutMs = 15_000;
const topicsPerFilter = 500;
const questionsAtOnce = 32;
/** Balances of one wave: some batches for each node. */
const balancesAtOnce = 256;
/** A payment that is ordered now is signed by the market of minutes later. */
const costNumerator = 3n;
const costDenominator = 2n;
/** Place of a payment in the native coin, which leaves no log. */
const nativeIndex = -1;

interface WatchedNodes {
  readonly chainId: number;
  readonly nodes: readonly string[];
  readonly confirmations: number | "finalized";
}

/**
 * As the watcher asks them: agreement on blocks, logs and balances is made here, by one door a
 * node.
 */
interface Reader {
  readonly together: EvmNodes;
  readonly each: readonly EvmNodes[];
}

/** @public */
export function createWatcher({ nodes: urls, chainId, confirmations }: WatchedNodes, log: NodeLog): WatcherNodes {
  const open = (some: readonly string[]): EvmNodes =>
    createEvmNodes({ urls: some, chainId, confirmations, answerBytesMax, timeoutMs, log });
  const together = open(urls);
  return watcherOf({ together, each: urls.length === 1 ? [together] : urls.map((url) => open([url])) });
}

/** As `createWatcher`, over given nodes. */
export function watcherOf(reader: Reader): WatcherNodes {
  const { together, each } = reader;
  const workOf = createWork(together, () => performance.now());
  const block = (number: number, isAgreed: boolean): Promise<Block> =>
    isAgreed
      ? agreement(each, (nodes) => nodes.block(number, { full: true }), blockKey, `block ${number}`)
      : together.block(number, { full: true });

  const balance = (address: string, contract: string, number: number): Promise<bigint> =>
    agreement(each, (nodes) => nodes.balance(address, contract, number), String, `balance of ${address}`);

  return {
    status: together.status,
    tip: together.head,
    finalTip: together.finalBlock,
    block: async (number, isAgreed) => watched(await block(number, isAgreed)),
    timestamp: async (number) => (await together.block(number, { full: false })).timestamp,
    balance,
    balances: (questions, number) =>
      inWaves(questions, balancesAtOnce, ({ account, contract }) => balance(account, contract, number)),
    async decimals(contract) {
      const ask = (nodes: EvmNodes): Promise<string> => nodes.call(contract, decimalsCall, "latest");
      const data = await agreement(each, ask, String, `decimals of ${contract}`);
      if (data.length !== 66) throw new AgentError("NODE_ANSWER", "none", "the token does not say its decimals", { contract });
      return BigInt(data);
    },
    async payments(blocks, contracts, addresses, isAgreed) {
      if (addresses.size === 0 || blocks.length === 0) return [];
      const found = await Promise.all([
        contracts.includes("") ? nativePayments(reader, blocks, addresses, isAgreed) : [],
        tokenPayments(reader, blocks, contracts, addresses, isAgreed),
      ]);
      return found.flat();
    },
    spends: (blocks, accounts) => blocks.flatMap((one) => spendsIn(one, accounts)),
    hasFailed: async (txHash) => (await together.finalReceipt(txHash))?.status === 0,
    async cost(account, payment) {
      const [work, price] = await Promise.all([workOf(account, payment), together.fees()]);
      if (!work.ok) return work;
      const most = fees.most(fees.first({ ...price }, work.work));
      return { ok: true, feeUnits: (most * costNumerator) / costDenominator };
    },
    judgeSpend: (payment, spend) => judgeSpend(reader, payment, spend),
    pass(final) {
      const shared = sharedQuestions(reader, block);
      return {
        judge: async (payment, txHashes) => judgePayout(payment, await evidenceOf(reader, final, shared, payment, txHashes)),
      };
    },
    close() {
      together.close();
      for (const nodes of each) nodes.close();
    },
  };
}

function watched(content: Block): WatchedBlock {
  const { number, hash, parentHash } = content;
  return { number, hash, parentHash, content };
}

function contentOf({ content }: WatchedBlock): Block {
  return content as Block;
}

function blockKey({ number, hash, parentHash, transactions }: Block): string {
  const fields = transactions.map((t) => [t.hash, t.from, `${t.nonce}`, t.to, `${t.valueUnits}`, t.input]);
  return JSON.stringify([number, hash, parentHash, fields]);
}

function logsKey(logs: readonly PlacedLog[]): string {
  return JSON.stringify(logs.map((log) => [log.blockHash, log.txHash, log.logIndex, log.address, log.topics, log.data]).sort());
}

async function nativePayments(
  { together }: Reader,
  blocks: readonly WatchedBlock[],
  addresses: AddressBook,
  isAgreed: boolean,
): Promise<readonly SeenPayment[]> {
  const paying = blocks.flatMap((block) =>
    contentOf(block)
      .transactions.filter((one) => one.valueUnits > 0n && addresses.has(one.to ?? ""))
      .map((one) => ({ block, one })),
  );
  const found = await inWaves(paying, questionsAtOnce, async ({ block, one }): Promise<SeenPayment | null> => {
    const receipt = await (isAgreed ? together.finalReceipt(one.hash) : together.receipt(one.hash));
    if (receipt === null || receipt.blockHash !== block.hash) throw notTogether(block.number, "a receipt");
    if (receipt.status !== 1) return null;
    return {
      ...{ txHash: one.hash, index: nativeIndex, address: one.to as string, contract: "", amountUnits: one.valueUnits },
      ...{ block: block.number, blockHash: block.hash },
    };
  });
  return found.filter((payment) => payment !== null);
}

async function tokenPayments(
  { together, each }: Reader,
  blocks: readonly WatchedBlock[],
  all: readonly string[],
  addresses: AddressBook,
  isAgreed: boolean,
): Promise<readonly SeenPayment[]> {
  const contracts = all.filter((contract) => contract !== "");
  const [fromBlock, toBlock] = [blocks[0]?.number ?? 0, blocks.at(-1)?.number ?? 0];
  if (contracts.length === 0) return [];
  const hashes = new Map(blocks.map((block) => [block.number, block.hash]));
  const answers = await inWaves(topicsOf(addresses), questionsAtOnce, (topics) => {
    const asked = { fromBlock, toBlock, address: contracts, topics: [transferTopic, null, topics] };
    if (!isAgreed) return together.logs(asked);
    return agreement(each, (nodes) => nodes.logs(asked), logsKey, `transfers of blocks ${fromBlock} to ${toBlock}`);
  });
  const found: SeenPayment[] = [];
  for (const log of answers.flat()) {
    if (hashes.get(log.blockNumber) !== log.blockHash) throw notTogether(log.blockNumber, "a log");
    const transfer = readTransferLog(log);
    const isOurs = transfer !== null && contracts.includes(log.address) && addresses.has(transfer.to);
    // A transfer of nothing is noise that others send to be seen.
    if (!isOurs || transfer.amountUnits === 0n) continue;
    found.push({
      ...{ txHash: log.txHash, index: log.logIndex, address: transfer.to, contract: log.address },
      ...{ amountUnits: transfer.amountUnits, block: log.blockNumber, blockHash: log.blockHash },
    });
  }
  return found;
}

/** All addresses as topics, in lists that nodes take. */
function topicsOf(addresses: AddressBook): readonly (readonly string[])[] {
  const all = [...addresses.all()].map(addressTopic);
  const lists = Array.from({ length: Math.ceil(all.length / topicsPerFilter) });
  return lists.map((_, index) => all.slice(index * topicsPerFilter, (index + 1) * topicsPerFilter));
}

function spendsIn(block: WatchedBlock, accounts: ReadonlySet<string>): readonly Spend[] {
  const sent = contentOf(block).transactions.filter((one) => accounts.has(one.from));
  return sent.map((one) => {
    const { from: account, nonce, hash: txHash } = one;
    return { account, slot: `${nonce}`, txHash, block: block.number, ...paidBy(one), content: one };
  });
}

/** Whom a transaction says it pays: of a call that is no plain transfer, the contract itself. */
function paidBy({ to, input, valueUnits }: BlockTransaction): Pick<Spend, "receiver" | "contract" | "amountUnits"> {
  const call = decodeTransferCall(Buffer.from(input.slice(2), "hex"));
  if (call === null || to === null) return { receiver: to ?? "", contract: "", amountUnits: valueUnits };
  return { receiver: call.destination, contract: to, amountUnits: call.amountUnits };
}

async function judgeSpend(reader: Reader, payment: Payment, spend: Spend): Promise<Judgement> {
  const receipt = await reader.together.finalReceipt(spend.txHash);
  if (receipt === null) throw notTogether(spend.block, "a receipt");
  const transaction = spend.content as BlockTransaction;
  const final = { receipt, transaction };
  const code = asksForCode(payment, final) ? await codeThen(reader, transaction.to ?? "", receipt.blockNumber) : null;
  return judgeConsumer(payment, final, code);
}

/**
 * Code that stood at an address when a transaction of this block ran: before the block, or else at
 * its end, since a delegation (EIP-7702) may be set in the very block, and be gone when the block
 * is read. "0x" for none, null when the nodes cannot say.
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

interface SharedQuestions {
  block(number: number): Promise<Block>;
  finalCount(account: string): Promise<bigint | null>;
}

function sharedQuestions({ together }: Reader, block: (number: number, isAgreed: boolean) => Promise<Block>): SharedQuestions {
  const blocks = new Map<number, Promise<Block>>();
  const counts = new Map<string, Promise<bigint | null>>();
  return {
    block: (number) => askOnce(blocks, number, () => block(number, true)),
    finalCount: (account) =>
      askOnce(counts, account, async () => {
        try {
          return (await together.counters(account)).final;
        } catch (error) {
          // Nodes often differ in their pools; without agreement the count is simply not known.
          if (error instanceof AgentError) return null;
          throw error;
        }
      }),
  };
}

function askOnce<K, V>(known: Map<K, Promise<V>>, key: K, ask: () => Promise<V>): Promise<V> {
  const asked = known.get(key) ?? ask();
  known.set(key, asked);
  return asked;
}

async function evidenceOf(
  reader: Reader,
  final: BlockId,
  shared: SharedQuestions,
  { account }: Payment,
  txHashes: readonly string[],
): Promise<Evidence> {
  const versions = await Promise.all(txHashes.map((txHash) => versionEvidence(reader, final, shared, txHash)));
  const isSeen = versions.some((version) => version.includedIn !== null);
  return { versions, finalCount: isSeen ? null : await shared.finalCount(account) };
}

async function versionEvidence(
  { together }: Reader,
  final: BlockId,
  shared: SharedQuestions,
  txHash: string,
): Promise<VersionEvidence> {
  const receipt = await together.receipt(txHash);
  if (receipt === null) return { txHash, includedIn: null, final: null };
  const unproven = { txHash, includedIn: receipt.blockNumber, final: null };
  if (receipt.blockNumber > final.number) return unproven;
  const agreed = await together.finalReceipt(txHash);
  if (agreed === null) return unproven;
  const block = await shared.block(agreed.blockNumber);
  const transaction = block.transactions.find((each) => each.hash === txHash);
  if (block.hash !== agreed.blockHash || transaction === undefined) return unproven;
  return { txHash, includedIn: agreed.blockNumber, final: { receipt: agreed, transaction } };
}

function notTogether(block: number, what: string): AgentError {
  return new AgentError("NODE_DISAGREE", "none", `the nodes' block ${block} and ${what} of it do not belong together`, { block });
}
