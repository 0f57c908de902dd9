/**
 * The questions of payments to Tron's nodes: the chain's state per block, energy for one payment,
 * locations and outcomes of transactions, and proof that one is void. Turns the nodes' answers into
 * the interface's and decides nothing. Reaches the network only through node-wire.ts.
 */
import { AgentError, refuse } from "../../base/fault.ts";
import type { FeeMarket } from "../family.ts";
import type {
  BroadcastAnswer,
  ChainOutcome,
  ChainState,
  Inclusion,
  NodeLog,
  PaidToken,
  SenderNodes,
  SignedAttempt,
  SlotCounts,
  WantedPayment,
  WantedPaymentFrom,
} from "../nodes.ts";
import {
  type BroadcastReply,
  broadcastTo,
  findBroadcastMeaning,
  type RefusalRow,
  takenReply,
} from "../providers/broadcasts.ts";
import { idOf } from "../providers/chain-blocks.ts";
import { createTokenDecimalsCheck, type TokenDecimalsCheck } from "../providers/node-decimals.ts";
import { disagreementFault } from "../providers/node-pool.ts";
import type { ServerAddress } from "../providers/server.ts";
import { StatePartReader } from "../state-parts.ts";
import { type BlockHead, type CallTrial, nodeTextOf, readFields } from "./answers.ts";
import { computeLimitOfActivation, computeLimitOfCoinTransfer } from "./fees.ts";
import { txHashOf } from "./hash.ts";
import { agreedBalance } from "./node-balances.ts";
import { type BlockReader, createBlockReader } from "./node-blocks.ts";
import type { ShownPlace } from "./node-places.ts";
import {
  accountQuestion,
  feeScheduleQuestion,
  namedDecimalsQuestion,
  tokenBalanceQuestion,
  trialQuestion,
} from "./node-questions.ts";
import { createVoidFinder } from "./node-void.ts";
import { createPool, type NodePool, type PoolNode, smallBytesMax } from "./node-wire.ts";
import { outcomeOf } from "./outcome.ts";
import { decodeMessage } from "./protobuf.ts";
import { encodeTransferCall } from "./trc20.ts";

/*
 * A node's reply to signed bytes, and the words of its refusals with their meaning. A node
 * remembers each id before it checks the transaction, so it later calls known what it has refused.
 * Sources: java-tron, Wallet.broadcastTransaction and the codes of its Return message.
 */

/** The first row that fits the code and the words behind it decides. */
export const broadcastRefusals: readonly RefusalRow[] = [
  { form: /^DUP_TRANSACTION_ERROR\b/, meaning: "known" },
  { form: /^TRANSACTION_EXPIRATION_ERROR\b/, meaning: "expired" },
  // The node's own spelling: no coins for its bandwidth.
  { form: /^BANDWITH_ERROR\b/, meaning: "funds" },
  {
    form: /^CONTRACT_VALIDATE_ERROR\b.*(?:balance is not sufficient|not enough energy|insufficient (?:fee|balance))/i,
    meaning: "funds",
  },
  {
    form: /^(?:SERVER_BUSY|NO_CONNECTION|NOT_ENOUGH_EFFECTIVE_CONNECTION|BLOCK_UNSOLIDIFIED)\b/,
    meaning: "node",
  },
  {
    form: /^(?:SIGERROR|CONTRACT_VALIDATE_ERROR|CONTRACT_EXE_ERROR|TAPOS_ERROR|TOO_BIG_TRANSACTION_ERROR)\b/,
    meaning: "bytes",
  },
];

/** Most replies that are remembered; the oldest is forgotten first. */
const rememberedMax = 4_096;

/** The reply of /wallet/broadcasthex. @throws NODE_ANSWER for a value that is no such reply */
export function readReply(value: unknown, txHash: string): BroadcastReply {
  const { result, code, message, txid, Error: error } = readFields(value, "broadcast");
  if (error !== undefined) return { kind: "refused", words: nodeTextOf(error) };
  if (result === true)
    return txid === txHash
      ? takenReply
      : { kind: "doubtful", words: "the node answered another id" };
  return {
    kind: "refused",
    words: `${typeof code === "string" ? code.slice(0, 60) : ""} ${nodeTextOf(message)}`.trim(),
  };
}

/** The replies of nodes that call bytes known which they have refused. */
export class RememberedReplies {
  readonly #heard = new Map<string, BroadcastReply>();

