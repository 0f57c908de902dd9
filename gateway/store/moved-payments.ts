/**
 * Withdrawals, sweeps and top-ups whose final attempt moved something else than was asked for: the
 * attempt as the gateway's nodes agree on it, and what it moved, as an operator says.
 */
import type { ServiceReason } from "./rows.ts";
import type { Database } from "./store.ts";

/** The code of a withdrawal that an operator ended because it moved another amount. */
export const movedCode = "chain_moved" satisfies ServiceReason;

/** The amounts that a final attempt moved, in base units of the currency. */
export interface MovedUnits {
  readonly receivedUnits: string; // by the receiver
  readonly sentUnits: string; // out of the account that pays, without the fee of the chain
}

/** The final attempt. */
export interface MovedAttempt {
  readonly transactionId: string;
  readonly txHash: string;
  readonly block: number;
  readonly feeUnits: string;
  readonly at: number; // when it was found, Unix milliseconds
}

/** Both are null until an operator has said what it moved. */
export type MovedPayment = MovedAttempt & { readonly [Field in keyof MovedUnits]: string | null };

export function readMovedPayment(
  database: Database,
  transactionId: string,
): MovedPayment | undefined {
  return database.get<MovedPayment>(
    "SELECT * FROM movedPayments WHERE transactionId = ?",
    transactionId,
  );
}

/** An acknowledgement names at most as many ended ones. */
const toldMax = 256;

/** Those that an operator has ended, of an agent's withdrawals, newest first, at most 256. */
export function listEndedMovedWithdrawals(database: Database, agent: string): readonly string[] {
  return database
    .all<{ id: string }>(
      `SELECT m.transactionId AS id FROM movedPayments m JOIN jobs j ON j.transactionId = m.transactionId
       WHERE m.receivedUnits IS NOT NULL AND j.agent = ? ORDER BY m.at DESC, m.transactionId LIMIT ${toldMax}`,
      agent,
    )
    .map(({ id }) => id);
}

/**
 * Keeps the final attempt of a withdrawal. A repeat takes the newer attempt, until an operator has
 * said what it moved. @returns true if none was kept before
 */
export function keepMovedAttempt(database: Database, attempt: MovedAttempt): boolean {
  const isNew = readMovedPayment(database, attempt.transactionId) === undefined;
  const { transactionId, txHash, block, feeUnits, at } = attempt;
  database.run(
    `INSERT INTO movedPayments (transactionId, txHash, block, feeUnits, at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (transactionId) DO UPDATE SET txHash = excluded.txHash, block = excluded.block, feeUnits = excluded.feeUnits
       WHERE receivedUnits IS NULL AND (txHash <> excluded.txHash OR block <> excluded.block)`,
    ...[transactionId, txHash, block, feeUnits, at],
  );
  return isNew;
}
