/**
 * Transactions in blocks that name an address of this gateway and that nobody could read. Each is
 * read again until it can be, and nothing of it is credited before. An address has so many rows of
 * its own; further transactions are one row for all blocks with them. Source: docs/architecture.md
 * section 8.
 */
import type { Statements as Database } from "./statements.ts";

/** Transactions of one address that are kept one by one. */
export const unreadEachMax = 64;
/** Rows that a try looks at. */
const dueMax = 256;
/** A row that was read since is kept for so long. */
const settledKeptMs = 30 * 86_400_000;

export interface UnreadPlace {
  readonly network: string;
  readonly txHash: string; // "" for blocks in which some transaction cannot be read
  readonly block: number; // the first
  readonly address: string; // account or deposit address; "" if it is unknown
}

export interface UnreadRow extends UnreadPlace {
  readonly blockTo: number; // the last
  readonly merchant: string; // "" if the address is nobody's
  readonly code: string;
  readonly words: string;
  readonly at: number; // Unix milliseconds
  readonly tries: number;
  readonly retryAt: number; // Unix milliseconds; not read again before
  readonly settledAt: number | null; // it was read
}

const atPlace = "network = ? AND block = ? AND txHash = ? AND address = ?";
const keyOf = ({ network, block, txHash, address }: UnreadPlace) =>
  [network, block, txHash, address] as const;

export function readUnread(database: Database, place: UnreadPlace): UnreadRow | undefined {
  return database.get<UnreadRow>(
    `SELECT * FROM unreadTransactions WHERE ${atPlace}`,
    ...keyOf(place),
  );
}

/**
 * Keeps a transaction that could not be read, or one more try of it. Above the number that an
 * address has one by one, the newest row of blocks takes its block in.
 * @returns the row
 */
export function keepUnread(
  database: Database,
  row: Omit<UnreadRow, "blockTo" | "tries" | "retryAt" | "settledAt">,
): UnreadRow {
  const { network, address } = row;
  const known = readUnread(database, row);
  const some =
    "SELECT count(*) AS n FROM unreadTransactions WHERE network = ? AND address = ? AND settledAt IS NULL";
  const isFull = (database.get<{ n: number }>(some, network, address)?.n ?? 0) >= unreadEachMax;
  if (known?.settledAt !== null && isFull) return takeIn(database, { ...row, txHash: "" });
  database.run(
    `INSERT INTO unreadTransactions (network, txHash, block, blockTo, address, merchant, code, words, at, tries, retryAt, settledAt)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, NULL)
     ON CONFLICT (network, block, txHash, address) DO UPDATE SET merchant = excluded.merchant, code = excluded.code,
       words = excluded.words, tries = iif(settledAt IS NULL, tries + 1, 1), at = iif(settledAt IS NULL, at, excluded.at),
       retryAt = 0, settledAt = NULL`,
    ...[
      network,
      row.txHash,
      row.block,
      row.block,
      address,
      row.merchant,
      row.code,
      row.words,
      row.at,
    ],
  );
  return readUnread(database, row) as UnreadRow;
}

function takeIn(
  database: Database,
  row: Omit<UnreadRow, "blockTo" | "tries" | "retryAt" | "settledAt">,
): UnreadRow {
  const { network, address, block, merchant, code, words, at } = row;
  const newest = `SELECT * FROM unreadTransactions WHERE network = ? AND address = ? AND txHash = '' AND settledAt IS NULL
    ORDER BY blockTo DESC LIMIT 1`;
  const known = database.get<UnreadRow>(newest, network, address);
  if (known === undefined) {
    database.run(
      `INSERT INTO unreadTransactions (network, txHash, block, blockTo, address, merchant, code, words, at, tries, retryAt, settledAt)
         VALUES (?, '', ?, ?, ?, ?, ?, ?, ?, 1, 0, NULL)
       ON CONFLICT (network, block, txHash, address) DO UPDATE SET tries = 1, retryAt = 0, settledAt = NULL`,
      ...[network, block, block, address, merchant, code, words, at],
    );
    return readUnread(database, row) as UnreadRow;
  }
  const sql = `UPDATE unreadTransactions SET blockTo = max(blockTo, ?), tries = tries + CASE WHEN block = ? THEN 1 ELSE 0 END WHERE ${atPlace}`;
  database.run(sql, block, block, ...keyOf(known));
  return readUnread(database, known) as UnreadRow;
}

