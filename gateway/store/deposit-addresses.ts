/** Deposit addresses that a request has. Each belongs to one request permanently. */
import { Bug } from "../../base/fault.ts";
import type { GivenAddress } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";

/**
 * Gives an address to a shop's request. An address that was watched before becomes the request's,
 * and is the newest from now on.
 * @throws Bug if another request has the address
 */
export function giveAddress(database: Database, row: GivenAddress): void {
  const { address, addressSpace, merchant, agent, addressIndex, request, at } = row;
  const { changes } = database.run(
    `INSERT INTO addresses (address, addressSpace, merchant, agent, addressIndex, origin, request, at)
     VALUES (?, ?, ?, ?, ?, 'given', ?, ?)
     ON CONFLICT (address) DO UPDATE SET number = (SELECT max(number) + 1 FROM addresses), merchant = excluded.merchant,
       agent = excluded.agent, addressIndex = excluded.addressIndex, origin = 'given', request = excluded.request, at = excluded.at
       WHERE request IS NULL`,
    ...[address, addressSpace, merchant, agent, addressIndex, request, at],
  );
  if (changes === 0) throw new Bug(`the address ${address} is another request's`);
}

/** True if the address was given out under the agent's deposit key. */
export function isDepositAddressOf(database: Database, address: string, agentId: string): boolean {
  const sql = "SELECT 1 FROM addresses WHERE address = ? AND agent = ? AND request IS NOT NULL";
  return database.get(sql, address, agentId) !== undefined;
}

/** An address that is watched, in the order of `place`. */
export interface WatchedAddress {
  readonly place: number;
  readonly address: string;
  readonly addressSpace: string;
  readonly merchant: string;
  readonly request: string | null; // transaction id; null: a payment makes its request
}

/** The addresses after `place`, in order. */
export function listAddressesAfter(database: Database, place: number): readonly WatchedAddress[] {
  return database.all<WatchedAddress>(
    "SELECT number AS place, address, addressSpace, merchant, request FROM addresses WHERE number > ? ORDER BY number",
    place,
  );
}

/** True if an address after `place` is watched though no shop asked for it. */
export function hasForgottenAfter(database: Database, place: number): boolean {
  const sql = "SELECT 1 FROM addresses WHERE number > ? AND origin <> 'given' LIMIT 1";
  return database.get(sql, place) !== undefined;
}
