/**
 * The unswept balance of each deposit address: final payments in, minus amounts and fees of sweeps,
 * plus top-ups, what lay there before, and notes of operators, minus what the owner of the key took
 * out. There is one row for each address, network and currency with a balance. The transactions
 * that change one of these also change the rows. The others stay the truth, and each start compares
 * both. A network's native coin (`nativeCoins`) pays the fees.
 */
import { isFeeInside, pinExclusionOf } from "../../chains/families.ts";
import { hasTags } from "../../chains/payees.ts";
import type { PaymentRow, TransferRow } from "./rows.ts";
import type { Statements as Database } from "./statements.ts";
import type { StraySumRow } from "./stray-sums.ts";
import { ownTopUpSql } from "./top-ups.ts";
import { currencyOfTransferSql } from "./transaction-rows.ts";

/** An address's unswept balance in one currency. */
export interface UnsweptBalanceRow {
  readonly address: string;
  readonly network: string;
  readonly currency: string;
  readonly merchant: string;
  readonly units: string; // negative if a fee was paid with coins whose arrival nobody saw
}

type Place = Omit<UnsweptBalanceRow, "units">;

/** Names the native coin of each network, which pays the fees. Harmless to call twice. */
export function keepNativeCoins(database: Database, coins: ReadonlyMap<string, string>): void {
  database.run("DELETE FROM nativeCoins");
  for (const [network, currency] of coins)
    database.run("INSERT INTO nativeCoins (network, currency) VALUES (?, ?)", network, currency);
}

/** Undefined if the configuration names no native coin: then native coins are not counted. */
function nativeOn(database: Database, network: string): string | undefined {
  return database.get<{ currency: string }>(
    "SELECT currency FROM nativeCoins WHERE network = ?",
    network,
  )?.currency;
}

/** Must not be called twice. */
function add(
  database: Database,
  { address, network, currency, merchant }: Place,
  units: bigint,
): void {
  if (units === 0n) return;
  const where = "address = ? AND network = ? AND currency = ?";
  const row = database.get<UnsweptBalanceRow>(
    `SELECT * FROM unsweptBalances WHERE ${where}`,
    address,
    network,
    currency,
  );
  const sum = BigInt(row?.units ?? "0") + units;
  database.run(`DELETE FROM unsweptBalances WHERE ${where}`, address, network, currency);
  if (sum === 0n) return;
  database.run(
    "INSERT INTO unsweptBalances (address, network, currency, merchant, units) VALUES (?, ?, ?, ?, ?)",
    ...[address, network, currency, merchant, sum.toString()],
  );
}

/**
 * Adds a final payment to its address's balance; on a chain with tags it lies in the hot wallet
 * already. Must not be called twice.
 */
export function holdPayment(database: Database, payment: PaymentRow, merchant: string): void {
  const { address, network, currency, units } = payment;
  if (hasTags(network)) return;
  add(database, { address, network, currency, merchant }, BigInt(units));
}

/**
 * Adds units that no payment, sweep or top-up explains: what lay there before (`baselines`), an
 * operator's note, and with a minus what the owner of the key took out. An account that is no
 * deposit address has no such balance. Must not be called twice.
 */
export function holdAdjustment(
  database: Database,
  { address, network, currency }: Omit<Place, "merchant">,
  units: bigint,
): void {
  if (hasTags(network)) return;
  const sql = "SELECT merchant FROM addresses WHERE address = ?";
  const owner = database.get<{ merchant: string }>(sql, address);
  if (owner !== undefined)
    add(database, { address, network, currency, merchant: owner.merchant }, units);
}

/** The fields that decide how a sweep or a top-up changes balances; a withdrawal changes none. */
export type Movement = Pick<
  TransferRow,
  | ("operation" | "merchant" | "network" | "currency" | "units" | "payer" | "receiver")
  | ("status" | "feeUnits")
> & {
  /** The amounts that it took and brought, where an operator says that they differ. */
  readonly sentUnits?: string | null; // without the fee
  readonly receivedUnits?: string | null;
};

/** The fields of a `Movement` as a transfer `t` with `movementPartsSql` gives them. */
export const movementFieldsSql = `t.operation, t.merchant, t.network, ${currencyOfTransferSql} AS currency, t.units, t.payer,
  t.receiver, t.status, coalesce(t.feeUnits, '') AS feeUnits, m.sentUnits, m.receivedUnits`;
export const movementPartsSql =
  "LEFT JOIN topUps u ON u.id = t.id LEFT JOIN movedPayments m ON m.transactionId = t.id";

/** The units that this row adds to an address's balance as the row stands, by currency. */
function broughtBy(database: Database, row: Movement): readonly (readonly [Place, bigint])[] {
  const { operation, merchant, network, currency, status } = row;
  if (operation !== "topup" && operation !== "sweep") return [];
  const units = BigInt(row.units);
  const native = nativeOn(database, network);
  if (operation === "topup") {
    const there = BigInt(row.receivedUnits ?? (status === 1 ? units : 0n));
    return native === undefined
      ? []
      : [[{ address: row.receiver ?? "", network, currency: native, merchant }, there]];
  }
  const place = { address: row.payer, network, merchant };
  const { sentUnits = null } = row;
  const taken = sentUnits !== null ? -BigInt(sentUnits) : status === 2 ? 0n : -units;
  const isInside = sentUnits === null && status !== 2 && isFeeInside(network, operation);
  const isPaidApart = native !== undefined && row.feeUnits !== "" && !isInside;
  const fee: (readonly [Place, bigint])[] = isPaidApart
    ? [[{ ...place, currency: native }, -BigInt(row.feeUnits)]]
    : [];
  return [[{ ...place, currency }, taken], ...fee];
}

