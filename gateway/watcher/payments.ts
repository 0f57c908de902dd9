/**
 * Payments to deposit addresses in the database, and what they make of the requests. An event is identified by network, txHash and
 * logIndex (-1 native), and a transaction credited in one final block is never credited again in another.
 * Sources: docs/api.md, stages of a deposit; docs/architecture.md section 8.
 */
import type { PaymentRow, TransactionRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";
import { raiseAlarm, type WatchedChain } from "./chain.ts";
import { judgeDeposit } from "./credit.ts";

/** logIndex of a native payment. */
export const nativeLogIndex = -1;

/** txHash of coins that came without a transaction of their own to the address; unique for a block and an address. */
export function internalHash(block: number, address: string): string {
  return `internal:${block}:${address}`;
}

/** Keeps a payment in a block that is not final: shown, never counted. A final one stays as it is. */
export function keepSeen(database: Database, payment: PaymentRow): void {
  upsert(database, payment, "WHERE final = 0");
}

/** Credits a final payment. False when its transaction was credited in another block before: then a person must look. */
export function keepFinal(chain: WatchedChain, database: Database, payment: PaymentRow): boolean {
  const other = database.get<PaymentRow>(
    "SELECT * FROM payments WHERE network = ? AND txHash = ? AND final = 1 AND blockHash <> ?",
    payment.network,
    payment.txHash,
    payment.blockHash,
  );
  if (other !== undefined) {
    const detail = `${payment.txHash} was credited in block ${other.block} and is now final in block ${payment.block}`;
    raiseAlarm(chain, database, "WATCHER_FINAL_REORG", payment.transactionId, detail);
    return false;
  }
  upsert(database, payment, "");
  return true;
}

function upsert(database: Database, payment: PaymentRow, condition: string): void {
  database.run(
    `INSERT INTO payments (network, txHash, logIndex, address, currency, units, block, blockHash, final, transactionId)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (network, txHash, logIndex) DO UPDATE SET address = excluded.address, currency = excluded.currency,
       units = excluded.units, block = excluded.block, blockHash = excluded.blockHash, final = excluded.final,
       transactionId = excluded.transactionId ${condition}`,
    payment.network,
    payment.txHash,
    payment.logIndex,
    payment.address,
    payment.currency,
    payment.units,
    payment.block,
    payment.blockHash,
    payment.final,
    payment.transactionId,
  );
}

/** Forgets what was seen in blocks of `from` to `to` without becoming final there. @returns the requests it belonged to. */
export function forgetSeen(database: Database, network: string, from: number, to: number): readonly string[] {
  const rows = database.all<Pick<PaymentRow, "transactionId">>(
    "SELECT DISTINCT transactionId FROM payments WHERE network = ? AND final = 0 AND block BETWEEN ? AND ?",
    network,
    from,
    to,
  );
  if (rows.length > 0) {
    database.run("DELETE FROM payments WHERE network = ? AND final = 0 AND block BETWEEN ? AND ?", network, from, to);
  }
  return rows.map((row) => row.transactionId);
}

/** Brings the named requests to what their payments say. @returns the ids of those whose row changed. */
export function judgeRequests(
  chain: WatchedChain,
  database: Database,
  ids: Iterable<string>,
  scannedAt: number,
): readonly string[] {
  return [...new Set(ids)].filter((id) => judgeRequest(chain, database, id, scannedAt));
}

/** Requests that are open though their time is over. */
export function overdue(database: Database, network: string, scannedAt: number): readonly string[] {
  const rows = database.all<{ id: string }>(
    "SELECT id FROM transactions WHERE operation = 'deposit' AND status = 0 AND network = ? AND expiresAt <= ?",
    network,
    scannedAt,
  );
  return rows.map((row) => row.id);
}

function judgeRequest(chain: WatchedChain, database: Database, id: string, scannedAt: number): boolean {
  const row = database.get<TransactionRow>("SELECT * FROM transactions WHERE id = ?", id);
  if (row === undefined || row.operation !== "deposit") return false;
  const payments = database.all<PaymentRow>(
    "SELECT * FROM payments WHERE transactionId = ? AND currency = ? AND network = ? ORDER BY block, txHash, logIndex",
    id,
    row.currency,
    row.network,
  );
  const credit = judgeDeposit(
    { status: row.status, stage: row.stage, amountUnits: BigInt(row.amountUnits), expiresAt: row.expiresAt },
    payments.map(({ units, final, block, txHash }) => ({ units: BigInt(units), final: final === 1, block, txHash })),
    scannedAt,
  );
  const next = {
    status: credit.status,
    stage: credit.stage,
    code: credit.code,
    amountReceivedUnits: credit.receivedUnits.toString(),
    txHash: credit.txHash.startsWith("internal:") ? "" : credit.txHash,
    finalBlock: credit.finalBlock,
  };
  if ((Object.keys(next) as (keyof typeof next)[]).every((field) => row[field] === next[field])) return false;
  const { status, stage, code, amountReceivedUnits, txHash, finalBlock } = next;
  database.run(
    "UPDATE transactions SET status = ?, stage = ?, code = ?, amountReceivedUnits = ?, txHash = ?, finalBlock = ?, changedAt = ? WHERE id = ?",
    status,
    stage,
    code,
    amountReceivedUnits,
    txHash,
    finalBlock,
    chain.clock(),
    id,
  );
  const fields = { id, stage, received: amountReceivedUnits };
  if (row.status === 0) chain.log.info({ event: "deposit-changed", ...fields }, `deposit ${stage}`);
  else chain.log.info({ event: "deposit-late", ...fields }, "deposit paid late");
  return true;
}
