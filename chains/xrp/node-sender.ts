/**
 * The questions of payments to nodes of the XRP Ledger: funds, fee and newest ledger for every
 * payment, receivers, places and outcomes of transactions, and broadcasts. Decides nothing. Reaches
 * the network only through node-wire.ts.
 */

import { createHash } from "node:crypto";
import { AgentError } from "../../base/fault.ts";
import type {
  BroadcastAnswer,
  ChainOutcome,
  ChainState,
  Inclusion,
  LocationQuestion,
  NodeLog,
  SenderNodes,
  SignedAttempt,
  WantedPaymentFrom,
} from "../nodes.ts";
import {
  type BroadcastReply,
  broadcastTo,
  otherIdReply,
  type RefusalRow,
  takenReply,
} from "../providers/broadcasts.ts";
import { idOf } from "../providers/chain-blocks.ts";
import { cleanNodeText } from "../providers/node-words.ts";
import type { ServerAddress } from "../providers/server.ts";
import { StatePartReader } from "../state-parts.ts";
import {
  askAgreedBalance,
  askComputeLimit,
  askSlotCounts,
  shownSequences,
  spendableDrops,
} from "./node-accounts.ts";
import { type LedgerTransaction, readSubmitted } from "./node-answers.ts";
import { createBeginningFinder } from "./node-began.ts";
import { createHistoryReader, type HistoryReader } from "./node-history.ts";
import { createTransactionReader } from "./node-judge.ts";
import { createXrpLedgerReader, type XrpLedgerReader } from "./node-ledgers.ts";
import { createFeeDrops } from "./node-market.ts";
import { outcomeOf } from "./node-outcome.ts";
import { createPool, type NodePool, smallBytesMax } from "./node-wire.ts";
import type { RpcReply } from "./rpc.ts";

/*
 * The id of signed bytes, by the nodes' side alone. Pure. Source: the ledger's "Basic data types",
 * hashes.
 */

/**
 * The first half of the SHA-512 of the prefix and the signed bytes, as 64 hex digits in upper case.
 */
function transactionId(signed: Uint8Array): string {
  const digest = createHash("sha512")
    .update(Buffer.from("TXN\0", "latin1"))
    .update(signed)
    .digest();
  return digest.subarray(0, 32).toString("hex").toUpperCase();
}

/*
 * A node's reply to signed bytes, and the codes of refusals with their meaning. Pure. Sources: the
 * ledger's documentation of `submit`, of transaction results and of universal errors; the
 * transaction queue's conditions.
 */

/** The first row that fits the code, which stands first, decides. */
export const broadcastRefusals: readonly RefusalRow[] = [
  { form: /^tefALREADY\b/, meaning: "known" },
  { form: /^tefPAST_SEQ\b/, meaning: "slot-used" },
  { form: /^tefMAX_LEDGER\b/, meaning: "expired" },
  { form: /^tel(?:INSUF_FEE_P|CAN_NOT_QUEUE_FEE|CAN_NOT_QUEUE_FULL)\b/, meaning: "price" },
  { form: /^(?:telCAN_NOT_QUEUE_BALANCE|terINSUF_FEE_B|terNO_ACCOUNT)\b/, meaning: "funds" },
  {
    form: /^tel(?:CAN_NOT_QUEUE_(?:BLOCKS|BLOCKED)|NETWORK_ID_MAKES_TX_NON_CANONICAL|REQUIRES_NETWORK_ID|WRONG_NETWORK)\b/,
    meaning: "bytes",
  },
  {
    form: /^tef(?:BAD_AUTH|BAD_AUTH_MASTER|BAD_SIGNATURE|BAD_QUORUM|MASTER_DISABLED|NOT_MULTI_SIGNING|WRONG_PRIOR|NO_AUTH_REQUIRED|INVARIANT_FAILED)\b/,
    meaning: "bytes",
  },
  { form: /^te[mr]/, meaning: "bytes" },
  // Errors of the API, which no transaction engine has seen.
  { form: /^(?:invalidTransaction|invalidParams|txn_blob)\b/, meaning: "bytes" },
  {
    form: /^(?:noCurrent|noClosed|noNetwork|notReady|notSynced|tooBusy|slowDown|amendmentBlocked|expiredValidatorList|failedToForward|forbidden|noPermission|reportingUnsupported|unknownCmd|jsonInvalid)\b/,
    meaning: "node",
  },
];

