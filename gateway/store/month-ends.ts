/**
 * The last block of each month on a network: the newest one whose own time is before the month's
 * end in UTC. It is kept when it is final, and never changes.
 */
import type { Database } from "./store.ts";

export interface MonthEndRow {
  readonly network: string;
  readonly month: string; // such as 2026-11
  readonly block: number; // -1: the chain began later
}

/** The last block of a month; undefined while none is kept. */
export function readMonthEnd(
  database: Database,
  network: string,
  month: string,
): number | undefined {
  const sql = "SELECT block FROM monthEnds WHERE network = ? AND month = ?";
  return database.get<Pick<MonthEndRow, "block">>(sql, network, month)?.block;
}

/** The kept ends of a network, oldest month first. */
export function listMonthEnds(database: Database, network: string): readonly MonthEndRow[] {
  const sql = "SELECT * FROM monthEnds WHERE network = ? ORDER BY month";
  return database.all<MonthEndRow>(sql, network);
}

/** Keeps the end of a month. Harmless to call twice: the first one stays. */
export function keepMonthEnd(database: Database, { network, month, block }: MonthEndRow): void {
  const sql =
    "INSERT INTO monthEnds (network, month, block) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
  database.run(sql, network, month, block);
}

/**
 * True if moves of a merchant may still come to blocks up to one: a block has yet to be read, or
 * holds a transfer whose end is not written.
 */
export function isUnsettledUpTo(
  database: Database,
  { network, merchant, block }: { network: string; merchant: string; block: number },
): boolean {
  const gap = database.get(
    `SELECT 1 FROM gaps WHERE network = ? AND merchant IN ('', ?) AND fromBlock <= ? AND givenUpAt IS NULL LIMIT 1`,
    ...[network, merchant, block],
  );
  if (gap !== undefined) return true;
  const transfer = database.get(
    `SELECT 1 FROM transfers t JOIN signatures s ON s.transactionId = t.id
       JOIN outgoing k ON k.txHash = s.txHash AND k.account = s.account
     WHERE t.status = 0 AND t.operation IN ('withdraw', 'sweep', 'topup') AND t.network = ? AND t.merchant = ? AND k.block <= ? LIMIT 1`,
    ...[network, merchant, block],
  );
  return transfer !== undefined;
}
