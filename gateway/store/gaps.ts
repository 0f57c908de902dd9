/**
 * Blocks whose content could not be had, of all accounts or of one. The cursor passed them, and
 * they are asked for again until they are filled. Source: docs/architecture.md section 8.
 */
import type { Statements as Database } from "./statements.ts";

export interface GapRow {
  readonly network: string;
  readonly account: string; // "" all accounts
  readonly fromBlock: number;
  readonly toBlock: number;
  readonly merchant: string; // "" nobody's
  readonly code: string;
  readonly words: string;
  readonly since: number; // Unix milliseconds; no block of the gap is newer
  readonly tries: number;
  readonly retryAt: number; // Unix milliseconds; not asked for before
  readonly toldAt: number | null; // its alarm
  readonly summedTo: number; // payments of blocks up to this one were added to sums before the gap opened
  readonly givenUpAt: number | null; // Unix milliseconds; not asked for any more (gap-holds.ts)
}

export const gapKeySql = "network = ? AND account = ? AND fromBlock = ?";
export type GapKey = Pick<GapRow, "network" | "account" | "fromBlock">;
export const gapKeyValues = ({ network, account, fromBlock }: GapKey) =>
  [network, account, fromBlock] as const;

/**
 * Opens a gap, and takes in those beside it and those that it covers. Blocks that were given up
 * stay so: what they held counts by balances, and would count twice. Harmless to call twice.
 */
export function openGap(
  database: Database,
  gap: Omit<GapRow, "tries" | "retryAt" | "toldAt" | "givenUpAt">,
): void {
  for (const part of partsNotGivenUp(database, gap)) openPart(database, { ...gap, ...part });
}

type Span = Pick<GapRow, "fromBlock" | "toBlock">;

function partsNotGivenUp(
  database: Database,
  { network, account, fromBlock, toBlock }: GapKey & Span,
): readonly Span[] {
  const over = database.all<Span>(
    `SELECT fromBlock, toBlock FROM gaps WHERE network = ? AND account IN ('', ?) AND givenUpAt IS NOT NULL
       AND toBlock >= ? AND fromBlock <= ? ORDER BY fromBlock`,
    ...[network, account, fromBlock, toBlock],
  );
  const parts: Span[] = [];
  let from = fromBlock;
  for (const one of over) {
    if (one.fromBlock > from) parts.push({ fromBlock: from, toBlock: one.fromBlock - 1 });
    from = Math.max(from, one.toBlock + 1);
  }
  return from > toBlock ? parts : [...parts, { fromBlock: from, toBlock }];
}

function openPart(
  database: Database,
  gap: Omit<GapRow, "tries" | "retryAt" | "toldAt" | "givenUpAt">,
): void {
  const { network, account, fromBlock, toBlock, merchant, code, words, since, summedTo } = gap;
  const beside =
    "network = ? AND account = ? AND givenUpAt IS NULL AND toBlock >= ? AND fromBlock <= ?";
  const at = [network, account, fromBlock - 1, toBlock + 1] as const;
  const there = database.all<GapRow>(
    `SELECT * FROM gaps WHERE ${beside} ORDER BY fromBlock`,
    ...at,
  );
  const [first] = there;
  if (first !== undefined) {
    const from = Math.min(fromBlock, first.fromBlock);
    const to = Math.max(toBlock, ...there.map((one) => one.toBlock));
    const newest = Math.max(since, ...there.map((one) => one.since));
    // A payment that is added twice is worse than one that is left to the comparison of balances.
    const summed = Math.max(summedTo, ...there.map((one) => one.summedTo));
    for (const one of there.slice(1))
      database.run(`DELETE FROM gaps WHERE ${gapKeySql}`, ...gapKeyValues(one));
    const sql = `UPDATE gaps SET fromBlock = ?, toBlock = ?, since = ?, summedTo = ? WHERE ${gapKeySql}`;
    database.run(sql, from, to, newest, summed, ...gapKeyValues(first));
    return;
  }
  database.run(
    `INSERT INTO gaps (network, account, fromBlock, toBlock, merchant, code, words, since, tries, retryAt, toldAt, summedTo)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 0, NULL, ?)`,
    ...[network, account, fromBlock, toBlock, merchant, code, words, since, summedTo],
  );
}

/** The gaps of a network, oldest first; those that were given up stay until their holds end. */
export function listGaps(database: Database, network: string): readonly GapRow[] {
  return database.all<GapRow>(
    "SELECT * FROM gaps WHERE network = ? ORDER BY since, account, fromBlock",
    network,
  );
}

export function readGap(database: Database, key: GapKey): GapRow | undefined {
  return database.get<GapRow>(`SELECT * FROM gaps WHERE ${gapKeySql}`, ...gapKeyValues(key));
}

/** True if an open gap of all accounts ends at a block. */
export function isLastBlockOfGap(database: Database, network: string, block: number): boolean {
  const sql =
    "SELECT 1 FROM gaps WHERE network = ? AND account = '' AND toBlock = ? AND givenUpAt IS NULL";
  return database.get(sql, network, block) !== undefined;
}

/**
 * The newest open gap of one of the accounts, or of all, to which something may belong; `since`: in
 * milliseconds.
 */
export function findOpenGapSince(
  database: Database,
  network: string,
  accounts: readonly string[],
  since = 0,
): GapRow | undefined {
  return database.get<GapRow>(
    `SELECT * FROM gaps WHERE network = ? AND since >= ? AND givenUpAt IS NULL
       AND (account = '' OR account IN (SELECT value FROM json_each(?)))
     ORDER BY since DESC LIMIT 1`,
    ...[network, since, JSON.stringify(accounts)],
  );
}

/** Lets a gap rest after a try that failed. */
export function restGap(
  database: Database,
  gap: GapRow,
  change: Pick<GapRow, "code" | "words" | "tries" | "retryAt">,
): void {
  const { code, words, tries, retryAt } = change;
  database.run(
    `UPDATE gaps SET code = ?, words = ?, tries = ?, retryAt = ? WHERE ${gapKeySql}`,
    code,
    words,
    tries,
    retryAt,
    ...gapKeyValues(gap),
  );
}

export function markGapTold(database: Database, gap: GapRow, at: number): void {
  database.run(`UPDATE gaps SET toldAt = ? WHERE ${gapKeySql}`, at, ...gapKeyValues(gap));
}

/** Has a gap asked for in the next pass. */
export function retryGapSoon(database: Database, key: GapKey): void {
  database.run(`UPDATE gaps SET retryAt = 0 WHERE ${gapKeySql}`, ...gapKeyValues(key));
}

/** Takes the blocks up to one out of a gap; the gap ends with its last one. */
export function fillGap(database: Database, gap: GapRow, filledTo: number): void {
  if (filledTo >= gap.toBlock)
    database.run(`DELETE FROM gaps WHERE ${gapKeySql}`, ...gapKeyValues(gap));
  else
    database.run(
      `UPDATE gaps SET fromBlock = ?, tries = 1, retryAt = 0 WHERE ${gapKeySql}`,
      filledTo + 1,
      ...gapKeyValues(gap),
    );
}
