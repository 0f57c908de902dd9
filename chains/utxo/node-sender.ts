/**
 * The questions of payments to the nodes of such a coin: the account's final coins and the market
 * in every block, places and outcomes of transactions, the evidence for coins, and broadcasts.
 * Decides nothing. Reaches the network only through node-wire.ts.
 */
import { AgentError, refuse } from "../../base/fault.ts";
import type { Coin, FeeMarket } from "../family.ts";
import { mapWithLimit } from "../map-limit.ts";
import type {
  BroadcastAnswer,
  ChainOutcome,
  ChainState,
  CoinVisibility,
  Inclusion,
  NodeLog,
  SenderNodes,
  SignedAttempt,
  SlotCounts,
  UnusableCoin,
  WantedPayment,
} from "../nodes.ts";
import {
  type BroadcastReply,
  broadcastTo,
  findBroadcastMeaning,
  otherIdReply,
  type RefusalRow,
  takenReply,
} from "../providers/broadcasts.ts";
import { canonicalPathOf } from "../providers/canonical-text.ts";
import { idOf } from "../providers/chain-blocks.ts";
import type { ServerAddress } from "../providers/server.ts";
import { StatePartReader } from "../state-parts.ts";
import { parseAddress } from "./address.ts";
import { readText } from "./answers.ts";
import { readWholeTransaction } from "./chain-transaction.ts";
import type { EsploraAnswer } from "./esplora.ts";
import type { UtxoNetwork } from "./network.ts";
import { balanceAt } from "./node-balance.ts";
import { type BlockReader, createBlockReader, finalDepthOf } from "./node-blocks.ts";
import { type CoinQuestion, finalCoins, type MadeCoin } from "./node-coins.ts";
import { createHistoryReader } from "./node-history.ts";
import { agreedSpender, outpointOf } from "./node-judge.ts";
import { isCoinTransactionShown } from "./node-makers.ts";
import { createFeeMarket } from "./node-market.ts";
import { hashQuestion } from "./node-questions.ts";
import { canBeEvidence, createKnownTransactions, unusableCoinsOf } from "./node-transactions.ts";
import { createPool, smallBytesMax } from "./node-wire.ts";
import { previousBytesMax } from "./previous.ts";
import { dustOf } from "./size.ts";
import { figuresOf } from "./tx-params.ts";

/*
 * A server's reply to signed bytes, and the words of refusals with their meaning. Pure. Sources:
 * validation.cpp and policy.cpp of Bitcoin Core (the reasons of a refusal), rpc/mempool.cpp and
 * rpc/protocol.h; the same files of Litecoin Core; Blockstream/electrs #132 (the bare words "RPC
 * error" with status 400).
 */

/** The first row that fits decides. */
export const broadcastRefusals: readonly RefusalRow[] = [
  {
    form: /txn-already-in-mempool|txn-same-nonwitness-data-in-mempool|already in mempool/i,
    meaning: "known",
  },
  {
    form: /txn-already-known|already in (?:block chain|utxo set)|outputs already in/i,
    meaning: "known",
  },
  // A coin is spent in the chain, or its transaction is in no block of this node.
  {
    form: /missingorspent|missing[- ]?inputs|bad-txns-spends-conflicting-tx/i,
    meaning: "slot-used",
  },
  // The least fee of this very transaction, in sat.
  {
    form: /(?:min relay|mempool min) fee not met, [0-9]+ < (?<least>[0-9]{1,15})\b/i,
    meaning: "price",
  },
  {
    form: /insufficient fee|min relay fee not met|mempool min fee not met|fee is too low/i,
    meaning: "price",
  },
  { form: /bad-txns-in-belowout/i, meaning: "funds" },
  {
    form: /loading (?:block index|wallet|P2P)|verifying blocks|rewinding blocks|work queue depth|in initial (?:block )?download|is syncing/i,
    meaning: "node",
  },
  // In the first, the node keeps the earlier attempt, whatever the fee.
  {
    form: /txn-mempool-conflict|replacement-adds-unconfirmed|too many potential replacements/i,
    meaning: "bytes",
  },
  {
    form: /\b(?:dust|scriptpubkey|tx-size|non-final|mandatory-script|non-mandatory|premature-spend|max-fee-exceeded|too-long-mempool-chain)/i,
    meaning: "bytes",
  },
  { form: /bad-txns-|TX decode failed|absurdly-high-fee|maxfeerate/i, meaning: "bytes" },
];

