/** Exclusion slots of accounts. Each slot belongs to one withdrawal permanently. */
import type { JobRow, TransactionRow, TransferRow } from "./rows.ts";
import type { Database } from "./store.ts";
import {
  narrowFoundRow,
  narrowTransactionRow,
  transferFieldsSql,
  transferPartsSql,
} from "./transaction-rows.ts";

/** The code of a sweep that is stuck, or was ended, because the chain cannot reach its slot. */
export const sweepUnreachableCode = "SWEEP_UNREACHABLE";

/** A slot of an account. */
export interface Slot {
  readonly network: string;
  readonly account: string;
  readonly slot: string;
}

/** A range of slots of one account, including both ends. */
export interface SlotRange {
  readonly network: string;
  readonly account: string;
  readonly first: string;
  readonly last: string;
}

/** A withdrawal with its job's text. */
export type WithdrawalWithJobText = Pick<JobRow, "text"> & Pick<TransferRow, "id" | "receiver">;

/**
 * The table's constraints also stand behind the caller's checks: a slot or withdrawal that is taken
 * is a conflict (`isConflict`).
 */
export function insertSlot(
  database: Database,
  { network, account, slot }: Slot,
  transactionId: string,
): void {
  const sql = "INSERT INTO slots (network, account, slot, transactionId) VALUES (?, ?, ?, ?)";
  database.run(sql, network, account, slot, transactionId);
}

/** The withdrawals to which the slot and the transaction of a signed attempt belong. */
interface Assignments {
  readonly attemptCount: number; // of the attempt's own withdrawal so far
  readonly slot: string | null; // of the attempt's own withdrawal
  readonly slotOwner: string | null; // the withdrawal that has the attempt's slot
  readonly hashOwner: string | null; // the withdrawal that the attempt's transaction is one of
}

/** Reads all of it in one statement. */
export function readSlotAssignments(
  database: Database,
  {
    transactionId,
    network,
    account,
    slot,
    txHash,
  }: Slot & { readonly transactionId: string; readonly txHash: string },
): Assignments {
  const row = database.get<Assignments>(
    `SELECT (SELECT count(*) FROM signatures WHERE transactionId = ?) AS attemptCount,
       (SELECT slot FROM slots WHERE transactionId = ?) AS slot,
       (SELECT transactionId FROM slots WHERE network = ? AND account = ? AND slot = ?) AS slotOwner,
       (SELECT transactionId FROM signatures WHERE txHash = ? AND account = ?) AS hashOwner`,
    ...[transactionId, transactionId, network, account, slot, txHash, account],
  );
  return row ?? { attemptCount: 0, slot: null, slotOwner: null, hashOwner: null };
}

/** The pending withdrawal that a slot belongs to. */
export function pendingSlotOwner(
  database: Database,
  { network, account, slot }: Slot,
): TransferRow | undefined {
  const row = database.get<TransactionRow>(
    `SELECT ${transferFieldsSql} FROM slots k JOIN transfers t ON t.id = k.transactionId ${transferPartsSql}
       WHERE k.network = ? AND k.account = ? AND k.slot = ? AND t.status = 0`,
    ...[network, account, slot],
  );
  return narrowFoundRow(row) as TransferRow | undefined;
}

/** A pending withdrawal whose slot a transaction used; `place` is the transaction's in its list. */
export type ForeignSlotOwner = TransferRow & { readonly place: number };

/**
 * The pending withdrawals whose slots these transactions used, in one statement; without those of
 * which the transaction is an attempt.
 */
export function listForeignSlotOwners(
  database: Database,
  network: string,
  used: readonly (Pick<Slot, "account" | "slot"> & { readonly txHash: string })[],
): readonly ForeignSlotOwner[] {
  if (used.length === 0) return [];
  const rows = database.all<TransactionRow & { readonly place: number }>(
    `SELECT CAST(json_extract(one.value, '$.place') AS INTEGER) AS place, ${transferFieldsSql} FROM json_each(?) AS one
       CROSS JOIN slots k ON k.network = ? AND k.account = json_extract(one.value, '$.account') AND k.slot = json_extract(one.value, '$.slot')
       CROSS JOIN transfers t ON t.id = k.transactionId ${transferPartsSql}
     WHERE t.status = 0 AND NOT EXISTS (SELECT 1 FROM signatures g
       WHERE g.txHash = json_extract(one.value, '$.txHash') AND g.account = k.account AND g.transactionId = k.transactionId)
     ORDER BY place`,
    ...[
      JSON.stringify(
        used.map(({ account, slot, txHash }, place) => ({ place, account, slot, txHash })),
      ),
      network,
    ],
  );
  return rows.map((row) => ({ ...(narrowTransactionRow(row) as TransferRow), place: row.place }));
}

