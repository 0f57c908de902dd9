/**
 * Known balances of deposit addresses, by network. An address has the block of the newest reading,
 * a baseline (the balance before any customer could pay), and the balance that this database
 * explains. Addresses that have not left yet are read ahead, so that a used address is skipped.
 */
import {
  type AccountOwner,
  type AccountPlace,
  adjustAccount,
  listAdjustmentsOf,
  unitsAt,
} from "./journal.ts";
import type { Statements as Database } from "./statements.ts";
import { straySumUnitsAcrossBlock } from "./stray-sums.ts";

/** An address with its deposit request. */
export interface IssuedAddress {
  readonly place: number; // order in which addresses left
  readonly address: string;
  readonly transactionId: string;
  readonly merchant: string;
  readonly agent: string | null; // null: no agent here has its key
}

/**
 * `run` names the process that read the address ahead. It is "" after the address left, and then a
 * missing baseline row means that the balance was zero.
 */
export interface AddressStateRow {
  readonly network: string;
  readonly address: string;
  readonly block: number;
  readonly isUsed: 0 | 1;
  readonly comparedAt: number;
  readonly run: string;
}

/**
 * How long a look at an address that has not left counts while its chain is read; after half of
 * this time the watcher looks again.
 */
export const lookMs = 15 * 60_000;

export const issuedColumnsSql =
  "d.number AS place, d.address, d.request AS transactionId, d.agent, r.merchant";
const issued = `SELECT ${issuedColumnsSql} FROM addresses d CROSS JOIN deposits r ON r.id = d.request`;

export function readAddressState(
  database: Database,
  network: string,
  address: string,
): AddressStateRow | undefined {
  return database.get<AddressStateRow>(
    "SELECT * FROM addressStates WHERE network = ? AND address = ?",
    network,
    address,
  );
}

/**
 * The row of the newest address that left before baselines were kept; addresses up to there have no
 * baseline.
 */
export function readLastNumberWithoutBaseline(database: Database): number {
  return Number(
    database.get<{ value: string }>("SELECT value FROM meta WHERE name = 'baselinesAfter'")
      ?.value ?? "0",
  );
}

/** Records that an address that has left was compared. Harmless to call twice. */
export function keepIssuedComparison(
  database: Database,
  { network, address, block, comparedAt }: Omit<AddressStateRow, "isUsed" | "run">,
): void {
  database.run(
    `INSERT INTO addressStates (network, address, block, isUsed, comparedAt, run) VALUES (?, ?, ?, 0, ?, '')
     ON CONFLICT (network, address) DO UPDATE SET block = excluded.block, comparedAt = excluded.comparedAt, run = ''`,
    ...[network, address, block, comparedAt],
  );
}

/** Makes an address the next one to be compared. Harmless to call twice. */
export function compareSoon(
  database: Database,
  { network, address }: { readonly network: string; readonly address: string },
): void {
  database.run(
    "UPDATE addressStates SET comparedAt = 0 WHERE network = ? AND address = ? AND run = ''",
    network,
    address,
  );
}

/** Records a look at an address that has not left. */
export function keepUnissuedLook(database: Database, state: AddressStateRow): void {
  const { network, address, block, isUsed, comparedAt, run } = state;
  database.run(
    `INSERT INTO addressStates (network, address, block, isUsed, comparedAt, run) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (network, address) DO UPDATE SET block = excluded.block, isUsed = max(isUsed, excluded.isUsed),
       comparedAt = excluded.comparedAt, run = excluded.run WHERE addressStates.run <> ''`,
    ...[network, address, block, isUsed, comparedAt, run],
  );
}

/**
 * The times at which a look counts now. One later than now was made while this machine's clock was
 * ahead: it would count until the clock has come there, however old it is.
 */
export interface LookTimes {
  readonly since: number;
  readonly nowMs: number;
}

/** True if a process looked at an address at a time that counts, or it has left. */
export function wasLookedAt(
  state: AddressStateRow | undefined,
  { since, nowMs }: LookTimes,
): boolean {
  if (state === undefined) return false;
  return state.run === "" || (state.comparedAt >= since && state.comparedAt <= nowMs);
}

/**
 * Deletes the looks at addresses that have not left, because a database restored from a backup
 * lacks everything since. Looks that found an address used are kept. Harmless to call twice.
 */
export function forgetLooks(database: Database): void {
  database.run("DELETE FROM addressStates WHERE run <> '' AND isUsed = 0");
}

