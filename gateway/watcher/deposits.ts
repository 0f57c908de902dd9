/**
 * Reads every block as final, only once, and while an address is watched also before that as seen.
 * The cursor in the database moves only together with everything found up to it. Blocks above the
 * final block are remembered here and dropped when their parents change. Sources:
 * docs/architecture.md section 8; docs/api.md, stages of a deposit.
 */
import { AgentError } from "../../base/fault.ts";
import { resultOf, valueIn } from "../../base/result.ts";
import { familyOf } from "../../chains/families.ts";
import type { BlockId, MissingHistory, WatchedBlock } from "../../chains/nodes.ts";
import { hasTags, payeeOf } from "../../chains/payees.ts";
import { oldestPairingAt } from "../store/agents.ts";
import { moveCursor, readCursor } from "../store/cursors.ts";
import { oldestDepositAt } from "../store/deposits.ts";
import { fillGap } from "../store/gaps.ts";
import { newestPaidBlock } from "../store/gone-payments.ts";
import {
  forgetUnjudgedCurrency,
  listRequestsToJudge,
  listUnjudgedCurrencies,
  takeRequestsToJudge,
} from "../store/meta.ts";
import {
  forgetDetectedPayments,
  keepDetectedPayment,
  listDetectedPayments,
  listRequestsPaidIn,
  readPayment,
} from "../store/payments.ts";
import type { PaymentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import {
  hasSumAt,
  isPaymentRowLimitReached,
  keepSummedToBlock,
  readSummedToBlock,
} from "../store/stray-sums.ts";
import { readTransaction } from "../store/transactions.ts";
import type { UnreadRow } from "../store/unread-transactions.ts";
import { findFirstBlockNotBefore } from "./block-times.ts";
import { raiseAlarm, type Tip, type WatchedChain } from "./chain.ts";
import { compareBalances } from "./compare.ts";
import { checkDecimals } from "./decimals.ts";
import type { DepositMemory } from "./deposit-memory.ts";
import { endOverdueRequests, forgetRequestEnds, keepRequestEnds } from "./ends.ts";
import { findPayments, markPaidWallets } from "./findings.ts";
import {
  keepGaps,
  listDueGaps,
  missingHistoryByAccount,
  restUnfilledGap,
  tellGaps,
} from "./gaps.ts";
import {
  endSeenOutgoing,
  keepAllOutgoing,
  keepSeenOutgoing,
  noteUnreadOutgoing,
} from "./outgoing-transactions.ts";
import {
  alertLostPayments,
  creditFinalPayment,
  judgeRequests,
  removeGonePayments,
} from "./payments.ts";
import {
  blocksAtOnce,
  commitFinds,
  findInBlocks,
  isUnconfirmedTransfer,
  readLinkedBlocks,
  searchBlockSpan,
} from "./search.ts";
import { keepFirstSights } from "./sights.ts";
import { keepPayment, noRequestId } from "./strays.ts";
import { listDueUnread, listUnreadOfBlock, restUnreadIn, settleRead } from "./unread.ts";
import { applyJudgement } from "./withdrawals.ts";

/*
 * Final blocks that are read again: those with transactions that could not be read, and gaps. Keeps
 * what they show now and nothing twice. Source: docs/architecture.md section 8.
 */

/** Reads the blocks of unread transactions again, and keeps what they show now. */
async function rereadUnread(
  chain: WatchedChain,
  memory: DepositMemory,
  cursor: BlockId,
): Promise<void> {
  for (const row of listDueUnread(chain, memory.unreadTurns, cursor.number)) {
    const before = listUnreadOfBlock(chain, row);
    const told = await resultOf(() =>
      readLinkedBlocks(chain, row.block, row.block, true).then((blocks) =>
        findInBlocks(chain, memory, blocks),
      ),
    );
    if (!told.ok) {
      restUnreadIn(chain, before);
      continue;
    }
    const { payments, consumptions, outgoing } = told.value;
    commitFinds(chain, (inside) => {
      keepAllOutgoing(chain, inside, outgoing);
      const used = consumptions
        .filter((one) => applyJudgement(chain, inside, one.row, one.verdict))
        .map((one) => one.row.id);
      const credited = payments
        .filter((one) => wasUnread(inside, before, one))
        .flatMap((one) => creditFinalPayment(chain, inside, one));
      return [...used, ...judgeRequests(chain, inside, credited, 0)];
    });
    settleRead(chain, before);
  }
}

/**
 * True for a payment that the first reading of its block did not show. Its other payments are kept:
 * as rows, or in sums, to which nothing is added twice.
 */
function wasUnread(database: Database, before: readonly UnreadRow[], payment: PaymentRow): boolean {
  const { txHash, address, network, block, transactionId } = payment;
  if (
    isUnconfirmedTransfer(payment) ||
    transactionId === noRequestId ||
    readPayment(database, payment)?.final === 1
  )
    return false;
  if (before.some((row) => row.txHash === txHash)) return true;
  // A payment that a request waits for is a row, and never in a sum, until the request has many.
  const request = readTransaction(database, transactionId);
  const isAwaited =
    request?.status === 0 &&
    request.currency === payment.currency &&
    !isPaymentRowLimitReached(database, transactionId);
  const { address: account } = payeeOf(network, address);
  const isOfBlock = before.some(
    (row) => row.txHash === "" && [address, account, ""].includes(row.address),
  );
  return isOfBlock && (isAwaited || !hasSumAt(database, network, account, block, payment.currency));
}

/** Asks for gaps again, and keeps what they show now. */
async function fillGaps(
  chain: WatchedChain,
  memory: DepositMemory,
  cursor: BlockId,
): Promise<void> {
  for (const gap of listDueGaps(chain, memory.gapTurns)) {
    // The cursor is below it again, and comes to its blocks once more.
    if (gap.fromBlock > cursor.number) continue;
    const to = Math.min(gap.toBlock, gap.fromBlock + blocksAtOnce - 1, cursor.number);
    const told = await resultOf(async () => {
      const lacking: MissingHistory[] = [];
      const found = await findInBlocks(
        chain,
        memory,
        await readLinkedBlocks(chain, gap.fromBlock, to, true),
        lacking,
      );
      const still = missingHistoryByAccount(lacking).get(gap.account);
      if (still !== undefined) throw still;
      return { ...found, lacking };
    });
    if (!told.ok) {
      restUnfilledGap(chain, gap, told.fault);
      continue;
    }
    const { payments, consumptions, outgoing, lacking } = told.value;
    const isOwn = ({ address, network }: PaymentRow): boolean =>
      gap.account === "" || payeeOf(network, address).address === gap.account;
    commitFinds(chain, (inside) => {
      keepAllOutgoing(chain, inside, outgoing);
      const own = payments.filter((one) => !isUnconfirmedTransfer(one) && isOwn(one));
      const credited = own.flatMap((one) => keepPayment(chain, inside, one, gap.summedTo));
      fillGap(inside, gap, to);
      if (gap.account === "")
        keepGaps(chain, inside, { ...gap, toBlock: to }, missingHistoryByAccount(lacking));
      const used = consumptions
        .filter((one) => applyJudgement(chain, inside, one.row, one.verdict))
        .map((one) => one.row.id);
      return [...used, ...judgeRequests(chain, inside, credited, 0)];
    });
  }
  tellGaps(chain);
}

const runsPerPass = 8;
/** Payments of one write, so that no other request waits long for it. */
const paymentsAtOnce = 250;
/** How far to go back if a final block turns out not to be final. */
const rewindBlocks = 256;
/** So often further back, if the payments there left the chain too. */
const rewindStepsMax = 64;
/**
 * Clocks of chain and gateway differ. A request made this long after a block cannot have been paid
 * in the block.
 */
const clockSkewMs = 15 * 60_000;
/** Blocks of an agent's payments that a restored database forgot are read so far back. */
const forgottenMsMax = 30 * 86_400_000;

/**
 * Runs one pass: final blocks, coins that came without a transaction, seen blocks, voidAttempts.
 * @returns false if there is more to read at once
 * @throws AgentError NODE_*; the cursor is then not moved
 */
export async function scanDeposits(
  chain: WatchedChain,
  tip: Tip,
  memory: DepositMemory,
): Promise<boolean> {
  memory.list.refresh(chain.store.database);
  const write = (fn: (database: Database) => readonly string[]): void => commitFinds(chain, fn);
  const over = await keepRequestEnds(chain, memory.ends, tip, write);
  let cursor = await openCursor(chain, tip);
  for (let run = 0; cursor.number < tip.final.number; run += 1) {
    if (run === runsPerPass) return false;
    cursor = await readFinal(chain, memory, cursor, tip.final);
  }
  if (cursor.number > tip.final.number) return true; // the nodes are behind the blocks read before
  if (cursor.hash !== tip.final.hash) {
    await rewind(chain, memory, cursor);
    return false;
  }
  await rereadUnread(chain, memory, cursor);
  await fillGaps(chain, memory, cursor);
  await compareBalances(chain, memory.compare, tip.final, (fn) =>
    commitFinds(chain, (database) => judgeRequests(chain, database, fn(database), 0)),
  );
  alertLostPayments(chain);
  if (!(await readSeen(chain, memory, cursor, tip.head))) return false;
  await keepFirstSights(chain, write);
  if (tip.head.number >= cursor.number) memory.reached = tip;
  endOverdueRequests(chain, memory.compare, over, tip, write);
  return true;
}

/**
 * Asks the tokens that have not confirmed their decimals. Judges payments in tokens that came back
 * into service, in this run or between two runs, and requests that a failed refund concerns.
 * @throws AgentError NODE_CLOSED
 */
export async function checkTokens(chain: WatchedChain): Promise<void> {
  await checkDecimals(chain);
  const { network, store, tokens } = chain;
  if (listRequestsToJudge(store.database, network).length > 0)
    commitFinds(chain, (database) =>
      judgeRequests(chain, database, takeRequestsToJudge(database, network), 0),
    );
  const waiting = new Set(listUnjudgedCurrencies(store.database, network));
  const back = chain.currencies.filter(({ id }) => waiting.has(id) && !tokens.out.has(id));
  if (back.length === 0) return;
  commitFinds(chain, (database) => {
    for (const { id } of back) forgetUnjudgedCurrency(database, network, id);
    const paid = back.flatMap(({ id }) => listRequestsPaidIn(database, network, id));
    return judgeRequests(chain, database, paid, 0);
  });
}

/**
 * When the chain may first hold what this database must know, in milliseconds; null for nothing. A
 * database may be a copy from before its first look at the chain. Without counts nothing but the
 * chain remembers a payment that such a copy and its agent forgot.
 */
function oldestUnreadAt({ store, network, clock }: WatchedChain): number | null {
  const deposit = oldestDepositAt(store.database, network);
  const paired = familyOf(network).slots.isCounted
    ? null
    : oldestPairingAt(store.database, network);
  if (paired === null) return deposit;
  return Math.min(deposit ?? Number.POSITIVE_INFINITY, Math.max(paired, clock() - forgottenMsMax));
}

/**
 * The newest block up to `top` made before a time; 0 if all are newer. @throws AgentError NODE_*
 */
async function lastBefore(chain: WatchedChain, top: number, atMs: number): Promise<number> {
  if ((await chain.reader.timestamp(top)) * 1000 < atMs) return top;
  // Too low a block reads some more; too high a one would pass payments over.
  const search = { floor: 0, top, untold: "notBefore" } as const;
  const first = valueIn(await findFirstBlockNotBefore(chain, atMs, search));
  return Math.max(0, first - 1);
}

async function openCursor(chain: WatchedChain, tip: Tip): Promise<BlockId> {
  const { database } = chain.store;
  const row = readCursor(database, chain.network);
  if (row !== undefined) return { number: row.block, hash: row.hash };
  const oldest = oldestUnreadAt(chain);
  const number =
    oldest !== null
      ? await lastBefore(chain, tip.final.number, oldest - clockSkewMs)
      : tip.final.number;
  // The block behind it names it, and is read next in any case.
  const hash =
    number === tip.final.number
      ? tip.final.hash
      : (await chain.reader.block(number + 1, true)).parentHash;
  const cursor = { number, hash };
  chain.store.write((inside) => moveTo(inside, chain.network, cursor));
  return cursor;
}

function moveTo(database: Database, network: string, { number: block, hash }: BlockId): void {
  moveCursor(database, { network, block, hash });
}

async function readFinal(
  chain: WatchedChain,
  memory: DepositMemory,
  cursor: BlockId,
  final: BlockId,
): Promise<BlockId> {
  const { list, senders } = memory;
  list.refresh(chain.store.database);
  senders.refresh(chain.store.database);
  if (list.size === 0 && senders.payers.size === 0)
    return keepReached(chain, memory, cursor, final, []);
  const last = Math.min(final.number, cursor.number + blocksAtOnce);
  const blocks = await readLinkedBlocks(chain, cursor.number + 1, last, true);
  const parent = blocks[0]?.parentHash;
  if (parent !== cursor.hash) return rewind(chain, memory, cursor);
  const isSeen = blocks.every(({ hash }) => memory.seen.some((block) => block.hash === hash));
  const [{ read, missing, payments, consumptions, outgoing }] = await Promise.all([
    searchBlockSpan(chain, memory, blocks),
    ...(isSeen ? [] : [markPaidWallets(chain, memory.wallets, blocks)]),
  ]);
  for (const { account, block } of [...outgoing.paid, ...outgoing.failed])
    memory.wallets.mark(account, block);
  if (hasTags(chain.network))
    for (const { address, block } of payments)
      memory.wallets.mark(payeeOf(chain.network, address).address, block);
  let reached = cursor;
  const summed = readSummedToBlock(chain.store.database, chain.network);
  for (const [at, group] of groupsOf(read, payments).entries()) {
    // Others have their turn between two writes.
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    const next = keepReached(chain, memory, reached, group.last, group.payments, (inside) => {
      // A gap reaches no further than the cursor does: the blocks beyond may be read again whole.
      keepGaps(
        chain,
        inside,
        { fromBlock: reached.number + 1, toBlock: group.last.number, summedTo: summed },
        missing,
      );
      if (at > 0) return nothing;
      const touched = removeGonePayments(chain, inside, read);
      // A payment that could not be read is not gone.
      if (missing.size === 0) tellGone(chain, inside, read, payments);
      keepAllOutgoing(chain, inside, outgoing);
      const used = consumptions.filter(({ row, verdict }) =>
        applyJudgement(chain, inside, row, verdict),
      );
      return { changed: used.map(({ row }) => row.id), touched };
    });
    if (next.hash !== group.last.hash) return next;
    reached = next;
  }
  return reached;
}

/** Blocks whose payments are kept in one write, with all payments of them: one block at least. */
interface Group {
  readonly last: BlockId;
  readonly payments: readonly PaymentRow[];
}

function groupsOf(
  blocks: readonly WatchedBlock[],
  payments: readonly PaymentRow[],
): readonly Group[] {
  const groups: { last: BlockId; payments: PaymentRow[] }[] = [];
  for (const { number, hash } of blocks) {
    const own = payments.filter(({ block }) => block === number);
    const group = groups.at(-1);
    if (group === undefined || group.payments.length + own.length > paymentsAtOnce)
      groups.push({ last: { number, hash }, payments: own });
    else {
      group.last = { number, hash };
      group.payments.push(...own);
    }
  }
  return groups;
}

/**
 * Raises an alarm for each payment that was seen in one of these same blocks and is missing from
 * the block's final reading. A node has withheld data, then or now.
 */
function tellGone(
  chain: WatchedChain,
  database: Database,
  blocks: readonly WatchedBlock[],
  payments: readonly PaymentRow[],
): void {
  const [from, to] = [blocks[0]?.number ?? 0, blocks.at(-1)?.number ?? 0];
  const standing = new Set(blocks.map(({ hash }) => hash));
  const shown = new Set(payments.map(({ txHash, logIndex }) => `${txHash} ${logIndex}`));
  for (const {
    txHash,
    logIndex,
    block,
    blockHash,
    units,
    currency,
    transactionId,
  } of listDetectedPayments(database, chain.network, from, to)) {
    if (!standing.has(blockHash) || shown.has(`${txHash} ${logIndex}`)) continue;
    const detail = `${units} base units of ${currency} by ${txHash} were seen in block ${block}, which stands and does not show them`;
    raiseAlarm(chain, database, { code: "WATCHER_PAYMENT_GONE", subject: transactionId, detail });
  }
}

/** Ids of records: that changed, and that must be judged. */
interface OtherRecords {
  readonly changed: readonly string[];
  readonly touched: readonly string[];
}

const nothing: OtherRecords = { changed: [], touched: [] };

/** Keeps everything found up to `reached`, and the cursor, in one transaction. */
function keepReached(
  chain: WatchedChain,
  memory: DepositMemory,
  cursor: BlockId,
  reached: BlockId,
  payments: readonly PaymentRow[],
  also: (database: Database) => OtherRecords = () => nothing,
): BlockId {
  let isOverturned = false;
  commitFinds(chain, (database) => {
    // Meanwhile an agent reported addresses that these blocks were not searched for.
    isOverturned =
      memory.list.lacks(database) || readCursor(database, chain.network)?.block !== cursor.number;
    if (isOverturned) return [];
    const others = also(database);
    const touched = [
      ...others.touched,
      ...forgetDetectedPayments(database, chain.network, cursor.number + 1, reached.number),
    ];
    for (const payment of payments.filter(isUnconfirmedTransfer))
      keepDetectedPayment(database, { ...payment, final: 0 });
    const summed = readSummedToBlock(database, chain.network);
    for (const payment of payments.filter((one) => !isUnconfirmedTransfer(one)))
      touched.push(...keepPayment(chain, database, payment, summed));
    keepSummedToBlock(database, chain.network, reached.number);
    moveTo(database, chain.network, reached);
    return [...others.changed, ...judgeRequests(chain, database, touched, 0)];
  });
  if (isOverturned) {
    const { block: number, hash } = readCursor(chain.store.database, chain.network) ?? {
      block: cursor.number,
      hash: cursor.hash,
    };
    return { number, hash };
  }
  memory.seen = memory.seen.filter((block) => block.number > reached.number);
  return reached;
}

/**
 * The block from which to read again: a number of blocks back, and so far that the newest payment
 * before it is still in its block.
 */
async function rewindTo(
  { reader, store, network }: WatchedChain,
  number: number,
): Promise<WatchedBlock> {
  let back = await reader.block(Math.max(0, number - rewindBlocks), true);
  for (let step = 0; step < rewindStepsMax && back.number > 0; step += 1) {
    const paid = newestPaidBlock(store.database, network, back.number);
    if (paid === undefined || (await reader.block(paid.block, true)).hash === paid.blockHash) break;
    back = await reader.block(Math.max(0, paid.block - rewindBlocks), true);
  }
  return back;
}

/**
 * Goes back, because the chain's finality was weaker than configured. All later blocks are read
 * again, and the payments whose block left are taken out of the books. An operator decides on the
 * deposits that they completed.
 */
async function rewind(
  chain: WatchedChain,
  memory: DepositMemory,
  cursor: BlockId,
): Promise<BlockId> {
  const back = await rewindTo(chain, cursor.number);
  memory.wallets.markAll();
  const to = { number: back.number, hash: back.hash };
  memory.seen = [];
  forgetRequestEnds(memory.ends);
  chain.store.write((database) => {
    const detail = `block ${cursor.number} was final as ${cursor.hash} and is not in the chain any more; reading again from ${to.number}`;
    raiseAlarm(chain, database, {
      code: "WATCHER_FINAL_REORG",
      cause: "chain",
      subject: chain.network,
      detail,
    });
    moveTo(database, chain.network, to);
  });
  return to;
}

/**
 * Reads the blocks above the cursor up to the head as seen; none while no address is watched.
 * @returns false if there is more to read at once
 */
async function readSeen(
  chain: WatchedChain,
  memory: DepositMemory,
  cursor: BlockId,
  head: BlockId,
): Promise<boolean> {
  const { list, senders } = memory;
  senders.refresh(chain.store.database);
  if (senders.hotWallets !== memory.hotWallets) {
    // A wallet that came since is searched for in the same blocks.
    memory.hotWallets = senders.hotWallets;
    memory.seen = [];
  }
  if (list.size === 0 && senders.payers.size === 0) {
    // When the first address is watched, they are read from the cursor on.
    memory.seen = [];
    return true;
  }
  endSeenOutgoing(chain);
  const whole = [...memory.crowded]
    .filter(([, block]) => block <= cursor.number)
    .map(([account]) => account);
  for (const account of whole) memory.crowded.delete(account);
  memory.unseen = new Set([...memory.unseen].filter((account) => !whole.includes(account)));
  const lacking: MissingHistory[] = [];
  for (let run = 0; ; run += 1) {
    const last = memory.seen.at(-1) ?? cursor;
    if (last.number > head.number) return true; // a node that lags shows nothing new
    if (last.number === head.number && last.hash === head.hash) return true;
    if (run === runsPerPass) return false;
    const isSide = last.number === head.number;
    const blocks = isSide
      ? []
      : await readLinkedBlocks(
          chain,
          last.number + 1,
          Math.min(head.number, last.number + blocksAtOnce),
          false,
        );
    if (isSide || blocks[0]?.parentHash !== last.hash) {
      giveUp(chain, memory, cursor);
      continue;
    }
    const [payments, outgoing] = await Promise.all([
      findPayments(chain, list, blocks, false, lacking),
      chain.reader.outgoing(blocks, senders.payers, false),
      markPaidWallets(chain, memory.wallets, blocks),
    ]);
    lacking.push(...(outgoing.missing ?? []));
    noteUnreadOutgoing(chain, outgoing.unread);
    // The blocks are read again as final, and all of them kept then.
    for (const account of keepSeenOutgoing(chain, outgoing.found))
      memory.crowded.set(account, blocks.at(-1)?.number ?? 0);
    memory.unseen = new Set([...missingHistoryByAccount(lacking).keys(), ...memory.crowded.keys()]);
    commitFinds(chain, (database) => {
      for (const payment of payments) keepDetectedPayment(database, payment);
      return judgeRequests(
        chain,
        database,
        payments.map((payment) => payment.transactionId),
        0,
      );
    });
    memory.seen.push(...blocks.map(({ number, hash }) => ({ number, hash })));
  }
}

/**
 * Drops the newest seen block after an ordinary reorganisation. For the block of the cursor, only
 * the next agreed final block can decide.
 */
function giveUp(chain: WatchedChain, memory: DepositMemory, cursor: BlockId): void {
  const block = memory.seen.pop();
  forgetRequestEnds(memory.ends);
  if (block === undefined) {
    throw new AgentError("NODE_DISAGREE", "none", "the head does not follow the final block", {
      block: cursor.number,
    });
  }
  commitFinds(chain, (database) =>
    judgeRequests(
      chain,
      database,
      forgetDetectedPayments(database, chain.network, block.number, block.number),
      0,
    ),
  );
  chain.log.info(
    { event: "reorganised", network: chain.network, block: block.number },
    "a block was reorganised away",
  );
}