/**
 * The reply of `submit`. A node that keeps, queues or applies the bytes has taken them, whatever
 * its code is. The code `tec` is provisional: the ledger claims the fee, or the node tries again;
 * and a node of before these three fields holds what it answers with `ter`. @throws NODE_ANSWER for
 * a result without a code
 */
export function readReply(told: RpcReply, txHash: string): BroadcastReply {
  if (!told.ok) return { kind: "refused", words: told.words };
  const { result, words: more, txHash: shown, applied, kept, queued } = readSubmitted(told.result);
  const words = cleanNodeText(`${result} ${more}`);
  if (shown !== "" && shown !== txHash) return otherIdReply;
  if (result === "tesSUCCESS" || result === "terQUEUED") return takenReply;
  if (!/^te[mf]/.test(result) && (applied === true || kept === true || queued === true))
    return { ...takenReply, words };
  const isOpen = /^te[cr]/.test(result) && kept === null;
  return { kind: isOpen ? "doubtful" : "refused", words };
}

export interface SenderOptions {
  readonly urls: readonly ServerAddress[];
  readonly networkId: number;
  readonly clock: () => number; // milliseconds, never running back
  readonly log: NodeLog;
  readonly timeoutMs?: number; // time limit of one exchange, default 10000
  readonly patienceMs?: number; // time limit of one question to a provider at its quota, default 20000
}

const timeoutMsDefault = 10_000;
const patienceMsDefault = 20_000;

/** Opens no connection before the first question. @throws NODE_URL */
export function createXrpSender({
  urls,
  networkId,
  clock,
  log,
  timeoutMs,
  patienceMs,
}: SenderOptions): SenderNodes {
  const limits = {
    timeoutMs: timeoutMs ?? timeoutMsDefault,
    patienceMs: patienceMs ?? patienceMsDefault,
  };
  const pool = createPool({ urls, networkId, ...limits, log, clock });
  const ledgers = createXrpLedgerReader(pool, clock);
  const tools = {
    pool,
    ledgers,
    history: createHistoryReader(pool, (account, ledger) =>
      askAgreedBalance(pool, account, ledger),
    ),
    feeDropsNow: createFeeDrops(pool, clock),
    shownTransaction: createTransactionReader(pool),
  };
  return {
    status: pool.status,
    close: pool.close,
    tip: async () => idOf(await ledgers.head()),
    chainState: (account) => chainStateOf(tools, account),
    computeLimit: (account, payment) => askComputeLimit(pool, ledgers, account, payment),
    locations: (account, wanted) => locationsOf(tools, account, wanted),
    chainOutcome: (payment, attempts) => chainOutcomeOf(tools, payment, attempts),
    holds: async (block, blockHash) => {
      try {
        return (await ledgers.headAt(block)).hash === blockHash;
      } catch (error) {
        if (!(error instanceof AgentError) || error.code !== "NODE_NO_BLOCK") throw error;
        return false;
      }
    },
    closed: (account) => askSlotCounts(pool, ledgers, account),
    began: createBeginningFinder(pool, ledgers),
    broadcast: (raw) => broadcast(pool, raw.replace(/^0x/, "").toUpperCase()),
  };
}

interface Tools {
  readonly pool: NodePool;
  readonly ledgers: XrpLedgerReader;
  readonly history: HistoryReader;
  readonly feeDropsNow: () => Promise<bigint>;
  readonly shownTransaction: ReturnType<typeof createTransactionReader>;
}

async function chainStateOf(
  { pool, ledgers, feeDropsNow }: Tools,
  account: string,
): Promise<ChainState> {
  const parts = new StatePartReader();
  const [head, final, feeDrops] = await Promise.all([
    ledgers.head(),
    ledgers.finalHead(),
    parts.read("market", feeDropsNow),
  ]);
  const drops = await parts.read("funds", () => spendableDrops(pool, account, final.number));
  const balances = new Map(drops === null ? [] : [["", drops]]);
  const feeMarket = feeDrops === null ? null : { feeDrops, ledger: BigInt(final.number) };
  const numbers = { number: head.number, finalNumber: final.number };
  return {
    ...numbers,
    feeMarket,
    balances,
    unfit: new Map(),
    accountHasCode: false,
    ...parts.told(),
  };
}

const nowhere: Inclusion = { location: null, isDoubtful: false };

