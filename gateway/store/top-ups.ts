/**
 * Which payment to a deposit address is the wallet's own: the top-up of that very address' sweep.
 * Everything else is a payment, whoever signed it: merchants of one gateway pay each other too.
 */
import type { PaymentRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";

/**
 * Finds the top-up that a payment `p` is: of the same merchant, to the same address, with the same
 * amount of the native coin in a transaction of its own (logIndex -1).
 * @public
 */
export const ownTopUp = `SELECT 1 FROM signatures s JOIN transactions u ON u.id = s.transactionId
    JOIN transactions r ON r.id = p.transactionId
  WHERE s.txHash = p.txHash AND s.network = p.network AND p.logIndex = -1 AND u.operation = 'topup'
    AND u.merchant = r.merchant AND u.receiverAddress = p.address AND u.amountUnits = p.units`;

/**
 * Whether a payment is the top-up of its own address' sweep.
 * @public
 */
export function isOwnTopUp(
  database: Database,
  payment: Pick<PaymentRow, "network" | "txHash" | "logIndex" | "address" | "units" | "transactionId">,
): boolean {
  const { network, txHash, logIndex, address, units, transactionId } = payment;
  const asked = "SELECT ? AS network, ? AS txHash, ? AS logIndex, ? AS address, ? AS units, ? AS transactionId";
  const sql = `SELECT 1 FROM (${asked}) p WHERE EXISTS (${ownTopUp})`;
  return database.get(sql, network, txHash, logIndex, address, units, transactionId) !== undefined;
}
