/**
 * Sweeps and their top-ups, at most one for each sweep. Also keeps the sweeps that operators ask
 * for, and the reason why an address is not swept.
 */

import { type AccountPlace, type AccountRow, hasUnsweptSql, unsweptUnitsOf } from "./journal.ts";
import type { SweepRow, TopUpRow, TransactionRow } from "./rows.ts";
import type { Database } from "./store.ts";
import {
  narrowFoundRow,
  narrowTransactionRow,
  transferFieldsSql,
  transferPartsSql,
  transfersSql,
} from "./transaction-rows.ts";

/**
 * A deposit address with an unswept balance: its index under the key of the merchant's paired
 * agent, and the sweep that is open there.
 */
export interface SweepableRow extends AccountPlace {
  readonly units: string; // negative if a fee was paid with coins whose arrival nobody saw
  readonly agent: string; // id of the paired agent
  readonly merchant: string;
  readonly addressIndex: number;
  readonly request: string; // transaction id of the address's deposit request
  readonly requestStatus: 0 | 1 | 2;
  readonly open: string; // transaction id of an open sweep from the address on that network; "" none
  readonly wishedAt: number | null;
}

type FoundRow = SweepableRow & Pick<AccountRow, "heldUnits">;

const sweepable = `SELECT h.network, h.address, h.currency, h.units, h.heldUnits, l.id AS agent, l.merchant, d.addressIndex, d.request, r.status AS requestStatus,
    coalesce((SELECT t.id FROM sweeps s CROSS JOIN transfers t ON t.id = s.id
      WHERE s.address = h.address AND t.status = 0 AND t.network = h.network LIMIT 1),
    (SELECT t.id FROM sweeps s CROSS JOIN topUps u ON u.sweep = s.id CROSS JOIN transfers t ON t.id = u.id
      WHERE s.address = h.address AND t.status = 0 AND t.network = h.network LIMIT 1), '') AS open, w.at AS wishedAt
  FROM accounts h JOIN addresses d ON d.address = h.address JOIN deposits r ON r.id = d.request
    JOIN agents a ON a.id = d.agent
    JOIN agents l ON l.merchant = a.merchant AND l.unpairedAt IS NULL AND EXISTS (
      SELECT 1 FROM json_each(l.accounts) AS live JOIN json_each(a.accounts) AS old
        ON json_extract(live.value, '$.firstAddress') = json_extract(old.value, '$.firstAddress')
      WHERE json_extract(live.value, '$.purpose') = 'deposits' AND json_extract(old.value, '$.purpose') = 'deposits')
    LEFT JOIN sweepWishes w ON w.address = h.address AND w.network = h.network AND w.currency = h.currency`;

/**
 * Balances come in the order of their last change: a balance that changes gets a new place at the
 * end.
 */
export interface SweepListPositions {
  readonly changedAfter: number; // number of an account; later ones changed since
  readonly turnAfter: number; // number of an account; later ones have their turn
}

/** Changed balances of one look at most. */
export const changedBalancesMax = 512;
/** Balances of one look at most whose turn it is. */
export const turnBalancesMax = 64;

/**
 * Balances on a network that could be swept: those with an operator's order, the next that changed
 * and the next in turn; first those with an order, then the oldest requests. Addresses of merchants
 * that only receive are left out.
 */
export function listSweepable(
  database: Database,
  network: string,
  { changedAfter, turnAfter }: SweepListPositions = { changedAfter: 0, turnAfter: 0 },
): readonly SweepableRow[] {
  const sql = `${sweepable} WHERE h.number IN (
      SELECT b.number FROM sweepWishes x CROSS JOIN accounts b
        ON b.address = x.address AND b.network = x.network AND b.currency = x.currency
        WHERE x.network = ?1 AND b.kind = 'deposit' AND b.units <> b.heldUnits
      UNION SELECT place FROM (${nextPlaces(changedBalancesMax)})
      UNION SELECT place FROM (${nextPlaces(turnBalancesMax, 3)}))
    ORDER BY w.at IS NULL, w.at, r.createdAt, h.address, h.currency`;
  return database.all<FoundRow>(sql, network, changedAfter, turnAfter).map(sweepableOf);
}

const sweepableOf = ({ heldUnits, ...row }: FoundRow): SweepableRow => ({
  ...row,
  units: unsweptUnitsOf({ units: row.units, heldUnits }).toString(),
});

const nextPlaces = (most: number, after = 2): string =>
  `SELECT number AS place FROM accounts WHERE ${hasUnsweptSql} AND network = ?1 AND number > ?${after} ORDER BY number LIMIT ${most}`;