/** Accounts that ever used a slot on a network. Looks at each slot. */
export function listSendingAccounts(database: Database, network: string): readonly string[] {
  const rows = database.all<{ account: string }>(
    "SELECT DISTINCT account FROM slots WHERE network = ? ORDER BY account",
    network,
  );
  return rows.map(({ account }) => account);
}

/** The place of the newest slot of any account, 0 if there is none. No slot is ever deleted. */
export function newestSlotPlace(database: Database): number {
  return (
    database.get<{ place: number }>("SELECT coalesce(max(rowid), 0) AS place FROM slots")?.place ??
    0
  );
}

/** The slots of all accounts after a place, in order. */
export function listSlotsAfter(
  database: Database,
  place: number,
): readonly (Pick<Slot, "network" | "account"> & { readonly place: number })[] {
  return database.all(
    "SELECT rowid AS place, network, account FROM slots WHERE rowid > ? ORDER BY rowid",
    place,
  );
}

/**
 * The highest slot of an account that a transaction used, or may use; undefined if there is none.
 * Ignores a slot that an ended sweep never reached. Slots are texts; a longer text is higher.
 */
export function highestUsedSlot(
  database: Database,
  network: string,
  account: string,
): string | undefined {
  const sql = `SELECT k.slot FROM slots k JOIN transfers t ON t.id = k.transactionId
    WHERE k.network = ? AND k.account = ? AND NOT (t.status = 2 AND t.code IS ?)
    ORDER BY length(k.slot) DESC, k.slot DESC LIMIT 1`;
  return database.get<{ slot: string }>(sql, network, account, sweepUnreachableCode)?.slot;
}

/** `highestUsed` of an account on each network. */
export function listHighestSlots(
  database: Database,
  account: string,
): readonly Omit<Slot, "account">[] {
  const networks = database.all<{ network: string }>(
    "SELECT DISTINCT network FROM slots WHERE account = ?",
    account,
  );
  return networks.flatMap(({ network }) => {
    const slot = highestUsedSlot(database, network, account);
    return slot === undefined ? [] : [{ network, slot }];
  });
}

/** An agent's pending withdrawals with a slot, in the order of its jobs. */
export function listPendingWithSlot(
  database: Database,
  agentId: string,
): readonly WithdrawalWithJobText[] {
  return database.all<WithdrawalWithJobText>(
    `SELECT t.id, t.receiver, jobs.text
     FROM jobs JOIN transfers t ON t.id = jobs.transactionId JOIN slots ON slots.transactionId = t.id
     WHERE jobs.agent = ? AND t.status = 0 ORDER BY jobs.sequence`,
    agentId,
  );
}

/** An agent's ended withdrawals with a slot in the range, highest slots first, at most `most`. */
export function listEndedInRange(
  database: Database,
  agentId: string,
  { network, account, first, last }: SlotRange,
  most: number,
): readonly WithdrawalWithJobText[] {
  return database.all<WithdrawalWithJobText>(
    `SELECT t.id, t.receiver, jobs.text
     FROM slots JOIN transfers t ON t.id = slots.transactionId JOIN jobs ON jobs.transactionId = t.id
     WHERE slots.network = ? AND slots.account = ? AND jobs.agent = ? AND t.status <> 0
       AND (length(slots.slot), slots.slot) BETWEEN (?, ?) AND (?, ?)
     ORDER BY length(slots.slot) DESC, slots.slot DESC LIMIT ?`,
    ...[network, account, agentId],
    ...[first.length, first, last.length, last, most],
  );
}

/** The ids of all withdrawals that `listEndedInRange` finds, in no order. */
export function listEndedIdsInRange(
  database: Database,
  agentId: string,
  { network, account, first, last }: SlotRange,
): readonly string[] {
  const rows = database.all<{ id: string }>(
    `SELECT t.id
     FROM slots JOIN transfers t ON t.id = slots.transactionId JOIN jobs ON jobs.transactionId = t.id
     WHERE slots.network = ? AND slots.account = ? AND jobs.agent = ? AND t.status <> 0
       AND (length(slots.slot), slots.slot) BETWEEN (?, ?) AND (?, ?)`,
    ...[network, account, agentId, first.length, first, last.length, last],
  );
  return rows.map(({ id }) => id);
}
