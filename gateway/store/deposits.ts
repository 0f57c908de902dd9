/** Deposit requests. */
import { forgetArrivingPayments } from "./arriving.ts";
import { revokedStage } from "./gone-payments.ts";
import type { DepositRow, ServiceReason, TransactionRow } from "./rows.ts";
import type { Database } from "./store.ts";
import { depositsSql, narrowFoundRow } from "./transaction-rows.ts";
import { keepFiatValue } from "./transactions.ts";

/** The request that a payment page shows. A request without a page has no token. */
export function depositOfPayToken(database: Database, token: string): DepositRow | undefined {
  const row = database.get<TransactionRow>(`${depositsSql} WHERE d.payToken = ?`, token);
  return narrowFoundRow(row) as DepositRow | undefined;
}

/** Ids of pending requests whose time is over. */
export function listExpiredRequestIds(
  database: Database,
  network: string,
  nowMs: number,
): readonly string[] {
  const rows = database.all<{ id: string }>(
    "SELECT id FROM deposits WHERE status = 0 AND network = ? AND expiresAt <= ? ORDER BY currency, number",
    ...[network, nowMs],
  );
  return rows.map((row) => row.id);
}

/**
 * Keeps the block that holds all payments included before a request's end. An end in a final block
 * stays; another one is replaced, since its block may leave the chain.
 */
export function keepDepositEnd(
  database: Database,
  transactionId: string,
  block: number,
  finalBlock: number,
): void {
  const sql =
    "UPDATE deposits SET endBlock = ? WHERE id = ? AND (endBlock IS NULL OR endBlock > ?)";
  database.run(sql, block, transactionId, finalBlock);
}

/** Open requests on a network with an end above its final block. */
export function listDepositsWithProvisionalEnd(
  database: Database,
  network: string,
  finalBlock: number,
): readonly string[] {
  const sql = "SELECT id FROM deposits WHERE network = ? AND endBlock > ? ORDER BY number";
  return database.all<{ id: string }>(sql, network, finalBlock).map(({ id }) => id);
}

/** Takes back an end that does not hold, because the clock that named it was wrong. */
export function dropDepositEnd(database: Database, transactionId: string): void {
  database.run("UPDATE deposits SET endBlock = NULL WHERE id = ?", transactionId);
}

/** Null while the request's end is not in a block. */
export function depositEndBlock(database: Database, transactionId: string): number | null {
  const sql = "SELECT endBlock FROM deposits WHERE id = ?";
  return database.get<{ endBlock: number | null }>(sql, transactionId)?.endBlock ?? null;
}

/** The open requests in a currency. */
export function listPendingDeposits(
  database: Database,
  network: string,
  currency: string,
): readonly Pick<DepositRow, "id" | "merchant" | "address">[] {
  const sql =
    "SELECT id, merchant, address FROM deposits WHERE status = 0 AND network = ? AND currency = ? ORDER BY number";
  return database.all(sql, network, currency);
}

/** When the oldest request on a network was made, in milliseconds; null without requests. */
export function oldestDepositAt(database: Database, network: string): number | null {
  const sql = "SELECT min(createdAt) AS at FROM deposits WHERE network = ?";
  return database.get<{ at: number | null }>(sql, network)?.at ?? null;
}

/** The fields of a request that its payments determine. */
export interface DepositCredit
  extends Pick<
    DepositRow,
    "status" | "stage" | "receivedUnits" | "late" | "txHash" | "finalBlock" | "changedAt"
  > {
  readonly code: ServiceReason | "";
}

export function updateDeposit(database: Database, id: string, credit: DepositCredit): void {
  const { status, stage, code, receivedUnits, late, txHash, finalBlock, changedAt } = credit;
  if (status !== 0) forgetArrivingPayments(database, id);
  database.run(
    `UPDATE deposits SET status = ?1, stage = ?, code = nullif(?, ''), receivedUnits = ?, late = ?, txHash = nullif(?, ''),
       finalBlock = ?, changedAt = ?, endBlock = CASE WHEN CAST(?1 AS INTEGER) = 0 THEN endBlock END WHERE id = ?`,
    ...[status, stage, code, receivedUnits, late, txHash, finalBlock, changedAt, id],
  );
}

/**
 * Makes an expired request Completed, and keeps that somebody accepted it.
 * @returns false if the request is in any other state
 */
export function completeExpiredDeposit(database: Database, id: string, nowMs: number): boolean {
  const sql = `UPDATE deposits SET status = 1, stage = 'completed', code = NULL, changedAt = ?1, acceptedAt = ?1
    WHERE id = ?2 AND status = 2`;
  return database.run(sql, nowMs, id).changes === 1;
}

/** Keeps that somebody accepted a request; harmless to call twice. */
export function keepAcceptance(database: Database, id: string, nowMs: number): void {
  database.run("UPDATE deposits SET acceptedAt = ? WHERE id = ?", nowMs, id);
}

/**
 * Makes a Completed deposit Failed, because the payments that completed it left the chain. Its fiat
 * value goes: it is worth nothing now.
 */
export function revokeDeposit(database: Database, id: string, credit: DepositCredit): void {
  updateDeposit(database, id, {
    ...credit,
    status: 2,
    stage: revokedStage,
    code: "deposit_reorged",
  });
  keepFiatValue(database, id, "");
}

/** The number of pending requests in each stage, and when the oldest was made. */
export function countPendingDepositsByStage(
  database: Database,
): readonly { readonly stage: string; readonly count: number; readonly oldestAt: number }[] {
  return database.all(
    "SELECT stage, COUNT(*) AS count, MIN(createdAt) AS oldestAt FROM deposits WHERE status = 0 GROUP BY stage ORDER BY stage",
  );
}