/**
 * The reply of POST /tx: the id, or the reason of a refusal with status 400. Older servers give the
 * reason with status 500, where only words that a node is known for are one.
 */
export function readReply(told: EsploraAnswer, txHash: string): BroadcastReply {
  const words = told.ok ? readText(told.bytes) : told.words;
  if (told.ok && words === txHash) return takenReply;
  const isRefusal =
    (!told.ok && told.status < 500) ||
    /\bRPC error\b/i.test(words) ||
    findBroadcastMeaning(broadcastRefusals, words) !== null;
  if (isRefusal) return { kind: "refused", words, ...(told.ok ? {} : { status: told.status }) };
  return told.ok ? otherIdReply : { kind: "doubtful", words };
}

export interface SenderOptions {
  readonly urls: readonly ServerAddress[];
  readonly network: UtxoNetwork;
  readonly confirmations: number | "finalized"; // blocks from a final one to the head, itself counted
  readonly clock: () => number; // milliseconds, never running back
  readonly log: NodeLog;
  readonly timeoutMs?: number; // time limit of one exchange, default 10000
  readonly patienceMs?: number; // time limit of one question to a provider at its quota, default 20000
}

/** The interface for payments, with the questions about coins. */
export type UtxoSender = SenderNodes &
  Required<Pick<SenderNodes, "coinsSeen" | "evidence" | "spentBy">>;

const timeoutMsDefault = 10_000;
const patienceMsDefault = 20_000;
const questionsAtOnce = 8;
/**
 * A payment's compute limit is its size, which the choice of coins decides. This figure stands for
 * it.
 */
const computeLimit = 1n;

/** Opens no connection before the first question. @throws NODE_URL */
export function createUtxoSender(options: SenderOptions): UtxoSender {
  const { urls, network, clock, log } = options;
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault;
  const pool = createPool({
    urls,
    network,
    timeoutMs,
    patienceMs: options.patienceMs ?? patienceMsDefault,
    log,
    clock,
  });
  const confirmations = finalDepthOf(options.confirmations);
  const blocks = createBlockReader(pool, confirmations);
  const question = {
    pool,
    transactions: createKnownTransactions(pool),
    histories: createHistoryReader(pool),
    network,
    explained: new Map(),
  };
  const feeMarketNow = createFeeMarket(pool, network, clock);
  const tell = createNotice(log);
  return {
    status: pool.status,
    close: pool.close,
    tip: async () => idOf(await blocks.head()),
    chainState: (account) =>
      chainStateOf({ ...question, blocks, confirmations, feeMarketNow, tell }, account),
    computeLimit: async (_, payment) => computeLimitOf(network, payment),
    locations: (_, wanted) =>
      Promise.all(wanted.map(({ txHashes }) => locationOf(blocks, txHashes).catch(unanswered))),
    chainOutcome: (_, attempts) => chainOutcomeOf(question, blocks, attempts),
    holds: async (block, blockHash) =>
      (await pool.first((node) => pool.ask(node, hashQuestion(block)))) === blockHash,
    closed: async () => uncounted(pool.quorumMin),
    spentBy: (coins) =>
      mapWithLimit(coins, questionsAtOnce, (coin) =>
        finalSpender(question, blocks, coin).catch(unanswered),
      ),
    coinsSeen: async (coins) => {
      const final = await blocks.finalHead();
      const { timestampMs: chainMs } = await blocks.headAt(final.number);
      const look = async (coin: string): Promise<CoinVisibility> => ({
        isShown: await isCoinTransactionShown(pool, coin),
        chainMs,
      });
      return mapWithLimit(coins, questionsAtOnce, (coin) => look(coin).catch(unanswered));
    },
    evidence: (txParams) =>
      evidenceOf(
        question,
        figuresOf(txParams).coins.map(({ id }) => id),
      ),
    broadcast: (raw) => broadcast(question, raw.replace(/^0x/, "")),
  };
}

