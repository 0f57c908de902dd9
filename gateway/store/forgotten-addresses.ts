/**
 * Addresses for deposits that may have left before the database was put back, or that a scan found
 * in use, and that belong to no request here. They are watched as all others are. The first payment
 * to one makes a request of its own for it, which nobody asked for: a person credits the money to
 * the request that it was for.
 */
import { transactionIdOf } from "../../protocol/identity.ts";
import { insertDepositAddress } from "./deposit-addresses.ts";
import type { ForgottenAddressRow, PaymentRow, TransactionRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";
import { insertTransaction } from "./transactions.ts";

/** Content of a request that nobody made. */
const nobodys = "";

/**
 * The order under which a forgotten address has its payments.
 * @public
 */
export const unattributedOrderOf = (address: string): string => `unattributed/${address}`;

/**
 * The id of the request that an address' payments belong to while no other names it.
 * @public
 */
export const unattributedIdOf = ({ merchant, address }: Pick<ForgottenAddressRow, "merchant" | "address">): string =>
  transactionIdOf({ merchant, operation: "deposit", orderId: unattributedOrderOf(address) });

/**
 * Twice is harmless. An address that belongs to a request is never forgotten.
 * @public
 */
export function insertForgotten(database: Database, row: ForgottenAddressRow): void {
  database.run(
    `INSERT OR IGNORE INTO forgottenAddresses (address, merchant, agent, addressIndex, namespace, at)
       SELECT ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM depositAddresses WHERE address = ?)`,
    ...[row.address, row.merchant, row.agent, row.addressIndex, row.namespace, row.at, row.address],
  );
}

/**
 * Forgotten addresses after `place`, in order, with the id that their payments get.
 * @public
 */
export function listForgottenAfter(
  database: Database,
  place: number,
): readonly { readonly place: number; readonly address: string; readonly namespace: string; readonly transactionId: string }[] {
  const sql = "SELECT rowid AS place, * FROM forgottenAddresses WHERE rowid > ? ORDER BY rowid";
  const rows = database.all<ForgottenAddressRow & { readonly place: number }>(sql, place);
  return rows.map((row) => ({
    place: row.place,
    address: row.address,
    namespace: row.namespace,
    transactionId: unattributedIdOf(row),
  }));
}

/**
 * The place of the newest one; 0 without any.
 * @public
 */
export function newestForgotten(database: Database): number {
  return database.get<{ place: number | null }>("SELECT max(rowid) AS place FROM forgottenAddresses")?.place ?? 0;
}

/**
 * Before a payment to a forgotten address is kept: makes the request that it belongs to. Twice is
 * harmless, and so is a payment to any other address.
 */
export function nameForgotten(database: Database, payment: PaymentRow): void {
  if (database.get("SELECT 1 FROM transactions WHERE id = ?", payment.transactionId) !== undefined) return;
  const row = database.get<ForgottenAddressRow>("SELECT * FROM forgottenAddresses WHERE address = ?", payment.address);
  if (row !== undefined) makeRequest(database, row, payment);
}

/**
 * Makes the request of a forgotten address before any payment to it is kept. Not for calling twice.
 * @returns false where nothing was made, since its place is another address' here
 */
export function nameFound(database: Database, row: ForgottenAddressRow, of: Pick<PaymentRow, "currency" | "network">): boolean {
  const isFree = isPlaceFree(database, row.agent, row.addressIndex);
  if (isFree) makeRequest(database, row, of);
  return isFree;
}

function makeRequest(
  database: Database,
  row: ForgottenAddressRow,
  { currency, network }: Pick<PaymentRow, "currency" | "network">,
): void {
  const { merchant, agent, address, addressIndex, at } = row;
  const id = unattributedIdOf(row);
  insertTransaction(database, {
    ...{ id, merchant, operation: "deposit", mode: "", orderId: unattributedOrderOf(address), contentHash: nobodys },
    ...{ currency, network, amount: "0", amountUnits: "0", receiverAddress: address, depositAddress: address },
    ...{ tag: "", stage: "waiting", quote: "", metadata: "", createdAt: at, changedAt: at, expiresAt: at },
  });
  database.run("UPDATE transactions SET status = 2, stage = 'expired', code = 'deposit_expired' WHERE id = ?", id);
  // At a place one address at most has left, whatever the number of families.
  if (isPlaceFree(database, agent, addressIndex))
    insertDepositAddress(database, { address, agent, addressIndex, transactionId: id });
}

function isPlaceFree(database: Database, agent: string | null, addressIndex: number): boolean {
  if (agent === null) return true;
  const sql = "SELECT 1 FROM depositAddresses WHERE agent = ? AND addressIndex = ?";
  return database.get(sql, agent, addressIndex) === undefined;
}

/**
 * Whether nobody asked for this deposit: it holds what came to a forgotten address.
 * @public
 */
export function isUnattributed({ operation, contentHash }: Pick<TransactionRow, "operation" | "contentHash">): boolean {
  return operation === "deposit" && contentHash === nobodys;
}