/**
 * Replaces the effect of a sweep or a top-up on the balances: `before` is null for a new row,
 * `after` is null for a removed row. Must not be called twice.
 */
export function changeUnsweptBalances(
  database: Database,
  before: Movement | null,
  after: Movement | null,
): void {
  for (const [place, units] of before === null ? [] : broughtBy(database, before))
    add(database, place, -units);
  for (const [place, units] of after === null ? [] : broughtBy(database, after))
    add(database, place, units);
}

/** An address's unswept balance in one currency. */
export function unsweptBalanceOf(
  database: Database,
  address: string,
  network: string,
  currency: string,
): bigint {
  const sql =
    "SELECT units FROM unsweptBalances WHERE address = ? AND network = ? AND currency = ?";
  return BigInt(
    database.get<Pick<UnsweptBalanceRow, "units">>(sql, address, network, currency)?.units ?? "0",
  );
}

/** The unswept balance of all of a merchant's addresses in one currency. */
export function sumUnsweptUnits(database: Database, merchant: string, currency: string): bigint {
  const sql = "SELECT units FROM unsweptBalances WHERE merchant = ? AND currency = ?";
  return database
    .all<Pick<UnsweptBalanceRow, "units">>(sql, merchant, currency)
    .map(({ units }) => BigInt(units))
    .reduce((sum, units) => sum + (units > 0n ? units : 0n), 0n);
}

/**
 * Counts all sweeps and top-ups, the final payments except our own top-ups, and what none of these
 * explains.
 */
function countedFromRows(database: Database): ReadonlyMap<string, UnsweptBalanceRow> {
  const sums = new Map<string, Place & { units: bigint }>();
  const count = (place: Place, units: bigint): void => {
    const name = nameOf(place);
    const sum = sums.get(name) ?? { ...place, units: 0n };
    sums.set(name, { ...sum, units: sum.units + units });
  };
  const payments = database.all<PaymentRow & { readonly merchant: string }>(
    `SELECT p.*, d.merchant FROM payments p JOIN deposits d ON d.id = p.transactionId
     WHERE p.final = 1 AND NOT EXISTS (${ownTopUpSql})`,
  );
  for (const { address, network, currency, merchant, units } of payments.filter(
    (one) => !hasTags(one.network),
  ))
    count({ address, network, currency, merchant }, BigInt(units));
  for (const { account: address, network, currency, merchant, units } of listHeldSums(database))
    count({ address, network, currency, merchant }, BigInt(units));
  const moved = database.all<Movement>(
    `SELECT ${movementFieldsSql} FROM transfers t ${movementPartsSql} WHERE t.operation IN ('sweep', 'topup')`,
  );
  for (const row of moved)
    for (const [place, units] of broughtBy(database, row)) count(place, units);
  const adjusted = database.all<UnsweptBalanceRow>(
    `SELECT b.address, b.network, b.currency, a.merchant, b.units FROM baselines b JOIN addresses a ON a.address = b.address
     UNION ALL SELECT b.address, b.network, b.currency, a.merchant, '-' || b.takenUnits
       FROM baselines b JOIN addresses a ON a.address = b.address
     UNION ALL SELECT e.address, e.network, e.currency, a.merchant, e.units
       FROM bookEntries e JOIN addresses a ON a.address = e.address WHERE e.kind = 'note'`,
  );
  for (const { units, ...place } of adjusted.filter((one) => !hasTags(one.network)))
    count(place, BigInt(units));
  const held = [...sums].filter(([, { units }]) => units !== 0n);
  return new Map(
    held.map(([name, { units, ...place }]) => [name, { ...place, units: units.toString() }]),
  );
}

/**
 * Sums of payments that sweeps take: those of chains of coins are too small where they are dust.
 */
function listHeldSums(database: Database): readonly StraySumRow[] {
  const rows = database.all<StraySumRow>("SELECT * FROM straySums");
  return rows.filter((row) => !hasTags(row.network) && isHeldSum(row));
}

/** Small coins of a chain of coins cost more to fetch than they are, and no sweep takes them. */
export function isHeldSum({ network, kind }: Pick<StraySumRow, "network" | "kind">): boolean {
  return kind === "more" || pinExclusionOf(network) === null;
}

const nameOf = ({ address, network, currency }: Omit<Place, "merchant">): string =>
  `${address} ${network} ${currency}`;

/**
 * Corrects the balances from payments, sweeps and top-ups. Harmless to call again.
 * @returns the number of wrong balances
 */
export function correctUnsweptBalances(database: Database): number {
  const counted = countedFromRows(database);
  const kept = new Map(
    database
      .all<UnsweptBalanceRow>("SELECT * FROM unsweptBalances")
      .map((row) => [nameOf(row), row.units]),
  );
  const names = [...new Set([...counted.keys(), ...kept.keys()])];
  const wrong = names.filter((name) => counted.get(name)?.units !== kept.get(name));
  if (wrong.length === 0) return 0;
  database.run("DELETE FROM unsweptBalances");
  for (const { units, ...place } of counted.values()) add(database, place, BigInt(units));
  return wrong.length;
}
