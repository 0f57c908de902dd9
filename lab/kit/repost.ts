/**
 * Posts the journal again from the rows that a test planted or changed by hand. The moves that
 * adjust a balance stay, and an opening keeps the balance that it found.
 */
import { type AccountRow, type MoveRow, unitsAt } from "../../gateway/store/journal.ts";
import {
  type PostedTransfer,
  postedTransfersSql,
  postPaymentMove,
  postTransfer,
} from "../../gateway/store/posting.ts";
import type { PaymentRow } from "../../gateway/store/rows.ts";
import type { Store } from "../../gateway/store/store.ts";
import { postSum, type StraySumRow } from "../../gateway/store/stray-sums.ts";

const adjusting = "kind IN ('opening','outside','owner','note')";

export function repostRows(store: Pick<Store, "write">): void {
  store.write((database) => {
    const opened = database
      .all<AccountRow>("SELECT * FROM accounts WHERE openedBlock IS NOT NULL")
      .map((row) => ({ row, found: unitsAt(database, row, row.openedBlock ?? 0) }));
    database.run(`DELETE FROM moves WHERE undoes IS NOT NULL`);
    database.run(`DELETE FROM moves WHERE NOT (${adjusting})`);
    database.run("UPDATE accounts SET units = '0', heldUnits = '0'");
    for (const { row, found } of opened) {
      database.run(
        "DELETE FROM moves WHERE kind = 'opening' AND (toSide = ?1 OR fromSide = ?1) AND network = ?2 AND currency = ?3",
        ...[row.address, row.network, row.currency],
      );
      add(database, row.number, found);
      if (found > 0n)
        database.run(
          `INSERT INTO moves (network, currency, units, fromSide, toSide, kind, block, cause, part)
           VALUES (?, ?, ?, '@outside', ?, 'opening', ?, ?, 0)`,
          ...[row.network, row.currency, found.toString(), row.address, row.openedBlock],
          `opening:${row.network}:${row.address}:${row.currency}`,
        );
    }
    const kept = database.all<MoveRow>(
      `SELECT * FROM moves WHERE ${adjusting} AND NOT EXISTS (SELECT 1 FROM accounts a
         WHERE a.address IN (fromSide, toSide) AND a.network = moves.network AND a.currency = moves.currency AND a.openedBlock IS NOT NULL AND moves.kind = 'opening')`,
    );
    for (const { network, currency, units, fromSide, toSide } of kept)
      for (const [address, sign] of [
        [fromSide, -1n],
        [toSide, 1n],
      ] as const) {
        const row = database.get<AccountRow>(
          "SELECT * FROM accounts WHERE network = ? AND address = ? AND currency = ?",
          ...[network, address, currency],
        );
        if (row !== undefined) add(database, row.number, sign * BigInt(units));
      }
    for (const payment of database.all<PaymentRow & { readonly merchant: string }>(
      "SELECT p.*, d.merchant FROM payments p JOIN deposits d ON d.id = p.transactionId WHERE p.final = 1",
    ))
      postPaymentMove(database, payment, payment.merchant);
    for (const sum of database.all<StraySumRow>("SELECT * FROM straySums")) postSum(database, sum);
    for (const row of database.all<PostedTransfer>(`${postedTransfersSql} ORDER BY t.number`))
      postTransfer(database, null, row);
  });
}

function add(database: Parameters<typeof unitsAt>[0], number: number, units: bigint): void {
  const row = database.get<{ units: string }>(
    "SELECT units FROM accounts WHERE number = ?",
    number,
  );
  const sum = BigInt(row?.units ?? "0") + units;
  database.run("UPDATE accounts SET units = ? WHERE number = ?", sum.toString(), number);
}
