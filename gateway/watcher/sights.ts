/**
 * First sights of payments to choices of invoices: a payment counts at the price of the time when
 * it was first seen. A payment that holds its request open was seen without a block; any other one
 * at its block's own time where that is earlier than our look, so that a gateway which was away
 * takes no price from anybody. Source: docs/api.md, Invoices.
 */
import { listUnsightedPayments } from "../store/quotes.ts";
import { runTrackingRow } from "../store/set-aside.ts";
import type { Database } from "../store/store.ts";
import { readDeposit } from "../store/transactions.ts";
import { timeOfHead } from "./block-times.ts";
import type { WatchedChain } from "./chain.ts";
import { judgeRequests } from "./payments.ts";

/** Payments of one pass; the next ones wait for the next pass. */
const atOnce = 256;

/**
 * Keeps the first sights of payments in blocks, and judges their choices. A time that no node tells
 * is the one of this look.
 */
export async function keepFirstSights(
  chain: WatchedChain,
  commit: (fn: (database: Database) => readonly string[]) => void,
): Promise<void> {
  const payments = listUnsightedPayments(chain.store.database, chain.network, atOnce);
  if (payments.length === 0) return;
  const nowMs = chain.clock();
  const times = new Map<number, number>();
  for (const { block } of payments) {
    if (times.has(block)) continue;
    const time = await timeOfHead(chain, block);
    times.set(block, time.ok ? Math.min(time.value, nowMs) : nowMs);
  }
  commit((database) => {
    for (const { transactionId, txHash, block } of payments) {
      const row = readDeposit(database, transactionId);
      if (row?.status !== 0) continue;
      const key = { kind: "judgement", id: transactionId, about: transactionId } as const;
      const at = times.get(block) ?? nowMs;
      runTrackingRow(key, () => chain.choices.keepSight(database, row, txHash, at));
    }
    const ids = payments.map(({ transactionId }) => transactionId);
    return judgeRequests(chain, database, ids, 0);
  });
}
