/** Signed attempts of withdrawals, as their signers reported them. */
import type { SignatureRow, TransferRow } from "./rows.ts";
import type { Database } from "./store.ts";
import { currencyOfTransferSql, orderOfTransferSql } from "./transaction-rows.ts";

/**
 * The table's constraints also stand behind the caller's checks: a hash that is already known for
 * the account is a conflict (`isConflict`).
 */
export function insertSignature(database: Database, row: Omit<SignatureRow, "voidAt">): void {
  database.run(
    `INSERT INTO signatures (transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq, validUntilMs, pin, cancel)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[
      row.transactionId,
      row.attempt,
      row.agent,
      row.network,
      row.account,
      row.slot,
      row.txHash,
      row.feeMax,
      row.seq,
    ],
    ...[row.validUntilMs, row.pin, row.cancel],
  );
}

export function isSigned(database: Database, transactionId: string): boolean {
  return (
    database.get("SELECT 1 FROM signatures WHERE transactionId = ? LIMIT 1", transactionId) !==
    undefined
  );
}

/** A withdrawal's attempts, oldest first. */
export function listSignatures(database: Database, transactionId: string): readonly SignatureRow[] {
  return database.all<SignatureRow>(
    "SELECT * FROM signatures WHERE transactionId = ? ORDER BY attempt",
    transactionId,
  );
}

/**
 * The withdrawal that a transaction of an account is an attempt of. The account decides which
 * agent's statement counts, because another agent can name the same hash for its own account.
 */
export function withdrawalOfAttempt(
  database: Database,
  { account, txHash }: Pick<SignatureRow, "account" | "txHash">,
): string | undefined {
  const sql = "SELECT transactionId FROM signatures WHERE txHash = ? AND account = ?";
  return database.get<{ transactionId: string }>(sql, txHash, account)?.transactionId;
}

/** `withdrawalOfAttempt` for these transactions, all read in one statement. */
export function createAttemptWithdrawalLookup(
  database: Database,
  transactions: readonly Pick<SignatureRow, "account" | "txHash">[],
): (one: Pick<SignatureRow, "account" | "txHash">) => string | undefined {
  if (transactions.length === 0) return () => undefined;
  const nameOf = ({ account, txHash }: Pick<SignatureRow, "account" | "txHash">): string =>
    `${txHash} ${account}`;
  const rows = database.all<Pick<SignatureRow, "account" | "txHash" | "transactionId">>(
    "SELECT txHash, account, transactionId FROM signatures WHERE txHash IN (SELECT value FROM json_each(?))",
    JSON.stringify(transactions.map(({ txHash }) => txHash)),
  );
  const found = new Map(rows.map((row) => [nameOf(row), row.transactionId]));
  return (one) => found.get(nameOf(one));
}

/**
 * True if a transaction is an attempt of another withdrawal of the account that pays this one: each
 * transaction pays one order. A recovered ledger knows only the pin of a payment with several
 * coins, so the next payment may take one of the others as its pin, and may pay the same amount to
 * the same address.
 */
export function isAttemptOfAnother(
  database: Database,
  transactionId: string,
  txHash: string,
): boolean {
  const sql = `SELECT 1 FROM signatures WHERE txHash = ? AND transactionId <> ?
    AND account = (SELECT account FROM signatures WHERE transactionId = ? ORDER BY attempt LIMIT 1)`;
  return database.get(sql, txHash, transactionId, transactionId) !== undefined;
}

/** The fields of a withdrawal, sweep or top-up that the chain's evidence is compared with. */
export type JudgedRow = Pick<
  TransferRow,
  | ("id" | "merchant" | "operation" | "orderId" | "currency" | "receiver" | "tag")
  | ("units" | "stage" | "createdAt")
>;

/** A pending withdrawal with one of its attempts. */
export type SignedWithdrawal = JudgedRow &
  Pick<SignatureRow, "attempt" | "account" | "slot" | "pin"> & { readonly attemptTxHash: string };

/**
 * Each attempt up to `attemptsMax` of each pending withdrawal on a network, by withdrawal and
 * attempt.
 */
export function listPendingAttempts(
  database: Database,
  network: string,
  attemptsMax: number,
): readonly SignedWithdrawal[] {
  return database.all<SignedWithdrawal>(
    `SELECT t.id, t.merchant, t.operation, ${orderOfTransferSql} AS orderId,
       ${currencyOfTransferSql} AS currency, t.receiver, t.tag, t.units, t.stage, t.createdAt,
       g.attempt, g.account, g.slot, g.pin, g.txHash AS attemptTxHash
     FROM transfers t JOIN signatures g ON g.transactionId = t.id LEFT JOIN withdrawals w ON w.id = t.id
       LEFT JOIN sweeps s ON s.id = t.id LEFT JOIN topUps u ON u.id = t.id
     WHERE t.operation IN ('withdraw', 'sweep', 'topup') AND t.status = 0 AND t.network = ? AND g.attempt <= ? ORDER BY t.id, g.attempt`,
    ...[network, attemptsMax],
  );
}

/** An attempt of a withdrawal that has ended. */
export type EndedAttempt = Pick<TransferRow, "id" | "operation" | "currency" | "units"> &
  Pick<SignatureRow, "feeMax">;

/**
 * Each attempt of a withdrawal that an account signed and that ended after `sinceMs`; also each
 * sweep to the account.
 */
export function listEndedAttempts(
  database: Database,
  account: string,
  sinceMs: number,
): readonly EndedAttempt[] {
  return database.all<EndedAttempt>(
    `SELECT t.id, t.operation, ${currencyOfTransferSql} AS currency, t.units, s.feeMax
     FROM signatures s JOIN transfers t ON t.id = s.transactionId LEFT JOIN topUps u ON u.id = t.id
     WHERE t.status <> 0 AND t.changedAt > ?
       AND (s.account = ? OR (t.operation = 'sweep' AND t.receiver = ?))`,
    ...[sinceMs, account, account],
  );
}
