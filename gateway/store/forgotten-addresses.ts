/**
 * Deposit addresses without a request here: addresses that may have left before the database was
 * restored from a backup, or that a scan found in use. They are watched like all others. The first
 * payment to such an address makes a request that no shop asked for, and an operator credits the
 * money to the right request.
 */
import { addressSpaceOf } from "../../chains/network-names.ts";
import { payeeOf } from "../../chains/payees.ts";
import { deriveOrderTransactionId } from "../../protocol/identity.ts";
import { nextAddressNumberSql } from "./deposit-addresses.ts";
import type { ForgottenAddressRow, PaymentRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";
import { insertDeposit } from "./transactions.ts";

/** The order that holds the payments to a forgotten address. */
export const unattributedOrderOf = (address: string): string => `unattributed/${address}`;

/** The id of the request for payments to an address that no other request names. */
export const unattributedIdOf = ({
  merchant,
  address,
}: Pick<ForgottenAddressRow, "merchant" | "address">): string =>
  deriveOrderTransactionId({
    merchant,
    operation: "deposit",
    orderId: unattributedOrderOf(address),
  });

/** Harmless to call twice. An address that is watched already stays as it is. */
export function insertForgotten(database: Database, row: ForgottenAddressRow): void {
  const { address, addressSpace, merchant, agent, addressIndex, origin, at } = row;
  database.run(
    `INSERT INTO addresses (number, address, addressSpace, merchant, agent, addressIndex, origin, at)
     VALUES (min(coalesce((SELECT min(number) FROM addresses WHERE number < 0), 0),
       coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'lowestAddress'), 0)) - 1, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (address) DO NOTHING`,
    ...[address, addressSpace, merchant, agent, addressIndex, origin, at],
  );
}

/** The owner of an account that got deposits with tags; undefined for any other account. */
export function ownerOfTaggedAccount(
  database: Database,
  network: string,
  account: string,
): Pick<ForgottenAddressRow, "merchant" | "agent"> | undefined {
  return database.get(
    "SELECT merchant, agent FROM accountOwners WHERE network = ? AND account = ?",
    network,
    account,
  );
}

/**
 * Watches the deposit address that a payment named, whose tag no request has: the payment counts
 * for no request until an operator credits it. Harmless to call twice; for an account that got no
 * deposit here it has no effect.
 */
export function insertStrayAddress(
  database: Database,
  { network, address }: Pick<PaymentRow, "network" | "address">,
  at: number,
): void {
  const owner = ownerOfTaggedAccount(database, network, payeeOf(network, address).address);
  if (owner === undefined) return;
  insertForgotten(database, {
    ...owner,
    address,
    addressIndex: null,
    addressSpace: addressSpaceOf(network),
    origin: "stray",
    at,
  });
}

export function readForgotten(
  database: Database,
  address: string,
): ForgottenAddressRow | undefined {
  return database.get<ForgottenAddressRow>(
    `SELECT address, addressSpace, merchant, agent, addressIndex, origin, at FROM addresses
     WHERE address = ? AND origin <> 'given'`,
    address,
  );
}

/**
 * Makes the request for a payment to a forgotten address. Must run before the payment is kept.
 * Harmless to call twice, and for a payment to any other address.
 */
export function insertForgottenDeposit(database: Database, payment: PaymentRow): void {
  if (database.get("SELECT 1 FROM deposits WHERE id = ?", payment.transactionId) !== undefined)
    return;
  const sql = `SELECT address, addressSpace, merchant, agent, addressIndex, origin, at FROM addresses WHERE address = ?`;
  const row = database.get<ForgottenAddressRow>(sql, payment.address);
  // The address may have been given to a request while the payment was read.
  if (row !== undefined && payment.transactionId === unattributedIdOf(row))
    makeRequest(database, row, payment);
}

/**
 * Makes the request of a forgotten address before any payment to the address is kept. Must not be
 * called twice.
 * @returns false if nothing was made, because another address here has the same index
 */
export function insertFoundDeposit(
  database: Database,
  row: ForgottenAddressRow,
  of: Pick<PaymentRow, "currency" | "network">,
): boolean {
  const isFree = isPlaceFree(database, row);
  if (isFree) makeRequest(database, row, of);
  return isFree;
}

function makeRequest(
  database: Database,
  row: ForgottenAddressRow,
  { currency, network }: Pick<PaymentRow, "currency" | "network">,
): void {
  const { merchant, address, addressIndex, at } = row;
  const id = unattributedIdOf(row);
  const payee = payeeOf(network, address);
  insertDeposit(database, {
    id,
    merchant,
    orderId: unattributedOrderOf(address),
    renews: "",
    contentHash: null,
    currency,
    network,
    amount: null,
    units: null,
    toleranceUnits: "0",
    address,
    payTo: payee.address,
    tag: payee.tag,
    stage: "waiting",
    quote: "",
    metadata: "",
    payToken: "",
    returnUrl: "",
    createdAt: at,
    changedAt: at,
    expiresAt: at,
  });
  database.run(
    "UPDATE deposits SET status = 2, stage = 'expired', code = 'deposit_expired' WHERE id = ?",
    id,
  );
  // At most one address has left at an index, however many families there are.
  if (addressIndex === null || !isPlaceFree(database, row)) return;
  database.run(
    `UPDATE addresses SET request = ?, number = ${nextAddressNumberSql}
     WHERE address = ? AND request IS NULL`,
    id,
    address,
  );
}

function isPlaceFree(
  database: Database,
  { agent, addressIndex }: Pick<ForgottenAddressRow, "agent" | "addressIndex">,
): boolean {
  if (agent === null) return true;
  const sql =
    "SELECT 1 FROM addresses WHERE agent = ? AND addressIndex = ? AND request IS NOT NULL";
  return database.get(sql, agent, addressIndex) === undefined;
}
