/**
 * Tables of the books: the moves that no payment and no transfer makes (openings, payments from
 * outside, an operator's notes), the newest closing of each network, and the open differences.
 */

import {
  type AccountMove,
  type AccountOwner,
  type AccountPlace,
  type AccountRow,
  type AdjustingKind,
  adjustAccount,
  openAccount,
} from "./journal.ts";
import { explainingSignatureSql } from "./outgoing-transactions.ts";
import { postPayoutsToHotWallet } from "./posting.ts";
import type { OutgoingRow, TransferRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * The kinds of entries. An opening is a hot wallet's balance when its books began. An outside entry
 * is a payment to a hot wallet that was no sweep. An owner entry is a payment from an address whose
 * key this gateway's agents do not have; it is reported and not kept. A note is a difference that
 * an operator accepted.
 */
export interface BookEntryRow extends AccountPlace {
  readonly kind: AdjustingKind;
  readonly units: string; // negative: the balance is lower
  readonly block: number; // the balance was read at the end of this block
  readonly at: number;
  readonly operator: string; // "" if no operator wrote the entry
  readonly reason: string;
}

/** An entry that is to be written, with the owner of its account. */
export interface OwnedBookRow extends BookEntryRow {
  readonly owner: AccountOwner;
}

export interface DifferenceRow extends AccountPlace {
  readonly merchant: string;
  readonly kind: "deposit" | "hot";
  readonly expectedUnits: string;
  readonly foundUnits: string;
  readonly block: number; // the balances were compared at the end of this block
  readonly sinceBlock: number | null; // the first block with this difference; null if no node can show it
  readonly detail: string; // for operators
  readonly at: number; // first time it was found
}

export interface ClosingRow {
  readonly network: string;
  readonly closedAt: number | null; // null: never closed
  readonly firstBlock: number;
  readonly lastBlock: number;
  readonly addresses: number; // number of deposit addresses
  readonly hotWallets: number;
  readonly compared: number; // number of balances
  readonly left: number; // number of balances that could not be compared
  readonly triedAt: number;
  readonly fault: string; // error code of the newest try; "" none
}

/** A deposit address, in the order of its row. */
export interface BookAddress {
  readonly place: number;
  readonly address: string;
  readonly merchant: string;
  readonly agent: string | null; // null: no agent here has the key
}

const issued = `FROM addresses d JOIN deposits t ON t.id = d.request
  WHERE d.number > ? AND substr(t.network, 1, ?) = ? AND (? IS NULL OR t.merchant = ?)`;

/**
 * The next deposit addresses of a family that were ever given out, after `place`. The family's
 * networks all begin with `start`.
 */
export function listBookAddresses(
  database: Database,
  { start, merchant }: { readonly start: string; readonly merchant: string | null },
  place: number,
  most: number,
): readonly BookAddress[] {
  const sql = `SELECT d.number AS place, d.address, t.merchant, d.agent ${issued} ORDER BY d.number LIMIT ?`;
  return database.all<BookAddress>(sql, place, start.length, start, merchant, merchant, most);
}

/** The number of rows that `listBookAddresses` has in total. */
export function countBookAddresses(
  database: Database,
  { start, merchant }: { readonly start: string; readonly merchant: string | null },
): number {
  const sql = `SELECT count(*) AS n ${issued}`;
  return database.get<{ n: number }>(sql, 0, start.length, start, merchant, merchant)?.n ?? 0;
}

const forgotten = `FROM addresses f WHERE f.number < 0 AND f.number < ? AND f.addressSpace = ? AND (? IS NULL OR f.merchant = ?)`;

/**
 * Like `listBookAddresses`, for addresses that may have left before the database was restored from
 * a backup and that no request here names.
 */
export function listForgottenBookAddresses(
  database: Database,
  { addressSpace, merchant }: { readonly addressSpace: string; readonly merchant: string | null },
  place: number,
  most: number,
): readonly BookAddress[] {
  const sql = `SELECT f.number AS place, f.address, f.merchant, f.agent ${forgotten} ORDER BY f.number DESC LIMIT ?`;
  return database.all<BookAddress>(sql, place, addressSpace, merchant, merchant, most);
}

/** The number of rows that `listForgottenBookAddresses` has in total. */
export function countForgottenBookAddresses(
  database: Database,
  { addressSpace, merchant }: { readonly addressSpace: string; readonly merchant: string | null },
): number {
  return (
    database.get<{ n: number }>(
      `SELECT count(*) AS n ${forgotten}`,
      0,
      addressSpace,
      merchant,
      merchant,
    )?.n ?? 0
  );
}

/**
 * Adds an entry, inside the caller's transaction: the units of an opening are the whole balance, of
 * the others a change. A second opening of an account is ignored.
 */
export function addBookEntry(database: Database, entry: OwnedBookRow): void {
  const { network, address, currency, kind, units, block, at, operator, reason, owner } = entry;
  const place = { network, address, currency };
  const why = { at, actor: operator, reason };
  if (kind === "opening") {
    openAccount(database, place, owner, { units: BigInt(units), block }, why);
    postPayoutsToHotWallet(database, network, address);
  } else adjustAccount(database, { ...place, kind, block }, owner, BigInt(units), why);
}

/** The kinds of moves that adjust a balance; the partial indexes have the same text. */
const adjustingSql = "kind IN ('opening','outside','owner','note')";

/** The moves of accounts that adjust a balance, oldest first. */
export function listAdjustments(
  database: Database,
  network: string,
  addresses: readonly string[],
): readonly (Pick<AccountMove, "address" | "currency" | "block" | "units"> & {
  readonly kind: AdjustingKind;
})[] {
  const rows = database.all<AccountPlace & Pick<BookEntryRow, "kind" | "units" | "block">>(
    `SELECT m.number, m.toSide AS address, m.currency, m.kind, m.units, m.block
       FROM json_each(?1) AS a CROSS JOIN moves m ON m.toSide = a.value AND m.${adjustingSql} WHERE m.network = ?2
     UNION ALL SELECT m.number, m.fromSide, m.currency, m.kind, '-' || m.units, m.block
       FROM json_each(?1) AS a CROSS JOIN moves m ON m.fromSide = a.value AND m.${adjustingSql} WHERE m.network = ?2
     ORDER BY 1`,
    ...[JSON.stringify(addresses), network],
  );
  return rows.map(({ units, ...row }) => ({ ...row, units: BigInt(units) }));
}

/** The blocks at which operators accepted differences of an account, by texts that name it. */
export const acceptedDifferenceBlocksSql = (account: string, network: string): string =>
  `SELECT block FROM moves WHERE toSide = ${account} AND network = ${network} AND kind = 'note' AND ${adjustingSql}
   UNION ALL SELECT block FROM moves WHERE fromSide = ${account} AND network = ${network} AND kind = 'note' AND ${adjustingSql}`;

/** The accounts of some addresses on a network, each currency that ever had a move. */
export function listAccounts(
  database: Database,
  network: string,
  addresses: readonly string[],
): readonly AccountRow[] {
  return database.all<AccountRow>(
    `SELECT c.* FROM json_each(?) AS a CROSS JOIN accounts c ON c.address = a.value WHERE c.network = ?`,
    ...[JSON.stringify(addresses), network],
  );
}

/** The newest entries of a network without openings, at most `most`. */
export function listNewestEntries(
  database: Database,
  network: string,
  most: number,
): readonly BookEntryRow[] {
  return database.all<BookEntryRow>(
    `SELECT network, kind, currency, block, coalesce(at, 0) AS at, coalesce(actor, '') AS operator, coalesce(reason, '') AS reason,
       CASE WHEN fromSide LIKE '@%' THEN toSide ELSE fromSide END AS address,
       CASE WHEN fromSide LIKE '@%' THEN units ELSE '-' || units END AS units
     FROM moves WHERE network = ? AND kind IN ('outside','note') ORDER BY number DESC LIMIT ?`,
    ...[network, most],
  );
}

/**
 * Withdrawals, sweeps and top-ups from or to an account that have a signature and have not ended,
 * oldest first, at most `most`. `isFinal`: a final block that was read holds one of the attempts.
 */
export function listUnendedTransfers(
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

/** Finds the ended withdrawal or sweep that explains an outgoing transaction. */
export const endedTransferOfOutgoingSql = `SELECT 1 FROM transfers t WHERE t.payer = outgoing.account AND t.finalBlock = outgoing.block
         AND t.txHash = outgoing.txHash`;

/**
 * Outgoing transactions of a hot wallet in blocks after `after` and up to `last` that neither a
 * signature here nor an ended withdrawal explains, oldest first, at most `most`.
 */
export function listForeignOutgoing(
  database: Database,
  { network, account }: { readonly network: string; readonly account: string },
  { after, last, most }: { readonly after: number; readonly last: number; readonly most: number },
): readonly OutgoingRow[] {
  return database.all<OutgoingRow>(
    `SELECT * FROM outgoing WHERE network = ? AND account = ? AND block > ? AND block <= ?
       AND NOT EXISTS (${explainingSignatureSql})
       AND NOT EXISTS (${endedTransferOfOutgoingSql})
     ORDER BY block, txHash LIMIT ?`,
    ...[network, account, after, last, most],
  );
}

/** The open differences of one network, or of all networks. */
export function listDifferences(
  database: Database,
  network: string | null = null,
): readonly DifferenceRow[] {
  const sql =
    "SELECT * FROM bookDifferences WHERE (? IS NULL OR network = ?) ORDER BY network, kind DESC, address, currency";
  return database.all<DifferenceRow>(sql, network, network);
}

export function readDifference(
  database: Database,
  { network, address, currency }: AccountPlace,
): DifferenceRow | undefined {
  const sql = "SELECT * FROM bookDifferences WHERE network = ? AND address = ? AND currency = ?";
  return database.get<DifferenceRow>(sql, network, address, currency);
}

/** Replaces an earlier difference of the same balance, but keeps the time of the first. */
export function keepDifference(database: Database, difference: DifferenceRow): void {
  const {
    network,
    address,
    currency,
    merchant,
    kind,
    expectedUnits,
    foundUnits,
    block,
    sinceBlock,
    detail,
    at,
  } = difference;
  database.run(
    `INSERT INTO bookDifferences (network, address, currency, merchant, kind, expectedUnits, foundUnits, block, sinceBlock, detail, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (network, address, currency) DO UPDATE SET expectedUnits = excluded.expectedUnits, foundUnits = excluded.foundUnits,
       block = excluded.block, sinceBlock = excluded.sinceBlock, detail = excluded.detail`,
    ...[
      network,
      address,
      currency,
      merchant,
      kind,
      expectedUnits,
      foundUnits,
      block,
      sinceBlock,
      detail,
      at,
    ],
  );
}

export function dropDifference(
  database: Database,
  { network, address, currency }: AccountPlace,
): void {
  database.run(
    "DELETE FROM bookDifferences WHERE network = ? AND address = ? AND currency = ?",
    network,
    address,
    currency,
  );
}

export function readClosing(database: Database, network: string): ClosingRow | undefined {
  return database.get<ClosingRow>("SELECT * FROM closings WHERE network = ?", network);
}

/** Replaces the earlier closing. */
export function replaceClosing(database: Database, closing: ClosingRow): void {
  const {
    network,
    closedAt,
    firstBlock,
    lastBlock,
    addresses,
    hotWallets,
    compared,
    left,
    triedAt,
    fault,
  } = closing;
  database.run(
    `INSERT INTO closings (network, closedAt, firstBlock, lastBlock, addresses, hotWallets, compared, left, triedAt, fault)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (network) DO UPDATE SET closedAt = excluded.closedAt, firstBlock = excluded.firstBlock, lastBlock = excluded.lastBlock,
       addresses = excluded.addresses, hotWallets = excluded.hotWallets, compared = excluded.compared, left = excluded.left,
       triedAt = excluded.triedAt, fault = excluded.fault`,
    ...[
      network,
      closedAt,
      firstBlock,
      lastBlock,
      addresses,
      hotWallets,
      compared,
      left,
      triedAt,
      fault,
    ],
  );
}
