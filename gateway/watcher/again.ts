/**
 * Final blocks that are read again: those with transactions that could not be read, and gaps. Keeps
 * what they show now and nothing twice. Source: docs/architecture.md section 8.
 */
import { resultOf } from "../../base/result.ts";
import type { BlockId, MissingHistory } from "../../chains/nodes.ts";
import { payeeOf } from "../../chains/payees.ts";
import { fillGap } from "../store/gaps.ts";
import { readPayment } from "../store/payments.ts";
import type { PaymentRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { hasAllRows, hasSumAt } from "../store/stray-sums.ts";
import { readTransaction } from "../store/transactions.ts";
import type { UnreadRow } from "../store/unread-transactions.ts";
import type { WatchedChain } from "./chain.ts";
import type { DepositMemory } from "./deposit-memory.ts";
import { dueGaps, keepGaps, keepUnfilled, missingOf, tellGaps } from "./gaps.ts";
import { keepAllOutgoing } from "./outgoing-transactions.ts";
import { judgeRequests, keepFinal } from "./payments.ts";
import { blocksAtOnce, commitFinds, findIn, isClaim, readRun } from "./search.ts";
import { keepPayment, nobodys } from "./strays.ts";
import { dueUnread, restUnreadIn, settleRead, unreadIn } from "./unread.ts";
import { applyVerdict } from "./withdrawals.ts";

/** Reads the blocks of unread transactions again, and keeps what they show now. */
export async function rereadUnread(
  chain: WatchedChain,
  memory: DepositMemory,
  cursor: BlockId,
): Promise<void> {
  for (const row of dueUnread(chain, memory.unreadTurns, cursor.number)) {
    const before = unreadIn(chain, row);
    const told = await resultOf(() =>
      readRun(chain, row.block, row.block, true).then((blocks) => findIn(chain, memory, blocks)),
    );
    if (!told.ok) {
      restUnreadIn(chain, before);
      continue;
    }
    const { payments, consumptions, outgoing } = told.value;
    commitFinds(chain, (inside) => {
      keepAllOutgoing(chain, inside, outgoing);
      const used = consumptions
        .filter((one) => applyVerdict(chain, inside, one.row, one.verdict))
        .map((one) => one.row.id);
      const credited = payments
        .filter((one) => wasUnread(inside, before, one))
        .flatMap((one) => keepFinal(chain, inside, one));
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
  if (isClaim(payment) || transactionId === nobodys || readPayment(database, payment)?.final === 1)
    return false;
  if (before.some((row) => row.txHash === txHash)) return true;
  // A payment that a request waits for is a row, and never in a sum, until the request has many.
  const request = readTransaction(database, transactionId);
  const isAwaited =
    request?.status === 0 &&
    request.currency === payment.currency &&
    !hasAllRows(database, transactionId);
  const { address: account } = payeeOf(network, address);
  const isOfBlock = before.some(
    (row) => row.txHash === "" && [address, account, ""].includes(row.address),
  );
  return isOfBlock && (isAwaited || !hasSumAt(database, network, account, block, payment.currency));
}

/** Asks for gaps again, and keeps what they show now. */
export async function fillGaps(
  chain: WatchedChain,
  memory: DepositMemory,
  cursor: BlockId,
): Promise<void> {
  for (const gap of dueGaps(chain, memory.gapTurns)) {
    // The cursor is below it again, and comes to its blocks once more.
    if (gap.fromBlock > cursor.number) continue;
    const to = Math.min(gap.toBlock, gap.fromBlock + blocksAtOnce - 1, cursor.number);
    const told = await resultOf(async () => {
      const lacking: MissingHistory[] = [];
      const found = await findIn(
        chain,
        memory,
        await readRun(chain, gap.fromBlock, to, true),
        lacking,
      );
      const still = missingOf(lacking).get(gap.account);
      if (still !== undefined) throw still;
      return { ...found, lacking };
    });
    if (!told.ok) {
      keepUnfilled(chain, gap, told.fault);
      continue;
    }
    const { payments, consumptions, outgoing, lacking } = told.value;
    const isOwn = ({ address, network }: PaymentRow): boolean =>
      gap.account === "" || payeeOf(network, address).address === gap.account;
    commitFinds(chain, (inside) => {
      keepAllOutgoing(chain, inside, outgoing);
      const own = payments.filter((one) => !isClaim(one) && isOwn(one));
      const credited = own.flatMap((one) => keepPayment(chain, inside, one, gap.summedTo));
      fillGap(inside, gap, to);
      if (gap.account === "") keepGaps(chain, inside, { ...gap, toBlock: to }, missingOf(lacking));
      const used = consumptions
        .filter((one) => applyVerdict(chain, inside, one.row, one.verdict))
        .map((one) => one.row.id);
      return [...used, ...judgeRequests(chain, inside, credited, 0)];
    });
  }
  tellGaps(chain);
}
