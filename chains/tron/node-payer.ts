/**
 * The questions of payments to Tron's nodes: transaction parameters per block, energy for one
 * payment, locations and outcomes of transactions, and proof that one is void. Turns the nodes'
 * answers into the interface's and decides nothing. Reaches the network only through node-pool.ts.
 */
import { AgentError, refuse } from "../../base/fault.ts";
import type { Price } from "../family.ts";
import type {
  BlockFacts,
  BroadcastAnswer,
  Counters,
  Found,
  NodeLog,
  PaidFrom,
  PaidToken,
  PayerNodes,
  SignedVersion,
  Verdict,
  WantedPayment,
} from "../nodes.ts";
import { firstGood } from "../providers/broadcasts.ts";
import { createDecimals, type Decimals } from "../providers/node-decimals.ts";
import { disagreement } from "../providers/node-pool.ts";
import type { BlockHead, Trial } from "./answers.ts";
import { readBroadcast } from "./broadcast.ts";
import { workActivation, workCoin } from "./fees.ts";
import { txHashOf } from "./hash.ts";
import { agreedBalance } from "./node-balances.ts";
import { type Blocks, blockQuestion, createBlocks, idOf, type Shown } from "./node-blocks.ts";
import { createDead } from "./node-dead.ts";
import { createPool, type NodePool, type PoolNode } from "./node-pool.ts";
import { accountQuestion, namedDecimalsQuestion, pricesQuestion, tokenBalanceQuestion, trialQuestion } from "./node-questions.ts";
import { decodeMessage } from "./protobuf.ts";
import { encodeTransferCall } from "./trc20.ts";
import { outcomeOf } from "./verdict.ts";

export interface PayerOptions {
  readonly urls: readonly string[];
  readonly chainId: string; // as readChainId spells it
  readonly tokens: readonly PaidToken[]; // whose balances count
  readonly clock: () => number; // milliseconds, never running back
  readonly log: NodeLog;
  readonly timeoutMs?: number; // time limit of one exchange, default 5000
  readonly patienceMs?: number; // time limit of one question to a provider at its quota, default 15000
}

/** The interface for payments, with `dead`. */
export type TronPayer = PayerNodes & Required<Pick<PayerNodes, "dead">>;

const timeoutMsDefault = 5_000;
const patienceMsDefault = 15_000;
/**
 * Figures of honest nodes at two heads differ: a receiver's first payment in a token costs twice a
 * second one.
 */
const energySpread = 2n;
/** Time after which the other nodes' answers no longer wait for a slow provider. */
const graceMs = 500;

/** Opens no connection before the first question. @throws NODE_URL */
export function createPayer(options: PayerOptions): TronPayer {
  const { urls, chainId, tokens, clock, log } = options;
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault;
  const pool = createPool({ urls, chainId, timeoutMs, patienceMs: options.patienceMs ?? patienceMsDefault, log, clock });
  const blocks = createBlocks(pool);
  const dead = createDead(blocks, pool.witnessesMin);
  const decimals = createDecimals((contract) => decimalsOf(pool, contract), clock);
  return {
    status: pool.status,
    close: pool.close,
    tip: async () => idOf(await blocks.head()),
    facts: (account) => factsOf({ pool, blocks, tokens, decimals }, account),
    work: (account, payment) => workOf(pool, account, payment),
    places: (_, wanted) => Promise.all(wanted.map(({ txHashes }) => placeOf(pool, blocks, txHashes).catch(unanswered))),
    verdict: (payment, versions) => verdictOf(blocks, payment, versions),
    holds: async (block, blockHash) => {
      try {
        return (await blocks.block(block)).hash === blockHash;
      } catch (error) {
        if (!(error instanceof AgentError) || error.code !== "NODE_NO_BLOCK") throw error;
        return false;
      }
    },
    closed: async () => uncounted(pool.witnessesMin),
    broadcast: (raw) => broadcast(pool, raw),
    dead: (_, versions) => dead(versions),
  };
}

/** Counts for a chain without account nonce: all zero. */
function uncounted(witnesses: number): Counters {
  return { latest: 0n, pending: 0n, final: 0n, witnesses, isSame: true };
}

interface FactsAsked {
  readonly pool: NodePool;
  readonly blocks: Blocks;
  readonly tokens: readonly PaidToken[];
  readonly decimals: Decimals;
}