export function restUnread(database: Database, place: UnreadPlace, retryAt: number): void {
  database.run(
    `UPDATE unreadTransactions SET retryAt = ? WHERE ${atPlace}`,
    retryAt,
    ...keyOf(place),
  );
}

/** True if a transaction that names the address waits to be read. */
export function hasUnreadTransaction(
  database: Database,
  network: string,
  address: string,
): boolean {
  const sql =
    "SELECT 1 FROM unreadTransactions WHERE network = ? AND address = ? AND settledAt IS NULL LIMIT 1";
  return database.get(sql, network, address) !== undefined;
}

/** Those that are to be read again now, in blocks up to `final`, the longest waiting first. */
export function listUnreadDue(
  database: Database,
  network: string,
  final: number,
  nowMs: number,
): readonly UnreadRow[] {
  return database.all<UnreadRow>(
    `SELECT * FROM unreadTransactions INDEXED BY unreadOpen WHERE network = ? AND settledAt IS NULL AND block <= ? AND retryAt <= ?
     ORDER BY retryAt, block, txHash, address LIMIT ?`,
    ...[network, final, nowMs, dueMax],
  );
}

/** All that wait to be read in a block. */
export function listUnreadIn(
  database: Database,
  network: string,
  block: number,
): readonly UnreadRow[] {
  return database.all<UnreadRow>(
    "SELECT * FROM unreadTransactions WHERE network = ? AND block = ? AND settledAt IS NULL ORDER BY txHash, address",
    ...[network, block],
  );
}

/** All that wait to be read on a network. */
export function listUnread(database: Database, network: string): readonly UnreadRow[] {
  const sql =
    "SELECT * FROM unreadTransactions INDEXED BY unreadOpen WHERE network = ? AND settledAt IS NULL";
  return database.all<UnreadRow>(`${sql} ORDER BY at, block, txHash, address`, network);
}

/** The blocks of a row after its first; null if there are none. */
export function unreadRowAfterFirstBlock(row: UnreadRow): UnreadRow | null {
  return row.blockTo > row.block ? { ...row, block: row.block + 1, tries: 1, retryAt: 0 } : null;
}

/**
 * Settles a row of which the first block could be read, and keeps the rest of its blocks. Forgets
 * what was settled long ago. Harmless to call twice.
 */
export function settleUnread(database: Database, row: UnreadRow, nowMs: number): void {
  const rest = unreadRowAfterFirstBlock(row);
  if (rest === null)
    database.run(
      `UPDATE unreadTransactions SET settledAt = ? WHERE ${atPlace}`,
      nowMs,
      ...keyOf(row),
    );
  else database.run(`DELETE FROM unreadTransactions WHERE ${atPlace}`, ...keyOf(row));
  if (rest !== null)
    database.run(
      `INSERT INTO unreadTransactions (network, txHash, block, blockTo, address, merchant, code, words, at, tries, retryAt, settledAt)
         VALUES (?, '', ?, ?, ?, ?, ?, ?, ?, 1, 0, NULL)
       ON CONFLICT (network, block, txHash, address) DO UPDATE SET blockTo = max(blockTo, excluded.blockTo), tries = 1, retryAt = 0,
         settledAt = NULL`,
      ...[
        rest.network,
        rest.block,
        rest.blockTo,
        rest.address,
        rest.merchant,
        rest.code,
        rest.words,
        rest.at,
      ],
    );
  database.run("DELETE FROM unreadTransactions WHERE settledAt < ?", nowMs - settledKeptMs);
}

/**
 * Has transactions read again by the running gateway: those with this hash, however its letters are
 * written.
 * @returns the rows
 */
export function askReread(database: Database, txHash: string): readonly UnreadRow[] {
  const rows = database
    .all<UnreadRow>("SELECT * FROM unreadTransactions WHERE settledAt IS NULL AND txHash <> ''")
    .filter((row) => row.txHash.toLowerCase() === txHash.toLowerCase());
  for (const row of rows) restUnread(database, row, 0);
  return rows;
}

/** Has all that waits in a block read again by the running gateway. */
export function askRereadIn(database: Database, network: string, block: number): void {
  for (const row of listUnreadIn(database, network, block)) restUnread(database, row, 0);
}
