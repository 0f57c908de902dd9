/**
 * Gaps that were given up, and the open requests that lived in them. A request is held until it was
 * proven what came for it: by a comparison of its address's balance, or, where tags tell payments
 * apart, by an operator's word. The gap's row goes with its last hold. Source: docs/architecture.md
 * section 8.
 */
import { type IssuedAddress, issuedColumnsSql } from "./address-states.ts";
import { type GapKey, type GapRow, gapKeySql, gapKeyValues } from "./gaps.ts";
import type { Statements as Database } from "./statements.ts";

/**
 * Gives a gap up, and holds the open requests that lived in it. Harmless to call twice.
 * @returns false if there is no such gap
 */
export function markGapGivenUp(database: Database, key: GapKey, at: number): boolean {
  const gap = database.get<GapRow>(`SELECT * FROM gaps WHERE ${gapKeySql}`, ...gapKeyValues(key));
  if (gap === undefined) return false;
  if (gap.givenUpAt !== null) return true;
  database.run(`UPDATE gaps SET givenUpAt = ? WHERE ${gapKeySql}`, at, ...gapKeyValues(key));
  database.run(
    `INSERT OR IGNORE INTO gapHolds (network, account, fromBlock, transactionId)
     SELECT ?, ?, ?, d.id FROM deposits d WHERE d.status = 0 AND d.network = ?
       AND d.createdAt <= ? AND (? = '' OR ? IN (d.address, d.payTo))`,
    ...[...gapKeyValues(key), gap.network, gap.since, gap.account, gap.account],
  );
  return true;
}

/**
 * True if a request lived in a gap that was given up, and nothing has said yet what came for it.
 */
export function isHeldByGap(database: Database, transactionId: string): boolean {
  return (
    database.get("SELECT 1 FROM gapHolds WHERE transactionId = ? LIMIT 1", transactionId) !==
    undefined
  );
}

/** True if a gap that was given up still holds requests of one of the accounts' time. */
export function hasGivenUpGapSince(
  database: Database,
  network: string,
  accounts: readonly string[],
  since: number,
): boolean {
  return (
    database.get(
      `SELECT 1 FROM gaps WHERE network = ? AND since >= ? AND givenUpAt IS NOT NULL
         AND (account = '' OR account IN (SELECT value FROM json_each(?))) LIMIT 1`,
      ...[network, since, JSON.stringify(accounts)],
    ) !== undefined
  );
}

/** The requests that a gap holds. */
export function countDepositsHeldByGap(database: Database, key: GapKey): number {
  const sql = `SELECT count(*) AS count FROM gapHolds WHERE ${gapKeySql}`;
  return database.get<{ count: number }>(sql, ...gapKeyValues(key))?.count ?? 0;
}

/**
 * Addresses of requests that are held on a network, oldest first, at most so many of each merchant.
 */
export function listAddressesHeldByGaps(
  database: Database,
  network: string,
  mostEach: number,
): readonly IssuedAddress[] {
  return database.all<IssuedAddress>(
    `SELECT place, address, transactionId, agent, merchant FROM (
       SELECT ${issuedColumnsSql}, row_number() OVER (PARTITION BY r.merchant ORDER BY d.number) AS turn
       FROM (SELECT DISTINCT transactionId FROM gapHolds WHERE network = ?) h
       CROSS JOIN deposits r ON r.id = h.transactionId CROSS JOIN addresses d ON d.address = r.address AND d.request IS NOT NULL)
     WHERE turn <= ? ORDER BY place`,
    ...[network, mostEach],
  );
}

/**
 * Ends the holds of a request whose balance in these currencies was compared as of a block, its own
 * among them: all that came in the gap counts now.
 */
export function endGapHoldsOfCompared(
  database: Database,
  network: string,
  transactionId: string,
  { block, currencies }: { readonly block: number; readonly currencies: readonly string[] },
): void {
  database.run(
    `DELETE FROM gapHolds AS h WHERE h.transactionId = ? AND h.network = ?
       AND (SELECT currency FROM deposits d WHERE d.id = h.transactionId) IN (SELECT value FROM json_each(?))
       AND EXISTS (SELECT 1 FROM gaps g WHERE g.network = h.network AND g.account = h.account AND g.fromBlock = h.fromBlock
         AND g.toBlock <= ?)`,
    ...[transactionId, network, JSON.stringify(currencies), block],
  );
}

/** Ends the holds of a request by an operator's word. @returns false if it has none */
export function endGapHoldsOf(database: Database, transactionId: string): boolean {
  return database.run("DELETE FROM gapHolds WHERE transactionId = ?", transactionId).changes > 0;
}

/** True if a network has gaps that were given up. */
export function hasGivenUpGaps(database: Database, network: string): boolean {
  return (
    database.get(
      "SELECT 1 FROM gaps WHERE network = ? AND givenUpAt IS NOT NULL LIMIT 1",
      network,
    ) !== undefined
  );
}

/** Ends the holds of requests that have ended, and the gaps that hold nothing any more. */
export function endFinishedGapHolds(database: Database, network: string): void {
  database.run(
    `DELETE FROM gapHolds WHERE network = ? AND NOT EXISTS
       (SELECT 1 FROM deposits d WHERE d.id = gapHolds.transactionId AND d.status = 0)`,
    network,
  );
  database.run(
    `DELETE FROM gaps WHERE network = ? AND givenUpAt IS NOT NULL AND NOT EXISTS (SELECT 1 FROM gapHolds h
       WHERE h.network = gaps.network AND h.account = gaps.account AND h.fromBlock = gaps.fromBlock)`,
    network,
  );
}
