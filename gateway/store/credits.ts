/**
 * Payments that an operator credited to a request other than the request of their address. The
 * payment stays at its address, so the balance there is explained as before. It counts for the
 * credited request, and no longer for the request of its address. A payment is credited only once:
 * a row holds all that was left of a payment.
 */
import { listArrivingPayments } from "./arriving.ts";
import { countedGonePaymentsSql } from "./gone-payments.ts";
import type { DepositRow, PaymentRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";
import { listStraySumsOf } from "./stray-sums.ts";
import { ownTopUpSql } from "./top-ups.ts";

/** Names a payment on its network. */
export type PaymentPlace = Pick<PaymentRow, "network" | "txHash" | "logIndex">;

/** The part of a payment that counts for a request. */
export interface CountedPayment {
  readonly units: bigint;
  readonly final: boolean;
  readonly block: number;
  readonly txHash: string;
  readonly isCredited: boolean; // credited by an operator
  readonly isHeld: boolean; // it was seen in time, before a block had it
}

/** A payment with its part that is not credited yet. */
export interface UncreditedPayment extends PaymentRow {
  readonly merchant: string;
  readonly merchantName: string;
  readonly orderId: string; // order of the request at its address
  readonly leftUnits: bigint;
}

type WithCredits = PaymentRow & { readonly credited: string };

const creditsOf = `(SELECT json_group_array(c.units) FROM depositCredits c
  WHERE c.network = p.network AND c.txHash = p.txHash AND c.logIndex = p.logIndex) AS credited`;

function leftOf({ units, credited }: WithCredits): bigint {
  return (JSON.parse(credited) as readonly string[]).reduce(
    (left, one) => left - BigInt(one),
    BigInt(units),
  );
}

/** Rows of `payments`, and those that still count although their block left the chain. */
const counting = `(SELECT network, txHash, logIndex, address, currency, units, block, blockHash, final, transactionId FROM payments UNION ALL ${countedGonePaymentsSql})`;

/**
 * Payments that count for a request in its own currency, rows in the order of the chain and then
 * sums (stray-sums.ts). Counts the payments to the request's address, without parts credited
 * elsewhere, and the payments credited to the request.
 */
export function listCountedPayments(
  database: Database,
  { id, currency, network }: Pick<DepositRow, "id" | "currency" | "network">,
): readonly CountedPayment[] {
  const own = database.all<WithCredits>(
    `SELECT p.*, ${creditsOf} FROM ${counting} p WHERE p.transactionId = ? AND p.currency = ? AND p.network = ?
     ORDER BY p.block, p.txHash, p.logIndex`,
    ...[id, currency, network],
  );
  const held = new Set(
    listArrivingPayments(database, id).flatMap(({ txHash, isHeld }) =>
      isHeld === 1 ? [txHash] : [],
    ),
  );
  const left = own.map((row) => ({ row, units: leftOf(row), isCredited: false }));
  const credited = listCreditsTo(database, id).map((row) => ({
    row,
    units: BigInt(row.creditedUnits),
    isCredited: true,
  }));
  // Payments beyond the rows of a request are sums, each as of its newest block.
  const sums = listStraySumsOf(database, id, currency).map(({ units, toBlock: block, txHash }) => ({
    units: BigInt(units),
    final: true,
    block,
    txHash,
    isCredited: false,
    isHeld: held.has(txHash),
  }));
  const rows = [...left, ...credited]
    .filter(({ units }) => units > 0n)
    .map(({ row: { final, block, txHash }, units, isCredited }) => {
      return { units, final: final === 1, block, txHash, isCredited, isHeld: held.has(txHash) };
    });
  return [...rows, ...sums];
}

/** Payments that were credited to a request, in the order of the chain. */
export function listCreditsTo(
  database: Database,
  transactionId: string,
): readonly (PaymentRow & { readonly creditedUnits: string })[] {
  return database.all(
    `SELECT p.*, c.units AS creditedUnits FROM depositCredits c
       JOIN ${counting} p ON p.network = c.network AND p.txHash = c.txHash AND p.logIndex = c.logIndex
     WHERE c.transactionId = ? ORDER BY p.block, p.txHash, p.logIndex`,
    transactionId,
  );
}

/** Requests to which a payment was credited. */
export function listRequestsCreditedWith(
  database: Database,
  { network, txHash, logIndex }: PaymentPlace,
): readonly string[] {
  const sql =
    "SELECT transactionId AS id FROM depositCredits WHERE network = ? AND txHash = ? AND logIndex = ?";
  return database.all<{ id: string }>(sql, network, txHash, logIndex).map(({ id }) => id);
}

/**
 * A final payment that counts for no request: its address has no request here, or the payment is in
 * another currency than the request. The wallet's own top-ups are excluded.
 */
const nobodys = `p.final = 1
  AND (d.origin = 'unattributed' OR d.currency <> p.currency OR d.network <> p.network) AND NOT EXISTS (${ownTopUpSql})`;
const named = `SELECT p.*, d.merchant, m.name AS merchantName, d.orderId, ${creditsOf}
  FROM payments p JOIN deposits d ON d.id = p.transactionId JOIN merchants m ON m.id = d.merchant`;

const asLeft = (row: Omit<UncreditedPayment, "leftUnits"> & WithCredits): UncreditedPayment => ({
  ...row,
  leftUnits: leftOf(row),
});

/** Payments that count for no request and are not credited, newest first, at most `most`. */
export function listUnattributed(
  database: Database,
  merchant: string | null,
  most: number,
): readonly UncreditedPayment[] {
  const rows = database.all<Omit<UncreditedPayment, "leftUnits"> & WithCredits>(
    `${named} WHERE ${nobodys} AND (? IS NULL OR d.merchant = ?)
       AND NOT EXISTS (SELECT 1 FROM depositCredits c
         WHERE c.network = p.network AND c.txHash = p.txHash AND c.logIndex = p.logIndex AND c.ofUnits = p.units)
     ORDER BY p.rowid DESC LIMIT ?`,
    ...[merchant, merchant, most],
  );
  return rows.map(asLeft);
}

/** The rest of the payments to a request's address in other currencies than its own. */
export function listOtherCurrencyPaymentsTo(
  database: Database,
  transactionId: string,
): readonly UncreditedPayment[] {
  const sql = `${named} WHERE ${nobodys} AND p.transactionId = ? ORDER BY p.block, p.txHash, p.logIndex`;
  const rows = database
    .all<Omit<UncreditedPayment, "leftUnits"> & WithCredits>(sql, transactionId)
    .map(asLeft);
  return rows.filter(({ leftUnits }) => leftUnits > 0n);
}

/**
 * Payments of one transaction on a network that count for no request, including credited payments.
 */
export function findUnattributed(
  database: Database,
  network: string,
  txHash: string,
): readonly UncreditedPayment[] {
  const sql = `${named} WHERE ${nobodys} AND p.network = ? AND p.txHash IN (?, lower(?)) ORDER BY p.logIndex`;
  return database
    .all<Omit<UncreditedPayment, "leftUnits"> & WithCredits>(sql, network, txHash, txHash)
    .map(asLeft);
}

/**
 * Credits all that is left of a payment to a request, inside the caller's transaction. A second
 * call changes nothing, because nothing is left.
 */
export function creditRemainder(
  database: Database,
  payment: PaymentPlace & Pick<UncreditedPayment, "leftUnits" | "units">,
  transactionId: string,
  nowMs: number,
): void {
  const { network, txHash, logIndex, leftUnits, units } = payment;
  const where = "network = ? AND txHash = ? AND logIndex = ? AND transactionId = ?";
  const place = [network, txHash, logIndex, transactionId] as const;
  const before = database.get<{ units: string }>(
    `SELECT units FROM depositCredits WHERE ${where}`,
    ...place,
  );
  database.run(`DELETE FROM depositCredits WHERE ${where}`, ...place);
  database.run(
    "INSERT INTO depositCredits (network, txHash, logIndex, transactionId, units, ofUnits, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ...[...place, (leftUnits + BigInt(before?.units ?? "0")).toString(), units, nowMs],
  );
}
