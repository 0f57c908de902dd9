/**
 * Sweeps and the top-ups before them, in the table of transactions: `depositAddress` is the account
 * that pays, `receiverAddress` the one that gets. A top-up's orderId is the id of its sweep, so the
 * table's own constraint lets no sweep have two. Beside them what a person wants swept, and why an
 * address is not.
 */
import type { HoldingRow } from "./holdings.ts";
import type { TransactionRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * An address for deposits that holds something and could be swept: its place under the key of the
 * merchant's live agent, and what is open there.
 * @public
 */
export interface SweepableRow extends HoldingRow {
  readonly agent: string; // live
  readonly addressIndex: number;
  readonly request: string; // transaction id of the deposit it was given out for
  readonly requestStatus: 0 | 1 | 2;
  readonly open: string; // transaction id of an open sweep from the address on that network, "" none
  readonly wishedAt: number | null;
}

/**
 * The place of an address for deposits under its key, as a sweep's or a top-up's row keeps it where
 * an order keeps the shop's own words; of a sweep with the slot that its job names.
 * @public
 */
export function writePlace(depositIndex: number, depositNext = ""): string {
  return JSON.stringify(depositNext === "" ? { depositIndex } : { depositIndex, depositNext });
}

/** @public */
export function readPlace({ metadata }: Pick<TransactionRow, "metadata">): number {
  return (JSON.parse(metadata) as { readonly depositIndex: number }).depositIndex;
}

/**
 * The slot that a sweep's job names, "" where its row has none.
 * @public
 */
export function readNext({ metadata }: Pick<TransactionRow, "metadata">): string {
  return (JSON.parse(metadata) as { readonly depositNext?: string }).depositNext ?? "";
}

const sweepable = `SELECT h.*, l.id AS agent, d.addressIndex, d.transactionId AS request, t.status AS requestStatus,
    coalesce((SELECT s.id FROM transactions s WHERE s.operation = 'sweep' AND s.status = 0
      AND s.depositAddress = h.address AND s.network = h.network LIMIT 1),
    (SELECT u.id FROM transactions s JOIN transactions u ON u.merchant = s.merchant AND u.operation = 'topup'
        AND u.orderId = s.id AND u.status = 0
      WHERE s.operation = 'sweep' AND s.depositAddress = h.address AND s.network = h.network LIMIT 1), '') AS open, w.at AS wishedAt
  FROM holdings h JOIN depositAddresses d ON d.address = h.address JOIN transactions t ON t.id = d.transactionId
    JOIN agents a ON a.id = d.agent
    JOIN agents l ON l.merchant = a.merchant AND l.releasedAt IS NULL AND EXISTS (
      SELECT 1 FROM json_each(l.accounts) AS live JOIN json_each(a.accounts) AS old
        ON json_extract(live.value, '$.firstAddress') = json_extract(old.value, '$.firstAddress')
      WHERE json_extract(live.value, '$.purpose') = 'deposits' AND json_extract(old.value, '$.purpose') = 'deposits')
    LEFT JOIN sweepWishes w ON w.address = h.address AND w.network = h.network AND w.currency = h.currency`;

/**
 * Everything on a network that could be swept, what a person wants first and then the oldest
 * requests; addresses of merchants who only receive are not among them.
 * @public
 */
export function listSweepable(database: Database, network: string): readonly SweepableRow[] {
  const sql = `${sweepable} WHERE h.network = ? ORDER BY w.at IS NULL, w.at, t.createdAt, h.address, h.currency`;
  return database.all<SweepableRow>(sql, network);
}

/**
 * What an address holds, as far as it could be swept.
 * @public
 */
export function listSweepableAt(database: Database, address: string): readonly SweepableRow[] {
  return database.all<SweepableRow>(`${sweepable} WHERE h.address = ? ORDER BY h.network, h.currency`, address);
}

/**
 * How many sweeps were ever ordered from an address, on whatever network.
 * @public
 */
export function countSweepsFrom(database: Database, address: string): number {
  const sql = "SELECT count(*) AS n FROM transactions WHERE operation = 'sweep' AND depositAddress = ?";
  return database.get<{ n: number }>(sql, address)?.n ?? 0;
}

/**
 * The newest sweep of a currency from an address.
 * @public
 */
export function newestSweepFrom(
  database: Database,
  { address, network, currency }: Pick<HoldingRow, "address" | "network" | "currency">,
): TransactionRow | undefined {
  return database.get<TransactionRow>(
    `SELECT * FROM transactions WHERE operation = 'sweep' AND depositAddress = ? AND network = ? AND currency = ?
     ORDER BY createdAt DESC, rowid DESC LIMIT 1`,
    ...[address, network, currency],
  );
}

/**
 * How many sweeps of an agent's merchant are open, on all networks: those on their way, and those
 * that are stuck, themselves or by their top-up, and wait for a person.
 * @public
 */
export function countOpenSweeps(database: Database, merchant: string): { readonly moving: number; readonly stuck: number } {
  const counts = database.get<{ n: number; stuck: number }>(
    `SELECT count(*) AS n, coalesce(sum(s.stage = 'stuck' OR EXISTS (
       SELECT 1 FROM transactions u WHERE u.merchant = s.merchant AND u.operation = 'topup' AND u.orderId = s.id
         AND u.status = 0 AND u.stage = 'stuck')), 0) AS stuck
     FROM transactions s WHERE s.operation = 'sweep' AND s.status = 0 AND s.merchant = ?`,
    merchant,
  );
  const { n, stuck } = counts ?? { n: 0, stuck: 0 };
  return { moving: n - stuck, stuck };
}

/**
 * Open sweeps and top-ups by stage.
 * @public
 */
export function listOpenSweepsByStage(
  database: Database,
): readonly { readonly operation: string; readonly stage: string; readonly count: number }[] {
  return database.all(
    `SELECT operation, stage, count(*) AS count FROM transactions WHERE operation IN ('sweep', 'topup') AND status = 0
     GROUP BY operation, stage ORDER BY operation, stage`,
  );
}

/**
 * A sweep that waits for its top-up, with how that stands.
 * @public
 */
export type ToppingUp = TransactionRow & { readonly topUpStatus: 0 | 1 | 2; readonly topUpCode: string };

/**
 * Open sweeps on a network whose job is not made, since their top-up comes first.
 * @public
 */
export function listToppingUp(database: Database, network: string): readonly ToppingUp[] {
  return database.all<ToppingUp>(
    `SELECT s.*, u.status AS topUpStatus, u.code AS topUpCode FROM transactions s
     JOIN transactions u ON u.merchant = s.merchant AND u.operation = 'topup' AND u.orderId = s.id
     WHERE s.operation = 'sweep' AND s.status = 0 AND s.network = ?
       AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.transactionId = s.id) ORDER BY s.createdAt, s.id`,
    network,
  );
}

/**
 * The top-up of a sweep.
 * @public
 */
export function topUpOf(database: Database, sweep: Pick<TransactionRow, "id" | "merchant">): TransactionRow | undefined {
  const sql = "SELECT * FROM transactions WHERE merchant = ? AND operation = 'topup' AND orderId = ?";
  return database.get<TransactionRow>(sql, sweep.merchant, sweep.id);
}

/**
 * What sweeps move in one currency and the balance read at `block` does not show yet: open ones,
 * and those that ended in a later block.
 * @public
 */
export function sweepingUnits(database: Database, merchant: string, currency: string, block: number): bigint {
  const rows = database.all<Pick<TransactionRow, "amountUnits">>(
    `SELECT amountUnits FROM transactions WHERE merchant = ? AND operation = 'sweep' AND currency = ?
       AND (status = 0 OR (status = 1 AND finalBlock > ?))`,
    ...[merchant, currency, block],
  );
  return rows.reduce((sum, { amountUnits }) => sum + BigInt(amountUnits), 0n);
}

/**
 * What top-ups on a network brought to addresses for deposits since `block`, where the balance read
 * at that block still counts it as the hot account's.
 * @public
 */
export function toppedUnitsAfter(database: Database, merchant: string, network: string, block: number): bigint {
  const rows = database.all<Pick<TransactionRow, "amountUnits">>(
    `SELECT amountUnits FROM transactions WHERE merchant = ? AND operation = 'topup' AND network = ? AND status = 1
       AND finalBlock > ?`,
    ...[merchant, network, block],
  );
  return rows.reduce((sum, { amountUnits }) => sum + BigInt(amountUnits), 0n);
}

/**
 * Sweeps and top-ups, newest first.
 * @public
 */
export function listSweeps(
  database: Database,
  { merchant, status, most }: { readonly merchant: string | null; readonly status: number | null; readonly most: number },
): readonly TransactionRow[] {
  return database.all<TransactionRow>(
    `SELECT * FROM transactions WHERE operation IN ('sweep', 'topup') AND (? IS NULL OR merchant = ?)
       AND (? IS NULL OR status = ?) ORDER BY createdAt DESC, rowid DESC LIMIT ?`,
    ...[merchant, merchant, status, status, most],
  );
}

type Place = Pick<HoldingRow, "address" | "network" | "currency">;

/**
 * A person wants it swept, worth it or not. Twice is harmless.
 * @public
 */
export function keepWish(database: Database, { address, network, currency }: Place, at: number): void {
  const sql = "INSERT OR IGNORE INTO sweepWishes (address, network, currency, at) VALUES (?, ?, ?, ?)";
  database.run(sql, address, network, currency, at);
}

/** @public */
export function dropWish(database: Database, { address, network, currency }: Place): void {
  const sql = "DELETE FROM sweepWishes WHERE address = ? AND network = ? AND currency = ?";
  database.run(sql, address, network, currency);
}

/**
 * Why something is not swept.
 * @public
 */
export interface SweepNoteRow extends Place {
  readonly reason: string;
  readonly detail: string; // for people
  readonly at: number; // since when
}

/**
 * Says why something is not swept; the same reason again keeps its time. Gives whether it is news.
 * @public
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

/** @public */
export function dropSweepNote(database: Database, { address, network, currency }: Place): void {
  database.run("DELETE FROM sweepNotes WHERE address = ? AND network = ? AND currency = ?", address, network, currency);
}

/**
 * Every reason on a network, or on all of them.
 * @public
 */
export function listSweepNotes(database: Database, network: string | null): readonly SweepNoteRow[] {
  const sql = "SELECT * FROM sweepNotes WHERE (? IS NULL OR network = ?) ORDER BY network, address, currency";
  return database.all<SweepNoteRow>(sql, network, network);
}
