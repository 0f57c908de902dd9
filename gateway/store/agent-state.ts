/**
 * What an agent was heard to say, in its row of the agents' table: head, locks, pauses, limits,
 * links, places of its chain.
 */
import type { AgentRow } from "./rows.ts";
import type { Database } from "./store.ts";

/**
 * Its newest head, and the time of its ledger as it says.
 * @public
 */
export function moveHead(
  database: Database,
  id: string,
  { seq, hash, ledgerAt }: { readonly seq: number; readonly hash: string; readonly ledgerAt: number },
): void {
  database.run("UPDATE agents SET headSeq = ?, headHash = ?, ledgerAt = ? WHERE id = ?", seq, hash, ledgerAt, id);
}

/**
 * Puts back the head that a recovery had taken away, and ends the lock.
 * @public
 */
export function restoreHead(database: Database, id: string, head: { readonly seq: number; readonly hash: string }): void {
  database.run("UPDATE agents SET headSeq = ?, headHash = ?, lockedCode = '' WHERE id = ?", head.seq, head.hash, id);
}

/**
 * Begins an epoch in which nothing was said yet.
 * @public
 */
export function beginEpoch(
  database: Database,
  id: string,
  { epoch, lockedCode, heard }: Pick<AgentRow, "epoch" | "lockedCode" | "heard">,
): void {
  const sql = "UPDATE agents SET epoch = ?, headSeq = 0, headHash = '', lockedCode = ?, heard = ? WHERE id = ?";
  database.run(sql, epoch, lockedCode, heard, id);
}

/**
 * Locks an agent, whatever locked it before.
 * @public
 */
export function lockAgent(database: Database, id: string, code: string): void {
  database.run("UPDATE agents SET lockedCode = ? WHERE id = ?", code, id);
}

/**
 * Locks an agent that no contradiction (a HUB_ code) has locked yet.
 * @public
 */
export function lockAgentUnlessByHub(database: Database, id: string, code: string): void {
  const sql = "UPDATE agents SET lockedCode = ? WHERE id = ? AND lockedCode NOT LIKE 'HUB\\_%' ESCAPE '\\'";
  database.run(sql, code, id);
}

/**
 * Puts one lock in the place of another; "" is none.
 * @returns false when another one stands there
 * @public
 */
export function changeLock(database: Database, id: string, from: string, to: string): boolean {
  return database.run("UPDATE agents SET lockedCode = ? WHERE id = ? AND lockedCode = ?", to, id, from).changes > 0;
}

/**
 * @returns false when it is the one that was kept already
 * @public
 */
export function keepPolicyDigest(database: Database, id: string, policy: string): boolean {
  const known = database.get<Pick<AgentRow, "policy">>("SELECT policy FROM agents WHERE id = ?", id)?.policy;
  if (policy === known) return false;
  database.run("UPDATE agents SET policy = ? WHERE id = ?", policy, id);
  return true;
}

/** @public */
export function keepPause(database: Database, id: string, pausedAt: number | null): void {
  database.run("UPDATE agents SET pausedAt = ? WHERE id = ?", pausedAt, id);
}

/** @public */
export function markAgentSeen(database: Database, id: string, nowMs: number): void {
  database.run("UPDATE agents SET lastSeenAt = ? WHERE id = ?", nowMs, id);
}

/**
 * Keeps what a hello says of its program, and the address block it came from; written only when it
 * is news.
 * @public
 */
export function keepHello(database: Database, id: string, software: string, block: string): void {
  const sql = "UPDATE agents SET software = ?, linkBlock = ? WHERE id = ? AND (software <> ? OR linkBlock <> ?)";
  database.run(sql, software, block, id, software, block);
}

/**
 * Whether a paired agent's newest hello came from this address block.
 * @public
 */
export function isLinkBlock(database: Database, block: string): boolean {
  return database.get("SELECT 1 FROM agents WHERE linkBlock = ? AND releasedAt IS NULL", block) !== undefined;
}

/**
 * Counts a paired agent as heard in this run, unless its recovery is awaited.
 * @returns whether it counts as heard now
 * @public
 */
export function markHeardIn(database: Database, id: string, run: string): boolean {
  database.run(
    `UPDATE agents SET heard = ? WHERE id = ? AND heard <> ? AND releasedAt IS NULL AND NOT EXISTS
       (SELECT 1 FROM recoveries WHERE agent = agents.id AND epoch = agents.epoch AND takenAt IS NULL)`,
    ...[run, id, run],
  );
  return database.get("SELECT 1 FROM agents WHERE id = ? AND heard = ?", id, run) !== undefined;
}

/**
 * Changes what stands in `heard` of a paired agent, unless it is `except`.
 * @public
 */
export function keepHeardUnless(database: Database, id: string, heard: string, except: string): void {
  const sql = "UPDATE agents SET heard = ? WHERE id = ? AND heard <> ? AND releasedAt IS NULL";
  database.run(sql, heard, id, except);
}

/**
 * Whether any of a merchant's agents, released ones included, has this in `heard`.
 * @public
 */
export function hasAgentHeard(database: Database, merchant: string, heard: string): boolean {
  return database.get("SELECT 1 FROM agents WHERE merchant = ? AND heard = ? LIMIT 1", merchant, heard) !== undefined;
}

/** @public */
export function readJobChain(database: Database, id: string): Pick<AgentRow, "jobSequence" | "jobHash"> | undefined {
  return database.get("SELECT jobSequence, jobHash FROM agents WHERE id = ?", id);
}

/**
 * Names the newest place of an agent's chain of jobs.
 * @public
 */
export function moveJobChain(database: Database, id: string, sequence: number, hash: string): void {
  database.run("UPDATE agents SET jobSequence = ?, jobHash = ? WHERE id = ?", sequence, hash, id);
}

/**
 * As `moveJobChain`, from the place that the caller read.
 * @returns false when the chain ends at another one
 * @public
 */
export function advanceJobChain(database: Database, id: string, from: number, sequence: number, hash: string): boolean {
  const sql = "UPDATE agents SET jobSequence = ?, jobHash = ? WHERE id = ? AND jobSequence = ?";
  return database.run(sql, sequence, hash, id, from).changes === 1;
}
