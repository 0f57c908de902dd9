/** Deposit addresses that a request has. Each belongs to one request permanently. */
import { Bug } from "../../base/fault.ts";
import type { GivenAddress } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";

/** The number of the next address that gets a request. */
export const nextAddressNumberSql =
  "(SELECT coalesce(max(number), 0) + 1 FROM addresses WHERE number > 0)";

/**
 * Gives an address to a shop's request. An address that was watched before becomes the request's,
 * and is the newest from now on.
 * @throws Bug if another request has the address
 */
export function giveAddress(database: Database, row: GivenAddress): void {
  const { address, addressSpace, merchant, agent, addressIndex, request, at } = row;
  const { changes } = database.run(
    `INSERT INTO addresses (number, address, addressSpace, merchant, agent, addressIndex, origin, request, at)
     VALUES (${nextAddressNumberSql}, ?, ?, ?, ?, ?, 'given', ?, ?)
     ON CONFLICT (address) DO UPDATE SET number = excluded.number, merchant = excluded.merchant,
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

/** An address that is watched. */
export interface WatchedAddress {
  readonly place: number; // negative without a request
  readonly address: string;
  readonly addressSpace: string;
  readonly merchant: string;
  readonly request: string | null; // transaction id; null: a payment makes its request
}

/** The newest places of both lists that were read; 0 before the first. */
export interface ReadPlaces {
  readonly given: number;
  readonly forgotten: number; // negative
}

/** The addresses that came after these places: those without a request, then the others. */
export function listAddressesAfter(
  database: Database,
  { given, forgotten }: ReadPlaces,
): readonly WatchedAddress[] {
  const select =
    "SELECT number AS place, address, addressSpace, merchant, request FROM addresses WHERE number";
  return [
    ...database.all<WatchedAddress>(`${select} < ? ORDER BY number DESC`, Math.min(forgotten, 0)),
    ...database.all<WatchedAddress>(`${select} > ? ORDER BY number`, given),
  ];
}

/** True if an address without a request came after these places. */
export function hasForgottenAfter(database: Database, { forgotten }: ReadPlaces): boolean {
  const sql = "SELECT 1 FROM addresses WHERE number < ? LIMIT 1";
  return database.get(sql, Math.min(forgotten, 0)) !== undefined;
}
