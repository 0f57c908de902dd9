/**
 * The state that agents reported, in their rows of the agents' table: head, locks, pauses, limits,
 * links and the position in the jobs.
 */
import type { AgentRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** Moves the newest ledger head, with the ledger's time as the agent states it. */
export function moveLedgerHead(
  database: Database,
  id: string,
  {
    seq,
    hash,
    ledgerAt,
  }: { readonly seq: number; readonly hash: string; readonly ledgerAt: number },
): void {
  database.run(
    "UPDATE agents SET headSeq = ?, headHash = ?, ledgerAt = ? WHERE id = ?",
    seq,
    hash,
    ledgerAt,
    id,
  );
}

/** Restores the head that a recovery took away, and ends the lock. */
export function restoreLedgerHead(
  database: Database,
  id: string,
  head: { readonly seq: number; readonly hash: string },
): void {
  database.run(
    "UPDATE agents SET headSeq = ?, headHash = ?, lockedCode = '' WHERE id = ?",
    head.seq,
    head.hash,
    id,
  );
}

/** Begins an epoch, without any statement in it yet. */
export function beginLedgerEpoch(
  database: Database,
  id: string,
  { ledgerEpoch, lockedCode, caughtUp }: Pick<AgentRow, "ledgerEpoch" | "lockedCode" | "caughtUp">,
): void {
  const sql =
    "UPDATE agents SET ledgerEpoch = ?, headSeq = 0, headHash = '', lockedCode = ?, caughtUp = ? WHERE id = ?";
  database.run(sql, ledgerEpoch, lockedCode, caughtUp, id);
}

/** Locks an agent and replaces the code of an earlier lock. */
export function lockAgent(database: Database, id: string, code: string): void {
  database.run("UPDATE agents SET lockedCode = ? WHERE id = ?", code, id);
}

/** Locks an agent unless a contradiction (a HUB_ code) has already locked it. */
export function lockAgentUnlessByHub(database: Database, id: string, code: string): void {
  const sql =
    "UPDATE agents SET lockedCode = ? WHERE id = ? AND lockedCode NOT LIKE 'HUB\\_%' ESCAPE '\\'";
  database.run(sql, code, id);
}

/**
 * Replaces the lock `from` with the lock `to`; "" means no lock.
 * @returns false if the agent's lock is not `from`
 */
export function changeLock(database: Database, id: string, from: string, to: string): boolean {
  return (
    database.run("UPDATE agents SET lockedCode = ? WHERE id = ? AND lockedCode = ?", to, id, from)
      .changes > 0
  );
}

/**
 * @returns false if the digest has not changed
 */
export function keepPolicyDigest(database: Database, id: string, policy: string): boolean {
  const known = database.get<Pick<AgentRow, "policy">>(
    "SELECT policy FROM agents WHERE id = ?",
    id,
  )?.policy;
  if (policy === known) return false;
  database.run("UPDATE agents SET policy = ? WHERE id = ?", policy, id);
  return true;
}

export function keepPause(database: Database, id: string, pausedAt: number | null): void {
  database.run("UPDATE agents SET pausedAt = ? WHERE id = ?", pausedAt, id);
}

export function markAgentSeen(database: Database, id: string, nowMs: number): void {
  database.run("UPDATE agents SET lastSeenAt = ? WHERE id = ?", nowMs, id);
}

/** Keeps a hello's software and address block. Writes only if one of them has changed. */
export function keepHello(database: Database, id: string, software: string, block: string): void {
  const sql =
    "UPDATE agents SET software = ?, linkBlock = ? WHERE id = ? AND (software <> ? OR linkBlock <> ?)";
  database.run(sql, software, block, id, software, block);
}

/** True if a paired agent's newest hello came from this address block. */
export function isLinkBlock(database: Database, block: string): boolean {
  return (
    database.get("SELECT 1 FROM agents WHERE linkBlock = ? AND unpairedAt IS NULL", block) !==
    undefined
  );
}

/**
 * True if a paired agent's newest hello came from this network, an IPv4 /24 or an IPv6 /64 as
 * auth/rate.ts writes them.
 */
export function isLinkNetwork(database: Database, network: string): boolean {
  const [, start] = /^(\d+\.\d+\.\d+\.)0\/24$/.exec(network) ?? [];
  if (start === undefined) return isLinkBlock(database, network);
  // The index has the texts in order, and "/" follows "." there.
  const sql = "SELECT 1 FROM agents WHERE linkBlock >= ? AND linkBlock < ? AND unpairedAt IS NULL";
  return database.get(sql, start, `${start.slice(0, -1)}/`) !== undefined;
}

/**
 * Marks a paired agent as caught up in this run, unless its recovery is pending.
 * @returns true if the agent has caught up now
 */
export function markCaughtUpIn(database: Database, id: string, run: string): boolean {
  if (database.get("SELECT 1 FROM agents WHERE id = ? AND caughtUp = ?", id, run) !== undefined)
    return true;
  const { changes } = database.run(
    `UPDATE agents SET caughtUp = ? WHERE id = ? AND caughtUp <> ? AND unpairedAt IS NULL AND NOT EXISTS
       (SELECT 1 FROM recoveries WHERE agent = agents.id AND ledgerEpoch = agents.ledgerEpoch AND takenAt IS NULL)`,
    ...[run, id, run],
  );
  return changes > 0;
}

/** True if a paired agent has not caught up in this run, or awaits its ceiling. */
export function isAnyAgentBehind(database: Database, run: string): boolean {
  const sql =
    "SELECT 1 FROM agents WHERE unpairedAt IS NULL AND (caughtUp <> ? OR awaitsCeiling = 1) LIMIT 1";
  return database.get(sql, run) !== undefined;
}

/** Sets `caughtUp` of a paired agent, unless `caughtUp` is `except`. */
export function keepCaughtUpUnless(
  database: Database,
  id: string,
  caughtUp: string,
  except: string,
): void {
  const sql =
    "UPDATE agents SET caughtUp = ? WHERE id = ? AND caughtUp <> ? AND unpairedAt IS NULL";
  database.run(sql, caughtUp, id, except);
}

/** True if any of a merchant's agents, including unpaired agents, has this value in `caughtUp`. */
export function hasAgentCaughtUp(database: Database, merchant: string, caughtUp: string): boolean {
  return (
    database.get(
      "SELECT 1 FROM agents WHERE merchant = ? AND caughtUp = ? LIMIT 1",
      merchant,
      caughtUp,
    ) !== undefined
  );
}

export function readLastJob(
  database: Database,
  id: string,
): Pick<AgentRow, "jobSequence" | "jobHash"> | undefined {
  return database.get("SELECT jobSequence, jobHash FROM agents WHERE id = ?", id);
}

/** Names the newest position in an agent's list of jobs. */
export function moveLastJob(database: Database, id: string, sequence: number, hash: string): void {
  database.run("UPDATE agents SET jobSequence = ?, jobHash = ? WHERE id = ?", sequence, hash, id);
}

/**
 * Like `moveLastJob`, from the position that the caller read.
 * @returns false if the list ends at another position
 */
export function moveLastJobFrom(
  database: Database,
  id: string,
  from: number,
  sequence: number,
  hash: string,
): boolean {
  const sql = "UPDATE agents SET jobSequence = ?, jobHash = ? WHERE id = ? AND jobSequence = ?";
  return database.run(sql, sequence, hash, id, from).changes === 1;
}