/** True if an address was used on the chain before it left. */
export function wasUsed(database: Database, address: string): boolean {
  return (
    database.get("SELECT 1 FROM addressStates WHERE address = ? AND isUsed = 1", address) !==
    undefined
  );
}

/**
 * Records that an address leaves. On each network of its family without a look that counts, its
 * baseline is still to be found. Runs inside the transaction that gives the address out.
 */
export function issueAddress(
  database: Database,
  address: string,
  { since, nowMs }: LookTimes,
): void {
  const sql = "DELETE FROM addressStates WHERE address = ? AND (comparedAt < ? OR comparedAt > ?)";
  database.run(sql, address, since, nowMs);
  database.run("UPDATE addressStates SET run = '' WHERE address = ?", address);
}

/**
 * Keeps the baseline: the balance before any customer could pay. It is older than the first use of
 * the address, so it counts at every block. Only the first call for a balance has an effect.
 */
export function keepBaseline(database: Database, place: AccountPlace, units: bigint): void {
  const owner = ownerOf(database, place.address);
  const [before] = listAdjustmentsOf(database, place, "opening");
  if (owner === null || before !== undefined) return;
  adjustAccount(database, { ...place, kind: "opening", block: 0 }, owner, units, null);
}

/** Adds an amount that the owner of the key took out. Must not be called twice. */
export function keepTakenByOwner(
  database: Database,
  place: AccountPlace,
  units: bigint,
  block: number,
): void {
  const owner = ownerOf(database, place.address);
  if (owner === null) return;
  adjustAccount(database, { ...place, kind: "owner", block }, owner, -units, null);
}

function ownerOf(database: Database, address: string): AccountOwner | null {
  const sql = "SELECT merchant FROM addresses WHERE address = ?";
  const row = database.get<{ merchant: string }>(sql, address);
  return row === undefined ? null : { merchant: row.merchant, kind: "deposit" };
}

export function issuedAddress(database: Database, address: string): IssuedAddress | undefined {
  return database.get<IssuedAddress>(`${issued} WHERE d.address = ?`, address);
}

/** Rows of a window of addresses: those after row `after`, and at most so many of each merchant. */
export interface AddressWindow {
  readonly after: number;
  readonly window: number; // rows
  readonly mostEach: number;
}

/**
 * Addresses of a family that were never compared on a network, among the next rows; `start` begins
 * each of the family's networks.
 */
export function listNeverCompared(
  database: Database,
  { network, start }: { readonly network: string; readonly start: string },
  { after, window, mostEach }: AddressWindow,
): readonly IssuedAddress[] {
  return database.all<IssuedAddress>(
    `SELECT place, address, transactionId, agent, merchant FROM (
       SELECT ${issuedColumnsSql}, row_number() OVER (PARTITION BY r.merchant ORDER BY d.number) AS turn
       FROM addresses d CROSS JOIN deposits r ON r.id = d.request
       WHERE d.number > ? AND d.number <= ? AND substr(r.network, 1, ?) = ?
         AND NOT EXISTS (SELECT 1 FROM addressStates s WHERE s.network = ? AND s.address = d.address AND s.run = ''))
     WHERE turn <= ? ORDER BY place`,
    ...[after, after + window, start.length, start, network, mostEach],
  );
}

export function newestAddressPlace(database: Database): number {
  return (
    database.get<{ place: number | null }>(
      "SELECT max(number) AS place FROM addresses WHERE number > 0",
    )?.place ?? 0
  );
}

/**
 * Addresses with coins that receipts up to a block name and no balance has confirmed, at most so
 * many of each merchant.
 */
export function listClaimedAddresses(
  database: Database,
  network: string,
  block: number,
  mostEach: number,
): readonly IssuedAddress[] {
  return database.all<IssuedAddress>(
    `SELECT place, address, transactionId, agent, merchant FROM (
       SELECT ${issuedColumnsSql}, p.block, row_number() OVER (PARTITION BY r.merchant ORDER BY p.block) AS turn
       FROM payments p CROSS JOIN addresses d ON d.address = p.address CROSS JOIN deposits r ON r.id = d.request
       WHERE p.network = ? AND p.final = 0 AND p.logIndex < -1 AND p.block <= ?)
     WHERE turn <= ? ORDER BY block`,
    ...[network, block, mostEach],
  );
}

