/**
 * The amounts promised by pending withdrawals: one sum for each account, network and currency, so
 * that a new order does not count all others again. The sums change in the same transactions as the
 * rows (withdrawals.ts). The rows stay the truth, and each start compares both.
 */
import { invariant } from "../../base/fault.ts";
import { limitGroupOf } from "../../protocol/job-mode.ts";
import type { ReservedRow, TransferRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";
import { currencyOfTransferSql } from "./transaction-rows.ts";

type PendingAmount = Pick<TransferRow, "operation" | "currency" | "network" | "units" | "payer">;

/**
 * The name under which a sum is kept. A top-up promises the native coin, for one currency's sweep.
 */
export function reservedSumName({
  operation,
  currency,
}: Pick<PendingAmount, "operation" | "currency">): string {
  return operation === "topup" ? limitGroupOf({ mode: operation, currency }) : currency;
}

/**
 * The sums of an account on a network, one for each currency with a pending amount now or earlier.
 */
export function listReservedSums(
  database: Database,
  account: string,
  network: string,
): readonly ReservedRow[] {
  return database.all<ReservedRow>(
    "SELECT * FROM reserved WHERE account = ? AND network = ?",
    account,
    network,
  );
}

/** The accounts with a pending amount on a network. */
export function listAccountsWithReserves(database: Database, network: string): readonly string[] {
  const sql = "SELECT DISTINCT account FROM reserved WHERE network = ? AND withdrawals > 0";
  return database.all<{ account: string }>(sql, network).map(({ account }) => account);
}

type Sum = Pick<ReservedRow, "account" | "network" | "currency">;

/** A change of a sum: their number, and their units. */
type Change = Sum & { readonly withdrawals: number; readonly units: bigint };

/**
 * Counts a withdrawal or a top-up that has become pending. A sweep promises nothing, because its
 * money lies on the swept address. Must not be called twice. `known`: all sums of the account on
 * the network, as the transaction has them.
 */
export function reserveAmount(
  database: Database,
  pending: PendingAmount,
  known?: readonly ReservedRow[],
): void {
  const change = changeBy(pending, 1);
  if (change === null) return;
  const { currency } = change;
  add(
    database,
    change,
    known === undefined
      ? readSum(database, change)
      : known.find((row) => row.currency === currency),
  );
}

/**
 * Takes out a withdrawal that is no longer pending, with `later` at its `flush`. Must not be called
 * twice.
 */
export function unreserveAmount(
  database: Database,
  pending: PendingAmount,
  later?: ReservedChanges,
): void {
  const change = changeBy(pending, -1);
  if (change === null) return;
  if (later !== undefined) later.add(change);
  else add(database, change, readSum(database, change));
}

/**
 * Changes of one transaction that are written together: each sum is read and written once. The
 * table has the sums of before until `flush`, which must run before the transaction ends.
 */
export class ReservedChanges {
  readonly #changes = new Map<string, Change>();

  add(change: Change): void {
    const name = nameOf(change);
    const { withdrawals, units } = this.#changes.get(name) ?? { withdrawals: 0, units: 0n };
    this.#changes.set(name, {
      ...change,
      withdrawals: withdrawals + change.withdrawals,
      units: units + change.units,
    });
  }

  /** Harmless to call again. */
  flush(database: Database): void {
    for (const change of this.#changes.values()) add(database, change, readSum(database, change));
    this.#changes.clear();
  }
}

/** Null for a sweep. */
function changeBy(pending: PendingAmount, sign: 1 | -1): Change | null {
  if (pending.operation === "sweep") return null;
  const { payer: account, network, units } = pending;
  return {
    account,
    network,
    currency: reservedSumName(pending),
    withdrawals: sign,
    units: BigInt(sign) * BigInt(units),
  };
}

function readSum(database: Database, { account, network, currency }: Sum): ReservedRow | undefined {
  const sql = "SELECT * FROM reserved WHERE account = ? AND network = ? AND currency = ?";
  return database.get<ReservedRow>(sql, account, network, currency);
}

function add(
  database: Database,
  { account, network, currency, ...change }: Change,
  row: ReservedRow | undefined,
): void {
  const withdrawals = (row?.withdrawals ?? 0) + change.withdrawals;
  const units = BigInt(row?.units ?? "0") + change.units;
  invariant(
    withdrawals >= 0 && units >= 0n,
    "more is taken out of the reserved sums than was counted",
  );
  write(database, { account, network, currency, withdrawals, units: units.toString() });
}

function write(
  database: Database,
  { account, network, currency, withdrawals, units }: ReservedRow,
): void {
  database.run(
    `INSERT INTO reserved (account, network, currency, withdrawals, units) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (account, network, currency) DO UPDATE SET withdrawals = excluded.withdrawals, units = excluded.units`,
    ...[account, network, currency, withdrawals, units],
  );
}

const nameOf = ({ account, network, currency }: Sum): string => `${account} ${network} ${currency}`;

/** The sums, counted from the rows. */
function countedFromRows(database: Database): ReadonlyMap<string, ReservedRow> {
  const rows = database
    .all<PendingAmount>(
      `SELECT t.operation, t.payer, t.network, ${currencyOfTransferSql} AS currency, t.units
       FROM transfers t LEFT JOIN topUps u ON u.id = t.id WHERE t.operation IN ('withdraw', 'topup') AND t.status = 0`,
    )
    .map((row) => ({ ...row, account: row.payer, currency: reservedSumName(row) }));
  const sums = new Map<
    string,
    { account: string; network: string; currency: string; withdrawals: number; units: bigint }
  >();
  for (const { account, network, currency, units } of rows) {
    const name = nameOf({ account, network, currency });
    const sum = sums.get(name) ?? { account, network, currency, withdrawals: 0, units: 0n };
    sum.withdrawals += 1;
    sum.units += BigInt(units);
    sums.set(name, sum);
  }
  return new Map([...sums].map(([name, sum]) => [name, { ...sum, units: sum.units.toString() }]));
}

/**
 * Corrects the sums from the rows. Harmless to call again.
 * @returns the number of wrong sums
 */
export function correctReservedSums(database: Database): number {
  const counted = countedFromRows(database);
  const kept = new Map(
    database.all<ReservedRow>("SELECT * FROM reserved").map((row) => [nameOf(row), row]),
  );
  const isRight = (name: string, row: ReservedRow | undefined): boolean => {
    const sum = kept.get(name);
    return (
      (row?.withdrawals ?? 0) === (sum?.withdrawals ?? 0) &&
      (row?.units ?? "0") === (sum?.units ?? "0")
    );
  };
  const wrong = [...new Set([...counted.keys(), ...kept.keys()])].filter(
    (name) => !isRight(name, counted.get(name)),
  );
  if (wrong.length === 0) return 0;
  database.run("DELETE FROM reserved");
  for (const row of counted.values()) write(database, row);
  return wrong.length;
}
