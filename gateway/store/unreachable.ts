/**
 * Sweeps whose slot the chain cannot reach, according to this gateway's own nodes: the slot is
 * above the chain's count for the deposit address, and nothing fills the gap. Such a sweep is stuck
 * with its own code. The agent's operator ends the sweep, and the slot stays assigned permanently.
 */
import { unreachablePerAckMax } from "../../protocol/payloads.ts";
import type { SweepRow } from "./rows.ts";
import { type Slot, sweepUnreachableCode } from "./slots.ts";
import type { Database } from "./store.ts";
import { listWithdrawalsOnUnknownCoins } from "./unknown-coins.ts";

/** A sweep with its slot. */
export type AssignedSweep = Pick<
  SweepRow,
  "id" | "currency" | "network" | "stage" | "code" | "changedAt"
> &
  Slot;

/** The index names the few rows that are meant, however many sweeps there ever were. */
const bound = (index: "transfersOpen" | "sweepsUnreached"): string =>
  `SELECT t.id, t.currency, t.network, t.stage, coalesce(t.code, '') AS code, t.changedAt, k.account, k.slot
     FROM transfers t INDEXED BY ${index} CROSS JOIN slots k ON k.transactionId = t.id
     WHERE t.operation = 'sweep' AND t.network = ?`;

/** Open sweeps on a network with a slot, earliest change first. */
export function listAssignedSweeps(database: Database, network: string): readonly AssignedSweep[] {
  return database.all<AssignedSweep>(
    `${bound("transfersOpen")} AND t.status = 0 ORDER BY t.changedAt, t.id`,
    network,
  );
}

/**
 * Sweeps that were ended because the chain could not reach their slot, from `address`, or from all
 * addresses if null.
 */
export function listEndedUnreached(
  database: Database,
  network: string,
  address: string | null,
): readonly AssignedSweep[] {
  const sql = `${bound("sweepsUnreached")} AND t.status = 2 AND t.code = '${sweepUnreachableCode}'
    AND (? IS NULL OR t.payer = ?) ORDER BY t.changedAt, t.id`;
  return database.all<AssignedSweep>(sql, network, address, address);
}

/**
 * True if any withdrawal of any agent is recalled, or may be one that `listUnreachable` names; in
 * one statement, because hardly ever there is one.
 */
export function isAnyRecalledOrUnreachable(database: Database): boolean {
  const row = database.get<{ isAny: 0 | 1 }>(
    `SELECT EXISTS (SELECT 1 FROM recalls) OR EXISTS (SELECT 1 FROM unknownCoins) OR EXISTS
       (SELECT 1 FROM transfers WHERE operation = 'sweep' AND status = 0 AND stage = 'stuck') AS isAny`,
  );
  return row?.isAny !== 0;
}

/**
 * An agent's open sweeps that the chain cannot reach, and its open withdrawals whose coin no node
 * shows or whose slot is below their account's first, at most as many as one acknowledgement can
 * name.
 */
export function listUnreachable(database: Database, agentId: string): readonly string[] {
  const rows = database.all<Pick<SweepRow, "id">>(
    `SELECT t.id FROM transfers t JOIN jobs j ON j.transactionId = t.id
     WHERE t.operation = 'sweep' AND t.status = 0 AND t.stage = 'stuck' AND t.code = ? AND j.agent = ?
     ORDER BY t.changedAt, t.id LIMIT ${unreachablePerAckMax}`,
    ...[sweepUnreachableCode, agentId],
  );
  const ids = [...rows.map(({ id }) => id), ...listWithdrawalsOnUnknownCoins(database, agentId)];
  return ids.slice(0, unreachablePerAckMax);
}
