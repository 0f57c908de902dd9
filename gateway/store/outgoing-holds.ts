/**
 * Outgoing transactions of hot wallets that no signature explains, from the moment a node shows
 * them; the orders that they hold back; and the orders that an operator released. Where gateway and
 * agent were both restored to an old state, the chain alone knows a payment that an order asks for
 * again.
 */
import type { OutgoingRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** A payment out of a hot wallet. `block` is null before a block has it. */
export type UnexplainedOutgoingRow = Pick<
  OutgoingRow,
  "network" | "account" | "txHash" | "receiver" | "tag" | "contract" | "units"
> & {
  readonly block: number | null;
  readonly final: 0 | 1;
};

/**
 * Keeps an outgoing transaction that no signature explains. A row becomes final, and a final one
 * stays final. One that was seen once is not forgotten because nodes show it no more: its bytes can
 * come again. `nowMs` is kept as the time at which it was first seen.
 */
export function keepUnexplainedOutgoing(
  database: Database,
  row: UnexplainedOutgoingRow,
  nowMs: number,
): void {
  const { network, account, txHash, block, final, receiver, tag, contract, units } = row;
  database.run(
    `INSERT INTO unexplained (network, account, txHash, block, final, receiver, tag, contract, units, firstAt)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (account, txHash, network) DO UPDATE SET block = coalesce(excluded.block, block), final = excluded.final,
       receiver = excluded.receiver, tag = excluded.tag, contract = excluded.contract, units = excluded.units
       WHERE excluded.final >= final AND (excluded.final > final OR coalesce(excluded.block, block) IS NOT block)`,
    ...[network, account, txHash, block, final, receiver, tag, contract, units, nowMs],
  );
}

/** Forgets a transaction that a final block has, and that paid nothing. */
export function forgetUnexplainedOutgoing(
  database: Database,
  { network, account, txHash }: Omit<OutgoingKey, "slot">,
): void {
  database.run(
    "DELETE FROM unexplained WHERE account = ? AND txHash = ? AND network = ?",
    account,
    txHash,
    network,
  );
}

type OutgoingKey = Pick<OutgoingRow, "network" | "account" | "slot" | "txHash">;

/** The number of transactions of an account that are not final, and that nothing explains. */
export function countSeenUnexplainedOutgoing(
  database: Database,
  { network, account }: Pick<OutgoingKey, "network" | "account">,
): number {
  const sql =
    "SELECT count(*) AS n FROM unexplained INDEXED BY unexplainedSeen WHERE account = ? AND network = ? AND final = 0";
  return database.get<{ n: number }>(sql, account, network)?.n ?? 0;
}

export function isUnexplainedOutgoingKept(
  database: Database,
  { network, account, txHash }: Omit<OutgoingKey, "slot">,
): boolean {
  const sql = "SELECT 1 FROM unexplained WHERE account = ? AND txHash = ? AND network = ?";
  return database.get(sql, account, txHash, network) !== undefined;
}

/** Forgets transactions of a network that were seen before a time and never became final. */
export function forgetSeenOutgoingBefore(
  database: Database,
  network: string,
  beforeMs: number,
): void {
  database.run(
    "DELETE FROM unexplained WHERE final = 0 AND network = ? AND firstAt < ?",
    network,
    beforeMs,
  );
}

/** True if there is one that `forgetSeenOutgoingBefore` would forget. */
export function hasSeenOutgoingBefore(
  database: Database,
  network: string,
  beforeMs: number,
): boolean {
  const sql = "SELECT 1 FROM unexplained WHERE final = 0 AND network = ? AND firstAt < ? LIMIT 1";
  return database.get(sql, network, beforeMs) !== undefined;
}

/** The payment that an order asks for. A receiver or tag that is not known yet may be any. */
export interface OrderedPayment {
  readonly transactionId: string;
  readonly network: string;
  readonly account: string;
  readonly receiver: string; // "" for any, and any tag then
  readonly tag: string;
  readonly contract: string | null; // null for any
  readonly units: string;
}

const suspectsMost = 16;

/**
 * The unexplained transactions that made exactly the payment that an order asks for, but for those
 * that paid another order and those that an operator named when the order was released.
 */
export function listSuspectTransactions(
  database: Database,
  asked: OrderedPayment,
): readonly UnexplainedOutgoingRow[] {
  const { transactionId, network, account, receiver, tag, contract, units } = asked;
  return database.all<UnexplainedOutgoingRow>(
    `SELECT * FROM unexplained u WHERE account = ? AND network = ? AND units = ?
       AND (? IS NULL OR contract = ?) AND (? = '' OR (receiver = ? AND tag = ?))
       AND NOT EXISTS (SELECT 1 FROM assignedPayments a WHERE a.txHash = u.txHash AND a.account = u.account)
       AND NOT EXISTS (SELECT 1 FROM releasedOrders r
         WHERE r.account = u.account AND r.txHash = u.txHash AND r.transactionId IN ('', ?))
     ORDER BY block IS NULL, block, txHash LIMIT ${suspectsMost}`,
    ...[account, network, units, contract, contract, receiver, receiver, tag, transactionId],
  );
}

/** The unexplained transaction of this hash on a network. */
export function readUnexplainedOutgoing(
  database: Database,
  network: string,
  txHash: string,
): UnexplainedOutgoingRow | undefined {
  return database.get<UnexplainedOutgoingRow>(
    "SELECT * FROM unexplained WHERE network = ? AND txHash = ?",
    network,
    txHash,
  );
}

/**
 * Keeps that a transaction did not pay an order, as an operator says; "" for no order at all.
 * Harmless to call twice.
 */
export function keepOrderRelease(
  database: Database,
  { account, txHash }: Pick<OutgoingRow, "account" | "txHash">,
  transactionId: string,
  nowMs: number,
): void {
  const sql =
    "INSERT OR IGNORE INTO releasedOrders (account, txHash, transactionId, at) VALUES (?, ?, ?, ?)";
  database.run(sql, account, txHash, transactionId, nowMs);
}

export function isOrderReleased(
  database: Database,
  { account, txHash }: Pick<OutgoingRow, "account" | "txHash">,
  transactionId: string,
): boolean {
  const sql =
    "SELECT 1 FROM releasedOrders WHERE account = ? AND txHash = ? AND transactionId IN ('', ?)";
  return database.get(sql, account, txHash, transactionId) !== undefined;
}
