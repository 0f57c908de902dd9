/**
 * All known movements of an account's balance, as rows with their final blocks: the basis of the
 * books. Payments and baselines come from their own tables. Sweeps, top-ups and withdrawals come
 * from the transaction that ended them, with the fee. Reads only.
 */
import { isFeeInside } from "../../chains/families.ts";
import { unattributedOrderOf } from "./forgotten-addresses.ts";
import type { TransferRow } from "./rows.ts";
import type { Database } from "./store.ts";
import { currencyOfTransferSql } from "./transaction-rows.ts";

/**
 * One movement. `side` is the side of the account that was asked for; a payment always comes in.
 */
export interface MoveRow {
  readonly kind: "payment" | "withdraw" | "sweep" | "topup";
  readonly side: "in" | "out";
  readonly address: string;
  readonly currency: string;
  readonly units: string;
  readonly feeUnits: string; // in the coin that pays fees; "" none
  readonly status: 0 | 1 | 2;
  readonly block: number;
  /** An operator said what it moved; the fee stands beside it. */
  readonly isMoved?: 0 | 1;
}

const isMoved = "m.sentUnits IS NOT NULL";
const moved = "LEFT JOIN movedPayments m ON m.transactionId = t.id";

/**
 * The columns of a row that is one of these movements: what it moved where that is another amount
 * than was asked for, whatever became of the order.
 */
const movedColumns = (side: MoveRow["side"]): string =>
  `coalesce(m.${side === "in" ? "receivedUnits" : "sentUnits"}, t.units) AS units,
       CASE WHEN ${isMoved} THEN 1 ELSE t.status END AS status, ${isMoved} AS isMoved`;

/**
 * The row with the amount that the receiver got. A fee that came out of the amount is not in it,
 * and stays a movement of its own.
 */
function withoutFee<T extends MoveRow>(network: string, row: T): T {
  const isInside =
    row.status === 1 && row.isMoved !== 1 && row.feeUnits !== "" && isFeeInside(network, row.kind);
  return isInside ? { ...row, units: `${BigInt(row.units) - BigInt(row.feeUnits)}` } : row;
}

/** Every final movement into or out of these deposit addresses on a network. */
export function listDepositAddressMoves(
  database: Database,
  network: string,
  addresses: readonly string[],
): readonly MoveRow[] {
  const list = JSON.stringify(addresses);
  const payments = database.all<MoveRow>(
    `SELECT 'payment' AS kind, 'in' AS side, p.address, p.currency, p.units, '' AS feeUnits, 1 AS status, p.block
     FROM json_each(?) AS a CROSS JOIN addresses d ON d.address = a.value
       CROSS JOIN payments p INDEXED BY paymentsByTransaction ON p.transactionId = d.request
     WHERE p.address = d.address AND p.network = ? AND p.final = 1`,
    ...[list, network],
  );
  const unattributed = database.all<MoveRow>(
    `SELECT 'payment' AS kind, 'in' AS side, p.address, p.currency, p.units, '' AS feeUnits, 1 AS status, p.block
     FROM json_each(?) AS a CROSS JOIN addresses f ON f.address = a.value AND f.request IS NULL
       CROSS JOIN deposits r ON r.merchant = f.merchant AND r.orderId = ? || f.address
       CROSS JOIN payments p INDEXED BY paymentsByTransaction ON p.transactionId = r.id
     WHERE p.address = f.address AND p.network = ? AND p.final = 1`,
    ...[list, unattributedOrderOf(""), network],
  );
  const sweeps = database.all<MoveRow>(
    `SELECT 'sweep' AS kind, 'out' AS side, s.address, t.currency, ${movedColumns("out")}, coalesce(t.feeUnits, '') AS feeUnits,
       t.finalBlock AS block
     FROM json_each(?) AS a CROSS JOIN sweeps s ON s.address = a.value CROSS JOIN transfers t ON t.id = s.id ${moved}
     WHERE t.network = ? AND t.finalBlock IS NOT NULL`,
    ...[list, network],
  );
  const topUps = database.all<MoveRow>(
    `SELECT 'topup' AS kind, 'in' AS side, t.receiver AS address, u.sweptCurrency AS currency, ${movedColumns("in")}, '' AS feeUnits,
       t.finalBlock AS block
     FROM json_each(?) AS a CROSS JOIN transfers t INDEXED BY transfersReceived ON t.receiver = a.value
       CROSS JOIN topUps u ON u.id = t.id ${moved}
     WHERE t.status <> 0 AND t.finalBlock IS NOT NULL AND t.operation = 'topup' AND t.network = ?`,
    ...[list, network],
  );
  // A baseline is older than the address's first use, so it counts at every block.
  const baselines = database.all<MoveRow>(
    `SELECT 'payment' AS kind, 'in' AS side, b.address, b.currency, b.units, '' AS feeUnits, 1 AS status, 0 AS block
     FROM json_each(?) AS a CROSS JOIN baselines b ON b.address = a.value WHERE b.network = ?`,
    ...[list, network],
  );
  return [
    ...payments,
    ...unattributed,
    ...sweeps.map((row) => withoutFee(network, row)),
    ...topUps,
    ...baselines,
  ];
}