/** The number of the last of the next balances (`after` if there is none), and their number. */
export function sweepPlacesFrom(
  database: Database,
  network: string,
  after: number,
  most: number,
): { readonly end: number; readonly count: number } {
  const sql = `SELECT max(place) AS end, count(*) AS count FROM (${nextPlaces(most)})`;
  const { end, count } = database.get<{ end: number | null; count: number }>(
    sql,
    network,
    after,
  ) ?? { end: null, count: 0 };
  return { end: end ?? after, count };
}

/** The balances of an address that could be swept. */
export function listSweepableAt(database: Database, address: string): readonly SweepableRow[] {
  return database
    .all<FoundRow>(
      `${sweepable} WHERE h.address = ? AND h.kind = 'deposit' AND h.units <> h.heldUnits ORDER BY h.network, h.currency`,
      address,
    )
    .map(sweepableOf);
}

/** The number of the newest sweep of an address, on all networks; 0 without one. */
export function newestSweepNumber(database: Database, address: string): number {
  const sql = "SELECT coalesce(max(ordinal), 0) AS n FROM sweeps WHERE address = ?";
  return database.get<{ n: number }>(sql, address)?.n ?? 0;
}

/** The newest sweep of a currency from an address. */
export function newestSweepFrom(
  database: Database,
  { address, network, currency }: AccountPlace,
): SweepRow | undefined {
  const row = database.get<TransactionRow>(
    `SELECT ${transferFieldsSql} FROM sweeps o CROSS JOIN transfers t ON t.id = o.id ${transferPartsSql}
     WHERE o.address = ? AND t.network = ? AND t.currency = ? ORDER BY t.createdAt DESC, t.number DESC LIMIT 1`,
    ...[address, network, currency],
  );
  return narrowFoundRow(row) as SweepRow | undefined;
}

/** The hot wallets to which open sweeps of a network go. */
export function listSweepReceivers(database: Database, network: string): readonly string[] {
  const sql = `SELECT receiver AS account FROM transfers INDEXED BY transfersOpen
    WHERE operation = 'sweep' AND status = 0 AND network = ? GROUP BY receiver ORDER BY min(number)`;
  return database.all<{ account: string }>(sql, network).map(({ account }) => account);
}

/**
 * Counts the open sweeps of a merchant on all networks. `moving` sweeps are on their way. `stuck`
 * sweeps, or their top-ups, wait for an operator.
 */
export function countOpenSweeps(
  database: Database,
  merchant: string,
): { readonly moving: number; readonly stuck: number } {
  const counts = database.get<{ n: number; stuck: number }>(
    `SELECT count(*) AS n, count(*) FILTER (WHERE t.stage = 'stuck' OR EXISTS (
       SELECT 1 FROM topUps u CROSS JOIN transfers o ON o.id = u.id WHERE u.sweep = t.id AND o.status = 0 AND o.stage = 'stuck')) AS stuck
     FROM transfers t INDEXED BY transfersOpen WHERE t.operation = 'sweep' AND t.status = 0 AND t.merchant = ?`,
    merchant,
  );
  const { n, stuck } = counts ?? { n: 0, stuck: 0 };
  return { moving: n - stuck, stuck };
}

/** True if a sweep of the merchant from this address is open on the network. */
export function hasOpenSweepOf(
  database: Database,
  merchant: string,
  network: string,
  address: string,
): boolean {
  const sql = `SELECT 1 FROM sweeps s CROSS JOIN transfers t ON t.id = s.id
    WHERE s.address = ? AND t.status = 0 AND t.merchant = ? AND t.network = ? LIMIT 1`;
  return database.get(sql, address, merchant, network) !== undefined;
}

/** Open sweeps and top-ups by stage. */
export function countOpenSweepsByStage(
  database: Database,
): readonly { readonly operation: string; readonly stage: string; readonly count: number }[] {
  return database.all(
    `SELECT operation, stage, count(*) AS count FROM transfers WHERE operation IN ('sweep', 'topup') AND status = 0
     GROUP BY operation, stage ORDER BY operation, stage`,
  );
}

/** The number of sweeps and top-ups that contradict the chain and wait for an operator. */
export function countStuckSweeps(database: Database): number {
  return countOpenSweepsByStage(database)
    .filter(({ stage }) => stage === "stuck")
    .reduce((sum, { count }) => sum + count, 0);
}

/** A sweep that waits for its top-up, with the top-up's state. */
export type SweepAwaitingTopUp = SweepRow & TopUpState;

interface TopUpState {
  readonly topUpStatus: 0 | 1 | 2;
  readonly topUpCode: string;
}