/** Addresses that were last compared before a time, oldest comparison first. */
export function listComparedBefore(
  database: Database,
  network: string,
  before: number,
  most: number,
): readonly IssuedAddress[] {
  return database.all<IssuedAddress>(
    `SELECT ${issuedColumnsSql} FROM addressStates s
     CROSS JOIN addresses d ON d.address = s.address CROSS JOIN deposits r ON r.id = d.request
     WHERE s.network = ? AND s.run = '' AND s.comparedAt < ? ORDER BY s.comparedAt LIMIT ?`,
    ...[network, before, most],
  );
}

/** Those of a window that were last compared before a time, oldest comparison first. */
export function listComparedBeforeIn(
  database: Database,
  network: string,
  before: number,
  { after, window, mostEach }: AddressWindow,
): readonly IssuedAddress[] {
  return database.all<IssuedAddress>(
    `SELECT place, address, transactionId, agent, merchant FROM (
       SELECT ${issuedColumnsSql}, s.comparedAt, row_number() OVER (PARTITION BY r.merchant ORDER BY s.comparedAt) AS turn
       FROM addresses d CROSS JOIN deposits r ON r.id = d.request
       CROSS JOIN addressStates s ON s.network = ? AND s.address = d.address AND s.run = ''
       WHERE d.number > ? AND d.number <= ? AND s.comparedAt < ?)
     WHERE turn <= ? ORDER BY comparedAt`,
    ...[network, after, after + window, before, mostEach],
  );
}

/**
 * Addresses of a window that are due again, oldest comparison first. An address is due when the
 * time since its last comparison is at least half the time from its request to this comparison, and
 * at least `leastMs`.
 */
export function listDueByAge(
  database: Database,
  network: string,
  { after, window, mostEach }: AddressWindow,
  time: { readonly nowMs: number; readonly leastMs: number },
): readonly IssuedAddress[] {
  return database.all<IssuedAddress>(
    // The window of addresses comes first, so that one pass does not look at each address.
    `SELECT place, address, transactionId, agent, merchant FROM (
       SELECT ${issuedColumnsSql}, s.comparedAt, row_number() OVER (PARTITION BY r.merchant ORDER BY s.comparedAt) AS turn
       FROM addresses d CROSS JOIN deposits r ON r.id = d.request
       CROSS JOIN addressStates s ON s.network = ? AND s.address = d.address AND s.run = ''
       WHERE d.number > ? AND d.number <= ? AND abs(? - s.comparedAt) >= max(?, (s.comparedAt - r.createdAt) / 2))
     WHERE turn <= ? ORDER BY comparedAt`,
    ...[network, after, after + window, time.nowMs, time.leastMs, mostEach],
  );
}

/**
 * The balance of an address that the watcher explains at the end of a block. A note of an operator
 * is no part of it: a payment counts for its payer whatever an operator wrote. The amounts that the
 * owner of the key took out count at every block, because each was found later than it left.
 * @param sumsBeyond sums of payments whose blocks reach beyond the block (stray-sums.ts)
 */
export function explainedUnits(
  database: Database,
  place: AccountPlace,
  block: number,
  sumsBeyond: "counted" | "left out" = "counted",
): bigint {
  const units = unitsAt(database, place, block);
  const noted = listAdjustmentsOf(database, place, "note").filter((note) => note.block <= block);
  const taken = listAdjustmentsOf(database, place, "owner").filter((one) => one.block > block);
  const beyond = sumsBeyond === "counted" ? straySumUnitsAcrossBlock(database, place, block) : 0n;
  return units + beyond - sumOf(noted) + sumOf(taken);
}

const sumOf = (moves: readonly { readonly units: bigint }[]): bigint =>
  moves.reduce((sum, { units }) => sum + units, 0n);

/**
 * True if a sweep from the address or its top-up is open, or ended in a block after `block`; then
 * its balance proves nothing about payments.
 */
export function isBeingSwept(
  database: Database,
  network: string,
  address: string,
  block: number,
): boolean {
  const sql = `SELECT 1 FROM sweeps s CROSS JOIN transfers t ON t.id = s.id LEFT JOIN topUps u ON u.sweep = s.id
      LEFT JOIN transfers o ON o.id = u.id
    WHERE s.address = ? AND t.network = ? AND (t.status = 0 OR t.finalBlock > ? OR o.status = 0 OR o.finalBlock > ?) LIMIT 1`;
  return database.get(sql, address, network, block, block) !== undefined;
}
