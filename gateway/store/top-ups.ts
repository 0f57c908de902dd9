/**
 * Decides which payment to a deposit address is the wallet's own: only the top-up of a sweep from
 * the same address. Every other transfer is a payment, whatever its sender, because merchants of
 * one gateway pay each other too.
 */
import type { PaymentRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";

/**
 * Finds the top-up that a payment `p` is: same merchant, same address and same amount of the native
 * coin, in a transaction of its own (logIndex -1): one that its agent signed, or the one that
 * completed it. A restored database may know that end before the signature. The bytes that another
 * order signed are its payment. The index of receivers asks for "status <> 0" in these words.
 */
export const ownTopUpSql = `SELECT 1 FROM signatures s JOIN transfers t ON t.id = s.transactionId
    JOIN deposits r ON r.id = p.transactionId
  WHERE s.txHash = p.txHash AND s.network = p.network AND p.logIndex = -1 AND t.operation = 'topup'
    AND t.merchant = r.merchant AND t.receiver = p.address AND t.units = p.units
  UNION ALL SELECT 1 FROM transfers t JOIN deposits r ON r.id = p.transactionId
  WHERE t.receiver = p.address AND t.status <> 0 AND t.status = 1 AND t.txHash = p.txHash AND t.network = p.network
    AND p.logIndex = -1 AND t.operation = 'topup' AND t.merchant = r.merchant AND t.units = p.units
    AND NOT EXISTS (SELECT 1 FROM signatures s WHERE s.txHash = p.txHash AND s.network = p.network AND s.transactionId <> t.id)`;

/** True if a payment is the top-up of a sweep from its own address. */
export function isOwnTopUp(
  database: Database,
  payment: Pick<
    PaymentRow,
    "network" | "txHash" | "logIndex" | "address" | "units" | "transactionId"
  >,
): boolean {
  const { network, txHash, logIndex, address, units, transactionId } = payment;
  const asked =
    "SELECT ? AS network, ? AS txHash, CAST(? AS INTEGER) AS logIndex, ? AS address, ? AS units, ? AS transactionId";
  const sql = `SELECT 1 FROM (${asked}) p WHERE EXISTS (${ownTopUpSql})`;
  return database.get(sql, network, txHash, logIndex, address, units, transactionId) !== undefined;
}

/** The payments that are a top-up, kept before its signature or its end was known here. */
export function listOwnTopUps(
  database: Database,
  id: string,
): readonly Pick<PaymentRow, "network" | "txHash" | "logIndex">[] {
  return database.all(
    `SELECT p.network, p.txHash, p.logIndex FROM (
         SELECT network, txHash FROM signatures WHERE transactionId = ?1
         UNION SELECT network, txHash FROM transfers WHERE id = ?1 AND txHash IS NOT NULL) o
       CROSS JOIN payments p ON p.network = o.network AND p.txHash = o.txHash AND p.logIndex = -1
     WHERE p.final = 1 AND EXISTS (${ownTopUpSql})`,
    id,
  );
}