/**
 * A slot that the account's sequence has not reached is in no ledger. For a used slot, only the
 * transaction that used it proves that no other did.
 */
async function locationsOf(
  tools: Tools,
  account: string,
  wanted: readonly LocationQuestion[],
): Promise<readonly (Inclusion | null)[]> {
  const sequences = await shownSequences(tools.pool, account).catch(unanswered);
  if (sequences === null) return wanted.map(() => null);
  const sorted = [...sequences].sort((a, b) => (a < b ? 1 : -1));
  const [highest = 0n, agreed = 0n] = [sorted[0], sorted[tools.pool.quorumMin - 1]];
  return Promise.all(
    wanted.map(async ({ slot, txHashes }) => {
      if (BigInt(slot) >= highest) return nowhere;
      const isUsed = BigInt(slot) < agreed;
      return locationOf(tools, { account, slot, txHashes }, isUsed).catch(unanswered);
    }),
  );
}

async function locationOf(
  { ledgers, history, shownTransaction }: Tools,
  { account, slot, txHashes }: LocationQuestion & { readonly account: string },
  isUsed: boolean,
): Promise<Inclusion | null> {
  const shown = await Promise.all(
    txHashes.map((txHash) => shownTransaction(txHash).catch(unanswered)),
  );
  const agreed = shown.find((one) => one !== null && one.agreed !== null)?.agreed ?? null;
  if (agreed !== null) return at(ledgers, agreed);
  // The lists of enough nodes end a doubt, whatever one method of one node says of the attempt.
  const user = isUsed
    ? await history.userOf(account, slot, (await ledgers.finalHead()).number).catch(unanswered)
    : null;
  if (user !== null) return txHashes.includes(user.txHash) ? at(ledgers, user) : nowhere;
  return shown.some((one) => one !== null && one.shown !== null)
    ? { location: null, isDoubtful: true }
    : null;
}

async function at(
  ledgers: XrpLedgerReader,
  { txHash, ledger: block }: LedgerTransaction,
): Promise<Inclusion> {
  const { hash: blockHash } = await ledgers.agreedHead(block);
  return { location: { txHash, block, blockHash }, isDoubtful: false };
}

function unanswered(error: unknown): null {
  if (error instanceof AgentError) return null;
  throw error;
}

async function chainOutcomeOf(
  tools: Tools,
  payment: WantedPaymentFrom,
  attempts: readonly SignedAttempt[],
): Promise<ChainOutcome | null> {
  const shown = await Promise.all(
    attempts.map(({ txHash }) => agreedAttempt(tools, payment.account, txHash)),
  );
  const index = shown.findIndex((agreed) => agreed !== null);
  const [attempt, transaction] = [attempts[index], shown[index]];
  if (attempt === undefined || transaction === undefined || transaction === null) return null;
  const outcome = outcomeOf(payment, transaction);
  const isOther = outcome === (attempt.isCancel ? "paid" : "cancelled");
  return {
    outcome: isOther ? "moved" : outcome,
    txHash: transaction.txHash,
    block: transaction.ledger,
  };
}

/**
 * An attempt in a final ledger, as enough nodes show it: by itself, or else in their lists of the
 * ledger in which one node shows it.
 */
async function agreedAttempt(
  { ledgers, history, shownTransaction }: Tools,
  account: string,
  txHash: string,
): Promise<LedgerTransaction | null> {
  const { agreed, shown } = await shownTransaction(txHash);
  if (agreed !== null || shown === null) return agreed;
  const { ledger } = shown;
  if (ledger > (await ledgers.finalHead()).number) return null;
  const { hash } = await ledgers.agreedHead(ledger);
  try {
    const { found } = await history.within(account, { from: ledger, to: ledger, hash }, true);
    return found.find((one) => one.txHash === txHash) ?? null;
  } catch (fault) {
    if (fault instanceof AgentError && fault.code === "NODE_DISAGREE") return null;
    throw fault;
  }
}

function broadcast(pool: NodePool, raw: string): Promise<BroadcastAnswer> {
  const txHash = transactionId(Buffer.from(raw, "hex"));
  const ask = {
    method: "submit",
    params: { tx_blob: raw },
    answerBytesMax: smallBytesMax,
    isWrite: true,
  };
  return broadcastTo({
    nodes: pool.nodes,
    refusals: broadcastRefusals,
    hand: async (node) => readReply(await pool.hand(node, ask), txHash),
  });
}
