/**
 * Transactions in final blocks that name an account of ours and cannot be read. Each is a fault of
 * its own, told at once; the block and the cursor go on, and nothing is credited by guess. It is
 * read again with rests. Source: docs/architecture.md section 8.
 */
import type { Code } from "../../base/codes.ts";
import { AgentError } from "../../base/fault.ts";
import { failedResult, goodResult } from "../../base/result.ts";
import type { UnreadTransaction } from "../../chains/nodes.ts";
import { faultDomains, restMsAfterTries } from "../faults/domains.ts";
import type { Fault, FaultKey } from "../faults/fault.ts";
import type { MerchantTurns } from "../faults/turns.ts";
import {
  keepUnread,
  listUnread,
  listUnreadDue,
  listUnreadIn,
  restUnread,
  settleUnread,
  type UnreadPlace,
  type UnreadRow,
  unreadRowAfterFirstBlock,
} from "../store/unread-transactions.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import { faultKeyOn } from "./items.ts";

/** Blocks that one pass reads again. */
const againMax = 4;
const wordsMax = 300;

/**
 * The name of a transaction among the faults: its block, its hash, and the account that it names.
 */
function keyOf(
  chain: WatchedChain,
  { txHash, block, address }: UnreadPlace,
  merchant: string,
): FaultKey {
  return faultKeyOn(chain, "transaction", `${block} ${txHash || "?"} ${address || "?"}`, merchant);
}

/** Those that stand, as faults. */
export function unreadFaults(chain: WatchedChain): readonly Fault[] {
  return listUnread(chain.store.database, chain.network).map((row) => ({
    ...keyOf(chain, row, row.merchant),
    code: row.code as Code,
    plain: row.code,
    words: row.words,
    sinceMs: row.at,
    tries: row.tries,
    retryAtMs: 0,
    count: 1,
  }));
}

/** Notes the transactions of final blocks that could not be read. Harmless to call twice. */
export function noteUnread(
  chain: WatchedChain,
  unread: readonly UnreadTransaction[],
  merchantOf: (account: string) => string,
): void {
  const { network, store, clock, faults, log } = chain;
  for (const { account: address, block, txHash, fault } of unread) {
    const merchant = merchantOf(address);
    const words = fault.message.slice(0, wordsMax);
    const row = store.write((database) => {
      const kept = keepUnread(database, {
        network,
        address,
        block,
        txHash,
        merchant,
        code: fault.code,
        words,
        at: clock(),
      });
      restUnread(
        database,
        kept,
        clock() + restMsAfterTries(kept.tries, faultDomains.transaction.restMaxMs),
      );
      if (kept.tries === 1) tell(chain, database, kept);
      return kept;
    });
    if (row.tries === 1)
      log.error({ event: "transaction-unread", network, block, txHash, err: fault }, fault.message);
    faults.settle(keyOf(chain, row, merchant), failedResult(fault));
  }
}

function tell(
  chain: WatchedChain,
  database: Parameters<typeof raiseAlarm>[1],
  { txHash, block, address, words }: UnreadRow,
): void {
  const what = txHash === "" ? `a transaction in block ${block}` : `${txHash} in block ${block}`;
  const of = address === "" ? "an account of this gateway" : address;
  const detail = `${what} names ${of} and cannot be read: ${words}; nothing of it counts until it is read`;
  raiseAlarm(chain, database, {
    code: "WATCHER_UNREAD",
    subject: txHash || `${chain.network} ${block}`,
    detail,
  });
}

/** Those of the final blocks up to one that are due again, of merchants in turn. */
export function listDueUnread(
  { store, network, clock }: WatchedChain,
  turns: MerchantTurns,
  final: number,
): readonly UnreadRow[] {
  const due = listUnreadDue(store.database, network, final, clock());
  if (due.length === 0) return [];
  turns.beginPass();
  // Transactions of one block are read together.
  const blocks = new Set<number>();
  const ofBlocks = due.filter(({ block }) => !blocks.has(block) && blocks.add(block).size > 0);
  return turns.deal(ofBlocks, againMax, ({ merchant }) => ({ merchant, questions: 1 }));
}

/** The unread ones in the block of a row; compared with `settleRead` after it was read again. */
export function listUnreadOfBlock(
  { store, network }: WatchedChain,
  { block }: UnreadRow,
): readonly UnreadRow[] {
  return listUnreadIn(store.database, network, block);
}

/** Settles those of a block that its new reading shows. Runs after `noteUnread` of that reading. */
export function settleRead(chain: WatchedChain, before: readonly UnreadRow[]): void {
  const { store, network, clock, faults } = chain;
  const [first] = before;
  if (first === undefined) return;
  const now = new Map(
    listUnreadIn(store.database, network, first.block).map((row) => [nameOf(row), row.tries]),
  );
  const read = before.filter((row) => (now.get(nameOf(row)) ?? 0) <= row.tries);
  store.write((database) => {
    for (const row of read) settleUnread(database, row, clock());
  });
  for (const row of read) {
    faults.settle(keyOf(chain, row, row.merchant), goodResult(null));
    const rest = unreadRowAfterFirstBlock(row);
    if (rest !== null)
      faults.settle(
        keyOf(chain, rest, rest.merchant),
        failedResult(new AgentError(rest.code as Code, "none", rest.words)),
      );
  }
}

const nameOf = ({ txHash, address }: UnreadRow): string => `${txHash} ${address}`;

/** Lets those of a block rest, because the block itself could not be read. */
export function restUnreadIn({ store, clock }: WatchedChain, before: readonly UnreadRow[]): void {
  store.write((database) => {
    for (const row of before)
      restUnread(
        database,
        row,
        clock() + restMsAfterTries(row.tries + 1, faultDomains.history.restMaxMs),
      );
  });
}