  /**
   * The reply as it counts. "Known" is the node's reply of before: of bytes that it refused, that
   * refusal; of bytes that were not offered to it in this run, a doubt.
   */
  take(node: string, txHash: string, reply: BroadcastReply): BroadcastReply {
    const key = `${node} ${txHash}`;
    const meaning =
      reply.kind === "refused"
        ? findBroadcastMeaning(broadcastRefusals, reply.words)?.meaning
        : undefined;
    if (meaning === "known") {
      const heard = this.#heard.get(key);
      return heard?.kind === "taken" ? reply : (heard ?? { ...reply, kind: "doubtful" });
    }
    // The node says these before it remembers the id.
    if (reply.kind === "doubtful" || meaning === "node") return reply;
    if (this.#heard.size >= rememberedMax)
      this.#heard.delete(this.#heard.keys().next().value as string);
    this.#heard.set(key, reply);
    return reply;
  }
}

export interface SenderOptions {
  readonly urls: readonly ServerAddress[];
  readonly chainId: string; // as readChainId spells it
  readonly tokens: readonly PaidToken[]; // whose balances count
  readonly clock: () => number; // milliseconds, never running back
  readonly log: NodeLog;
  readonly timeoutMs?: number; // time limit of one exchange, default 5000
  readonly patienceMs?: number; // time limit of one question to a provider at its quota, default 15000
}

/** The interface for payments, with `findVoid`. */
export type TronSender = SenderNodes & Required<Pick<SenderNodes, "findVoid">>;

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
export function createSender(options: SenderOptions): TronSender {
  const { urls, chainId, tokens, clock, log } = options;
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault;
  const pool = createPool({
    urls,
    chainId,
    timeoutMs,
    patienceMs: options.patienceMs ?? patienceMsDefault,
    log,
    clock,
  });
  const blocks = createBlockReader(pool, clock);
  const findVoid = createVoidFinder(blocks, pool.quorumMin);
  const replies = new RememberedReplies();
  const decimals = createTokenDecimalsCheck((contract) => decimalsOf(pool, contract), clock);
  return {
    status: pool.status,
    close: pool.close,
    tip: async () => idOf(await blocks.head()),
    chainState: (account) => chainStateOf({ pool, blocks, tokens, decimals }, account),
    computeLimit: (account, payment) => askComputeLimit(pool, account, payment),
    locations: (_, wanted) =>
      Promise.all(
        wanted.map(({ txHashes }) => locationOf(pool, blocks, txHashes).catch(unanswered)),
      ),
    chainOutcome: (payment, attempts) => chainOutcomeOf(blocks, payment, attempts),
    holds: async (block, blockHash) => {
      try {
        return (await blocks.block(block)).hash === blockHash;
      } catch (error) {
        if (!(error instanceof AgentError) || error.code !== "NODE_NO_BLOCK") throw error;
        return false;
      }
    },
    closed: async () => uncounted(pool.quorumMin),
    broadcast: (raw) => broadcast(pool, replies, raw),
    findVoid: (_, attempts) => findVoid(attempts),
  };
}

/** Counts for a chain without account nonce: all zero. */
function uncounted(quorum: number): SlotCounts {
  return { latest: 0n, pending: 0n, final: 0n, quorum, isSame: true };
}

interface ChainStateQuestion {
  readonly pool: NodePool;
  readonly blocks: BlockReader;
  readonly tokens: readonly PaidToken[];
  readonly decimals: TokenDecimalsCheck;
}

/**
 * Nodes give balances only of their newest solidified block, so balances are asked for after that
 * block. They belong to it or to a later block, and already lack the coins that block spent.
 */
async function chainStateOf(
  { pool, blocks, tokens, decimals }: ChainStateQuestion,
  account: string,
): Promise<ChainState> {
  const parts = new StatePartReader();
  const [head, solid, market] = await Promise.all([
    blocks.head(),
    blocks.solidHead(),
    parts.read("market", () => askFeeMarket(pool, blocks)),
  ]);
  const balances = new Map<string, bigint>();
  const readToken = async (token: PaidToken): Promise<void> => {
    const { contract } = token;
    try {
      // A token with other decimals than configured has no funds here, so nothing in it is signed.
      if (!(await decimals.confirmed(token))) return;
      const ask = (node: PoolNode) =>
        pool.ask(node, tokenBalanceQuestion("/walletsolidity", contract, account));
      balances.set(contract, await agreedBalance(pool, ask, "balance"));
    } catch (error) {
      // A contract that is no token, or gives an invalid answer, stops only its own currency.
      if (!(error instanceof AgentError)) throw error;
    }
  };
  const readCoins = async (): Promise<void> => {
    const ask = async (node: PoolNode) =>
      (await pool.ask(node, accountQuestion("/walletsolidity", account))).balanceSun;
    balances.set("", await agreedBalance(pool, ask, "balance"));
  };
  const askKey = async (node: PoolNode) =>
    (await pool.ask(node, accountQuestion("/walletsolidity", account))).isKeyChanged;
  const [isKeyChanged] = await Promise.all([
    parts.read("control", () => pool.agree(askKey, String, "owner of the account")),
    parts.read("funds", readCoins),
    ...tokens.map(readToken),
  ]);
  const { number: finalNumber, timestampMs: chainMs } = solid;
  return {
    number: head.number,
    finalNumber,
    chainMs,
    feeMarket: market?.feeMarket ?? null,
    balances,
    unfit: decimals.unfit(),
    accountHasCode: false,
    isKeyChanged: isKeyChanged ?? false,
    ...parts.told(),
  };
}

/** The decimals on which enough nodes agree; null if the address has no token contract. */
function decimalsOf(pool: NodePool, contract: string): Promise<bigint | null> {
  const ask = (node: PoolNode): Promise<bigint | null> =>
    pool.ask(node, namedDecimalsQuestion("/walletsolidity", contract));
  return pool.agree(ask, String, `decimals of ${contract}`);
}

/**
 * The newest solidified block, and the fee market as the chain offers it and the nodes agree on it.
 * The watcher uses it as well.
 */
export async function askFeeMarket(
  pool: NodePool,
  blocks: BlockReader,
): Promise<{ readonly solid: BlockHead; readonly feeMarket: FeeMarket }> {
  const ask = pool.agree((node) => pool.ask(node, feeScheduleQuestion), priceKey, "prices");
  const [solid, feeSchedule] = await Promise.all([blocks.solidHead(), ask]);
  return { solid, feeMarket: { ...referenceOf(solid), ...feeSchedule } };
}

/**
 * The compute limit of the interface: energy, or for coins 1 if the receiver is new. The watcher
 * uses it as well.
 */
export function askComputeLimit(
  pool: NodePool,
  account: string,
  payment: WantedPayment,
): ReturnType<SenderNodes["computeLimit"]> {
  return payment.contract === ""
    ? computeLimitOfCoins(pool, payment)
    : computeLimitOfToken(pool, account, payment);
}

/** The block to which a transaction refers: a solidified one, which no reorganisation removes. */
function referenceOf({ number, hash, timestampMs }: BlockHead) {
  return {
    refBlockBytes: BigInt(number % 65_536),
    refBlockHash: BigInt(`0x${hash.slice(16, 32)}`),
    blockMs: BigInt(timestampMs),
  };
}

function priceKey(feeSchedule: Readonly<Record<string, bigint>> | object): string {
  return JSON.stringify(Object.entries(feeSchedule).map(([name, value]) => [name, `${value}`]));
}

/** Coins take no energy; a receiver that is new on chain costs its activation. */
async function computeLimitOfCoins(
  pool: NodePool,
  { destination }: WantedPayment,
): ReturnType<SenderNodes["computeLimit"]> {
  const ask = (node: PoolNode) => pool.ask(node, accountQuestion("/wallet", destination));
  const keyOf = ({ exists, isContract }: Awaited<ReturnType<typeof ask>>) =>
    `${exists} ${isContract}`;
  const { exists, isContract } = await pool.agree(ask, keyOf, "receiver");
  if (isContract) return refuse("NODE_WOULD_REVERT", "the chain sends no coins to a contract");
  return { ok: true, computeLimit: exists ? computeLimitOfCoinTransfer : computeLimitOfActivation };
}

/**
 * Energy that the transfer would take now: the highest figure of the nodes that are close to each
 * other.
 */
async function computeLimitOfToken(
  pool: NodePool,
  account: string,
  payment: WantedPayment,
): ReturnType<SenderNodes["computeLimit"]> {
  const data = Buffer.from(encodeTransferCall(payment.destination, payment.amountUnits)).toString(
    "hex",
  );
  const ask = (node: PoolNode) =>
    pool.ask(node, trialQuestion("/wallet", account, payment.contract, data));
  const settled = await pool.all(ask, graceMs);
  const trials = settled.flatMap((one) => (one.ok ? [one.value] : []));
  const fault = settled.find((one) => !one.ok);
  if (trials.length < pool.quorumMin && fault !== undefined && !fault.ok) throw fault.error;
  const reverted = trials.filter(({ isReverted }) => isReverted);
  const done = trials
    .filter(({ isReverted }) => !isReverted)
    .map(({ energy }: CallTrial) => energy);
  if (done.length < pool.quorumMin) {
    if (reverted.length >= pool.quorumMin)
      return refuse("NODE_WOULD_REVERT", reverted[0]?.text ?? "");
    throw disagreementFault("energy of a payment", trials.length);
  }
  const group = largestGroup(done);
  if (group.length < pool.quorumMin) throw disagreementFault("energy of a payment", trials.length);
  return { ok: true, computeLimit: group.at(-1) as bigint };
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

async function locationOf(
  pool: NodePool,
  blocks: BlockReader,
  txHashes: readonly string[],
): Promise<Inclusion> {
  const shown = await Promise.all(
    txHashes.map(async (txHash) => ({ txHash, places: await blocks.shownPlaces(txHash) })),
  );
  for (const { txHash, places } of shown) {
    const placed = await Promise.all(places.map((place) => placeBy(blocks, txHash, place)));
    const locations = placed.filter((location) => location !== null);
    const keys = locations.map((location) => `${location.block} ${location.blockHash}`);
    const at = keys.findIndex(
      (key) => keys.filter((other) => other === key).length >= pool.quorumMin,
    );
    const location = locations[at];
    if (location !== undefined) return { location, isDoubtful: false };
  }
  return {
    location: null,
    isDoubtful: shown.some(({ places }) => places.some(({ block }) => block !== null)),
  };
}

/**
 * Null if the node's block of that number does not have the transaction, or if the node does not
 * answer.
 */
async function placeBy(
  blocks: BlockReader,
  txHash: string,
  { node, block }: ShownPlace,
): Promise<Inclusion["location"]> {
  if (block === null) return null;
  try {
    const blockHash = await blocks.hashWith(node, block, txHash);
    return blockHash === null ? null : { txHash, block, blockHash };
  } catch (error) {
    return unanswered(error);
  }
}

function unanswered(error: unknown): null {
  if (error instanceof AgentError) return null;
  throw error;
}

/** The newest attempt counts first: an older attempt that failed leaves it open. */
async function chainOutcomeOf(
  blocks: BlockReader,
  payment: WantedPaymentFrom,
  attempts: readonly SignedAttempt[],
): Promise<ChainOutcome | null> {
  const found = await Promise.all(attempts.map(({ txHash }) => blocks.solidReceipt(txHash)));
  const chainOutcomes = found.map((one): ChainOutcome | null => {
    if (one === null) return null;
    const outcome = one.transaction.owner === payment.account ? outcomeOf(payment, one) : "moved";
    return { outcome, txHash: one.receipt.txHash, block: one.receipt.block };
  });
  const ended = chainOutcomes.find((one) => one !== null && one.outcome !== "reverted");
  return ended ?? chainOutcomes.at(-1) ?? null;
}

function broadcast(
  pool: NodePool,
  replies: RememberedReplies,
  raw: string,
): Promise<BroadcastAnswer> {
  const transaction = raw.replace(/^0x/, "");
  const decoded = decodeMessage(Buffer.from(transaction, "hex"));
  const rawData = decoded.ok ? decoded.message.get(1) : undefined;
  const txHash = rawData instanceof Uint8Array ? txHashOf(rawData) : "";
  const ask = { path: "/wallet/broadcasthex", answerBytesMax: smallBytesMax, isWrite: true };
  const hand = async (node: PoolNode): Promise<BroadcastReply> => {
    const reply = readReply(await pool.hand(node, { ...ask, fields: { transaction } }), txHash);
    return replies.take(node.rpc.origin, txHash, reply);
  };
  return broadcastTo({ nodes: pool.nodes, refusals: broadcastRefusals, hand });
}
