/**
 * Jobs of agents, each at its position in the agent's list of jobs. Positions below zero are
 * outside the list: these jobs wait for a position, and the oldest has the number nearest to zero.
 */
import type { AgentRow, DepositRow, JobRow, TransactionRow, TransferRow } from "./rows.ts";
import type { Database } from "./store.ts";
import { narrowTransactionRow, transferFieldsSql, transferPartsSql } from "./transaction-rows.ts";

/** The table's constraints also check: one job per withdrawal, one job per position. */
export function insertJob(database: Database, job: JobRow): void {
  const sql =
    "INSERT INTO jobs (agent, sequence, hash, text, transactionId, answeredAt) VALUES (?, ?, ?, ?, ?, ?)";
  database.run(sql, job.agent, job.sequence, job.hash, job.text, job.transactionId, job.answeredAt);
}

export function deleteJob(database: Database, transactionId: string): void {
  database.run("DELETE FROM jobs WHERE transactionId = ?", transactionId);
}

/** The next number outside an agent's list. */
export function nextWaitingJobNumber(database: Database, agentId: string): number {
  const sql = "SELECT min(0, coalesce(min(sequence), 0)) - 1 AS place FROM jobs WHERE agent = ?";
  return database.get<{ place: number }>(sql, agentId)?.place ?? -1;
}

export function jobOf(database: Database, transactionId: string): JobRow | undefined {
  return database.get<JobRow>("SELECT * FROM jobs WHERE transactionId = ?", transactionId);
}

/** The id of the agent that holds a withdrawal's job. */
export function agentIdOfJob(database: Database, transactionId: string): string | undefined {
  return database.get<{ agent: string }>(
    "SELECT agent FROM jobs WHERE transactionId = ?",
    transactionId,
  )?.agent;
}

/** The columns of a record that an agent's entries are compared with, and who holds its job. */
export type JobRecordRow = Pick<
  TransferRow | DepositRow,
  "id" | "operation" | "network" | "status" | "stage" | "code" | "createdAt"
> & {
  readonly receiver: string; // "": its operator has not named it yet
  readonly payer: string; // a deposit's address
} & { readonly jobAgent: string | null; readonly answeredAt: number | null };

const asked = (condition: string): string =>
  `SELECT t.id, t.operation, t.network, coalesce(t.receiver, '') AS receiver, t.payer, t.status, t.stage, coalesce(t.code, '') AS code,
     t.createdAt, j.agent AS jobAgent, j.answeredAt
   FROM transfers t LEFT JOIN jobs j ON j.transactionId = t.id WHERE t.id ${condition}
   UNION ALL SELECT id, 'deposit', network, payTo, address, status, stage, coalesce(code, ''), createdAt, NULL, NULL
   FROM deposits WHERE id ${condition}`;

export function readJobRecord(database: Database, transactionId: string): JobRecordRow | undefined {
  return database.get<JobRecordRow>(asked("= ?1"), transactionId);
}

/** The rows of several transactions in one statement, in no order; an unknown id has no row. */
export function listJobRecords(
  database: Database,
  transactionIds: readonly string[],
): readonly JobRecordRow[] {
  return database.all<JobRecordRow>(
    asked("IN (SELECT value FROM json_each(?1))"),
    JSON.stringify(transactionIds),
  );
}

/** The agent that holds a withdrawal's job. */
export function agentOfJob(database: Database, transactionId: string): AgentRow | undefined {
  const sql =
    "SELECT agents.* FROM agents JOIN jobs ON jobs.agent = agents.id WHERE jobs.transactionId = ?";
  return database.get<AgentRow>(sql, transactionId);
}

/** Those of these withdrawals that have ended with a slot, by the agent that holds their job. */
export function groupEndedByAgent(
  database: Database,
  transactionIds: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const rows = database.all<Pick<JobRow, "agent" | "transactionId">>(
    `SELECT jobs.agent, jobs.transactionId FROM jobs JOIN transfers t ON t.id = jobs.transactionId
       JOIN slots ON slots.transactionId = t.id
     WHERE t.id IN (SELECT value FROM json_each(?)) AND t.status <> 0`,
    JSON.stringify(transactionIds),
  );
  const found = new Map<string, string[]>();
  for (const { agent, transactionId } of rows) {
    const own = found.get(agent);
    if (own === undefined) found.set(agent, [transactionId]);
    else own.push(transactionId);
  }
  return found;
}

/** The hash of the job at a position. */
export function jobHashAtSeq(
  database: Database,
  agentId: string,
  sequence: number,
): string | undefined {
  const sql = "SELECT hash FROM jobs WHERE agent = ? AND sequence = ?";
  return database.get<{ hash: string }>(sql, agentId, sequence)?.hash;
}

