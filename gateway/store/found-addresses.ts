/**
 * Addresses for deposits that a scan of the chain found in use and that no request here names. Each
 * counts from a block on: what lay there at its end comes into the books by the address' balance,
 * and a payment by name counts from the next block. So nothing counts twice, also where blocks are
 * read again.
 */
import { issuedAddress } from "./address-states.ts";
import { insertForgotten, nameFound, unattributedIdOf } from "./forgotten-addresses.ts";
import type { ForgottenAddressRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";
import { readTransaction } from "./transactions.ts";

/**
 * Whether a request here names the address, so that it is watched and compared already.
 * @public
 */
export function isKnownAddress(database: Database, address: string, unattributedId: string): boolean {
  return issuedAddress(database, address) !== undefined || readTransaction(database, unattributedId) !== undefined;
}

/**
 * Takes in an address on which something lies, under a request of its own: its balance is compared
 * in the next passes, and what nothing explains is a payment. `blocks` names, for each network that
 * it is watched on, the block from which on payments count by name. Inside the caller's
 * transaction; twice is harmless. @returns false where its place is another address' here, so that
 * nothing of it could be swept: then it is watched alone
 * @public
 */
export function takeFound(
  database: Database,
  row: ForgottenAddressRow,
  { currency, network }: { readonly currency: string; readonly network: string },
  blocks: ReadonlyMap<string, number>,
): boolean {
  if (isKnownAddress(database, row.address, unattributedIdOf(row))) return true;
  insertForgotten(database, row);
  if (!nameFound(database, row, { currency, network })) return false;
  for (const [on, block] of blocks) {
    database.run("INSERT OR IGNORE INTO foundAddresses (network, address, block) VALUES (?, ?, ?)", on, row.address, block);
    database.run(
      `INSERT INTO addressStates (network, address, block, isUsed, comparedAt, run) VALUES (?, ?, ?, 0, 0, '')
       ON CONFLICT (network, address) DO UPDATE SET block = excluded.block, comparedAt = 0, run = ''`,
      ...[on, row.address, block],
    );
  }
  return true;
}

/**
 * Whether a payment lies in the balance that a scan found, and so must not count by name.
 * @public
 */
export function isInFoundBalance(
  database: Database,
  { network, address, block }: { readonly network: string; readonly address: string; readonly block: number },
): boolean {
  const sql = "SELECT 1 FROM foundAddresses WHERE network = ? AND address = ? AND block >= ?";
  return database.get(sql, network, address, block) !== undefined;
}