/**
 * Nodes give balances only of their newest solidified block, so balances are asked for after that
 * block. They belong to it or to a later block, and already lack the coins that block spent.
 */
async function factsOf({ pool, blocks, tokens, decimals }: FactsAsked, account: string): Promise<BlockFacts> {
  const [head, { solid, price }] = await Promise.all([blocks.head(), marketOf(pool, blocks)]);
  const balances = new Map<string, bigint>();
  const readToken = async (token: PaidToken): Promise<void> => {
    const { contract } = token;
    try {
      // A token with other decimals than configured has no funds here, so nothing in it is signed.
      if (!(await decimals.confirmed(token))) return;
      const ask = (node: PoolNode) => pool.ask(node, tokenBalanceQuestion("/walletsolidity", contract, account));
      balances.set(contract, await agreedBalance(pool, ask, "balance"));
    } catch (error) {
      // A contract that is no token, or gives an invalid answer, stops only its own currency.
      if (!(error instanceof AgentError)) throw error;
    }
  };
  const readCoins = async (): Promise<void> => {
    const ask = async (node: PoolNode) => (await pool.ask(node, accountQuestion("/walletsolidity", account))).balanceSun;
    balances.set("", await agreedBalance(pool, ask, "balance"));
  };
  await Promise.all([readCoins(), ...tokens.map(readToken)]);
  const { number: finalNumber, timestampMs: chainMs } = solid;
  return { number: head.number, finalNumber, chainMs, price, balances, unfit: decimals.unfit(), accountHasCode: false };
}

/** The decimals on which enough nodes agree; null if the address has no token contract. */
function decimalsOf(pool: NodePool, contract: string): Promise<bigint | null> {
  const ask = (node: PoolNode): Promise<bigint | null> => pool.ask(node, namedDecimalsQuestion("/walletsolidity", contract));
  return pool.agree(ask, String, `decimals of ${contract}`);
}

/**
 * The newest solidified block, and the fee market as the chain offers it and the nodes agree on it.
 * The watcher uses it as well.
 */
export async function marketOf(pool: NodePool, blocks: Blocks): Promise<{ readonly solid: BlockHead; readonly price: Price }> {
  const ask = pool.agree((node) => pool.ask(node, pricesQuestion), priceKey, "prices");
  const [solid, prices] = await Promise.all([blocks.solidHead(), ask]);
  return { solid, price: { ...referenceOf(solid), ...prices } };
}

/**
 * The work of the interface: energy, or for coins 1 if the receiver is new. The watcher uses it as
 * well.
 */
export function workOf(pool: NodePool, account: string, payment: WantedPayment): ReturnType<PayerNodes["work"]> {
  return payment.contract === "" ? workOfCoins(pool, payment) : workOfToken(pool, account, payment);
}

/** The block to which a transaction refers: a solidified one, which no reorganisation removes. */
function referenceOf({ number, hash, timestampMs }: BlockHead) {
  return {
    refBlockBytes: BigInt(number % 65_536),
    refBlockHash: BigInt(`0x${hash.slice(16, 32)}`),
    blockMs: BigInt(timestampMs),
  };
}

function priceKey(prices: Readonly<Record<string, bigint>> | object): string {
  return JSON.stringify(Object.entries(prices).map(([name, value]) => [name, `${value}`]));
}

/** Coins take no energy; a receiver that is new on chain costs its activation. */
async function workOfCoins(pool: NodePool, { destination }: WantedPayment): ReturnType<PayerNodes["work"]> {
  const ask = (node: PoolNode) => pool.ask(node, accountQuestion("/wallet", destination));
  const keyOf = ({ exists, isContract }: Awaited<ReturnType<typeof ask>>) => `${exists} ${isContract}`;
  const { exists, isContract } = await pool.agree(ask, keyOf, "receiver");
  if (isContract) return refuse("NODE_WOULD_REVERT", "the chain sends no coins to a contract");
  return { ok: true, work: exists ? workCoin : workActivation };
}

/**
 * Energy that the transfer would take now: the highest figure of the nodes that are close to each
 * other.
 */
