/**
 * Signed withdrawals on chains with coins whose pin no node shows. No block ever takes such a
 * payment while its coin does not exist.
 */
import { unreachablePerAckMax } from "../../protocol/payloads.ts";
import type { TransactionRow } from "./rows.ts";
import type { Database, Store } from "./store.ts";

/** The code of such a withdrawal, here and at its agent. */
export const coinUnknownCode = "COIN_UNKNOWN";

/**
 * An open withdrawal with the pin of its attempts; `since` and `chainSince` are null while nodes
 * show it.
 */
export interface PinnedWithdrawal extends Pick<TransactionRow, "id" | "stage" | "code" | "changedAt"> {
  readonly account: string;
  readonly pin: string; // as `SignedEntry.pin`
  readonly since: number | null; // Unix milliseconds
  readonly chainSince: number | null; // time of the final block then, Unix milliseconds
}

/** Open withdrawals, sweeps and top-ups of a network with a pin, earliest change first. */
export function listPinned(database: Database, network: string): readonly PinnedWithdrawal[] {
  return database.all<PinnedWithdrawal>(
    `SELECT t.id, t.stage, t.code, t.changedAt, s.account, s.pin, u.since, u.chainSince
     FROM transactions t INDEXED BY transactionsOpen CROSS JOIN signatures s ON s.transactionId = t.id AND s.attempt = 1
     LEFT JOIN unknownCoins u ON u.transactionId = t.id
     WHERE t.operation IN ('withdraw', 'sweep', 'topup') AND t.network = ? AND t.status = 0 AND s.pin <> ''
     ORDER BY t.changedAt, t.id`,
    network,
  );
}

/** Keeps since when no node shows the coin; the first time stays. */
export function keepUnknownCoin(database: Database, transactionId: string, since: number, chainSince: number): void {
  const sql = "INSERT OR IGNORE INTO unknownCoins (transactionId, since, chainSince) VALUES (?, ?, ?)";
  database.run(sql, transactionId, since, chainSince);
}

/** A node shows the coin, or the withdrawal has ended. */
export function forgetUnknownCoin(database: Database, transactionId: string): void {
  database.run("DELETE FROM unknownCoins WHERE transactionId = ?", transactionId);
}

/** Forgets those that have ended. Nothing is written if there is none. */
export function forgetEndedCoins(store: Store): void {
  const ended =
    "SELECT u.transactionId FROM unknownCoins u CROSS JOIN transactions t ON t.id = u.transactionId WHERE t.status <> 0";
  if (store.database.get(`${ended} LIMIT 1`) === undefined) return;
  store.write((database) => database.run(`DELETE FROM unknownCoins WHERE transactionId IN (${ended})`));
}

/** An agent's withdrawals that are stuck for it, the earliest first. */
export function listUnknownCoins(database: Database, agentId: string): readonly string[] {
  const rows = database.all<Pick<TransactionRow, "id">>(
    `SELECT t.id FROM unknownCoins u CROSS JOIN transactions t ON t.id = u.transactionId CROSS JOIN jobs j ON j.transactionId = t.id
     WHERE t.status = 0 AND t.stage = 'stuck' AND t.code = ? AND j.agent = ? ORDER BY u.since, t.id LIMIT ${unreachablePerAckMax}`,
    ...[coinUnknownCode, agentId],
  );
  return rows.map(({ id }) => id);
}
