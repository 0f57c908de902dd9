/**
 * Judges a withdrawal by the chain: by its attempts, and by the coin that they all spend.
 * Everything that ends a withdrawal is final and agreed, and its bytes are proven by their id.
 * Touches nodes only through node-wire.ts.
 */
import { AgentError } from "../../base/fault.ts";
import type { Payment } from "../family.ts";
import type { BlockId, EndingTransaction, Judgement } from "../nodes.ts";
import { slowNodeGraceMs } from "../providers/chain-blocks.ts";
import { firstFault } from "../providers/node-pool.ts";
import { parseAddress } from "./address.ts";
import type { Place } from "./answers.ts";
import type { ChainOutput, ChainTransaction } from "./chain-transaction.ts";
import type { UtxoNetwork } from "./network.ts";
import type { BlockReader, TransactionPlaces } from "./node-blocks.ts";
import { outspendQuestions } from "./node-questions.ts";
import type { KnownTransaction, KnownTransactions } from "./node-transactions.ts";
import type { NodePool } from "./node-wire.ts";
import { judgeByFinalAttempt, judgeForeignSpender, transactionEffectOf } from "./outcome.ts";

export interface JudgeTools {
  readonly pool: NodePool;
  readonly blocks: BlockReader;
  readonly transactions: KnownTransactions;
  readonly network: UtxoNetwork;
}

const waiting: Judgement = { kind: "waiting" };
/** The newest final blocks in which attempts are looked for before a node is asked. */
const nearBlocks = 3;

interface NearbyTransaction {
  readonly place: Place;
  readonly transaction: ChainTransaction;
}

interface PassTools extends JudgeTools {
  readonly near: () => Promise<ReadonlyMap<string, NearbyTransaction>>;
}

/** The judge of one pass. */
export function createJudge(
  tools: JudgeTools,
  final: BlockId,
): (payment: Payment, txHashes: readonly string[], pin?: string) => Promise<Judgement> {
  let read: ReturnType<typeof nearOf> | null = null;
  const near = (): ReturnType<typeof nearOf> => {
    read ??= nearOf(tools.blocks, final);
    return read;
  };
  return (payment, txHashes, pin = "") =>
    judgePayment({ ...tools, near }, final, payment, txHashes, pin);
}

/**
 * The transactions of the newest final blocks, by their ids. The watcher reads the same blocks, in
 * this pass or in one before. From one that cannot be read downwards, nodes are asked for each
 * transaction.
 */
async function nearOf(
  { agreedBlock }: BlockReader,
  final: BlockId,
): Promise<ReadonlyMap<string, NearbyTransaction>> {
  const near = new Map<string, NearbyTransaction>();
  let { hash } = final;
  for (
    let number = final.number;
    number >= Math.max(0, final.number - nearBlocks + 1);
    number -= 1
  ) {
    const block = await agreedBlock(number).catch(noneIfFault);
    if (block?.hash !== hash) break;
    const place = { block: number, blockHash: hash };
    for (const transaction of block.transactions)
      near.set(transaction.txHash, { place, transaction });
    hash = block.parentHash;
  }
  return near;
}

function noneIfFault(fault: unknown): undefined {
  if (fault instanceof AgentError) return undefined;
  throw fault;
}

async function placedOf(
  { blocks, transactions, near }: PassTools,
  txHash: string,
): Promise<TransactionPlaces> {
  const found = (await near()).get(txHash);
  if (found === undefined) return blocks.placed(txHash);
  transactions.keep(found.transaction);
  return { place: found.place, shown: found.place };
}

/**
 * `pin` is the coin that all attempts spend, as txHash:output, with or without its amount; ""
 * leaves it to the attempts that nodes show.
 */
async function judgePayment(
  tools: PassTools,
  final: BlockId,
  payment: Payment,
  txHashes: readonly string[],
  pin: string,
): Promise<Judgement> {
  const placed = await Promise.all(txHashes.map((txHash) => placedOf(tools, txHash)));
  for (const [at, { place }] of placed.entries()) {
    const txHash = txHashes[at] as string;
    if (place === null || !(await isFinal(tools, place, final))) continue;
    const { effect, isOwn, ending } = await readEnd(tools, payment, txHash, place);
    return judgeByFinalAttempt(effect, isOwn, ending);
  }
  const at = placed.findIndex(({ shown }) => shown !== null);
  const shown = placed[at]?.shown ?? null;
  if (shown !== null)
    return { kind: "confirming", txHash: txHashes[at] as string, block: shown.block };
  const anchor = pin === "" ? await anchorOf(tools, txHashes) : outpointOf(pin);
  return anchor === "" ? waiting : judgeByAnchor(tools, final, payment, txHashes, anchor);
}