/**
 * The next final payments into a hot wallet whose deposits have tags, in the order of blocks, at
 * most `most`.
 */
export function listTaggedMoves(
  database: Database,
  { network, account }: { readonly network: string; readonly account: string },
  after: MovePlace,
  most: number,
): readonly (MoveRow & { readonly row: number })[] {
  return database.all(
    `SELECT 'payment' AS kind, 'in' AS side, d.payTo AS address, p.currency, p.units, '' AS feeUnits, 1 AS status,
       p.block, p.rowid AS row
     FROM payments p INDEXED BY paymentsFinal CROSS JOIN deposits d ON d.id = p.transactionId
     WHERE d.payTo = ? AND d.payTo <> d.address AND p.network = ? AND p.final = 1 AND (p.block, p.rowid) > (?, ?) ORDER BY p.block, p.rowid LIMIT ?`,
    ...[account, network, after.block, after.row, most],
  );
}

/** A position in an account's movements; the next page begins after it. */
export interface MovePlace {
  readonly block: number;
  readonly row: number;
}

/**
 * The next movements of a hot wallet on a network in the order of blocks, at most `most`. Side
 * "out" lists withdrawals and top-ups. Side "in" lists sweeps and payments from other accounts of
 * this gateway, but for those that are kept as payments to a tag, or in a sum of such payments.
 */
export function listHotWalletMoves(
  database: Database,
  side: MoveRow["side"],
  { network, account }: { readonly network: string; readonly account: string },
  after: MovePlace,
  most: number,
): readonly (MoveRow & { readonly row: number })[] {
  const column = side === "out" ? "payer" : "receiver";
  const isNoPayment =
    side === "out"
      ? ""
      : ` AND NOT EXISTS (SELECT 1 FROM payments p CROSS JOIN deposits d ON d.id = p.transactionId
         WHERE p.network = t.network AND p.txHash = t.txHash AND p.final = 1 AND d.payTo = t.receiver AND d.payTo <> d.address)
       AND NOT EXISTS (SELECT 1 FROM straySums s WHERE s.network = t.network AND s.account = t.receiver AND s.currency = t.currency
         AND s.fromBlock <= t.finalBlock AND s.toBlock >= t.finalBlock)`;
  const rows = database.all<MoveRow & { readonly row: number }>(
    `SELECT t.operation AS kind, '${side}' AS side, t.${column} AS address, ${currencyOfTransferSql} AS currency,
       ${movedColumns(side)}, coalesce(t.feeUnits, '') AS feeUnits, t.finalBlock AS block, t.number AS row
     FROM transfers t LEFT JOIN topUps u ON u.id = t.id ${moved}
     WHERE t.${column} = ? AND t.network = ? AND t.status <> 0 AND t.finalBlock IS NOT NULL${isNoPayment}
       AND (t.finalBlock, t.number) > (?, ?) ORDER BY t.finalBlock, t.number LIMIT ?`,
    ...[account, network, after.block, after.row, most],
  );
  // The other account pays the fee of what comes in.
  return rows
    .map((row) => withoutFee(network, row))
    .map((row) => (side === "in" ? { ...row, feeUnits: "" } : row));
}

/**
 * Withdrawals, sweeps and top-ups from or to an account that have a signature and have not ended,
 * oldest first, at most `most`. `isFinal`: a final block that was read holds one of the attempts.
 */
export function listUnended(
  database: Database,
  network: string,
  account: string,
  most: number,
): readonly (Pick<TransferRow, "id" | "operation" | "stage"> & {
  readonly isFinal: 0 | 1;
})[] {
  return database.all(
    `SELECT t.id, t.operation, t.stage, EXISTS (
       SELECT 1 FROM signatures s JOIN outgoing k ON k.txHash = s.txHash AND k.account = s.account WHERE s.transactionId = t.id) AS isFinal
     FROM transfers t WHERE t.status = 0 AND t.operation IN ('withdraw', 'sweep', 'topup') AND t.network = ?
       AND (t.payer = ? OR t.receiver = ?)
       AND EXISTS (SELECT 1 FROM signatures s WHERE s.transactionId = t.id) ORDER BY t.createdAt, t.id LIMIT ?`,
    ...[network, account, account, most],
  );
}