/** The first position whose job has no answer; null if all are answered. */
export function firstUnanswered(database: Database, agentId: string): number | null {
  const sql =
    "SELECT min(sequence) AS first FROM jobs WHERE agent = ? AND sequence > 0 AND answeredAt IS NULL";
  return database.get<{ first: number | null }>(sql, agentId)?.first ?? null;
}

/** The jobs after a position, in order, at most `most`. */
export function listJobsAfter(
  database: Database,
  agentId: string,
  sequence: number,
  most: number,
): readonly Pick<JobRow, "sequence" | "text" | "transactionId">[] {
  const sql = `SELECT sequence, text, transactionId FROM jobs WHERE agent = ? AND sequence > ? ORDER BY sequence LIMIT ${most}`;
  return database.all(sql, agentId, sequence);
}

export function isUnanswered(database: Database, transactionId: string): boolean {
  const sql = "SELECT answeredAt FROM jobs WHERE transactionId = ? AND answeredAt IS NULL";
  return database.get(sql, transactionId) !== undefined;
}

/**
 * @returns true if it is the job's first answer
 */
export function markAnswered(database: Database, transactionId: string, nowMs: number): boolean {
  const sql = "UPDATE jobs SET answeredAt = ? WHERE transactionId = ? AND answeredAt IS NULL";
  return database.run(sql, nowMs, transactionId).changes > 0;
}

/** Pending withdrawals whose jobs wait for a position, oldest first. */
export function listUnnumberedWithdrawals(
  database: Database,
  agentId: string,
): readonly TransferRow[] {
  const rows = database.all<TransactionRow>(
    `SELECT ${transferFieldsSql} FROM jobs JOIN transfers t ON t.id = jobs.transactionId ${transferPartsSql}
     WHERE jobs.agent = ? AND jobs.sequence < 0 AND jobs.answeredAt IS NULL AND t.status = 0 ORDER BY jobs.sequence DESC`,
    agentId,
  );
  return rows.map(narrowTransactionRow) as readonly TransferRow[];
}

/** Agents that have caught up in this run and whose jobs wait for a position. */
export function listAgentsWithWaitingJobs(database: Database, run: string): readonly AgentRow[] {
  return database.all<AgentRow>(
    `SELECT * FROM agents WHERE caughtUp = ? AND unpairedAt IS NULL AND id IN (
       SELECT agent FROM jobs INDEXED BY jobsWaiting WHERE sequence < 0 AND answeredAt IS NULL) ORDER BY id`,
    run,
  );
}

/** True if a withdrawal's job has no position, so that no agent was told of it by this database. */
export function isUnplaced(database: Database, transactionId: string): boolean {
  const sql = "SELECT 1 FROM jobs WHERE transactionId = ? AND sequence < 0 AND answeredAt IS NULL";
  return database.get(sql, transactionId) !== undefined;
}

/** Ids of pending withdrawals without a signature, in the order of their jobs. */
export function listUnsignedWithdrawalIds(database: Database, agentId: string): readonly string[] {
  const rows = database.all<Pick<JobRow, "transactionId">>(
    `SELECT jobs.transactionId FROM jobs JOIN transfers t ON t.id = jobs.transactionId
     WHERE jobs.agent = ? AND t.status = 0
       AND NOT EXISTS (SELECT 1 FROM signatures WHERE transactionId = t.id) ORDER BY jobs.sequence`,
    agentId,
  );
  return rows.map(({ transactionId }) => transactionId);
}

/** Takes a job out of the list. A job that gets another position gets a new text. */
export function unnumberJob(database: Database, agentId: string, transactionId: string): void {
  const sql =
    "UPDATE jobs SET sequence = ?, hash = '', text = '', answeredAt = NULL WHERE transactionId = ?";
  database.run(sql, nextWaitingJobNumber(database, agentId), transactionId);
}

/** Gives a job its earlier position and text again. */
export function restoreJobPosition(
  database: Database,
  {
    sequence,
    hash,
    text,
    transactionId,
  }: Pick<JobRow, "sequence" | "hash" | "text" | "transactionId">,
): void {
  const sql = "UPDATE jobs SET sequence = ?, hash = ?, text = ? WHERE transactionId = ?";
  database.run(sql, sequence, hash, text, transactionId);
}

/** The number of an agent's pending withdrawals. */
export function countPendingOf(database: Database, agentId: string): number {
  const sql =
    "SELECT count(*) AS n FROM jobs JOIN transfers t ON t.id = jobs.transactionId WHERE jobs.agent = ? AND t.status = 0";
  return database.get<{ n: number }>(sql, agentId)?.n ?? 0;
}

/** The number of jobs without an answer, of all agents. */
export function countUnansweredJobs(database: Database): number {
  return (
    database.get<{ count: number }>("SELECT COUNT(*) AS count FROM jobs WHERE answeredAt IS NULL")
      ?.count ?? 0
  );
}