/**
 * The first coin of every attempt, as nodes show them; "" if one is unknown, or another's differs.
 */
async function anchorOf(
  { transactions }: JudgeTools,
  txHashes: readonly string[],
): Promise<string> {
  const attempts = await Promise.all(txHashes.map((txHash) => transactions.get(txHash)));
  const anchors = new Set(attempts.map((attempt) => attempt?.outpoints[0] ?? ""));
  const [anchor = ""] = anchors;
  return anchors.size === 1 ? anchor : "";
}

async function judgeByAnchor(
  tools: JudgeTools,
  final: BlockId,
  payment: Payment,
  txHashes: readonly string[],
  anchor: string,
): Promise<Judgement> {
  const txHash = await agreedSpender(tools.pool, anchor);
  // An attempt that reached a block since it was asked for is judged at the next pass.
  if (txHash === undefined || txHashes.includes(txHash)) return waiting;
  const { place } = await tools.blocks.placed(txHash);
  if (place === null || !(await isFinal(tools, place, final))) return waiting;
  const { effect, ending, outpoints } = await readEnd(tools, payment, txHash, place);
  return outpoints.includes(anchor) ? judgeForeignSpender(effect, anchor, ending) : waiting;
}

/**
 * The transaction in a block that spends a coin, as enough nodes name it; undefined if they name
 * none. @throws NODE_* if too few nodes answer
 */
export async function agreedSpender(pool: NodePool, coin: string): Promise<string | undefined> {
  const settled = await pool.all(
    (node) => pool.askEither(node, outspendQuestions, coin),
    slowNodeGraceMs,
  );
  const answers = settled.flatMap((one) => (one.ok ? [one.value] : []));
  if (answers.length < pool.quorumMin) throw firstFault(settled);
  const inBlocks = answers.filter((spend) => spend !== null && spend.place !== null);
  const hashes = inBlocks.map((spend) => spend?.txHash ?? "");
  return hashes.find((one) => hashes.filter((other) => other === one).length >= pool.quorumMin);
}

/** The coin without its amount. */
export const outpointOf = (pin: string): string => pin.split(":").slice(0, 2).join(":");

async function isFinal(
  { blocks }: JudgeTools,
  { block, blockHash }: Place,
  final: BlockId,
): Promise<boolean> {
  if (block > final.number) return false;
  const hash = block === final.number ? final.hash : await blocks.agreedHash(block);
  return hash === blockHash;
}

interface End {
  readonly effect: ReturnType<typeof transactionEffectOf>;
  readonly isOwn: boolean; // all its coins are the account's
  readonly ending: EndingTransaction;
  readonly outpoints: readonly string[];
}

async function readEnd(
  tools: JudgeTools,
  payment: Payment,
  txHash: string,
  { block }: Place,
): Promise<End> {
  const { network } = tools;
  const transaction = await known(tools, txHash);
  const spent = await Promise.all(
    transaction.outpoints.map((outpoint) => spentBy(tools, outpoint)),
  );
  const parsed = parseAddress(payment.account, network);
  const isOwn =
    parsed.ok && spent.every(({ script }) => Buffer.compare(script, parsed.script) === 0);
  const feeUnits = sumOf(spent) - sumOf(transaction.outputs);
  const effect = transactionEffectOf(payment, { outputs: transaction.outputs, feeUnits }, network);
  return { effect, isOwn, ending: { txHash, block, feeUnits }, outpoints: transaction.outpoints };
}

async function spentBy(tools: JudgeTools, outpoint: string): Promise<ChainOutput> {
  const [txHash = "", output = ""] = outpoint.split(":");
  const spent = (await known(tools, txHash)).outputs[Number(output)];
  if (spent === undefined)
    throw new AgentError("NODE_ANSWER", "none", `there is no output ${outpoint}`);
  return spent;
}

async function known({ transactions }: JudgeTools, txHash: string): Promise<KnownTransaction> {
  const transaction = await transactions.get(txHash);
  if (transaction === null)
    throw new AgentError("NODE_NO_BLOCK", "none", `no node shows the bytes of ${txHash}`);
  return transaction;
}

function sumOf(outputs: readonly ChainOutput[]): bigint {
  return outputs.reduce((sum, { units }) => sum + units, 0n);
}