/** Open sweeps on a network without a job, because their top-up comes first. */
export function listSweepsAwaitingTopUp(
  database: Database,
  network: string,
): readonly SweepAwaitingTopUp[] {
  const rows = database.all<TransactionRow & TopUpState>(
    `SELECT ${transferFieldsSql}, paid.status AS topUpStatus, coalesce(paid.code, '') AS topUpCode
     FROM transfers t INDEXED BY transfersOpen CROSS JOIN topUps p ON p.sweep = t.id CROSS JOIN transfers paid ON paid.id = p.id
       ${transferPartsSql}
     WHERE t.operation = 'sweep' AND t.status = 0 AND t.network = ?
       AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.transactionId = t.id) ORDER BY t.createdAt, t.id`,
    network,
  );
  return rows.map((row) => {
    const { topUpStatus, topUpCode } = row;
    return { ...(narrowTransactionRow(row) as SweepRow), topUpStatus, topUpCode };
  });
}

/** The top-up of a sweep. */
export function topUpOf(database: Database, sweep: Pick<SweepRow, "id">): TopUpRow | undefined {
  const sql = `${transfersSql} WHERE t.id = (SELECT id FROM topUps WHERE sweep = ?)`;
  return narrowFoundRow(database.get<TransactionRow>(sql, sweep.id)) as TopUpRow | undefined;
}

/** The units that open sweeps of a merchant in one currency are to bring. */
export function openSweepUnits(database: Database, merchant: string, currency: string): bigint {
  const sql = `SELECT units FROM transfers INDEXED BY transfersOpen
    WHERE operation = 'sweep' AND status = 0 AND merchant = ? AND currency = ?`;
  return database
    .all<Pick<SweepRow, "units">>(sql, merchant, currency)
    .reduce((sum, { units }) => sum + BigInt(units), 0n);
}

/**
 * Keeps an operator's request to sweep a balance, even if the sweep is not worth its fee. Harmless
 * to call twice.
 */
export function keepSweepRequest(
  database: Database,
  { address, network, currency }: AccountPlace,
  at: number,
): void {
  const sql =
    "INSERT OR IGNORE INTO sweepWishes (address, network, currency, at) VALUES (?, ?, ?, ?)";
  database.run(sql, address, network, currency, at);
}

export function dropSweepRequest(
  database: Database,
  { address, network, currency }: AccountPlace,
): void {
  const sql = "DELETE FROM sweepWishes WHERE address = ? AND network = ? AND currency = ?";
  database.run(sql, address, network, currency);
}

/** The reason why a balance is not swept. */
export interface SweepNoteRow extends AccountPlace {
  readonly reason: string;
  readonly detail: string; // for operators
  readonly at: number; // since when
}

/**
 * Keeps the reason why a balance is not swept; the same reason again keeps its earlier time.
 * @returns true if the reason is new
 */
export function keepSweepNote(database: Database, note: SweepNoteRow): boolean {
  const { address, network, currency, reason, detail, at } = note;
  const { changes } = database.run(
    `INSERT INTO sweepNotes (address, network, currency, reason, detail, at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (address, network, currency) DO UPDATE SET reason = excluded.reason, detail = excluded.detail, at = excluded.at
       WHERE reason <> excluded.reason OR detail <> excluded.detail`,
    ...[address, network, currency, reason, detail, at],
  );
  return changes > 0;
}

export function dropSweepNote(
  database: Database,
  { address, network, currency }: AccountPlace,
): void {
  database.run(
    "DELETE FROM sweepNotes WHERE address = ? AND network = ? AND currency = ?",
    address,
    network,
    currency,
  );
}

/** Reasons of one look in turn. */
export const sweepNotesMax = 64;

/** The next reasons on a network after a place, and whether the balance could be swept. */
export function listSweepNotesAfter(
  database: Database,
  network: string,
  after: number,
): readonly (SweepNoteRow & { readonly place: number; readonly isHeld: 0 | 1 })[] {
  const own = "h.address = n.address AND h.network = n.network AND h.currency = n.currency";
  const sql = `SELECT n.rowid AS place, n.*, EXISTS (${sweepable} WHERE ${own} AND h.units <> h.heldUnits) AS isHeld
    FROM sweepNotes n WHERE n.network = ? AND n.rowid > ? ORDER BY n.rowid LIMIT ${sweepNotesMax}`;
  return database.all(sql, network, after);
}

/** Every reason on a network, or on all networks. */
export function listSweepNotes(
  database: Database,
  network: string | null,
): readonly SweepNoteRow[] {
  const sql =
    "SELECT * FROM sweepNotes WHERE (? IS NULL OR network = ?) ORDER BY network, address, currency";
  return database.all<SweepNoteRow>(sql, network, network);
}