async function workOfToken(pool: NodePool, account: string, payment: WantedPayment): ReturnType<PayerNodes["work"]> {
  const data = Buffer.from(encodeTransferCall(payment.destination, payment.amountUnits)).toString("hex");
  const ask = (node: PoolNode) => pool.ask(node, trialQuestion("/wallet", account, payment.contract, data));
  const settled = await pool.all(ask, graceMs);
  const trials = settled.flatMap((one) => (one.ok ? [one.value] : []));
  const fault = settled.find((one) => !one.ok);
  if (trials.length < pool.witnessesMin && fault !== undefined && !fault.ok) throw fault.error;
  const reverted = trials.filter(({ isReverted }) => isReverted);
  const done = trials.filter(({ isReverted }) => !isReverted).map(({ energy }: Trial) => energy);
  if (done.length < pool.witnessesMin) {
    if (reverted.length >= pool.witnessesMin) return refuse("NODE_WOULD_REVERT", reverted[0]?.text ?? "");
    throw disagreement("energy of a payment", trials.length);
  }
  const group = largestGroup(done);
  if (group.length < pool.witnessesMin) throw disagreement("energy of a payment", trials.length);
  return { ok: true, work: group.at(-1) as bigint };
}

/** The largest group of close figures, rising; of two groups of the same size, the higher one. */
function largestGroup(figures: readonly bigint[]): readonly bigint[] {
  const sorted = [...figures].sort((a, b) => (a < b ? -1 : 1));
  let largest: readonly bigint[] = [];
  for (const [at, one] of sorted.entries()) {
    const group = sorted.slice(at).filter((other) => other <= one * energySpread);
    if (group.length >= largest.length) largest = group;
  }
  return largest;
}

async function placeOf(pool: NodePool, blocks: Blocks, txHashes: readonly string[]): Promise<Found> {
  const shown = await Promise.all(txHashes.map((txHash) => blocks.shownReceipts(txHash, "/wallet")));
  for (const one of shown) {
    const places = (await Promise.all(one.map((each) => placeBy(pool, each)))).filter((place) => place !== null);
    const keys = places.map((place) => `${place.block} ${place.blockHash}`);
    const at = keys.findIndex((key) => keys.filter((other) => other === key).length >= pool.witnessesMin);
    const place = places[at];
    if (place !== undefined) return { place, isDoubtful: false };
  }
  return { place: null, isDoubtful: shown.flat().some(({ receipt }) => receipt !== null) };
}

/**
 * Null if the node's block of that number does not have the transaction, or if the node does not
 * answer.
 */
async function placeBy(pool: NodePool, { node, receipt }: Shown): Promise<Found["place"]> {
  if (receipt === null) return null;
  try {
    const block = await pool.ask(node, blockQuestion("/wallet", receipt.block));
    const isThere = block.transactions.some(({ txHash }) => txHash === receipt.txHash);
    return isThere ? { txHash: receipt.txHash, block: block.number, blockHash: block.hash } : null;
  } catch (error) {
    return unanswered(error);
  }
}

function unanswered(error: unknown): null {
  if (error instanceof AgentError) return null;
  throw error;
}

/** The newest attempt counts first: an older attempt that failed leaves it open. */
async function verdictOf(blocks: Blocks, payment: PaidFrom, versions: readonly SignedVersion[]): Promise<Verdict | null> {
  const found = await Promise.all(versions.map(({ txHash }) => blocks.solidReceipt(txHash)));
  const verdicts = found.map((one): Verdict | null => {
    if (one === null) return null;
    const outcome = one.transaction.owner === payment.account ? outcomeOf(payment, one) : "moved";
    return { outcome, txHash: one.receipt.txHash, block: one.receipt.block };
  });
  const ended = verdicts.find((one) => one !== null && one.outcome !== "reverted");
  return ended ?? verdicts.at(-1) ?? null;
}

function broadcast(pool: NodePool, raw: string): Promise<BroadcastAnswer> {
  const transaction = raw.replace(/^0x/, "");
  const decoded = decodeMessage(Buffer.from(transaction, "hex"));
  const rawData = decoded.ok ? decoded.message.get(1) : undefined;
  const txHash = rawData instanceof Uint8Array ? txHashOf(rawData) : "";
  return firstGood(pool.nodes, async (node) => {
    try {
      const answer = readBroadcast(await pool.send(node, "/wallet/broadcasthex", { transaction }), txHash);
      return answer.outcome === "accepted" ? answer : { ...answer, node: node.rpc.origin };
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      const isUnsent = error.effect === "none" && error.code !== "NODE_ANSWER";
      const text = `${error.code}: ${error.message}`;
      return { outcome: isUnsent ? "unsent" : "unknown", text, node: node.rpc.origin };
    }
  });
}
