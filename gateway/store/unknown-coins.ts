/**
 * Signed withdrawals on chains with coins whose pin no node shows. No block ever takes such a
 * payment while its coin does not exist.
 */
import { unreachablePerAckMax } from "../../protocol/payloads.ts";
import { slotUnreachableCode } from "./below-beginning.ts";
import type { ServiceReason, TransferRow } from "./rows.ts";
import type { Database, Store } from "./store.ts";

/** The code of such a withdrawal, here and at its agent. */
export const coinUnknownCode = "COIN_UNKNOWN";
/** The code of one that its agent's operator ended. */
export const coinEndedCode = "coin_unknown" satisfies ServiceReason;
/** So much chain time has to be watched before it may be ended. */
export const coinGoneMs = 86_400_000;
/** A look covers the chain time since the one before up to so much. */
const coveredMsMax = 3_600_000;

/**
 * An open withdrawal with the pin of its attempts; `since` and `chainSince` are null while nodes
 * show it.
 */
export interface PinnedWithdrawal extends Pick<TransferRow, "id" | "stage" | "code" | "changedAt"> {
  readonly account: string;
  readonly pin: string; // as `SignedEntry.pin`
  readonly since: number | null; // Unix milliseconds
  readonly chainSince: number | null; // time of the final block then, Unix milliseconds
  readonly watchedMs: number; // chain time in which the nodes were asked and none showed it
}

/** Open withdrawals, sweeps and top-ups of a network with a pin, earliest change first. */
export function listPinnedWithdrawals(
  database: Database,
  network: string,
): readonly PinnedWithdrawal[] {
  return database.all<PinnedWithdrawal>(
    `SELECT t.id, t.stage, coalesce(t.code, '') AS code, t.changedAt, s.account, s.pin, u.since, u.chainSince, coalesce(l.watchedMs, 0) AS watchedMs
     FROM transfers t INDEXED BY transfersOpen CROSS JOIN signatures s ON s.transactionId = t.id AND s.attempt = 1
     LEFT JOIN unknownCoins u ON u.transactionId = t.id LEFT JOIN coinLooks l ON l.transactionId = t.id
     WHERE t.operation IN ('withdraw', 'sweep', 'topup') AND t.network = ? AND t.status = 0 AND s.pin <> ''
     ORDER BY t.changedAt, t.id`,
    network,
  );
}

/**
 * Keeps since when no node shows the coin; the first time stays. Chain time in which nobody asked
 * is not counted beyond an hour, so that a gateway which stood still has not watched.
 */
export function keepUnknownCoin(
  database: Database,
  transactionId: string,
  since: number,
  chainSince: number,
): void {
  const sql =
    "INSERT OR IGNORE INTO unknownCoins (transactionId, since, chainSince) VALUES (?, ?, ?)";
  database.run(sql, transactionId, since, chainSince);
  database.run(
    `INSERT INTO coinLooks (transactionId, chainAt, watchedMs) VALUES (?, ?, 0) ON CONFLICT (transactionId) DO UPDATE SET
       watchedMs = watchedMs + min(max(excluded.chainAt - chainAt, 0), ?), chainAt = max(excluded.chainAt, chainAt)`,
    ...[transactionId, chainSince, coveredMsMax],
  );
}

/** True if no node has shown the coin of an open withdrawal for a day of watched chain time. */
export function isCoinGone(database: Database, transactionId: string): boolean {
  const sql = `SELECT 1 FROM coinLooks l CROSS JOIN transfers t ON t.id = l.transactionId
    WHERE l.transactionId = ? AND l.watchedMs >= ? AND t.status = 0 AND t.stage = 'stuck' AND t.code = ?`;
  return database.get(sql, transactionId, coinGoneMs, coinUnknownCode) !== undefined;
}

/** A withdrawal that its agent's operator ended because no node showed its coin. */
export type WithdrawalEndedOnCoin = Pick<PinnedWithdrawal, "id" | "account" | "pin">;

/** These of a network, the earliest change first. */
export function listWithdrawalsEndedOnCoin(
  database: Database,
  network: string,
): readonly WithdrawalEndedOnCoin[] {
  return database.all<WithdrawalEndedOnCoin>(
    `SELECT t.id, s.account, s.pin FROM transfers t INDEXED BY coinsEnded
     CROSS JOIN signatures s ON s.transactionId = t.id AND s.attempt = 1
     WHERE t.network = ? AND t.status = 2 AND t.code = '${coinEndedCode}' ORDER BY t.changedAt, t.id`,
    network,
  );
}

/** A node shows the coin, or the withdrawal has ended. */
export function forgetUnknownCoin(database: Database, transactionId: string): void {
  database.run("DELETE FROM unknownCoins WHERE transactionId = ?", transactionId);
  database.run("DELETE FROM coinLooks WHERE transactionId = ?", transactionId);
}

/** Forgets those that have ended. Nothing is written if there is none. */
export function forgetEndedCoins(store: Store): void {
  const ended =
    "SELECT u.transactionId FROM unknownCoins u CROSS JOIN transfers t ON t.id = u.transactionId WHERE t.status <> 0";
  if (store.database.get(`${ended} LIMIT 1`) === undefined) return;
  store.write((database) => {
    database.run(`DELETE FROM coinLooks WHERE transactionId IN (${ended})`);
    database.run(`DELETE FROM unknownCoins WHERE transactionId IN (${ended})`);
  });
}

/**
 * An agent's withdrawals that are stuck for it, or below their account's first slot, the earliest
 * first; `isGone`: those whose coin is gone for a day.
 */
export function listWithdrawalsOnUnknownCoins(
  database: Database,
  agentId: string,
  isGone = false,
): readonly string[] {
  const rows = database.all<Pick<TransferRow, "id">>(
    `SELECT t.id FROM unknownCoins u CROSS JOIN transfers t ON t.id = u.transactionId CROSS JOIN jobs j ON j.transactionId = t.id
     LEFT JOIN coinLooks l ON l.transactionId = t.id
     WHERE t.status = 0 AND t.stage = 'stuck' AND t.code IN (?, ?) AND j.agent = ? AND coalesce(l.watchedMs, 0) >= ?
     ORDER BY u.since, t.id LIMIT ${unreachablePerAckMax}`,
    ...[coinUnknownCode, slotUnreachableCode, agentId, isGone ? coinGoneMs : 0],
  );
  return rows.map(({ id }) => id);
}