/** Counts for a chain that counts no transactions of an account: all zero. */
function uncounted(quorum: number): SlotCounts {
  return { latest: 0n, pending: 0n, final: 0n, quorum, isSame: true };
}

interface StateQuestion extends CoinQuestion {
  readonly blocks: BlockReader;
  readonly confirmations: number;
  readonly feeMarketNow: () => Promise<FeeMarket>;
  readonly tell: (coin: MadeCoin, account: string) => void;
}

/**
 * The coins are asked for after the final block, so a coin that the chain spent up to it is not
 * among them. The balance counts coins of payments on their way too, until these are final; while
 * the nodes do not agree on it, the free coins count.
 */
async function chainStateOf(question: StateQuestion, account: string): Promise<ChainState> {
  const { blocks, confirmations, feeMarketNow, tell } = question;
  const parts = new StatePartReader();
  const [head, final, feeMarket] = await Promise.all([
    blocks.head(),
    blocks.finalHead(),
    parts.read("market", feeMarketNow),
  ]);
  const reached = final.number + confirmations - 1;
  const told: UnusableCoin[] = [];
  const keepUnusable = (_: string, some: readonly UnusableCoin[]): void =>
    void told.splice(0, told.length, ...some);
  const limits = { final: final.number, head: reached, satPerKvB: feeMarket?.satPerKvB ?? 0n };
  const [found, balance] = await Promise.all([
    parts.read("funds", () => finalCoins(question, account, limits)),
    balanceAt({ ...question, keepUnusable }, account, final.number).catch(unanswered),
  ]);
  const numbers = { number: head.number, finalNumber: final.number };
  const common = {
    ...numbers,
    feeMarket,
    unfit: new Map(),
    accountHasCode: false,
    ...parts.told(),
  };
  if (found === null)
    return { ...common, balances: new Map(balance === null ? [] : [["", balance - sumOf(told)]]) };
  for (const coin of found) if (!canBeEvidence(coin.made)) tell(coin, account);
  const coins = found
    .filter(({ made }) => canBeEvidence(made))
    .map(({ id, units }) => ({ id, units }));
  const unusable = [
    ...new Map([...told, ...unusableCoinsOf(found)].map((coin) => [coin.id, coin])).values(),
  ];
  const balances = new Map([["", balance === null ? sumOf(coins) : balance - sumOf(unusable)]]);
  return { ...common, balances, coins, ...(unusable.length === 0 ? {} : { unusable }) };
}

const sumOf = (some: readonly Pick<Coin, "units">[]): bigint =>
  some.reduce((sum, { units }) => sum + units, 0n);

/** Names each coin that cannot be used only once. */
function createNotice(log: NodeLog): StateQuestion["tell"] {
  const told = new Set<string>();
  return ({ id, units, block, made }, address) => {
    if (told.has(id)) return;
    told.add(id);
    const message = `coin ${id} is not used: the transaction that made it has ${made.body.length} bytes, at most ${previousBytesMax}`;
    log("coin-unused", { block, txHash: made.txHash, address, amount: `${units}`, message });
  };
}

function computeLimitOf(
  network: UtxoNetwork,
  { destination, amountUnits }: WantedPayment,
): Awaited<ReturnType<SenderNodes["computeLimit"]>> {
  const parsed = parseAddress(destination, network);
  if (!parsed.ok) return refuse("NODE_WOULD_REVERT", parsed.detail ?? parsed.code);
  const least = dustOf(parsed.script, network);
  if (amountUnits < least)
    return refuse(
      "NODE_WOULD_REVERT",
      `${amountUnits} sat, and nodes forward no output below ${least}`,
    );
  return { ok: true, computeLimit };
}

