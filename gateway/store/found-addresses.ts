/**
 * Deposit addresses that a scan of the chain found in use and that no request here names. Each
 * address counts from a block on: its balance at the end of the block enters the books, and each
 * single payment counts from the next block. So nothing counts twice, even if blocks are read
 * again.
 */
import { issuedAddress } from "./address-states.ts";
import { insertForgotten, insertFoundDeposit, unattributedIdOf } from "./forgotten-addresses.ts";
import type { ForgottenAddressRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";
import { readTransaction } from "./transactions.ts";

/** True if a request here names the address, which is then already watched and compared. */
export function isRequestedAddress(
  database: Database,
  address: string,
  unattributedId: string,
): boolean {
  return (
    issuedAddress(database, address) !== undefined ||
    readTransaction(database, unattributedId) !== undefined
  );
}

/**
 * Takes in an address that has a balance, under a request of its own. The next passes compare its
 * balance, and the part that nothing explains becomes a payment. `blocks` names, for each watched
 * network, the first block whose single payments count. Runs inside the caller's transaction.
 * Harmless to call twice.
 * @returns false if another address here has the same index, so that the new address cannot be
 * swept and is only watched
 */
export function takeInFoundAddress(
  database: Database,
  row: ForgottenAddressRow,
  { currency, network }: { readonly currency: string; readonly network: string },
  blocks: ReadonlyMap<string, number>,
): boolean {
  if (isRequestedAddress(database, row.address, unattributedIdOf(row))) return true;
  insertForgotten(database, row);
  if (!insertFoundDeposit(database, row, { currency, network })) return false;
  for (const [on, block] of blocks) {
    database.run(
      "INSERT OR IGNORE INTO foundAddresses (network, address, block) VALUES (?, ?, ?)",
      on,
      row.address,
      block,
    );
    database.run(
      `INSERT INTO addressStates (network, address, block, isUsed, comparedAt, run) VALUES (?, ?, ?, 0, 0, '')
       ON CONFLICT (network, address) DO UPDATE SET block = excluded.block, comparedAt = 0, run = ''`,
      ...[on, row.address, block],
    );
  }
  return true;
}

/** True if the balance of a scan includes a payment, so that the payment must not count again. */
export function isInFoundBalance(
  database: Database,
  {
    network,
    address,
    block,
  }: { readonly network: string; readonly address: string; readonly block: number },
): boolean {
  const sql = "SELECT 1 FROM foundAddresses WHERE network = ? AND address = ? AND block >= ?";
  return database.get(sql, network, address, block) !== undefined;
}