async function locationOf(blocks: BlockReader, txHashes: readonly string[]): Promise<Inclusion> {
  const placed = await Promise.all(txHashes.map((txHash) => blocks.placed(txHash)));
  const at = placed.findIndex(({ place }) => place !== null);
  const place = placed[at]?.place;
  if (place !== undefined && place !== null)
    return {
      location: { txHash: txHashes[at] as string, block: place.block, blockHash: place.blockHash },
      isDoubtful: false,
    };
  return { location: null, isDoubtful: placed.some(({ shown }) => shown !== null) };
}

function unanswered(error: unknown): null {
  if (error instanceof AgentError) return null;
  throw error;
}

/**
 * The id of an attempt belongs to bytes that were read back, so a transaction in the chain is
 * exactly its payment or its cancel.
 */
async function chainOutcomeOf(
  question: CoinQuestion,
  blocks: BlockReader,
  attempts: readonly SignedAttempt[],
): Promise<ChainOutcome | null> {
  const places = await Promise.all(attempts.map(({ txHash }) => blocks.finalPlace(txHash)));
  const at = places.findIndex((place) => place !== null);
  const [attempt, place] = [attempts[at], places[at]];
  if (attempt === undefined || place === undefined || place === null)
    return lossOf(question, blocks, attempts);
  return {
    outcome: attempt.isCancel ? "cancelled" : "paid",
    txHash: attempt.txHash,
    block: place.block,
  };
}

/**
 * The loss of the coin that all attempts spend, to a final transaction that is none of them; its
 * bytes have to spend that coin.
 */
async function lossOf(
  question: CoinQuestion,
  blocks: BlockReader,
  attempts: readonly SignedAttempt[],
): Promise<ChainOutcome | null> {
  const newest = attempts.at(-1);
  const pin = outpointOf(newest?.pin ?? "");
  if (newest === undefined || pin === "") return null;
  const txHash = await finalSpender(question, blocks, pin);
  if (txHash === null || attempts.some((attempt) => attempt.txHash === txHash)) return null;
  return { outcome: "conflicted", txHash: newest.txHash, block: 0 };
}

/** The final transaction whose bytes spend a coin, as enough nodes agree; null if there is none. */
async function finalSpender(
  { pool, transactions }: CoinQuestion,
  blocks: BlockReader,
  coin: string,
): Promise<string | null> {
  const txHash = await agreedSpender(pool, coin);
  if (txHash === undefined || (await blocks.finalPlace(txHash)) === null) return null;
  return (await transactions.get(txHash))?.outpoints.includes(coin) === true ? txHash : null;
}

async function evidenceOf(
  { transactions }: CoinQuestion,
  ids: readonly string[],
): Promise<readonly string[]> {
  return mapWithLimit(ids, questionsAtOnce, async (id) => {
    const made = await transactions.get(id.split(":")[0] ?? "");
    if (made === null)
      throw new AgentError(
        "NODE_NO_BLOCK",
        "none",
        `no node shows the transaction that made ${id}`,
      );
    return Buffer.from(made.body).toString("hex");
  });
}

/** The change of a payment is spent later, and its coin is proven by the bytes that leave here. */
function broadcast({ pool, transactions }: CoinQuestion, raw: string): Promise<BroadcastAnswer> {
  const whole = readWholeTransaction(Buffer.from(raw, "hex"));
  if (whole !== null) transactions.keep(whole);
  const txHash = whole?.txHash ?? "";
  const ask = { path: canonicalPathOf`/tx`, body: raw, answerBytesMax: smallBytesMax };
  return broadcastTo({
    nodes: pool.nodes,
    refusals: broadcastRefusals,
    hand: async (node) => readReply(await pool.hand(node, ask), txHash),
  });
}
